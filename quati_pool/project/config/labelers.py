"""The sections ``judges:`` and ``labels:`` of ``pool.yaml``: who grades pairs, and where grades are kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NamedTuple

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


class HybridConfig(Model):
    """People's grades where they graded a pair, and a judge's elsewhere, computed on every read and never stored.

    ``people``: how all people's grades of a pair become one, as of PeopleConfig, or the name of a panel of people or of
    a person's label file. ``judge``, the key ``else``, is a judge, a consensus of judges or a label file. With
    ``calibrated`` its grades are corrected by what people gave where both graded.
    """

    people: str
    judge: Annotated[str, Field(alias="else")]
    calibrated: bool = True


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


AnyJudge = JudgeConfig | ConsensusConfig | PeopleConfig | HybridConfig
PEOPLE_METHODS = ("majority", "median", "mean")


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
    label_files = set(label_files)
    kinds = {name: _kind(settings) for name, settings in data.items()}
    named = _Named(
        singles=label_files.union(name for name, kind in kinds.items() if kind is JudgeConfig),
        panels=label_files.union(name for name, kind in kinds.items() if kind is PeopleConfig),
        judges=label_files.union(name for name, kind in kinds.items() if kind in (JudgeConfig, ConsensusConfig)),
    )
    return {name: _judge(file, name, settings, kinds[name], named) for name, settings in data.items()}


class _Named(NamedTuple):
    """The names of labelers that others may be computed from: those of judges that are programs and label files; of
    panels of people and label files; of judges, their consensuses and label files."""

    singles: set[Any]
    panels: set[Any]
    judges: set[Any]


def _kind(data: Any) -> type[AnyJudge]:
    if not isinstance(data, dict):
        return JudgeConfig
    if "else" in data:
        return HybridConfig
    return PeopleConfig if "people" in data else ConsensusConfig if "consensus" in data else JudgeConfig


def _judge(file: YamlFile, name: Any, data: Any, kind: type[AnyJudge], named: _Named) -> AnyJudge:
    place = ("judges", name)
    file.text_key(place, name)
    if not isinstance(data, dict):
        raise file.error(place, "expected a model: with a prompt:, a judge:, a consensus: of judges, or people:")
    if kind is HybridConfig:
        return _hybrid(file, place, data, named)
    if kind is PeopleConfig:
        return file.model(place, PeopleConfig, data)
    if kind is ConsensusConfig:
        return _consensus(file, place, data, named.singles)
    return read_component(file, place, JudgeConfig, data, "judge", JUDGES, default="llm")


def _hybrid(file: YamlFile, place: Place, data: dict[Any, Any], named: _Named) -> HybridConfig:
    config = file.model(place, HybridConfig, data)
    if config.people not in PEOPLE_METHODS and config.people not in named.panels:
        problem = f"{config.people!r} is neither a method ({', '.join(PEOPLE_METHODS)}) nor a panel of people or a file"
        raise file.error((*place, "people"), f"{problem}; {nearest(config.people, {*PEOPLE_METHODS, *named.panels})}")
    if config.judge not in named.judges:
        problem = f"{config.judge!r} is neither a judge nor a label file"
        raise file.error((*place, "else"), f"{problem}; {nearest(config.judge, named.judges)}")
    if config.judge == config.people:
        raise file.error((*place, "else"), f"{config.judge!r} cannot be people's grades and a judge's; name another")
    return config


def _consensus(file: YamlFile, place: Place, data: dict[Any, Any], singles: set[Any]) -> ConsensusConfig:
    config = file.model(place, ConsensusConfig, data)
    place = (*place, "consensus")
    for member in config.consensus:
        if member not in singles:
            raise file.error(place, f"{member!r} is neither a judge nor a label file; {nearest(member, singles)}")
        if config.consensus.count(member) > 1:
            raise file.error(place, f"names {member!r} twice; name it once")
    return config
