from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.text.token_overlap import exact_match, token_f1, tokens

WORDS = st.lists(st.sampled_from(["the", "tide", "maré", "2.9", "CO2,", "“q”", "...", "Tide"]), max_size=8).map(
    " ".join
)
ANY = st.text(max_size=30) | WORDS


@pytest.mark.parametrize(
    ("answer", "expected", "f1"),
    [
        # Two tokens shared of three and two: 2 · 2 / 5.
        pytest.param("The cat sat.", "the CAT", 80, id="case and punctuation"),
        # Articles are words: one shared of two and one, 2 / 3.
        pytest.param("the sea", "sea", 200 / 3, id="articles stay"),
        # As multisets {a, a, b} and {a, b, b} share a and b: 2 · 2 / 6.
        pytest.param("a a b", "a b b", 200 / 3, id="repetitions"),
        pytest.param("“mar”", "mar", 0, id="only ASCII punctuation goes"),
        pytest.param("água", "agua", 0, id="accents stay"),
        pytest.param("tide, tide!", "tide tide", 100, id="equal"),
        pytest.param("moon", "tide", 0, id="nothing shared"),
    ],
)
def test_token_f1_is_what_counting_by_hand_gives(answer: str, expected: str, f1: float) -> None:
    assert token_f1(answer, expected) == pytest.approx(f1)


@pytest.mark.parametrize(
    ("answer", "expected", "f1"),
    [
        ("Many areas.", "Approximately 450 delta and estuary areas benefit from some level of environmental protection",
         0.13333333333333336),
        ("Asia-Pacific, Middle East.", "Particularly in Asia and the Pacific", 0.0),
        ("Cruise industry.", "Ferry and cruise-ship.", 0.0),
        ("2 gigatons", "2.9.", 0.0),
    ],
    ids=["areas", "hyphen", "hyphen-at-the-end", "number"],
)  # fmt: skip
def test_token_f1_agrees_with_the_figures_pira_s_authors_released(answer: str, expected: str, f1: float) -> None:
    # gpt_answers, answer_en_origin and gpt_f1 of ChatGPT_On_Pira/results/experiments_chatgpt_qa/gpt-4_1_Qen.csv,
    # https://github.com/C4AI/Pira, commit 7376e19, CC BY 4.0. A hyphen goes without leaving a space.
    assert token_f1(answer, expected) == pytest.approx(100 * f1)
    assert not exact_match(answer, expected)


def test_an_answer_without_words_agrees_only_with_another_such() -> None:
    assert token_f1("", "tide") == token_f1("tide", "") == token_f1("...", "tide") == 0
    assert token_f1("", "") == token_f1(" . ", "") == 100
    assert exact_match(" . ", "")
    assert not exact_match("", "tide")


def test_an_exact_match_needs_the_same_words_in_the_same_order() -> None:
    assert exact_match("The  Tide!", "the tide")
    assert not exact_match("tide the", "the tide")
    assert not exact_match("tide", "the tide")


@given(ANY, ANY)
def test_token_f1_is_symmetric_and_full_for_equal_multisets_alone(answer: str, expected: str) -> None:
    f1 = token_f1(answer, expected)
    assert f1 == token_f1(expected, answer)
    assert 0 <= f1 <= 100
    assert (f1 == 100) == (Counter(tokens(answer)) == Counter(tokens(expected)))
    assert f1 == 100 or not exact_match(answer, expected)


@given(WORDS, WORDS)
def test_token_f1_is_the_harmonic_mean_of_precision_and_recall(answer: str, expected: str) -> None:
    # Another way of counting: each token of the answer takes an equal one away from those left.
    given_, left = tokens(answer), tokens(expected)
    wanted = len(left)
    shared = 0
    for token in given_:
        if token in left:
            left.remove(token)
            shared += 1
    if shared:
        precision, recall = shared / len(given_), shared / wanted
        assert token_f1(answer, expected) == pytest.approx(200 * precision * recall / (precision + recall))
    else:
        assert token_f1(answer, expected) == (0 if given_ or wanted else 100)
