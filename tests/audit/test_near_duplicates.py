"""Near-duplicates that are graded apart: counted by hand, and by a separate computation."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.audit.near_duplicates import DuplicatePair, NearDuplicates, near_duplicates_apart
from quati_pool.audit.outcomes import Scale
from quati_pool.stats.shares import clustered_share

SCALE = Scale(0, 2)
GRADES = st.integers(0, 3)
PEOPLE = st.none() | GRADES


def pair(
    query_id: str, docs: str, grades: tuple[int, int], people: tuple[int | None, int | None] = (None, None)
) -> DuplicatePair:
    return DuplicatePair(query_id, docs[0], grades[0], docs[1], grades[1], 0.9, *people)


def test_shares_and_what_people_should_look_at_first_by_hand() -> None:
    settled = pair("q1", "ab", (0, 3), (0, 1))
    narrow, across, wide = pair("q1", "ac", (0, 1)), pair("q2", "ab", (1, 2)), pair("q3", "ab", (3, 1), (None, 3))
    wide_below = pair("q3", "cd", (2, 0), (2, None))
    equal, agreed = pair("q2", "cd", (2, 2)), pair("q4", "ab", (2, 2), (3, 3))
    found = near_duplicates_apart([settled, narrow, across, wide, equal, wide_below, agreed], SCALE)
    # 5 of 7 differ; 0–3, 1–2, 3–1 and 2–0 are on both sides of 2.
    assert (found.judge.share.hits, found.judge.share.n, found.judge.across) == (5, 7, 4)
    assert found.there is not None
    assert found.people is not None
    # People graded both of two pairs: 0 and 1, and 3 twice; neither is on both sides of 2.
    assert (found.there.share.hits, found.there.share.n, found.there.across) == (1, 2, 1)
    assert (found.people.share.hits, found.people.share.n, found.people.across) == (1, 2, 0)
    # Gaps of 2, then 1 (the one across first), and last what people settled, wide as it is.
    assert found.apart == (wide, wide_below, across, narrow, settled)


def test_without_pairs_and_without_people_there_is_nothing() -> None:
    assert near_duplicates_apart([], SCALE).judge.share.share is None
    found = near_duplicates_apart([pair("q1", "ab", (1, 1), (1, None))], SCALE)
    assert (found.there, found.people, found.apart) == (None, None, ())
    # A single query says nothing of others.
    assert (found.judge.share.low, found.judge.share.high) == (0.0, 1.0)


@given(st.lists(st.tuples(st.integers(0, 4), GRADES, GRADES, PEOPLE, PEOPLE), max_size=30))
def test_any_pairs(rows: list[tuple[int, int, int, int | None, int | None]]) -> None:
    pairs = [
        DuplicatePair(f"q{query}", f"a{place}", one, f"b{place}", two, 1 - place / 100, *people)
        for place, (query, one, two, *people) in enumerate(rows)
    ]
    found = near_duplicates_apart(pairs, SCALE)
    apart = np.array([one != two for _, one, two, *_ in rows], dtype=bool)
    expected = clustered_share(apart, np.array([query for query, *_ in rows], dtype=int))
    assert astuple(found.judge.share) == pytest.approx(astuple(expected))
    assert found.judge.across == sum((one < 2) != (two < 2) for _, one, two, *_ in rows)
    both = [(a, b) for *_, a, b in rows if a is not None and b is not None]
    if both:
        assert found.people is not None
        assert found.there is not None
        assert (found.people.share.hits, found.people.share.n) == (sum(a != b for a, b in both), len(both))
        assert found.there.share.n == len(both)
    else:
        assert (found.people, found.there) == (None, None)
    assert sorted(found.apart) == sorted(one for one in pairs if one.grade != one.other_grade)
    assert order(found) == sorted(order(found))


def order(found: NearDuplicates) -> list[tuple[bool, int, bool, int]]:
    """What should not fall along the list: whether people graded both, the gap, which side of 2, the place."""
    return [
        (
            one.people is not None and one.other_people is not None,
            -abs(one.grade - one.other_grade),
            (one.grade < 2) == (one.other_grade < 2),
            int(one.doc_id[1:]),
        )
        for one in found.apart
    ]


@pytest.mark.parametrize("rate", [0.05, 0.3])
def test_a_planted_rate_is_in_95_of_100_intervals_where_duplicates_come_in_groups(rate: float) -> None:
    """Of 40 queries each has a group of 4 passages, 6 pairs: one passage of a group is graded apart from the others, so
    that 3 of its pairs are, in a planted share of groups. 2,000 audits."""
    random = np.random.default_rng(14)
    queries = np.repeat(np.arange(40), 6)
    covered = 0
    for hit in random.random((2000, 40)) < 2 * rate:
        share = clustered_share(np.repeat(hit, 6) & np.tile([True] * 3 + [False] * 3, 40), queries)
        covered += share.low <= rate <= share.high
    # The binomial standard error of the coverage is 0.5 %.
    assert covered / 2000 >= 0.93
