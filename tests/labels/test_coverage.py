"""Every pair of the pool is counted once, in one state; qrels wait for those that still need a grade."""

from __future__ import annotations

from quati_pool.labels.base import Graded
from quati_pool.labels.coverage import LabelCoverage
from quati_pool.records import State


def counted(*graded: Graded, named: int | None = 10) -> LabelCoverage:
    coverage = LabelCoverage(named)
    for one in graded:
        coverage.add(one)
    return coverage


OK = Graded("q", "d1", State.ok, 2)
TIED = Graded("q", "d2", State.unsure, None, (1, 3), tied=True)
CANNOT = Graded("q", "d3", State.unsure, None)
ASKED = Graded("q", "d4", None, None)
ELSEWHERE = Graded("q", "d5", None, None, given=False)
TAKEN_BACK = Graded("q", "d6", State.retracted, None, given=False)


def test_a_tie_is_no_state_of_a_label_and_needs_a_grade() -> None:
    assert [one.state_name for one in (OK, TIED, CANNOT, ASKED, ELSEWHERE, TAKEN_BACK)] == [
        "ok", "tied", "unsure", "never asked", "not given", "not given",
    ]  # fmt: skip
    found = counted(OK, TIED, CANNOT, ASKED, ELSEWHERE, TAKEN_BACK)
    assert found.states == {State.ok: 1, State.unsure: 1}
    assert found.lacks == {"unsure": 1, "tied": 1, "never asked": 1, "not given": 2}
    assert found.pairs == 6 == found.grades.total() + sum(found.lacks.values())
    # The tie and the pair that waits; "cannot judge" is an answer, and what nobody was given is not missing.
    assert found.pending == 2
    assert found.lacking == [TIED, ASKED]


def test_only_what_was_given_and_graded_in_full_is_complete() -> None:
    assert counted(OK, CANNOT).complete
    assert not counted(OK, ELSEWHERE).complete
    assert not counted(OK, TIED).complete


def test_the_grades_behind_ties_count_in_how_far_they_agree() -> None:
    # 2 and 2 agree; 1 and 3 are 2 apart, without a majority.
    found = counted(Graded("q", "d1", State.ok, 2, (2, 2)), TIED)
    assert (found.unanimous, found.mean_range) == (0.5, 1.0)
