"""What a labeler is: a person, model, file or rule that graded pairs, and its current grade of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from quati_pool.judging.pair import Pair
from quati_pool.judging.verdict import Reading
from quati_pool.records import State

# Imported for types alone: label files do without the store, which takes half a second and 30 MB.
if TYPE_CHECKING:
    from quati_pool.store.records import CurrentLabel

Grader = Literal["people", "llm", "file", "program"]
"""Who gave the grades; ``file``: a label file that does not say."""

# A label file that says nothing of who graded may hold people's grades or a model's.
PRECEDENCE: Mapping[Grader, int] = {"people": 0, "llm": 1, "file": 1, "program": 2}
"""Whose grades a collection is rather known by; the lowest number comes first."""


@dataclass(frozen=True, slots=True)
class Graded:
    """What a labeler says of a pair; ``status`` is None where it was never asked. ``samples`` are the
    grades that ``relevance`` was computed from, where there are several."""

    query_id: str
    doc_id: str
    status: State | None
    relevance: int | None
    samples: tuple[int, ...] = ()
    cut: bool = False
    """Whether the grade is of a passage that was longer than what the judge was shown."""
    revealed: bool = False
    """Whether it is a person's second label, given in sight of a judge's grade."""


@dataclass(frozen=True)
class Labeler(ABC):
    """Reads one labeler's grades; ``version`` is None where there are no labels of one version."""

    name: str
    kind: str
    version: str | None

    @abstractmethod
    def graded(self, pairs: Sequence[Pair]) -> list[Graded]:
        """One for each pair, in their order."""

    @property
    @abstractmethod
    def grader(self) -> Grader:
        """Who gave the grades; of a consensus the last kind among its members."""

    @property
    def derived_from(self) -> frozenset[str]:
        """Names of the labelers from whose grades this one's follow, those of a panel within a panel too; empty
        for a labeler that graded independently. Leads' decisions follow from those of all people who labelled."""
        return frozenset()

    @property
    def stored(self) -> bool:
        """Whether the grades are labels in the store."""
        return False

    @property
    def reading(self) -> Reading | None:
        """How a model's answers are read, as far as that is known; None where no model was asked."""
        return None

    @property
    def file_grades(self) -> Mapping[tuple[str, str], int]:
        """All grades of a label file by query_id and doc_id, those of pairs outside the pool too; empty for others."""
        return {}

    def behind(self, pairs: Sequence[Pair]) -> list[dict[int, CurrentLabel]]:
        """For each pair, in their order, the stored labels that its grade is computed from, by sample."""
        return [{} for _ in pairs]
