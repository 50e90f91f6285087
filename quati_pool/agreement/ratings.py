"""The grades of several labelers side by side: what every coefficient of agreement is computed from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from quati_pool.errors import QuatiPoolError
from quati_pool.records import Ids, Int, Qrels, code_ids

Positions = npt.NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class Ratings:
    """Every pair that a labeler graded, with each labeler's grade of it.

    ``grade``, shape (labelers, pairs), holds positions in ``scale`` (ascending grades), -1 where the
    labeler has no grade. ``query`` and ``doc``, shape (pairs,), are codes into ``queries`` and
    ``docs``; pairs are sorted by query, then doc. ``people`` are those labelers that are persons.
    """

    labelers: tuple[str, ...]
    people: frozenset[str]
    scale: tuple[int, ...]
    queries: Ids
    docs: Ids
    query: Int
    doc: Int
    grade: Positions

    def __len__(self) -> int:
        return len(self.query)

    def of(self, labeler: str) -> Positions:
        """A labeler's grades as positions in the scale, -1 where there is none; shape (pairs,)."""
        grades: Positions = self.grade[self.labelers.index(labeler)]
        return grades

    @classmethod
    def join(cls, graded: Mapping[str, Qrels], scale: Sequence[int], people: Collection[str] = ()) -> Ratings:
        """Joins labelers on query_id and doc_id; the scale is sorted.

        Raises QuatiPoolError for a grade that is not of the scale.
        """
        scale = sorted(scale)
        queries, query = _merged([(qrels.queries, qrels.query) for qrels in graded.values()])
        docs, doc = _merged([(qrels.docs, qrels.doc) for qrels in graded.values()])
        keys = [q * max(len(docs), 1) + d for q, d in zip(query, doc, strict=True)]
        pairs = _distinct(keys)
        grade = np.full((len(graded), len(pairs)), -1, dtype=np.int16)
        for row, (name, qrels) in enumerate(graded.items()):
            position = np.searchsorted(scale, qrels.relevance)
            off = np.flatnonzero(np.take(scale, position, mode="clip") != qrels.relevance)
            if len(off):
                raise _off_scale(name, qrels, off, scale)
            grade[row, np.searchsorted(pairs, keys[row])] = position
        joined_query, joined_doc = np.divmod(pairs, max(len(docs), 1))
        named = frozenset(people)
        return cls(tuple(graded), named, tuple(scale), queries, docs, joined_query, joined_doc, grade)


def _merged(columns: Sequence[tuple[Ids, Int]]) -> tuple[Ids, list[Int]]:
    """One vocabulary, of the ids that occur, in order of first appearance, and each column's codes in it."""
    if len({id(ids) for ids, _ in columns}) != 1:
        return code_ids([ids.decode(codes) for ids, codes in columns])
    shared = columns[0][0]
    codes = np.concatenate([codes for _, codes in columns])
    # Of equal codes the last to be written holds: the first to appear.
    first = np.full(len(shared), len(codes))
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    order = np.argsort(first, kind="stable")[: int((first < len(codes)).sum())]
    place = np.empty(len(shared), dtype=np.int64)
    place[order] = np.arange(len(order))
    return Ids(shared.decode(order)), [place[codes] for _, codes in columns]


def _distinct(columns: Sequence[Int]) -> Int:
    """All values, ascending, each once. np.unique takes ten times as long over a million."""
    values = np.sort(np.concatenate(columns)) if columns else np.empty(0, dtype=np.int64)
    return values[np.r_[True, values[1:] != values[:-1]]] if len(values) else values


def _off_scale(name: str, qrels: Qrels, off: Int, scale: Sequence[int]) -> QuatiPoolError:
    first = off[:1]
    (query_id,), (doc_id,) = qrels.queries.decode(qrels.query[first]), qrels.docs.decode(qrels.doc[first])
    grade = int(qrels.relevance[off[0]])
    return QuatiPoolError(
        f"{name}: the grade {grade} of {query_id} {doc_id} is not of the scale {', '.join(map(str, scale))} "
        f"({len(off):,} such pairs); mend it, or name the whole scale with --scale"
    )
