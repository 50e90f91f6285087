"""Comparisons of systems and the groups that cannot be told apart."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from quati_pool.errors import ConfigError
from quati_pool.evaluation.scores import Scores
from quati_pool.evaluation.significance import Comparison, compare, groups

Pair = tuple[str, str]


def scores_of(values: np.ndarray) -> Scores:
    """Scores of AP, shape (runs, queries), of runs A, B, …"""
    runs, queries = values.shape
    return Scores(
        run_tags=tuple(chr(ord("A") + run) for run in range(runs)),
        measures=("AP",),
        query_ids=tuple(f"q{n}" for n in range(queries)),
        values=values[:, None, :],
        missing=np.zeros((runs, queries), dtype=bool),
        without_relevant=np.zeros(queries, dtype=bool),
        unjudged_queries=(0,) * runs,
    )


@pytest.fixture
def five() -> np.ndarray:
    """Five runs over 40 queries, B the best, A and C nearly the same."""
    generator = np.random.default_rng(2)
    ease = generator.random(40)
    return np.clip(ease + np.array([[0.1], [0.3], [0.12], [-0.1], [0.0]]) + generator.normal(0, 0.1, (5, 40)), 0, 2)


@pytest.mark.parametrize("baseline", [None, "C"])
def test_t_and_holm_over_the_family_equal_scipy_and_statsmodels(five: np.ndarray, baseline: str | None) -> None:
    found = compare(scores_of(five), "AP", "t", baseline)
    run = {tag: five[place] for place, tag in enumerate("ABCDE")}
    assert len(found) == (10 if baseline is None else 4)
    p = [stats.ttest_rel(run[one.a], run[one.b]).pvalue for one in found]
    rejected, adjusted = multipletests(p, alpha=0.05, method="holm")[:2]
    assert [one.p for one in found] == pytest.approx(p, rel=1e-6)
    assert [one.p_holm for one in found] == pytest.approx(adjusted.tolist(), rel=1e-6)
    assert [one.significant for one in found] == rejected.tolist()
    for one in found:
        assert one.difference == pytest.approx(run[one.a].mean() - run[one.b].mean())


def test_pairs_come_in_leaderboard_order(five: np.ndarray) -> None:
    ranking = [tag for _, tag in sorted(zip(-five.mean(axis=1), "ABCDE", strict=True))]
    found = compare(scores_of(five), "AP", "wilcoxon")
    assert [(one.a, one.b) for one in found] == list(combinations(ranking, 2))
    assert all(one.difference >= 0 for one in found)
    against = compare(scores_of(five), "AP", "wilcoxon", "A")
    assert [one.a for one in against] == [tag for tag in ranking if tag != "A"]
    assert {one.b for one in against} == {"A"}


def test_the_family_of_a_baseline_is_smaller(five: np.ndarray) -> None:
    of_all = {(one.a, one.b): one for one in compare(scores_of(five), "AP", "randomisation")}
    against = compare(scores_of(five), "AP", "randomisation", "D")
    for one in against:
        pair = of_all.get((one.a, one.b)) or of_all[one.b, one.a]
        assert one.p == pair.p
        assert one.p_holm is not None
        assert pair.p_holm is not None
        assert one.p_holm <= pair.p_holm


def test_the_same_run_twice_is_no_significant_difference(five: np.ndarray) -> None:
    twice = np.vstack([five, five[0]])
    found = {(one.a, one.b): one for one in compare(scores_of(twice), "AP", "t")}
    assert found["A", "F"] == Comparison("A", "F", 0.0, None, None, False, "no query differs")
    # An undefined test is no member of the family: Holm counts 14 of the 15 pairs.
    p = min(one.p for one in found.values() if one.p is not None)
    assert min(one.p_holm for one in found.values() if one.p_holm is not None) == pytest.approx(14 * p)


def test_one_run_has_nothing_to_be_compared_with(five: np.ndarray) -> None:
    assert compare(scores_of(five[:1]), "AP", "t") == ()
    assert compare(scores_of(five[:1]), "AP", "t", "A") == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("AP", "welch"), "there is no test 'welch'; there are: randomisation, t, wilcoxon"),
        (("AP", "wilcoxn"), "there is no test 'wilcoxn'; did you mean 'wilcoxon'"),
        (("RR", "t"), "the measure 'RR' was not computed; there are: AP"),
        (("AP", "t", "Z"), "there is no run 'Z' to compare with; there are: A, B, C, D, E"),
        (("AP", "t", None, 5.0), "alpha is 5.0; give a number between 0 and 1, such as 0.05"),
    ],
)
def test_what_cannot_be_compared_is_refused(five: np.ndarray, arguments: tuple[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        compare(scores_of(five), *arguments)
    assert str(refused.value).startswith(message)


def comparisons(run_tags: str, significant: set[Pair]) -> list[Comparison]:
    return [
        Comparison(a, b, 0.1, 0.01, 0.02, (a, b) in significant or (b, a) in significant)
        for a, b in combinations(run_tags, 2)
    ]


@pytest.mark.parametrize(
    ("run_tags", "significant", "expected"),
    [
        ("ABC", set(), {"A": "a", "B": "a", "C": "a"}),
        ("ABC", {("A", "C")}, {"A": "a", "B": "ab", "C": "b"}),
        ("ABC", {("A", "B"), ("A", "C"), ("B", "C")}, {"A": "a", "B": "b", "C": "c"}),
        # A and B apart, though both are like C: groups need not follow the order.
        ("ABC", {("A", "B")}, {"A": "a", "B": "b", "C": "ab"}),
        # A–B, B–C, C–D alike only: a chain of three groups.
        ("ABCD", {("A", "C"), ("A", "D"), ("B", "D")}, {"A": "a", "B": "ab", "C": "bc", "D": "c"}),
        ("A", set(), {"A": "a"}),
        ("", set(), {}),
    ],
)
def test_letters_by_hand(run_tags: str, significant: set[Pair], expected: dict[str, str]) -> None:
    found = groups(run_tags, comparisons(run_tags, significant))
    assert {run_tag: "".join(letters) for run_tag, letters in found.items()} == expected


@settings(max_examples=300)
@given(st.data(), st.integers(1, 9))
def test_two_runs_share_a_letter_exactly_where_they_do_not_differ(data: st.DataObject, size: int) -> None:
    run_tags = "ABCDEFGHI"[:size]
    pairs = list(combinations(run_tags, 2))
    significant = {pair for pair in pairs if data.draw(st.booleans())}
    found = groups(run_tags, comparisons(run_tags, significant))
    for a, b in pairs:
        assert set(found[a]).isdisjoint(found[b]) == ((a, b) in significant)
    assert all(found.values())
    # No letter says what another says already.
    holders = {letter: {tag for tag in run_tags if letter in found[tag]} for own in found.values() for letter in own}
    assert not any(
        one < other or (one == other and x != y) for x, one in holders.items() for y, other in holders.items()
    )


def test_letters_go_on_after_z() -> None:
    run_tags = [f"s{n:02}" for n in range(30)]
    all_apart = [Comparison(a, b, 0.1, 0.0, 0.0, True) for a, b in combinations(run_tags, 2)]
    found = groups(run_tags, all_apart)
    assert [found[run_tag] for run_tag in run_tags][24:28] == [("y",), ("z",), ("aa",), ("ab",)]


def test_groups_of_compared_runs_hold_runs_that_are_alike(five: np.ndarray) -> None:
    scores = scores_of(np.vstack([five, five[0]]))
    found = compare(scores, "AP", "t")
    letters = groups(scores.run_tags, found)
    assert letters["A"] == letters["F"]
    for one in found:
        assert set(letters[one.a]).isdisjoint(letters[one.b]) == one.significant
