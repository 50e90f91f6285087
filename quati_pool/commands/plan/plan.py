"""``quati-pool build --plan``: what every system will need, and what of it is there; runs and writes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quati_pool.commands.plan.corpora import CorpusSize, PlanWorkspace, measure
from quati_pool.commands.plan.parts import (
    PlannedPart,
    PlannedStore,
    PlannedSystem,
    Seconds,
    Stage,
    Total,
    parts_of,
    share_left,
    total,
)
from quati_pool.commands.plan.stores import FUSED_ROW, RUN_ROW, planned_pool, planned_store
from quati_pool.commands.plan.times import Times, Wanted, stages_of
from quati_pool.errors import ConfigError, MissingExtraError, QuatiPoolError
from quati_pool.files.artifacts import digest, stale, unfinished
from quati_pool.project.cache_keys import Keys, component_name, index_place, used_corpora
from quati_pool.project.config import FusionSystem, PoolConfig, RerankSystem, RetrieverSystem, load_config
from quati_pool.project.inputs import Queries, load_queries
from quati_pool.project.resumable_folders import growing_place
from quati_pool.project.run_builder import current
from quati_pool.records import Ids
from quati_pool.registry import nearest
from quati_pool.retrieval.base import Component, ComponentEnvironment, Retriever
from quati_pool.retrieval.models.errors import ModelMissingError
from quati_pool.retrieval.models.location import locate
from quati_pool.retrieval.models.parameters import ModelParameters
from quati_pool.retrieval.planning import (
    GPU,
    STAND_INS,
    START,
    Estimate,
    Workload,
    estimate_forward,
    gpu_hours,
    gpu_speed,
    human_hours,
    tokens_of,
)
from quati_pool.retrieval.shards import Shards

# Parameters that keep some of a model's dimensions only.
_CUT = ("dimensions", "dimension", "truncate_dim")
# Of one fused document: hash, sum and sort; and the columns that hold it. What reading runs loads.
_FUSION_SECONDS, _FUSION_BYTES, _READING = 0.5e-6, 200, 100 * 2**20


@dataclass(frozen=True)
class Plan:
    """``queries`` is None where their number is not known, and ``queries_from`` tells why, or whence it is;
    ``stores`` are those of ``corpora``, None of one whose size is not known, ``pool`` that of all systems, None where
    it cannot be told; ``measured`` counts the stages of this workspace that times follow."""

    config: PoolConfig
    queries: int | None
    queries_from: str
    corpora: tuple[CorpusSize, ...]
    stores: tuple[PlannedStore | None, ...]
    pool: PlannedStore | None
    systems: tuple[PlannedSystem, ...]
    measured: int
    total: Total
    left: Total


def plan(config_path: Path, *, only: Sequence[str] = ()) -> Plan:
    """Reckons what ``build`` would do, offline; ``only`` as there.

    Inputs, models, extras and keys that are not here are told of, not refused. Raises InputError for a
    ``pool.yaml`` that does not hold what it should, and ConfigError for an unknown system in ``only``.
    """
    config = load_config(config_path)
    for run_tag in only:
        if run_tag not in config.systems:
            raise ConfigError(f"--only {run_tag}: no such system; {nearest(run_tag, config.systems)}")
    wanted = config.closure(only or list(config.systems))
    workspace = PlanWorkspace(config.folder)
    queries, count, queries_from = _queries(config)
    needed = {name for tag in wanted for name in _corpora_of(config, tag)}
    corpora = {name: measure(config, name, workspace) for name in used_corpora(config)}
    fingerprints = {name: size.fingerprint for name, size in corpora.items() if size.fingerprint}
    keys = Keys(config, workspace, queries or Queries([], Ids([]), ""), fingerprints)
    took = stages_of(workspace)
    found = _Found(config, workspace, keys, corpora, count, known=queries is not None, times=Times(took))
    systems = found.systems([tag for tag in config.systems if tag in wanted])
    sizes = [size for name, size in corpora.items() if name in needed]
    stores = [planned_store(size) for size in sizes]
    pool = planned_pool(config, sizes, count) if len(wanted) == len(config.systems) else None
    if pool and all(system.left == 0 for system in systems) and unfinished(workspace.pool) is None:
        pool = replace(pool, there=True)
    counted = [store for store in (*stores, pool) if store]
    return Plan(
        config,
        count,
        queries_from,
        tuple(sizes),
        tuple(stores),
        pool,
        systems,
        len(took),
        total(systems, counted),
        total(systems, counted, left=True),
    )


def _queries(config: PoolConfig) -> tuple[Queries | None, int | None, str]:
    settings = config.queries
    try:
        queries = load_queries(config)
        return queries, len(queries.queries), settings.path
    except QuatiPoolError as error:
        reason = " ".join(str(error).split())
    if config.plan.queries is not None:
        return None, config.plan.queries, "plan: in pool.yaml"
    asked = len(set(settings.ids)) if settings.ids else settings.sample
    if asked is not None:
        return None, asked, "queries: in pool.yaml"
    return None, None, f"{reason}; or give their number as  plan: {{queries: 50}}"


def _corpora_of(config: PoolConfig, run_tag: str) -> list[str]:
    system = config.systems[run_tag]
    if isinstance(system, RetrieverSystem):
        return [str(system.corpus)]
    return list(dict.fromkeys(name for tag in config.needs(run_tag) for name in _corpora_of(config, tag)))


class _Found:
    """Plans systems one after the other, and remembers what they make."""

    def __init__(
        self,
        config: PoolConfig,
        workspace: PlanWorkspace,
        keys: Keys,
        corpora: dict[str, CorpusSize],
        queries: int | None,
        known: bool,
        times: Times,
    ) -> None:
        self.config = config
        self.workspace = workspace
        self.keys = keys
        self.corpora = corpora
        self.queries = queries
        self.known = known
        self.times = times
        self._indexed: dict[str, str] = {}
        self._encoded: dict[str, str] = {}

    def systems(self, run_tags: Sequence[str]) -> tuple[PlannedSystem, ...]:
        """The systems, all of which times are learnt from first, those that are not asked for too."""
        learnt = {tag: self._learnt(tag) for tag in self.config.systems}
        # In the order of the build, which makes retrievers' vectors before rerankers ask for some of them.
        planned = {tag: self._timed(self._system(tag), *learnt[tag]) for tag in self.config.closure(run_tags)}
        return tuple(planned[tag] for tag in run_tags)

    def _learnt(self, run_tag: str) -> tuple[dict[Stage, tuple[str, ...]], dict[Stage, list[float]]]:
        """By stage of a system, what kind of stage it is, and by what factors those of its settings took longer than
        was said."""
        kinds: dict[Stage, tuple[str, ...]] = {}
        factors: dict[Stage, list[float]] = {}
        with suppress(Exception):  # reported where the system is planned
            for wanted in self._wanted(run_tag):
                kinds[wanted.stage] = wanted.kind
                factors[wanted.stage] = self.times.learn(wanted)
        return kinds, factors

    def _wanted(self, run_tag: str) -> Iterator[Wanted]:
        system = self.config.systems[run_tag]
        (corpus,) = _corpora_of(self.config, run_tag)
        if isinstance(system, FusionSystem) or (work := self._work(run_tag, system, corpus)) is None:
            return
        registry, name = component_name(system)
        component: Component = registry.get(name)(system.parameters, self.keys.environment)
        unread: Component = registry.get(name)(
            system.parameters, replace(self.keys.environment, digest=lambda path: "")
        )
        encodes = self._encodes(component)
        how = str(getattr(system.parameters, "index", "") or getattr(system.parameters, "search", ""))

        def seconds(stage: Stage) -> Callable[[Workload], float | None]:
            def predicted(work: Workload) -> float | None:
                parts = parts_of(unread.estimate(work), encodes=encodes, gpu_hours=None, run_disk=0)
                return next((part.seconds.middle for part in parts if part.stage == stage and part.seconds), None)

            return predicted

        if encodes:
            key = next((dict(key) for _, key in component.encodings()), component.search_key())
            engine = str(component.encodes)
            yield Wanted("encoding", engine, key, ("encoding", engine), work, seconds("encoding"))
        place = self._index(component, registry.index_identity(name), corpus)
        if place is not None:
            engine = place[0].name.rpartition("-")[0]
            yield Wanted("index", engine, place[1], ("index", engine, how), work, seconds("index"))
        yield Wanted("run", run_tag, self.keys.search(run_tag), ("run", name, how), work, seconds("run"))

    def _timed(
        self, system: PlannedSystem, kinds: dict[Stage, tuple[str, ...]], factors: dict[Stage, list[float]]
    ) -> PlannedSystem:
        """The system with the times that measured ones suggest."""
        parts = tuple(
            self.times.scaled(part, kinds[part.stage], factors[part.stage]) if part.stage in kinds else part
            for part in system.parts
        )
        known = [part.seconds for part in parts if part.seconds is not None]
        whole = Seconds.sum(known) if parts and len(known) == len(parts) else None
        return replace(system, parts=parts, seconds=whole, left=share_left(parts) if parts else system.left)

    def _system(self, run_tag: str) -> PlannedSystem:
        system = self.config.systems[run_tag]
        names = _corpora_of(self.config, run_tag)
        what, corpus = _what(self.config, run_tag), ", ".join(names)
        try:
            if isinstance(system, FusionSystem):
                there, left = (["run current"], 0.0) if self._current(run_tag) else ([], 1.0)
                estimate, problem = self._fusion(run_tag)
                parts = self._parts(run_tag, estimate, {"index": left, "run": left}, encodes=False)
                if estimate is not None:
                    estimate = replace(estimate, disk=round(sum(part.disk for part in parts)))
                return PlannedSystem(run_tag, what, corpus, estimate, problem, tuple(there), left, None, parts=parts)
            if len(names) > 1:
                problem = "draws on several corpora, which a reranker cannot"
                return PlannedSystem(run_tag, what, corpus, None, problem, (), 1.0, None)
            return self._component(run_tag, system, what, names[0])
        except Exception as error:  # a plug-in's own, which must not hide the others
            told = " ".join(str(error).split())
            problem = (
                told if isinstance(error, QuatiPoolError) else f"cannot be planned ({type(error).__name__}: {told})"
            )
            return PlannedSystem(run_tag, what, corpus, None, problem, (), 1.0, None)

    def _component(self, run_tag: str, system: RetrieverSystem | RerankSystem, what: str, corpus: str) -> PlannedSystem:
        registry, name = component_name(system)
        component: Component = registry.get(name)(system.parameters, self.keys.environment)
        there, left = self._there(run_tag, component, registry.index_identity(name), corpus)
        # What files hold changes no estimate, and large models take long to read.
        unread = replace(self.keys.environment, digest=lambda path: "")
        estimating: Component = registry.get(name)(system.parameters, unread)
        estimate, problem = self._estimate(run_tag, system, estimating, corpus)
        shared = self._shared(run_tag, component, registry.index_identity(name), corpus)
        hours = None
        if estimate is not None and estimate.flops:
            compute = getattr(system.parameters, "compute", "fp16")
            hours = gpu_hours(estimate.flops, compute)
            speed = f"{gpu_speed(compute) / 1e12:.4g} TFLOP/s in {compute}"
            line = f"{estimate.flops:.2e} FLOP ÷ {speed} = {human_hours(hours)} of one {GPU}"
            estimate = replace(estimate, arithmetic=(*estimate.arithmetic, line))
        parts = self._parts(run_tag, estimate, left, encodes=self._encodes(component), hours=hours, shared=shared)
        whole = 0.0 if set(left.values()) == {0.0} else 1.0
        other = next(iter(shared.values()), None)
        if estimate is not None and parts:
            estimate = replace(
                estimate, disk=round(sum(part.disk for part in parts)) if estimate.disk is not None else None
            )
        return PlannedSystem(run_tag, what, corpus, estimate, problem, tuple(there), whole, other, hours, parts=parts)

    def _parts(
        self,
        run_tag: str,
        estimate: Estimate | None,
        left: Mapping[Stage, float],
        *,
        encodes: bool,
        hours: float | None = None,
        shared: Mapping[Stage, str] | None = None,
    ) -> tuple[PlannedPart, ...]:
        if estimate is None:
            return ()
        row = FUSED_ROW if isinstance(self.config.systems[run_tag], FusionSystem) else RUN_ROW
        rows = (self.queries or 0) * self.config.run_depth
        if self.keys.deep(run_tag):
            rows += (self.queries or 0) * self.config.search_depth(run_tag)
        parts = parts_of(estimate, encodes=encodes, gpu_hours=hours, run_disk=row * rows)
        return tuple(
            replace(part, left=left.get(part.stage, 1.0), shared=part.stage in (shared or {})) for part in parts
        )

    def _estimate(
        self, run_tag: str, system: RetrieverSystem | RerankSystem, component: Component, corpus: str
    ) -> tuple[Estimate | None, str | None]:
        size = self.corpora[corpus]
        if size.passages is None or size.characters is None:
            return None, "the size of the corpus is not known"
        work = self._work(run_tag, system, corpus)
        if work is None:
            return None, "the number of queries is not known"
        return _assumed(system, work, component.estimate(work)), None

    def _work(self, run_tag: str, system: RetrieverSystem | RerankSystem, corpus: str) -> Workload | None:
        size = self.corpora[corpus]
        if size.passages is None or size.characters is None or self.queries is None:
            return None
        depth = min(self.config.search_depth(run_tag), size.passages)
        pairs = 0
        if isinstance(system, RerankSystem):
            pairs = self.queries * min(self.config.input_depth(run_tag), size.passages)
        return Workload(size.passages, size.characters, self.queries, depth, pairs, size.sample)

    def _fusion(self, run_tag: str) -> tuple[Estimate | None, str | None]:
        if self.queries is None:
            return None, "the number of queries is not known"
        rows = self.queries * self.config.input_depth(run_tag) * len(self.config.needs(run_tag))
        line = f"{run_tag}: at most {rows:,} documents of {len(self.config.needs(run_tag))} runs"
        return Estimate(
            disk=0, memory=_READING + rows * _FUSION_BYTES, seconds=rows * _FUSION_SECONDS, arithmetic=(line,)
        ), None

    def _there(
        self, run_tag: str, component: Component, identity: str, corpus: str
    ) -> tuple[list[str], dict[Stage, float]]:
        """What is here of a system already, in words, and the share that is left of each stage."""
        there: list[str] = []
        if self._current(run_tag):
            return ["run current"], {"encoding": 0.0, "index": 0.0, "run": 0.0}
        left: dict[Stage, float] = {"encoding": 1.0, "index": 1.0, "run": 1.0}
        index = self._index(component, identity, corpus)
        if index is not None and stale(*index) is None:
            there.append("index current")
            left["index"] = 0.0
        for folder, key in self._encodings(component, corpus):
            passages = self.corpora[corpus].passages or 0
            if stale(folder, key) is None:
                there.append("encodings finished")
                left["encoding"] = 0.0
            elif folder.exists():
                done = Shards(folder).passages
                there.append(f"{done:,} of {passages:,} encoded")
                left["encoding"] = max(0.0, 1 - done / passages) if passages else 1.0
        there += _lacking(component, self.keys.environment)
        return there, left

    def _current(self, run_tag: str) -> bool:
        # Without queries or a corpus there is no telling what a run was made from.
        try:
            return self.known and current(self.keys, self.workspace, run_tag)
        except (KeyError, ImportError):
            return False

    def _index(self, component: Component, identity: str, corpus: str) -> tuple[Path, dict[str, Any]] | None:
        fingerprint = self.corpora[corpus].fingerprint
        if fingerprint is None:
            return None
        with suppress(QuatiPoolError, ImportError):
            return index_place(self.workspace, component, identity, fingerprint)
        return None

    def _encodings(self, component: Component, corpus: str) -> list[tuple[Path, dict[str, Any]]]:
        fingerprint = self.corpora[corpus].fingerprint
        if fingerprint is None:
            return []
        places = []
        with suppress(QuatiPoolError, ImportError):
            for name, key in component.encodings():
                places.append(growing_place(self.workspace, name, fingerprint, key))
        return places

    @staticmethod
    def _encodes(component: Component) -> bool:
        with suppress(QuatiPoolError, ImportError):
            return component.encodes is not None or bool(component.encodings())
        return False

    def _shared(self, run_tag: str, component: Component, identity: str, corpus: str) -> dict[Stage, str]:
        """The stages that a system planned before makes as well, and which that is. A model that is not here, and a
        corpus of which only the size is known, are distinguished by their names."""
        shared: dict[Stage, str] = {}
        encoded = component.encoded_as()
        if encoded is not None:
            made = digest([corpus, encoded])
            if (other := self._encoded.get(made)) is not None:
                shared["encoding"] = other
            elif isinstance(component, Retriever):  # a reranker encodes what it scores, where no one has encoded all
                self._encoded[made] = run_tag
        with suppress(QuatiPoolError, ImportError):
            named = self.corpora[corpus].fingerprint or f"of {corpus}"
            place = index_place(self.workspace, component, identity, named)
            if place is not None and (maker := self._indexed.setdefault(str(place[0]), run_tag)) != run_tag:
                shared["index"] = maker
        return shared


def _assumed(system: RetrieverSystem | RerankSystem, work: Workload, estimate: Estimate) -> Estimate:
    """The estimate of a model that is still to be named, with the work of one such as the component's name
    stands for."""
    model = getattr(system.parameters, "model", None)
    name = system.retriever if isinstance(system, RetrieverSystem) else system.reranker
    if estimate.flops is not None or not _unnamed(model) or name not in STAND_INS:
        return estimate
    shape, reason = STAND_INS[name]
    tokens = tokens_of(work.characters, getattr(system.parameters, "max_tokens", None) or shape.max_tokens)
    size = 4 if getattr(system.parameters, "compute", "fp32") == "fp32" else 2
    texts = work.pairs or work.passages
    made = estimate_forward(str(model), shape, texts, tokens, weight_bytes=size, vocabulary_head=name == "splade")
    return replace(
        estimate,
        encode=made.encode,
        memory=(estimate.memory or 0) + (made.memory or 0),
        device_memory=made.device_memory,
        # Of a model that is not known, the index and the search are, but not the whole.
        seconds=(made.seconds or 0) + START["neural"] + estimate.index.seconds + estimate.search.seconds,
        flops=made.flops,
        arithmetic=(*made.arithmetic, *estimate.arithmetic),
        notes=(f"{model} is taken to be {reason}",),
    )


def _unnamed(model: object) -> bool:
    return isinstance(model, str) and model.startswith("<") and model.endswith(">")


def _lacking(component: Component, environment: ComponentEnvironment) -> list[str]:
    """What would keep a system from running here: its extra, model or key."""
    lacking = []
    try:
        component.require()
    except MissingExtraError as error:
        lacking.append(str(error))
    parameters = component.parameters
    if isinstance(parameters, ModelParameters):
        lacking.append(_model(environment, parameters))
    variable = getattr(parameters, "api_key_env", None)
    if variable is not None and not os.environ.get(variable):
        lacking.append(f"no key in {variable}")
    lacking += [f"no file {file}" for file in component.inputs() if not (environment.folder / file).exists()]
    return lacking


def _model(environment: ComponentEnvironment, parameters: ModelParameters) -> str:
    # What a model's files hold is of no matter here, and gigabytes take long to read.
    unread = replace(environment, digest=lambda path: "")
    try:
        locate(unread, parameters.model, parameters.revision)
    except ConfigError:
        return f"model: {parameters.model}"
    except ModelMissingError:
        return "model not here"
    except QuatiPoolError as error:
        return str(error)
    return "model here"


def _what(config: PoolConfig, run_tag: str) -> str:
    system = config.systems[run_tag]
    if isinstance(system, FusionSystem):
        return f"{system.method} of {', '.join(system.fuse)}"
    component = system.retriever if isinstance(system, RetrieverSystem) else system.reranker
    told = [component]
    if (model := getattr(system.parameters, "model", None)) is not None:
        told.append(str(model))
    cut = next(
        (getattr(system.parameters, name, None) for name in _CUT if getattr(system.parameters, name, None)), None
    )
    if cut is not None and model is not None:
        told.append(f"({cut:,} dimensions)")
    named = " ".join(told)
    return named if isinstance(system, RetrieverSystem) else f"{system.first} to {system.depth:,}, by {named}"
