"""Signs that somebody may not have graded with care; each finding is a reason to ask, never a conclusion.

The thresholds are based on the two assessors whose 240 grades the Quati paper released: neither gave one grade
more than 38 % of the time, the longest run of one grade was 10, within one or two queries, and their grades
differed by 0.5 on average.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quati_pool.records import Int

Pattern = Literal["one_grade", "too_fast", "long_run", "disagreement", "gold_equal", "gold_distance"]
Values = npt.NDArray[np.float64]

LEAST = 30
"""The least number of grades (for ``disagreement``: comparisons) for a finding about a person: three queries with
the paper's ten passages each, so that a single hard or empty query does not decide."""

ONE_GRADE = 0.95
"""The share of one grade from which it is practically the only one; more than twice the share observed."""

OTHERS_ONE_GRADE = 0.85
"""If the others gave that grade at least this often too, the cause is the pool, not the person."""

CHARACTERS_A_SECOND = 100.0
"""About 1,000 words per minute, twice the speed of skimming, so faster than anybody reads."""

CHARACTERS_NEEDED = 600
"""How much of a longer passage has to be read: about the first hundred words show that it is off topic."""

SHORTEST = 1.0
"""Seconds that any passage takes at least: to see it and press a key."""

LONG_RUN = 25
"""Equal grades in a row; two and a half times the longest run observed."""

RUN_QUERIES = 3
"""Queries that a run must span: within one query, all passages may well deserve the same grade."""

RUN_CHANCE = 0.001
"""A run is reported only if a run this long has at most this probability, given how often the person gives that
grade: somebody who rightly gives 90 % zeros has long runs of them."""

FAR = 1.5
"""A person is far from the others if their distance is more than this multiple of the distance among the others."""

FAR_AT_LEAST = 0.25
"""Grade steps by which a person's distance must at least exceed the distance among the others: a quarter of a step,
so that two small distances count as equal."""


GOLD_LEAST = 5
"""The least number of grades of gold pairs for a finding about them. Somebody who gives eight in ten their known grade
has fewer than three of five right with probability 0.06: a reason to ask, on so few."""

GOLD_EQUAL = 0.6
"""The share of gold pairs that a careful person gives at least the known grade."""

GOLD_DISTANCE = 1.0
"""The distance from the known grades, in grade steps, that a careful person has at most."""


@dataclass(frozen=True, eq=False)
class Graded:
    """Grades by people, one per row, in the order in which they were given; all columns have the same length.

    ``active_seconds``, shape (n,): NaN if unknown. ``characters``, shape (n,): the length of the passage.
    """

    labeler_ids: Sequence[str]
    query_ids: Sequence[str]
    doc_ids: Sequence[str]
    relevance: Int
    active_seconds: Values
    characters: Int


@dataclass(frozen=True, slots=True)
class Finding:
    """A pattern in a person's grades: ``figure``, based on ``labels`` grades (for ``disagreement``: comparisons), is
    beyond ``threshold``. ``grade`` is the repeated grade of ``one_grade`` and ``long_run``.

    Units: ``one_grade`` share of grades, ``too_fast`` median active seconds per grade, ``long_run`` grades in a
    row, ``disagreement`` and ``gold_distance`` mean absolute difference in grade steps, ``gold_equal`` share of the
    grades of gold pairs that are the known ones.
    """

    labeler_id: str
    pattern: Pattern
    figure: float
    threshold: float
    labels: int
    grade: int | None = None

    @property
    def text(self) -> str:
        """The finding as an English sentence without the person's name."""
        if self.pattern == "one_grade":
            return f"{self.figure:.0%} of {self.labels:,} grades are {self.grade} (threshold {self.threshold:.0%})"
        if self.pattern == "too_fast":
            seconds = f"{self.figure:.1f} s of active time per grade (median of {self.labels:,})"
            return f"{seconds}; reading takes {self.threshold:.1f} s at least"
        if self.pattern == "long_run":
            run = f"{self.figure:.0f} times {self.grade} in a row, in {self.labels:,} grades"
            return f"{run} (threshold {self.threshold:.0f})"
        if self.pattern == "gold_equal":
            return f"{self.figure:.0%} of {self.labels:,} gold pairs graded as known (threshold {self.threshold:.0%})"
        if self.pattern == "gold_distance":
            far = f"{self.figure:.2f} grades away from the known ones on average, over {self.labels:,} gold pairs"
            return f"{far} (threshold {self.threshold:.2f})"
        apart = f"{self.figure:.2f} grades away from others on average ({self.labels:,} comparisons)"
        return f"{apart} (threshold {self.threshold:.2f})"


def suspicious(graded: Graded) -> list[Finding]:
    """All findings, sorted by labeler_id, then pattern.

    ``disagreement`` needs at least three people: of two who differ, nobody knows which one is wrong.
    """
    names, labeler = _coded(graded.labeler_ids)
    _, query = _coded(graded.query_ids)
    found: list[Finding] = []
    for code, name in enumerate(names):
        mine = labeler == code
        if np.count_nonzero(mine) >= LEAST:
            one_grade = _one_grade(name, graded.relevance[mine], graded.relevance[~mine])
            found += one_grade
            found += _too_fast(name, graded.active_seconds[mine], graded.characters[mine])
            if not one_grade:
                found += _long_run(name, graded.relevance[mine], query[mine])
    found += _disagreement(names, labeler, query, _coded(graded.doc_ids)[1], graded.relevance)
    return sorted(found, key=lambda finding: (finding.labeler_id, finding.pattern))


def poor_gold(labeler_id: str, labels: int, equal: float, distance: float) -> Finding | None:
    """The finding about a person's ``labels`` grades of gold pairs, if they are poor: ``equal`` is the share that is
    the known grade, ``distance`` the mean absolute difference from it. At most one, for the two go together."""
    if labels < GOLD_LEAST:
        return None
    if equal < GOLD_EQUAL:
        return Finding(labeler_id, "gold_equal", equal, GOLD_EQUAL, labels)
    if distance > GOLD_DISTANCE:
        return Finding(labeler_id, "gold_distance", distance, GOLD_DISTANCE, labels)
    return None


def least_seconds(characters: npt.NDArray[Any]) -> Values:
    """Active seconds below which a passage with this many characters was not read; same shape as ``characters``."""
    needed: Values = np.maximum(np.minimum(characters, CHARACTERS_NEEDED) / CHARACTERS_A_SECOND, SHORTEST)
    return needed


def _one_grade(name: str, mine: Int, others: Int) -> list[Finding]:
    grades, counts = np.unique(mine, return_counts=True)
    grade, share = int(grades[counts.argmax()]), float(counts.max() / len(mine))
    usual = len(others) >= LEAST and float(np.mean(others == grade)) >= OTHERS_ONE_GRADE
    if share < ONE_GRADE or usual:
        return []
    return [Finding(name, "one_grade", share, ONE_GRADE, len(mine), grade)]


def _too_fast(name: str, seconds: Values, characters: Int) -> list[Finding]:
    known = np.isfinite(seconds)
    if np.count_nonzero(known) < LEAST:
        return []
    figure = float(np.median(seconds[known]))
    threshold = float(np.median(least_seconds(characters[known])))
    if figure >= threshold:
        return []
    return [Finding(name, "too_fast", figure, threshold, int(np.count_nonzero(known)))]


def _long_run(name: str, relevance: Int, query: Int) -> list[Finding]:
    starts = np.flatnonzero(np.r_[True, relevance[1:] != relevance[:-1]])
    ends = np.r_[starts[1:], len(relevance)]
    # The longest first: one finding per person is enough.
    for place in np.argsort(starts - ends, kind="stable").tolist():
        start, end = int(starts[place]), int(ends[place])
        if end - start < LONG_RUN:
            break
        grade = int(relevance[start])
        threshold = max(LONG_RUN, _run_by_chance(len(relevance), float(np.mean(relevance == grade))))
        if end - start >= threshold and len(np.unique(query[start:end])) >= RUN_QUERIES:
            return [Finding(name, "long_run", end - start, threshold, len(relevance), grade)]
    return []


def _run_by_chance(n: int, share: float) -> int:
    """The shortest length of a run that occurs with probability at most RUN_CHANCE among n grades drawn with this
    share; by the union bound over the positions where a run can start."""
    if share >= 1:
        return n + 1
    return math.ceil(math.log(RUN_CHANCE / (1 + n * (1 - share))) / math.log(share))


def _disagreement(names: list[str], labeler: Int, query: Int, doc: Int, relevance: Int) -> list[Finding]:
    if len(names) < 3:
        return []
    order = np.lexsort((labeler, doc, query))
    labeler, query, doc, relevance = labeler[order], query[order], doc[order], relevance[order]
    sums, counts = np.zeros(len(names)), np.zeros(len(names), dtype=np.int64)
    total, comparisons = 0.0, 0
    # After sorting, the grades of a pair are adjacent, so two of them are fewer than len(names) rows apart.
    for step in range(1, len(names)):
        same = (query[step:] == query[:-step]) & (doc[step:] == doc[:-step])
        if not same.any():
            break
        first, second = labeler[:-step][same], labeler[step:][same]
        distance = np.abs(relevance[:-step][same] - relevance[step:][same]).astype(np.float64)
        for side in (first, second):
            sums += np.bincount(side, weights=distance, minlength=len(names))
            counts += np.bincount(side, minlength=len(names))
        total += float(distance.sum())
        comparisons += len(distance)
    found = []
    for code, name in enumerate(names):
        mine, among = int(counts[code]), comparisons - int(counts[code])
        if mine < LEAST or among < LEAST:
            continue
        others = (total - float(sums[code])) / among
        figure, threshold = float(sums[code]) / mine, max(FAR * others, others + FAR_AT_LEAST)
        if figure > threshold:
            found.append(Finding(name, "disagreement", figure, threshold, mine))
    return found


def _coded(values: Sequence[str]) -> tuple[list[str], Int]:
    """The distinct values, and the position of each row's value among them."""
    encoded = pa.array(values, type=pa.large_string()).dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
