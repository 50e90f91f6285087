"""Segments: they give back the text, end where sentences do, and cut no word and no grapheme that fits."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from quati_pool.preparation.batch import WHOLE, Batch
from quati_pool.preparation.cutting import cuts
from quati_pool.preparation.steps.segment import Segment

# Text as hostile as the web's: words, white space of all kinds, marks, letters of many scripts, joined emoji.
ATOMS = [
    *"abz. ,;:!?…()\"'»-–/1年。！？、กअ",
    *[" ", " ", " ", "\n", "\n\n", "\r\n", "\t", "\xa0", "\u2028", "\u2029", "\u3000", "\x85", "\x00", "\x1c"],
    *[
        "Sr. ",
        "palavra ",
        "Fim. ",
        "e.g. ",
        "3.14",
        "\n1. ",
        "e\u0301",
        "👨\u200d👩\u200d👧",
        "🇧🇷",
        "각",
        "\u0301",
        "\u200d",
    ],
]
texts = st.lists(st.sampled_from(ATOMS) | st.characters(codec="utf-8"), max_size=120).map("".join)


@st.composite
def lengths(draw: st.DrawFn) -> tuple[int, int, int, int]:
    """Characters, tolerance, overlap and min_characters that fit together."""
    characters = draw(st.integers(1, 40))
    tolerance = draw(st.integers(0, characters - 1))
    shortest = characters - tolerance
    return characters, tolerance, draw(st.integers(0, shortest // 2)), draw(st.integers(0, shortest))


def passages(text: str, *settings: int) -> list[str]:
    return [text[start:end].strip() for start, end in cuts(text, *settings)]


def pages(*found: str) -> Batch:
    rows = len(found)
    ids = [f"p{row}" for row in range(rows)]
    numbers = np.arange(rows)
    whole = np.full(rows, WHOLE)
    return Batch(
        ids, [f"https://a.br/{row}" for row in ids], [""] * rows, list(found), numbers, whole, numbers * 0, numbers + 1
    )


@given(text=texts, settings=lengths())
def test_cuts_give_back_the_text(text: str, settings: tuple[int, int, int, int]) -> None:
    characters, tolerance, _, shortest_last = settings
    found = cuts(text, characters, tolerance, 0, shortest_last)
    assert "".join(text[start:end] for start, end in found) == text
    assert all(start < end for start, end in found)


@given(text=texts, settings=lengths())
def test_overlapping_cuts_cover_the_text_and_move_on(text: str, settings: tuple[int, int, int, int]) -> None:
    characters, tolerance, overlap, shortest_last = settings
    found = cuts(text, characters, tolerance, overlap, shortest_last)
    assert (found[0][0], found[-1][1]) == (0, len(text)) if text else not found
    for (start, end), (next_start, next_end) in pairwise(found):
        assert start < next_start <= end < next_end
        # "About": at most half as much again.
        assert end - next_start <= overlap + overlap // 2


words = st.lists(st.text("abcdefghij.,", min_size=1, max_size=9), max_size=60).map(" ".join)


@given(text=words, settings=lengths())
def test_passages_keep_their_length_and_no_word_is_cut_that_a_passage_can_hold(
    text: str, settings: tuple[int, int, int, int]
) -> None:
    characters, tolerance, _, _ = settings
    shortest, longest = characters - tolerance, characters + tolerance
    found = cuts(text, characters, tolerance)
    for start, end in found:
        assert len(text[start:end].strip()) <= longest
    for (start, end), _ in pairwise(found):
        if not text[end - 1].isspace():
            first = max(text.rfind(" ", 0, end) + 1, start)
            assert len(text[first:].split(" ", 1)[0]) > longest
        elif len(text[start:end].strip()) < shortest:
            # It ends early, so there is no word's end in reach.
            assert " " not in text[start + shortest : start + longest + 1]


# Each is one grapheme by UAX 29, and none joins the one that follows it.
GRAPHEMES = [
    "a",
    "年",
    "e\u0301",
    "a\u0301\u0323\u0308",
    "👨\u200d👩\u200d👧",
    "👩🏽\u200d🚀",
    "🇧🇷",
    "각",
    "\u1112\u1161\u11ab",
    "\r\n",
    "❤\ufe0f",
    "ก\u0e33",
    "त\u0947",
    "1\ufe0f\u20e3",
]


@given(parts=st.lists(st.sampled_from(GRAPHEMES), max_size=80), settings=lengths())
def test_no_grapheme_is_cut(parts: list[str], settings: tuple[int, int, int, int]) -> None:
    borders = set(np.cumsum([0, *map(len, parts)]).tolist())
    found = cuts("".join(parts), *settings)
    assert {place for cut in found for place in cut} <= borders


@pytest.mark.parametrize("tail", ["", "b", "b" * 5000], ids=["nothing", "one letter", "a long word"])
def test_a_grapheme_longer_than_any_passage_stays_whole(tail: str) -> None:
    giant = "a" + "\u0301" * 5000
    text = giant + tail
    assert cuts(text, 1000, 200)[0] == (0, 5001)
    # After what fits before it, it has a passage of its own.
    assert cuts("x" * 300 + text, 1000, 200)[:2] == [(0, 300), (300, 5301)]


def test_a_mark_on_a_space_stays_with_it() -> None:
    # At 10 the space carries an acute accent, so the cut is at the other space, further from the target.
    assert cuts("aaaaaaaaaa \u0301bbb cccccccccc", 10, 5) == [(0, 16), (16, 26)]


KINDS = {
    # The end of each passage is told by "|"; 20 characters are aimed at, 10 more or less allowed.
    "blank line": "Um dois três.\n\n|Quatro cinco. Seis. Sete",
    "blank line with spaces": "Um dois três.\n \t\n|Quatro cinco. Seis. Sete",
    "blank line of Windows": "Um dois três.\r\n\r\n|Quatro cinco. Seis. Sete",
    "line": "Um dois três\n|Quatro cinco, seis. Sete oito",
    "line of Windows": "Um dois três\r\n|Quatro cinco. Seis. Sete",
    "no line but a wrapped sentence": "Um dois três quatro\ncinco. |Seis sete oito",
    "no line but a wrapped sentence of one clause": "Um dois três\nquatro cinco, |seis sete oito nove",
    "line after a mark, small letter next": "Um dois três.\n|quatro cinco, seis. Sete oito",
    "sentence": "Um dois três. |Quatro cinco, seis sete oito",
    "sentence with closing quotes": "“Um dois três.” |Quatro cinco, seis sete oito",
    "question": "Um dois três? |Quatro cinco, seis sete oito",
    "exclamation inside a sentence": "“Um dois!” disse três quatro, |cinco seis sete",
    "ellipsis": "Um dois três... |Quatro cinco, seis sete oito",
    "clause": "Um dois três, |quatro cinco seis sete oito nove",
    "dash": "Um dois três – |quatro cinco seis sete oito nove",
    "white space, the nearest": "Um dois três quatro |cinco seis sete oito",
    "white space, of two equally near the earlier": "Um dois tres quatr |abc cinco seis sete oito",
    "no break space is a last resort": "Umdoistres\xa0quatrocincosx |seis sete oitonove",
    "only no break spaces": "Umdoistresquatro\xa0cinco\xa0|seissete\xa0oitonove",
    "title": "Falou ontem Dr. Silva, |que nada mais disse a nós",
    "title with points inside": "Falou tudo p.ex. Silva, |que nada mais disse a nós",
    "title after a bracket": "Falou ontem (Sra. Silva, |que nada mais disse)",
    "initial": "Falou ontem J. Silva, |que nada mais disse a nós",
    "initials": "Nasceu nos E.U.A. Depois, |que nada mais disse a nós",
    "small letter next": "Comprou uvas etc. e peras, |que nada mais disse",
    "etc. before a capital": "Comprou uvas etc. |Depois, que nada mais disse",
    "number with a point": "O número 3.1415 é de pi, |que nada mais disse",
    "number at the end of a sentence": "Foi no ano 1998. |Depois, que nada mais disse",
    "item of a list": "Um dois\n12. Quatro, |cinco seis sete oito",
    "danda": "यह एक वाक्य है। |यह दूसरा, वाक्य है और लंबा",
    "Arabic question": "هل هذا سؤال؟ |نعم، هذا سؤال طويل جدا",
    "Japanese": "これはとても短い文です。|これも文です、そして長い文がまだ続きます",
    "Japanese with a closing bracket": "「これはとても短い文です。」|これも文です、そして長い文がまだ続きます",
    "Japanese clause": "これはとても短い文であり、|これも文であってそして長い文がまだ続きます",
}


@pytest.mark.parametrize("marked", KINDS.values(), ids=KINDS.keys())
def test_the_first_cut_is_at_the_best_kind_of_end(marked: str) -> None:
    first, rest = marked.split("|")
    assert cuts(first + rest, 20, 10)[0] == (0, len(first))


def test_an_item_s_number_stays_with_the_item() -> None:
    # Without the rule for lists "2." would be the nearest end of a sentence.
    text = "Um dois três quatro; cinco\n  2. Seis sete oito nove dez onze"
    assert passages(text, 26, 4)[1].startswith("2. Seis")


def test_a_word_longer_than_any_passage_is_cut_at_the_length() -> None:
    assert cuts("k" * 2500, 1000, 200) == [(0, 1000), (1000, 2000), (2000, 2500)]


def test_a_long_address_is_cut_at_punctuation() -> None:
    text = "https://exemplo.com.br/" + "a" * 15 + "/" + "b" * 40
    # The slash ends at 39, one off the target.
    assert cuts(text, 40, 5)[0] == (0, 39)


def test_a_word_that_a_passage_can_hold_begins_one() -> None:
    # No end in reach of 10 ± 2: the word of 9 letters would be cut.
    assert cuts("ab cd fghijklmn op", 10, 2) == [(0, 6), (6, 18)]


def test_white_space_counts_for_no_length_and_stays_with_the_passage_before() -> None:
    text = "  \n" + "a" * 10 + " " * 5000 + "b" * 10 + "\n" * 300
    assert cuts(text, 10, 2) == [(0, 5013), (5013, len(text))]


def test_the_last_passage_gets_what_it_must_have_at_least() -> None:
    text = "aaaa " * 25 + "bb"  # 127 characters
    assert [len(found) for found in passages(text, 100, 20)] == [99, 27]
    # 50 of 127 leave 77, less than the shortest: nothing changes; 40 leave 87.
    assert [len(found) for found in passages(text, 100, 20, 0, 50)] == [99, 27]
    assert [len(found) for found in passages(text, 100, 20, 0, 40)] == [84, 42]


def test_an_overlap_begins_at_the_start_of_a_sentence() -> None:
    text = " ".join(f"Frase número {number:02d} aqui." for number in range(20))  # 21 characters and a space each
    found = cuts(text, 100, 20, 30)
    # Sentences end at 22 k - 1: of 87 and 109 the second is nearer to 100, and of 65 and 87 to 110 - 30.
    assert found[:2] == [(0, 110), (88, 198)]
    assert all(text[start:].startswith("Frase") for start, _ in found)


def test_without_a_place_for_it_there_is_no_overlap() -> None:
    assert cuts("k" * 25, 10, 0, 5) == [(0, 10), (10, 20), (20, 25)]


@pytest.mark.parametrize("text", ["", " ", "\n\n\u3000\t\x85" * 500], ids=["empty", "space", "much white space"])
def test_a_page_without_text_gives_none(text: str) -> None:
    found, verdicts = Segment(Segment.Parameters()).cut(pages(text, "Uma frase."))
    assert (found.ids, found.text) == (["p1_0"], ["Uma frase."])
    assert verdicts.codes.tolist() == [1, 0]
    assert Segment(Segment.Parameters()).reasons == ("no text",)
    assert verdicts.detail(0) == ("empty" if not text else f"{len(text):,} characters, all white space")


@given(found=st.lists(texts, max_size=6), ends=st.integers(0, 6))
def test_passages_are_the_same_whatever_batch_their_page_is_in(found: list[str], ends: int) -> None:
    step = Segment(Segment.Parameters(characters=20, tolerance=8))
    batch = pages(*found)
    whole, verdicts = step.cut(batch)
    parts = [step.cut(batch.take(np.arange(len(found))[rows])) for rows in (slice(0, ends), slice(ends, None))]
    for name in ("ids", "url", "text"):
        assert getattr(whole, name) == [value for part, _ in parts for value in getattr(part, name)]
    for name in ("page", "index", "line"):
        assert getattr(whole, name).tolist() == [value for part, _ in parts for value in getattr(part, name)]
    assert verdicts.codes.tolist() == [code for _, part in parts for code in part.codes]
    assert all(text and text == text.strip() for text in whole.text)


def test_ids_count_the_passages_of_each_page() -> None:
    found, _ = Segment(Segment.Parameters(characters=4, tolerance=1)).cut(pages("abcd efgh ijkl", "mnop", "qrst uvwx"))
    assert found.ids == ["p0_0", "p0_1", "p0_2", "p1_0", "p2_0", "p2_1"]
    assert found.text == ["abcd", "efgh", "ijkl", "mnop", "qrst", "uvwx"]


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"characters": 100}, "tolerance 200 allows passages of no length; expected less than characters, 100"),
        ({"overlap": 401}, "overlap 401 leaves too little that is new; expected at most half of the shortest"),
        ({"min_characters": 801}, "min_characters 801 is more than other passages have; expected at most"),
        ({"characters": 0}, "greater than or equal to 1"),
    ],
    ids=["tolerance", "overlap", "min_characters", "characters"],
)
def test_lengths_that_do_not_fit_are_refused(settings: dict[str, int], fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        Segment.Parameters(**settings)


@pytest.mark.parametrize(
    "text",
    [
        "🇧" * 10_000,
        ("a" + "\u0301" * 1100) * 20,
        "." * 10_000,
        ("." + '"' * 300) * 50,
        ("a" + "\n" * 464) * 40,
        (" " * 300 + "\n") * 50 + "a",
        "a\xa0" * 10_000,
    ],
    ids=["flags", "piled marks", "dots", "quotes", "blank lines", "white space", "no-break spaces"],
)
def test_hostile_pages_are_given_back(text: str) -> None:
    for settings in ((1000, 200), (1000, 999, 0, 1), (3, 0)):
        assert "".join(text[start:end] for start, end in cuts(text, *settings)) == text
