from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from quati_pool.qa_benchmarks.passages import cut


def test_a_text_is_cut_at_the_word_count_and_the_rest_is_a_passage() -> None:
    assert cut(" one two\nthree.  four\tfive ", 2) == ["one two", "three. four", "five"]
    assert cut("one two", 2) == ["one two"]
    assert cut(" \n ", 2) == cut("", 2) == []


@given(st.text(max_size=200) | st.lists(st.sampled_from(["sea", "a", "\u00a0", "\n"])).map(" ".join), st.integers(1, 9))
def test_cutting_loses_no_word_and_no_passage_is_too_long(text: str, words: int) -> None:
    passages = cut(text, words)
    assert [word for passage in passages for word in passage.split()] == text.split()
    assert all(len(passage.split()) == words for passage in passages[:-1])
    assert all(1 <= len(passage.split()) <= words for passage in passages)
