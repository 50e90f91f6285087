"""``systems:`` of ``pool.yaml``: retrievers, rerankers over another system, and fusions of several."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any

from pydantic import Field, InstanceOf

from quati_pool.files.yaml_file import Model, Place, YamlFile
from quati_pool.project.config.components import read_component, split_component
from quati_pool.registry import FUSIONS, RERANKERS, RETRIEVERS, NamedComponent, nearest
from quati_pool.retrieval.base import RunSource

Depth = Annotated[int, Field(ge=1)]


class System(Model):
    """The settings that all systems share.

    ``family`` groups related systems for reusability tests; ``uses`` names the models that the system is made with, by
    which an audit finds the judge's kin; ``pool: false`` keeps a system out of the pool but in the
    ledger; ``pool_depth`` overrides the pool's depth; ``priority`` counts from 1 within a family, for ``pool: {by:
    priority}``.
    """

    family: str | None = None
    uses: list[str] = Field(default_factory=list)
    pool: bool = True
    pool_depth: Depth | None = None
    priority: Depth | None = None


class RetrieverSystem(System):
    """A retriever's ranking of the passages of one corpus; None only for a run file, in a collection without one."""

    retriever: str
    component: InstanceOf[NamedComponent]
    corpus: str | None = None
    parameters: Any = None


class RerankSystem(System):
    """The first ``depth`` documents of the system ``first``, in the order of a reranker's scores."""

    first: str
    reranker: str
    component: InstanceOf[NamedComponent]
    depth: Depth
    parameters: Any = None


class FusionSystem(System):
    """A fusion of several systems' rankings, each read down to ``depth`` (``run_depth`` if None)."""

    fuse: Annotated[list[str], Field(min_length=1)]
    method: str
    component: InstanceOf[NamedComponent]
    depth: Depth | None = None
    parameters: Any = None


class _Reranking(Model):
    """How many of the first stage's documents a reranker scores."""

    depth: Depth = 100


def needs_corpus(system: System) -> bool:
    """Whether a system reads passages, as all do but run files and fusions."""
    if isinstance(system, RetrieverSystem):
        return not issubclass(system.component.cls, RunSource)
    return isinstance(system, RerankSystem)


def inputs_of(system: System) -> list[str]:
    """The systems whose runs a system reads."""
    if isinstance(system, RerankSystem):
        return [system.first]
    return list(system.fuse) if isinstance(system, FusionSystem) else []


def read_systems(file: YamlFile, data: Mapping[Any, tuple[Place, Any]], corpora: Collection[str]) -> dict[Any, System]:
    """The systems by run tag, from their places in the file and settings; raises InputError where one names a corpus or
    system that is not defined, or is built from its own run."""
    systems = {tag: _system(file, place, tag, settings, corpora) for tag, (place, settings) in data.items()}
    for tag, system in systems.items():
        for needed in inputs_of(system):
            if needed not in systems:
                hint = nearest(needed, set(systems) - {tag})
                raise file.error(("systems", tag), f"is made from {needed!r}, which is not defined; {hint}")
    _refuse_circles(file, systems)
    return systems


def _refuse_circles(file: YamlFile, systems: Mapping[Any, System]) -> None:
    try:
        TopologicalSorter({tag: inputs_of(system) for tag, system in systems.items()}).prepare()
    except CycleError as error:
        circle = " → ".join(reversed(error.args[1]))
        raise file.error(("systems", error.args[1][0]), f"depends on itself ({circle}); break the cycle") from None


def _system(file: YamlFile, place: Place, tag: Any, data: Any, corpora: Collection[str]) -> System:
    file.text_key(place, tag)
    kinds = [key for key in ("retriever", "first", "fuse") if isinstance(data, dict) and key in data]
    if len(kinds) != 1:
        raise file.error(place, "expected exactly one of retriever:, first: (with rerank:) or fuse:")
    if kinds == ["first"]:
        return _rerank(file, place, data)
    if kinds == ["fuse"]:
        return _fusion(file, place, data)
    return _retriever(file, place, data, corpora)


def _retriever(file: YamlFile, place: Place, data: dict[Any, Any], corpora: Collection[str]) -> RetrieverSystem:
    system = read_component(file, place, RetrieverSystem, data, "retriever", RETRIEVERS)
    if len(corpora) > 1 and system.corpus is None:
        raise file.error(place, f"the key 'corpus' is missing; name one of {', '.join(corpora)}")
    if system.corpus is not None and system.corpus not in corpora:
        raise file.error((*place, "corpus"), f"there is no corpus {system.corpus!r}; {nearest(system.corpus, corpora)}")
    return system if system.corpus else system.model_copy(update={"corpus": next(iter(corpora), None)})


def _rerank(file: YamlFile, place: Place, data: dict[Any, Any]) -> RerankSystem:
    file.refuse_unknown(place, data, {*System.model_fields, "first", "rerank"})
    reranking = data.get("rerank")
    rerank_place = (*place, "rerank")
    if not isinstance(reranking, dict):
        raise file.error(rerank_place, "expected a reranker, such as  rerank: {with: lsa, depth: 100}")
    component, parameters, rest = split_component(file, rerank_place, reranking, "with", RERANKERS, {"depth"})
    depth = file.model(rerank_place, _Reranking, rest).depth
    reranker = {"reranker": component.name, "component": component, "depth": depth, "parameters": parameters}
    return file.model(place, RerankSystem, {**{k: v for k, v in data.items() if k != "rerank"}, **reranker})


def _fusion(file: YamlFile, place: Place, data: dict[Any, Any]) -> FusionSystem:
    system = read_component(file, place, FusionSystem, data, "method", FUSIONS, default="rrf")
    twice = next((tag for tag in system.fuse if system.fuse.count(tag) > 1), None)
    if twice:
        raise file.error((*place, "fuse"), f"names {twice!r} twice; name it once and give it a weight")
    weights = getattr(system.parameters, "weights", None)
    if weights is not None and len(weights) != len(system.fuse):
        message = f"{len(weights)} weights for {len(system.fuse)} systems; give one weight per system"
        raise file.error((*place, "weights"), message)
    return system
