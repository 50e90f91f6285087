"""Computes one grade from several: of a judge's samples, of several labelers, or of the people who labelled a pair."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from quati_pool.judging.aggregation import METHODS
from quati_pool.judging.origin import Origin
from quati_pool.judging.pair import Pair
from quati_pool.labels.base import PRECEDENCE, Graded, Grader, Labeler
from quati_pool.records import State

# States that a person can give a pair instead of a grade; the closest to a grade first.
_UNGRADED = (State.unsure, State.skipped, State.retracted)
_ANSWERED = (State.ok, State.unsure)


@dataclass(frozen=True)
class Consensus(Labeler):
    """A labeler that aggregates the grades of several; a pair that lacks a grade by one of them has none."""

    members: Sequence[Labeler]
    method: str

    @property
    def grader(self) -> Grader:
        return max((member.grader for member in self.members), key=PRECEDENCE.__getitem__)

    @property
    def derived_from(self) -> frozenset[str]:
        return sources(self.members)

    @property
    def origins(self) -> tuple[Origin, ...]:
        return tuple(origin for member in self.members for origin in member.origins)

    def graded(self, pairs: Sequence[Pair]) -> list[Graded]:
        columns = [member.graded(pairs) for member in self.members]
        return [self._graded(pair, row) for pair, row in zip(pairs, zip(*columns, strict=True), strict=True)]

    def reasoning(self, pair: Pair, rationales: Callable[[Iterable[int]], Mapping[int, str]]) -> str | None:
        of_members = [(member.name, member.reasoning(pair, rationales)) for member in self.members]
        return "\n\n".join(f"{name}: {reasoning}" for name, reasoning in of_members if reasoning) or None

    def _graded(self, pair: Pair, row: Sequence[Graded]) -> Graded:
        lacking = next((graded for graded in row if graded.status is not State.ok), None)
        if lacking is not None:
            return Graded(pair.query_id, pair.doc_id, lacking.status, None)
        grades = tuple(graded.relevance for graded in row if graded.relevance is not None)
        return _aggregated(pair, grades, self.method)


class PanelAnswer(NamedTuple):
    """A panel's grade of a pair, the members who graded it or could not judge it, and whether a lead decided."""

    graded: Graded
    people: tuple[str, ...] = ()
    decided: bool = False


@dataclass(frozen=True)
class Panel(Labeler):
    """A labeler that aggregates the grades of the people who labelled a pair; a leads' decision takes precedence.
    ``is_given`` says whether a pair was given to anybody to grade."""

    members: Sequence[Labeler]
    decisions: Labeler | None
    method: str
    is_given: Callable[[str, str], bool]

    @property
    def grader(self) -> Grader:
        return "people"

    @property
    def derived_from(self) -> frozenset[str]:
        return sources(self.members) | ({self.decisions.name} if self.decisions else set())

    def graded(self, pairs: Sequence[Pair]) -> list[Graded]:
        return [answer.graded for answer in self.answers(pairs)]

    def answers(self, pairs: Sequence[Pair]) -> list[PanelAnswer]:
        """The grade of each pair with who is behind it, in their order."""
        columns = [member.graded(pairs) for member in self.members]
        decisions = self.decisions.graded(pairs) if self.decisions else [None] * len(pairs)
        return [self._answer(pair, decisions[at], [column[at] for column in columns]) for at, pair in enumerate(pairs)]

    def _answer(self, pair: Pair, decision: Graded | None, row: Sequence[Graded]) -> PanelAnswer:
        columns = zip(self.members, row, strict=True)
        people = tuple(member.name for member, graded in columns if graded.status in _ANSWERED)
        if decision is not None and decision.status in _ANSWERED:
            return PanelAnswer(decision, people, decided=True)
        return PanelAnswer(self._graded(pair, row), people)

    def _graded(self, pair: Pair, row: Sequence[Graded]) -> Graded:
        grades = tuple(graded.relevance for graded in row if graded.relevance is not None)
        if not grades:
            states = {graded.status for graded in row}
            closest = next((state for state in _UNGRADED if state in states), None)
            given = closest is State.unsure or self.is_given(pair.query_id, pair.doc_id)
            return Graded(pair.query_id, pair.doc_id, closest, None, given=given)
        graded = _aggregated(pair, grades, self.method)
        return replace(graded, tied=graded.relevance is None)


def sources(members: Iterable[Labeler]) -> frozenset[str]:
    """The names of the independent labelers behind the members; an independent member counts itself."""
    return frozenset().union(*(member.derived_from or {member.name} for member in members))


def _aggregated(pair: Pair, grades: tuple[int, ...], method: str) -> Graded:
    relevance = METHODS[method](grades)
    # Without a majority the members have graded but agree on no grade.
    status = State.unsure if relevance is None else State.ok
    return Graded(pair.query_id, pair.doc_id, status, relevance, grades if len(grades) > 1 else ())


def aggregate_samples(
    query_id: str, doc_id: str, samples: Mapping[int, tuple[State, int | None]], wanted: int, method: str
) -> Graded:
    """A judge's grade of a pair, from state and grade of its samples by number (from 1 to ``wanted``): the aggregate
    once all samples have one, else the state of the first sample without one."""
    if wanted == 1:
        return Graded(query_id, doc_id, *samples.get(1, (None, None)))
    known = [samples[sample] for sample in range(1, wanted + 1) if sample in samples]
    lacking = next((state for state, _ in known if state is not State.ok), None)
    grades = tuple(grade for _, grade in known if grade is not None)
    if lacking is not None or len(grades) < wanted:
        return Graded(query_id, doc_id, lacking, None)
    return Graded(query_id, doc_id, State.ok, METHODS[method](grades), grades)
