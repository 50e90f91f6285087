"""The components of each kind by name: the built-in ones, and those that plug-ins add through entry points.

A registry holds import paths, not classes, so that listing names imports nothing. A plug-in adds a component
through the entry-point group ``quati_pool.<kind>``. A plug-in that cannot be loaded does not affect the others: only
using it raises an error, which names it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from quati_pool.errors import ConfigError


def nearest(word: str, known: Iterable[str]) -> str:
    """``did you mean 'x'?`` if a known word is similar, else a list of all known words, to end an error message."""
    known = sorted(known)
    plain = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), plain, n=1, cutoff=0.6)
    if close:
        return f"did you mean {plain[close[0]]!r}?"
    return f"there are: {', '.join(known)}" if known else "there are none"


# The kinds whose components had a ``version`` attribute, used in cache keys, in release 0.1.0.
_VERSIONED = ("retrievers", "rerankers", "fusions", "preparations")


class Registry:
    """The components of one kind; built-in ones are given as a mapping from name to ``module:attribute``."""

    def __init__(self, kind: str, builtin: Mapping[str, str]) -> None:
        self.kind = kind
        self._builtin = dict(builtin)

    @cached_property
    def _plugins(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=f"quati_pool.{self.kind}")}

    def names(self) -> list[str]:
        """All names, built-in ones first. A plug-in cannot take the name of a built-in component."""
        return [*self._builtin, *(name for name in self._plugins if name not in self._builtin)]

    def identity(self, name: str) -> str:
        """The component's identity in version strings and cache keys, such as ``judge/llm@1``.

        It consists of the id, the revision and, for a plug-in, the name and version of its package, so that two
        components never share an artifact. The module is not part of it, because code may move."""
        return self._with_package(name, f"{self._id(name)}@{self._revision(name)}")

    def index_identity(self, name: str) -> str:
        """The identity of the component's index; components that share an index declare the same one (``index/lsa@1``).

        For a component with an index of its own, a retriever contributes only its name; other kinds also contribute
        the kind, since a package may have, say, a retriever and a reranker of the same name."""
        component = self.get(name)
        shared = self._declared(name, component, "index_identity")
        called = self._id(name)
        called = called.removeprefix("retriever/") if self.kind == "retrievers" else called
        own = f"index/{called}@{self._revision(name)}"
        return self._with_package(name, shared or own)

    def _id(self, name: str) -> str:
        return self._declared(name, self.get(name), "id") or f"{self.kind[:-1]}/{name}"

    def _revision(self, name: str) -> int:
        return int(getattr(self.get(name), "revision", 1))

    def _declared(self, name: str, component: Any, attribute: str) -> str | None:
        # A plug-in that subclasses a built-in component must not take over its id or index.
        found = getattr(component, attribute, None) if name in self._builtin else vars(component).get(attribute)
        return None if found is None else str(found)

    def _with_package(self, name: str, identity: str) -> str:
        package = None if name in self._builtin else self._plugins[name].dist
        return f"{identity} ({package.name} {package.version})" if package else identity

    def get(self, name: str) -> Any:
        """Imports and returns the component of this name.

        Raises ConfigError if there is none, or if it is a plug-in that cannot be loaded.
        """
        if name in self._builtin:
            module, _, attribute = self._builtin[name].partition(":")
            return getattr(import_module(module), attribute)
        if name not in self._plugins:
            raise ConfigError(f"there is no {self.kind[:-1]} {name!r}; {nearest(name, self.names())}")
        point = self._plugins[name]
        try:
            component = point.load()
            if self.kind in _VERSIONED and isinstance(getattr(component, "version", None), int):
                raise TypeError("its attribute version must be renamed to revision")
            if not isinstance(getattr(component, "revision", 1), int):
                raise TypeError("its revision is not an integer")
            # A component without these would break the configuration and the listing for all components.
            _ = component.Parameters.model_fields, component.summary
        except (Exception, SystemExit) as error:
            source = f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown package"
            raise ConfigError(
                f"the {self.kind[:-1]} {name!r} of {source} cannot be loaded "
                f"({type(error).__name__}: {error}); fix or uninstall that package"
            ) from error
        return component


RETRIEVERS = Registry(
    "retrievers",
    {
        "bm25": "quati_pool.retrieval.bm25:Bm25",
        "bm25s": "quati_pool.retrieval.bm25s:Bm25s",
        "lsa": "quati_pool.retrieval.lsa:Lsa",
        "dense": "quati_pool.retrieval.bi_encoder.dense:Dense",
        "splade": "quati_pool.retrieval.sparse.splade:Splade",
        "colbert": "quati_pool.retrieval.late_interaction.colbert:Colbert",
        "openai-embedding": "quati_pool.retrieval.remote.openai_embedding:OpenaiEmbedding",
        "run": "quati_pool.retrieval.run_file:RunFile",
    },
)
RERANKERS = Registry(
    "rerankers",
    {
        "lsa": "quati_pool.retrieval.lsa:LsaReranker",
        "dense": "quati_pool.retrieval.bi_encoder.dense:DenseReranker",
        "colbert": "quati_pool.retrieval.late_interaction.colbert:ColbertReranker",
        "cross-encoder": "quati_pool.retrieval.pairwise.cross_encoder:CrossEncoder",
        "monot5": "quati_pool.retrieval.pairwise.monot5:MonoT5",
    },
)
FUSIONS = Registry(
    "fusions",
    {
        "rrf": "quati_pool.retrieval.fusion:Rrf",
        "combsum": "quati_pool.retrieval.fusion:CombSum",
        "combmnz": "quati_pool.retrieval.fusion:CombMnz",
    },
)
JUDGES = Registry(
    "judges",
    {
        "llm": "quati_pool.judging.llm:LlmJudge",
        "lexical": "quati_pool.judging.lexical:Lexical",
        "replay": "quati_pool.judging.replay:Replay",
    },
)
BENCHMARKS = Registry(
    "benchmarks",
    {
        "pira": "quati_pool.qa_benchmarks.pira.benchmark:Pira",
        "romqa": "quati_pool.qa_benchmarks.romqa:Romqa",
        "race": "quati_pool.qa_benchmarks.race:Race",
        "qasc": "quati_pool.qa_benchmarks.qasc:Qasc",
        "arc": "quati_pool.qa_benchmarks.arc:Arc",
        "openbookqa": "quati_pool.qa_benchmarks.openbookqa:OpenBookQa",
    },
)
PREPARATIONS = Registry(
    "preparations",
    {
        "read": "quati_pool.preparation.steps.read:Read",
        "url": "quati_pool.preparation.steps.url:Url",
        "language": "quati_pool.preparation.steps.language:Language",
        "variety": "quati_pool.preparation.steps.variety:Variety",
        "segment": "quati_pool.preparation.steps.segment:Segment",
        "line-breaks": "quati_pool.preparation.steps.line_breaks:LineBreaks",
        "quality": "quati_pool.preparation.steps.quality:Quality",
        "duplicates": "quati_pool.preparation.steps.duplicates:Duplicates",
        "near-duplicates": "quati_pool.preparation.steps.near_duplicates:NearDuplicates",
        "sample": "quati_pool.preparation.steps.sample:Sample",
        "write": "quati_pool.preparation.steps.write:Write",
    },
)
EXPORTS = Registry(
    "exports",
    {
        "beir": "quati_pool.release.beir:Beir",
        "hf": "quati_pool.release.hf:Hf",
        "doccano": "quati_pool.release.doccano:Doccano",
        "bundle": "quati_pool.release.bundle:Bundle",
    },
)
