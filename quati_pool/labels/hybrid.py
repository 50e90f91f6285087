"""A hybrid labeler: people's grades where they graded, and elsewhere those of a judge, calibrated by people's.

It is a third kind of labeler, next to people and judges: its grades come from both, so that it is never counted as
people, and never as a judge that people's grades are compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from quati_pool.estimation.hybrid_grades import FEWEST_LABELS, HybridGrades, hybrid_grades
from quati_pool.estimation.pair_frame import NO_GRADE, PairFrame
from quati_pool.evaluation.expected_gains import ExpectedGrades
from quati_pool.judging.pair import Pair
from quati_pool.labels.base import Graded, Grader, Labeler
from quati_pool.labels.consensus import sources
from quati_pool.records import Ids, Int, State
from quati_pool.text.pluralize import counted


@dataclass(frozen=True)
class HybridParts:
    """Where a hybrid's grades come from: how many pairs have the grade of ``people`` and how many that of ``judge``;
    whether the judge's are ``calibrated``, and how many pairs both graded (``labels``), from which that is learned.
    ``wanted`` is whether they were to be calibrated."""

    people: str
    judge: str
    by_people: int
    by_judge: int
    calibrated: bool
    labels: int
    wanted: bool

    def __str__(self) -> str:
        pairs = counted(self.by_people, "pair", "pairs")
        calibrated = " calibrated" if self.calibrated else ""
        return f"{self.people}'s grades of {pairs}, {self.judge}'s{calibrated} for {self.by_judge:,}{self._doubt}"

    @property
    def _doubt(self) -> str:
        if self.calibrated or not self.wanted:
            return ""
        both = counted(self.labels, "pair", "pairs")
        return f" (as they are: both graded {both}, and calibration needs {FEWEST_LABELS})"

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "wanted"}


class _Computed(NamedTuple):
    """The grades of the pool: ``rows`` has each pair's place in ``grades``, and ``graded`` each pair's grade."""

    rows: Mapping[tuple[str, str], int]
    grades: HybridGrades
    graded: Sequence[Graded]


@dataclass(frozen=True)
class Hybrid(Labeler):
    """The grades of ``people`` where they graded a pair, and of ``judge`` elsewhere, on the ascending ``scale``.

    ``pool`` reads the pairs of the pool, from all of which the judge's grades are calibrated, unless ``calibrate`` is
    false. A pair on which people have no majority has no grade until a lead decides; one that they could not judge, put
    off or took back has the judge's. A pair that is not in the pool has none. Computed once, when it is first read.
    """

    people: Labeler
    judge: Labeler
    scale: tuple[int, ...]
    pool: Callable[[], Iterator[list[Pair]]]
    calibrate: bool = True

    @property
    def grader(self) -> Grader:
        return "hybrid"

    @property
    def derived_from(self) -> frozenset[str]:
        return sources([self.people, self.judge])

    def graded(self, pairs: Sequence[Pair]) -> list[Graded]:
        rows, _, graded = self._computed
        found = ((pair, rows.get((pair.query_id, pair.doc_id))) for pair in pairs)
        return [Graded(pair.query_id, pair.doc_id, None, None) if row is None else graded[row] for pair, row in found]

    @property
    def parts(self) -> HybridParts:
        """Where the grades of the pool come from."""
        grades, graded = self._computed.grades, self._computed.graded
        by_people = int(grades.by_people.sum())
        return HybridParts(
            self.people.name,
            self.judge.name,
            by_people,
            sum(one.relevance is not None for one in graded) - by_people,
            grades.calibrated,
            grades.labels,
            self.calibrate,
        )

    def expected(self, graded: Sequence[Graded]) -> ExpectedGrades:
        """What is known of the grades of pairs that have one, in their order."""
        rows, grades, _ = self._computed
        places = [rows[one.query_id, one.doc_id] for one in graded]
        return ExpectedGrades(self.scale, grades.reached[places])

    @cached_property
    def _computed(self) -> _Computed:
        of_people: list[Graded] = []
        of_judge: list[Graded] = []
        for chunk in self.pool():
            of_people += self.people.graded(chunk)
            of_judge += self.judge.graded(chunk)
        tied = np.array([one.tied for one in of_people], dtype=np.bool_)
        people = _grades(of_people)
        query_ids = Ids(list(dict.fromkeys(one.query_id for one in of_judge)))
        query, none = query_ids.encode([one.query_id for one in of_judge]), np.empty(0, dtype=np.int64)
        frame = PairFrame(query, len(query_ids), _grades(of_judge), 0, none, none, none)
        grades = hybrid_grades(frame, people, self.scale, calibrated=self.calibrate)
        likeliest = np.where(tied, NO_GRADE, grades.likeliest).tolist()
        graded = [_of(*each) for each in zip(of_people, of_judge, likeliest, strict=True)]
        return _Computed({(one.query_id, one.doc_id): row for row, one in enumerate(graded)}, grades, graded)


def _grades(graded: Sequence[Graded]) -> Int:
    """Grades, NO_GRADE where there is none, shape (pairs,)."""
    return np.array([NO_GRADE if one.relevance is None else one.relevance for one in graded], dtype=np.int64)


def _of(by_people: Graded, by_judge: Graded, likeliest: int) -> Graded:
    """A pair's grade: people's, or that they are tied; else the ``likeliest`` by the judge, or why it has none."""
    if by_people.relevance is not None or by_people.tied:
        return by_people
    if likeliest == NO_GRADE:
        return by_judge
    return Graded(by_judge.query_id, by_judge.doc_id, State.ok, likeliest, cut=by_judge.cut)
