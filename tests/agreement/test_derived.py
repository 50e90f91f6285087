"""Panels among the labelers: what rests on independent labelers alone, by hand and against krippendorff."""

from __future__ import annotations

from dataclasses import replace

import krippendorff
import numpy as np
import pytest

from quati_pool.agreement.disagreement import hardest_queries
from quati_pool.agreement.overall import basis, overall
from quati_pool.agreement.pairwise import pairwise
from quati_pool.agreement.paper_tables import query_layout
from quati_pool.agreement.ratings import Ratings
from tests.agreement.rated import columns, qrels, random_ratings

GRADES = {"q1": {"lexical": "0101", "local": "0110", "both": "01--"}}
"""``both`` has a grade where the two agree, as a majority of two has."""
BOTH = {"both": frozenset({"lexical", "local"})}


def with_members(ratings: Ratings, **members: set[str]) -> Ratings:
    derived = {name: frozenset(theirs) for name, theirs in members.items()}
    return replace(ratings, members=derived, people=ratings.people.difference(derived))


def test_a_panel_is_no_third_labeler() -> None:
    # Two labelers: units 00, 11, 01, 10 give o00 = o11 = 2 and o01 = o10 = 2, n = 8. Observed 4/8; expected
    # 1 - (4·3 + 4·3)/(8·7) = 4/7; α = 1 - (1/2)/(4/7) = 1/8. With the panel the first two units would be 000 and
    # 111: o00 = o11 = 3, n = 10, observed 4/10, expected 1 - 40/90 = 5/9, α = 0.28.
    among = columns(GRADES)
    assert overall(among, draws=0).values["alpha_nominal"] == pytest.approx(0.28)
    found = overall(replace(among, members=BOTH), draws=0)
    assert found.values["alpha_nominal"] == pytest.approx(1 / 8)
    assert (found.labelers, found.left_out, found.graded) == (("lexical", "local"), ("both",), 4)
    assert (
        basis(found.labelers, found.left_out)
        == "over lexical and local; both is computed from others' grades and left out"
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_rest_is_as_if_the_panel_were_not_there(seed: int) -> None:
    """All six coefficients, their intervals and counts; pairs that only the panel graded are none."""
    whole = random_ratings(seed, labelers=4)
    without = whole.only(["L1", "L2", "L3"])
    found, expected = overall(with_members(whole, L4={"L1", "L2"}), 50, 7), overall(without, 50, 7)
    assert (found.values, found.intervals, found.n, found.graded) == (
        expected.values, expected.intervals, expected.n, expected.graded,
    )  # fmt: skip
    grades = np.where(whole.grade[:3] >= 0, whole.grade[:3], np.nan)
    oracle = krippendorff.alpha(reliability_data=grades, level_of_measurement="ordinal")
    assert found.values["alpha_ordinal"] == pytest.approx(oracle, abs=1e-12)
    assert found.values["alpha_ordinal"] != pytest.approx(overall(whole, 0).values["alpha_ordinal"], abs=1e-6)


@pytest.mark.parametrize("labelers", [["lexical", "both"], ["both"]])
def test_fewer_than_two_independent_labelers_have_no_coefficient(labelers: list[str]) -> None:
    found = overall(replace(columns(GRADES), members=BOTH).only(labelers))
    assert set(found.values.values()) == {None}
    over = "lexical" if "lexical" in labelers else "nobody"
    reason = f"there are no two independent labelers (over {over}; both is computed from others' grades and left out)"
    assert {found.undefined[name] for name in found.values} == {reason}


def test_pairs_that_share_members_say_which() -> None:
    # L4 is a panel of L1 and L2, L5 one of L4 and L3, so of all three; L6 is one of L3 and somebody not compared.
    ratings = with_members(
        random_ratings(0, labelers=6), L4={"L1", "L2"}, L5={"L1", "L2", "L3"}, L6={"L3", "elsewhere"}
    )
    shared = {(pair.a, pair.b): pair.shared_members for pair in pairwise(ratings, 0) if pair.shared_members}
    assert shared == {
        ("L1", "L4"): ("L1",), ("L2", "L4"): ("L2",),
        ("L1", "L5"): ("L1",), ("L2", "L5"): ("L2",), ("L3", "L5"): ("L3",), ("L4", "L5"): ("L1", "L2"),
        ("L3", "L6"): ("L3",), ("L5", "L6"): ("L3",),
    }  # fmt: skip


def test_no_mean_over_pairs_holds_a_panel_with_its_own_member() -> None:
    """L1 and L2 are people, L4 their panel; L3 is a judge."""
    whole = random_ratings(1, labelers=4)
    with_panel, without = with_members(whole, L4={"L1", "L2"}), whole.only(["L1", "L2", "L3"])
    found, expected = query_layout(with_panel), query_layout(without)
    assert found.judges == expected.judges == ("L3",)
    np.testing.assert_array_equal(found.judge_mean, expected.judge_mean)
    assert [hard for hard in hardest_queries(with_panel) if hard.judge != "L4"] == hardest_queries(without)
    assert "L4" not in {hard.judge for hard in hardest_queries(with_panel)}


def test_a_derived_labeler_is_no_person() -> None:
    grades = {"ana": {("q", "d"): 1}, "adjudicated": {("q", "d"): 2}}
    rows = {name: qrels(theirs) for name, theirs in grades.items()}
    found = Ratings.join(rows, (0, 1, 2, 3), ["ana", "adjudicated"], {"adjudicated": frozenset({"ana"})})
    assert (found.people, found.independent) == (frozenset({"ana"}), ("ana",))
