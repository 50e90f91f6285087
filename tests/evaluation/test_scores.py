"""Values by query: against pytrec_eval with the original scores on runs full of ties, and by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import Metric
from ir_measures.providers.pytrec_eval_provider import PytrecEvalEvaluator
from random_runs import Rows, ranked, rows, scores

from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.evaluation.judged_runs import JudgedRuns, Judgements
from quati_pool.evaluation.measures import parse_measures
from quati_pool.evaluation.scores import Scores, score
from quati_pool.files.qrels import read_qrels
from quati_pool.records import Run
from tests.evaluation.small_qrels import Grades, nested, qrels_of, run_of, some_grades
from tests.shared_data import shared

ORACLE = {
    "nDCG@10": "ndcg_cut_10",
    "nDCG@20": "ndcg_cut_20",
    "nDCG@2": "ndcg_cut_2",
    "nDCG": "ndcg",
    "R@100": "recall_100",
    "R@2": "recall_2",
    "AP": "map",
    "AP@3": "map_cut_3",
    "P@10": "P_10",
    "P@2": "P_2",
    "RR": "recip_rank",
    "Success@1": "success_1",
    "Success@5": "success_5",
    "Bpref": "bpref",
    "Rprec": "Rprec",
    "NumRet": "num_ret",
}
BY_CUTOFF = [name for name in ORACLE if "@" in name]


def by_pytrec_eval(run: dict[str, dict[str, float]], grades: Grades, names: Sequence[str], rel: int = 1) -> np.ndarray:
    """Values of shape (measures, queries) from the scores as they are."""
    evaluator = pytrec_eval.RelevanceEvaluator(nested(grades), {ORACLE[name] for name in names}, rel)
    found = evaluator.evaluate(run)
    return np.array([[found.get(query_id, {}).get(ORACLE[name], 0.0) for query_id in nested(grades)] for name in names])


def by_query(scored: Rows) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for (query_id, doc_id), value in scored.items():
        found.setdefault(query_id, {})[doc_id] = value
    return found


def shares_a_query(scored: Rows, grades: Grades) -> bool:
    return not scored or not {query for query, _ in scored}.isdisjoint(query for query, _ in grades)


@pytest.mark.slow
@settings(max_examples=300)
@given(st.lists(rows(scores), min_size=1, max_size=3), some_grades(), st.booleans())
def test_values_are_pytrec_evals_on_the_original_scores(many: list[Rows], grades: Grades, cut: bool) -> None:
    """With `cut` every measure has a cutoff, and only the top of each ranking reaches the provider."""
    many = [one for one in many if shares_a_query(one, grades)]
    names = BY_CUTOFF if cut else list(ORACLE)
    found = score(JudgedRuns([ranked(f"s{i}", one) for i, one in enumerate(many)], qrels_of(grades)), names)
    assert found.query_ids == tuple(nested(grades))
    assert found.measures == tuple(names)
    for values, one in zip(found.values, many, strict=True):
        assert values == pytest.approx(by_pytrec_eval(by_query(one), grades, names), abs=1e-12)


def position(one: Rows, query_id: str) -> list[str]:
    """The documents of a query by our rule of ties, written out again."""
    hits = [(np.float32(value), doc.encode(), doc) for (query, doc), value in one.items() if query == query_id]
    return [doc for _, _, doc in sorted(hits, reverse=True)]


@settings(max_examples=200)
@given(rows(scores), some_grades(), st.integers(1, 4), st.booleans())
def test_providers_with_other_ties_follow_the_run(one: Rows, grades: Grades, k: int, cut: bool) -> None:
    """RR@k comes from MS MARCO's script and Judged@k from ir_measures: both would break ties by doc_id
    ascending on the original scores."""
    if not shares_a_query(one, grades):
        return
    found = score(
        JudgedRuns([ranked("s", one)], qrels_of(grades)), [f"RR(rel=2)@{k}", f"Judged@{k}", *([] if cut else ["AP"])]
    )
    for query, (query_id, judged) in enumerate(nested(grades).items()):
        top = position(one, query_id)[:k]
        first = next((rank for rank, doc in enumerate(top, 1) if judged.get(doc, 0) >= 2), None)
        assert found.values[0, 0, query] == pytest.approx(1 / first if first else 0)
        share = sum(doc in judged for doc in top) / len(top) if top else 0
        assert found.values[0, 1, query] == pytest.approx(share)


@settings(max_examples=100)
@given(rows(scores), some_grades())
def test_every_other_measure_is_the_same_with_and_without_a_deeper_one(one: Rows, grades: Grades) -> None:
    if not shares_a_query(one, grades):
        return
    names = ["nDCG@2", "R(rel=2)@3", "RR(rel=2)@2", "Judged@2", "AP(rel=2)@2", "Success@2"]
    cut = score(JudgedRuns([ranked("s", one)], qrels_of(grades)), names)
    whole = score(JudgedRuns([ranked("s", one)], qrels_of(grades)), [*names, "NumRet"])
    assert np.array_equal(cut.values, whole.values[:, :-1])


def test_ties_and_defaults_by_hand() -> None:
    # All scores tie, so z comes first, then b, then a. z is unjudged, b has 1, a has 2.
    tied = ranked("tied", {("q1", doc): 1.0 for doc in "abz"})
    found = score(
        JudgedRuns([tied], qrels_of({("q1", "a"): 2, ("q1", "b"): 1})), ["RR(rel=2)@10", "RR@10", "Judged@2", "P@1"]
    )
    assert found.values[0, :, 0].tolist() == [1 / 3, 1 / 2, 1 / 2, 0]


@pytest.fixture
def four() -> Scores:
    """Queries judged in the order q3, q1, q4, q2; q4 has nothing relevant; the run has q1, q4 and q9."""
    grades = {("q3", "a"): 1, ("q1", "a"): 1, ("q4", "a"): 0, ("q2", "b"): 3, ("q3", "b"): 0}
    return score(
        JudgedRuns([run_of("s", q1="a", q4="a", q9="ab", q8="a"), ranked("empty", {})], qrels_of(grades)),
        ["P@1", "R@1"],
    )


def test_all_judged_queries_count_in_order_of_first_appearance(four: Scores) -> None:
    assert four.query_ids == ("q3", "q1", "q4", "q2")
    assert four.of("P@1").tolist() == [[0, 1, 0, 0], [0, 0, 0, 0]]
    assert four.of("R@1").mean(axis=1).tolist() == [1 / 4, 0]


def test_missing_unjudged_and_irrelevant_queries_are_told_apart(four: Scores) -> None:
    assert four.missing.tolist() == [[True, False, False, True], [True] * 4]
    assert four.without_relevant.tolist() == [False, False, True, False]
    assert four.unjudged_queries == (2, 0)


def test_a_measure_that_was_not_computed_is_refused(four: Scores) -> None:
    with pytest.raises(ConfigError, match="'P@2' was not computed; did you mean 'P@1'"):
        four.of("P@2")


def test_runs_over_one_vocabulary_equal_runs_of_their_own() -> None:
    frames = {
        "s0": pd.DataFrame({"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "a"], "score": [2.0, 1.0, 1.0]}),
        "s1": pd.DataFrame({"query_id": ["q2", "q2", "q1"], "doc_id": ["c", "a", "b"], "score": [3.0, 1.0, 1.0]}),
    }
    qrels = qrels_of({("q1", "b"): 1, ("q2", "a"): 2, ("q2", "c"): 1})
    names = ["nDCG@10", "AP", "Judged@10"]
    together = score(JudgedRuns(Run.from_frames(frames), qrels), names)
    alone = score(JudgedRuns([Run.from_frame(run_tag, frame) for run_tag, frame in frames.items()], qrels), names)
    assert np.array_equal(together.values, alone.values)
    shared_docs = [run.over(run.queries, qrels.docs) for run in Run.from_frames(frames)]
    assert np.array_equal(score(JudgedRuns(shared_docs, qrels), names).values, together.values)


def test_runs_are_measured_one_by_one_whatever_their_number() -> None:
    runs = [run_of("A", q1="abc"), run_of("B", q1="ca", q2="b")]
    qrels = qrels_of({("q1", "c"): 3, ("q2", "b"): 1})
    both = score(JudgedRuns(runs, qrels), ["nDCG@10"])
    assert both.run_tags == ("A", "B")
    for place, run in enumerate(runs):
        assert np.array_equal(both.values[place], score(JudgedRuns([run], qrels), ["nDCG@10"]).values[0])


def test_rank_biased_precision_is_that_of_its_definition() -> None:
    # (1 - p) Σ p^(rank - 1) over ranks of grade 2 and above (Moffat and Zobel 2008): q1 has them at 1 and 3 with
    # p = 0.5, so 0.5 · (1 + 0.25); q2 at 2, so 0.5 · 0.5.
    grades = {("q1", "a"): 3, ("q1", "b"): 1, ("q1", "c"): 2, ("q2", "a"): 0, ("q2", "b"): 2}
    found = score(JudgedRuns([run_of("s", q1="axc", q2="ab")], qrels_of(grades)), ["RBP(p=0.5, rel=2)"])
    assert found.values[0, 0] == pytest.approx([0.625, 0.25])


def test_gdeval_takes_any_ids() -> None:
    """ERR comes from a Perl script that wants numeric query ids. ERR@10 of grade 2 at rank 2, by hand:
    (2² - 1) / 2⁴ / 2 = 0.09375, printed to five decimals."""
    run = ranked("s", {("é-1", "Á"): 2.0, ("é-1", "\U0001f600"): 1.0})
    found = score(
        JudgedRuns([run], qrels_of({("é-1", "\U0001f600"): 2, ("x", "y"): 1})), ["ERR@10", "nDCG(dcg='exp-log2')@10"]
    )
    assert found.values[0, 0].tolist() == pytest.approx([0.09375, 0], abs=1e-5)
    assert found.values[0, 1].tolist() == pytest.approx([1 / np.log2(3), 0], abs=1e-5)


def test_gdeval_refuses_grades_above_four() -> None:
    with pytest.raises(QuatiPoolError, match=r"ERR@10 is computed by gdeval, which takes grades up to 4, .* hold 5"):
        score(JudgedRuns([run_of("s", q1="a")], qrels_of({("q1", "a"): 5})), ["P@1", "ERR@10"])


def test_a_fault_inside_a_provider_is_one_line() -> None:
    # Accuracy divides by the number of documents that are not relevant.
    with pytest.raises(QuatiPoolError, match=r"could not compute P@1, Accuracy \(ZeroDivisionError: .*leave it out"):
        score(JudgedRuns([run_of("s", q1="a")], qrels_of({("q1", "a"): 1})), ["P@1", "Accuracy"])


def test_compatibility_counts_the_last_document_as_returned() -> None:
    # Ideal: of equal grades those returned first, so a b z, where a last score of 0 would put z before b. Overlaps
    # of a b with it 1, 2/2, 2/3, of the ideal with itself 1, 1, 1; weights 0.95 to the power of 0, 1, 2.
    qrels = qrels_of({("q1", "z"): 1, ("q1", "a"): 3, ("q1", "b"): 1})
    found = score(JudgedRuns([run_of("s", q1="ab")], qrels), ["Compat"])
    assert found.values[0, 0, 0] == pytest.approx((1 + 0.95 + 0.9025 * 2 / 3) / (1 + 0.95 + 0.9025))


def test_negative_grades_are_not_relevant() -> None:
    found = score(
        JudgedRuns([run_of("s", q1="ab")], qrels_of({("q1", "a"): -1, ("q1", "b"): 1})), ["nDCG@10", "P@2", "RR"]
    )
    assert found.values[0, :, 0] == pytest.approx([1 / np.log2(3), 1 / 2, 1 / 2])
    assert score(JudgedRuns([run_of("s", q1="a")], qrels_of({("q1", "a"): -1})), ["P@1"]).without_relevant.tolist() == [
        True
    ]


def test_a_run_for_other_queries_says_so() -> None:
    with pytest.raises(QuatiPoolError) as refused:
        score(JudgedRuns([run_of("s", q1="a", q2="a")], qrels_of({("t1", "a"): 1, ("t2", "a"): 1})), ["P@1"])
    assert str(refused.value) == (
        "s: 0 of its 2 queries (q1, q2) are among the 2 judged ones (t1, t2); "
        "give the run and the qrels of the same queries"
    )


def test_two_runs_of_one_name_are_refused() -> None:
    with pytest.raises(QuatiPoolError, match="two runs are called 's'; rename one"):
        score(JudgedRuns([run_of("s", q1="a"), run_of("s", q1="b")], qrels_of({("q1", "a"): 1})), ["P@1"])


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    score(
        JudgedRuns([run_of("s", q1="ab")], qrels_of({("q1", "b"): 1})),
        ["nDCG@10", "ERR@10", "Judged@10", "RR@10", "Compat"],
    )
    with pytest.raises(ConfigError):
        parse_measures(["official"])
    assert capfd.readouterr() == ("", "")


@given(some_grades(), rows(scores))
def test_every_row_finds_its_judgement(grades: Grades, one: Rows) -> None:
    if not shares_a_query(one, grades):
        return
    run = ranked("s", one)
    (found,) = Judgements(qrels_of(grades)).rows([run])
    judged = zip(run.queries.decode(run.query).to_pylist(), run.docs.decode(run.doc).to_pylist(), strict=True)
    known = [pair for pair in judged if any(query == pair[0] for query, _ in grades)]
    values = list(grades.values())
    expected = [grades.get(pair) for pair in known]
    assert [values[row] if row >= 0 else None for row in found.judgement.tolist()] == expected


def test_vaswani_with_random_runs_equals_pytrec_eval() -> None:
    """100 documents a query, half of the relevant ones among them, with 30 scores, so that most tie."""
    qrels = read_qrels(shared("vaswani/qrels"))
    query_ids, doc_ids = qrels.queries.decode(qrels.query).to_pylist(), qrels.docs.decode(qrels.doc).to_pylist()
    grades = dict(zip(zip(query_ids, doc_ids, strict=True), qrels.relevance.tolist(), strict=True))
    docs = sorted({*doc_ids, *(f"other-{n}" for n in range(1000))})
    generator = np.random.default_rng(0)
    many: list[Rows] = []
    for system in range(4):
        scored: Rows = {}
        for query_id, judged in list(nested(grades).items())[system:]:
            relevant = [doc_id for doc_id in judged if generator.random() < 0.5]
            for doc_id in dict.fromkeys([*relevant, *generator.choice(docs, 100).tolist()]):
                scored[query_id, doc_id] = float(generator.integers(0, 30)) / 4 + (doc_id in judged)
        many.append(scored)
    found = score(JudgedRuns([ranked(f"s{system}", scored) for system, scored in enumerate(many)], qrels), list(ORACLE))
    assert found.missing.sum(axis=1).tolist() == [0, 1, 2, 3]
    for values, scored in zip(found.values, many, strict=True):
        expected = by_pytrec_eval(by_query(scored), grades, list(ORACLE))
        assert (expected.mean(axis=1) > 0.05).all()
        assert values == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("grade", [-2, -3, -1000, -1_000_000])
def test_a_query_with_grades_far_below_zero_alone_has_nothing_relevant(grade: int) -> None:
    # pytrec_eval reads memory that is not its own where no grade of a query is above -2.
    found = score(
        JudgedRuns([run_of("s", q1="a", q2="a")], qrels_of({("q1", "a"): grade, ("q2", "a"): 3})), ["nDCG@10"]
    )
    assert found.values[0, 0].tolist() == [0, 1]
    assert found.without_relevant.tolist() == [True, False]


@pytest.mark.parametrize("grade", [4294967299, -4294967299, 1_000_001])
def test_grades_that_providers_cannot_hold_are_refused(grade: int) -> None:
    qrels = qrels_of({("q1", "a"): grade, ("q2", "a"): 3})
    with pytest.raises(QuatiPoolError, match="grades beyond ±1,000,000"):
        score(JudgedRuns([run_of("s", q1="a", q2="a")], qrels), ["nDCG@10"])


@pytest.mark.parametrize(("given", "said"), [((), "gave nothing"), ((float("nan"),), "gave nan")])
def test_what_a_provider_does_not_compute_is_an_error_and_no_zero(
    given: tuple[float, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute = PytrecEvalEvaluator._iter_calc

    def fails_for_the_second_query(self: PytrecEvalEvaluator, run: object) -> Iterator[Metric]:
        for metric in compute(self, run):
            if metric.query_id != "1":
                yield metric
            else:
                yield from (Metric(metric.query_id, metric.measure, value) for value in given)

    monkeypatch.setattr(PytrecEvalEvaluator, "_iter_calc", fails_for_the_second_query)
    joined = JudgedRuns([run_of("s", q1="a", q2="a")], qrels_of({("q1", "a"): 1, ("q2", "a"): 1}))
    with pytest.raises(QuatiPoolError) as refused:
        score(joined, ["nDCG@10", "RR(rel=2)@10"])
    assert str(refused.value) == (
        f"nDCG@10 could not be computed: pytrec_eval {said} for the query 'q2' of the run s; check the grades, or "
        "drop the measure"
    )


def test_what_providers_leave_out_for_want_of_relevant_documents_is_the_default() -> None:
    # gdeval and MS MARCO's script give no value for q2; that of a run without relevant documents is 0.
    joined = JudgedRuns([run_of("s", q1="a", q2="a")], qrels_of({("q1", "a"): 1, ("q2", "a"): 0}))
    found = score(joined, ["ERR@10", "RR@10", "RR(rel=2)@10"])
    assert found.values[0].tolist() == [[0.0625, 0], [1, 0], [0, 0]]  # ERR: (2^1 - 1) / 2^4 at rank 1
