"""Near-identical passages are found with their exact similarity."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.annotation import near_duplicate_passages
from quati_pool.annotation.near_duplicate_passages import NEAR, Resemblance, near_duplicates


def test_the_similarity_by_hand() -> None:
    """Shingles abc bcd cde def efg and abc bcd cde def efx: 4 shared of 6."""
    found = near_duplicates(["a b c d e f g", "a b c d e f x", "nothing like the others"], threshold=0.6)
    assert found == [[Resemblance(1, 4 / 6)], [Resemblance(0, 4 / 6)], []]
    assert near_duplicates(["a b c d e f g", "a b c d e f x"], threshold=0.67) == [[], []]


def test_the_threshold_itself_is_reached() -> None:
    """10 words have 8 shingles, 11 have 9 and 12 have 10: 8 of 10 shared are exactly 0.8."""
    words = list("abcdefghijkl")
    assert near_duplicates([" ".join(words), " ".join(words[:10])]) == [[Resemblance(1, 0.8)], [Resemblance(0, 0.8)]]
    assert near_duplicates([" ".join(words), " ".join(words[:9])]) == [[], []]


def test_case_punctuation_and_the_writing_of_accents_do_not_count() -> None:
    found = near_duplicates(["Não há café, só chá!", "na\u0303o HÁ cafe\u0301 – só chá"])
    assert found == [[Resemblance(1, 1.0)], [Resemblance(0, 1.0)]]


def test_short_and_wordless_texts_are_alike_only_where_equal() -> None:
    texts = ["Olá", "olá!", "olá mundo", "", "", "???", " ??? ", "!!!"]
    found = near_duplicates(texts)
    assert [[other.place for other in others] for others in found] == [[1], [0], [], [4], [3], [6], [5], []]
    assert {other.similarity for others in found for other in others} == {1.0}


def test_no_texts_and_one_text() -> None:
    assert near_duplicates([]) == []
    assert near_duplicates(["a b c d"]) == [[]]


def test_the_most_alike_come_first_then_by_place() -> None:
    words = [f"w{number}" for number in range(40)]
    texts = [" ".join(words), " ".join(words[:36]), " ".join(words), " ".join(words[:36]), " ".join(words)]
    assert [other.place for other in near_duplicates(texts)[0]] == [2, 4, 1, 3]


def test_blocks_of_rows_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["a b c d e", "a b c d e f", "x", "a b c d e", "x"]
    whole = near_duplicates(texts, 0.5)
    monkeypatch.setattr(near_duplicate_passages, "_ROWS", 2)
    assert near_duplicates(texts, 0.5) == whole


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=9), max_size=7), st.sampled_from([0.3, NEAR, 1.0]))
def test_it_is_the_jaccard_coefficient_of_sets_of_three_words(texts: list[list[str]], threshold: float) -> None:
    def shingles(words: list[str]) -> set[tuple[str, ...]]:
        if len(words) < 3:
            return {tuple(words)}
        return {(*pair, third) for pair, third in zip(pairwise(words), words[2:], strict=False)}

    found = near_duplicates([" ".join(words) for words in texts], threshold)
    for place, words in enumerate(texts):
        mine = shingles(words)
        expected = {}
        for other, their_words in enumerate(texts):
            theirs = shingles(their_words)
            similarity = len(mine & theirs) / len(mine | theirs)
            if other != place and similarity >= threshold:
                expected[other] = similarity
        assert dict(found[place]) == expected
