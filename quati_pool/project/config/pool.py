"""``pool.yaml`` as checked models. Every fault names file, line and key; unknown keys get a suggestion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field

from quati_pool.errors import ConfigError, InputError
from quati_pool.evaluation.measures import DEFAULTS as MEASURES
from quati_pool.files.yaml_file import M, Model, Place, YamlFile
from quati_pool.records import GRADES, MAX_GRADE
from quati_pool.registry import FUSIONS, JUDGES, RERANKERS, RETRIEVERS, Registry, nearest
from quati_pool.release.about import ReleaseConfig

Depth = Annotated[int, Field(ge=1)]
Grade = Annotated[int, Field(ge=-MAX_GRADE, le=MAX_GRADE)]
NO_GRADE = "none"
"""What a label that is no grade is mapped to."""
LabelGrade = Annotated[Grade | None, BeforeValidator(lambda given: None if given == NO_GRADE else given)]


class CorpusConfig(Model):
    """Where passages lie: a file, a glob or several, and the fields that hold id and text."""

    path: str | list[str]
    doc_id: str = "doc_id"
    text: str | list[str] = "text"


class QueriesConfig(Model):
    """Where queries lie, and which of them to take: all, a seeded sample, or those named."""

    path: str
    query_id: str = "query_id"
    query: str | list[str] | None = None
    narrative: str = "narrative"
    cluster_id: str = "cluster_id"
    sample: Annotated[int, Field(ge=1)] | None = None
    ids: Annotated[list[str], Field(min_length=1)] | None = None


class PoolSettings(Model):
    """How deep the pool goes, and a file of further pairs (query_id <tab> doc_id)."""

    depth: Depth = 10
    extra: str | None = None


class System(Model):
    """What all systems share: ``family`` groups kin for reusability tests; ``pool: false`` keeps a
    system out of the pool but in the ledger; ``pool_depth`` overrides the pool's depth."""

    family: str | None = None
    pool: bool = True
    pool_depth: Depth | None = None


class RetrieverSystem(System):
    retriever: str
    corpus: str | None = None
    parameters: Any = None


class RerankDepth(Model):
    """How many of the first stage's documents a reranker scores."""

    depth: Depth = 100


class RerankSystem(System):
    """The first ``depth`` documents of the system ``first``, in the order of a reranker's scores."""

    first: str
    reranker: str
    depth: Depth
    parameters: Any = None


class FusionSystem(System):
    """Several systems' rankings joined; each is read to ``depth`` (``run_depth`` where not given)."""

    fuse: Annotated[list[str], Field(min_length=1)]
    method: str = "rrf"
    depth: Depth | None = None
    parameters: Any = None


class JudgeConfig(Model):
    """A program that grades pairs, ``samples`` times each; ``aggregate`` makes one grade of several."""

    judge: str
    samples: Annotated[int, Field(ge=1, le=1000)] = 1
    aggregate: Literal["mean", "median", "mode"] = "mean"
    parameters: Any = None


class ConsensusConfig(Model):
    """One grade of several judges' or label files', computed whenever it is read and stored nowhere."""

    consensus: Annotated[list[str], Field(min_length=2)]
    method: Literal["majority", "median", "mean"] = "majority"


class PeopleConfig(Model):
    """One grade of a pair's people: a lead's decision where there is one, else of all who graded it, by the
    method named; computed whenever it is read and stored nowhere."""

    people: Literal["majority", "median", "mean"]


class LabelFileConfig(Model):
    """Labels in a file. ``format`` is needed where its looks do not tell; ``columns`` names a table's
    columns by field, ``grades`` the grade of each label's name, None where it is no grade; ``annotator``
    whose labels to take where there are several people's; ``person`` says that a person gave them."""

    path: str
    format: str | None = None
    columns: dict[str, str] = Field(default_factory=dict)
    grades: dict[str, LabelGrade] = Field(default_factory=dict)
    annotator: str | None = None
    person: bool = False


class LabelsConfig(Model):
    """Where labels are kept: a database URL, SQLite beside ``pool.yaml`` where none is given; and files
    with labels by the name of who gave them."""

    url: str | None = None
    files: dict[str, LabelFileConfig] = Field(default_factory=dict)


class TaxonomyConfig(Model):
    """The kinds of question that authors are to write, by three properties; those not given are ours."""

    theme: Annotated[list[str], Field(min_length=1)] | None = None
    scope: Annotated[list[str], Field(min_length=1)] | None = None
    type: Annotated[list[str], Field(min_length=1)] | None = None


class AnnotationConfig(Model):
    """How people grade.

    ``prompt`` is the prompt whose meanings and examples they see (that of the first judge with one, where
    not given), ``guidelines`` a Markdown file. Grades given under another ``version`` are history: raise it
    when meanings or guidelines change what a grade means. ``reveal`` is a judge whose grade and reasoning
    follow a person's own; ``language`` that of the pages until a person picks one. ``lease`` is how many
    minutes a pair waits for whom it was given to, ``idle`` the seconds that a longer gap counts as.
    """

    prompt: str | None = None
    guidelines: str | None = None
    version: Annotated[int, Field(ge=1)] = 1
    reveal: str | None = None
    language: Literal["pt", "en", "es"] | None = None
    lease: Annotated[float, Field(ge=1)] = 30
    idle: Annotated[float, Field(ge=1)] = 120
    taxonomy: TaxonomyConfig = TaxonomyConfig()


class PlannedCorpus(Model):
    """A corpus's size, and the mean length of its passages."""

    passages: Annotated[int, Field(ge=1)]
    characters: Annotated[float, Field(gt=0)]


class PlanConfig(Model):
    """Sizes for ``build --plan`` to reckon with while files are not here: how many queries, and corpora by
    name (``corpus`` where there is only one)."""

    queries: Annotated[int, Field(ge=1)] | None = None
    corpora: dict[str, PlannedCorpus] = Field(default_factory=dict)


def scale_of(grades: Iterable[int]) -> dict[int, str]:
    """A scale of these grades in ascending order, by the names of the default one where it has the same grades, else
    by their numbers."""
    ordered = sorted(grades)
    return {grade: GRADES[grade] if ordered == sorted(GRADES) else str(grade) for grade in ordered}


class PoolConfig(Model):
    """A collection: its corpora, queries, systems and pool, and who grades it on which scale."""

    name: str
    seed: Annotated[int, Field(ge=0)] = 0
    corpora: dict[str, CorpusConfig]
    queries: QueriesConfig
    systems: dict[str, RetrieverSystem | RerankSystem | FusionSystem]
    run_depth: Depth = 100
    pool: PoolSettings = PoolSettings()
    grades: Annotated[dict[Grade, str], Field(min_length=2)] = GRADES
    judges: dict[str, JudgeConfig | ConsensusConfig | PeopleConfig] = Field(default_factory=dict)
    labels: LabelsConfig = LabelsConfig()
    annotation: AnnotationConfig = AnnotationConfig()
    measures: Annotated[list[str], Field(min_length=1, default_factory=lambda: list(MEASURES))]
    release: ReleaseConfig = ReleaseConfig()
    plan: PlanConfig = PlanConfig()
    path: Path

    @property
    def folder(self) -> Path:
        """The workspace: the folder of ``pool.yaml``, to which its paths are relative."""
        return self.path.parent

    def needs(self, run_tag: str) -> list[str]:
        """The systems that ``run_tag`` is made from."""
        return _inputs(self.systems[run_tag])

    def order(self) -> list[str]:
        """All run tags, each after those it is made from."""
        return list(TopologicalSorter({tag: self.needs(tag) for tag in self.systems}).static_order())

    def closure(self, run_tags: Iterable[str]) -> list[str]:
        """The systems named and all they are made from, each after its inputs."""
        needed = set(run_tags)
        order = self.order()
        for tag in reversed(order):
            if tag in needed:
                needed.update(self.needs(tag))
        return [tag for tag in order if tag in needed]

    def input_depth(self, run_tag: str) -> int:
        """How deep this system, a rerank or fusion, reads the runs it is made from."""
        system = self.systems[run_tag]
        depth = None if isinstance(system, RetrieverSystem) else system.depth
        return depth or self.run_depth

    def search_depth(self, run_tag: str) -> int:
        """How deep a system must go: its own run, and whatever reads it."""
        readers = [tag for tag in self.systems if run_tag in self.needs(tag)]
        return max([self.run_depth, *map(self.input_depth, readers)])

    def pool_depth(self, run_tag: str) -> int:
        """How many of a system's documents a query enter the pool; 0 for ``pool: false``."""
        system = self.systems[run_tag]
        return (system.pool_depth or self.pool.depth) if system.pool else 0

    def family(self, run_tag: str) -> str:
        return self.systems[run_tag].family or run_tag


def load_config(path: Path) -> PoolConfig:
    """Reads and checks a ``pool.yaml``.

    Raises InputError, with the line at fault, for a file that is not there, is not YAML, or does not
    hold what it should.
    """
    reader = _Reader(path, missing="run: quati-pool init DIR, or name one with -c")
    data = reader.data
    if not isinstance(data, dict):
        raise InputError(path, 1, "holds no settings; expected keys such as name, corpus, queries, systems")
    known = {*PoolConfig.model_fields, "corpus"} - {"path"}
    reader.refuse_unknown((), data, known)
    data = dict(data)
    if ("corpus" in data) == ("corpora" in data):
        raise reader.error((), "expected either corpus: (one) or corpora: (several by name)")
    plural = "corpora" in data
    corpora = data.pop("corpora", None) if plural else {"corpus": data.pop("corpus")}
    if not isinstance(corpora, dict) or not corpora:
        raise reader.error(("corpora",), "expected a name and a path for each corpus")
    where = ("corpora",) if plural else ()
    data["corpora"] = {
        reader.text_key((*where, name), name): reader.model((*where, name), CorpusConfig, value)
        for name, value in corpora.items()
    }
    if "queries" not in data:
        raise reader.error((), "the key 'queries' is missing; add it")
    data["queries"] = reader.model(("queries",), QueriesConfig, data["queries"])
    data["pool"] = reader.model(("pool",), PoolSettings, data.get("pool", {}))
    data["release"] = reader.model(("release",), ReleaseConfig, data.get("release", {}))
    data["plan"] = reader.model(("plan",), PlanConfig, data.get("plan", {}))
    for name in data["plan"].corpora:
        if name not in data["corpora"]:
            hint = nearest(name, data["corpora"])
            raise reader.error(("plan", "corpora", name), f"there is no corpus {name!r}; {hint}")
    judges = data.get("judges", {})
    if not isinstance(judges, dict):
        raise reader.error(("judges",), "expected judges by name, such as  lexical: {judge: lexical}")
    data["labels"] = reader.labels(data.get("labels", {}), judges)
    filed = data["labels"].files
    data["judges"] = {name: reader.judge(name, value, judges, filed) for name, value in judges.items()}
    data["annotation"] = reader.annotation(data.get("annotation", {}), data["judges"])
    systems = data.get("systems")
    if not isinstance(systems, dict) or not systems:
        raise reader.error(("systems",), "expected at least one system, such as  bm25s: {retriever: bm25s}")
    data["systems"] = {tag: reader.system(tag, value, data["corpora"]) for tag, value in systems.items()}
    for tag, system in data["systems"].items():
        for needed in _inputs(system):
            if needed not in systems:
                hint = nearest(needed, set(systems) - {tag})
                raise reader.error(("systems", tag), f"is made from {needed!r}, which is not defined; {hint}")
    try:
        TopologicalSorter({tag: _inputs(system) for tag, system in data["systems"].items()}).prepare()
    except CycleError as error:
        circle = " → ".join(reversed(error.args[1]))
        raise reader.error(("systems", error.args[1][0]), f"is made from itself ({circle}); break the circle") from None
    config = reader.model((), PoolConfig, {**data, "path": path})
    if not any(config.pool_depth(tag) for tag in config.systems):
        raise reader.error(("systems",), "every system has pool: false; let at least one feed the pool")
    for tag, made in config.systems.items():
        if made.pool_depth and not made.pool:
            raise reader.error(("systems", tag, "pool_depth"), "has no effect with pool: false; drop one of them")
        depth = config.pool_depth(tag)
        if depth > config.run_depth:
            place = ("systems", tag, "pool_depth") if config.systems[tag].pool_depth else ("pool", "depth")
            raise reader.error(place, f"{depth} is deeper than run_depth ({config.run_depth}); raise run_depth")
    return config


def _inputs(system: System) -> list[str]:
    if isinstance(system, RerankSystem):
        return [system.first]
    return list(system.fuse) if isinstance(system, FusionSystem) else []


class _Reader(YamlFile):
    """What ``pool.yaml`` alone has: systems and judges, whose parameters are those of components."""

    def system(self, tag: Any, data: Any, corpora: Mapping[str, CorpusConfig]) -> System:
        place = ("systems", tag)
        self.text_key(place, tag)
        kinds = [key for key in ("retriever", "first", "fuse") if isinstance(data, dict) and key in data]
        if len(kinds) != 1:
            raise self.error(place, "expected exactly one of retriever:, first: (with rerank:) or fuse:")
        if kinds == ["first"]:
            return self._rerank(place, data)
        if kinds == ["fuse"]:
            return self._fusion(place, data)
        system = self._component(place, RetrieverSystem, data, "retriever", RETRIEVERS)
        if len(corpora) > 1 and system.corpus is None:
            raise self.error(place, f"the key 'corpus' is missing; name one of {', '.join(corpora)}")
        if system.corpus is not None and system.corpus not in corpora:
            raise self.error(
                (*place, "corpus"), f"there is no corpus {system.corpus!r}; {nearest(system.corpus, corpora)}"
            )
        return system if system.corpus else system.model_copy(update={"corpus": next(iter(corpora))})

    def labels(self, data: Any, judges: Mapping[Any, Any]) -> LabelsConfig:
        if isinstance(data, dict) and isinstance(data.get("files"), dict):
            data = {**data, "files": {name: self._label_file(name, file) for name, file in data["files"].items()}}
            for name in data["files"]:
                if name in judges:
                    raise self.error(("labels", "files", name), "is the name of a judge too; give one of them another")
        return self.model(("labels",), LabelsConfig, data)

    def _label_file(self, name: Any, data: Any) -> LabelFileConfig:
        place = ("labels", "files", name)
        self.text_key(place, name)
        return self.model(place, LabelFileConfig, {"path": data} if isinstance(data, str) else data)

    def judge(
        self, name: Any, data: Any, judges: Mapping[Any, Any], filed: Iterable[str]
    ) -> JudgeConfig | ConsensusConfig | PeopleConfig:
        place = ("judges", name)
        self.text_key(place, name)
        if not isinstance(data, dict):
            raise self.error(place, "expected a model: with a prompt:, a judge:, a consensus: of judges, or people:")
        if "people" in data:
            return self.model(place, PeopleConfig, data)
        if "consensus" not in data:
            return self._component(place, JudgeConfig, data, "judge", JUDGES, default="llm")
        made = self.model(place, ConsensusConfig, data)
        single = {
            key
            for key, value in judges.items()
            if not (isinstance(value, dict) and ("consensus" in value or "people" in value))
        }
        single.update(filed)
        for member in made.consensus:
            if member not in single:
                raise self.error(
                    (*place, "consensus"), f"{member!r} is neither a judge nor a label file; {nearest(member, single)}"
                )
            if made.consensus.count(member) > 1:
                raise self.error((*place, "consensus"), f"names {member!r} twice; name it once")
        return made

    def annotation(self, data: Any, judges: Mapping[str, Any]) -> AnnotationConfig:
        if isinstance(data, dict) and "taxonomy" in data:
            data = {**data, "taxonomy": self._taxonomy(data["taxonomy"])}
        made = self.model(("annotation",), AnnotationConfig, data)
        if made.reveal is not None and made.reveal not in judges:
            there = nearest(made.reveal, judges) if judges else "add it under judges:"
            raise self.error(("annotation", "reveal"), f"there is no judge {made.reveal!r}; {there}")
        if made.reveal is not None and isinstance(judges[made.reveal], PeopleConfig):
            raise self.error(("annotation", "reveal"), f"{made.reveal!r} are other people's grades; name a judge")
        return made

    def _taxonomy(self, data: Any) -> TaxonomyConfig:
        place = ("annotation", "taxonomy")
        made = self.model(place, TaxonomyConfig, data)
        for key, values in made:
            for value in values or ():
                if not value.strip() or not value.isprintable():
                    raise self.error((*place, key), f"expected one line of text, not {value!r}")
                if values.count(value) > 1:
                    raise self.error((*place, key), f"names {value!r} twice; name it once")
        return made

    def _fusion(self, place: Place, data: dict[Any, Any]) -> FusionSystem:
        system = self._component(place, FusionSystem, data, "method", FUSIONS, default="rrf")
        twice = next((tag for tag in system.fuse if system.fuse.count(tag) > 1), None)
        if twice:
            raise self.error((*place, "fuse"), f"names {twice!r} twice; name it once and give it a weight")
        weights = getattr(system.parameters, "weights", None)
        if weights is not None and len(weights) != len(system.fuse):
            message = f"{len(weights)} weights for {len(system.fuse)} systems; give one weight a system"
            raise self.error((*place, "weights"), message)
        return system

    def _rerank(self, place: Place, data: dict[Any, Any]) -> RerankSystem:
        self.refuse_unknown(place, data, {*System.model_fields, "first", "rerank"})
        inner = data.get("rerank")
        if not isinstance(inner, dict):
            raise self.error((*place, "rerank"), "expected a reranker, such as  rerank: {with: lsa, depth: 100}")
        name, parameters, rest = self._split((*place, "rerank"), inner, "with", RERANKERS, {"depth"})
        depth = self.model((*place, "rerank"), RerankDepth, rest).depth
        outer = {key: value for key, value in data.items() if key != "rerank"}
        made = {**outer, "depth": depth, "reranker": name, "parameters": parameters}
        return self.model(place, RerankSystem, made)

    def _component(
        self,
        place: Place,
        model: type[M],
        data: dict[Any, Any],
        key: str,
        registry: Registry,
        default: str | None = None,
    ) -> M:
        common = set(model.model_fields) - {key, "parameters"}
        name, parameters, rest = self._split(place, data, key, registry, common, default)
        return self.model(place, model, {**rest, key: name, "parameters": parameters})

    def _split(
        self,
        place: Place,
        data: dict[Any, Any],
        key: str,
        registry: Registry,
        common: set[str],
        default: str | None = None,
    ) -> tuple[str, BaseModel, dict[Any, Any]]:
        """A component's name, its checked parameters, and the keys that are not the component's."""
        name = data.get(key, default)
        if not isinstance(name, str):
            raise self.error((*place, key), f"expected a name; {nearest('', registry.names())}")
        try:
            parameters: type[BaseModel] = registry.get(name).Parameters
        except ConfigError as error:
            raise self.error((*place, key), str(error)) from None
        own = set(parameters.model_fields)
        self.refuse_unknown(place, data, own | common | {key})
        checked = self.model(place, parameters, {k: v for k, v in data.items() if k in own})
        return name, checked, {k: v for k, v in data.items() if k in common}
