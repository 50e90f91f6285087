"""What the weights of pairs for a measure are multiplied by: how uncertain a judge is, or how far judges disagree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from quati_pool.commands.annotate.assigning.pool_grades import JudgedPool, PoolGrades, in_words
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.estimates.plan_settings import CORRELATION
from quati_pool.estimation.gain_spread import LEAST_LABELS, assumed, by_grade, gains, labelled, of_answers
from quati_pool.estimation.pair_frame import NO_GRADE, PairFrame, Values
from quati_pool.estimation.pair_measures import PairMeasure
from quati_pool.records import Int
from quati_pool.stats.sample_sizes import FEWEST_QUERIES
from quati_pool.store.records import Design
from quati_pool.text.pluralize import counted

_SAME_NUMBERS = ("random", "stratified", "active")
"""Methods that draw pairs by the same number of each pair if they have the same seed."""


class GainSpreads:
    """Computes what multiplies the weights of a pool's pairs, which ``parameters`` then record, with ``notes`` for the
    design's author. ``frame`` has the pairs with the grades of the judge ``judged``."""

    def __init__(
        self, session: AnnotationSession, measure: PairMeasure, frame: PairFrame, grades: PoolGrades, seed: int
    ) -> None:
        self._session = session
        self._measure = measure
        self._frame = frame
        self._grades = grades
        self._seed = seed
        self._scale = sorted(session.config.grades)
        self.parameters: dict[str, Any] = {}
        self.notes: list[str] = []

    def disagreement(self, judges: Sequence[JudgedPool]) -> Values:
        """Shape (pairs,)."""
        answers = np.stack([_coded(one.grades) for one in judges])
        self.parameters = {"by": "disagreement", "judges": {one.labeler.name: one.version for one in judges}}
        self.notes.append(f"weights are multiplied by how far the grades of {in_words(judges)} differ")
        return of_answers(gains(self._measure, self._scale, answers))

    def uncertainty(self, judged: JudgedPool) -> Values:
        """Shape (pairs,). An earlier design with the same seed, measure and judge says where the spread is from, so
        that the larger of two samples contains the smaller one, whatever people have graded since."""
        judge = judged.labeler.name
        before = self._before(judged)
        source = {} if before is None else before.parameters["spread"]
        known = {int(grade): float(spread) for grade, spread in source.get("by_grade", {}).items()}
        samples = judged.samples()
        labels = 0
        if before is None:
            rows, people, drawn = self._labels()
            if len(rows) >= LEAST_LABELS and len(np.unique(self._frame.query[rows])) >= FEWEST_QUERIES:
                known = by_grade(self._frame.judge_or_mean[rows], gains(self._measure, self._scale, people))
                labels = len(rows)
            elif drawn >= LEAST_LABELS:
                self.notes.append(
                    f"{counted(drawn, 'label', 'labels')} by people cannot say how uncertain {judge} is, as seed "
                    f"{self._seed} drew their pairs too; give another --seed to learn from them"
                )
            source = {"from": "labels" if known else "samples" if len(samples) > 1 else "assumption"}
            if known:
                source |= {"labels": labels, "by_grade": {str(grade): spread for grade, spread in known.items()}}
        self.parameters = {"by": "uncertainty", "spread": source}
        if known:
            these = f"as design {before.design_id} knew them" if before else f"in {counted(labels, 'label', 'labels')}"
            spreads = ", ".join(f"{grade}: {spread:.2f}" for grade, spread in sorted(known.items()))
            self.notes.append(
                f"the spread of people's gains by {judge}'s grade, {these}, multiplies weights: {spreads}"
            )
            return labelled(self._frame.judge_or_mean, known)
        if source["from"] == "samples" and len(samples) > 1:
            self.notes.append(f"weights are multiplied by how far {judge}'s samples of a pair differ")
            return of_answers(gains(self._measure, self._scale, _codes(samples)))
        self.notes.append(
            f"how far people deviate from {judge} is not known (fewer than {LEAST_LABELS} labels of "
            f"{FEWEST_QUERIES} queries), and follows from an assumed correlation of {CORRELATION:g}"
        )
        return assumed(gains(self._measure, self._scale, self._frame.judge_or_mean), CORRELATION)

    def _before(self, judged: JudgedPool) -> Design | None:
        """The latest design by uncertainty with the same seed, measure and judge."""
        same: Mapping[str, Any] = {
            "by": "uncertainty",
            "measure": self._measure.name,
            "judge": judged.labeler.name,
            "judge_version": judged.version,
        }
        for one in reversed(self._session.designs.all()):
            if one.method == "active" and one.seed == self._seed and same.items() <= one.parameters.items():
                return one
        return None

    def _labels(self) -> tuple[Int, Int, int]:
        """The pairs that people graded, their grades, and how many others are left out: those that a design with this
        seed drew. Where the same random numbers decided what is known, they must not decide what is drawn."""
        graded = [None if answer is None else answer.graded.relevance for answer in self._grades.people]
        drawn = {
            (one.query_id, one.doc_id)
            for design in self._session.designs.all()
            if design.seed == self._seed and design.method in _SAME_NUMBERS and design.design_id is not None
            for one in self._session.designs.selections(design.design_id)
        }
        rows = [row for row, grade in enumerate(graded) if grade is not None]
        others = [row for row in rows if self._grades.pairs[row] not in drawn]
        people = np.array([graded[row] for row in others], dtype=np.int64)
        return np.array(others, dtype=np.int64), people, len(rows) - len(others)


def _coded(grades: Sequence[int | None]) -> Int:
    return np.array([NO_GRADE if grade is None else grade for grade in grades], dtype=np.int64)


def _codes(samples: Values) -> Int:
    there = ~np.isnan(samples)
    return np.where(there, np.where(there, samples, 0).astype(np.int64), NO_GRADE)
