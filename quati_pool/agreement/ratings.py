"""The grades of several labelers side by side: what every coefficient of agreement is computed from."""

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
    """Every pair that a labeler graded, with each labeler's grade of it.

    ``grade``, shape (labelers, pairs), holds positions in ``scale`` (ascending grades), -1 where the
    labeler has no grade. ``query`` and ``doc``, shape (pairs,), are codes into ``queries`` and
    ``docs``; pairs are sorted by query, then doc. ``people`` are those labelers that are persons.
    ``members`` holds, for each derived labeler (a panel, a consensus), the labelers, none of them derived,
    from whose grades its own are computed, whether these are compared here or not.
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

    @property
    def independent(self) -> tuple[str, ...]:
        """The labelers whose grades are not computed from other labelers'."""
        return tuple(labeler for labeler in self.labelers if labeler not in self.members)

    def shared_members(self, a: str, b: str) -> tuple[str, ...]:
        """Whose grades enter both labelers', by name: of a panel and its member that member, of two panels
        the members of both; none for independent labelers."""
        return tuple(sorted(self.members.get(a, frozenset({a})) & self.members.get(b, frozenset({b}))))

    def only(self, labelers: Collection[str]) -> Ratings:
        """These labelers alone, with the pairs that one of them graded."""
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
        """Joins labelers on query_id and doc_id; the scale is sorted. A derived labeler is no person.

        Raises QuatiPoolError for a grade that is not of the scale.
        """
        scale = sorted(scale)
        queries, query = code_ids([qrels.queries.decode(qrels.query) for qrels in graded.values()])
        docs, doc = code_ids([qrels.docs.decode(qrels.doc) for qrels in graded.values()])
        keys = [q * max(len(docs), 1) + d for q, d in zip(query, doc, strict=True)]
        pairs = np.unique(np.concatenate(keys)) if keys else np.empty(0, dtype=np.int64)
        grade = np.full((len(graded), len(pairs)), -1, dtype=np.int16)
        for row, (name, qrels) in enumerate(graded.items()):
            position = np.searchsorted(scale, qrels.relevance)
            off = np.flatnonzero(np.take(scale, position, mode="clip") != qrels.relevance)
            if len(off):
                raise _off_scale(name, qrels, off, scale)
            grade[row, np.searchsorted(pairs, keys[row])] = position
        joined_query, joined_doc = np.divmod(pairs, max(len(docs), 1))
        derived = {name: theirs for name, theirs in (members or {}).items() if name in graded}
        named = frozenset(people).difference(derived)
        return cls(tuple(graded), named, tuple(scale), queries, docs, joined_query, joined_doc, grade, derived)


def _off_scale(name: str, qrels: Qrels, off: Int, scale: Sequence[int]) -> QuatiPoolError:
    first = off[:1]
    (query_id,), (doc_id,) = qrels.queries.decode(qrels.query[first]), qrels.docs.decode(qrels.doc[first])
    grade = int(qrels.relevance[off[0]])
    return QuatiPoolError(
        f"{name}: the grade {grade} of {query_id} {doc_id} is not of the scale {', '.join(map(str, scale))} "
        f"({len(off):,} such pairs); mend it, or name the whole scale with --scale"
    )
