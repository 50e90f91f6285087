"""Finds what a workspace already has of the planned systems, and what would prevent them from running here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quati_pool.commands.plan.corpora import CorpusSize
from quati_pool.commands.plan.parts import Stage
from quati_pool.errors import ConfigError, MissingExtraError, QuatiPoolError
from quati_pool.files.artifacts import digest, stale
from quati_pool.models.errors import ModelMissingError
from quati_pool.models.location import locate
from quati_pool.models.parameters import ModelParameters
from quati_pool.project.cache_keys import CacheKeys, locate_index
from quati_pool.project.config import RerankSystem, RetrieverSystem
from quati_pool.project.resumable_folders import locate_resumable
from quati_pool.project.run_builder import run_is_current
from quati_pool.project.workspace import Workspace
from quati_pool.retrieval.base import Component, ComponentEnvironment, Retriever
from quati_pool.retrieval.shards import Shards


@dataclass(frozen=True)
class PlannedComponent:
    """The component of a system that searches one corpus.

    ``estimating`` is the same component without hashes of files, which affect no estimate and take long for large
    models. ``identity`` is that of its index.
    """

    run_tag: str
    component: Component
    estimating: Component
    identity: str
    corpus: CorpusSize

    @classmethod
    def of(
        cls, run_tag: str, system: RetrieverSystem | RerankSystem, corpus: CorpusSize, environment: ComponentEnvironment
    ) -> PlannedComponent:
        component = system.component.cls
        return cls(
            run_tag,
            component(system.parameters, environment),
            component(system.parameters, _without_hashes(environment)),
            system.component.index_identity,
            corpus,
        )

    @property
    def encodes(self) -> bool:
        """Whether a model encodes passages."""
        with suppress(QuatiPoolError, ImportError):
            return self.component.encodes is not None or bool(self.component.encodings())
        return False


class Inventory:
    """The stages of systems that are finished in a workspace, and those that several systems share."""

    def __init__(self, workspace: Workspace, keys: CacheKeys, queries_known: bool) -> None:
        self._workspace = workspace
        self._keys = keys
        self._queries_known = queries_known
        self._indexed: dict[str, str] = {}
        self._encoded: dict[str, str] = {}

    def run_is_current(self, run_tag: str) -> bool:
        """Whether a system's run is finished and current; False if unknown, for want of queries or corpus."""
        try:
            return self._queries_known and run_is_current(self._keys, self._workspace, run_tag)
        except (KeyError, ImportError):
            return False

    def state(self, planned: PlannedComponent) -> tuple[list[str], dict[Stage, float]]:
        """Short texts on what a system already has here or lacks, and the share of each stage still to do, 0 to 1."""
        if self.run_is_current(planned.run_tag):
            return ["run current"], {"encoding": 0.0, "index": 0.0, "run": 0.0}
        words: list[str] = []
        left: dict[Stage, float] = {"encoding": 1.0, "index": 1.0, "run": 1.0}
        index = self.index(planned)
        if index is not None and stale(*index) is None:
            words.append("index current")
            left["index"] = 0.0
        for folder, key in self._encodings(planned):
            passages = planned.corpus.passages or 0
            if stale(folder, key) is None:
                words.append("encodings finished")
                left["encoding"] = 0.0
            elif folder.exists():
                done = Shards(folder).passages
                words.append(f"{done:,} of {passages:,} encoded")
                left["encoding"] = max(0.0, 1 - done / passages) if passages else 1.0
        return words + _lacking(planned.component, self._keys.environment), left

    def index(self, planned: PlannedComponent) -> tuple[Path, dict[str, Any]] | None:
        """The folder and key of a system's index; None where it has none or they are unknown."""
        if planned.corpus.fingerprint is None:
            return None
        with suppress(QuatiPoolError, ImportError):
            return locate_index(self._workspace, planned.component, planned.identity, planned.corpus.fingerprint)
        return None

    def _encodings(self, planned: PlannedComponent) -> list[tuple[Path, dict[str, Any]]]:
        if planned.corpus.fingerprint is None:
            return []
        folders = []
        with suppress(QuatiPoolError, ImportError):
            for name, key in planned.component.encodings():
                folders.append(locate_resumable(self._workspace, name, planned.corpus.fingerprint, key))
        return folders

    def shared(self, planned: PlannedComponent) -> Mapping[Stage, str]:
        """The stages that a system shares with one passed here earlier, by stage, with that system's run tag. Models
        that are not here, and corpora of which only the size is known, count as the same if their names are."""
        shared: dict[Stage, str] = {}
        encoded = planned.component.encoded_as()
        if encoded is not None:
            key = digest([planned.corpus.name, encoded])
            if (other := self._encoded.get(key)) is not None:
                shared["encoding"] = other
            elif isinstance(planned.component, Retriever):  # a reranker encodes only what it scores
                self._encoded[key] = planned.run_tag
        with suppress(QuatiPoolError, ImportError):
            fingerprint = planned.corpus.fingerprint or f"of {planned.corpus.name}"
            index = locate_index(self._workspace, planned.component, planned.identity, fingerprint)
            if index is not None:
                other = self._indexed.setdefault(str(index[0]), planned.run_tag)
                if other != planned.run_tag:
                    shared["index"] = other
        return shared


def _without_hashes(environment: ComponentEnvironment) -> ComponentEnvironment:
    return replace(environment, digest=lambda path: "")


def _lacking(component: Component, environment: ComponentEnvironment) -> list[str]:
    """What would prevent a component from running here (a missing extra, model, key or file), and its model's state."""
    lacking = []
    try:
        component.require()
    except MissingExtraError as error:
        lacking.append(str(error))
    parameters = component.parameters
    if isinstance(parameters, ModelParameters):
        for key, one in parameters.each_model().items():
            state, which = _model(environment, one), key.replace("_", " ")
            lacking.append(state.replace("model", which, 1) if state.startswith("model") else f"{which}: {state}")
    variable = getattr(parameters, "api_key_env", None)
    if variable is not None and not os.environ.get(variable):
        lacking.append(f"no key in {variable}")
    lacking += [f"no file {file}" for file in component.inputs() if not (environment.folder / file).exists()]
    return lacking


def _model(environment: ComponentEnvironment, parameters: ModelParameters) -> str:
    try:
        locate(_without_hashes(environment), parameters.model, parameters.revision)
    except ConfigError:
        return f"model: {parameters.model}"
    except ModelMissingError:
        return "model not here"
    except QuatiPoolError as error:
        return str(error)
    return "model here"
