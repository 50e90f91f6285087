"""Converts the prompt files released by the Quati authors to a prompt in our format that sends the same messages.

There are three: ``initial_prompt_*.json`` (the system message), ``examples_*.json`` (pairs of turns) and
``config.json`` (formats, filled with the passage and then the query, and a pattern that names the answer's
keys). The pattern's escapes are not valid JSON, so a backslash that escapes nothing is read literally. Their
script decodes non-ASCII letters in a format as Latin-1; the released formats have none, and here they are read
as written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any

from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.judging.imported_prompts import Released, Settings, read_text
from quati_pool.records import GRADES
from quati_pool.text.templates import braces_doubled

INITIAL_PROMPT, EXAMPLES, CONFIG = "initial_prompt_*.json", "examples_*.json", "config.json"

# The request that their script, relevance.py, sends for one completion; the model is that of their released qrels.
MODEL = "gpt-4-1106-preview"
_ONCE = "their script never asks again for an answer that it cannot read; to ask once: quati-pool judge NAME --reask 0"
ORDINARY = Settings(
    {
        "output": "text",
        "temperature": 0.0,
        "top_p": 1.0,
        "max_tokens": 500,
        "extra_body": {"frequency_penalty": 0, "presence_penalty": 0},
    },
    (
        "for N completions their script sends n and temperature 1 (samples: N, together: true, temperature: 1.0), and "
        "rounds a mean of x.5 to the even grade, where aggregate: mean rounds it up",
        _ONCE,
    ),
)
REASONING = Settings(
    {"output": "text", "max_tokens": 500},
    ("their script asks models named gpt-4… alone; a model that reasons takes no temperature and no penalties", _ONCE),
)

_REASK = """\
Não foi possível ler a nota na sua resposta. Motivo: {{problem}}.
Responda de novo apenas com o objeto JSON, com os campos "{reasoning}" e "{grade}", nesta ordem; \
"{grade}" deve ser um único número inteiro da escala."""

_BACKSLASH = re.compile(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})?')
# A key in the answer pattern: a word, the character class of its quotes, and the colon that follows.
_KEY = re.compile(r"([^\W\d_][\w -]*?)[\[\]\\\"']+(?:\\s[*+?]?)?:")


@dataclass(frozen=True)
class QuatiFiles:
    """The paths of the three files; the examples are optional."""

    initial_prompt: Path
    examples: Path | None
    config: Path


def find_quati_files(paths: Iterable[Path]) -> QuatiFiles:
    """The three files among ``paths``, which are files or folders that hold them; recognised by their names.

    Raises QuatiPoolError if one is missing or there are several of a kind.
    """
    found: dict[str, list[Path]] = {INITIAL_PROMPT: [], EXAMPLES: [], CONFIG: []}
    for path in paths:
        if path.is_dir():
            for pattern, files in found.items():
                files += sorted(path.glob(pattern))
            continue
        kind = next((pattern for pattern in found if path.match(pattern)), None)
        if kind is None:
            raise QuatiPoolError(f"{path}: is not one of the Quati files; expected {', '.join(found)}")
        found[kind].append(path)
    for pattern, files in found.items():
        if len(files) > 1:
            names = ", ".join(map(str, files))
            raise QuatiPoolError(f"there are several files {pattern} ({names}); name the one you want")
        if not files and pattern != EXAMPLES:
            raise QuatiPoolError(f"there is no {pattern} among what you named; add it")
    examples = found[EXAMPLES]
    return QuatiFiles(found[INITIAL_PROMPT][0], examples[0] if examples else None, found[CONFIG][0])


def read_quati_files(files: QuatiFiles, language: str = "pt", scale: Mapping[int, str] = GRADES) -> Released:
    """An unfenced prompt that sends the same messages as their script, with the settings of the script's request.

    ``scale`` determines which grades are accepted and changes no message; their files state it only in prose. Raises
    InputError if a file is invalid.
    """
    system = _turn(files.initial_prompt, read_lenient_json(files.initial_prompt), "system")
    config = read_lenient_json(files.config)
    if not isinstance(config, dict):
        raise InputError(files.config, None, "holds no settings; expected query_passage_format and result_regex")
    user = _format(files.config, config, "query_passage_format", ("passage", "query"))
    examples = _examples(files, config)
    keys = _KEY.findall(_setting(files.config, config, "result_regex"))
    if len(keys) != 2 or keys[0] == keys[1]:
        raise InputError(
            files.config,
            None,
            f"result_regex names {len(keys)} keys; expected two in quotes, that of the reasoning and that of the grade",
        )
    reasoning, grade = keys
    names = [path.name for path in (files.initial_prompt, files.examples, files.config) if path]
    prompt: dict[str, Any] = {
        "language": language,
        "fenced": False,
        "scale": dict(scale),
        "system": braces_doubled(system),
        "examples": examples,
        "user": "".join(braces_doubled(text) + (f"{{{name}}}" if name else "") for text, name in user),
        "answer": {"reasoning": reasoning, "grade": grade},
        "reask": _REASK.format(reasoning=reasoning, grade=grade),
    }
    return Released(", ".join(names), prompt, MODEL, ORDINARY, REASONING)


def read_lenient_json(path: Path) -> Any:
    """The content of a JSON file, with backslashes that escape nothing read literally.

    Raises InputError if it is not valid even so.
    """
    text = read_text(path)
    for repaired in (text, _BACKSLASH.sub(lambda found: found[0] if found[1] else r"\\", text)):
        try:
            return json.loads(repaired, strict=False)
        except json.JSONDecodeError as error:
            line, problem = error.lineno, error.msg
        except RecursionError:
            raise InputError(path, None, "nests too deeply; expected a released Quati file") from None
    raise InputError(path, line, f"is not JSON: {problem}; expected a released Quati file")


def _turn(path: Path, data: Any, role: str) -> str:
    if not isinstance(data, dict) or data.keys() != {"role", "content"} or not isinstance(data["content"], str):
        raise InputError(path, None, "has a malformed turn; expected role and content only, both texts")
    if data["role"] != role:
        raise InputError(path, None, f"has a turn of {data['role']!r}; expected {role}")
    content: str = data["content"]
    return content


def _examples(files: QuatiFiles, config: Mapping[str, Any]) -> list[dict[str, str]]:
    if files.examples is None:
        return []
    examples = read_lenient_json(files.examples)
    if not isinstance(examples, list) or not all(isinstance(turns, list) and len(turns) == 2 for turns in examples):
        raise InputError(files.examples, None, "holds no examples; expected a list of pairs of turns")
    format_ = _format(files.config, config, "example_format", ("number", "turn"))
    made = []
    for number, (user, assistant) in enumerate(examples, start=1):
        values = {"number": str(number), "turn": _turn(files.examples, user, "user")}
        shown = "".join(text + (values[name] if name else "") for text, name in format_)
        made.append({"user": shown, "assistant": _turn(files.examples, assistant, "assistant")})
    return made


def _setting(path: Path, config: Mapping[str, Any], name: str) -> str:
    value = config.get(name)
    if not isinstance(value, str):
        raise InputError(path, None, f"has no text {name}; add it")
    return value


def _format(path: Path, config: Mapping[str, Any], name: str, places: tuple[str, str]) -> list[tuple[str, str | None]]:
    """The texts of a format, each with the name of the field after it; ``{}`` is numbered as in ``str.format``."""
    try:
        parts = list(Formatter().parse(_setting(path, config, name)))
    except ValueError as error:
        raise InputError(path, None, f"{name} is not a format ({error}); expected two places {{}}") from None
    made: list[tuple[str, str | None]] = []
    automatic = 0
    for text, field, form, conversion in parts:
        if field is None:
            made.append((text, None))
            continue
        position = automatic if field == "" else int(field) if field in ("0", "1") else -1
        automatic += field == ""
        if form or conversion or position not in (0, 1):
            raise InputError(path, None, f"{name} has the place {{{field}}}; expected {{}} twice, or {{0}} and {{1}}")
        made.append((text, places[position]))
    return made
