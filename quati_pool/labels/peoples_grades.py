"""People's grades of the pairs of a pool, and whose answers are still to come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from quati_pool.judging.pair import Pair as JudgedPair
from quati_pool.labels.base import Labeler
from quati_pool.labels.consensus import Panel, PanelAnswer
from quati_pool.records import State

# The store is imported only where it is read: label files do not need it.
if TYPE_CHECKING:
    from quati_pool.labels.labelers import Grading

Pair = tuple[str, str]


@dataclass(frozen=True)
class PeoplesGrades:
    """People's grades of the pairs of a pool, in its order, and the pairs that they were given and could not judge.

    Of several people, ``answered_by`` names those who graded a pair or could not judge it, and ``open`` has the pairs
    that somebody is still to answer, without those that a lead has decided.
    """

    pairs: Sequence[Pair]
    grades: Mapping[Pair, int]
    not_judged: frozenset[Pair] = frozenset()
    tied: frozenset[Pair] = frozenset()
    """Those of ``not_judged`` that several people judged without a majority."""
    answered_by: Mapping[Pair, Sequence[str]] = field(default_factory=dict)
    open: frozenset[Pair] = frozenset()

    @property
    def names(self) -> list[str]:
        """Those who answered, sorted."""
        return sorted({name for names in self.answered_by.values() for name in names})

    def awaited(self, people: Mapping[Pair, int]) -> frozenset[Pair]:
        """The pairs whose grade may still change, as fewer people have answered than are to, whose number ``people``
        has. Of pairs whose open slots were withdrawn no further answer is awaited."""
        return frozenset(pair for pair in self.open if len(self.answered_by.get(pair, ())) < people.get(pair, 0))


def read_people(grading: Grading, people: Labeler) -> PeoplesGrades:
    """The current grades of a labeler."""
    pairs: list[Pair] = []
    grades: dict[Pair, int] = {}
    not_judged: set[Pair] = set()
    tied: set[Pair] = set()
    decided: set[Pair] = set()
    answered_by: dict[Pair, Sequence[str]] = {}
    for chunk in grading.pairs():
        for one, names, by_lead in _answers(people, chunk):
            pair = (one.query_id, one.doc_id)
            pairs.append(pair)
            if names:
                answered_by[pair] = names
            if by_lead:
                decided.add(pair)
            if one.relevance is not None:
                grades[pair] = one.relevance
            elif one.status is State.unsure:
                not_judged.add(pair)
                if one.tied:
                    tied.add(pair)
    waiting = _open_pairs(grading) - decided if isinstance(people, Panel) else frozenset()
    return PeoplesGrades(pairs, grades, frozenset(not_judged), frozenset(tied), answered_by, waiting)


def _answers(people: Labeler, pairs: Sequence[JudgedPair]) -> list[PanelAnswer]:
    if isinstance(people, Panel):
        return people.answers(pairs)
    return [PanelAnswer(one) for one in people.graded(pairs)]


def _open_pairs(grading: Grading) -> frozenset[Pair]:
    from quati_pool.store.assignments import Assignments

    return Assignments(grading.store, grading.config.name).open_pairs()
