"""Whose grades a collection is known by: the labeler that exports and leaderboards put first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quati_pool.errors import QuatiPoolError
from quati_pool.labels.base import PRECEDENCE, Grader, Labeler
from quati_pool.store.records import ADJUDICATED
from quati_pool.text.pluralize import listed

_ONE = {"people": "a person", "llm": "a language model", "file": "a label file", "program": "a program"}
_SEVERAL = {"people": "people", "llm": "language models", "file": "label files", "program": "programs"}
_PANEL = "declare a panel under judges:, such as  panel: {people: majority}"


@dataclass(frozen=True)
class Candidate:
    """A labeler with ``graded`` pairs; ``members`` are those from whose grades its own follow."""

    name: str
    grader: Grader
    graded: int
    members: frozenset[str] = frozenset()

    @property
    def what(self) -> str:
        if self.name == ADJUDICATED and self.members:
            return "leads' decisions"
        return f"a panel of {_SEVERAL[self.grader]}" if self.members else _ONE[self.grader]


@dataclass(frozen=True)
class MainLabeler:
    """The main labeler's ``name``; None where there is none, or several could equally be meant. ``said`` is the
    line that names it, or asks for it."""

    name: str | None
    said: str

    def required(self) -> str:
        """The name; raises QuatiPoolError where it has to be asked for."""
        if self.name is None:
            raise QuatiPoolError(self.said)
        return self.name


def main_labeler(candidates: Sequence[Candidate]) -> MainLabeler:
    """The main one of those who graded anything.

    People come before language models and label files, and these before programs; a panel comes before its
    members, and so do leads' decisions where they are of as many pairs as anybody graded. A panel of several kinds
    is of the last kind among its members.
    """
    there = [candidate for candidate in candidates if candidate.graded]
    if not there:
        return MainLabeler(None, "nobody has graded anything")
    first = min(PRECEDENCE[candidate.grader] for candidate in there)
    level = [candidate for candidate in there if PRECEDENCE[candidate.grader] == first]
    meant = [one for one in level if not any(_speaks_for(other, one) for other in level)]
    if len(meant) == 1:
        return MainLabeler(meant[0].name, f"main labeler: {meant[0].name} ({meant[0].what})")
    names = listed(sorted(candidate.name for candidate in meant), "or")
    panel = f", or {_PANEL}" if first == 0 and not any(one.members for one in meant if one.name != ADJUDICATED) else ""
    return MainLabeler(None, f"{names} could equally be the main labeler; name one with --labeler{panel}")


def _speaks_for(panel: Candidate, other: Candidate) -> bool:
    """Whether the other's grades entered the panel's; of two panels of the same members none does."""
    covers = other.members < panel.members if other.members else other.name in panel.members
    return covers and (panel.name != ADJUDICATED or panel.graded >= other.graded)


def peers(candidates: Sequence[Candidate], main: str) -> list[str]:
    """Whose grades are published with the main labeler's where nobody is named, that one first. Next to people's
    grades are no panels, which follow from other labelers', and no programs'."""
    by_name = {candidate.name: candidate for candidate in candidates if candidate.graded}
    kept = [
        candidate.name
        for candidate in by_name.values()
        if by_name[main].grader != "people"
        or (candidate.grader != "program" and (not candidate.members or candidate.name == ADJUDICATED))
    ]
    return [main, *(name for name in kept if name != main)]


def candidate(labeler: Labeler, graded: int) -> Candidate:
    """A labeler as a candidate, with the number of pairs that it ``graded``."""
    return Candidate(labeler.name, labeler.grader, graded, labeler.derived_from)
