"""The interface's messages: the same in every language, each used, and none that the code asks for is missing."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

import annotator_app
import quati_pool
from annotator_app import words

FOLDER = Path(annotator_app.__file__).parent
OTHERS = [language for language in words.LANGUAGES if language != "en"]
ENGLISH = words.messages("en")
SECTIONS = {key.partition(".")[0] for key in ENGLISH}
# What a module puts before the keys it asks for: def _say(key): return context.say(f"questions.{key}").
_PREFIX = re.compile(r"""def _say\b.*?\(f["']([a-z_.]+)\.\{key\}""", re.DOTALL)


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def asked() -> Iterator[tuple[str, str, str]]:
    """Every string of the code: its file, itself with each filled-in part as *, and the prefix of its module."""
    for path in sorted(FOLDER.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        found = _PREFIX.search(text)
        # The requests of the grading page name messages that its view says.
        prefix = f"{found[1]}." if found else "annotate." if path.name == "grading_api.py" else ""
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path.name, node.value, prefix
            elif isinstance(node, ast.JoinedStr):
                parts = (str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values)
                yield path.name, "".join(parts), prefix
    for path in sorted(FOLDER.rglob("*.j2")):
        for _, key in re.findall(r"""say\((["'])(.+?)\1""", path.read_text(encoding="utf-8")):
            yield path.name, key, ""


def refusals() -> set[str]:
    """The reasons for which answers and remarks are refused; the grading page's messages are named after them."""
    folder = Path(quati_pool.__file__).parent / "commands" / "annotate"
    return {
        node.args[1].value
        for path in (folder / "grading" / "answer.py", folder / "remarks.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "AnswerError" and len(node.args) > 1
        if isinstance(node.args[1], ast.Constant) and isinstance(node.args[1].value, str)
    }


def reasons_of_forms() -> dict[str, set[str]]:
    """The reasons for which a form is refused, doubted, or something in it pointed out, by what is raised or made."""
    found: dict[str, set[str]] = {"WritingError": set(), "Doubt": set(), "Flag": set()}
    root = Path(quati_pool.__file__).parent
    for folder in (root / "annotation" / "authoring", root / "commands" / "annotate" / "authoring"):
        for path in sorted(folder.glob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                made = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
                if isinstance(node, ast.Call) and made in found and len(node.args) > 1:
                    reason = node.args[made == "WritingError"]
                    if isinstance(reason, ast.Constant) and isinstance(reason.value, str):
                        found[made].add(reason.value)
    return found


def sentences() -> dict[str, set[str]]:
    """The keywords of everything that commands say in such a way that a page can say it too, with the names of the
    values that each fills in."""
    found: dict[str, set[str]] = {}
    for path in sorted(Path(quati_pool.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "TranslatableText":
                keyword = node.args[1]
                assert isinstance(keyword, ast.Constant), f"{path}:{node.lineno}"
                names = {str(one.arg) for one in node.keywords}
                assert found.setdefault(str(keyword.value), names) == names, f"{path}:{node.lineno}"
    return found


def exists(key: str) -> bool:
    return key in ENGLISH or f"{key}.other" in ENGLISH


@pytest.mark.parametrize("language", OTHERS)
def test_every_language_has_the_same_keys_in_the_same_order(language: str) -> None:
    assert list(words.messages(language)) == list(ENGLISH)


@pytest.mark.parametrize("language", OTHERS)
def test_every_message_fills_in_the_same_values(language: str) -> None:
    theirs = words.messages(language)
    assert {key: fields(text) for key, text in theirs.items()} == {key: fields(text) for key, text in ENGLISH.items()}


@pytest.mark.parametrize("language", list(words.LANGUAGES))
def test_every_message_says_something_in_one_line(language: str) -> None:
    for key, text in words.messages(language).items():
        assert text, key
        assert text.isprintable(), key


def test_every_counted_message_has_both_forms() -> None:
    ends = {key.rpartition(".")[::2] for key in ENGLISH}
    counted = {stem for stem, end in ends if end == "one"}
    assert counted
    assert all((stem, "other") in ends for stem in counted)


def choices(node: ast.expr) -> Iterator[str]:
    """The strings that an argument may be: itself, or either side of a condition."""
    if isinstance(node, ast.IfExp):
        yield from choices(node.body)
        yield from choices(node.orelse)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def test_every_key_that_the_code_asks_for_is_there() -> None:
    wanted = set()
    for path in sorted(FOLDER.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        found = _PREFIX.search(source)
        for call in ast.walk(ast.parse(source)):
            if isinstance(call, ast.Call) and call.args:
                name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
                if name in ("say", "_say"):
                    prefix = f"{found[1]}." if found and name == "_say" else ""
                    wanted |= {f"{prefix}{key}" for key in choices(call.args[0])}
    wanted |= {text for file, text, _ in asked() if file.endswith(".j2")}
    assert {"app.title", "questions.propose", "annotate.undo", "sign_in.title"} <= wanted
    assert not {key for key in wanted if not exists(key)}


def test_every_reason_for_refusing_an_answer_has_words() -> None:
    assert {"evidence_needed", "remark_empty"} <= refusals()
    assert not {reason for reason in refusals() if not exists(f"annotate.{reason}")}


def test_every_reason_about_a_form_has_words() -> None:
    found = reasons_of_forms()
    assert {"empty", "same_words", "no_comment"} <= found["WritingError"]
    assert {"decontextualised"} <= found["Doubt"]
    assert {"swapped", "same_text"} <= found["Flag"]
    sections = {"WritingError": "refused", "Doubt": "doubt", "Flag": "flag"}
    wanted = {f"authoring.{sections[made]}.{reason}" for made, reasons in found.items() for reason in reasons}
    assert not {key for key in wanted if not exists(key)}


@pytest.mark.parametrize("language", list(words.LANGUAGES))
def test_what_commands_say_has_words_with_the_same_values(language: str) -> None:
    of_values = sentences()
    assert {"one_grade", "few_pairs", "nobody_graded", "off_scale"} <= set(of_values)
    there: dict[str, set[str]] = {}
    for key, text in words.messages(language).items():
        section, _, name = key.partition(".")
        if section == "commands":
            keyword = name.removesuffix(".one").removesuffix(".other")
            assert ("count" in of_values.get(keyword, ())) is (keyword != name), f"{key} counts, or does not"
            there[keyword] = there.get(keyword, set()) | fields(text)
    assert there == of_values


def test_no_message_is_unused() -> None:
    used = {f"annotate.{reason}" for reason in refusals()}
    patterns: set[str] = set()
    for _, text, prefix in asked():
        for key in {text, f"{prefix}{text}"}:
            if "*" not in key:
                used.add(key)
            elif key.partition(".")[0] in SECTIONS and (not prefix or text != f"{prefix}*"):
                patterns.add(re.escape(key).replace(r"\*", "[^.]+"))
    left = []
    for key in ENGLISH:
        names = {key, key.removesuffix(".one").removesuffix(".other")}
        if not names & used and not any(re.fullmatch(pattern, name) for pattern in patterns for name in names):
            left.append(key)
    assert not left
