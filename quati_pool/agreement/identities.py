"""The ids of queries and passages in label files, where some files have only texts."""

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
    """How messages call an id and a text, and what to do where texts have no ids."""

    id: str
    text: str
    remedy: str


QUERY = Words("query_id", "query text", "name the texts' ids with --queries FILE (query_id <tab> query)")
DOC = Words("doc_id", "passage text", "add a doc_id column")


@dataclass(frozen=True, eq=False)
class Named:
    """One side, queries or passages, of a labeler's rows: ids, texts or both, each a row long."""

    path: Path
    lines: Sequence[int]
    ids: Sequence[str] | None
    texts: Sequence[str] | None

    @property
    def given(self) -> Sequence[str]:
        return self.ids if self.ids is not None else self.texts or []


def identify(words: Words, columns: Mapping[str, Named], known: Mapping[str, str]) -> tuple[bool, list[pa.Array]]:
    """Each column's ids, shape (rows,), and whether they are ids rather than texts; ``known`` maps ids to
    texts.

    A column without ids takes those of equal texts, equal to the letter or else as ``folded``, from ``known``
    and from columns that have both. Without any ids the text is the id; texts of different columns that are
    equal but for what ``folded`` removes are one id, unless a column tells them apart.

    Raises InputError for a text without an id or with several, QuatiPoolError where nothing gives texts ids.
    """
    lacking = [name for name, column in columns.items() if column.ids is None]
    if not lacking:
        return True, [arrow_strings(column.given) for column in columns.values()]
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
        arrow_strings(column.given) if column.ids is not None else _looked_up(words, column, ids)
        for column in columns.values()
    ]


def _looked_up(words: Words, column: Named, ids: _TextIds) -> pa.Array:
    texts = dictionary_coded(arrow_strings(column.given))
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
    return f"the {words.text} {quoted(text)} has no {words.id}, not being among the known ones; {words.remedy}"


def _unmatchable(words: Words, columns: Mapping[str, Named], lacking: Sequence[str]) -> QuatiPoolError:
    def listed(names: Iterable[str]) -> str:
        return ", ".join(f"{name} ({columns[name].path})" for name in names)

    having = listed(name for name in columns if name not in lacking)
    return QuatiPoolError(
        f"{listed(lacking)}: only {words.text}s; {having}: only {words.id}s, so that they cannot be matched; "
        f"{words.remedy}"
    )


def _texts_as_ids(columns: Sequence[Named]) -> list[pa.Array]:
    distinct = [set(column.given) for column in columns]
    everywhere = set.intersection(*distinct)
    variants: dict[str, list[str]] = {}
    told_apart: set[str] = set()
    for texts in distinct:
        forms: set[str] = set()
        # What all columns have to the letter needs no folding, which takes time on a million passages.
        for text in sorted(texts - everywhere):
            form = folded(text)
            if form in forms:
                told_apart.add(form)
            forms.add(form)
            variants.setdefault(form, []).append(text)
    chosen = {
        text: texts[0]
        for form, texts in variants.items()
        if form not in told_apart
        for text in texts
        if text != texts[0]
    }
    return [pa.array([chosen.get(text, text) for text in column.given], type=ID) for column in columns]


class _TextIds:
    """The ids of texts."""

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
        """All ids of the text, or else of the texts that differ from it in white space and case alone."""
        if text in self._exact:
            return self._exact[text]
        if self._folded is None:
            self._folded = {}
            for known, ids in self._exact.items():
                form = folded(known)
                self._folded[form] = tuple(dict.fromkeys((*self._folded.get(form, ()), *ids)))
        return self._folded.get(folded(text), ())


def folded(text: str) -> str:
    """A text as it is compared: without byte-order marks (U+FEFF), case-folded, in Unicode's form NFC, each run of
    white space one blank and none around. Compatibility forms stay apart: x² is not x2."""
    folded_case = unicodedata.normalize("NFC", text).replace("\ufeff", "").casefold()
    return " ".join(unicodedata.normalize("NFC", folded_case).split())
