"""``quati-pool build --plan``: what every system will need, and what of it is there; runs and writes nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quati_pool.config import FusionSystem, PoolConfig, RerankSystem, RetrieverSystem, load_config
from quati_pool.errors import ConfigError, MissingExtraError, QuatiPoolError
from quati_pool.files.artefacts import stale
from quati_pool.records import Ids
from quati_pool.registry import nearest
from quati_pool.retrieval.base import Component, Site
from quati_pool.retrieval.encoders.models import ModelMissingError, ModelParameters, locate
from quati_pool.retrieval.planning import (
    GPU,
    STAND_INS,
    Estimate,
    Work,
    gpu_hours,
    gpu_speed,
    human_hours,
    model_work,
    tokens_of,
)
from quati_pool.retrieval.shards import Shards
from quati_pool.steps.growing import growing_place
from quati_pool.steps.inputs import Queries, load_queries
from quati_pool.steps.keys import Keys, component_name, index_place, used_corpora
from quati_pool.steps.plan_corpora import CorpusSize, PlanWorkspace, measure
from quati_pool.steps.systems import current

# Parameters that keep some of a model's dimensions only.
_CUT = ("dimensions", "dimension", "truncate_dim")
# Of one fused document: hash, sum and sort; and the columns that hold it.
_FUSION_SECONDS, _FUSION_BYTES = 0.5e-6, 200


@dataclass(frozen=True)
class PlannedSystem:
    """What a system will take and what is there of it; ``estimate`` is None where nothing can be said, and
    ``problem`` tells why. ``left`` is the share of the work that is still to do, from 0 to 1; ``shares`` the
    system that makes the same index or vectors; ``gpu_hours`` those of the reference GPU, None where no model
    works here or its size is not known."""

    run_tag: str
    what: str
    corpus: str
    estimate: Estimate | None
    problem: str | None
    there: tuple[str, ...]
    left: float
    shares: str | None
    gpu_hours: float | None = None


@dataclass(frozen=True)
class Total:
    """Sums over systems, what two share counted once; memory is the most of any. ``unknown`` names systems
    that lack a figure, which makes the sums lower bounds."""

    encode: int
    disk: int
    memory: int
    seconds: float
    gpu_hours: float
    cost: float
    unknown: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """``queries`` is None where their number is not known, and ``queries_from`` tells why, or whence it is."""

    config: PoolConfig
    queries: int | None
    queries_from: str
    corpora: tuple[CorpusSize, ...]
    systems: tuple[PlannedSystem, ...]
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
    corpora = {name: measure(config, name, workspace) for name in used_corpora(config) if name in needed}
    fingerprints = {name: size.fingerprint for name, size in corpora.items() if size.fingerprint}
    keys = Keys(config, workspace, queries or Queries([], Ids([]), ""), fingerprints)
    found = _Found(config, workspace, keys, corpora, count, known=queries is not None)
    ordered = [tag for tag in config.systems if tag in wanted]
    systems = found.systems(ordered)
    return Plan(config, count, queries_from, tuple(corpora.values()), systems, _total(systems), _total(systems, True))


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
    ) -> None:
        self.config = config
        self.workspace = workspace
        self.keys = keys
        self.corpora = corpora
        self.queries = queries
        self.known = known
        self._makers: dict[str, str] = {}

    def systems(self, run_tags: Sequence[str]) -> tuple[PlannedSystem, ...]:
        return tuple(map(self._system, run_tags))

    def _system(self, run_tag: str) -> PlannedSystem:
        system = self.config.systems[run_tag]
        names = _corpora_of(self.config, run_tag)
        what, corpus = _what(self.config, run_tag), ", ".join(names)
        try:
            if isinstance(system, FusionSystem):
                there, left = (["run current"], 0.0) if self._current(run_tag) else ([], 1.0)
                estimate, problem = self._fusion(run_tag)
                return PlannedSystem(run_tag, what, corpus, estimate, problem, tuple(there), left, None)
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
        component: Component = registry.get(name)(system.parameters, self.keys.site)
        there, left = self._there(run_tag, component, registry.index_identity(name), corpus)
        # What files hold changes no estimate, and large models take long to read.
        unread = replace(self.keys.site, digest=lambda path: "")
        estimating: Component = registry.get(name)(system.parameters, unread)
        estimate, problem = self._estimate(run_tag, system, estimating, corpus)
        made = self._makes(component, registry.index_identity(name), corpus)
        shares = self._makers.setdefault(made, run_tag) if made else run_tag
        hours = None
        if estimate is not None and estimate.flops:
            compute = getattr(system.parameters, "compute", "fp16")
            hours = gpu_hours(estimate.flops, compute)
            speed = f"{gpu_speed(compute) / 1e12:.4g} TFLOP/s in {compute}"
            line = f"{estimate.flops:.2e} FLOP ÷ {speed} = {human_hours(hours)} of one {GPU}"
            estimate = replace(estimate, arithmetic=(*estimate.arithmetic, line))
        other = None if shares == run_tag else shares
        return PlannedSystem(run_tag, what, corpus, estimate, problem, tuple(there), left, other, hours)

    def _estimate(
        self, run_tag: str, system: RetrieverSystem | RerankSystem, component: Component, corpus: str
    ) -> tuple[Estimate | None, str | None]:
        size = self.corpora[corpus]
        if size.passages is None or size.characters is None:
            return None, "the size of the corpus is not known"
        if self.queries is None:
            return None, "the number of queries is not known"
        depth = min(self.config.search_depth(run_tag), size.passages)
        pairs = 0
        if isinstance(system, RerankSystem):
            pairs = self.queries * min(self.config.input_depth(run_tag), size.passages)
        work = Work(size.passages, size.characters, self.queries, depth, pairs, size.sample)
        return _assumed(system, work, component.estimate(work)), None

    def _fusion(self, run_tag: str) -> tuple[Estimate | None, str | None]:
        if self.queries is None:
            return None, "the number of queries is not known"
        rows = self.queries * self.config.input_depth(run_tag) * len(self.config.needs(run_tag))
        line = f"{run_tag}: at most {rows:,} documents of {len(self.config.needs(run_tag))} runs"
        return Estimate(disk=0, memory=rows * _FUSION_BYTES, seconds=rows * _FUSION_SECONDS, arithmetic=(line,)), None

    def _there(self, run_tag: str, component: Component, identity: str, corpus: str) -> tuple[list[str], float]:
        """What is here of a system already, in words, and the share of its work that is left."""
        there: list[str] = []
        left = 1.0
        if self._current(run_tag):
            return ["run current"], 0.0
        index = self._index(component, identity, corpus)
        if index is not None and stale(*index) is None:
            there.append("index current")
            left = 0.0
        for folder, key in self._encodings(component, corpus):
            passages = self.corpora[corpus].passages or 0
            if stale(folder, key) is None:
                there.append("encodings finished")
                left = 0.0
            elif folder.exists():
                done = Shards(folder).passages
                there.append(f"{done:,} of {passages:,} encoded")
                left = min(left, max(0.0, 1 - done / passages)) if passages else left
        there += _lacking(component, self.keys.site)
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

    def _makes(self, component: Component, identity: str, corpus: str) -> str | None:
        """What tells what a component makes of a corpus from what others make."""
        index = self._index(component, identity, corpus)
        encodings = self._encodings(component, corpus)
        made = [str(folder) for folder, _ in [*([index] if index else []), *encodings]]
        return " ".join(made) or None


def _assumed(system: RetrieverSystem | RerankSystem, work: Work, estimate: Estimate) -> Estimate:
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
    made = model_work(str(model), shape, texts, tokens, weight_bytes=size, vocabulary_head=name == "splade")
    return replace(
        estimate,
        encode=made.encode,
        memory=(estimate.memory or 0) + (made.memory or 0),
        device_memory=made.device_memory,
        seconds=(estimate.seconds or 0) + (made.seconds or 0),
        flops=made.flops,
        arithmetic=(*made.arithmetic, *estimate.arithmetic),
        notes=(f"{model} is taken to be {reason}",),
    )


def _unnamed(model: object) -> bool:
    return isinstance(model, str) and model.startswith("<") and model.endswith(">")


def _lacking(component: Component, site: Site) -> list[str]:
    """What would keep a system from running here: its extra, model or key."""
    lacking = []
    try:
        component.require()
    except MissingExtraError as error:
        lacking.append(str(error))
    parameters = component.parameters
    if isinstance(parameters, ModelParameters):
        lacking.append(_model(site, parameters))
    variable = getattr(parameters, "api_key_env", None)
    if variable is not None and not os.environ.get(variable):
        lacking.append(f"no key in {variable}")
    return lacking


def _model(site: Site, parameters: ModelParameters) -> str:
    # What a model's files hold is of no matter here, and gigabytes take long to read.
    unread = replace(site, digest=lambda path: "")
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


def _total(systems: Sequence[PlannedSystem], left: bool = False) -> Total:
    encode = disk = memory = 0
    seconds = hours = cost = 0.0
    unknown = []
    for system in systems:
        share = system.left if left else 1.0
        estimate = system.estimate
        if estimate is None or estimate.disk is None or (estimate.seconds is None and estimate.tokens is None):
            if share:
                unknown.append(system.run_tag)
            if estimate is None:
                continue
        if share and estimate.memory:
            memory = max(memory, estimate.memory)
        if system.shares is not None:
            share = 0.0
        encode += round(share * estimate.encode)
        disk += round(share * (estimate.disk or 0))
        seconds += share * (estimate.seconds or 0)
        hours += share * (system.gpu_hours or 0)
        cost += share * (estimate.cost or 0)
    return Total(encode, disk, memory, seconds, hours, cost, tuple(unknown))
