"""Which language is spoken, how counts and numbers are written in it, and that what the store refuses has words."""

from __future__ import annotations

import inspect
import re

import pytest

from annotator_app import words
from quati_pool.commands.annotate.grading.answer import REASONS
from quati_pool.store.errors import ConflictError

ONLY_OF_WRITING = {"used", "revealed"}
"""Why an undo is refused in the rounds of writing; a grade is taken back whatever came of it."""


def test_every_reason_and_every_conflict_has_words() -> None:
    reasons = {f"annotate.reason.{reason}" for reason in REASONS}
    quoted = set(re.findall(r"``(\w+)``", ConflictError.__doc__ or ""))
    conflicts = quoted - {*inspect.signature(ConflictError).parameters}
    assert {"done", "taken", "withdrawn", "gone", "changed", *ONLY_OF_WRITING} <= conflicts
    graded = {f"annotate.conflict_{reason}" for reason in conflicts - ONLY_OF_WRITING}
    written = {f"authoring.conflict.{reason}" for reason in conflicts}
    assert reasons | graded | written <= set(words.messages("en"))


def test_a_count_chooses_its_form_and_is_written_as_the_language_does() -> None:
    assert words.message("en", "annotate.put_off", count=1) == "1 put off"
    assert words.message("pt", "annotate.put_off", count=1) == "1 adiado"
    assert words.message("pt", "annotate.put_off", count=1200) == "1.200 adiados"


def test_what_fills_a_message_is_not_read_as_one() -> None:
    assert words.message("en", "annotate.stored", grade="{count} %s") == "Stored: {count} %s"


@pytest.mark.parametrize(
    ("language", "expected"), [("pt", "1.234,50"), ("en", "1,234.50"), ("es", "1\N{NO-BREAK SPACE}234,50")]
)
def test_numbers(language: str, expected: str) -> None:
    assert words.number(language, 1234.5, 2) == expected
    assert words.number(language, None) == "–"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("pt-BR,pt;q=0.9,en;q=0.8", "pt"),
        ("de,es;q=0.7,en;q=0.3", "es"),
        ("en;q=0.1, es;q=0.9", "es"),
        ("es;q=0, pt", "pt"),
        ("de, fr", "en"),
        ("", "en"),
        ("pt;q=x, ,;;, es", "es"),
        ("*", "en"),
        ("a" * 10_000, "en"),
    ],
)
def test_the_browsers_language_is_taken_where_we_speak_it(header: str, expected: str) -> None:
    assert words.best(words.accepted(header)) == expected
