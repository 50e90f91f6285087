"""Converts a prompt file of castorini/umbrela to a prompt in our format that sends the same messages.

Their prompt is one text with ``{query}``, ``{passage}`` and, in most few-shot prompts, ``{examples}``: a whole ``.txt``
file, or ``prefix_user`` of a YAML file. Filled by ``str.format``, it is the user turn after a system message that is
fixed in their script. The answer format is described only in the text, and differs between versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files.columns import required_grade
from quati_pool.files.formats import TableFormat
from quati_pool.files.problems import RowError
from quati_pool.files.tables import Field, read_table
from quati_pool.files.yaml_file import YamlFile
from quati_pool.judging.imported_prompts import Released, Settings, read_text
from quati_pool.records import GRADES
from quati_pool.text.templates import Template, braces_doubled

UMBRELA_FILES = ("qrel_*.txt", "qrel_*.yaml", "qrel_*.yml")

SYSTEM = "You are a helpful assistant."

# The names under which their script finds a score in an answer.
_NAMES = (
    "final score", "final_score", "O", "o_score", "overall", "overall score", "overall_score", "score",
    "relevance category",
)  # fmt: skip

# The requests that their script, gpt_judge.py, sends; the model is that of the examples in their README.
MODEL = "gpt-4o"
_ONCE = (
    "their script never asks again, and takes 0 for an answer in which it finds no score; to ask once: quati-pool "
    "judge NAME --reask 0, and such answers stay unparsed"
)
ORDINARY = Settings(
    {
        "output": "text",
        "temperature": 0.0,
        "top_p": 1.0,
        "max_tokens": 100,
        "extra_body": {"frequency_penalty": 0.5, "presence_penalty": 0},
    },
    (_ONCE,),
)
# For the releases on PyPI up to 0.0.7, whose prompts ask for JSON.
EARLY = Settings(
    {"output": "text", "temperature": None, "max_tokens": 100},
    ("prompts that ask for JSON are of umbrela up to 0.0.7, whose script sends no temperature", _ONCE),
)
REASONING = Settings(
    # 4096 in total, as in their script.
    {"output": "text", "max_tokens": 100, "reasoning_tokens": 3996},
    (
        "to o1, o3 and o4 models their script sends the system's message as the beginning of the user's; here it "
        "stays a message of its own",
        _ONCE,
    ),
)


@dataclass(frozen=True)
class _Form:
    """The answer format of a prompt: the key of the grade, and how the script shows it in examples."""

    grade: str
    line: str
    example: str
    aspects: tuple[str, ...] = ()

    @property
    def answer(self) -> dict[str, Any]:
        made: dict[str, Any] = {"grade": self.grade, "aliases": [name for name in _NAMES if name != self.grade]}
        if self.aspects:
            made["aspects"] = {name: [min(GRADES), max(GRADES)] for name in self.aspects}
        return made


_LINE = _Form("final score", "##final score: n", "##final score: {grade}")
_CATEGORY = _Form("relevance category", "Relevance category: n", "##final score: {grade}")
_OBJECT = _Form("O", '{"O": n}', "Output: {{'O': {grade}}}")
_OBJECT_OF_ALL = _Form("O", '{"M": n, "T": n, "O": n}', "Output: {{'O': {grade}}}", ("M", "T"))

_EXAMPLE = """
                ###

                Query: {query}
                Passage: {passage}
                {answer}
                """
"""The format of an example in their script, including its white space."""

_TABLES: dict[str, TableFormat] = {".tsv": "tsv", ".csv": "csv", ".jsonl": "jsonl"}

_REASK = """\
No grade could be read from your answer: {{problem}}.
Answer again with nothing but {line}, where n is a single whole number from {low} to {high}."""


def find_umbrela_file(paths: Iterable[Path]) -> Path:
    """The prompt file among ``paths``, a file or a folder that holds one.

    Raises QuatiPoolError if there are several.
    """
    found = []
    for path in paths:
        inside = sorted(file for pattern in UMBRELA_FILES for file in path.glob(pattern))
        found += inside if path.is_dir() else [path]
    if len(found) > 1:
        raise QuatiPoolError(f"there are several prompts ({', '.join(map(str, found))}); name the one you want")
    return found[0]


def read_umbrela_file(
    path: Path, examples: Path | None = None, language: str = "en", scale: Mapping[int, str] = GRADES
) -> Released:
    """An unfenced prompt that sends the same messages as their script, and the script's request to a server.

    ``examples`` fills ``{examples}``: a table (.tsv, .csv, .jsonl) of query, passage and relevance, formatted as the
    script formats the examples that it draws, by grade; or a text (.txt), used unchanged. ``scale`` determines which
    grades are accepted and changes no message; their files state it only in prose.

    Raises InputError if a file is invalid, QuatiPoolError if examples are missing or the prompt has no ``{examples}``.
    """
    text, notes = _template(path)
    try:
        template = Template(text, {"query", "passage", "examples"})
    except ValueError as error:
        raise InputError(path, None, str(error)) from None
    lacking = sorted({"query", "passage"} - template.variables)
    if lacking:
        raise InputError(path, None, f"is not a prompt of umbrela: has no {{{lacking[0]}}}")
    form = _form(text)
    if form is _CATEGORY:
        notes.append(
            f"{path.name} asks for reasons and then a grade alone on the last line, which nothing marks as the "
            "verdict: such answers are unparsed at first, and asked for again by name"
        )
    shown = ""
    if "examples" in template.variables:
        if examples is None:
            raise QuatiPoolError(
                f"{path}: has a place {{examples}}, which their script fills from qrels; "
                "add --examples FILE, a table of query, passage and relevance, or a text as it is"
            )
        shown = _examples(examples, form, scale)
    elif examples is not None:
        raise QuatiPoolError(f"{path}: has no place {{examples}}; drop --examples")
    low, high = min(scale), max(scale)
    prompt: dict[str, Any] = {
        "language": language,
        "fenced": False,
        "scale": dict(scale),
        "system": SYSTEM,
        "user": template.filled("examples", shown),
        "answer": form.answer,
        "reask": _REASK.format(line=braces_doubled(form.line), low=low, high=high),
    }
    names = [path.name, *([examples.name] if examples else [])]
    ordinary = EARLY if form in (_OBJECT, _OBJECT_OF_ALL) else ORDINARY
    return Released(", ".join(names), prompt, MODEL, ordinary, REASONING, tuple(notes))


def _template(path: Path) -> tuple[str, list[str]]:
    """The text that their script fills in, and notes about its file."""
    if path.suffix not in (".yaml", ".yml"):
        # Line ends are normalised and the text is stripped, as in their script.
        return read_text(path).replace("\r\n", "\n").replace("\r", "\n").strip(), []
    data = YamlFile(path).data
    text = data.get("prefix_user") if isinstance(data, dict) else None
    if not isinstance(text, str):
        raise InputError(path, None, "is not a prompt of umbrela: has no text prefix_user")
    other = data.get("system_message")
    if not other:
        return text, []
    return text, [f"{path.name} has a system_message, which their script does not send: it sends {SYSTEM!r}"]


def _form(text: str) -> _Form:
    """The answer format that a prompt's text asks for."""
    if re.search(r"##\s*final score\s*:", text, re.IGNORECASE):
        return _LINE
    if "JSON" in text:
        named = re.search(r"\(\s*format\s*:\s*[\"']?o\b", text, re.IGNORECASE)
        every = all(f"({name})" in text for name in "MTO")
        return _OBJECT_OF_ALL if every and not named else _OBJECT
    return _CATEGORY if "relevance category" in text.lower() else _LINE


def _examples(path: Path, form: _Form, scale: Mapping[int, str]) -> str:
    if path.suffix == ".txt":
        return read_text(path)
    table = _TABLES.get(path.suffix)
    if table is None:
        raise InputError(path, None, "holds no examples; expected .tsv, .csv or .jsonl, or .txt to be taken as it is")
    fields = [Field(name, name) for name in ("query", "passage", "relevance")]
    rows = []
    for line, (query, passage, relevance) in read_table(path, table, fields):
        try:
            grade = required_grade(relevance)
        except RowError as fault:
            raise InputError(path, line, str(fault)) from None
        if grade not in scale:
            raise InputError(path, line, f"relevance {grade} is not on the scale {', '.join(map(str, sorted(scale)))}")
        rows.append((grade, _EXAMPLE.format(query=query, passage=passage, answer=form.example.format(grade=grade))))
    # Their script draws a number of examples of each grade, from 0 up.
    return "".join(example for _, example in sorted(rows, key=lambda row: row[0]))
