"""The grades of several labelers per pair, from which all agreement coefficients are computed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from quati_pool.errors import QuatiPoolError
from quati_pool.records import Ids, Int, Qrels, code_ids

Positions = npt.NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class Ratings:
    """Every pair that any labeler graded, with the grade from each labeler.

    ``grade``, shape (labelers, pairs), holds positions in ``scale`` (ascending grades), -1 where the
    labeler has no grade. ``query`` and ``doc``, shape (pairs,), are codes into ``queries`` and ``docs``; pairs
    are sorted by query, then doc, both in the order in which they first appear in the labelers' grades.
    ``people`` are the human labelers. ``members`` maps each derived labeler (a panel, a consensus) to the labelers,
    none of them derived, from whose grades its grades are computed, whether or not these are compared here.
    """

    labelers: tuple[str, ...]
    people: frozenset[str]
    scale: tuple[int, ...]
    queries: Ids
    docs: Ids
    query: Int
    doc: Int
    grade: Positions
    members: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.query)

    def of(self, labeler: str) -> Positions:
        """A labeler's grades as positions in the scale, -1 where there is none; shape (pairs,)."""
        grades: Positions = self.grade[self.labelers.index(labeler)]
        return grades

    def pair_ids(self, positions: Sequence[int]) -> list[tuple[str, str]]:
        """(query_id, doc_id) of the pairs at these positions."""
        at = np.array(positions, dtype=np.int64)
        query_ids, doc_ids = self.queries.decode(self.query[at]), self.docs.decode(self.doc[at])
        return list(zip(query_ids.to_pylist(), doc_ids.to_pylist(), strict=True))

    @property
    def independent(self) -> tuple[str, ...]:
        """The labelers whose grades are not derived from those of other labelers."""
        return tuple(labeler for labeler in self.labelers if labeler not in self.members)

    def shared_members(self, a: str, b: str) -> tuple[str, ...]:
        """The labelers on whose grades both ``a`` and ``b`` depend, sorted: for a panel and one of its members that
        member, for two panels their common members; none for independent labelers."""
        return tuple(sorted(self.members.get(a, frozenset({a})) & self.members.get(b, frozenset({b}))))

    def only(self, labelers: Collection[str]) -> Ratings:
        """The ratings of these labelers alone, with the pairs that at least one of them graded."""
        rows = [row for row, labeler in enumerate(self.labelers) if labeler in labelers]
        grade = self.grade[rows]
        kept = np.flatnonzero((grade >= 0).any(axis=0))
        return replace(
            self,
            labelers=tuple(self.labelers[row] for row in rows),
            people=self.people.intersection(labelers),
            query=self.query[kept],
            doc=self.doc[kept],
            grade=grade[:, kept],
            members={name: members for name, members in self.members.items() if name in labelers},
        )

    @classmethod
    def join(
        cls,
        graded: Mapping[str, Qrels],
        scale: Sequence[int],
        people: Collection[str] = (),
        members: Mapping[str, frozenset[str]] | None = None,
    ) -> Ratings:
        """Joins labelers on query_id and doc_id and sorts the scale. A derived labeler never counts as one of the
        people.

        Raises QuatiPoolError for a grade that is not on the scale.
        """
        scale = sorted(scale)
        queries, seen_queries, keys = _merged([(qrels.queries, qrels.query) for qrels in graded.values()])
        docs, seen_docs, places = _merged([(qrels.docs, qrels.doc) for qrels in graded.values()])
        for key, place in zip(keys, places, strict=True):
            key *= max(len(seen_docs), 1)
            key += place
        del places
        pairs = _distinct(keys)
        grade = np.full((len(graded), len(pairs)), -1, dtype=np.int16)
        for row, (name, qrels) in enumerate(graded.items()):
            position = np.searchsorted(scale, qrels.relevance)
            off = np.flatnonzero(np.take(scale, position, mode="clip") != qrels.relevance)
            if len(off):
                raise _off_scale(name, qrels, off, scale)
            grade[row, np.searchsorted(pairs, keys[row])] = position
        del keys
        joined_query, joined_doc = np.divmod(pairs, max(len(seen_docs), 1))
        derived = {name: theirs for name, theirs in (members or {}).items() if name in graded}
        return cls(
            labelers=tuple(graded),
            people=frozenset(people).difference(derived),
            scale=tuple(scale),
            queries=Ids(queries.decode(seen_queries)),
            docs=docs,
            query=joined_query,
            doc=seen_docs[joined_doc],
            grade=grade,
            members=derived,
        )


def _merged(columns: Sequence[tuple[Ids, Int]]) -> tuple[Ids, Int, list[Int]]:
    """One vocabulary for all columns; the codes of it that occur, by first appearance; and each column as positions
    among those codes."""
    shared = columns[0][0] if columns else None
    if shared is None or any(ids is not shared for ids, _ in columns):
        merged, places = code_ids([ids.decode(codes) for ids, codes in columns])
        return merged, np.arange(len(merged)), places
    never = sum(len(codes) for _, codes in columns)
    first = np.full(len(shared), never)
    end = never
    for _, column in reversed(columns):
        # Reversed, because for equal codes the last assignment wins: the first appearance.
        first[column[::-1]] = np.arange(end - 1, end - len(column) - 1, -1)
        end -= len(column)
    seen = np.argsort(first, kind="stable")[: int((first < never).sum())]
    place = np.empty(len(shared), dtype=np.int64)
    place[seen] = np.arange(len(seen))
    return shared, seen, [place[column] for _, column in columns]


def _distinct(columns: Sequence[Int]) -> Int:
    """All distinct values, ascending. np.unique takes ten times as long for a million values."""
    values = np.concatenate(columns) if columns else np.empty(0, dtype=np.int64)
    values.sort()
    return values[np.r_[True, values[1:] != values[:-1]]] if len(values) else values


def _off_scale(name: str, qrels: Qrels, off: Int, scale: Sequence[int]) -> QuatiPoolError:
    first = off[:1]
    (query_id,), (doc_id,) = qrels.queries.decode(qrels.query[first]), qrels.docs.decode(qrels.doc[first])
    grade = int(qrels.relevance[off[0]])
    return QuatiPoolError(
        f"{name}: the grade {grade} of {query_id} {doc_id} is not on the scale {', '.join(map(str, scale))} "
        f"({len(off):,} such pairs); correct it, or name the whole scale with --scale"
    )
