"""The pool of a workspace that holds only a part of the candidates: steered by stored grades, and never without a pair
that was labelled."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from quati_pool.errors import InputError
from quati_pool.files.artifacts import digest
from quati_pool.files.lines import read_lines
from quati_pool.judging.pair import Pair
from quati_pool.labels.base import Graded, Labeler
from quati_pool.labels.labelers import Grading, file_labeler
from quati_pool.pooling.adaptive import UNASKED, UNGRADED, AdaptivePool, AllCandidates
from quati_pool.pooling.candidates import Candidates, candidates
from quati_pool.pooling.methods.judge_order import probability_by_grade
from quati_pool.pooling.pool import EXTRA, KEPT, RANDOM, Pool, pool_of, with_pairs
from quati_pool.project.config import PoolConfig
from quati_pool.project.inputs import Corpus, Queries, passage_texts
from quati_pool.project.workspace import Workspace
from quati_pool.records import Int, Run, State
from quati_pool.store.database import Store
from quati_pool.store.listing import labelled_pairs
from quati_pool.store.read_only import read_only

# Pairs whose texts are in memory at the same time.
_CHUNK = 512
_PENDING = (None, State.skipped, State.retracted)

T = TypeVar("T")

PairKey = tuple[str, str]
"""A query_id and a doc_id."""


class _Entry(NamedTuple):
    """In which round a pair that stays in the pool entered it, and why."""

    round: int
    reason: str


class AdaptivePoolChoice:
    """What is pooled in a workspace, from its runs and the grades in its store.

    ``frame`` are the candidates, and ``graded`` the steering labeler's stored grades of those that it was asked about,
    by their number; ``graded_outside`` those of pairs in the pool that are no candidates. ``sequence`` chooses the
    pairs; None while the method waits for grades of all candidates. ``source`` says what the steering labeler is asked
    about.
    """

    def __init__(
        self, config: PoolConfig, runs: Sequence[Run], extra: Sequence[PairKey], queries: Queries, corpora: list[Corpus]
    ) -> None:
        """``corpora`` may be completed before texts are needed. Raises QuatiPoolError if the former pool or the labels
        cannot be read."""
        self._config = config
        self._corpora = corpora
        self._queries = {query.query_id: query for query in queries.queries}
        self._depths = {tag: config.pool_depth(tag) for tag in config.systems}
        self._labelled = _labelled(config)
        stays = labelled_so_far(config, self._labelled)
        self._fixed = {pair: _Entry(number, KEPT) for pair, number in stays.items() if pair[0] in self._queries}
        self._fixed.update((pair, _Entry(1, EXTRA)) for pair in extra)
        self._runs, _ = with_pairs(runs, list(self._fixed))
        self.frame: Candidates = candidates(self._runs, self._depths)
        self._fixed_keys = self._keys(list(self._fixed))
        self.graded: dict[int, Graded] = {}
        self.graded_outside: dict[PairKey, Graded] = {}
        self.sequence: AdaptivePool | None = None
        self.source: AdaptivePool | AllCandidates

    def steer(self) -> None:
        """Reads the steering labeler's grades, and chooses as far as they go."""
        settings = self._config.pool
        method = settings.component.cls
        if settings.steered_by is not None:
            self._read_grades(settings.steered_by)
        grades = self._grades()
        self.source = AllCandidates(grades)
        if method.expects and not self.source.complete:
            return
        inside = self._numbers(self._fixed_keys)
        self.source = self.sequence = AdaptivePool(
            self.frame,
            lambda query: method(query, settings.parameters),
            settings.limits,
            relevant=settings.relevant_from(self._config.grades),
            moves=method.moves,
            seed=self._config.seed,
            grades=grades,
            kept=inside[inside >= 0],
            outside=self._by_query(self._fixed_keys[inside < 0]),
            expected=self._probabilities(grades) if method.expects else None,
        )
        self.sequence.advance()

    def pairs(self, numbers: Int) -> list[Pair]:
        """Candidates with their texts, in their order; a passage that no corpus has has none."""
        return self._with_texts(self.keys(numbers))

    def keys(self, numbers: Int) -> list[PairKey]:
        """The ids of candidates, in their order."""
        query_ids = self.frame.queries.decode(self.frame.query[numbers]).to_pylist()
        doc_ids = self.frame.docs.decode(self.frame.doc[numbers]).to_pylist()
        return list(zip(query_ids, doc_ids, strict=True))

    def pairs_outside(self) -> list[Pair]:
        """The pairs in the pool that are no candidates, with their texts."""
        numbers = self._numbers(self._fixed_keys).tolist()
        return self._with_texts([pair for pair, number in zip(self._fixed, numbers, strict=True) if number < 0])

    def _with_texts(self, pairs: Sequence[PairKey]) -> list[Pair]:
        texts = passage_texts([doc_id for _, doc_id in pairs], self._corpora)
        found = []
        for query_id, doc_id in pairs:
            query = self._queries[query_id]
            found.append(Pair(query_id, doc_id, query.query, texts.get(doc_id, ""), query.narrative or None))
        return found

    def pool(self) -> Pool:
        """What is in the pool so far. Raises ValueError while there is no ``sequence``."""
        sequence = self.sequence
        if sequence is None:
            raise ValueError("nothing is chosen yet")
        chosen = np.flatnonzero(sequence.round)
        keys = self.frame.query[chosen] * len(self.frame.docs) + self.frame.doc[chosen]
        drawn = sequence.drawn[chosen]
        settings = self._config.pool
        stays = ~np.isin(self._fixed_keys, keys)
        entries = [entry for entry, out in zip(self._fixed.values(), stays.tolist(), strict=True) if out]
        reason = np.concatenate(
            [np.where(drawn, RANDOM, settings.method), np.array([entry.reason for entry in entries], dtype=object)]
        )
        # With a random share, how far a depth pool goes depends on what was drawn.
        certain = np.nan if settings.adaptive or settings.random_share else 1.0
        inclusion = np.concatenate(
            [np.where(drawn, sequence.inclusion[chosen], certain), np.full(len(entries), np.nan)]
        )
        inclusion[reason == EXTRA] = 1.0
        rounds = np.concatenate([sequence.round[chosen], [entry.round for entry in entries]]).astype(np.int32)
        pairs = np.concatenate([keys, self._fixed_keys[stays]])
        order = np.argsort(pairs)
        return pool_of(self._runs, self._depths, pairs[order], rounds[order], reason[order], inclusion[order])

    def digest(self, pool: Pool) -> str:
        """The hash of what is in the pool, and why."""
        columns = (
            pool.queries.decode(pool.query).to_pylist(),
            pool.docs.decode(pool.doc).to_pylist(),
            pool.round.tolist(),
            pool.reason.tolist(),
        )
        return digest([self.further, *zip(*columns, strict=True)])

    @property
    def rounds(self) -> int:
        """The number of rounds so far."""
        return 0 if self.sequence is None else int(self.sequence.round.max(initial=0))

    @property
    def further(self) -> int:
        """How many pairs later rounds may add at most; 0 once the pool is complete."""
        sequence = self.sequence
        if sequence is None:
            return self.source.most
        return 0 if sequence.complete else sequence.most - int(sequence.chosen.sum())

    def _read(self, read: Callable[[Store], T]) -> T | None:
        return read_only(self._config.labels.url, self._config.folder, read)

    def _read_grades(self, name: str) -> None:
        config = self._config
        if name in config.labels.files:
            labeler = file_labeler(config, name)
            self._look_up(labeler, labeler.file_grades)
        else:
            self._read(lambda store: self._look_up(Grading(config, store).labeler(name), self._labelled))

    def _look_up(self, labeler: Labeler, pairs: Collection[PairKey]) -> None:
        """Keeps the labeler's grades of those of ``pairs`` that are candidates or in the pool, and that it has
        answered."""
        numbers = self._numbers(self._keys(pairs))
        wanted = np.sort(numbers[numbers >= 0])
        self.graded = {}
        for start in range(0, len(wanted), _CHUNK):
            part = wanted[start : start + _CHUNK]
            for number, graded in zip(part.tolist(), labeler.graded(self.pairs(part)), strict=True):
                if is_final(graded):
                    self.graded[number] = graded
        outside = labeler.graded(self.pairs_outside())
        self.graded_outside = {(one.query_id, one.doc_id): one for one in outside if is_final(one)}

    def _grades(self) -> Int:
        """The steering labeler's grade of each candidate, UNASKED or UNGRADED where there is none: shape (pairs,). A
        pool that no labeler steers has no open pairs."""
        if self._config.pool.steered_by is None:
            return np.full(len(self.frame), UNGRADED, dtype=np.int64)
        grades = np.full(len(self.frame), UNASKED, dtype=np.int64)
        for number, graded in self.graded.items():
            grades[number] = UNGRADED if graded.relevance is None else graded.relevance
        return grades

    def _probabilities(self, grades: Int) -> npt.NDArray[np.float64]:
        known = grades != UNGRADED
        found = np.full(len(grades), np.nan)
        found[known] = probability_by_grade(grades[known], np.array(sorted(self._config.grades)))
        return found

    def _keys(self, pairs: Collection[PairKey]) -> Int:
        """The pairs encoded as in ``Run.pair``, in their order; −1 for one whose query or document is unknown."""
        query = self.frame.queries.encode([query_id for query_id, _ in pairs])
        doc = self.frame.docs.encode([doc_id for _, doc_id in pairs])
        return np.where((query >= 0) & (doc >= 0), query * len(self.frame.docs) + doc, -1)

    def _numbers(self, keys: Int) -> Int:
        """The candidates of ``keys``, encoded as in ``Run.pair``; −1 for a pair that is none: shape (n,)."""
        if not len(self.frame):
            return np.full(len(keys), -1, dtype=np.int64)
        order, ordered = self._ordered
        place = np.minimum(np.searchsorted(ordered, keys), len(order) - 1)
        return np.where(ordered[place] == keys, order[place], -1)

    @cached_property
    def _ordered(self) -> tuple[Int, Int]:
        """The candidates in the order of their encoded pairs, and these pairs: shape (pairs,) each."""
        keys = self.frame.query * len(self.frame.docs) + self.frame.doc
        order = np.argsort(keys)
        return order, keys[order]

    def _by_query(self, keys: Int) -> Int:
        """The number of pairs of each query, shape (queries,)."""
        return np.bincount(keys // max(len(self.frame.docs), 1), minlength=len(self.frame.queries))


def is_final(graded: Graded) -> bool:
    """Whether a labeler is done with a pair, whether it has a grade or not."""
    return graded.status not in _PENDING and not graded.tied


def labelled_so_far(config: PoolConfig, labelled: Collection[PairKey] | None = None) -> dict[PairKey, int]:
    """The labelled pairs of the pool on disk with the round of each; ``labelled`` are those of the collection if they
    are known. Raises QuatiPoolError if the pool or the labels cannot be read."""
    former = _former_pool(Workspace(config.folder).pool)
    if not former:
        return {}
    labelled = _labelled(config) if labelled is None else labelled
    return {pair: number for pair, number in former.items() if pair in labelled}


def _labelled(config: PoolConfig) -> set[PairKey]:
    found = read_only(config.labels.url, config.folder, lambda store: labelled_pairs(store, config.name))
    return found or set()


def _former_pool(path: Path) -> dict[PairKey, int]:
    """The pairs of the pool's file with the round of each; empty if there is no file.

    Whether its sidecar matches does not matter: what was labelled stays.
    """
    if not path.exists():
        return {}
    found = {}
    for line, text in read_lines(path):
        try:
            pair = json.loads(text)
            found[str(pair["query_id"]), str(pair["doc_id"])] = int(pair["round"])
        except (ValueError, KeyError, TypeError):
            raise InputError(path, line, "is no pair of a pool; remove the file, and run: quati-pool build") from None
    return found
