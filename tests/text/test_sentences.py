"""Sentences cover what is shown and cut nothing that is shown as one."""

from __future__ import annotations

import time

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from quati_pool.text.sentences import sentences

# Marks of several scripts, what joins, closes and opens, white space of all kinds, and letters of both cases.
TRICKY = (
    "aAéÉ1.!?…。！।؟\"'”»)(“«*-,;: \t\n\r\v\x1c\x85\xa0\u2003\u2028\u2029\u3000\u0301\u0308\u093e\u0e33\u0600"
    "\u200c\u200d\ufe0f\ufeff\uff9e😀🏽\U0001f1e7\U000e0041\u1100\u1161\u3099中한が"
)


def parts(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t ", []),
        ("ovo", ["ovo"]),
        ("  Um ovo.  Dois ovos!\n", ["Um ovo.", "Dois ovos!"]),
        # Abbreviations, initials and decimal numbers end no sentence.
        ("O Sr. J. Silva pagou R$ 3.50 em jan. de 2001. Foi caro.",
         ["O Sr. J. Silva pagou R$ 3.50 em jan. de 2001.", "Foi caro."]),
        ("Ela disse: «Não.» Ele saiu.", ["Ela disse: «Não.»", "Ele saiu."]),
        ("今日は晴れ。明日は雨。", ["今日は晴れ。", "明日は雨。"]),
        # A heading, a wrapped line that goes on, list items, and a paragraph without a mark.
        ("Receita\nBata o ovo e\nasse o bolo\n1. Ovos\n2. Leite\n\ncom calma",
         ["Receita", "Bata o ovo e\nasse o bolo", "1. Ovos", "2. Leite", "com calma"]),
        ("um\r\ndois\r\n\r\ntrês", ["um\r\ndois", "três"]),
        # An accent on a blank is shown with it: here nothing is cut.
        ("Um. \u0301Dois.", ["Um. \u0301Dois."]),
    ],
)  # fmt: skip
def test_worked_examples(text: str, expected: list[str]) -> None:
    assert parts(text) == expected


@given(st.text(st.sampled_from(TRICKY)) | st.text())
@example("。\uff9e")
@example("a. \U0001f3fdb")
@example("\n a")
def test_every_visible_character_is_in_one_sentence_and_no_grapheme_is_cut(text: str) -> None:
    found = sentences(text)
    covered = [place for start, end in found for place in range(start, end)]
    assert covered == sorted(set(covered))
    assert {place for place, character in enumerate(text) if not character.isspace()} <= set(covered)
    assert all(part == part.strip() != "" for part in parts(text))
    # The third-party package regex knows graphemes by the Unicode tables.
    borders = {match.start() for match in regex.finditer(r"\X", text)}
    assert all(start in borders for start, _ in found[1:])


@pytest.mark.parametrize("text", [" " * 200_000, "a. " * 70_000, "." * 200_000, "a\n" * 100_000, "。」" * 100_000])
def test_the_time_is_proportional_to_the_length(text: str) -> None:
    began = time.perf_counter()
    sentences(text)
    assert time.perf_counter() - began < 3
