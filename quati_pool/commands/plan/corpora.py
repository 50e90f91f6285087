"""The size of a corpus without building anything: from its store, its files, or ``plan:`` in pool.yaml."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.files.artifacts import digest, stale
from quati_pool.files.corpus import expand_paths, read_file, read_passages
from quati_pool.files.formats import format_of
from quati_pool.project.config import CorpusConfig, PoolConfig
from quati_pool.project.inputs import corpus_key
from quati_pool.project.workspace import Workspace

_SAMPLE = 256
# How many bytes of each file are read to estimate its passages; in corpora up to this size all passages are counted.
_HEAD = 4 * 2**20
# The bytes that are hashed for a plan.
_HASHED = 256 * 2**20


class UnhashedError(QuatiPoolError):
    """There is more to hash than a plan takes the time for."""


class PlanWorkspace(Workspace):
    """A workspace that is only read: no hash is written, and not more is hashed than takes a second or two."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._digests: dict[Path, str] = {}
        self._hashed = 0

    def _hash(self, path: Path) -> str:
        if path not in self._digests:
            self._hashed += path.stat().st_size
            if self._hashed > _HASHED:
                raise UnhashedError(f"{path} is large and was not hashed yet; run: quati-pool build")
            self._digests[path] = super()._hash(path)
        return self._digests[path]

    def _remember(self, memory: Path, entries: Mapping[str, list[Any]]) -> None:
        pass


@dataclass(frozen=True)
class CorpusSize:
    """The size of a corpus: its number of ``passages`` and their mean length in ``characters``, None where unknown.

    ``source`` says where these figures come from, or why they are unknown. ``fingerprint`` is None where files are
    missing or were not hashed. ``sample`` holds the texts of some passages. ``bytes`` is the mean size of a passage
    with its id; ``stored`` says whether the store is finished.
    """

    name: str
    passages: int | None
    characters: float | None
    source: str
    exact: bool
    fingerprint: str | None = None
    sample: Sequence[str] = ()
    bytes: float | None = None
    stored: bool = False


NO_CORPUS = CorpusSize("", 0, 0.0, "there is no corpus", True)

# Assumed bytes per id where none can be read, and per character of text in a Latin script with accents.
_ID_BYTES, _CHARACTER_BYTES = 12, 1.03


def measure(config: PoolConfig, name: str, workspace: PlanWorkspace) -> CorpusSize:
    """The size of a corpus: from its store if that is current; else from its files, counted, or estimated from their
    beginnings if they are large; else from ``plan:`` in pool.yaml."""
    settings = config.corpora[name]
    fingerprint = None
    try:
        key = corpus_key(config, name, workspace)
        fingerprint = digest(key)
        folder = workspace.corpus(fingerprint)
        if stale(folder, key) is None:
            return _stored(name, CorpusStore(folder), fingerprint)
    except QuatiPoolError:
        pass
    try:
        if settings.path is None:
            raise ConfigError(f"{settings.source} is read by quati-pool build")
        return _read(name, settings, expand_paths(config.folder, settings.path, workspace.is_output), fingerprint)
    except (QuatiPoolError, OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
    size = config.plan.corpora.get(name)
    if size is not None:
        mean_bytes = _CHARACTER_BYTES * size.characters + _ID_BYTES
        return CorpusSize(name, size.passages, size.characters, "plan: in pool.yaml", False, bytes=mean_bytes)
    hint = f"plan: {{corpora: {{{name}: {{passages: 1000000, characters: 600}}}}}}"
    return CorpusSize(name, None, None, f"{reason}; or give its size as  {hint}", False)


def _stored(name: str, store: CorpusStore, fingerprint: str) -> CorpusSize:
    ordinals = np.unique(np.linspace(0, len(store) - 1, min(_SAMPLE, len(store))).astype(np.int64))
    sample = store.texts(ordinals)
    # The store knows lengths in bytes; the sample gives the ratio of characters to bytes.
    size = sum(pc.sum(pc.binary_length(batch.column("text"))).as_py() or 0 for batch in store.batches())
    share = sum(map(len, sample)) / max(sum(len(text.encode()) for text in sample), 1)
    ids = store.ids.decode(ordinals).to_pylist()
    mean = size / len(store) + _mean_bytes(ids)
    return CorpusSize(name, len(store), size * share / len(store), "its store", True, fingerprint, sample, mean, True)


def _read(name: str, settings: CorpusConfig, paths: Sequence[Path], fingerprint: str | None) -> CorpusSize:
    missing = next((path for path in paths if not path.exists()), None)
    if missing is not None:
        raise InputError(missing, None, "there is no such file; check the path")
    if sum(path.stat().st_size for path in paths) <= _HEAD:
        ids: list[str] = []
        texts: list[str] = []
        for batch in read_passages(paths, settings.doc_id, settings.text):
            ids += batch.doc_ids
            texts += batch.texts
        rows = np.unique(np.linspace(0, len(texts) - 1, min(_SAMPLE, len(texts))).astype(np.int64))
        mean = sum(map(len, texts)) / len(texts)
        mean_bytes = _mean_bytes(ids) + _mean_bytes(texts)
        chosen = [texts[row] for row in rows]
        return CorpusSize(name, len(texts), mean, "counted", True, fingerprint, chosen, mean_bytes)
    passages = sum(map(_rows, paths))
    sample: list[str] = []
    sampled_ids: list[str] = []
    each = -(-_SAMPLE // len(paths))
    for path in paths:
        for _, doc_id, text in islice(read_file(path, settings.doc_id, settings.text), each):
            sampled_ids.append(doc_id)
            sample.append(text)
    if not sample:
        raise InputError(paths[0], None, "holds no passages; expected at least one")
    mean = sum(map(len, sample)) / len(sample)
    named = paths[0].name if len(paths) == 1 else f"{len(paths)} files"
    source = f"estimated from the size of {named}"
    mean_bytes = _mean_bytes(sampled_ids) + _mean_bytes(sample)
    return CorpusSize(name, max(passages, len(sample)), mean, source, False, fingerprint, sample, mean_bytes)


def _mean_bytes(texts: Sequence[str]) -> float:
    return sum(len(text.encode()) for text in texts) / max(len(texts), 1)


def _rows(path: Path) -> int:
    """The approximate number of passages in a file, extrapolated from its first megabytes."""
    kind = format_of(path)
    if kind == "parquet":
        return int(pq.read_metadata(path).num_rows)
    mark = b"<doc>" if kind == "documents" else b"\n"
    with path.open("rb") as file:
        if path.suffix == ".gz":
            with gzip.open(file) as unpacked:
                head = unpacked.read(_HEAD)
        else:
            head = file.read(_HEAD)
        read = file.tell()
    return round(head.lower().count(mark) * path.stat().st_size / max(read, 1))
