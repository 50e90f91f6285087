"""How large a corpus is, told without making anything: from its store, its files, or ``plan:`` in pool.yaml."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files.artifacts import digest, stale
from quati_pool.files.corpus import expand_paths, read_file, read_passages
from quati_pool.files.formats import format_of
from quati_pool.project.config import CorpusConfig, PoolConfig
from quati_pool.project.inputs import corpus_key
from quati_pool.project.workspace import Workspace

_SAMPLE = 256
# What is read of a file to tell how large a passage is in it; of a smaller one all passages are counted.
_HEAD = 4 * 2**20
# Files that were never hashed are, up to this size; larger ones would take more than a second or two.
_HASHED = 256 * 2**20


class UnhashedError(QuatiPoolError):
    """A file too large to hash in passing."""


class PlanWorkspace(Workspace):
    """A workspace that is only looked at: no hash is remembered, and none takes long."""

    def _hashed(self, path: Path) -> str:
        if path.stat().st_size > _HASHED:
            raise UnhashedError(f"{path} is large and was not hashed yet; run: quati-pool build")
        return super()._hashed(path)

    def _remember(self, memory: Path, name: str, entry: list[Any]) -> None:
        pass


@dataclass(frozen=True)
class CorpusSize:
    """A corpus as far as it is known: ``passages`` and the mean ``characters`` of one are None where nothing
    tells. ``source`` says what they come from, or why they are not known; ``fingerprint`` is None where the
    files are not here. ``bytes`` are those of a passage with its id, on average, and ``stored`` says whether the
    store is there."""

    name: str
    passages: int | None
    characters: float | None
    source: str
    exact: bool
    fingerprint: str | None = None
    sample: Sequence[str] = ()
    bytes: float | None = None
    stored: bool = False


# Of an id, where none can be read, and of a character of text in a Latin script, accents counted.
_ID_BYTES, _CHARACTER_BYTES = 12, 1.03


def measure(config: PoolConfig, name: str, workspace: PlanWorkspace) -> CorpusSize:
    """The size of a corpus: its store's where that is current, else that of its files, counted or, of large
    ones, estimated from their beginnings; else what ``plan:`` says."""
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
        return _read(name, settings, expand_paths(config.folder, settings.path, workspace.made), fingerprint)
    except (QuatiPoolError, OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
    told = config.plan.corpora.get(name)
    if told is not None:
        held = _CHARACTER_BYTES * told.characters + _ID_BYTES
        return CorpusSize(name, told.passages, told.characters, "plan: in pool.yaml", False, bytes=held)
    hint = f"plan: {{corpora: {{{name}: {{passages: 1000000, characters: 600}}}}}}"
    return CorpusSize(name, None, None, f"{reason}; or give its size as  {hint}", False)


def _stored(name: str, store: CorpusStore, fingerprint: str) -> CorpusSize:
    ordinals = np.unique(np.linspace(0, len(store) - 1, min(_SAMPLE, len(store))).astype(np.int64))
    sample = store.texts(ordinals)
    # The lengths that the store has are of bytes; characters have the share of the sample.
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
        held = _mean_bytes(ids) + _mean_bytes(texts)
        return CorpusSize(name, len(texts), mean, "counted", True, fingerprint, [texts[row] for row in rows], held)
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
    held = _mean_bytes(sampled_ids) + _mean_bytes(sample)
    return CorpusSize(name, max(passages, len(sample)), mean, source, False, fingerprint, sample, held)


def _mean_bytes(texts: Sequence[str]) -> float:
    return sum(len(text.encode()) for text in texts) / max(len(texts), 1)


def _rows(path: Path) -> int:
    """About how many passages a file holds, by the share that its first megabytes are of it."""
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
