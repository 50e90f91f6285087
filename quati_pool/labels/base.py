"""The interface of a labeler: a person, model, file or rule that graded pairs, and its current grade of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from quati_pool.judging.origin import Origin
from quati_pool.judging.pair import Pair
from quati_pool.judging.verdict import Reading
from quati_pool.records import LabelerKind, State

# Imported only for types: label files do not need the store, whose import takes half a second and 30 MB.
if TYPE_CHECKING:
    from quati_pool.store.records import CurrentLabel

Grader = Literal["people", "llm", "file", "program", "distilled", "hybrid"]
"""Who gave the grades; ``file``: a label file that does not say; ``distilled``: a model trained from other labelers'
grades; ``hybrid``: people some, a judge the others."""

# A label file that does not say who graded may hold the grades of people or of a model.
PRECEDENCE: Mapping[Grader, int] = {"people": 0, "llm": 1, "file": 1, "program": 2, "distilled": 2, "hybrid": 3}
"""The precedence in choosing a collection's main labeler; the lowest number comes first. A hybrid is never chosen, as a
labeler that it is computed from has graded too."""

NEVER_ASKED, NOT_GIVEN, TIED = "never asked", "not given", "tied"
"""Why a pair has no grade, where that is no state of a label: the labeler was not asked yet; people were not given the
pair; their grades have no majority, and no lead has decided."""


@dataclass(frozen=True, slots=True)
class Graded:
    """A labeler's current grade of a pair; ``status`` is None if it was never asked. ``samples`` are the grades that
    ``relevance`` was aggregated from, if there are several; ``unsure`` with ``samples`` means that the method gave no
    grade for them."""

    query_id: str
    doc_id: str
    status: State | None
    relevance: int | None
    samples: tuple[int, ...] = ()
    cut: bool = False
    """Whether the judge was shown a truncated passage."""
    revealed: bool = False
    """Whether it is a person's second label, given after seeing a judge's grade."""
    given: bool = True
    """False for a pair that people neither were given to grade nor graded."""
    tied: bool = False
    """Whether people's grades have no majority, so that a lead is to decide."""

    @property
    def state_name(self) -> str:
        """Its state in words: ``status``, or one of ``NEVER_ASKED``, ``NOT_GIVEN`` and ``TIED``."""
        if not self.given:
            return NOT_GIVEN
        return TIED if self.tied else NEVER_ASKED if self.status is None else self.status.value


@dataclass(frozen=True)
class Labeler(ABC):
    """Reads the grades of one labeler; ``version`` is None if its grades do not come from a single version."""

    name: str
    kind: LabelerKind
    version: str | None

    @abstractmethod
    def graded(self, pairs: Sequence[Pair]) -> list[Graded]:
        """The grade of each pair, in their order."""

    @property
    @abstractmethod
    def grader(self) -> Grader:
        """Who gave the grades; for a consensus the kind among its members that is last in ``PRECEDENCE``."""

    @property
    def derived_from(self) -> frozenset[str]:
        """Names of the labelers from whose grades this one's are computed, including those of nested panels, or from
        which a judge was distilled; empty for a labeler that graded independently. The leads' decisions derive from the
        grades of all annotators."""
        return frozenset()

    @property
    def origins(self) -> tuple[Origin, ...]:
        """What the judges behind the grades were distilled from; empty where none was."""
        return ()

    @property
    def stored(self) -> bool:
        """Whether the grades are labels in the store."""
        return False

    @property
    def note(self) -> str | None:
        """What a reader of its grades must know of how they were found; None if nothing."""
        return None

    @property
    def reading(self) -> Reading | None:
        """How a model's answers are read, as far as known; None if no model was asked."""
        return None

    @property
    def file_grades(self) -> Mapping[tuple[str, str], int]:
        """All grades of a label file by query_id and doc_id, including pairs outside the pool; else empty."""
        return {}

    def behind(self, pairs: Sequence[Pair]) -> list[dict[int, CurrentLabel]]:
        """For each pair, in their order, the stored labels from which its grade is computed, by sample."""
        return [{} for _ in pairs]

    def reasoning(self, pair: Pair, rationales: Callable[[Iterable[int]], Mapping[int, str]]) -> str | None:
        """The reasoning behind its grade of a pair, None if none is stored; ``rationales`` gives those of labels, by
        seq."""
        graded = [label.seq for label in self.behind([pair])[0].values() if label.status is State.ok]
        reasons = rationales(graded)
        # Several samples may give the same reasoning.
        return "\n\n".join(dict.fromkeys(reasons[seq] for seq in sorted(reasons))) or None
