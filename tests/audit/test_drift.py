"""Anchors are drawn without a look at the judge's grades, and a check's power is what it should be."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from scipy.stats import binom

from quati_pool.audit.drift import ALPHA, UNGRADED, Anchor, AnchorGrades, Drift, draw_order, power, servers

FOUR = [0, 1, 2, 3]


def test_every_grade_of_people_comes_once_before_any_comes_twice() -> None:
    people = [0] * 50 + [1] * 20 + [2] * 10 + [3] * 3
    query_ids, doc_ids = [f"q{place % 9}" for place in range(83)], [f"d{place}" for place in range(83)]
    order = draw_order(query_ids, doc_ids, people, 3)
    assert sorted(order) == list(range(83))
    drawn = [people[place] for place in order]
    assert all(sorted(drawn[start : start + 4]) == FOUR for start in (0, 4, 8))
    assert Counter(drawn[12:33]) == {0: 7, 1: 7, 2: 7}
    # Not by place, and otherwise with another seed; the order of the rows does not matter.
    assert order != draw_order(query_ids, doc_ids, people, 4)
    back = draw_order(query_ids[::-1], doc_ids[::-1], people[::-1], 3)
    assert [82 - place for place in back] == order


@pytest.mark.parametrize(("n", "found"), [(50, 0.38), (100, 0.94)])
def test_one_grade_more_on_a_tenth_is_found_as_by_the_sign_test(n: int, found: float) -> None:
    """Without noise every difference is upwards, and m of them have p = 2 / 2ᵐ. At 0.05 six are needed, so that the
    power is P(X ≥ 6), X binomial with n and 0.1: 0.384 of 50 anchors and 0.942 of 100."""
    by_hand = float(binom.sf(5, n, 0.1))
    assert by_hand == pytest.approx(found, abs=0.005)
    # No grade is the highest, so that each can rise.
    none_at_the_top = np.arange(n) % 3
    found_here = power(none_at_the_top, FOUR, 0.1, alpha=0.05, simulations=1_000)
    assert found_here == pytest.approx(by_hand, abs=0.05)
    # At 0.01 eight are needed.
    at_one_percent = float(binom.sf(7, n, 0.1))
    assert power(none_at_the_top, FOUR, 0.1, alpha=0.01) == pytest.approx(at_one_percent, abs=0.07)


def test_two_grades_are_as_by_mcnemar() -> None:
    # A single pair of grades: no difference between the statistics, and none at the top.
    found = power(np.zeros(100, dtype=np.int64), [0, 1], 0.1, alpha=0.05, simulations=2_000)
    assert found == pytest.approx(float(binom.sf(5, 100, 0.1)), abs=0.02)


def test_grades_at_the_top_cannot_rise() -> None:
    assert power(np.full(100, 3), FOUR, 0.5) == 0
    spread, low = power(np.arange(100) % 4, FOUR, 0.1), power(np.zeros(100, dtype=np.int64), FOUR, 0.1)
    assert spread < low


def test_noise_costs_power_and_raises_no_alarm_by_itself() -> None:
    grades = np.arange(100) % 4
    by_noise = [power(grades, FOUR, 0.2, noise) for noise in (0.0, 0.1, 0.3)]
    assert by_noise[0] > by_noise[1] + 0.05 > by_noise[2] + 0.1
    assert power(grades, FOUR, 0.0, 0.3) <= ALPHA + 3 * (ALPHA / 500) ** 0.5


def checked(changes: list[tuple[int, int]], **settings: object) -> Drift:
    anchors = [Anchor(f"q{place}", "d", f"sha{place}", 1, then) for place, (then, _) in enumerate(changes)]
    pairs = [AnchorGrades(f"q{place}", "d", 1, *change) for place, change in enumerate(changes)]
    return Drift(anchors, FOUR, 0, 1, pairs, **settings)  # type: ignore[arg-type]


def test_what_a_check_says() -> None:
    same = checked([(place % 4, place % 4) for place in range(40)])
    assert (same.verdict, same.up, same.down, same.test.p) == ("not moved", 0, 0, 1)
    assert same.shift == (0, 0, 0, 40)
    # Eight of forty up: p = 2 / 2⁸ = 0.0078; seven: 0.0156.
    for risen, verdict in ((8, "moved"), (7, "not moved")):
        found = checked([(1, 2 if place < risen else 1) for place in range(40)])
        assert (found.verdict, found.up, found.down) == (verdict, risen, 0)
        assert found.test.p == pytest.approx(2 / 2**risen)
        assert found.shift is not None
        assert found.shift.value == pytest.approx(risen / 40)
    # Eight of one grade up and eight of another down.
    both = checked([(1, 2)] * 8 + [(2, 1)] * 8 + [(0, 0)] * 10)
    assert (both.verdict, both.up, both.down) == ("not moved", 8, 8)


def test_too_many_anchors_without_a_grade_alarm() -> None:
    same = [(place % 4, place % 4) for place in range(95)]
    # 5 of 100 are 5 %, and 6 of 101 more.
    assert [checked(same, lost=lost).verdict for lost in (5, 6)] == ["not moved", "not cleared"]
    assert [checked(same, lost=lost).alarms for lost in (5, 6)] == [False, True]
    assert (checked([], lost=3).verdict, checked([]).verdict) == ("not cleared", "not checked")
    # Grades that moved are said to have, whatever is missing.
    assert checked([(1, 2)] * 8, lost=30).verdict == "moved"
    assert UNGRADED == 0.05
    # The chance of a judge that fails to answer 2 % at random, of which the documentation speaks.
    assert float(binom.sf(5, 100, 0.02)) == pytest.approx(0.0155, abs=0.0005)


def test_the_interval_ends_where_the_scale_does() -> None:
    # The mean of −3 and −1 is −2, and 12.71 · √2 / √2 = 12.71 on either side of it: −14.71 to 10.71.
    shift = checked([(3, 0), (1, 0)]).shift
    assert shift == (-2, -3, 3, 2)


def test_before_a_check_nothing_is_known_but_its_power() -> None:
    fixed = Drift([Anchor(f"q{place}", "d", f"sha{place}", 1, 1) for place in range(100)], FOUR, 0)
    assert (fixed.verdict, fixed.shift, fixed.server_changed) == ("not checked", None, False)
    assert fixed.power == pytest.approx(float(binom.sf(7, 100, 0.1)), abs=0.06)
    # At 11 % eight or more of 100 rise with a probability of 0.88, at 10 % with 0.79.
    assert fixed.smallest in (0.1, 0.11)
    assert Drift(fixed.anchors[:5], FOUR, 0).smallest is None


def test_who_answered_is_counted_by_model_and_fingerprint() -> None:
    start = datetime(2026, 11, 1, tzinfo=UTC)
    days = [start + timedelta(days=day) for day in range(4)]
    answers = [("m", "a", days[2]), ("m", "b", days[1]), ("m", "a", days[0]), ("m", None, days[3])]
    assert servers(answers) == [
        ("m", "b", 1, days[1], days[1]), ("m", "a", 2, days[0], days[2]), ("m", None, 1, days[3], days[3]),
    ]  # fmt: skip
    then, now = servers(answers[:1]), servers(answers[1:2])
    assert checked([(0, 0)], servers_then=then, servers_now=now).server_changed
    assert not checked([(0, 0)], servers_then=then, servers_now=then).server_changed
    # What a server does not report is not known to have changed.
    assert not checked([(0, 0)], servers_then=then).server_changed


def test_an_anchor_is_read_as_it_was_written() -> None:
    anchor = Anchor("q", "d", "sha", 2, 1, "m", None, datetime(2026, 11, 1, 12, 30, tzinfo=UTC))
    assert Anchor.from_json(anchor.as_json()) == anchor
    program = Anchor("q", "d", "sha", 2, 1)
    assert Anchor.from_json(program.as_json()) == program
