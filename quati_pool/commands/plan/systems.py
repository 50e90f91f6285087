"""What each system of a collection will need: the parts of its work, their size and time, and what is left of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from pydantic import BaseModel

from quati_pool.commands.plan.corpora import NO_CORPUS, CorpusSize
from quati_pool.commands.plan.inventory import Inventory, PlannedComponent
from quati_pool.commands.plan.parts import PlannedPart, PlannedSystem, Seconds, Stage, parts_of, share_left
from quati_pool.commands.plan.stores import FUSED_ROW, RUN_ROW
from quati_pool.commands.plan.times import PlannedStage, TimeScaling
from quati_pool.errors import QuatiPoolError
from quati_pool.models.parameters import ModelParameters
from quati_pool.project.cache_keys import CacheKeys
from quati_pool.project.config import FusionSystem, PoolConfig, RerankSystem, RetrieverSystem, needs_corpus
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

# Parameters that keep only some of a model's dimensions.
_DIMENSIONS = ("dimensions", "dimension", "truncate_dim")
# Per fused document: seconds to hash, sum and sort it, and bytes of its columns. Then the memory for reading runs.
_FUSION_SECONDS, _FUSION_BYTES, _READING = 0.5e-6, 200, 100 * 2**20


def corpora_of(config: PoolConfig, run_tag: str) -> list[str]:
    """The names of the corpora that a system's passages come from, in the order of its inputs."""
    system = config.systems[run_tag]
    if isinstance(system, RetrieverSystem):
        return [system.corpus] if system.corpus else []
    return list(dict.fromkeys(name for tag in config.needs(run_tag) for name in corpora_of(config, tag)))


class SystemPlanner:
    """Plans the systems of one collection; ``queries`` is the number of queries, None where unknown."""

    def __init__(
        self,
        config: PoolConfig,
        keys: CacheKeys,
        inventory: Inventory,
        corpora: Mapping[str, CorpusSize],
        queries: int | None,
        scaling: TimeScaling,
    ) -> None:
        self._config = config
        self._keys = keys
        self._inventory = inventory
        self._corpora = corpora
        self._queries = queries
        self._scaling = scaling

    def plan(self, run_tags: Sequence[str]) -> tuple[PlannedSystem, ...]:
        """Plans ``run_tags``; their times are scaled by what finished stages of all the collection's systems took."""
        learnt = {tag: self._learnt(tag) for tag in self._config.systems}
        # In build order, so that vectors of a whole corpus come before those of it that rerankers need.
        planned = {tag: self._scaled(self._system(tag), *learnt[tag]) for tag in self._config.closure(run_tags)}
        return tuple(planned[tag] for tag in run_tags)

    def _learnt(self, run_tag: str) -> tuple[dict[Stage, tuple[str, ...]], dict[Stage, list[float]]]:
        """The kind of each stage of a system, and the factors by which stages with its settings exceeded their plan."""
        kinds: dict[Stage, tuple[str, ...]] = {}
        factors: dict[Stage, list[float]] = {}
        with suppress(Exception):  # reported where the system is planned
            for stage in self._stages(run_tag):
                kinds[stage.stage] = stage.kind
                factors[stage.stage] = self._scaling.learn(stage)
        return kinds, factors

    def _stages(self, run_tag: str) -> Iterator[PlannedStage]:
        system = self._config.systems[run_tag]
        if isinstance(system, FusionSystem):
            return
        corpus = self._corpus(corpora_of(self._config, run_tag))
        if (work := self._work(run_tag, system, corpus)) is None:
            return
        planned = PlannedComponent.of(run_tag, system, corpus, self._keys.environment)
        component, encodes = planned.component, planned.encodes
        method = str(getattr(system.parameters, "index", "") or getattr(system.parameters, "search", ""))

        def seconds(stage: Stage) -> Callable[[Workload], float | None]:
            def predicted(work: Workload) -> float | None:
                parts = parts_of(planned.estimating.estimate(work), encodes=encodes, gpu_hours=None, run_disk=0)
                return next((part.seconds.middle for part in parts if part.stage == stage and part.seconds), None)

            return predicted

        if encodes:
            key = next((dict(key) for _, key in component.encodings()), component.search_key())
            engine = str(component.encodes)
            yield PlannedStage("encoding", engine, key, ("encoding", engine), work, seconds("encoding"))
        index = self._inventory.index(planned)
        if index is not None:
            engine = index[0].name.rpartition("-")[0]
            yield PlannedStage("index", engine, index[1], ("index", engine, method), work, seconds("index"))
        kind = ("run", system.component.name, method)
        yield PlannedStage("run", run_tag, self._keys.search(run_tag), kind, work, seconds("run"))

    def _scaled(
        self, system: PlannedSystem, kinds: dict[Stage, tuple[str, ...]], factors: dict[Stage, list[float]]
    ) -> PlannedSystem:
        parts = tuple(
            self._scaling.scaled(part, kinds[part.stage], factors[part.stage]) if part.stage in kinds else part
            for part in system.parts
        )
        known = [part.seconds for part in parts if part.seconds is not None]
        seconds = Seconds.sum(known) if parts and len(known) == len(parts) else None
        return replace(system, parts=parts, seconds=seconds, left=share_left(parts) if parts else system.left)

    def _system(self, run_tag: str) -> PlannedSystem:
        system = self._config.systems[run_tag]
        names = corpora_of(self._config, run_tag)
        what, corpus = described(system), ", ".join(names)
        try:
            if isinstance(system, FusionSystem):
                return self._fusion(run_tag, what, corpus)
            if len(names) < 2:
                return self._component(run_tag, system, what, self._corpus(names))
            problem = "draws on several corpora, which a reranker cannot"
        except Exception as error:  # from a plug-in; it must not hide the other systems
            problem = " ".join(str(error).split())
            if not isinstance(error, QuatiPoolError):
                problem = f"cannot be planned ({type(error).__name__}: {problem})"
        return PlannedSystem(run_tag, what, corpus, None, problem, (), 1.0, None)

    def _corpus(self, names: Sequence[str]) -> CorpusSize:
        """The corpus of a system; an empty one for a run file in a collection without a corpus."""
        return self._corpora[names[0]] if names else NO_CORPUS

    def _fusion(self, run_tag: str, what: str, corpus: str) -> PlannedSystem:
        words, left = (("run current",), 0.0) if self._inventory.run_is_current(run_tag) else ((), 1.0)
        if self._queries is None:
            problem = "the number of queries is not known"
            return PlannedSystem(run_tag, what, corpus, None, problem, words, left, None)
        inputs = len(self._config.needs(run_tag))
        rows = self._queries * self._config.input_depth(run_tag) * inputs
        line = f"{run_tag}: at most {rows:,} documents of {inputs} runs"
        memory = _READING + rows * _FUSION_BYTES
        estimate = Estimate(disk=0, memory=memory, seconds=rows * _FUSION_SECONDS, arithmetic=(line,))
        parts = self._parts(run_tag, estimate, {"index": left, "run": left}, encodes=False)
        estimate = replace(estimate, disk=round(sum(part.disk for part in parts)))
        return PlannedSystem(run_tag, what, corpus, estimate, None, words, left, None, parts=parts)

    def _component(
        self, run_tag: str, system: RetrieverSystem | RerankSystem, what: str, corpus: CorpusSize
    ) -> PlannedSystem:
        planned = PlannedComponent.of(run_tag, system, corpus, self._keys.environment)
        words, left = self._inventory.state(planned)
        estimate, problem = self._estimate(run_tag, system, planned)
        shared = self._inventory.shared(planned)
        hours = None
        if estimate is not None and estimate.flops:
            compute = getattr(system.parameters, "compute", "fp16")
            hours = gpu_hours(estimate.flops, compute)
            speed = f"{gpu_speed(compute) / 1e12:.4g} TFLOP/s in {compute}"
            line = f"{estimate.flops:.2e} FLOP ÷ {speed} = {human_hours(hours)} of one {GPU}"
            estimate = replace(estimate, arithmetic=(*estimate.arithmetic, line))
        parts: tuple[PlannedPart, ...] = ()
        if estimate is not None:
            parts = self._parts(run_tag, estimate, left, encodes=planned.encodes, hours=hours, shared=shared)
            if estimate.disk is not None:
                estimate = replace(estimate, disk=round(sum(part.disk for part in parts)))
        any_left = 0.0 if set(left.values()) == {0.0} else 1.0
        shares = next(iter(shared.values()), None)
        return PlannedSystem(
            run_tag, what, corpus.name, estimate, problem, tuple(words), any_left, shares, hours, parts=parts
        )

    def _parts(
        self,
        run_tag: str,
        estimate: Estimate,
        left: Mapping[Stage, float],
        *,
        encodes: bool,
        hours: float | None = None,
        shared: Mapping[Stage, str] | None = None,
    ) -> tuple[PlannedPart, ...]:
        row = FUSED_ROW if isinstance(self._config.systems[run_tag], FusionSystem) else RUN_ROW
        rows = (self._queries or 0) * self._config.run_depth
        if self._keys.deep(run_tag):
            rows += (self._queries or 0) * self._config.search_depth(run_tag)
        parts = parts_of(estimate, encodes=encodes, gpu_hours=hours, run_disk=row * rows)
        return tuple(
            replace(part, left=left.get(part.stage, 1.0), shared=part.stage in (shared or {})) for part in parts
        )

    def _estimate(
        self, run_tag: str, system: RetrieverSystem | RerankSystem, planned: PlannedComponent
    ) -> tuple[Estimate | None, str | None]:
        """The estimate of a component, or None and the reason."""
        if planned.corpus.passages is None or planned.corpus.characters is None:
            return None, "the size of the corpus is not known"
        work = self._work(run_tag, system, planned.corpus)
        if work is None:
            return None, "the number of queries is not known"
        return _with_stand_in(system, work, planned.estimating.estimate(work)), None

    def _work(self, run_tag: str, system: RetrieverSystem | RerankSystem, size: CorpusSize) -> Workload | None:
        if size.passages is None or size.characters is None or self._queries is None:
            return None
        depth = self._config.search_depth(run_tag)
        if needs_corpus(system):
            depth = min(depth, size.passages)
        pairs = 0
        if isinstance(system, RerankSystem):
            pairs = self._queries * min(self._config.input_depth(run_tag), size.passages)
        return Workload(size.passages, size.characters, self._queries, depth, pairs, size.sample)


def _with_stand_in(system: RetrieverSystem | RerankSystem, work: Workload, estimate: Estimate) -> Estimate:
    """Adds the work of a typical model to the estimate of a system whose model is a placeholder (``<…>``); returns any
    other estimate unchanged."""
    parameters = system.parameters
    one = parameters.for_passages() if isinstance(parameters, ModelParameters) else parameters
    model = getattr(one, "model", None)
    name = system.retriever if isinstance(system, RetrieverSystem) else system.reranker
    if estimate.flops is not None or not _unnamed(model) or name not in STAND_INS:
        return estimate
    shape, reason = STAND_INS[name]
    tokens = tokens_of(work.characters, getattr(system.parameters, "max_tokens", None) or shape.max_tokens)
    weight_bytes = 4 if getattr(system.parameters, "compute", "fp32") == "fp32" else 2
    texts = work.pairs or work.passages
    encoding = estimate_forward(
        str(model), shape, texts, tokens, weight_bytes=weight_bytes, vocabulary_head=name == "splade"
    )
    return replace(
        estimate,
        encode=encoding.encode,
        memory=(estimate.memory or 0) + (encoding.memory or 0),
        device_memory=encoding.device_memory,
        # Without a model the estimate has times for index and search, but no total time.
        seconds=(encoding.seconds or 0) + START["neural"] + estimate.index.seconds + estimate.search.seconds,
        flops=encoding.flops,
        arithmetic=(*encoding.arithmetic, *estimate.arithmetic),
        notes=(f"{model} is assumed to be {reason}",),
    )


def _unnamed(model: object) -> bool:
    return isinstance(model, str) and model.startswith("<") and model.endswith(">")


def _models(parameters: BaseModel) -> list[str]:
    if isinstance(parameters, ModelParameters):
        return [one.model for one in parameters.each_model().values()]
    model = getattr(parameters, "model", None)
    return [] if model is None else [str(model)]


def described(system: RetrieverSystem | RerankSystem | FusionSystem) -> str:
    """A system in a few words: its component, model and dimensions, and its inputs."""
    if isinstance(system, FusionSystem):
        return f"{system.method} of {', '.join(system.fuse)}"
    words = [system.retriever if isinstance(system, RetrieverSystem) else system.reranker]
    if models := _models(system.parameters):
        words.append(" and ".join(models))
        dimensions = next(filter(None, (getattr(system.parameters, name, None) for name in _DIMENSIONS)), None)
        if dimensions is not None:
            words.append(f"({dimensions:,} dimensions)")
    described = " ".join(words)
    return described if isinstance(system, RetrieverSystem) else f"{system.first} to {system.depth:,}, by {described}"
