"""The main labeler of a collection: the one that exports and leaderboards put first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quati_pool.errors import QuatiPoolError
from quati_pool.labels.base import PRECEDENCE, Grader, Labeler
from quati_pool.store.records import ADJUDICATED
from quati_pool.text.pluralize import listed

_ONE = {
    "people": "a person",
    "llm": "a language model",
    "file": "a label file",
    "program": "a program",
    "distilled": "a distilled judge",
    "hybrid": "a hybrid",
}
_SEVERAL = {"people": "people", "llm": "language models", "file": "label files", "program": "programs"}
_PANEL = "declare a panel under judges:, such as  panel: {people: majority}"


@dataclass(frozen=True)
class Candidate:
    """A labeler and the number of pairs it ``graded``; ``members`` are the labelers its grades are computed from, or
    from which it was distilled."""

    name: str
    grader: Grader
    graded: int
    members: frozenset[str] = frozenset()

    @property
    def what(self) -> str:
        if self.name == ADJUDICATED and self.members:
            return "leads' decisions"
        panel = self.members and self.grader not in ("hybrid", "distilled")
        return f"a panel of {_SEVERAL[self.grader]}" if panel else _ONE[self.grader]


@dataclass(frozen=True)
class MainLabeler:
    """The main labeler's ``name``; None if there is none, or the choice is ambiguous. ``said`` is the line that names
    it, or asks the user to. ``candidates`` are all labelers that could be meant, by name."""

    name: str | None
    said: str
    candidates: tuple[str, ...] = ()

    def required(self) -> str:
        """The name. Raises QuatiPoolError if the user has to choose."""
        if self.name is None:
            raise QuatiPoolError(self.said)
        return self.name


def main_labeler(candidates: Sequence[Candidate]) -> MainLabeler:
    """The main labeler among the candidates that graded anything.

    People come before language models and label files, and these before programs. A panel comes before its members,
    and leads' decisions before the people who graded no more pairs than the decisions cover. A panel of several
    kinds counts as the last kind among its members. A distilled judge counts as a program, and comes after the labelers
    from which it was distilled.
    """
    there = [candidate for candidate in candidates if candidate.graded]
    if not there:
        return MainLabeler(None, "nobody has graded anything")
    first = min(PRECEDENCE[candidate.grader] for candidate in there)
    level = [candidate for candidate in there if PRECEDENCE[candidate.grader] == first]
    meant = [one for one in level if not any(_speaks_for(other, one) for other in level)]
    if len(meant) == 1:
        return MainLabeler(meant[0].name, f"main labeler: {meant[0].name} ({meant[0].what})", (meant[0].name,))
    could_be = tuple(sorted(candidate.name for candidate in meant))
    names = listed(could_be, "or")
    panel = f", or {_PANEL}" if first == 0 and not any(one.members for one in meant if one.name != ADJUDICATED) else ""
    return MainLabeler(None, f"{names} could equally be the main labeler; name one with --labeler{panel}", could_be)


def _speaks_for(panel: Candidate, other: Candidate) -> bool:
    """Whether ``panel`` takes precedence because its grades include the other's; neither of two panels with the same
    members does. Of a distilled judge and the labeler from which it was distilled, that labeler does."""
    if other.grader == "distilled" and panel.grader != "distilled":
        return bool(other.members & (panel.members or {panel.name}))
    if panel.grader == "distilled":
        return False
    covers = other.members < panel.members if other.members else other.name in panel.members
    return covers and (panel.name != ADJUDICATED or panel.graded >= other.graded)


def peers(candidates: Sequence[Candidate], main: str) -> list[str]:
    """The labelers to publish if none are named, with ``main`` first. If that one is people's, panels, which are
    computed from other labelers, and programs are left out; hybrids always."""
    by_name = {candidate.name: candidate for candidate in candidates if candidate.graded}
    kept = [
        candidate.name
        for candidate in by_name.values()
        if candidate.grader != "hybrid"
        if by_name[main].grader != "people"
        or (candidate.grader != "program" and (not candidate.members or candidate.name == ADJUDICATED))
    ]
    return [main, *(name for name in kept if name != main)]


def candidate(labeler: Labeler, graded: int) -> Candidate:
    """A labeler as a candidate, with the number of pairs that it ``graded``."""
    return Candidate(labeler.name, labeler.grader, graded, labeler.derived_from)
