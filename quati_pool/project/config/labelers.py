"""The sections ``judges:`` and ``labels:`` of ``pool.yaml``: who grades pairs, and where grades are kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, InstanceOf

from quati_pool.files.yaml_file import Model, Place, YamlFile
from quati_pool.project.config.components import read_component
from quati_pool.project.config.data_sets import OfDataSet
from quati_pool.records import MAX_GRADE
from quati_pool.registry import JUDGES, NamedComponent, nearest

Grade = Annotated[int, Field(ge=-MAX_GRADE, le=MAX_GRADE)]
NO_GRADE = "none"
"""The value in ``grades:`` for a label that is not a grade."""
LabelGrade = Annotated[Grade | None, BeforeValidator(lambda value: None if value == NO_GRADE else value)]


class JudgeConfig(Model):
    """A program that grades each pair ``samples`` times; ``aggregate`` turns several grades into one. ``family`` is
    that of its model, by which an audit finds systems that are kin to it."""

    judge: str
    family: str | None = None
    component: InstanceOf[NamedComponent]
    samples: Annotated[int, Field(ge=1, le=1000)] = 1
    aggregate: Literal["mean", "median", "mode"] = "mean"
    parameters: Any = None


class ConsensusConfig(Model):
    """The consensus of several judges or label files: one grade per pair, computed on every read and never stored."""

    consensus: Annotated[list[str], Field(min_length=2)]
    method: Literal["majority", "median", "mean"] = "majority"


class PeopleConfig(Model):
    """The consensus of annotators: one grade per pair, computed on every read and never stored.

    It is the lead's decision where there is one, else the majority, median or mean of all grades of the pair.
    """

    people: Literal["majority", "median", "mean"]


class LabelFileConfig(OfDataSet):
    """A file of labels, or the judgements of an existing data set, of one ``split`` if it has several, which ``build``
    writes into the file.

    ``format`` is needed only if it cannot be recognised from the file. ``columns`` maps fields to a table's column
    names; ``grades`` maps label names to grades, None for a label that is not a grade. ``annotator`` selects one
    person's labels in a file with those of several; ``person`` says that a person gave the labels, not a program.
    """

    path: str = ""
    split: str | None = None
    format: str | None = None
    columns: dict[str, str] = Field(default_factory=dict)
    grades: dict[str, LabelGrade] = Field(default_factory=dict)
    annotator: str | None = None
    person: bool = False


class LabelsConfig(Model):
    """Where labels are kept: a database URL (None: SQLite next to ``pool.yaml``), and label files by the name of the
    labeler."""

    url: str | None = None
    files: dict[str, LabelFileConfig] = Field(default_factory=dict)


AnyJudge = JudgeConfig | ConsensusConfig | PeopleConfig


def read_labels(file: YamlFile, data: Any, judges: Mapping[Any, Any]) -> LabelsConfig:
    """Reads ``labels:``; raises InputError where a label file has the same name as a judge."""
    if isinstance(data, dict) and isinstance(data.get("files"), dict):
        data = {**data, "files": {name: _label_file(file, name, each) for name, each in data["files"].items()}}
        for name in data["files"]:
            if name in judges:
                raise file.error(("labels", "files", name), "is the name of a judge too; give one of them another")
    return file.model(("labels",), LabelsConfig, data)


def _label_file(file: YamlFile, name: Any, data: Any) -> LabelFileConfig:
    place = ("labels", "files", name)
    file.text_key(place, name)
    settings = file.model(place, LabelFileConfig, {"path": data} if isinstance(data, str) else data)
    if settings.data_set is not None:
        return settings.model_copy(update={"path": settings.data_set.file(f"{settings.split or 'all'}.qrels")})
    if settings.split is not None:
        raise file.error((*place, "split"), "is for data sets; drop it")
    if not settings.path:
        remedy = "add it, or name a data set with ir_datasets:, beir: or mteb:"
        raise file.error(place, f"the key 'path' is missing; {remedy}")
    return settings


def read_judges(file: YamlFile, data: Mapping[Any, Any], label_files: Iterable[str]) -> dict[Any, AnyJudge]:
    """Reads ``judges:`` by name; the members of a consensus may be judges that are programs, and ``label_files``."""
    singles = {
        name
        for name, settings in data.items()
        if not (isinstance(settings, dict) and ("consensus" in settings or "people" in settings))
    }
    return {name: _judge(file, name, settings, singles.union(label_files)) for name, settings in data.items()}


def _judge(file: YamlFile, name: Any, data: Any, singles: set[Any]) -> AnyJudge:
    place = ("judges", name)
    file.text_key(place, name)
    if not isinstance(data, dict):
        raise file.error(place, "expected a model: with a prompt:, a judge:, a consensus: of judges, or people:")
    if "people" in data:
        return file.model(place, PeopleConfig, data)
    if "consensus" in data:
        return _consensus(file, place, data, singles)
    return read_component(file, place, JudgeConfig, data, "judge", JUDGES, default="llm")


def _consensus(file: YamlFile, place: Place, data: dict[Any, Any], singles: set[Any]) -> ConsensusConfig:
    config = file.model(place, ConsensusConfig, data)
    place = (*place, "consensus")
    for member in config.consensus:
        if member not in singles:
            raise file.error(place, f"{member!r} is neither a judge nor a label file; {nearest(member, singles)}")
        if config.consensus.count(member) > 1:
            raise file.error(place, f"names {member!r} twice; name it once")
    return config
