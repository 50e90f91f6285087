"""The passages of a corpus, or of the texts of pooled documents: from files, or from an existing data set."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from quati_pool.corpus.store import DuplicateDocIdError
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.files.corpus import expand_paths, locate_doc_ids, read_passages
from quati_pool.files.formats import data_suffix
from quati_pool.files.problems import RowError, check_id
from quati_pool.project.config import CorpusConfig
from quati_pool.project.config.data_sets import DataSetName
from quati_pool.project.workspace import Workspace

# Incremented whenever the same files would lead to a different store.
_STORE_FORMAT = 1
_ROWS = 1024


class Passages(ABC):
    """Passages to be read once, in order."""

    @abstractmethod
    def key(self) -> dict[str, Any]:
        """Everything that changes the passages."""

    @abstractmethod
    def batches(self) -> Iterator[tuple[list[str], list[str]]]:
        """All passages as batches of doc_ids and texts."""

    @abstractmethod
    def repeated(self, error: DuplicateDocIdError) -> QuatiPoolError:
        """The error for doc_ids that occur more than once."""

    @abstractmethod
    def without(self, expected: str) -> QuatiPoolError:
        """The error where none of the expected passages is there."""


def passages_of(folder: Path, settings: CorpusConfig, workspace: Workspace) -> Passages:
    """The passages that settings name; ``folder`` is that of ``pool.yaml``. Raises QuatiPoolError where they are not
    there."""
    if settings.data_set is not None:
        return _OfDataSet(folder, settings.data_set, settings.fields, workspace)
    return _InFiles(folder, settings, workspace)


class _InFiles(Passages):
    def __init__(self, folder: Path, settings: CorpusConfig, workspace: Workspace) -> None:
        assert settings.path is not None, "load_config refuses settings without any source"
        self._paths = expand_paths(folder, settings.path, workspace.is_output)
        self._settings, self._workspace = settings, workspace

    def key(self) -> dict[str, Any]:
        return {
            # Only the suffix matters, as it selects the format; the rest of a file's name changes nothing.
            "files": [[data_suffix(path), self._workspace.input_digest(path)] for path in self._paths],
            "doc_id": self._settings.doc_id,
            "text": self._settings.text,
            "format": _STORE_FORMAT,
        }

    def batches(self) -> Iterator[tuple[list[str], list[str]]]:
        yield from read_passages(self._paths, self._settings.doc_id, self._settings.text)

    def repeated(self, error: DuplicateDocIdError) -> QuatiPoolError:
        doc_id = next(iter(error.ordinals))
        places = locate_doc_ids(self._paths, {doc_id}, self._settings.doc_id, self._settings.text)[doc_id]
        (first_path, first_line), (path, line) = places[0], places[1]
        again = f"doc_id {doc_id!r} occurs again, first at {first_path}:{first_line}{_more(error.ordinals)}"
        return InputError(path, line, f"{again}; give each passage its own id")

    def without(self, expected: str) -> QuatiPoolError:
        return InputError(self._paths[0], None, f"holds no passages; expected {expected}")


class _OfDataSet(Passages):
    def __init__(self, folder: Path, name: DataSetName, fields: list[str] | None, workspace: Workspace) -> None:
        self._name, self._fields, self._workspace = name, fields, workspace
        self._data_set = name.open(folder)

    def key(self) -> dict[str, Any]:
        files = [self._workspace.input_digest(path) for path in self._data_set.files()]
        return {"data_set": [*self._name], "files": files, "text": self._fields, "format": _STORE_FORMAT}

    def batches(self) -> Iterator[tuple[list[str], list[str]]]:
        passages = self._data_set.passages(self._fields)
        while some := list(islice(passages, _ROWS)):
            for doc_id, _ in some:
                try:
                    check_id("doc_id", doc_id)
                except RowError as fault:
                    raise ConfigError(f"{self._name.name}: {fault}") from None
            yield [doc_id for doc_id, _ in some], [text for _, text in some]

    def repeated(self, error: DuplicateDocIdError) -> QuatiPoolError:
        doc_id = next(iter(error.ordinals))
        again = f"doc_id {doc_id!r} occurs again{_more(error.ordinals)}"
        return ConfigError(f"{self._name.name}: {again}; each passage needs its own id")

    def without(self, expected: str) -> QuatiPoolError:
        return ConfigError(f"{self._name.name} holds no passages; expected {expected}")


def _more(doc_ids: Collection[str]) -> str:
    return f" ({len(doc_ids)} doc_ids occur more than once)" if len(doc_ids) > 1 else ""
