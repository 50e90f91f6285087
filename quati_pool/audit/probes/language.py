"""The probe ``language``: relevant pairs with the passage, the query or both in another language."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from quati_pool.audit import base
from quati_pool.audit.base import Change, Material, Probe, Setting, SourcePair
from quati_pool.errors import InputError
from quati_pool.files import tables
from quati_pool.files.problems import quoted


class LanguageParameters(base.Parameters):
    translations: Annotated[
        str | None,
        Field(
            description="a JSON Lines file of translations, from the workspace's folder: doc_id and text, or query_id, "
            "query and perhaps narrative"
        ),
    ] = None


class Language(Probe):
    """Shows relevant pairs in another language, from a file of translations. The control is the pair as it is, asked
    again. A translated query keeps its narrative where that is not translated."""

    id = "probe/language"
    summary = "relevant pairs in another language, from a file of translations, against the pair asked again"
    paper = "Fu and Liu, 2025 (arXiv 2505.12201)"
    danger = "change of language"
    seen = "were graded differently in another language"
    advice = "compare systems that return passages in different languages"
    drawn = "relevant"
    expected = "stay"
    variants = ("passage", "query", "passage and query")
    Parameters = LanguageParameters
    parameters: LanguageParameters

    def __init__(self, parameters: Any, setting: Setting) -> None:
        super().__init__(parameters, setting)
        name = self.parameters.translations
        self._translations = _Translations({}, {}) if name is None else _read(setting.folder / name)

    @property
    def inputs(self) -> Sequence[Path]:
        name = self.parameters.translations
        return () if name is None else (self.setting.folder / name,)

    def problem(self) -> str | None:
        if self.parameters.translations is None:
            return "no translations: name a file under audit: probes: language: translations:"
        return None

    def change(self, pair: SourcePair, variant: str, material: Material, random: Random) -> Change | None:
        changed = pair.shown
        if variant != "query":
            text = self._translations.passages.get(pair.doc_id)
            if text is None:
                return None
            changed = changed._replace(text=text)
        if variant != "passage":
            found = self._translations.queries.get(pair.query_id)
            if found is None:
                return None
            query, narrative = found
            changed = changed._replace(query=query, narrative=narrative or changed.narrative)
        return None if changed == pair.shown else Change(changed, pair.shown)


class _Translations(NamedTuple):
    """Texts by doc_id; queries with their narratives, which may be empty, by query_id."""

    passages: dict[str, str]
    queries: dict[str, tuple[str, str]]


# Named unlike the columns of ids, which tables would require in every line.
_FIELDS = [
    tables.Field(name, column, required=False)
    for name, column in [
        ("passage", "doc_id"),
        ("text", "text"),
        ("question", "query_id"),
        ("query", "query"),
        ("narrative", "narrative"),
    ]
]


def _read(path: Path) -> _Translations:
    """Raises InputError, with the line, for a line that is no translation or translates something again."""
    translations = _Translations({}, {})
    for line, (doc_id, text, query_id, query, narrative) in tables.read_table(path, "jsonl", _FIELDS):
        if bool(doc_id) == bool(query_id):
            raise InputError(path, line, "expected a doc_id with its text, or a query_id with its query")
        column, identity, value = ("text", doc_id, text) if doc_id else ("query", query_id, query)
        if not value.strip():
            raise InputError(path, line, f"{column} is missing or empty; expected the translation")
        if identity in (translations.passages if doc_id else translations.queries):
            raise InputError(path, line, f"{quoted(identity)} is translated twice; expected it once")
        if doc_id:
            translations.passages[doc_id] = text
        else:
            translations.queries[query_id] = query, narrative
    if not any(translations):
        raise InputError(path, None, "holds no translations; expected at least one")
    return translations
