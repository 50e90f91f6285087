"""Retrievers with shards of a few passages, which tell in a file what they encode, and can go wrong."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quati_pool.corpus.store import CorpusStore
from quati_pool.records import Int
from quati_pool.retrieval.bi_encoder.dense import Dense
from quati_pool.retrieval.late_interaction.colbert import Colbert
from quati_pool.retrieval.sparse.splade import Splade


def encoded_ordinals(corpus: CorpusStore) -> list[list[int]]:
    """The passages of each shard that somebody encoded whole since the last time this was asked."""
    log = _log(corpus)
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return [[int(ordinal) for ordinal in line.split()] for line in lines]


def _log(corpus: CorpusStore) -> Path:
    return corpus.folder.with_name("encoded")


class _Logged:
    """What all have in common: they tell what they encoded."""

    def encode_passages(
        self, encoder: Any, corpus: CorpusStore, ordinals: Int, texts: list[str], progress: Callable[[int], None]
    ) -> Any:
        made = super().encode_passages(encoder, corpus, ordinals, texts, progress)  # type: ignore[misc]
        with _log(corpus).open("a", encoding="utf-8") as file:
            file.write(" ".join(map(str, ordinals.tolist())) + "\n")
        return made


class SmallDense(_Logged, Dense):
    most = 4


class SmallSplade(_Logged, Splade):
    most = 4


class SmallColbert(_Logged, Colbert):
    most = 4


class Dying(SmallDense):
    """Its process is killed in the midst of the second shard that there is, once."""

    def encode_passages(
        self, encoder: Any, corpus: CorpusStore, ordinals: Int, texts: list[str], progress: Callable[[int], None]
    ) -> Any:
        died = corpus.folder.with_name("died")
        if 4 in ordinals.tolist() and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().encode_passages(encoder, corpus, ordinals, texts, progress)


class Noting(SmallDense):
    """Says the same of every shard."""

    def load(self, folder: Path, note: Callable[[str], None]) -> Any:
        self.note = note
        return super().load(folder, note)

    def encode_passages(self, *args: Any) -> Any:
        self.note("the device is small")
        return super().encode_passages(*args)
