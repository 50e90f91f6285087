"""Suspicious patterns: told with figure and threshold, and never of few grades or of a pool that is so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from quati_pool.annotation import quality_control
from quati_pool.annotation.quality_control import (
    LEAST,
    LONG_RUN,
    Finding,
    Graded,
    least_seconds,
    poor_gold,
    suspicious,
)
from tests.shared_data import shared

Row = tuple[str, str, str, int, float, int]


def graded(rows: list[Row]) -> Graded:
    columns: tuple[Any, ...] = tuple(zip(*rows, strict=True)) if rows else ((),) * 6
    names, queries, docs, relevance, seconds, characters = columns
    return Graded(
        names, queries, docs,
        np.array(relevance, dtype=np.int64), np.array(seconds, dtype=np.float64), np.array(characters, dtype=np.int64),
    )  # fmt: skip


def by(name: str, grades: list[int], seconds: float = 20.0, characters: int = 1000, prefix: str = "") -> list[Row]:
    """``name``'s grades of pairs in order, ten to a query; ``prefix`` makes them other pairs."""
    return [
        (name, f"{prefix}q{place // 10}", f"{prefix}d{place}", grade, seconds, characters)
        for place, grade in enumerate(grades)
    ]


MIXED = [0, 1, 2, 3, 1, 0, 2, 3] * 10


def test_ordinary_grades_are_not_suspicious() -> None:
    assert suspicious(graded([*by("ana", MIXED), *by("bia", MIXED)])) == []
    assert suspicious(graded([])) == []


def test_one_grade_only() -> None:
    found = suspicious(graded([*by("ana", [2] * 40), *by("bia", MIXED)]))
    assert found == [Finding("ana", "one_grade", 1.0, 0.95, 40, 2)]
    assert found[0].text == "100% of 40 grades are 2 (threshold 95%)"
    # 38 of 40 are 95 %, 37 are not.
    assert [f.figure for f in suspicious(graded([*by("ana", [2, 2, 0, 2] + [2] * 35 + [1]), *by("bia", MIXED)]))] == [
        0.95
    ]
    assert suspicious(graded([*by("ana", [2, 0] * 2 + [2] * 16 + [1] + [2] * 19), *by("bia", MIXED)])) == []


def test_nothing_is_said_of_few_grades() -> None:
    few, enough = [2] * (LEAST - 1), [2] * LEAST
    assert suspicious(graded(by("ana", few, seconds=0.1))) == []
    assert [f.pattern for f in suspicious(graded(by("ana", enough, seconds=0.1)))] == ["one_grade", "too_fast"]


def test_a_pool_that_has_one_grade_for_all_accuses_nobody() -> None:
    mostly_0 = ([0] * 9 + [1]) * 10
    assert suspicious(graded([*by("ana", [0] * 60), *by("bia", mostly_0)])) == []
    assert [f.labeler_id for f in suspicious(graded([*by("ana", [0] * 60), *by("bia", MIXED)]))] == ["ana"]


def test_the_time_that_reading_takes() -> None:
    """100 characters a second, of 600 at most, and a second at least."""
    assert least_seconds(np.array([0, 50, 250, 600, 100_000])).tolist() == [1, 1, 2.5, 6, 6]


def test_too_fast_to_have_read() -> None:
    found = suspicious(graded(by("ana", MIXED, seconds=2.9, characters=300)))
    assert found == [Finding("ana", "too_fast", 2.9, 3.0, 80)]
    assert found[0].text == "2.9 s of active time per grade (median of 80); reading takes 3.0 s at least"
    assert suspicious(graded(by("ana", MIXED, seconds=3.0, characters=300))) == []
    # Passages of 300 and of 5,000 characters need 3 and 6 s: the median need is 6.
    rows = by("ana", MIXED, 5, 300)[:39] + by("ana", MIXED, 5, 5000)[39:]
    assert [f.threshold for f in suspicious(graded(rows))] == [6.0]


def test_unknown_times_count_as_no_time() -> None:
    unknown = by("ana", MIXED, seconds=float("nan"))
    assert suspicious(graded(unknown)) == []
    few = by("ana", MIXED[: LEAST - 1], seconds=0.5, prefix="x")
    assert suspicious(graded([*unknown, *few])) == []


def test_a_long_run_of_one_grade_through_several_queries() -> None:
    """30 times 1 from the 41st grade on, in queries 4, 5 and 6; MIXED gives 1 a quarter of the time."""
    found = suspicious(graded(by("ana", MIXED[:40] + [1] * 30 + [0, 2, 3, 2, 3, 0] * 10)))
    assert found == [Finding("ana", "long_run", 30, LONG_RUN, 130, 1)]
    assert found[0].text == "30 times 1 in a row, in 130 grades (threshold 25)"


def test_a_run_within_one_or_two_queries_is_none() -> None:
    rows = by("ana", MIXED[:40] + [1] * 30 + [0, 2, 3, 2, 3, 0] * 10)
    one_query = [(name, "q", *rest) for name, _, *rest in rows]
    assert suspicious(graded(one_query)) == []  # type: ignore[arg-type]


def test_a_run_that_chance_explains_is_none() -> None:
    """With 90 % zeros of 300, runs of 1 + 300 * 0.1 = 31 places: ln(0.001 / 31) / ln(0.9) = 98.2, so 99."""
    rare = ([0] * 9 + [1]) * 20
    assert suspicious(graded(by("ana", rare + [1] * 10 + [0] * 90))) == []
    assert quality_control._run_by_chance(300, 0.9) == 99
    assert quality_control._run_by_chance(300, 1.0) == 301
    found = suspicious(graded(by("ana", ([0] * 4 + [1]) * 40 + [0] * 98)))
    assert [(f.pattern, f.figure) for f in found] == [("long_run", 98.0)]


def test_far_from_all_others() -> None:
    """Three who agree but for one grade in ten, and one who is always 2 away: far."""
    rows = [*by("ana", [0, 1] * 20), *by("bia", [0, 1] * 20), *by("caio", [0, 1] * 20), *by("davi", [2, 3] * 20)]
    found = suspicious(graded(rows))
    # davi: 120 comparisons at 2.0; the others among themselves 0, so the threshold is 0.25.
    assert found == [Finding("davi", "disagreement", 2.0, 0.25, 120)]
    assert found[0].text == "2.00 grades away from others on average (120 comparisons) (threshold 0.25)"


def test_disagreement_by_hand_with_partial_overlap() -> None:
    """ana and bia share 40 pairs, half of them 1 apart: 0.5. caio shares 40 other pairs with ana, all 2 apart,
    and none with bia. caio: 2.0 against 0.5 of the others, threshold max(0.75, 0.75). ana: (20 + 80) / 80 =
    1.25, and the others share nothing, so nothing is said."""
    rows = [
        *by("ana", [0, 1] * 20), *by("bia", [1, 1] * 20),
        *by("ana", [0] * 20 + [1] * 20, prefix="x"), *by("caio", [2] * 20 + [3] * 20, prefix="x"),
    ]  # fmt: skip
    assert [f for f in suspicious(graded(rows)) if f.pattern == "disagreement"] == [
        Finding("caio", "disagreement", 2.0, 0.75, 40)
    ]


def test_one_passage_under_two_queries_is_two_pairs() -> None:
    """All three agree on every pair, and grade a passage 0 under one query and 3 under the other."""
    rows = [
        (name, query, f"d{place}", grade, 20.0, 1000)
        for name in ("ana", "bia", "caio")
        for place in range(20)
        for query, grade in (("q1", 0), ("q2", 3))
    ]
    extra = [("davi", "q2", f"d{place}", 3, 20.0, 1000) for place in range(20)]
    assert [f for f in suspicious(graded([*rows, *extra])) if f.pattern == "disagreement"] == []
    off = [("davi", "q1", f"d{place}", 2 + place % 2, 20.0, 1000) for place in range(20)]
    assert suspicious(graded([*rows, *off])) == [Finding("davi", "disagreement", 2.5, 0.25, 60)]


def test_of_two_nobody_knows_who_is_off() -> None:
    assert suspicious(graded([*by("ana", [0, 1] * 20), *by("bia", [3, 2] * 20)])) == []


def test_rows_of_persons_mixed_in_time_say_the_same() -> None:
    rows = [*by("ana", [0, 1] * 20), *by("bia", [0, 1] * 20), *by("caio", [0] * 40, 1), *by("davi", [2, 3] * 20)]
    mixed = sorted(rows, key=lambda row: int(row[2].strip("d")))
    assert suspicious(graded(mixed)) == suspicious(graded(rows)) != []


@pytest.mark.parametrize("number", ["01", "02"])
def test_the_papers_assessors_are_not_suspicious(number: str) -> None:
    path = shared(f"quati/annotator_{number}_240_annotations_with_questions.tsv")
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    rows: list[Row] = [("ana", line[1], line[3], int(line[5]), float("nan"), len(line[2])) for line in lines]
    assert len(rows) == 240
    assert suspicious(graded(rows)) == []


# ---- gold pairs


@pytest.mark.parametrize(
    ("labels", "equal", "distance", "pattern"),
    [
        (4, 0.0, 3.0, None),
        (5, 0.6, 1.0, None),
        (5, 0.4, 0.6, "gold_equal"),
        (5, 0.6, 1.2, "gold_distance"),
        (5, 0.0, 2.0, "gold_equal"),
    ],
)
def test_poor_answers_to_gold_pairs(labels: int, equal: float, distance: float, pattern: str | None) -> None:
    found = poor_gold("ana", labels, equal, distance)
    assert (None if found is None else found.pattern) == pattern


def test_a_finding_about_gold_pairs_names_its_threshold() -> None:
    said = [str(found and found.text) for found in (poor_gold("ana", 5, 0.4, 0.6), poor_gold("ana", 5, 0.6, 1.2))]
    assert said == [
        "40% of 5 gold pairs graded as known (threshold 60%)",
        "1.20 grades away from the known ones on average, over 5 gold pairs (threshold 1.00)",
    ]
