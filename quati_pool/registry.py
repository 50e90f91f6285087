"""The components of each kind by name: the built-in ones, and those that plug-ins add through entry points.

A registry holds import paths, not classes, so that listing names imports nothing. A plug-in adds a component
through the entry-point group ``quati_pool.<kind>``. A plug-in that cannot be loaded does not affect the others: only
using it raises an error, which names it. ``pool.yaml`` may also name a class in a user's file, ``mine.py:Jaccard``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from quati_pool.component_files import import_file, place_of
from quati_pool.errors import ConfigError, QuatiPoolError


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
# The kinds whose components may come from a user's file, with their base classes.
_BASES = {
    "retrievers": "quati_pool.retrieval.base:Retriever",
    "rerankers": "quati_pool.retrieval.base:Reranker",
    "fusions": "quati_pool.retrieval.fusion:Fusion",
    "judges": "quati_pool.judging.base:Judge",
    "pool_methods": "quati_pool.pooling.methods.base:PoolMethod",
    "authoring": "quati_pool.annotation.authoring.base:Design",
}


@dataclass(frozen=True)
class NamedComponent:
    """A component's class with the name that a user gives it; ``str`` adds where it comes from.

    ``source`` is None for a built-in component, the name and version of a plug-in's package ("" if unknown), or the
    first 16 digits of the SHA-256 of ``file``.
    """

    kind: str
    name: str
    cls: Any
    source: str | None = None
    file: Path | None = None

    def __str__(self) -> str:
        return self._with_source(self.name)

    @property
    def identity(self) -> str:
        """The component's identity in version strings and cache keys, such as ``judge/llm@1``.

        It consists of the id, the revision and the source, so that two components never share an artifact. Neither
        module nor folder is part of it, because code and workspaces may move."""
        return self._with_source(f"{self._id}@{self._revision}")

    @property
    def index_identity(self) -> str:
        """The identity of the component's index; components that share an index declare the same one (``index/lsa@1``).

        For a component with an index of its own, a retriever contributes only its name; other kinds also contribute
        the kind, since a package may have, say, a retriever and a reranker of the same name."""
        called = self._id.removeprefix("retriever/") if self.kind == "retrievers" else self._id
        return self._with_source(self._declared("index_identity") or f"index/{called}@{self._revision}")

    @property
    def _id(self) -> str:
        name = self.name if self.file is None else f"{self.file.name}:{self.cls.__name__}"
        return self._declared("id") or f"{self.kind[:-1]}/{name}"

    @property
    def _revision(self) -> int:
        return int(getattr(self.cls, "revision", 1))

    def _declared(self, attribute: str) -> str | None:
        # A class from elsewhere that subclasses a built-in component must not take over its id or index.
        found = getattr(self.cls, attribute, None) if self.source is None else vars(self.cls).get(attribute)
        return None if found is None else str(found)

    def _with_source(self, text: str) -> str:
        return f"{text} ({self.source})" if self.source else text


class Registry:
    """The components of one kind; built-in ones are given as a mapping from name to ``module:attribute``."""

    def __init__(self, kind: str, builtin: Mapping[str, str], noun: str | None = None) -> None:
        self.kind = kind
        self.noun = noun or kind[:-1].replace("_", " ")
        """One component of the kind, in words."""
        self._builtin = dict(builtin)

    @cached_property
    def _plugins(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=f"quati_pool.{self.kind}")}

    def names(self) -> list[str]:
        """All names, built-in ones first. A plug-in cannot take the name of a built-in component."""
        return [*self._builtin, *(name for name in self._plugins if name not in self._builtin)]

    def get(self, name: str) -> Any:
        """The class of the component of this name; raises ConfigError as ``find`` does."""
        return self.find(name).cls

    def identity(self, name: str) -> str:
        """``NamedComponent.identity`` of the component of this name."""
        return self.find(name).identity

    def find(self, name: str, folder: Path | None = None) -> NamedComponent:
        """Imports the component of this name; with a ``folder``, ``FILE.py:CLASS`` names a class in a file there.

        Raises ConfigError if there is none, or if it is a plug-in or a file that cannot be loaded.
        """
        if name in self._builtin:
            return NamedComponent(self.kind, name, _imported(self._builtin[name]))
        if name in self._plugins:
            return self._plugin(name)
        if folder is not None and self.kind in _BASES and (name.endswith(".py") or ".py:" in name):
            return self._from_file(name, folder)
        raise ConfigError(f"there is no {self.noun} {name!r}; {nearest(name, self.names())}")

    def _plugin(self, name: str) -> NamedComponent:
        point = self._plugins[name]
        package = f"{point.dist.name} {point.dist.version}" if point.dist else ""
        try:
            component = point.load()
            self._check(component)
        except (Exception, SystemExit) as error:
            raise ConfigError(
                f"the {self.noun} {name!r} of {package or 'an unknown package'} cannot be loaded "
                f"({type(error).__name__}: {error}); fix or uninstall that package"
            ) from error
        return NamedComponent(self.kind, name, component, package)

    def _check(self, component: Any) -> None:
        """Raises an error for a component without what the configuration, the keys and the listing of all components
        need."""
        if self.kind in _VERSIONED and isinstance(getattr(component, "version", None), int):
            raise TypeError("its attribute version must be renamed to revision")
        if not isinstance(getattr(component, "revision", 1), int):
            raise TypeError("its revision is not an integer")
        _ = component.Parameters.model_fields, component.summary

    def _from_file(self, name: str, folder: Path) -> NamedComponent:
        place, _, class_name = (name, "", "") if name.endswith(".py") else name.rpartition(":")
        path = folder / place
        try:
            module, sha = import_file(path)
        except QuatiPoolError:
            raise
        except (Exception, SystemExit) as error:
            raise ConfigError(_unusable(path, error)) from error
        base = _imported(_BASES[self.kind])
        known = [each for each, found in vars(module).items() if _defined_in(module, found) and issubclass(found, base)]
        component = getattr(module, class_name, None)
        if component is None:
            problem = f"has no class {class_name!r}" if class_name else f"names no class; write {place}:CLASS"
            raise ConfigError(f"{place} {problem}; {nearest(class_name, known)}")
        if not (isinstance(component, type) and issubclass(component, base)):
            article = "an" if self.noun[0] in "aeiou" else "a"
            raise ConfigError(f"{name} is not {article} {self.noun}; derive it from {base.__module__}.{base.__name__}")
        missing = ", ".join(sorted(getattr(component, "__abstractmethods__", ())))
        if missing:
            raise ConfigError(f"{name} lacks the method {missing}; define it")
        try:
            self._check(component)
        except Exception as error:
            raise ConfigError(f"{name} cannot be used ({type(error).__name__}: {error}); fix {place}") from error
        return NamedComponent(self.kind, name, component, f"sha256 {sha[:16]}", path)


def _imported(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


def _defined_in(module: ModuleType, found: object) -> bool:
    return isinstance(found, type) and found.__module__ == module.__name__


def _unusable(path: Path, error: BaseException) -> str:
    """Why a file cannot be imported, in one line."""
    where, said = place_of(error), str(error)
    if isinstance(error, FileNotFoundError) and where is None:
        return f"{path}: there is no such file; check the path, or put it back"
    if isinstance(error, OSError) and where is None:
        return f"{path} cannot be read ({error.strerror}); expected a Python file"
    if isinstance(error, SyntaxError) and where is None:
        where, said = path.name if error.lineno is None else f"{path.name}:{error.lineno}", error.msg
    return f"{where or path}: {type(error).__name__}: {' '.join(said.split())}; fix that file"


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
        "local": "quati_pool.judging.local:LocalJudge",
        "lexical": "quati_pool.judging.lexical:Lexical",
        "replay": "quati_pool.judging.replay:Replay",
        "distilled": "quati_pool.judging.distilled:Distilled",
    },
)
POOL_METHODS = Registry(
    "pool_methods",
    {
        "depth": "quati_pool.pooling.methods.depth:Depth",
        "move-to-front": "quati_pool.pooling.methods.move_to_front:MoveToFront",
        "max-mean": "quati_pool.pooling.methods.bandits:MaxMean",
        "mm-ns": "quati_pool.pooling.methods.bandits:MaxMeanNonStationary",
        "active-sampling": "quati_pool.pooling.methods.active_sampling:ActiveSampling",
        "judge-order": "quati_pool.pooling.methods.judge_order:JudgeOrder",
    },
)
AUTHORING = Registry(
    "authoring",
    {
        "pira": "quati_pool.annotation.authoring.pira:Pira",
        "romqa": "quati_pool.annotation.authoring.romqa:Romqa",
    },
    noun="authoring design",
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
        "aristo": "quati_pool.qa_benchmarks.aristo:Aristo",
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
PROBES = Registry(
    "probes",
    {
        "stuffing": "quati_pool.audit.probes.stuffing:Stuffing",
        "question": "quati_pool.audit.probes.question:Question",
        "instruction": "quati_pool.audit.probes.instruction:Instruction",
        "missing": "quati_pool.audit.probes.missing:Missing",
        "language": "quati_pool.audit.probes.language:Language",
        "length": "quati_pool.audit.probes.length:Length",
        "fluency": "quati_pool.audit.probes.fluency:Fluency",
        "repeat": "quati_pool.audit.probes.repeat:Repeat",
    },
)
EXPORTS = Registry(
    "exports",
    {
        "beir": "quati_pool.release.beir:Beir",
        "hf": "quati_pool.release.hf:Hf",
        "doccano": "quati_pool.release.doccano:Doccano",
        "bundle": "quati_pool.release.bundle:Bundle",
        "training": "quati_pool.release.training:Training",
        "ltr": "quati_pool.release.ltr:Ltr",
        "ir-datasets": "quati_pool.release.ir_datasets:IrDatasets",
        "mteb": "quati_pool.release.mteb:Mteb",
    },
)
