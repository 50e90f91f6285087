"""Matches the label files of several labelers: finds the grades of the same pairs, and duplicate rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from quati_pool.agreement.identities import DOC, QUERY, IdsAndTexts, identify
from quati_pool.errors import InputError
from quati_pool.files.label_files import LabelFile
from quati_pool.files.label_files.label_file import dictionary_coded
from quati_pool.files.label_files.repeats import conflict, grouped
from quati_pool.records import Ids, Int, Qrels, code_ids, numbers, release_memory

Codes = npt.NDArray[np.int32]


class Duplicate(NamedTuple):
    """A row that was left out because it repeats the pair and the grade of the labeler's row in ``first_line``."""

    labeler: str
    path: Path
    line: int
    first_line: int
    query_id: str
    doc_id: str
    relevance: int


@dataclass(frozen=True, eq=False)
class Matched:
    """The grades of several labelers, over one vocabulary of queries and one of passages.

    ``qrels`` hold every graded pair once, sorted by query_id, then doc_id, in byte order, regardless of the order of
    rows. ``query_names`` maps query_ids to texts, where known. ``ungraded`` counts the pairs without a grade, by
    labeler. ``matched_by`` and ``passages_by`` say whether queries and passages were matched by id or by text.
    """

    qrels: dict[str, Qrels]
    query_names: dict[str, str]
    duplicates: list[Duplicate]
    ungraded: dict[str, int]
    matched_by: Literal["query_id", "query text"]
    passages_by: Literal["doc_id", "passage text"]


def match(files: Mapping[str, LabelFile], queries: Mapping[str, str] | None = None) -> Matched:
    """Matches the labelers' files on query_id and doc_id; ``queries`` maps query_ids to texts.

    A file that has texts instead of ids takes the ids of equal texts from ``queries`` and from files that
    have both (``identities.identify``); if there are no ids at all, the text is the id.

    Raises InputError for a text that has no id or several, and for a pair to which one labeler gave two different
    grades; QuatiPoolError if some files have only ids, others only texts, and nothing links them.
    """
    query_sides = {name: IdsAndTexts(file.path, file.lines, file.query_id, file.query) for name, file in files.items()}
    doc_sides = {name: IdsAndTexts(file.path, file.lines, file.doc_id, file.text) for name, file in files.items()}
    by_query_id, query_ids = identify(QUERY, query_sides, queries or {})
    by_doc_id, doc_ids = identify(DOC, doc_sides, {})
    query_names = _names(queries or {}, list(zip(query_ids, files.values(), strict=True)))
    key_names = QUERY.id if by_query_id else QUERY.text, DOC.id if by_doc_id else DOC.text
    qrels: dict[str, Qrels] = {}
    duplicates: list[Duplicate] = []
    ungraded: dict[str, int] = {}
    for (name, file), query, doc in zip(files.items(), _coded(query_ids), _coded(doc_ids), strict=True):
        qrels[name], twice, ungraded[name] = _LabelerRows(name, file, query, doc, key_names).result()
        duplicates += twice
        release_memory()
    return Matched(
        qrels=qrels,
        query_names=query_names,
        duplicates=duplicates,
        ungraded=ungraded,
        matched_by="query_id" if by_query_id else "query text",
        passages_by="doc_id" if by_doc_id else "passage text",
    )


class _LabelerRows:
    """One labeler's rows; of the rows of a graded pair, the first counts."""

    def __init__(self, name: str, file: LabelFile, query: _Column, doc: _Column, key_names: tuple[str, str]) -> None:
        self._name, self._file, self._query, self._doc, self._key_names = name, file, query, doc, key_names
        graded, self._relevance = _grades(file)
        pair = query.place.astype(np.int64)
        pair *= max(len(doc.ids), 1)
        pair += doc.place
        self._kept, self._again, self._first = self._grouped(pair, graded)
        self._ungraded = _distinct_beyond(pair[~graded], pair[self._kept]) if not graded.all() else 0

    def _grouped(self, pair: Int, graded: npt.NDArray[np.bool_]) -> tuple[Int, Int, Int]:
        """The first row of each graded pair, sorted by pair; duplicate rows, sorted by line; and the row that each
        duplicate repeats."""
        order = np.argsort(pair, kind="stable")
        order = order if graded.all() else order[graded[order]]
        by_pair = pair[order]
        if (by_pair[1:] != by_pair[:-1]).all():
            return order, order[:0], order[:0]
        lines = np.array(self._file.lines, dtype=np.int64)
        rows, places = grouped(by_pair, lines[order])
        rows, first = order[rows], order[places]
        self._refuse_conflicts(rows, first)
        again = rows != first
        by_line = np.lexsort((rows[again], lines[rows[again]]))
        return rows[~again], rows[again][by_line], first[again][by_line]

    def result(self) -> tuple[Qrels, list[Duplicate], int]:
        """The graded pairs, the duplicate rows, and the number of pairs without a grade."""
        kept = self._kept
        query, doc = self._query.of(kept), self._doc.of(kept)
        qrels = Qrels(self._query.ids, self._doc.ids, query, doc, self._relevance[kept])
        return qrels, self._duplicates(), self._ungraded

    def _duplicates(self) -> list[Duplicate]:
        columns = (
            [self._file.lines[row] for row in self._again.tolist()],
            [self._file.lines[row] for row in self._first.tolist()],
            *(ids.to_pylist() for ids in self._ids(self._again)),
            self._relevance[self._again].tolist(),
        )
        return [Duplicate(self._name, self._file.path, *values) for values in zip(*columns, strict=True)]

    def _ids(self, rows: Int) -> tuple[pa.Array, pa.Array]:
        return self._query.ids.decode(self._query.of(rows)), self._doc.ids.decode(self._doc.of(rows))

    def _refuse_conflicts(self, rows: Int, first: Int) -> None:
        differing = np.flatnonzero(self._relevance[rows] != self._relevance[first])
        if not len(differing):
            return
        lines = [self._file.lines[row] for row in rows[differing].tolist()]
        earliest = differing[[int(np.argmin(lines))]]
        row, first_row = rows[earliest], first[earliest]
        values = [ids[0].as_py() for ids in self._ids(row)]
        query, doc = zip(self._key_names, values, strict=True)
        relevance, before = int(self._relevance[row][0]), int(self._relevance[first_row][0])
        message = conflict(query, doc, relevance, before, self._file.lines[int(first_row[0])])
        raise InputError(self._file.path, min(lines), message)


def _grades(file: LabelFile) -> tuple[npt.NDArray[np.bool_], Int]:
    """Which rows have a grade, and the grades, 0 where there is none; both of shape (rows,)."""
    given = np.array(file.relevance, dtype=object)
    graded = given != None  # noqa: E711
    relevance = np.zeros(len(given), dtype=np.int64)
    relevance[graded] = given[graded]
    return graded, relevance


def _distinct_beyond(some: Int, known: Int) -> int:
    """The number of distinct values of ``some`` that are not in ``known``, which must be ascending."""
    if not len(some):
        return 0
    some = np.sort(some)
    some = some[np.r_[True, some[1:] != some[:-1]]]
    if not len(known):
        return len(some)
    nearest = known[np.minimum(np.searchsorted(known, some), len(known) - 1)]
    return int((nearest != some).sum())


class _Column(NamedTuple):
    """A column as ``codes``, shape (rows,), over a vocabulary that all columns share.

    ``order``, shape (ids,), holds the position of each code in the byte order of the ids.
    """

    ids: Ids
    order: Codes
    codes: Codes

    @property
    def place(self) -> Codes:
        """Each row's position in the byte order of the ids."""
        return self.order[self.codes]

    def of(self, rows: Int) -> Int:
        return self.codes[rows].astype(np.int64)


def _coded(columns: Sequence[pa.Array]) -> list[_Column]:
    """The columns as codes over one common vocabulary; a column may already be dictionary-encoded."""
    coded = [dictionary_coded(column) for column in columns]
    if coded and all(column.dictionary.equals(coded[0].dictionary) for column in coded):
        ids, codes = Ids(coded[0].dictionary), [numbers(column.indices) for column in coded]
    else:
        ids, of_values = code_ids([column.dictionary for column in coded])
        codes = [code.astype(np.int32)[numbers(column.indices)] for column, code in zip(coded, of_values, strict=True)]
    order = np.empty(len(ids), dtype=np.int32)
    order[numbers(pc.sort_indices(ids.values))] = np.arange(len(ids), dtype=np.int32)
    return [_Column(ids, order, column) for column in codes]


def _names(known: Mapping[str, str], columns: Sequence[tuple[pa.Array, LabelFile]]) -> dict[str, str]:
    """The text of every query_id that has one: from ``known``, or else from the first file with a text for it."""
    names: dict[str, str] = {}
    for query_ids, file in columns:
        distinct = dictionary_coded(query_ids).dictionary.to_pylist()
        names.update((query_id, known[query_id]) for query_id in distinct if query_id in known)
        if file.query is not None and not names.keys() >= set(distinct):
            # A file may have two texts for a query; the order of its rows must not decide which is taken.
            for query_id, text in sorted(set(zip(query_ids.to_pylist(), file.query, strict=True))):
                if text:
                    names.setdefault(query_id, text)
    return names
