from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from quati_pool.qa_benchmarks.passages import cut, cut_at_sentences
from quati_pool.text.sentences import sentences


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


def test_a_passage_holds_the_whole_sentences_that_fit() -> None:
    # 2 + 3 words fit into 6; with the 2 of the third there would be 7.
    text = "Tides rise. Dr. Lima\nsails. Boats wait! Why?"
    assert cut_at_sentences(text, 6) == ["Tides rise. Dr. Lima sails.", "Boats wait! Why?"]
    assert cut_at_sentences(text, 5) == ["Tides rise. Dr. Lima sails.", "Boats wait! Why?"]
    assert cut_at_sentences(text, 4) == ["Tides rise.", "Dr. Lima sails.", "Boats wait! Why?"]
    assert cut_at_sentences(text, 100) == [" ".join(text.split())]
    assert cut_at_sentences(" \n ", 2) == cut_at_sentences("", 2) == []


def test_a_sentence_that_is_too_long_is_cut_at_the_word_and_its_rest_filled_up() -> None:
    # 1 word; then 7 words in 3 + 3 + 1, where the last one takes the next sentence in, of 2.
    text = "Now. A b c d e f g. It ends. It does."
    assert cut_at_sentences(text, 3) == ["Now.", "A b c", "d e f", "g. It ends.", "It does."]


@given(
    st.lists(st.sampled_from(["sea", "Sea", "end.", "e.g.", "why?", "\n", "\n\n", "água."])).map(" ".join),
    st.integers(1, 9),
)
def test_cutting_at_sentences_loses_no_word_and_ends_where_a_sentence_does(text: str, words: int) -> None:
    passages = cut_at_sentences(text, words)
    assert [word for passage in passages for word in passage.split()] == text.split()
    lengths = [len(passage.split()) for passage in passages]
    assert all(1 <= length <= words for length in lengths)
    spans = [len(text[one.start : one.end].split()) for one in sentences(text)]
    # Every cut is after whole sentences, or within one of more words than a passage has.
    ends = {sum(spans[:place]) for place in range(len(spans) + 1)}
    place = 0
    for length in lengths[:-1]:
        place += length
        if place not in ends:
            start = max(end for end in ends if end < place)
            assert min(end for end in ends if end > place) - start > words
            assert (place - start) % words == 0
    # And no passage could have taken the next sentence in.
    place = 0
    for length in lengths[:-1]:
        place += length
        if place in ends and place < sum(spans):
            assert length + min(min(end for end in ends if end > place) - place, words) > words
