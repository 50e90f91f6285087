from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.text.token_overlap import token_f1
from quati_pool.training.readers.answer_stretch import closest_stretch

WORDS = st.lists(st.sampled_from(["the", "tide", "Tide,", "-", "sea", "(sea)", "maré", "2.9", "\n", "of"]), max_size=9)


def brute_force(text: str, answer: str) -> tuple[str, float] | None:
    """All stretches of whole words, tried one by one; of several as good the shortest in words with a letter or digit,
    then the first."""
    places = [match.span() for match in re.finditer(r"\S+", text) if match.group() != "-"]
    best: tuple[float, int, int, str] | None = None
    for first, (start, _) in enumerate(places):
        for last in range(first, len(places)):
            stretch = text[start : places[last][1]]
            found = (token_f1(stretch, answer), -(last - first), -first, stretch)
            best = found if best is None or found > best else best
    return None if best is None or best[0] == 0 else (best[3], best[0])


@given(text=WORDS.map(" ".join), answer=WORDS.map(" ".join))
def test_it_is_that_of_brute_force(text: str, answer: str) -> None:
    found = closest_stretch(text, answer)
    expected = brute_force(text, answer) if token_f1(answer, "") == 0 else None
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert text[found.start : found.end] == expected[0]
        assert found.f1 == pytest.approx(expected[1])
        assert found.f1 == pytest.approx(token_f1(text[found.start : found.end], answer))


def test_an_answer_in_own_words_has_the_closest_stretch() -> None:
    text = "In 2012, about 120 million people (84 per cent in Asia) were employed in fisheries."
    found = closest_stretch(text, "120 million people were employed")
    assert found is not None
    # Five of the five words of the answer in nine: 200 · 5 / 14. The first three alone: 200 · 3 / 8, which is more.
    assert (text[found.start : found.end], found.f1) == ("120 million people", 75.0)


def test_without_a_common_word_there_is_none() -> None:
    assert closest_stretch("The sea.", "moon") is None
    assert closest_stretch("", "moon") is None
    assert closest_stretch("The sea.", "...") is None
