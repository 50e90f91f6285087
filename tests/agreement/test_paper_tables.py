"""The Quati paper's layout: means, deviations and differences by hand, with undefined values counted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.agreement.pairwise import pairwise, per_query
from quati_pool.agreement.paper_tables import Layout, layout, matrix, query_layout
from quati_pool.agreement.ratings import Ratings
from tests.agreement.rated import annotations, columns, random_ratings

NAN = math.nan


def arranged(values: list[list[float]], labelers: str, people: str) -> Layout:
    return layout(np.array(values, dtype=np.float64), labelers.split(), people.split())


@pytest.fixture
def three_people() -> Layout:
    """Three people and two judges; what they have with themselves, or a judge with a judge, is none of the
    layout's."""
    return arranged(
        [
            [1.0, 0.4, 0.5, 0.3, 0.1],
            [0.4, 1.0, 0.6, 0.2, 0.1],
            [0.5, 0.6, 1.0, 0.1, 0.4],
            [0.3, 0.2, 0.1, 1.0, 0.9],
            [0.1, 0.1, 0.4, 0.9, 1.0],
        ],
        "A B C J K",
        "A B C",
    )


def test_means_and_deviations_by_hand(three_people: Layout) -> None:
    # A: 0.4, 0.5; B: 0.4, 0.6; C: 0.5, 0.6; J: 0.3, 0.2, 0.1; K: 0.1, 0.1, 0.4.
    assert three_people.mean == pytest.approx(np.array([0.45, 0.5, 0.55, 0.2, 0.2]))
    # Population: half the range of two values; sqrt((0.01 + 0 + 0.01) / 3); sqrt((0.01 + 0.01 + 0.04) / 3).
    assert three_people.std == pytest.approx(np.array([0.05, 0.1, 0.05, math.sqrt(0.02 / 3), math.sqrt(0.02)]))
    assert three_people.undefined.tolist() == [0] * 5
    assert (three_people.labelers, three_people.people) == (("A", "B", "C", "J", "K"), ("A", "B", "C"))
    assert three_people.value.shape == (5, 3)
    assert np.isnan(np.diag(three_people.value)).all()


def test_the_mean_of_the_people_is_that_of_their_own_means(three_people: Layout) -> None:
    # 0.45, 0.5, 0.55: mean 0.5, deviation sqrt((0.0025 + 0 + 0.0025) / 3).
    assert three_people.human_mean == pytest.approx(0.5)
    assert three_people.human_std == pytest.approx(math.sqrt(0.005 / 3))
    assert three_people.difference == pytest.approx(np.array([NAN, NAN, NAN, -0.3, -0.3]), nan_ok=True)


def test_the_rule_gives_the_papers_human_figures() -> None:
    # Paper: kappa of HA1 and HA2 0.4369, mean human annotators 0.4256 ± 0.0055. A person's own mean is half
    # of (sum of the three kappas - the one without them), so the mean of the means is that of the kappas
    # and the deviation half of theirs: the kappas have mean 0.4256 and deviation 0.0110, and 0.4369 leaves
    # 0.41995 ± 0.0092 for the other two: (0.0113² + 2 · 0.00565² + 2 · 0.0092²) / 3 = 0.0110². The
    # deviation of the kappas themselves, 0.0110, or with ddof 1, 0.0067, would not be the paper's.
    high, low = 0.41995 + 0.0092, 0.41995 - 0.0092
    found = arranged([[NAN, 0.4369, high], [0.4369, NAN, low], [high, low, NAN]], "HA1 HA2 HA3", "HA1 HA2 HA3")
    assert round(found.human_mean, 4) == 0.4256
    assert round(found.human_std, 4) == 0.0055


def test_undefined_values_are_left_out_and_counted() -> None:
    found = arranged(
        [[NAN, NAN, 0.5, NAN], [NAN, NAN, 0.3, 0.2], [0.5, 0.3, NAN, NAN], [NAN, 0.2, NAN, NAN]], "A B C J", "A B C"
    )
    assert found.mean == pytest.approx(np.array([0.5, 0.3, 0.4, 0.2]))
    assert found.std == pytest.approx(np.array([0, 0, 0.1, 0]))
    assert found.undefined.tolist() == [1, 1, 0, 2]
    assert found.human_mean == pytest.approx(0.4)
    assert found.difference[3] == pytest.approx(-0.2)


def test_one_person_has_no_human_mean() -> None:
    found = arranged([[NAN, 0.5], [0.5, NAN]], "A J", "A")
    assert found.mean == pytest.approx(np.array([NAN, 0.5]), nan_ok=True)
    assert math.isnan(found.human_mean)
    assert math.isnan(found.human_std)
    assert np.isnan(found.difference).all()
    assert found.undefined.tolist() == [0, 0]


def test_without_people_every_column_is_gone() -> None:
    found = arranged([[NAN, 0.5], [0.5, NAN]], "J K", "")
    assert found.value.shape == (2, 0)
    assert np.isnan(found.mean).all()
    assert math.isnan(found.human_mean)


def test_the_matrix_is_symmetric_but_for_the_difference() -> None:
    ratings = random_ratings(4, 4)
    pairs = pairwise(ratings, 0)
    kappa, difference = (matrix(pairs, ratings.labelers, name) for name in ("kappa", "difference"))
    assert kappa == pytest.approx(kappa.T, nan_ok=True)
    assert difference == pytest.approx(-difference.T, nan_ok=True)
    assert np.isnan(np.diag(kappa)).all()
    assert kappa[0, 2] == pairs[1].values["kappa"]
    assert difference[2, 0] == pytest.approx(-(pairs[1].values["difference"] or NAN))
    assert matrix(pairs, ratings.labelers, "kappa", 2)[1, 3] == pairs[4].binarized[2].values["kappa"]
    # Other labelers, another order.
    assert matrix(pairs, ["L3", "L1"], "difference")[0, 1] == difference[2, 0]


def test_the_released_annotations_query_by_query() -> None:
    ratings = Ratings.join(annotations(), (0, 1, 2, 3), ["HA1", "HA2"])
    found = query_layout(ratings)
    assert found.query_ids[0] == "Onde está localizada a Praça XV de Novembro?"
    assert found.human_mean[0] == pytest.approx(0.2647, abs=5e-5)
    kappas = [query.pairs[0].values["kappa"] for query in per_query(ratings, ["kappa"])]
    assert found.human_mean.tolist() == kappas
    assert found.overall_mean == pytest.approx([np.mean(found.human_mean)])
    assert found.overall_std == pytest.approx([np.std(found.human_mean)])
    assert found.human_std.tolist() == [0] * 24
    assert (found.judges, found.judge_mean.shape) == ((), (24, 0))


def test_queries_by_hand() -> None:
    # q1: A and B agree on 0 3, C gives 3 0 and J 0 3. Kappa of equal columns 1, of A and C: agreement 0,
    # chance 1/2, so -1. q2: all constant on 0, kappa undefined. q3: A and J alone. q4: J alone.
    ratings = columns(
        {
            "q1": {"A": "03", "B": "03", "C": "30", "J": "03"},
            "q2": {"A": "00", "B": "00", "C": "00", "J": "00"},
            "q3": {"A": "03", "J": "30"},
            "q4": {"J": "03"},
        },
        people=["A", "B", "C"],
    )
    found = query_layout(ratings)
    assert found.query_ids == ("q1", "q2", "q3")
    # q1: 1, -1, -1 among people; 1, 1, -1 with J: each deviation sqrt(1 - 1/9).
    assert found.human_mean == pytest.approx(np.array([-1 / 3, NAN, NAN]), nan_ok=True)
    assert found.human_std == pytest.approx(np.array([math.sqrt(8) / 3, NAN, NAN]), nan_ok=True)
    assert found.human_undefined.tolist() == [0, 3, 3]
    assert found.judge_mean == pytest.approx(np.array([[1 / 3], [NAN], [-1]]), nan_ok=True)
    assert found.judge_std == pytest.approx(np.array([[math.sqrt(8) / 3], [NAN], [0]]), nan_ok=True)
    assert found.judge_undefined.tolist() == [[0], [3], [2]]
    # J over queries: 1/3 and -1: mean -1/3, deviation 2/3.
    assert found.overall_mean == pytest.approx(np.array([-1 / 3, -1 / 3]))
    assert found.overall_std == pytest.approx(np.array([0, 2 / 3]))
    assert found.overall_undefined.tolist() == [2, 1]


def test_judges_alone_have_no_query_layout() -> None:
    found = query_layout(columns({"q": {"J": "03", "K": "03"}}))
    assert (found.query_ids, found.judges) == ((), ("J", "K"))
    assert found.judge_mean.shape == (0, 2)
    assert np.isnan(found.overall_mean).all()


def test_one_person_and_a_judge() -> None:
    found = query_layout(columns({"q": {"A": "03", "J": "03"}}, people=["A"]))
    assert np.isnan(found.human_mean).all()
    assert found.human_undefined.tolist() == [0]
    assert found.judge_mean.tolist() == [[1]]


@given(st.integers(0, 1000), st.sampled_from(["kappa", "spearman", "difference", "agreement"]))
def test_query_layouts_equal_means_of_per_query(seed: int, name: str) -> None:
    ratings = random_ratings(seed, 4, queries=4, each=3, missing=0.4)
    found = query_layout(ratings, name)
    by_query = {query.query_id: query.pairs for query in per_query(ratings, [name])}
    judge_first = -1 if name == "difference" else 1
    for row, query_id in enumerate(found.query_ids):
        values = {(pair.a, pair.b): pair.values[name] for pair in by_query[query_id]}
        human = values.get(("L1", "L2"))
        assert found.human_mean[row] == pytest.approx(NAN if human is None else human, nan_ok=True)
        for column, judge in enumerate(("L3", "L4")):
            defined = [v for p in ("L1", "L2") if (v := values.get((p, judge))) is not None]
            mean, std = (judge_first * np.mean(defined), np.std(defined)) if defined else (NAN, NAN)
            assert found.judge_mean[row, column] == pytest.approx(mean, nan_ok=True, abs=1e-12)
            assert found.judge_std[row, column] == pytest.approx(std, nan_ok=True, abs=1e-12)
            assert found.judge_undefined[row, column] == 2 - len(defined)
