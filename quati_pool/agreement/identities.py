"""Finds the ids of queries and passages in label files when some files have only texts."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files.label_files.label_file import arrow_strings, dictionary_coded
from quati_pool.files.problems import quoted
from quati_pool.records import ID, numbers


class Words(NamedTuple):
    """How messages name an id and a text, and what they advise if texts have no ids."""

    id: str
    text: str
    remedy: str


QUERY = Words("query_id", "query text", "name the texts' ids with --queries FILE (query_id <tab> query)")
DOC = Words("doc_id", "passage text", "add a doc_id column")


@dataclass(frozen=True, eq=False)
class IdsAndTexts:
    """The queries or the passages in the rows of one labeler's file: ids, texts or both, one per row."""

    path: Path
    lines: Sequence[int]
    ids: Sequence[str] | None
    texts: Sequence[str] | None

    @property
    def ids_or_texts(self) -> Sequence[str]:
        return self.ids if self.ids is not None else self.texts or []


def identify(words: Words, columns: Mapping[str, IdsAndTexts], known: Mapping[str, str]) -> tuple[bool, list[pa.Array]]:
    """Whether there are ids, and the ids of each column, shape (rows,); if there are none, the texts serve as ids.

    ``known`` maps ids to texts. A column without ids takes the ids of equal texts (exactly equal, or else equal after
    ``folded``) from ``known`` and from columns that have both. If there are no ids at all, the text is the id; texts
    of different columns that are equal after ``folded`` share one id, unless one column holds both of them.

    Raises InputError for a text with no id or several ids, QuatiPoolError if nothing links texts to ids.
    """
    lacking = [name for name, column in columns.items() if column.ids is None]
    if not lacking:
        return True, [arrow_strings(column.ids_or_texts) for column in columns.values()]
    if len(lacking) == len(columns) and not known:
        return False, _texts_as_ids(list(columns.values()))
    ids = _TextIds()
    for identity, text in known.items():
        ids.add(text, identity)
    for column in columns.values():
        if column.ids is not None and column.texts is not None:
            for text, identity in zip(column.texts, column.ids, strict=True):
                ids.add(text, identity)
    if ids.empty:
        raise _unmatchable(words, columns, lacking)
    return True, [
        arrow_strings(column.ids_or_texts) if column.ids is not None else _looked_up(words, column, ids)
        for column in columns.values()
    ]


def _looked_up(words: Words, column: IdsAndTexts, ids: _TextIds) -> pa.Array:
    texts = dictionary_coded(arrow_strings(column.ids_or_texts))
    codes = numbers(texts.indices)
    found = []
    for code, text in enumerate(texts.dictionary.to_pylist()):
        candidates = ids.find(text)
        if len(candidates) != 1:
            line = column.lines[int(np.argmax(codes == code))]
            raise InputError(column.path, line, _unknown(words, text, candidates))
        found.append(candidates[0])
    coded = pa.array(found, type=ID).dictionary_encode()
    return pa.DictionaryArray.from_arrays(coded.indices.take(texts.indices), coded.dictionary)


def _unknown(words: Words, text: str, candidates: Sequence[str]) -> str:
    if candidates:
        there = " and ".join(map(quoted, sorted(candidates)))
        return f"the {words.text} {quoted(text)} is that of {words.id} {there}; add a {words.id} column to this file"
    return f"the {words.text} {quoted(text)} is not among the known ones, so it has no {words.id}; {words.remedy}"


def _unmatchable(words: Words, columns: Mapping[str, IdsAndTexts], lacking: Sequence[str]) -> QuatiPoolError:
    def with_paths(names: Iterable[str]) -> str:
        return ", ".join(f"{name} ({columns[name].path})" for name in names)

    having = with_paths(name for name in columns if name not in lacking)
    return QuatiPoolError(
        f"{with_paths(lacking)}: only {words.text}s; {having}: only {words.id}s, so that they cannot be matched; "
        f"{words.remedy}"
    )


def _texts_as_ids(columns: Sequence[IdsAndTexts]) -> list[pa.Array]:
    distinct = [set(column.ids_or_texts) for column in columns]
    everywhere = set.intersection(*distinct)
    variants: dict[str, list[str]] = {}
    distinguished: set[str] = set()
    for texts in distinct:
        forms: set[str] = set()
        # Texts that all columns share need no folding, which is slow for a million passages.
        for text in sorted(texts - everywhere):
            form = folded(text)
            if form in forms:
                distinguished.add(form)
            forms.add(form)
            variants.setdefault(form, []).append(text)
    chosen = {
        text: texts[0]
        for form, texts in variants.items()
        if form not in distinguished
        for text in texts
        if text != texts[0]
    }
    return [pa.array([chosen.get(text, text) for text in column.ids_or_texts], type=ID) for column in columns]


class _TextIds:
    """Index from texts to their ids."""

    def __init__(self) -> None:
        self._exact: dict[str, tuple[str, ...]] = {}
        self._folded: dict[str, tuple[str, ...]] | None = None

    @property
    def empty(self) -> bool:
        return not self._exact

    def add(self, text: str, identity: str) -> None:
        if text and identity not in (before := self._exact.get(text, ())):
            self._exact[text] = (*before, identity)

    def find(self, text: str) -> tuple[str, ...]:
        """All ids of exactly this text, or else of the texts that are equal to it after ``folded``."""
        if text in self._exact:
            return self._exact[text]
        if self._folded is None:
            self._folded = {}
            for known, ids in self._exact.items():
                form = folded(known)
                self._folded[form] = tuple(dict.fromkeys((*self._folded.get(form, ()), *ids)))
        return self._folded.get(folded(text), ())


def folded(text: str) -> str:
    """Normalizes a text for comparison: removes byte-order marks (U+FEFF), folds case, applies Unicode NFC, and reduces
    white space to single blanks, with none at the ends. Compatibility forms stay different: x² is not x2."""
    folded_case = unicodedata.normalize("NFC", text).replace("\ufeff", "").casefold()
    return " ".join(unicodedata.normalize("NFC", folded_case).split())
