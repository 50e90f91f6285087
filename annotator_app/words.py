"""The interface's messages, one YAML file per language, and number formatting."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

LANGUAGES = {"pt": "Português", "en": "English", "es": "Español"}
"""The interface's languages: ISO 639-1 codes and native names."""

_MARKS = {"pt": (".", ","), "en": (",", "."), "es": ("\N{NO-BREAK SPACE}", ",")}
_WEIGHTED = re.compile(r"\s*([A-Za-z]{1,8})[-A-Za-z0-9]*\s*(?:;\s*q=([0-9.]{1,5}))?\s*")


@cache
def messages(language: str) -> dict[str, str]:
    """All messages of a language by dotted key, such as ``annotate.undo``; the keys of the two forms of a message
    with a count end in ``.one`` and ``.other``."""
    text = files("annotator_app").joinpath("messages", f"{language}.yaml").read_text(encoding="utf-8")
    return dict(_flat("", yaml.safe_load(text)))


def message(language: str, key: str, **values: object) -> str:
    """The message with ``{name}`` filled from ``values``; ``count`` chooses between ``one`` and ``other``."""
    known = messages(language)
    if key not in known:
        key += ".one" if values.get("count") == 1 else ".other"
    shown = {name: number(language, value) if type(value) is int else value for name, value in values.items()}
    return known[key].format(**shown)


def number(language: str, value: float | None, digits: int = 0) -> str:
    """A number with its language's separators, to ``digits`` decimals; "–" for None."""
    if value is None:
        return "–"
    thousands, decimal = _MARKS[language]
    return f"{value:,.{digits}f}".translate(str.maketrans(",.", thousands + decimal))


def best(wanted: Iterable[str]) -> str:
    """The first of ``wanted`` (tags such as pt-BR, best first) that the interface supports; else English."""
    for tag in wanted:
        code = tag.split("-")[0].strip().lower()
        if code in LANGUAGES:
            return code
    return "en"


def accepted(header: str) -> list[str]:
    """The language codes of an Accept-Language header, best first; invalid parts are left out."""
    found: list[tuple[float, int, str]] = []
    for part in header[:500].split(","):
        match = _WEIGHTED.fullmatch(part)
        if match is None:
            continue
        try:
            weight = float(match[2] or 1)
        except ValueError:
            continue
        if weight > 0:
            found.append((-weight, len(found), match[1].lower()))
    return [code for _, _, code in sorted(found)]


def _flat(prefix: str, tree: Mapping[str, object]) -> Iterable[tuple[str, str]]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(f"{prefix}{name}.", value)
        else:
            yield f"{prefix}{name}", str(value).strip()


def voice(preferred: str | None, accept_language: str) -> Voice:
    """The voice for a person or collection with a ``preferred`` language (None: any), or else for an Accept-Language
    header."""
    return Voice(preferred if preferred in LANGUAGES else best(accepted(accept_language)))


@dataclass(frozen=True)
class Voice:
    """Speaks one language of the interface; for pages that are drawn without Streamlit."""

    language: str

    def say(self, key: str, **values: object) -> str:
        """See ``message``."""
        return message(self.language, key, **values)

    def number(self, value: float | None, digits: int = 0) -> str:
        """See ``number``."""
        return number(self.language, value, digits)
