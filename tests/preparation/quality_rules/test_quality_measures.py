"""The measures of the step ``quality`` are what plain Python finds, and its hashes tell words apart."""

from __future__ import annotations

import math
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from quati_pool.preparation.quality_rules import characters, hashing, repetition, wording
from quati_pool.preparation.quality_rules import words as words_module
from quati_pool.preparation.quality_rules.presets import DUPLICATE_NGRAMS, TOP_NGRAMS
from quati_pool.preparation.quality_rules.stop_words import StopWords
from quati_pool.preparation.quality_rules.words import Words, words_of
from tests.preparation import plain_quality as plain

STOP_WORDS = ("de", "é", "a", "τους")
SPACES = " \t\u00a0\u3000\x1f"
BREAKS = ["\n", "\n\n", "\r\n", "\r\n\r\n", "\r", "\u2028", "\x85", "\x0c", "\n \n", " \n"]
WORDS = [
    "a",
    "b",
    "ab",
    "De",
    "é",
    "e\u0301",
    "d'a",
    "...",
    "....",
    "......",
    "…",
    "#",
    "##",
    "-",
    "• a",
    "12",
    "ΤΟΥΣ",
    "\ud800",
    "𝒳",
    "\x00",
]
TEXTS = st.lists(
    st.one_of(
        st.sampled_from(["a ", "b ", "ab "]),
        st.sampled_from(WORDS),
        st.sampled_from(list(SPACES)),
        st.sampled_from(BREAKS),
        st.characters(),
    ),
    max_size=60,
).map("".join)


def measured(texts: list[str]) -> list[dict[str, float]]:
    words = words_of(texts)
    columns = {
        "min_words": wording.number_of_words(words),
        "max_words": wording.number_of_words(words),
        "min_word_length": wording.mean_word_length(words),
        "max_word_length": wording.mean_word_length(words),
        "max_hash_signs": wording.hash_signs(words),
        "max_ellipses": wording.ellipses(words),
        "max_bullet_lines": wording.bullet_lines(words),
        "max_ellipsis_lines": wording.ellipsis_lines(words),
        "min_alphabetic_words": wording.alphabetic_words(words),
        "min_stop_words": StopWords(STOP_WORDS).held(words, np.ones(len(texts), dtype=bool)),
        "min_line_words": wording.line_words(words),
        "min_letters": wording.letters(words),
    } | repeated(words)
    return [{key: float(column[row]) for key, column in columns.items()} for row in range(len(texts))]


def repeated(words: Words) -> dict[str, np.ndarray]:
    lines, in_lines = repetition.duplicates(words.lines)
    paragraphs, in_paragraphs = repetition.duplicates(words.paragraphs)
    tops, dups = repetition.ngrams(words, TOP_NGRAMS, DUPLICATE_NGRAMS)
    return {
        "max_duplicate_lines": lines,
        "max_duplicate_line_characters": in_lines,
        "max_duplicate_paragraphs": paragraphs,
        "max_duplicate_paragraph_characters": in_paragraphs,
        **{f"max_top_{n}gram": values for n, values in tops.items()},
        **{f"max_duplicate_{n}grams": values for n, values in dups.items()},
    }


def expected(text: str) -> dict[str, float]:
    stop_words = {plain.spelt(word)[0] for word in STOP_WORDS} | {"e\u0301"}
    found = plain.wording(text, stop_words, characters.BULLETS) | plain.repetition(text)
    if {"é", "e\u0301"} <= set(plain.spelt(text)):
        # One word, composed and decomposed.
        found["min_stop_words"] = (found["min_stop_words"] or 0) - 1
    return {key: math.nan if value is None else value for key, value in found.items()}


@settings(max_examples=100, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=5))
@example(["", " ", "\n\n", "a"])
@example(["a\r", "\na", "a..", ". a", "..", "."])
@example(["a b a b a b a b a b a b a b a b", "a b a b a b a b a b a b a b a b"])
def test_every_measure_is_what_plain_python_finds(texts):
    for text, row in zip(texts, measured(texts), strict=True):
        for key, value in expected(text).items():
            assert row[key] == value or (math.isnan(row[key]) and math.isnan(value)), (key, text)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("ab", min_size=1, max_size=2), max_size=120).map(" ".join), st.text(" \n", max_size=3))
def test_repetition_in_texts_of_few_words_is_what_plain_python_finds(text, end):
    (row,) = measured([text + end])
    for key, value in expected(text + end).items():
        assert row[key] == value or (math.isnan(row[key]) and math.isnan(value)), key


@settings(max_examples=30, deadline=None)
@given(st.lists(TEXTS, min_size=2, max_size=6), st.data())
def test_measures_of_some_rows_are_the_same_without_the_others(texts, data):
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))))
    words = words_of(texts)
    some, all_ = repeated(words.of_rows(chosen)), repeated(words)
    for key, column in all_.items():
        np.testing.assert_array_equal(some[key][chosen], column[chosen], key)


def test_characters_are_what_pythons_strings_say_of_them():
    table = characters.classes()
    every = [chr(code) for code in range(characters.CODE_POINTS)]
    assert np.array_equal(table & characters.SPACE != 0, np.fromiter(map(str.isspace, every), dtype=bool))
    assert np.array_equal(table & characters.ALPHABETIC != 0, np.fromiter(map(str.isalpha, every), dtype=bool))
    assert set(characters.BREAKS) == {c for c in every[:0x3000] if len(f"a{c}b".splitlines()) == 2}
    assert all(table[ord(c)] & characters.SPACE for c in characters.BREAKS)
    lower = characters.lower_case().tolist()
    assert [c for c in every[:0x20000] if ord(c.lower()[0]) != lower[ord(c)]] == ["ς"]
    assert lower[0x20000:] == list(range(0x20000, characters.CODE_POINTS))
    assert "".join(every[0x20000:]).lower() == "".join(every[0x20000:])
    assert all(unicodedata.category(c)[0] not in "LZ" for c in characters.BULLETS)


def thue_morse(length: int, letters: str = "ab") -> str:
    return "".join(letters[bin(place).count("1") % 2] for place in range(length))


@pytest.mark.parametrize("length", [64, 1024, 2048, 4096, 8192], ids=str)
def test_thue_morse_words_get_hashes_of_their_own(length):
    first, second = thue_morse(length), thue_morse(length, "ba")
    base = 0x9E3779B97F4A7C15
    polynomial = [sum(ord(c) * pow(base, i, 2**64) for i, c in enumerate(word)) % 2**64 for word in (first, second)]
    assert (polynomial[0] == polynomial[1]) == (length >= 1024)
    words = words_of([f"{first} {second} {first}"])
    assert words.hashes[0] == words.hashes[2] != words.hashes[1]
    row = measured([f"{first} x {second} x {first} y {second} y"])[0]
    assert row["max_top_2gram"] == 0
    row = measured([f"{first}\n{second}\n{first}"])[0]
    assert row["max_duplicate_lines"] == 1 / 3


def test_series_of_words_in_the_order_of_thue_and_morse_are_told_apart():
    first, second = " ".join(thue_morse(4096)), " ".join(thue_morse(4096, "ba"))
    row = measured([f"{first}\n{second}\n{first}"])[0]
    assert row["max_duplicate_lines"] == 1 / 3


def test_hashes_of_all_short_words_and_of_near_ones_are_different():
    letters = [chr(code) for code in range(33, 127)]
    words = (
        [a + b for a in letters for b in letters]
        + letters
        + [a + b + c for a in "abc\x00" for b in "abc\x00" for c in "abc\x00"]
    )
    words += ["x" * length for length in range(3, 200)] + [
        "x" * place + "y" + "x" * (99 - place) for place in range(100)
    ]
    hashes = words_of([" ".join(words)]).hashes
    assert len(np.unique(hashes)) == len(set(words))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Z", "Cc"]), min_size=1, max_size=9), min_size=1, max_size=40)
)
def test_words_have_equal_hashes_if_they_are_equal(strings):
    text = " ".join(strings)
    known: dict[str, int] = {}
    for word, value in zip(text.split(), words_of([text]).hashes.tolist(), strict=True):
        assert known.setdefault(word, value) == value
    assert len(set(known.values())) == len(known)


def test_hashes_are_the_same_however_the_text_is_cut_in_blocks(monkeypatch):
    text = " ".join(["ab", "x" * 5000, "c", "ab", "x" * 5000, "x" * 4096, "x" * 4097, "c", "é" * 30] * 3)
    whole = words_of([text]).hashes
    for block in (1, 7, 100, 4096):
        monkeypatch.setattr(hashing, "_BLOCK", block)
        assert np.array_equal(words_of([text]).hashes, whole)


def test_texts_may_hold_no_rows_and_no_words():
    assert len(words_module.words_of([])) == 0
    assert measured(["", "\n"])[0]["min_words"] == 0
