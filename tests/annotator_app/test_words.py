"""The interface's messages: the same in every language, and numbers as each writes them."""

from __future__ import annotations

import re
import string
from importlib.resources import files

import pytest

from annotator_app import words
from quati_pool.commands.annotate.grading.answer import REASONS
from quati_pool.store.errors import ConflictError

OTHERS = sorted(set(words.LANGUAGES) - {"en"})


def fields(message: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(message) if name is not None}


@pytest.mark.parametrize("language", OTHERS)
def test_every_language_says_the_same_things(language: str) -> None:
    english, other = words.messages("en"), words.messages(language)
    assert list(english) == list(other)
    assert [key for key in english if fields(english[key]) != fields(other[key])] == []
    assert [key for key, text in other.items() if not text] == []


def test_every_message_that_the_code_names_is_there_and_every_one_there_is_named() -> None:
    code = "".join(
        path.read_text(encoding="utf-8")
        for folder in (files("annotator_app"), files("annotator_app") / "pages", files("annotator_app") / "templates")
        for path in folder.iterdir()
        if path.name.endswith((".py", ".j2"))
    )
    english = words.messages("en")
    named = set(re.findall(r'"((?:app|sign_in|sign_out)\.[a-z_]+)"', code.replace("'", '"')))
    named -= {"app.css", "sign_in.css"}
    named |= {f"app.{page}" for page in ("annotate", "guidelines", "questions", "review", "dashboard")}
    known = {key.removesuffix(".one").removesuffix(".other") for key in english}
    assert named - known == set()
    ours = {key for key in known if key.startswith(("app.", "sign_in.", "sign_out."))}
    assert ours - named == set()
    # Those of the annotate page are named by their last part, and some by what a reason or a conflict is.
    quoted = set(re.findall(r'"([a-z_]+)"', code)) | set(REASONS)
    annotate = {key.split(".")[1] for key in known if key.startswith("annotate.")}
    assert {key for key in annotate - quoted if not key.startswith(("conflict_", "reason"))} == set()


def test_every_reason_and_every_conflict_has_words() -> None:
    reasons = {f"annotate.reason.{reason}" for reason in REASONS}
    told = re.findall(r"``(\w+)``", ConflictError.__doc__ or "")
    conflicts = {f"annotate.conflict_{reason}" for reason in told if reason != "reason"}
    assert {f"annotate.conflict_{reason}" for reason in ("done", "taken", "withdrawn", "gone", "changed")} <= conflicts
    assert reasons | conflicts <= set(words.messages("en"))


def test_a_count_chooses_its_form_and_is_written_as_the_language_does() -> None:
    assert words.message("en", "annotate.put_off", count=1) == "1 put off"
    assert words.message("pt", "annotate.put_off", count=1) == "1 adiada"
    assert words.message("pt", "annotate.put_off", count=1200) == "1.200 adiadas"


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
