"""Left-out systems and families: a small pool by hand, random ones against sets and pytrec_eval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import pytrec_eval
from hypothesis import assume, given
from hypothesis import strategies as st
from random_runs import AWKWARD, query_ids, ranked, ranks, runs
from scipy.stats import kendalltau

from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.evaluation.judged_runs import JudgedRuns
from quati_pool.evaluation.reusability import (
    Change,
    LeaveOut,
    Unjudged,
    hole_rates,
    leave_one_family_out,
    leave_one_system_out,
)
from quati_pool.records import Ids, Qrels, Run
from tests.evaluation.small_qrels import Grades, nested, qrels_of, run_of

RUNS = [run_of("A", q1="abd", q2="mnx"), run_of("B", q1="bca", q2="m"), run_of("C", q1="cd", q2="xy")]
"""At depth 2:      q1    q2
A (family X)       a b   m n
B (family X)       b c   m
C (alone)          c d   x y
Unique to A: a, n; to B: none; to C: d, x, y. To X: a, b, m, n.
"""
GRADES = {
    ("q1", "a"): 3,
    ("q1", "b"): 1,
    ("q1", "c"): 0,
    ("q1", "d"): 2,
    ("q2", "m"): 1,
    ("q2", "n"): 0,
    ("q2", "x"): 2,
    ("q2", "y"): 0,
}
DEPTHS = {"A": 2, "B": 2, "C": 2}
FAMILIES = {"A": "X", "B": "X"}


def by_run(found: LeaveOut) -> dict[str, tuple[str, int, int, int]]:
    return {
        one.run_tag: (one.left_out, one.unique_pairs, one.unique_relevant, one.emptied_queries) for one in found.systems
    }


def test_unique_pairs_by_hand() -> None:
    found = leave_one_system_out(JudgedRuns(RUNS, qrels_of(GRADES)), DEPTHS)
    assert (found.by, found.queries, found.judged_pairs) == ("system", 2, 8)
    assert by_run(found) == {"A": ("A", 2, 1, 0), "B": ("B", 0, 0, 0), "C": ("C", 3, 2, 0)}
    found = leave_one_family_out(JudgedRuns(RUNS, qrels_of(GRADES)), DEPTHS, FAMILIES)
    assert (found.by, found.queries, found.judged_pairs) == ("family", 2, 8)
    assert by_run(found) == {"A": ("X", 4, 3, 0), "B": ("X", 4, 3, 0), "C": ("C", 3, 2, 0)}


def test_means_ranks_and_stability_by_hand() -> None:
    # P@2 in full. q1: A a b 2/2, B b c 1/2, C c d 1/2. q2: A m n 1/2, B m 1/2, C x y 1/2.
    # Means A 0.75, B 0.5, C 0.5; ranks 1, 2, 2.
    # Without A's a, n: A q1 1/2, q2 1/2: 0.5, B and C as before: all rank 1.
    # Without C's d, x, y: C 0, 0; A and B as before: ranks A 1, B 2, C 3.
    found = leave_one_system_out(JudgedRuns(RUNS, qrels_of(GRADES)), DEPTHS, measures=["P@2"])
    changes = {one.run_tag: one.measures["P@2"] for one in found.systems}
    assert changes == {"A": Change(0.75, 0.5, 1, 1), "B": Change(0.5, 0.5, 2, 2), "C": Change(0.5, 0.0, 2, 3)}
    assert [change.difference for change in changes.values()] == [-0.25, 0, -0.5]
    assert [change.rank_change for change in changes.values()] == [0, 0, -1]
    stability = found.measures["P@2"]
    assert (stability.mean_change, stability.max_change) == (0.25, 0.5)
    # 0.75 0.5 0.5 against 0.5 0.5 0: AC concordant, AB tied after, BC tied before: 1 / √(2 · 2).
    assert (stability.tau, stability.undefined) == (0.5, None)


def test_a_family_is_measured_under_what_its_rivals_alone_judged() -> None:
    # Without a, b, m, n: A and B have nothing relevant in q1 and q2 (P@2); C d 1/2 and x 1/2.
    found = leave_one_family_out(JudgedRuns(RUNS, qrels_of(GRADES)), DEPTHS, FAMILIES, measures=["P@2"])
    changes = {one.run_tag: one.measures["P@2"] for one in found.systems}
    assert changes == {"A": Change(0.75, 0, 1, 2), "B": Change(0.5, 0, 2, 2), "C": Change(0.5, 0, 2, 3)}


def test_extra_pairs_and_pairs_nobody_fed_stay() -> None:
    grades = {**GRADES, ("q1", "w"): 3}
    extra = [("q1", "a"), ("q2", "x"), ("q9", "a"), ("q1", "nowhere"), ("q2", "a")]
    found = leave_one_system_out(JudgedRuns(RUNS, qrels_of(grades)), DEPTHS, extra)
    assert by_run(found) == {"A": ("A", 1, 0, 0), "B": ("B", 0, 0, 0), "C": ("C", 2, 1, 0)}


def test_a_system_that_did_not_feed_the_pool_takes_nothing_away() -> None:
    # Neither a depth of 0 nor none; A's a is then unique although "theirs" returns it first.
    many = [*RUNS, run_of("theirs", q1="az"), run_of("unknown", q2="nx")]
    found = leave_one_system_out(
        JudgedRuns(many, qrels_of(GRADES)), {**DEPTHS, "theirs": 0}, measures=["P@2", "nDCG@10"]
    )
    assert by_run(found)["theirs"] == ("theirs", 0, 0, 0)
    assert by_run(found)["A"] == ("A", 2, 1, 0)
    assert [one.depth for one in found.systems] == [2, 2, 2, 0, 0]
    assert all(change.difference == 0 for one in found.systems[3:] for change in one.measures.values())
    # The mean goes over the three that fed it: 0.25, 0, 0.5.
    assert found.measures["P@2"].mean_change == 0.25
    # Within a family that fed the pool it is measured as a stranger too: without a and n its a z and
    # nothing in q2 fall from 0.25, level with n x of "unknown", to 0.
    found = leave_one_family_out(
        JudgedRuns(many, qrels_of(GRADES)), DEPTHS, {"A": "X", "theirs": "X"}, measures=["P@2"]
    )
    assert by_run(found)["theirs"] == ("X", 2, 1, 0)
    assert found.systems[3].measures["P@2"] == Change(0.25, 0, 4, 5)


def test_a_query_that_loses_all_judgements_stays_and_counts_0() -> None:
    many = [run_of("A", q1="ab", q2="m"), run_of("B", q1="b", q2="x")]
    grades = {("q1", "b"): 1, ("q2", "m"): 2}
    for measures in (["P@1", "R@5"], ["P@1", "R@5", "Rprec"]):
        found = leave_one_system_out(JudgedRuns(many, qrels_of(grades)), {"A": 2, "B": 2}, measures=measures)
        assert by_run(found)["A"] == ("A", 1, 1, 1)
        # R of A: 1 and 1, then 1 and 0, over two queries still.
        assert found.systems[0].measures["R@5"] == Change(1, 0.5, 1, 1)
    assert found.systems[0].measures["Rprec"] == Change(0.5, 0, 1, 2)


def test_only_its_own_depth_makes_a_pair_its_own() -> None:
    # C reaches a at its rank 2, beyond its depth 1; B's depth 1 leaves c to C.
    many = [run_of("A", q="ab"), run_of("B", q="bc"), run_of("C", q="ca")]
    found = leave_one_system_out(
        JudgedRuns(many, qrels_of({("q", "a"): 1, ("q", "b"): 1, ("q", "c"): 1})), {"A": 2, "B": 1, "C": 1}
    )
    assert by_run(found) == {"A": ("A", 1, 1, 0), "B": ("B", 0, 0, 0), "C": ("C", 1, 1, 0)}


def test_undefined_says_why() -> None:
    qrels = qrels_of({("q", "a"): 1, ("q", "b"): 1})
    stability = leave_one_system_out(JudgedRuns([run_of("A", q="a")], qrels), {"A": 1}).measures["nDCG@10"]
    assert (stability.tau, stability.undefined) == (None, "fewer than two systems")
    same = [run_of("A", q="ab"), run_of("B", q="ab")]
    stability = leave_one_system_out(JudgedRuns(same, qrels), {}).measures["nDCG@10"]
    assert (stability.tau, stability.undefined) == (None, "all systems are tied before or after")
    assert (stability.mean_change, stability.max_change) == (None, None)


def test_bad_input_is_refused() -> None:
    qrels = qrels_of(GRADES)
    with pytest.raises(QuatiPoolError, match=r"D contributed to the pool, but its run is not given.*give its run too$"):
        leave_one_system_out(JudgedRuns(RUNS, qrels), {**DEPTHS, "D": 10})
    with pytest.raises(QuatiPoolError, match="two runs are called 'A'"):
        leave_one_system_out(JudgedRuns([RUNS[0], RUNS[0]], qrels), {})
    with pytest.raises(ConfigError, match="did you mean"):
        leave_one_system_out(JudgedRuns(RUNS, qrels), DEPTHS, measures=["nDGC@10"])
    with pytest.raises(QuatiPoolError, match="D: 0 of its 1 queries"):
        leave_one_system_out(JudgedRuns([*RUNS, run_of("D", q7="a")], qrels), DEPTHS)
    nothing = np.empty(0, dtype=np.int64)
    with pytest.raises(QuatiPoolError, match="no judgement"):
        leave_one_system_out(JudgedRuns(RUNS, Qrels(Ids([]), Ids([]), nothing, nothing, nothing)), DEPTHS)
    with pytest.raises(ConfigError, match="the cutoff is 0"):
        hole_rates(JudgedRuns(RUNS, qrels), [10, 0])


ORACLE = {
    "nDCG@10": ("ndcg_cut_10", 1),
    "nDCG@2": ("ndcg_cut_2", 1),
    "R(rel=2)@5": ("recall_5", 2),
    "P(rel=2)@5": ("P_5", 2),
    "RR(rel=2)": ("recip_rank", 2),
    "AP": ("map", 1),
    "Success@1": ("success_1", 1),
    "Rprec": ("Rprec", 1),
    "Bpref": ("bpref", 1),
}
"""The last two are not recounted but scored again."""


def by_pytrec_eval(scored: dict[str, dict[str, float]], grades: Grades, all_queries: Sequence[str]) -> dict[str, float]:
    """Means over ``all_queries`` of a run's measures; 0 for a query that the run or the qrels lack."""
    means = {}
    for name, (trec_name, rel) in ORACLE.items():
        found = pytrec_eval.RelevanceEvaluator(nested(grades), {trec_name}, rel).evaluate(scored) if grades else {}
        means[name] = sum(found.get(query_id, {}).get(trec_name, 0.0) for query_id in all_queries) / len(all_queries)
    return means


def as_dict(run: Run) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for row in run.to_frame().itertuples():
        found.setdefault(row.query_id, {})[row.doc_id] = float(row.score)
    return found


@given(
    runs(st.integers(1, 4)),
    st.dictionaries(st.tuples(query_ids, st.sampled_from(AWKWARD)), st.integers(0, 3), min_size=1, max_size=40),
    st.lists(st.integers(0, 4), min_size=4, max_size=4),
    st.sampled_from([{}, {"s0": "X", "s2": "X"}, {"s0": "X", "s1": "X", "s2": "Y"}]),
    st.lists(st.tuples(query_ids, st.sampled_from(AWKWARD)), max_size=3),
)
def test_equals_plain_reevaluation_by_pytrec_eval(
    many: Sequence[Run], grades: Grades, depth: list[int], families: dict[str, str], extra: list[tuple[str, str]]
) -> None:
    judged = list(dict.fromkeys(query_id for query_id, _ in grades))
    assume(all(not len(run) or set(as_dict(run)) & set(judged) for run in many))
    depths = {run.run_tag: depth[place] for place, run in enumerate(many)}
    if families:
        found = leave_one_family_out(JudgedRuns(many, qrels_of(grades)), depths, families, extra, list(ORACLE))
    else:
        found = leave_one_system_out(JudgedRuns(many, qrels_of(grades)), depths, extra, list(ORACLE))
    fed = {run.run_tag: {pair for pair, rank in ranks(run).items() if rank <= depths[run.run_tag]} for run in many}
    family = {run.run_tag: families.get(run.run_tag, run.run_tag) for run in many}
    full = {run.run_tag: by_pytrec_eval(as_dict(run), grades, judged) for run in many}
    own: dict[str, dict[str, float]] = {}
    for one in found.systems:
        others = set().union(*(pairs for tag, pairs in fed.items() if family[tag] != family[one.run_tag]))
        kin = set().union(*(pairs for tag, pairs in fed.items() if family[tag] == family[one.run_tag]))
        gone = (grades.keys() & kin) - others - set(extra)
        left = {pair: grade for pair, grade in grades.items() if pair not in gone}
        assert one.unique_pairs == len(gone)
        assert one.unique_relevant == sum(grades[pair] >= 1 for pair in gone)
        assert one.emptied_queries == len(judged) - len({query_id for query_id, _ in left})
        reduced = {run.run_tag: by_pytrec_eval(as_dict(run), left, judged) for run in many}
        own[one.run_tag] = reduced[one.run_tag]
        for name, change in one.measures.items():
            assert change.before == pytest.approx(full[one.run_tag][name], abs=1e-12)
            assert change.after == pytest.approx(reduced[one.run_tag][name], abs=1e-12)
            for means, rank in ((full, change.rank_before), (reduced, change.rank_after)):
                mine = round(means[one.run_tag][name], 10)
                assert rank == 1 + sum(round(mean[name], 10) > mine for mean in means.values())
    for name, stability in found.measures.items():
        before, after = ([round(means[tag][name], 10) for tag in full] for means in (full, own))
        if len(set(before)) == 1 or len(set(after)) == 1:
            assert stability.tau is None
        else:
            assert stability.tau == pytest.approx(kendalltau(before, after).statistic)


def test_judged_falls_to_the_share_others_judged() -> None:
    # Without d, x, y nobody but C loses: of its four documents c alone is judged.
    found = leave_one_system_out(JudgedRuns(RUNS, qrels_of(GRADES)), DEPTHS, measures=["Judged@2"])
    assert found.systems[2].measures["Judged@2"] == Change(1, 0.25, 1, 3)


def test_hole_rates_by_hand() -> None:
    # Judged: q1 a b c d, q2 m, q3 z. New run: q1 a w b v u, q2 t, and q9, which is not judged; q3 is missing.
    grades = {("q1", "a"): 1, ("q1", "b"): 0, ("q1", "c"): 0, ("q1", "d"): 0, ("q2", "m"): 1, ("q3", "z"): 2}
    new = run_of("new", q1="awbvu", q2="t", q9="abc")
    (found, empty) = hole_rates(JudgedRuns([new, ranked("empty", {})], qrels_of(grades)), [1, 2, 100])
    assert (found.run_tag, found.queries, found.missing_queries) == ("new", 3, 1)
    # At 1: a, t: t unjudged. At 2: a w, t: 2 of 3. In full: w v u t of 6.
    assert found.cutoffs == {1: Unjudged("new", 2, 1), 2: Unjudged("new", 3, 2), 100: Unjudged("new", 6, 4)}
    assert [one.share for one in found.cutoffs.values()] == [1 / 2, 2 / 3, 4 / 6]
    assert (empty.missing_queries, empty.cutoffs[1].share) == (3, None)


def test_hole_rates_have_cutoffs_by_default() -> None:
    (found,) = hole_rates(JudgedRuns([run_of("A", q1="abz")], qrels_of(GRADES)))
    assert {cutoff: one.unjudged for cutoff, one in found.cutoffs.items()} == {5: 1, 10: 1, 20: 1, 100: 1}
