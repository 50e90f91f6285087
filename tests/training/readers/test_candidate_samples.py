from __future__ import annotations

from collections import Counter

import pytest
from scipy.stats import chisquare

from quati_pool.training.readers.candidates import (
    SAMPLED,
    CandidatesQuestion,
    QuestionSample,
    drawn_candidates,
    sampled_questions,
)


def questions(sizes: list[int]) -> list[CandidatesQuestion]:
    return [
        CandidatesQuestion(f"q{cluster}-{number}", f"c{cluster}", "Which?", ("a",), ("",), (True,))
        for cluster, size in enumerate(sizes)
        for number in range(size)
    ]


def test_a_question_with_few_candidates_keeps_all() -> None:
    assert drawn_candidates(0, 0, "q", SAMPLED) == list(range(SAMPLED))
    assert drawn_candidates(0, 0, "q", 0) == []


def test_all_candidates_are_drawn_equally_often() -> None:
    counts = Counter(at for epoch in range(2000) for at in drawn_candidates(3, epoch, "q", 45))
    drawn = [counts[at] for at in range(45)]
    assert sum(drawn) == 2000 * SAMPLED
    # Draws without replacement vary less than chi-squared assumes, so the p-value is too high, never too low.
    assert chisquare(drawn).pvalue > 0.001
    assert min(drawn) > 0.9 * 2000 * SAMPLED / 45


def test_draws_depend_on_seed_epoch_and_question_alone() -> None:
    first = drawn_candidates(0, 0, "q", 100)
    assert first == drawn_candidates(0, 0, "q", 100)
    assert len({tuple(drawn_candidates(*of, 100)) for of in ((0, 0, "q"), (1, 0, "q"), (0, 1, "q"), (0, 0, "r"))}) == 4
    assert len(set(first)) == SAMPLED


def test_unrelated_questions_are_one_of_each_cluster() -> None:
    asked = questions([3, 1, 4, 2])
    chosen = sampled_questions(asked, "unrelated", 0)
    assert sorted(one.cluster_id for one in chosen) == ["c0", "c1", "c2", "c3"]
    picks = Counter(sampled_questions(asked, "unrelated", seed)[0].id for seed in range(600))
    assert set(picks) == {"q0-0", "q0-1", "q0-2"}
    assert chisquare(list(picks.values())).pvalue > 0.001


def test_clusters_give_as_many_questions_in_whole_clusters() -> None:
    asked = questions([3] * 9)
    chosen = sampled_questions(asked, "clusters", 0)
    assert len(chosen) == 9
    assert set(Counter(one.cluster_id for one in chosen).values()) == {3}
    assert {one.cluster_id for one in chosen} != {one.cluster_id for one in sampled_questions(asked, "clusters", 1)}


def test_the_last_cluster_is_cut_to_the_number_of_clusters() -> None:
    chosen = sampled_questions(questions([4] * 6), "clusters", 0)
    assert sorted(Counter(one.cluster_id for one in chosen).values()) == [2, 4]


@pytest.mark.parametrize("sample", ["clusters", "unrelated"])
def test_the_order_of_the_file_changes_no_sample(sample: QuestionSample) -> None:
    asked = questions([3, 2, 5, 1])
    ids = {one.id for one in sampled_questions(asked, sample, 0)}
    # Within a cluster the file's order decides what of the last one is kept, so whole clusters are moved.
    moved = [*asked[5:], *asked[:5]]
    assert {one.id for one in sampled_questions(moved, sample, 0)} == ids
