"""Passages of the corpus to write questions from; each person sees a different sequence of them."""

from __future__ import annotations

from functools import lru_cache
from math import gcd
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xxhash

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import QuatiPoolError
from quati_pool.files.artifacts import digest, stale
from quati_pool.project.cache_keys import used_corpora
from quati_pool.project.config import PoolConfig
from quati_pool.project.inputs import corpus_key
from quati_pool.project.workspace import Workspace
from quati_pool.stats.hashing import hashes
from quati_pool.text.typed import has_words


class NoPassagesError(QuatiPoolError):
    """The corpus has not been read yet, or has changed since."""


class Passage(NamedTuple):
    doc_id: str
    text: str


def passage(config: PoolConfig, name: str, count: int) -> Passage:
    """The passage at position ``count`` (from 0) of a person's sequence.

    The sequence depends only on the seed, the name and the corpus, and repeats after the whole corpus: it starts at a
    random position and advances by a step that is coprime to the number of passages. Needs no pool; raises
    NoPassagesError without a corpus store.
    """
    stores = _stores(config)
    total = sum(map(len, stores))
    ordinal = (_drawn(config.seed, name, "start") % total + count * _stride(config.seed, name, total)) % total
    for store in stores:
        if ordinal < len(store):
            break
        ordinal -= len(store)
    at = np.array([ordinal], dtype=np.int64)
    return Passage(store.ids.decode(at)[0].as_py(), store.texts(at)[0])


def drawn_passages(config: PoolConfig, purpose: str, count: int) -> list[Passage]:
    """The first ``count`` passages that have words, in an order drawn with the collection's seed; fewer if the corpus
    has fewer. A larger count adds passages behind the others.

    Raises NoPassagesError without a corpus store.
    """
    stores = _stores(config)
    drawn = [
        hashes(purpose, config.seed, batch.column("doc_id").to_pylist())
        for store in stores
        for batch in store.batches()
    ]
    order = np.argsort(np.concatenate(drawn), kind="stable") if drawn else np.empty(0, dtype=np.int64)
    begins = np.cumsum([0, *map(len, stores)])
    found: list[Passage] = []
    for place in order:
        if len(found) == count:
            break
        number = int(np.searchsorted(begins, place, side="right")) - 1
        at = np.array([place - begins[number]], dtype=np.int64)
        text = stores[number].texts(at)[0]
        if has_words(text):
            found.append(Passage(stores[number].ids.decode(at)[0].as_py(), text))
    return found


def text_of(config: PoolConfig, doc_id: str) -> str | None:
    """The text of a passage; None if no corpus has it. Raises NoPassagesError without a corpus store."""
    for store in _stores(config):
        ordinals = store.ids.encode([doc_id])
        if ordinals[0] >= 0:
            return store.texts(ordinals)[0]
    return None


def _stores(config: PoolConfig) -> list[CorpusStore]:
    workspace = Workspace(config.folder)
    found = []
    for name in used_corpora(config):
        key = corpus_key(config, name, workspace)
        folder = workspace.corpus(digest(key))
        reason = stale(folder, key)
        if reason is not None:
            raise NoPassagesError(f"there is no corpus to take passages from ({name}: {reason}); run: quati-pool build")
        found.append(_opened(folder))
    return found


@lru_cache(maxsize=8)
def _opened(folder: Path) -> CorpusStore:
    """The corpus store in a folder, opened once per process: a folder is named by the fingerprint of its contents."""
    return CorpusStore(folder)


def _drawn(seed: int, name: str, what: str) -> int:
    return xxhash.xxh3_64_intdigest(f"{seed}\t{what}\t{name}".encode())


def _stride(seed: int, name: str, total: int) -> int:
    stride = 1 + _drawn(seed, name, "stride") % total
    while gcd(stride, total) != 1:
        stride += 1
    return stride
