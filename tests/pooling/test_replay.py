"""Replays of pools: by hand, against pytrec_eval and scipy, and on TREC DL 2021 and Vaswani."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from scipy.stats import kendalltau

from quati_pool.commands.build import build
from quati_pool.commands.replay.pools import hybrid_scores
from quati_pool.files.qrels import read_qrels
from quati_pool.pooling.replay.collection import JudgedCollection, compared, judged_collection
from quati_pool.pooling.replay.results import Outcome, PoolReplay
from quati_pool.pooling.replay.running import JudgedCandidates, PoolReplayPlan, replay
from quati_pool.processes.local import LocalEngine
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.project.runs import workspace_runs
from quati_pool.records import Ids, Qrels, Run
from tests.pooling.judged_collections import dl_2021, plan_of, vaswani
from tests.serial_engine import SerialEngine

Graded = dict[str, dict[str, int]]
Ranked = dict[str, dict[str, list[str]]]

METHODS = ("depth", "move-to-front", "max-mean", "mm-ns", "active-sampling", "judge-order")


def collection_of(ranked: Ranked, people: Graded, judge: Graded | None = None, cutoff: int = 10) -> JudgedCollection:
    runs = [
        Run.from_frame(
            run_tag,
            pd.DataFrame(
                [
                    (query_id, doc_id, -float(place))
                    for query_id, doc_ids in of_run.items()
                    for place, doc_id in enumerate(doc_ids)
                ],
                columns=["query_id", "doc_id", "score"],
            ),
        )
        for run_tag, of_run in ranked.items()
    ]
    return judged_collection(runs, qrels_of(people), None if judge is None else qrels_of(judge), cutoff)


def qrels_of(graded: Graded) -> Qrels:
    rows = [(q, d, grade) for q, of_query in graded.items() for d, grade in of_query.items()]
    queries, docs = Ids(sorted({q for q, _, _ in rows})), Ids(sorted({d for _, d, _ in rows}))
    return Qrels(
        queries, docs, queries.encode([q for q, _, _ in rows]), docs.encode([d for _, d, _ in rows]),
        np.array([grade for _, _, grade in rows], dtype=np.int64),
    )  # fmt: skip


def replayed(collection: JudgedCollection, plan: PoolReplayPlan) -> PoolReplay:
    return replay(collection, plan, None, SerialEngine())


# ---- By hand

# e, f and g are relevant. Under nDCG@4 the ideal ranking has 1 + 1/log2(3) + 1/log2(4) = 2.1309. B has all of it; A
# nothing; C has e at rank 3, and so .5 / 2.1309 = .2346.
SMALL: Ranked = {"A": {"q": list("abcd")}, "B": {"q": list("efgh")}, "C": {"q": list("haeb")}}
PEOPLE: Graded = {"q": dict.fromkeys("abcdh", 0) | dict.fromkeys("efg", 1)}


def small(*names: str, **settings: object) -> PoolReplay:
    plan = plan_of(*names, **{"depth": 4, "relevant": 1, "shares": (0.5,), **settings})
    return replayed(collection_of(SMALL, PEOPLE, cutoff=4), plan)


def test_what_methods_find_by_hand() -> None:
    """8 candidates, and 4 labels. Depth: a, e, h, then b. Move-to-front and max-mean: a is not relevant, so B is next,
    and stays: e, f, g."""
    found = small("depth", "move-to-front", "max-mean")
    assert (found.candidates, found.relevant, found.queries, found.lacking_people) == (8, 3, 1, 0)
    by_method = {one.method: one for one in found.outcomes if one.budget == "per-query"}
    assert {name: (one.labels, one.found) for name, one in by_method.items()} == {
        "depth": (4, 1), "move-to-front": (4, 3), "max-mean": (4, 3),
    }  # fmt: skip
    assert by_method["depth"].recall == pytest.approx(1 / 3)
    assert [by_method[name].times_depth.value for name in ("depth", "max-mean")] == [1, 3]
    # There is one query, so that all resamples are the same.
    assert by_method["max-mean"].times_depth == (3, 3, 3)


def test_how_systems_rank_by_hand() -> None:
    """By {a, e, h, b} alone the ideal is 1. As 0: A 0, B 1, C .5. Without unjudged documents C keeps all four."""
    found = small("depth")
    assert found.truth == pytest.approx({"A": 0, "B": 1, "C": 0.5 / 2.130930})
    for ranking in found.outcomes[0].rankings.values():
        assert (ranking.tau, ranking.tau_ap) == (1, 1)
        assert ranking.bias == pytest.approx((0.5 - 0.234639) / 3, abs=1e-6)
        assert ranking.error == pytest.approx((0.5 - 0.234639) / 3**0.5, abs=1e-6)
    # With a and e alone, C is a, e: 1/log2(3).
    few = small("depth", shares=(0.25,)).outcomes[0].rankings
    assert few["unjudged-as-0"].bias == pytest.approx((0.5 - 0.234639) / 3, abs=1e-6)
    assert few["condensed"].bias == pytest.approx((0.630930 - 0.234639) / 3, abs=1e-6)


def test_a_pool_without_anything_relevant_ranks_nothing() -> None:
    (one,) = small("depth", shares=(0.125,)).outcomes
    assert (one.labels, one.found, one.recall) == (1, 0, 0)
    assert one.times_depth == (None, None, None)
    assert {(ranking.tau, ranking.tau_ap, ranking.top_tau) for ranking in one.rankings.values()} == {(None,) * 3}


def test_families_left_out_by_hand() -> None:
    """Without A, depth pooling takes e, h and f of 6 candidates; without B: a, h, b of 6; without C: a, e, b, f of 8.
    So A has 0, B 0, and C .5 / (1 + .6309) = .3066, where the truth is 0, 1 and .2346. Of the three pairs one is in
    order, one reversed, and A and B are tied: τ-b is 0."""
    found = small("depth", families={name: name for name in "ABC"})
    left_out = found.outcomes[0].left_out
    assert left_out is not None
    assert found.families == 3
    assert left_out.tau == pytest.approx(0)
    assert left_out.bias == pytest.approx((-1 + 0.306574 - 0.234639) / 3, abs=1e-6)
    # A family of all but one: what B and C are scored by is A's documents alone, none of which is relevant.
    two = small("depth", families={"A": "x", "B": "y", "C": "y"}).outcomes[0].left_out
    assert two is not None
    assert two.bias == pytest.approx((-1 - 0.234639) / 3, abs=1e-6)


def test_one_family_is_not_left_out() -> None:
    found = small("depth", families=dict.fromkeys("ABC", "x"))
    assert (found.families, found.outcomes[0].left_out) == (1, None)


# ---- Against other implementations


def random_collection(seed: int) -> tuple[Ranked, Graded, Graded]:
    chance = np.random.default_rng(seed)
    queries, docs = [f"q{n}" for n in range(6)], [f"d{n:02}" for n in range(40)]
    ranked = {
        f"s{system:02}": {q: list(chance.permutation(docs)[: chance.integers(5, 30)]) for q in queries}
        for system in range(14)
    }
    people = {q: {d: int(chance.choice([0, 0, 1, 2, 3])) for d in docs} for q in queries}
    judge = {q: {d: int(np.clip(g + chance.integers(-1, 2), 0, 3)) for d, g in people[q].items()} for q in queries}
    return ranked, people, judge


@pytest.mark.parametrize("seed", range(5))
def test_scores_and_correlations_as_pytrec_eval_and_scipy_have_them(seed: int) -> None:
    ranked, people, _ = random_collection(seed)
    collection = collection_of(ranked, people)
    chance = np.random.default_rng(100 + seed)
    judged = chance.random(len(collection.query)) < 0.3
    names = collection.runs[0].queries.decode(collection.query).to_pylist()
    docs = collection.runs[0].docs.decode(collection.doc).to_pylist()
    part: Graded = {q: {} for q in people}
    for q, d, known in zip(names, docs, judged, strict=True):
        if known:
            part[q][d] = people[q][d]
    condensed = {tag: {q: [d for d in docs if d in part[q]] for q, docs in of.items()} for tag, of in ranked.items()}
    truth, as_0, without = (
        by_pytrec_eval(runs, qrels) for runs, qrels in ((ranked, people), (ranked, part), (condensed, part))
    )
    assert collection.truth == pytest.approx(truth, abs=1e-9)
    assert collection.by_pool(judged) == pytest.approx(as_0, abs=1e-9)
    assert collection.condensed(judged) == pytest.approx(without, abs=1e-9)
    found = collection.rankings(judged, None)["condensed"]
    assert found.tau == pytest.approx(kendalltau(without, truth).statistic)
    top = np.argsort(-truth)[:10]
    assert found.top_tau == pytest.approx(kendalltau(without[top], truth[top]).statistic)
    assert found.error == pytest.approx(np.sqrt(np.mean((without - truth) ** 2)))


def by_pytrec_eval(ranked: Ranked, qrels: Graded) -> np.ndarray:
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10"})
    means = []
    for of_run in ranked.values():
        scores = {q: {d: -float(place) for place, d in enumerate(docs)} for q, docs in of_run.items() if docs}
        found = evaluator.evaluate(scores)
        means.append(sum(one["ndcg_cut_10"] for one in found.values()) / len(qrels))
    return np.array(means)


@pytest.mark.parametrize("name", METHODS)
def test_shares_grow_and_all_of_the_pool_is_the_truth(name: str) -> None:
    ranked, people, judge = random_collection(0)
    collection = collection_of(ranked, people, judge)
    plan = plan_of(name, shares=(0.1, 0.3, 0.7, 1.0), depth=30)
    frame = JudgedCandidates(collection, plan, collection.runs)
    for job in plan.jobs:
        chosen = list(frame.selections(job, 0))
        labels = [int(one.sum()) for one in chosen]
        if name == "active-sampling":
            assert all(one <= round(share * len(frame.frame)) for one, share in zip(labels, plan.shares, strict=True))
            continue
        assert labels == [round(share * len(frame.frame)) for share in plan.shares]
        if job.budget == "per-query":
            assert all((less <= more).all() for less, more in pairwise(chosen))
        ranking = collection.rankings(frame.pairs(chosen[-1]), None)["unjudged-as-0"]
        assert (ranking.tau, ranking.bias) == (pytest.approx(1), pytest.approx(0, abs=1e-12))


def test_a_hybrid_of_all_grades_is_the_truth_and_of_none_the_judge() -> None:
    ranked, people, judge = random_collection(3)
    collection = collection_of(ranked, people, judge)
    hybrid = hybrid_scores(collection, collection.within(30), [0, 1, 2, 3], "nDCG@10")
    assert hybrid(collection.people) == pytest.approx(collection.truth)
    nothing = np.full_like(collection.people, np.iinfo(np.int64).min)
    assert hybrid(nothing) == pytest.approx(by_pytrec_eval(ranked, judge))


def test_steering_by_a_judge_who_grades_as_people_do_is_steering_by_people() -> None:
    ranked, people, _ = random_collection(1)
    plan = plan_of("depth", "max-mean", steered_by=("people", "judge"))
    found = replayed(collection_of(ranked, people, people), plan).outcomes
    assert [one.steered_by for one in found] == [None, "people", "judge", "people", "judge"]
    by_people, by_judge = ([one.found for one in found if one.steered_by == who] for who in plan.steered_by)
    assert by_people == by_judge


def test_what_runs_rank_for_queries_that_people_did_not_judge_does_not_count() -> None:
    ranked, people, judge = random_collection(2)
    more = {tag: of_run | {"other": ["d00", "x1"]} for tag, of_run in ranked.items()}
    plan = plan_of("depth", "max-mean")
    one, other = (replayed(collection_of(runs, people, judge), plan) for runs in (ranked, more))
    assert one.truth == other.truth
    assert [a.found for a in one.outcomes] == [b.found for b in other.outcomes]


def test_qrels_of_relevant_documents_alone_are_those_with_all_others_at_0() -> None:
    ranked, people, judge = random_collection(5)
    relevant = {q: {d: grade for d, grade in of_query.items() if grade} for q, of_query in people.items()}
    plan = plan_of("depth", "max-mean", "judge-order", depth=20)
    one, other = (collection_of(ranked, grades, judge) for grades in (people, relevant))
    with_0, without = (
        replay(found, plan, hybrid_scores(found, found.within(20), [0, 1, 2, 3], "nDCG@10"), SerialEngine())
        for found in (one, other)
    )
    assert [summary(a) for a in with_0.outcomes] == [summary(b) for b in without.outcomes]
    assert (with_0.lacking_people, without.lacking_people > 50) == (0, True)


@pytest.mark.slow
def test_the_number_of_processes_changes_nothing() -> None:
    ranked, people, judge = random_collection(4)
    collection = collection_of(ranked, people, judge)
    plan = plan_of("depth", "mm-ns", "active-sampling", seeds=2, families={tag: tag for tag in ranked})
    with LocalEngine(2) as engine:
        found = replay(collection, plan, None, engine)
    here = replayed(collection, plan)
    assert [summary(one) for one in found.outcomes] == [summary(one) for one in here.outcomes]
    assert {one.seeds for one in found.outcomes} == {1, 2}


def summary(one: Outcome) -> tuple[object, ...]:
    return one.method, one.budget, one.labels, one.found, one.rankings, one.left_out, one.times_depth


def test_scores_that_differ_by_rounding_are_ties() -> None:
    """The estimate ties two of three systems, whose order is otherwise right: τ-b is 2 / √(2 · 3)."""
    truth = np.array([0.1, 0.2, 0.3])
    assert compared(np.array([0.1, 0.2, 0.2 + 1e-15]), truth).tau == pytest.approx(2 / 6**0.5)


# ---- Real collections


@pytest.mark.slow
def test_trec_dl_2021() -> None:
    """Depth pooling finds 585 of 1,946 in 1,489 of 7,443 labels. Measured: max-mean 1.30 and mm-ns 1.29 times as many,
    the judge's order 1.51; with a moving budget max-mean 1.66, the judge's order 2.03. τ of the hybrid: .958 to .964
    with a fixed budget, .947 to .949 with a moving one; of the judge alone, .938."""
    collection = dl_2021()
    plan = plan_of("depth", "max-mean", "mm-ns", "judge-order")
    found = replay(
        collection, plan, hybrid_scores(collection, collection.within(10), [0, 1, 2, 3], "nDCG@10"), SerialEngine()
    )
    assert (found.candidates, found.relevant, found.lacking_people) == (7443, 1946, 0)
    outcomes = {(one.method, one.budget): one for one in found.outcomes}
    assert {one.labels for one in found.outcomes} == {1489}
    times = {key: one.times_depth.value or 0 for key, one in outcomes.items()}
    assert min(times["max-mean", "per-query"], times["mm-ns", "per-query"]) > 1.25
    assert times["judge-order", "per-query"] > 1.5
    assert times["judge-order", "moving"] > 1.9
    assert min(times["max-mean", "moving"], times["mm-ns", "moving"]) > 1.55
    hybrid = {key: one.rankings["hybrid"].tau or 0 for key, one in outcomes.items()}
    assert min(value for (_, budget), value in hybrid.items() if budget == "per-query") > 0.955
    assert min(hybrid.values()) > 0.943
    assert found.judge_alone is not None
    assert max(one.rankings["hybrid"].error for one in outcomes.values()) < 0.05 < found.judge_alone.error
    assert found.judge_alone.tau == pytest.approx(0.938, abs=0.001)


@pytest.mark.slow
def test_trec_dl_2021_with_pools_twice_as_deep() -> None:
    """τ of the hybrid with a fifth of the candidates: .959 to .971 with a fixed budget, .953 to .955 with a moving
    one."""
    collection = dl_2021()
    plan = plan_of("depth", "move-to-front", "max-mean", "mm-ns", "judge-order", depth=20)
    hybrid = hybrid_scores(collection, collection.within(20), [0, 1, 2, 3], "nDCG@10")
    outcomes = replay(collection, plan, hybrid, SerialEngine()).outcomes
    taus = {(one.method, one.budget): one.rankings["hybrid"].tau or 0 for one in outcomes}
    assert len(taus) == 9
    assert min(value for (_, budget), value in taus.items() if budget == "per-query") > 0.955
    assert min(taus.values()) > 0.95


@pytest.mark.slow
def test_vaswani(tmp_path: Path) -> None:
    """Measured: depth pooling finds 226 of 667 in 774 of 3,869 labels, move-to-front and mm-ns 1.27 and 1.24 times as
    many, with a moving budget 1.33 and 1.50 times."""
    path = vaswani(tmp_path)
    build(path, Listener())
    runs = workspace_runs(load_config(path)).runs
    collection = judged_collection(runs, read_qrels(tmp_path / "gold.qrels"), None, 10)
    found = replayed(collection, plan_of("depth", "move-to-front", "mm-ns", relevant=1, judge_relevant=1))
    times = {(one.method, one.budget): one.times_depth.value or 0 for one in found.outcomes}
    assert min(times["move-to-front", "per-query"], times["mm-ns", "per-query"]) > 1.15
    assert times["mm-ns", "moving"] > 1.35
    # The qrels name relevant documents only.
    assert found.candidates - found.lacking_people == found.relevant
