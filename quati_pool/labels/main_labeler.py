"""Whose grades a collection is known by: the labeler that exports and leaderboards put first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from quati_pool.errors import QuatiPoolError
from quati_pool.project.config import JudgeConfig
from quati_pool.registry import JUDGES
from quati_pool.store.records import ADJUDICATED
from quati_pool.text.pluralize import listed

# The store is imported where a labeler of it is looked at: half a second, and 30 MB, that label files do without.
if TYPE_CHECKING:
    from quati_pool.labels.labelers import Labeler, StoredLabeler

Grader = Literal["people", "llm", "file", "program"]
"""Who gave the grades; ``file``: a label file that does not say."""

# A label file that says nothing of who graded may hold people's grades or a model's.
_PLACE: dict[Grader, int] = {"people": 0, "llm": 1, "file": 1, "program": 2}
_ONE = {"people": "a person", "llm": "a language model", "file": "a label file", "program": "a program"}
_SEVERAL = {"people": "people", "llm": "language models", "file": "label files", "program": "programs"}
_PANEL = "declare a panel under judges:, such as  panel: {people: majority}"


@dataclass(frozen=True)
class Candidate:
    """A labeler with ``graded`` pairs; ``members`` are those from whose grades its own follow (``derived``)."""

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
    first = min(_PLACE[candidate.grader] for candidate in there)
    level = [candidate for candidate in there if _PLACE[candidate.grader] == first]
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


def grader(labeler: Labeler) -> Grader:
    """Who gave a labeler's grades; of a consensus the last kind among its members."""
    from quati_pool.labels.labelers import Consensus, FileLabeler, Panel, StoredLabeler

    if isinstance(labeler, Panel) or labeler.kind == "assessor":
        return "people"
    if isinstance(labeler, Consensus):
        return max(map(grader, labeler.members), key=_PLACE.__getitem__)
    if isinstance(labeler, FileLabeler):
        return "file"
    return "program" if isinstance(labeler, StoredLabeler) and _is_program(labeler) else "llm"


def _is_program(labeler: StoredLabeler) -> bool:
    from quati_pool.judging.base import Program

    settings = labeler.grading.config.judges.get(labeler.name)
    if isinstance(settings, JudgeConfig):
        return issubclass(JUDGES.get(settings.judge), Program)
    # A judge of the store alone: what asks a model has its name in its definition.
    definition = labeler.grading.store.definition(labeler.version)
    return definition is not None and "model" not in definition


def candidate(labeler: Labeler, graded: int) -> Candidate:
    from quati_pool.labels.derived import members

    return Candidate(labeler.name, grader(labeler), graded, members(labeler))
