"""Families of models, and whether a judge raises one of them more than the others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from quati_pool.audit.kinship import family_shifts, guessed_family


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gpt-4o-2024-11-20", "openai"),
        ("openai/o3-mini", "openai"),
        ("text-embedding-3-large", "openai"),
        ("claude-opus-4", "anthropic"),
        ("intfloat/e5-mistral-7b-instruct", "mistral"),
        ("meta-llama/Llama-3.2-3B", "llama"),
        ("RankVicuna", "llama"),
        ("Qwen3-Reranker-8B", "qwen"),
        ("sabiá-3", "maritaca"),
        ("bm25", None),
        ("monot5-3b", None),
        ("colbert", None),
        ("delphi", None),
        ("foo3", None),
    ],
)
def test_a_family_is_guessed_from_a_name(name: str, family: str | None) -> None:
    assert guessed_family(name) == family


def test_a_shift_is_what_the_judge_adds_to_a_family_beyond_the_others() -> None:
    people = np.array([[0.2, 0.4, 0.6], [0.3, 0.3, 0.3], [0.5, 0.1, 0.3]])
    judge = people + np.array([[0.3, 0.2, 0.1], [0.1, 0.1, 0.1], [0.0, 0.1, 0.2]])
    kin, other = family_shifts(judge, people, ["gpt", "lexical", "lexical"], [True, False, False], ["a", "b", "c"])
    # By query the family gains .3, .2, .1, the others .05, .1, .15 on average: .25, .1, −.05.
    by_query = np.array([0.25, 0.1, -0.05])
    low, high = stats.t.interval(0.95, 2, loc=0.1, scale=stats.sem(by_query))
    assert kin.shift is not None
    assert (kin.family, kin.kin, kin.run_tags) == ("gpt", True, ("a",))
    assert (kin.shift.value, kin.shift.low, kin.shift.high, kin.shift.n) == pytest.approx((0.1, low, high, 3))
    assert other.shift is not None
    assert (other.family, other.kin, other.run_tags, other.shift.value) == (
        "lexical", False, ("b", "c"), pytest.approx(-0.1),
    )  # fmt: skip


def test_a_single_family_has_nothing_to_be_compared_with() -> None:
    (only,) = family_shifts(np.ones((2, 3)), np.zeros((2, 3)), ["x", "x"], [False, False], ["a", "b"])
    assert only.shift is None
