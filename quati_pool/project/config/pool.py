"""``pool.yaml`` as one checked model. Every fault names file, line and key; unknown keys get a suggestion."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import cached_property
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from quati_pool.data_sets.kinds import KINDS
from quati_pool.errors import InputError
from quati_pool.evaluation.measures import DEFAULTS as MEASURES
from quati_pool.files.yaml_file import Model, YamlFile
from quati_pool.project.config.annotation import AnnotationConfig, read_annotation
from quati_pool.project.config.audit import AuditConfig, check_answers_from, read_audit
from quati_pool.project.config.authoring import AuthoringConfig, read_authoring
from quati_pool.project.config.data_sets import OfDataSet
from quati_pool.project.config.labelers import AnyJudge, Grade, HybridConfig, LabelsConfig, read_judges, read_labels
from quati_pool.project.config.pooling import PoolSettings, check_relevant, read_pool
from quati_pool.project.config.run_groups import expand_groups
from quati_pool.project.config.systems import (
    Depth,
    FusionSystem,
    RerankSystem,
    RetrieverSystem,
    System,
    inputs_of,
    needs_corpus,
    read_systems,
)
from quati_pool.records import GRADES
from quati_pool.registry import nearest
from quati_pool.release.about import ReleaseConfig


class CorpusConfig(OfDataSet):
    """The files of a corpus (a path, a glob, or a list of these) and the names of their fields for id and text, or an
    existing data set."""

    path: str | Annotated[list[str], Field(min_length=1)] | None = None
    doc_id: str = "doc_id"
    text: str | list[str] = "text"

    @property
    def fields(self) -> list[str] | None:
        """The fields of the text; None where ``pool.yaml`` names none."""
        if "text" not in self.model_fields_set:
            return None
        return [self.text] if isinstance(self.text, str) else self.text

    @property
    def source(self) -> str:
        """The data set or the files, in words."""
        if self.data_set is not None:
            return self.data_set.name
        return self.path if isinstance(self.path, str) else ", ".join(self.path or ())

    @model_validator(mode="after")
    def _some_source(self) -> Self:
        if self.path is None and self.data_set is None:
            raise ValueError("the key 'path' is missing; add it, or name a data set with ir_datasets:, beir: or mteb:")
        return self


class QueriesConfig(OfDataSet):
    """The file of queries (of a data set: the one that ``build`` writes), the names of its fields, and which queries
    to use: all, a seeded sample, ``ids``, or ``only`` those of a file of qrels. Without a file of queries, the ids are
    those of the qrels or the run files."""

    path: str | None = None
    query_id: str = "query_id"
    query: str | list[str] | None = None
    narrative: str = "narrative"
    cluster_id: str = "cluster_id"
    sample: Annotated[int, Field(ge=1)] | None = None
    ids: Annotated[list[str], Field(min_length=1)] | None = None
    only: str | None = None

    @property
    def source(self) -> str:
        """What the ids come from, in words or as a path."""
        return (self.data_set and self.data_set.name) or self.path or self.only or "the run files"


class PlannedCorpus(Model):
    """A corpus's size, and the mean length of its passages."""

    passages: Annotated[int, Field(ge=1)]
    characters: Annotated[float, Field(gt=0)]


class PlanConfig(Model):
    """The sizes that ``build --plan`` assumes while files are missing: the number of queries, and the size of each
    corpus by name (``corpus`` if there is only one)."""

    queries: Annotated[int, Field(ge=1)] | None = None
    corpora: dict[str, PlannedCorpus] = Field(default_factory=dict)


def scale_of(grades: Iterable[int]) -> dict[int, str]:
    """The names of ``grades`` in ascending order: those of the default scale if it has exactly these grades, else the
    numbers themselves."""
    ordered = sorted(grades)
    return {grade: GRADES[grade] if ordered == sorted(GRADES) else str(grade) for grade in ordered}


class PoolConfig(Model):
    """The settings of a collection: its corpora, queries, systems and pool, and who grades it on which scale.

    ``texts`` has the passages of pooled documents that no corpus has. A collection of runs may have neither.
    """

    name: str
    seed: Annotated[int, Field(ge=0)] = 0
    corpora: dict[str, CorpusConfig]
    texts: CorpusConfig | None = None
    queries: QueriesConfig = QueriesConfig()
    systems: dict[str, RetrieverSystem | RerankSystem | FusionSystem]
    run_depth: Depth = 100
    pool: PoolSettings = PoolSettings()
    grades: Annotated[dict[Grade, str], Field(min_length=2)] = GRADES
    judges: dict[str, AnyJudge] = Field(default_factory=dict)
    labels: LabelsConfig = LabelsConfig()
    annotation: AnnotationConfig = AnnotationConfig()
    audit: AuditConfig = AuditConfig()
    authoring: AuthoringConfig | None = None
    measures: Annotated[list[str], Field(min_length=1, default_factory=lambda: list(MEASURES))]
    release: ReleaseConfig = ReleaseConfig()
    plan: PlanConfig = PlanConfig()
    path: Path

    @property
    def folder(self) -> Path:
        """The workspace: the folder of ``pool.yaml``, to which its paths are relative."""
        return self.path.parent

    @property
    def query_file(self) -> Path | None:
        """The file of queries; None where ``pool.yaml`` names none or it does not exist."""
        path = self.queries.path and self.folder / self.queries.path
        return path if path and path.exists() else None

    def needs(self, run_tag: str) -> list[str]:
        """The systems whose runs ``run_tag`` reads."""
        return inputs_of(self.systems[run_tag])

    def order(self) -> list[str]:
        """All run tags, each after those whose runs it reads."""
        return list(TopologicalSorter({tag: self.needs(tag) for tag in self.systems}).static_order())

    def closure(self, run_tags: Iterable[str]) -> list[str]:
        """``run_tags`` and all systems whose runs they need, directly or indirectly; each after its inputs."""
        needed = set(run_tags)
        order = self.order()
        for tag in reversed(order):
            if tag in needed:
                needed.update(self.needs(tag))
        return [tag for tag in order if tag in needed]

    def input_depth(self, run_tag: str) -> int:
        """The rank down to which a reranker or fusion reads the runs of its inputs."""
        system = self.systems[run_tag]
        depth = None if isinstance(system, RetrieverSystem) else system.depth
        return depth or self.run_depth

    def search_depth(self, run_tag: str) -> int:
        """The rank down to which a system must search: its own run's depth, or a deeper one that other systems read."""
        return max(self.run_depth, self._read_depths.get(run_tag, 0))

    @cached_property
    def _read_depths(self) -> dict[str, int]:
        """The deepest rank to which any system reads the run of another."""
        depths: dict[str, int] = {}
        for reader in self.systems:
            for run_tag in self.needs(reader):
                depths[run_tag] = max(depths.get(run_tag, 0), self.input_depth(reader))
        return depths

    def pool_depth(self, run_tag: str) -> int:
        """How many of a system's documents enter the pool per query; 0 for a system that does not feed it."""
        return (self.systems[run_tag].pool_depth or self.pool.depth) if run_tag in self._feeding else 0

    @cached_property
    def _feeding(self) -> frozenset[str]:
        """The systems that feed the pool: all without ``pool: false``, or the first of each family by priority. Those
        without a priority come last, in their order in ``pool.yaml``."""
        feeding = [tag for tag, system in self.systems.items() if system.pool]
        if self.pool.per_group is None:
            return frozenset(feeding)
        by_family: dict[str, list[str]] = {}
        for tag in sorted(feeding, key=lambda tag: self.systems[tag].priority or sys.maxsize):
            by_family.setdefault(self.family(tag), []).append(tag)
        return frozenset(tag for tags in by_family.values() for tag in tags[: self.pool.per_group])

    def family(self, run_tag: str) -> str:
        return self.systems[run_tag].family or run_tag


def load_config(path: Path, *, without_systems: bool = False, writing: bool = False) -> PoolConfig:
    """Reads and checks a ``pool.yaml``; ``without_systems`` takes one that names no system yet, and ``writing`` one
    that names none because its questions are being written (``authoring:``).

    Raises InputError, with the line at fault, for a file that is missing, is not YAML, or is not a valid
    configuration.
    """
    file = YamlFile(path, missing="run: quati-pool init DIR, or name one with -c")
    data = file.data
    if not isinstance(data, dict):
        raise InputError(path, 1, "holds no settings; expected keys such as name, corpus, queries, systems")
    file.refuse_unknown((), data, {*PoolConfig.model_fields, "corpus"} - {"path"})
    corpora = _corpora(file, data)
    parts: dict[str, Any] = {
        "corpora": corpora,
        "texts": None if data.get("texts") is None else file.model(("texts",), CorpusConfig, _named(data["texts"])),
        "queries": _queries(file, data.get("queries", {})),
        "release": file.model(("release",), ReleaseConfig, data.get("release", {})),
        "plan": _plan(file, data.get("plan", {}), corpora),
    }
    judges = data.get("judges", {})
    if not isinstance(judges, dict):
        raise file.error(("judges",), "expected judges by name, such as  lexical: {judge: lexical}")
    parts["labels"] = read_labels(file, data.get("labels", {}), judges)
    parts["judges"] = read_judges(file, judges, parts["labels"].files)
    steering = {name: not isinstance(judge, HybridConfig) for name, judge in parts["judges"].items()}
    parts["pool"] = read_pool(file, data.get("pool", {}), steering | dict.fromkeys(parts["labels"].files, True))
    parts["annotation"] = read_annotation(file, data.get("annotation", {}), parts["judges"])
    parts["authoring"] = read_authoring(file, data.get("authoring"), parts["judges"])
    if not data.get("systems") and (without_systems or (writing and parts["authoring"] is not None)):
        named = {}
    elif "systems" not in data and parts["authoring"] is not None:
        problem = "there are no systems yet, and the questions are still being written (authoring:)"
        raise file.error((), f"{problem}; go on with: quati-pool annotate, or name systems: once they are released")
    else:
        named = expand_groups(file, data.get("systems"))
    parts["systems"] = read_systems(file, named, corpora)
    _check_inputs(file, data, parts["systems"])
    parts["audit"] = read_audit(file, data.get("audit", {}))
    rest = {key: value for key, value in data.items() if key != "corpus"}
    config = file.model((), PoolConfig, {**rest, **parts, "path": path})
    _check_depths(file, config)
    check_answers_from(file, config.audit, config.grades)
    check_relevant(file, config.pool, config.grades)
    return config


def _named(texts: Any) -> Any:
    """``texts:`` may be a path alone."""
    return {"path": texts} if isinstance(texts, str | list) else texts


def _queries(file: YamlFile, data: Any) -> QueriesConfig:
    settings = file.model(("queries",), QueriesConfig, data)
    if settings.data_set is None:
        return settings
    return settings.model_copy(update={"path": settings.data_set.file("queries.jsonl")})


def _check_inputs(file: YamlFile, data: Mapping[Any, Any], systems: Mapping[str, System]) -> None:
    """Raises InputError where systems need a corpus or queries and there are none."""
    needing = next((tag for tag, system in systems.items() if needs_corpus(system)), None)
    if needing is None:
        return
    if not {"corpus", "corpora"} & set(data):
        both = "expected either corpus: (one) or corpora: (several by name)"
        raise file.error((), f"{both}, as {needing} reads passages; only run files and fusions of them do without")
    if "queries" not in data:
        raise file.error((), "the key 'queries' is missing; add it")
    if not {"path", *KINDS} & set(data["queries"]):
        raise file.error(("queries",), f"the key 'path' is missing; add it, as {needing} reads the queries' texts")


def _corpora(file: YamlFile, data: Mapping[Any, Any]) -> dict[str, CorpusConfig]:
    if not {"corpus", "corpora"} & set(data):
        return {}
    if {"corpus", "corpora"} <= set(data):
        raise file.error((), "expected either corpus: (one) or corpora: (several by name)")
    plural = "corpora" in data
    corpora = data["corpora"] if plural else {"corpus": data["corpus"]}
    if not isinstance(corpora, dict) or not corpora:
        raise file.error(("corpora",), "expected a name and a path for each corpus")
    parent = ("corpora",) if plural else ()
    return {
        file.text_key((*parent, name), name): file.model((*parent, name), CorpusConfig, settings)
        for name, settings in corpora.items()
    }


def _plan(file: YamlFile, data: Any, corpora: Mapping[str, CorpusConfig]) -> PlanConfig:
    plan = file.model(("plan",), PlanConfig, data)
    for name in plan.corpora:
        if name not in corpora:
            raise file.error(("plan", "corpora", name), f"there is no corpus {name!r}; {nearest(name, corpora)}")
    return plan


def _check_depths(file: YamlFile, config: PoolConfig) -> None:
    """Raises InputError where no system feeds the pool, or one is pooled deeper than its run goes."""
    if config.systems and not any(config.pool_depth(tag) for tag in config.systems):
        raise file.error(("systems",), "every system has pool: false; let at least one feed the pool")
    for tag, system in config.systems.items():
        if system.pool_depth and not system.pool:
            raise file.error(("systems", tag, "pool_depth"), "has no effect with pool: false; drop one of them")
        depth = config.pool_depth(tag)
        if depth > config.run_depth:
            place = ("systems", tag, "pool_depth") if system.pool_depth else ("pool", "depth")
            raise file.error(place, f"{depth} is deeper than run_depth ({config.run_depth}); raise run_depth")
