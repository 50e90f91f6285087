"""Measures of answer sets: figures derived by hand, and RoMQA's definitions once more in exact fractions."""

from __future__ import annotations

import re
from collections import defaultdict
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quati_pool.qa_benchmarks.answer_sets import (
    MEASURES,
    NO_COMPLETE_ANSWER,
    NO_RIGHT_CANDIDATE,
    NONE_ANSWERED,
    Key,
    compared,
    distinct,
    measured,
    set_row,
)
from quati_pool.qa_benchmarks.base import Case

CASE = Case("validation", "en")


def key(cluster_id: str, candidates: str, complete: str) -> Key:
    """Names of one letter each."""
    return Key(cluster_id, frozenset(candidates), frozenset(complete))


# Two clusters of two and one of one. Against the right candidates:
#   q1 gave A, C, B (A twice in the file) of A, B:  precision 2/3, recall 1, F1 2·(2/3)/(5/3) = 0.8, accuracy 0
#   q2 gave A of A:                                 1, 1, 1, accuracy 1
#   q3 gave nothing of B, C:                        0, 0, 0, accuracy 0
#   q4 gave nothing, and no candidate is right:     0, 0, 0, accuracy 1 (two empty sets); left out of three means
#   q5 gave X, A of A:                              1/2, 1, 2/3, accuracy 0
# Against the complete answers, first answer alone, then all:
#   q1 of A, B, E:  A: 1, 1/3, F1 1/2       A, C, B: 2/3, 2/3, F1 2/3
#   q2 of A:        A: 1, 1, 1              the same; accuracy 1 both times
#   q3 of B, C; q4 of F: nothing given: 0
#   q5 of A, G:     X: 0                    X, A: 1/2, 1/2, F1 1/2
KEYS = {
    "q1": key("one", "AB", "ABE"),
    "q2": key("one", "A", "A"),
    "q3": key("two", "BC", "BC"),
    "q4": key("two", "", "F"),
    "q5": key("three", "A", "AG"),
}
ANSWERS = {"q1": tuple("ACB"), "q2": ("A",), "q3": (), "q4": (), "q5": ("X", "A")}
EXPECTED = {
    "F1": (0.8 + 1 + 0 + 2 / 3) / 4,
    "precision": (2 / 3 + 1 + 0 + 1 / 2) / 4,
    "recall": (1 + 1 + 0 + 1) / 4,
    "accuracy": 2 / 5,
    # Clusters one, two, three in this order.
    "cluster_min F1": (0.8 + 0 + 2 / 3) / 3,
    "cluster_min precision": (2 / 3 + 0 + 1 / 2) / 3,
    "cluster_min recall": (1 + 0 + 1) / 3,
    "cluster_min accuracy": 0.0,
    "P@1": 2 / 5,
    "complete F1@1": (1 / 2 + 1) / 5,
    "complete recall@1": (1 / 3 + 1) / 5,
    "complete accuracy@1": 1 / 5,
    "cluster_min P@1": 1 / 3,
    "cluster_min complete F1@1": (1 / 2) / 3,
    "cluster_min complete recall@1": (1 / 3) / 3,
    "cluster_min complete accuracy@1": 0.0,
}
for suffix, precision in (("@10", "P@10"), ("@100", "P@100"), ("", "complete precision")):
    for name in (precision, f"complete F1{suffix}", f"complete recall{suffix}"):
        EXPECTED[name] = (2 / 3 + 1 + 1 / 2) / 5
        EXPECTED[f"cluster_min {name}"] = (2 / 3 + 0 + 1 / 2) / 3
    EXPECTED[f"complete accuracy{suffix}"] = 1 / 5
    EXPECTED[f"cluster_min complete accuracy{suffix}"] = 0.0


def test_every_measure_equals_the_figure_derived_by_hand() -> None:
    row = set_row("theirs", CASE, KEYS, ANSWERS, ["cluster_min F1", "F1"])

    assert set(row.measures) == set(EXPECTED) == {*MEASURES, *(f"cluster_min {name}" for name in MEASURES)}
    assert row.measures == pytest.approx({name: 100 * value for name, value in EXPECTED.items()})
    assert list(row.measures)[:2] == ["cluster_min F1", "F1"]
    assert (row.n, row.unanswered, row.bounds, row.undefined) == (5, 0, {}, {})
    assert row.extra == {"clusters": 3, "single_query_clusters": 1}


def test_complete_answers_are_measured_over_the_first_k_and_p_at_k_divides_by_the_answers_given() -> None:
    # 120 answers: of the first 10 five are right, of the first 100 thirty, of all forty.
    right = [f"right {place}" for place in range(50)]
    wrong = [f"wrong {place}" for place in range(80)]
    answers = [*right[:5], *wrong[:5], *right[5:30], *wrong[5:70], *right[30:40], *wrong[70:80]]
    found = measured([answers], [Key("one", frozenset(), frozenset(right))]).measures
    assert [found[name] for name in ("P@1", "P@10", "P@100")] == pytest.approx([100, 50, 30])
    assert found["complete precision"] == pytest.approx(100 * 40 / 120)
    assert found["complete recall@10"] == pytest.approx(100 * 5 / 50)
    assert found["complete F1@100"] == pytest.approx(100 * 2 * 0.3 * 0.6 / 0.9)
    # Three answers, two right: divided by three, not by ten.
    few = measured([["right 0", "wrong 0", "right 1"]], [Key("one", frozenset(), frozenset(right))]).measures
    assert few["P@10"] == pytest.approx(100 * 2 / 3)


def test_an_empty_gold_counts_in_accuracy_and_minima_alone() -> None:
    # The second question has no right candidate and got one: inexact, and the worst of the cluster.
    found = measured([["A"], ["B"]], [key("one", "A", "A"), key("one", "", "B")]).measures
    assert (found["F1"], found["accuracy"], found["cluster_min F1"]) == (100, 50, 0)
    # A gold of the empty name alone is left out likewise.
    nameless = Key("one", frozenset({""}), frozenset("A"))
    assert measured([["A"], ["A"]], [key("one", "A", "A"), nameless]).measures["precision"] == 100


def test_means_over_no_question_are_undefined_with_the_reason() -> None:
    found = measured([[]], [key("one", "", "A")])
    assert (found.measures["F1"], found.undefined["F1"]) == (None, NO_RIGHT_CANDIDATE)
    assert found.measures["accuracy"] == 100
    nameless = measured([["A"]], [Key("one", frozenset("A"), frozenset({""}))])
    assert (nameless.measures["P@10"], nameless.undefined["P@10"]) == (None, NO_COMPLETE_ANSWER)

    row = set_row("nobody", CASE, KEYS, {}, ["F1"])
    assert (row.n, row.unanswered, set(row.undefined.values())) == (0, 5, {NONE_ANSWERED})
    assert set(row.undefined) == set(row.measures)
    assert row.bounds["F1"] == (0, 100)


def test_bounds_are_what_the_unanswered_could_make_of_every_measure() -> None:
    # q1 and q4 answered nothing. F1 by candidates over q1 0…1, q2 1, q3 0, q5 2/3; q4's gold is empty, so only
    # its accuracy can rise. A right first answer finds one of q1's three complete answers: recall@1 1/3, F1@1 1/2.
    given_answers = {name: answers for name, answers in ANSWERS.items() if name not in ("q1", "q4")}
    row = set_row("theirs", CASE, KEYS, given_answers, ["F1"])
    assert (row.n, row.unanswered) == (3, 2)
    assert row.measures["F1"] == pytest.approx(100 * (1 + 0 + 2 / 3) / 3)
    assert row.bounds["F1"] == pytest.approx((100 * (5 / 3) / 4, 100 * (8 / 3) / 4))
    assert row.bounds["accuracy"] == pytest.approx((100 * 1 / 5, 100 * 3 / 5))
    assert row.bounds["cluster_min F1"] == pytest.approx((100 * (2 / 3) / 3, 100 * (1 + 0 + 2 / 3) / 3))
    assert row.bounds["complete F1@1"] == pytest.approx((100 * 1 / 5, 100 * (1 + 1 / 2 + 1) / 5))
    assert row.bounds["complete accuracy@1"] == pytest.approx((100 * 1 / 5, 100 * 2 / 5))


def test_predictions_are_lists_of_texts_of_which_repeated_ones_count_once() -> None:
    assert distinct(["b", "a", "b", ""]) == ("b", "a", "")
    assert distinct([]) == ()
    for value, written in (("a", '"a"'), (3, "3"), (None, "null"), ({"a": 1}, '{"a": 1}')):
        with pytest.raises(ValueError, match=re.escape(f"is '{written}', not a list; expected a list of texts, best")):
            distinct(value)
    with pytest.raises(ValueError, match="answer 2 of the list is '3', not text"):
        distinct(["a", 3])


def test_neither_the_order_of_the_questions_nor_that_of_the_clusters_changes_a_figure() -> None:
    names = [f"q{place}" for place in range(200)]
    keys = {
        name: Key(name[-1], frozenset("abcdefg"[: place % 7]), frozenset("abc")) for place, name in enumerate(names)
    }
    given_answers = {name: tuple("bcgxyz"[: 1 + place % 6]) for place, name in enumerate(names)}
    row = set_row("x", CASE, keys, given_answers, [])
    assert set_row("x", CASE, {name: keys[name] for name in reversed(names)}, given_answers, []) == row


NAMES = st.sampled_from(["", *"abcdef"])
SETS = st.frozensets(NAMES, max_size=5)
ANSWER_LISTS = st.lists(NAMES, max_size=6, unique=True)
QUESTIONS = st.lists(
    st.tuples(ANSWER_LISTS, st.builds(Key, st.sampled_from(["1", "2", "3"]), SETS, SETS.filter(bool))),
    min_size=1,
    max_size=8,
)


@given(ANSWER_LISTS, SETS)
def test_f1_lies_between_precision_and_recall_and_accuracy_means_equal_sets(
    answers: list[str], gold: frozenset[str]
) -> None:
    found = compared(answers, gold)
    low, high = sorted([found.precision, found.recall])
    assert low - 1e-12 <= found.f1 <= high + 1e-12
    assert found.accuracy == (set(answers) == gold)
    if gold:
        assert (found.f1 == 1) == bool(found.accuracy)


@settings(max_examples=40)
@given(QUESTIONS)
def test_all_measures_equal_the_definitions_in_fractions(questions: list[tuple[list[str], Key]]) -> None:
    """The definitions spelt out question by question, without arrays."""
    golds: dict[str, tuple[str, int | None, str]] = {}
    for part in ("F1", "precision", "recall", "accuracy"):
        golds[part] = ("candidates", None, part)
        golds[f"complete {part}"] = ("complete", None, part)
        for k in (1, 10, 100):
            golds[f"P@{k}" if part == "precision" else f"complete {part}@{k}"] = ("complete", k, part)
    found = measured([answers for answers, _ in questions], [one for _, one in questions]).measures
    for name, (which, k, part) in golds.items():
        values, clusters = [], defaultdict(list)
        for answers, one in questions:
            gold = getattr(one, which)
            value = _defined(set(answers[:k]), gold, part)
            clusters[one.cluster_id].append(value)
            if part == "accuracy" or gold not in (set(), {""}):
                values.append(value)
        expected = float(100 * sum(values) / len(values)) if values else None
        assert found[name] == (None if expected is None else pytest.approx(expected))
        minima = [min(values) for values in clusters.values()]
        assert found[f"cluster_min {name}"] == pytest.approx(float(100 * sum(minima) / len(minima)))


def _defined(given_set: set[str], gold: frozenset[str], part: str) -> Fraction:
    common = sum(name in gold for name in given_set)
    if part == "accuracy":
        return Fraction(given_set == gold)
    precision = Fraction(common, len(given_set)) if given_set else Fraction(0)
    recall = Fraction(common, len(gold)) if gold else Fraction(0)
    if part == "F1":
        # 2·TP / (2·TP + FP + FN)
        return Fraction(2 * common, len(given_set) + len(gold)) if common else Fraction(0)
    return precision if part == "precision" else recall


@settings(max_examples=40)
@given(QUESTIONS, st.data())
def test_whatever_the_unanswered_would_be_given_the_figures_stay_within_the_bounds(
    questions: list[tuple[list[str], Key]], data: st.DataObject
) -> None:
    keys = {f"q{place}": one for place, (_, one) in enumerate(questions)}
    everything = {f"q{place}": answers for place, (answers, _) in enumerate(questions)}
    answered = data.draw(st.sets(st.sampled_from(sorted(keys))))
    row = set_row("x", CASE, keys, {name: everything[name] for name in answered}, [])
    whole = set_row("x", CASE, keys, everything, []).measures
    for name, (low, high) in row.bounds.items():
        value = whole[name]
        assert value is not None
        assert low - 1e-9 <= value <= high + 1e-9, name


@settings(max_examples=40)
@given(st.lists(st.tuples(ANSWER_LISTS, ANSWER_LISTS, SETS.filter(bool), SETS.filter(bool)), min_size=1, max_size=5))
def test_where_clusters_are_equal_in_size_no_minimum_is_above_its_mean(
    pairs: list[tuple[list[str], list[str], frozenset[str], frozenset[str]]],
) -> None:
    answers = [given_answers for first, second, _, _ in pairs for given_answers in (first, second)]
    keys = [
        Key(str(place), frozenset("a"), gold) for place, pair in enumerate(pairs) for gold in (pair[2], pair[3])
    ]  # fmt: skip
    found = measured(answers, keys).measures
    for name in MEASURES:
        mean, minimum = found[name], found[f"cluster_min {name}"]
        if mean is not None and all(one.complete != {""} for one in keys):
            assert minimum is not None
            assert minimum <= mean + 1e-9
