"""Label files of several labelers turned into grades of the same pairs, with what was found on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from quati_pool.agreement.identities import DOC, QUERY, Named, identify
from quati_pool.errors import InputError
from quati_pool.files.label_files import LabelFile
from quati_pool.files.label_files.label_file import dictionary_coded
from quati_pool.files.label_files.repeats import conflict, grouped
from quati_pool.records import Ids, Int, Qrels, code_ids, numbers


class Duplicate(NamedTuple):
    """A row that repeats the pair and the grade of the labeler's row in ``first_line``, and is left out."""

    labeler: str
    path: Path
    line: int
    first_line: int
    query_id: str
    doc_id: str
    relevance: int


@dataclass(frozen=True, eq=False)
class Matched:
    """What several labelers graded, over one vocabulary of queries and one of passages.

    ``qrels`` hold every graded pair once, by query_id, then doc_id, in byte order; so they do not depend on
    the order of rows. ``query_names`` are the texts of query_ids, where known. ``ungraded`` counts a
    labeler's pairs that its file leaves without a grade. ``matched_by`` and ``passages_by`` say by what
    queries and passages were told equal.
    """

    qrels: dict[str, Qrels]
    query_names: dict[str, str]
    duplicates: list[Duplicate]
    ungraded: dict[str, int]
    matched_by: Literal["query_id", "query text"]
    passages_by: Literal["doc_id", "passage text"]


def match(files: Mapping[str, LabelFile], queries: Mapping[str, str] | None = None) -> Matched:
    """Matches labelers' files on query_id and doc_id; ``queries`` maps query_ids to texts.

    A file that has texts in place of ids takes the ids of equal texts from ``queries`` and from files that
    have both (``identities.identify``); where there are no ids at all, the text is the id.

    Raises InputError for a text that has no id or several, and for a pair that one labeler graded in two
    ways; QuatiPoolError where some files have only ids, others only texts, and nothing joins them.
    """
    query_sides = {name: Named(file.path, file.lines, file.query_id, file.query) for name, file in files.items()}
    doc_sides = {name: Named(file.path, file.lines, file.doc_id, file.text) for name, file in files.items()}
    by_query_id, query_ids = identify(QUERY, query_sides, queries or {})
    by_doc_id, doc_ids = identify(DOC, doc_sides, {})
    query_names = _names(queries or {}, list(zip(query_ids, files.values(), strict=True)))
    queries_coded, query = _coded(query_ids)
    docs_coded, doc = _coded(doc_ids)
    key_names = QUERY.id if by_query_id else QUERY.text, DOC.id if by_doc_id else DOC.text
    rows = [
        _LabelerRows(name, file, queries_coded, docs_coded, query[place], doc[place], key_names)
        for place, (name, file) in enumerate(files.items())
    ]
    return Matched(
        qrels={one.name: one.qrels() for one in rows},
        query_names=query_names,
        duplicates=[duplicate for one in rows for duplicate in one.duplicates()],
        ungraded={one.name: one.ungraded for one in rows},
        matched_by="query_id" if by_query_id else "query text",
        passages_by="doc_id" if by_doc_id else "passage text",
    )


class _LabelerRows:
    """A labeler's rows, of which the first of each graded pair count."""

    def __init__(
        self, name: str, file: LabelFile, queries: _Vocabulary, docs: _Vocabulary, query: Int, doc: Int,
        key_names: tuple[str, str],
    ) -> None:  # fmt: skip
        self.name = name
        self._path, self._queries, self._docs, self._query, self._doc = file.path, queries.ids, docs.ids, query, doc
        self._key_names = key_names
        self._lines = np.array(file.lines, dtype=np.int64)
        graded, self._relevance = _grades(file)
        pair = queries.place[query] * max(len(docs.ids), 1) + docs.place[doc]
        places = np.flatnonzero(graded)
        order, first = grouped(pair[places], self._lines[places])
        order, first = places[order], places[first]
        self._refuse_conflicts(order, first)
        self._kept = order[order == first]
        self.ungraded = _distinct_beyond(pair[~graded], pair[self._kept])
        again = order != first
        by_line = np.lexsort((order[again], self._lines[order[again]]))
        self._again, self._first = order[again][by_line], first[again][by_line]

    def qrels(self) -> Qrels:
        kept = self._kept
        return Qrels(self._queries, self._docs, self._query[kept], self._doc[kept], self._relevance[kept])

    def duplicates(self) -> list[Duplicate]:
        columns = (
            self._lines[self._again].tolist(),
            self._lines[self._first].tolist(),
            *(ids.to_pylist() for ids in self._ids(self._again)),
            self._relevance[self._again].tolist(),
        )
        return [Duplicate(self.name, self._path, *values) for values in zip(*columns, strict=True)]

    def _ids(self, rows: Int) -> tuple[pa.Array, pa.Array]:
        return self._queries.decode(self._query[rows]), self._docs.decode(self._doc[rows])

    def _refuse_conflicts(self, rows: Int, first: Int) -> None:
        differing = np.flatnonzero(self._relevance[rows] != self._relevance[first])
        if not len(differing):
            return
        earliest = differing[[np.argmin(self._lines[rows[differing]])]]
        row, first_row = rows[earliest], first[earliest]
        values = [ids[0].as_py() for ids in self._ids(row)]
        query, doc = zip(self._key_names, values, strict=True)
        relevance, before = int(self._relevance[row][0]), int(self._relevance[first_row][0])
        message = conflict(query, doc, relevance, before, int(self._lines[first_row][0]))
        raise InputError(self._path, int(self._lines[row][0]), message)


def _grades(file: LabelFile) -> tuple[npt.NDArray[np.bool_], Int]:
    """Which rows have a grade, and the grades, 0 where there is none; both shape (rows,)."""
    given = np.array(file.relevance, dtype=object)
    graded = given != None  # noqa: E711
    relevance = np.zeros(len(given), dtype=np.int64)
    relevance[graded] = given[graded]
    return graded, relevance


def _distinct_beyond(some: Int, known: Int) -> int:
    """How many different values of ``some`` are not among ``known``, which are ascending."""
    if not len(some):
        return 0
    some = np.sort(some)
    some = some[np.r_[True, some[1:] != some[:-1]]]
    if not len(known):
        return len(some)
    nearest = known[np.minimum(np.searchsorted(known, some), len(known) - 1)]
    return int((nearest != some).sum())


class _Vocabulary(NamedTuple):
    """Distinct ids, and the place of each in their byte order."""

    ids: Ids
    place: Int


def _coded(columns: Sequence[pa.Array]) -> tuple[_Vocabulary, list[Int]]:
    """One vocabulary, and each column's codes in it; a column may be coded over a dictionary."""
    dictionaries = [column.dictionary if pa.types.is_dictionary(column.type) else column for column in columns]
    ids, codes = code_ids(dictionaries)
    codes = [
        code[numbers(column.indices)] if pa.types.is_dictionary(column.type) else code
        for column, code in zip(columns, codes, strict=True)
    ]
    place = np.empty(len(ids), dtype=np.int64)
    place[numbers(pc.sort_indices(ids.values))] = np.arange(len(ids))
    return _Vocabulary(ids, place), codes


def _names(known: Mapping[str, str], columns: Sequence[tuple[pa.Array, LabelFile]]) -> dict[str, str]:
    """The text of every query_id that has one: the known one, or else the first file's."""
    names: dict[str, str] = {}
    for query_ids, file in columns:
        distinct = dictionary_coded(query_ids).dictionary.to_pylist()
        names.update((query_id, known[query_id]) for query_id in distinct if query_id in known)
        if file.query is not None and not names.keys() >= set(distinct):
            # A file may spell a query in two ways: the order of its rows must not decide.
            for query_id, text in sorted(set(zip(query_ids.to_pylist(), file.query, strict=True))):
                if text:
                    names.setdefault(query_id, text)
    return names
