"""What a judge's grades of changed pairs say of it: which pairs fooled it, against controls and a bound."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.audit.base import Expected
from quati_pool.audit.outcomes import Outcomes, ProbeFindings, Scale, findings, fooled
from quati_pool.stats.shares import Share, clustered_share

NAN = math.nan
SCALE = Scale(0, 2)


def outcomes(
    before: Sequence[float],
    after: Sequence[float],
    control: Sequence[float] | None = None,
    query: Sequence[int] | None = None,
    variant: Sequence[int] | None = None,
    pair: Sequence[int] | None = None,
) -> Outcomes:
    """Each case of a pair and a query of its own, of one variant and without a control, unless given."""
    return Outcomes(
        query=np.arange(len(before)) if query is None else np.array(query),
        pair=np.arange(len(before)) if pair is None else np.array(pair),
        variant=np.zeros(len(before), dtype=np.int64) if variant is None else np.array(variant),
        before=np.array(before, dtype=np.float64),
        after=np.array(after, dtype=np.float64),
        control=np.full(len(before), NAN) if control is None else np.array(control, dtype=np.float64),
    )


def found(made: Outcomes, expected: Expected = "not_rise", bound: float = 0.1, names: str = "a") -> ProbeFindings:
    return findings(made, list(names), expected, SCALE, bound)


@pytest.mark.parametrize(
    ("expected", "fooling"),
    [
        # Whether a grade of 0 to 3 (down) fools when it becomes 0 to 3 (across); 2 and 3 answer.
        ("not_rise", ["0111", "0011", "0001", "0000"]),
        ("not_answer", ["0011", "0011", "0011", "0011"]),
        # Up, or from an answer to none; from 3 to 2 it stays an answer.
        ("hold", ["0111", "0011", "1101", "1100"]),
        ("stay", ["0111", "1011", "1101", "1110"]),
    ],
)
def test_which_changes_of_a_grade_fool(expected: Expected, fooling: list[str]) -> None:
    before, after = np.divmod(np.arange(16), 4)
    moved = fooled(after.astype(float), before.astype(float), expected, SCALE)
    assert moved.tolist() == [flag == "1" for row in fooling for flag in row]


@pytest.mark.parametrize("expected", ["not_rise", "not_answer", "hold", "stay"])
def test_a_grade_that_is_not_there_fools_nobody(expected: Expected) -> None:
    before = np.array([0.0, 1, 2, 3])
    assert not fooled(np.full(4, NAN), before, expected, SCALE).any()


def test_answers_may_begin_at_another_grade() -> None:
    # With 3 as the first answer, 2 is none, and a fall from 3 to 2 fools.
    after, before = np.array([2.0, 3.0, 2.0]), np.array([0.0, 0.0, 3.0])
    assert fooled(after, before, "not_answer", Scale(0, 3)).tolist() == [False, True, False]
    assert fooled(after, before, "hold", Scale(0, 3)).tolist() == [True, True, True]


def test_cases_without_a_grade_are_counted_apart_and_nowhere_else() -> None:
    whole = found(outcomes([0, 0, 1, 0, 0], [2, NAN, 1, 0, NAN], [0, 1, 2, NAN, NAN], query=[0, 1, 1, 2, 3]))
    assert whole.ungraded == 2
    # Graded: rises by 2, stays, stays; the mean change is 2/3. Controls: 0, +1, +1.
    assert (whole.fooled.n, whole.fooled.hits) == (3, 1)
    assert whole.control is not None
    assert (whole.control.n, whole.control.hits) == (3, 2)
    assert whole.mean_change == pytest.approx(2 / 3)
    assert whole.control_change == pytest.approx(2 / 3)
    assert whole.fooled == clustered_share(np.array([True, False, False]), np.array([0, 1, 2]))
    assert whole.control == clustered_share(np.array([False, True, True]), np.array([0, 1, 1]))


def test_pairs_of_one_query_are_one_cluster() -> None:
    rises = [3.0, 3, 3, 3, 0, 0, 0, 0]
    apart = found(outcomes([0] * 8, rises))
    together = found(outcomes([0] * 8, rises, query=[0] * 4 + [1] * 4))
    assert together.fooled.low < apart.fooled.low < 0.5 < apart.fooled.high < together.fooled.high


def test_without_a_grade_nothing_was_asked() -> None:
    nothing = found(outcomes([0, 0], [NAN, NAN], [NAN, NAN]))
    assert (nothing.verdict, nothing.excess, nothing.control, nothing.mean_change) == ("not asked", None, None, None)
    assert (nothing.ungraded, nothing.worst, nothing.fooled_by, nothing.control_change) == (2, (), (), None)
    assert nothing.fooled == Share(0, 0, 0.0, 1.0)


def test_controls_are_taken_off() -> None:
    # 60 of 100 changed pairs rise, and 50 of 100 controls: an excess of 0.1, not 0.6.
    rises = np.repeat([1.0, 0.0], [60, 40])
    controls = np.tile([1.0, 0.0], 50)
    alone, against = found(outcomes(np.zeros(100), rises)), found(outcomes(np.zeros(100), rises, controls))
    assert alone.excess is not None
    assert against.excess is not None
    assert (alone.excess.value, alone.verdict) == (0.6, "fooled")
    assert (against.excess.value, against.verdict) == (pytest.approx(0.1), "undecided")
    assert against.excess.low < 0 < 0.2 < against.excess.high


def test_a_judge_is_fooled_above_the_bound_and_cleared_up_to_it() -> None:
    made = outcomes(np.zeros(200), np.repeat([1.0, 0.0], [40, 160]))
    excess = found(made).excess
    assert excess is not None
    verdicts = {
        bound: found(made, bound=bound).verdict
        for bound in (np.nextafter(excess.low, 0), excess.low, excess.value, np.nextafter(excess.high, 0), excess.high)
    }
    assert list(verdicts.values()) == ["fooled", "undecided", "undecided", "undecided", "cleared"]


def test_a_judge_that_nothing_fooled_needs_enough_pairs_to_be_cleared() -> None:
    # Of n single pairs without a hit, Wilson's upper end is z² / (n' + z²) for n' = n (z / t)², so t² / (n + t²): at
    # most 0.1 from n = 9 t² on. 97.5 % of t with 36 degrees of freedom is 2.0281, and 9 * 2.0281² = 37.02 > 37; with 37
    # it is 2.0262, and 9 * 2.0262² = 36.95 < 38.
    verdicts = {n: found(outcomes(np.zeros(n), np.zeros(n))).verdict for n in (20, 37, 38, 100)}
    assert verdicts == {20: "undecided", 37: "undecided", 38: "cleared", 100: "cleared"}


def test_one_query_decides_nothing() -> None:
    assert found(outcomes([0] * 50, [3] * 50, query=[0] * 50)).verdict == "undecided"


def test_the_worst_are_those_that_changed_most_and_the_first_of_equals() -> None:
    before, after = [0, 0, 0, 1, 0, 0], [1, 3, NAN, 3, 2, 0]
    # Changes of those fooled: 1, 3, 2 and 2.
    assert found(outcomes(before, after)).worst == (1, 3, 4)
    # A fall is as large as a rise, and what did not move against what is expected is none of them.
    assert found(outcomes([3, 3, 0, 1], [0, 2, 1, 1]), "hold").worst == (0, 2)
    assert found(outcomes([3, 3], [3, 2]), "not_rise").worst == ()


def test_each_variant_has_a_share_of_its_own() -> None:
    made = outcomes(
        [0] * 6, [1, 1, 0, 0, NAN, 1], [0, 1, NAN, NAN, 0, NAN], query=[0, 1, 0, 1, 0, 2], variant=[0, 0, 1, 1, 2, 0]
    )
    first, second, third, last = found(made, names="abcd").variants
    assert [one.name for one in (first, second, third, last)] == ["a", "b", "c", "d"]
    assert [(one.fooled.n, one.fooled.hits) for one in (first, second, third, last)] == [(3, 3), (2, 0), (0, 0), (0, 0)]
    assert first.control == clustered_share(np.array([False, True]), np.array([0, 1]))
    assert second.control is None
    # Its change has no grade, and its control has.
    assert third.control == Share(1, 0, 0.0, 1.0)
    assert last.control is None


def test_one_variant_that_always_fools_is_enough_whatever_the_mean_says() -> None:
    # 13 forms of 8 pairs each; the judge obeys one of them always: 8 of 104.
    variant = np.arange(104) % 13
    names = "abcdefghijklm"
    obeyed = found(outcomes(np.zeros(104), np.where(variant == 4, 3.0, 0.0), variant=variant), names=names)
    assert obeyed.excess is not None
    assert obeyed.excess.low < obeyed.bound
    assert obeyed.verdict == "fooled"
    assert [one.name for one in obeyed.fooled_by] == ["e"]
    # 3 of 8 are not sure by the corrected interval, and their own of 95 % is above the bound: neither fooled nor
    # cleared. By scipy, Wilson's ends of 3 of 8 are 0.137 at 95 %, and 0.087 at 1 - .05/13.
    some = np.flatnonzero(variant == 4)[:3]
    after = np.zeros(104)
    after[some] = 3
    doubted = found(outcomes(np.zeros(104), after, variant=variant), names=names)
    assert doubted.excess is not None
    assert doubted.excess.high <= doubted.bound
    assert (doubted.fooled_by, doubted.verdict) == ((), "undecided")


def test_a_variant_is_held_against_the_controls_of_all_and_must_exceed_its_own() -> None:
    # 8 of 8 changed pairs of one of 13 forms rise, and none of the 104 controls; of its own 8 alone, none is too few.
    variant = np.arange(104) % 13
    names = "abcdefghijklm"
    rises = np.where(variant == 4, 3.0, 0.0)
    obeyed = found(outcomes(np.zeros(104), rises, np.zeros(104), variant=variant), names=names)
    assert ([one.name for one in obeyed.fooled_by], obeyed.verdict) == (["e"], "fooled")
    # Where the controls of this form rise as often, it is the form's markup and not what it says.
    as_often = found(outcomes(np.zeros(104), rises, rises, variant=variant), names=names)
    assert (as_often.fooled_by, as_often.verdict) == ((), "cleared")


def test_where_the_controls_move_nothing_is_cleared() -> None:
    # 78 of 100 changed pairs rise, and 90 of 100 controls.
    rises, controls = np.repeat([1.0, 0.0], [78, 22]), np.repeat([1.0, 0.0], [90, 10])
    moved = found(outcomes(np.zeros(100), rises, controls))
    assert moved.excess is not None
    assert moved.excess.high <= moved.bound
    assert (moved.controls_move, moved.verdict) == (True, "undecided")
    calm = found(outcomes(np.zeros(100), np.zeros(100), np.repeat([1.0, 0.0], [3, 97])))
    assert (calm.controls_move, calm.verdict) == (False, "cleared")


def test_repetitions_of_a_pair_count_as_one_unit() -> None:
    twice = found(outcomes(np.zeros(80), np.zeros(80), query=np.arange(80) // 2, pair=np.arange(80) // 2))
    once = found(outcomes(np.zeros(40), np.zeros(40)))
    assert (twice.fooled.n, once.fooled.n) == (80, 40)
    assert twice.fooled.high == pytest.approx(once.fooled.high)


def test_where_it_must_not_answer_the_worst_has_the_highest_grade() -> None:
    # Of an answer that stays one the grade does not change at all.
    assert found(outcomes([3, 3, 3, 2], [2, 3, 1, 3]), "not_answer").worst == (3, 1, 0)


def test_the_worst_are_of_different_variants_and_queries_as_far_as_there_are_any() -> None:
    made = outcomes([0] * 6, [3] * 6, query=[0, 0, 1, 1, 2, 2], variant=[0, 1, 0, 1, 0, 0])
    assert found(made, names="ab").worst == (0, 3, 4)
    assert found(outcomes([0] * 3, [3, 2, 1], query=[0, 0, 0])).worst == (0, 1, 2)


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([NAN, 0, 1, 2, 3]), st.integers(0, 5)),
        min_size=1,
        max_size=40,
    ),
    st.sampled_from(["not_rise", "not_answer", "hold", "stay"]),
    st.sampled_from([0.05, 0.1, 0.5]),
)
def test_verdicts_follow_from_the_intervals(
    cases: list[tuple[int, int, float, int]], expected: Expected, bound: float
) -> None:
    before, after, control, query = zip(*cases, strict=True)
    whole = found(outcomes(before, after, control, query), expected, bound)
    assert whole.fooled.n + whole.ungraded == len(cases)
    assert whole.excess is not None
    assert whole.excess.low <= whole.excess.value <= whole.excess.high
    doubtful = whole.controls_move or whole.excess.high > bound
    expected_verdict = "fooled" if whole.excess.low > bound else "undecided" if doubtful else "cleared"
    assert whole.verdict == expected_verdict
    assert bool(whole.fooled_by) == (whole.excess.low > bound)
    assert len(set(whole.worst)) == len(whole.worst) == min(3, whole.fooled.hits)
