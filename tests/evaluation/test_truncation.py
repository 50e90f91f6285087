"""What runs are like, and which measures suffer from lists that were cut."""

from __future__ import annotations

import numpy as np
import pytest

from quati_pool.evaluation.judged_runs import Judgements
from quati_pool.evaluation.run_facts import RunFacts, run_facts
from quati_pool.evaluation.truncation import Incomplete, Truncated, truncated
from quati_pool.records import Run
from tests.evaluation.small_qrels import qrels_of, run_of
from tests.random_runs import ranked

# q1 has three documents of grade 1, one of them of grade 2; q2 has one of grade 2.
GRADES = {("q1", "a"): 1, ("q1", "b"): 2, ("q1", "c"): 1, ("q1", "x"): 0, ("q2", "a"): 2, ("q2", "x"): 0}


def test_ties_are_counted_as_float32_within_a_query() -> None:
    # 1 + 1e-9 is 1 in float32. q1: three of its four rows share 1; q2: none, as its 1 is of another query.
    scored = {("q1", "a"): 1.0, ("q1", "b"): 1 + 1e-9, ("q1", "c"): 1.0, ("q1", "d"): 0.5, ("q2", "a"): 1.0}
    found = run_facts(ranked("s", scored))
    assert (found.rows, found.tied, found.tied_share, found.longest) == (5, 3, 0.6, 4)


def test_an_empty_run_has_no_share_of_ties() -> None:
    assert run_facts(Run.empty("s")) == RunFacts(rows=0, tied=0, longest=0, cut=False)
    assert run_facts(Run.empty("s")).tied_share is None


@pytest.mark.parametrize(
    ("rankings", "cut"),
    [
        ({"q1": "abc", "q2": "bcd"}, True),
        # One query alone reaches the depth: the others found no more.
        ({"q1": "abc", "q2": "bd"}, False),
        # All three documents there are, for every query.
        ({"q1": "abc", "q2": "cab"}, False),
        # One query: nothing says that it was not cut.
        ({"q1": "abc"}, True),
    ],
)
def test_lists_of_one_length_are_cut_unless_they_hold_every_document(rankings: dict[str, str], cut: bool) -> None:
    assert run_facts(run_of("s", **rankings)).cut is cut


def truncations(facts: dict[str, RunFacts], *measures: str) -> tuple[Truncated, ...]:
    judged = Judgements(qrels_of(GRADES))
    return truncated(facts, measures, judged, judged.query_ids)


def cut_at(depth: int) -> RunFacts:
    return RunFacts(10 * depth, 0, depth, True)


def test_measures_that_look_deeper_than_a_run_are_named() -> None:
    measures = ("nDCG@10", "AP", "R@1000", "RR(rel=2)", "P@100", "RBP(rel=1)", "Judged@20")
    found = truncations({"shallow": cut_at(10), "deep": cut_at(1000), "other": cut_at(10)}, *measures)
    assert found == (Truncated(("shallow", "other"), 10, ("AP", "R@1000", "RR(rel=2)", "P@100", "Judged@20"), ()),)
    assert truncations({"uncut": RunFacts(9, 0, 5, False)}, *measures) == ()


def test_queries_with_more_relevant_documents_than_a_run_holds_are_counted() -> None:
    found = truncations({"s": cut_at(2)}, "AP", "AP(rel=2)", "R@2", "R@1", "Rprec")
    # Three relevant documents of q1 in two rows; one of grade 2. R@1 is as shallow as it was asked to be.
    short = tuple(Incomplete(name, 1, 3) for name in ("AP", "R@2", "Rprec"))
    assert found == (Truncated(("s",), 2, ("AP", "AP(rel=2)"), short),)
    judged = Judgements(qrels_of(GRADES))
    assert truncated({"s": cut_at(2)}, ["R@2"], judged, ["q2"]) == ()


def test_facts_hold_for_many_rows_as_row_by_row() -> None:
    chance = np.random.default_rng(3)
    scored = {(f"q{q}", f"d{d}"): float(chance.integers(4)) for q in range(20) for d in range(chance.integers(1, 9))}
    tied = sum(
        any(other != (query, doc) and other[0] == query and value == score for other, value in scored.items())
        for (query, doc), score in scored.items()
    )
    assert run_facts(ranked("s", scored)).tied == tied > 20
