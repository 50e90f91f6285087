"""Joins label files without ids to the pairs of a pool, by the texts that people were shown.

Texts match exactly, or else after ``identities.folded``. A row is joined if its texts, and its id if it has one,
match exactly one pair; every other row is returned with the reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby
from pathlib import Path
from typing import NamedTuple

from quati_pool.agreement.identities import folded
from quati_pool.files.label_files import LabelFile
from quati_pool.files.pools import PooledPair
from quati_pool.files.problems import quoted

Ids = tuple[str, str]


class UnmatchedRow(NamedTuple):
    """A row of a labeler's file that could not be joined to a pair; if its texts match several pairs (query_id,
    doc_id), these are the ``candidates``."""

    labeler: str
    path: Path
    line: int
    query_id: str | None
    query: str | None
    doc_id: str | None
    text: str | None
    relevance: int | None
    reason: str
    candidates: tuple[Ids, ...] = ()


def lacks_ids(file: LabelFile) -> bool:
    """Whether a file identifies its queries or its passages by text alone."""
    return file.query_id is None or file.doc_id is None


def join_to_pool(
    files: Mapping[str, LabelFile], pool: Iterable[PooledPair], queries: Mapping[str, str]
) -> tuple[dict[str, LabelFile], list[UnmatchedRow]]:
    """The files with ids in every row, and the rows that could not be joined; files with ids are returned unchanged.

    ``queries`` maps further query_ids to texts. Pairs from files that have both ids and texts count as part of the
    pool. A row with a doc_id is joined if its query text is known; a row with a passage text, if the pair is known.
    """
    lacking = {name: file for name, file in files.items() if lacks_ids(file)}
    complete = [_pairs(file) for file in files.values() if not lacks_ids(file)]
    index = _TextIndex(lacking.values(), chain(pool, *complete), queries)
    joined, unmatched = dict(files), []
    for name, file in lacking.items():
        joined[name], left_out = _joined(name, file, index)
        unmatched += left_out
    return joined, unmatched


def _pairs(file: LabelFile) -> Iterable[PooledPair]:
    if file.query_id is None or file.query is None or file.doc_id is None or file.text is None:
        return ()
    columns = (file.query_id, file.doc_id, file.query, file.text)
    return (PooledPair(*row) for row in zip(*columns, strict=True) if row[2] and row[3])


class _TextIndex:
    """Index from texts to the ids of queries and pairs; of the pool, it holds only texts that occur in ``files``."""

    def __init__(self, files: Collection[LabelFile], pool: Iterable[PooledPair], queries: Mapping[str, str]) -> None:
        self._folded: dict[str, str] = {}
        self._wanted_queries = self._all_folded(file.query for file in files if file.query_id is None)
        self._wanted_passages = self._all_folded(file.text for file in files if file.doc_id is None)
        self._wanted_query_ids = {query_id for file in files for query_id in file.query_id or ()}
        self._wanted_doc_ids = {doc_id for file in files for doc_id in file.doc_id or ()}
        # Keyed by folded text: the ids, each with its original texts.
        self._queries: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._passages: dict[str, dict[Ids, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._pooled: set[Ids] = set()
        for query_id, query in queries.items():
            self._add_query(query_id, query)
        for (query_id, query), pairs in groupby(pool, lambda pair: (pair.query_id, pair.query)):
            wanted = self._add_query(query_id, query) or query_id in self._wanted_query_ids
            self._add_pairs(pairs, wanted)

    def _fold(self, text: str) -> str:
        if text not in self._folded:
            self._folded[text] = folded(text)
        return self._folded[text]

    def _all_folded(self, columns: Iterable[Sequence[str] | None]) -> set[str]:
        return {self._fold(text) for column in columns for text in column or ()}

    def _add_query(self, query_id: str, query: str) -> bool:
        """Indexes a query's text if a file has it without an id, and returns whether one does."""
        text = folded(query)
        if text in self._wanted_queries:
            self._queries[text][query_id].add(query)
        return text in self._wanted_queries

    def _add_pairs(self, pairs: Iterable[PooledPair], wanted_query: bool) -> None:
        for pair in pairs:
            ids = pair.query_id, pair.doc_id
            if wanted_query and pair.doc_id in self._wanted_doc_ids:
                self._pooled.add(ids)
            if self._wanted_passages and (text := folded(pair.text)) in self._wanted_passages:
                self._passages[text][ids].add(pair.text)

    def query_ids(self, text: str) -> list[str]:
        """All query_ids of a text: those of exactly this text, or else of texts that are equal after folding."""
        texts_by_id = self._queries.get(self._fold(text), {})
        return sorted([query_id for query_id, texts in texts_by_id.items() if text in texts] or texts_by_id)

    def pairs(self, query_ids: Collection[str], text: str) -> list[Ids]:
        """All pairs of these queries with this passage: those with exactly this text, or else with texts that are
        equal after folding."""
        every_query = self._passages.get(self._fold(text), {})
        texts_by_pair = {pair: texts for pair, texts in every_query.items() if pair[0] in query_ids}
        return sorted([pair for pair, texts in texts_by_pair.items() if text in texts] or texts_by_pair)

    def has_passage(self, text: str) -> bool:
        return self._fold(text) in self._passages

    def has_pair(self, pair: Ids) -> bool:
        return pair in self._pooled


def _joined(name: str, file: LabelFile, index: _TextIndex) -> tuple[LabelFile, list[UnmatchedRow]]:
    kept, ids, unmatched = [], [], []
    nothing = [None] * len(file)
    columns = (file.query_id or nothing, file.query or nothing, file.doc_id or nothing, file.text or nothing)
    for row, (query_id, query, doc_id, text) in enumerate(zip(*columns, strict=True)):
        pairs, reason = _find(index, query_id, query or "", doc_id, text or "")
        if len(pairs) == 1:
            kept.append(row)
            ids.append(pairs[0])
        else:
            line, relevance = file.lines[row], file.relevance[row]
            columns_of_row = (query_id, query, doc_id, text, relevance)
            unmatched.append(UnmatchedRow(name, file.path, line, *columns_of_row, reason, tuple(pairs)))

    def rows(column: Sequence[str] | None) -> list[str] | None:
        return None if column is None else [column[row] for row in kept]

    return replace(
        file,
        lines=[file.lines[row] for row in kept],
        query_id=[query_id for query_id, _ in ids],
        query=rows(file.query),
        doc_id=[doc_id for _, doc_id in ids],
        text=rows(file.text),
        relevance=[file.relevance[row] for row in kept],
    ), unmatched


def _find(index: _TextIndex, query_id: str | None, query: str, doc_id: str | None, text: str) -> tuple[list[Ids], str]:
    """The pairs that match a row, and, for none or several, the reason why the row is not joined."""
    query_ids = [query_id] if query_id is not None else index.query_ids(query)
    if not query_ids:
        return [], f"the query text {quoted(query)} is not in the pool"
    if doc_id is not None:
        pairs = [(one, doc_id) for one in query_ids]
        if len(pairs) > 1:
            pairs = [pair for pair in pairs if index.has_pair(pair)] or pairs
        return pairs, f"the query text {quoted(query)} is that of query_id {_quoted_ids(query_ids)}"
    pairs = index.pairs(query_ids, text)
    if pairs:
        which = ", ".join(f"{quoted(one)} with {quoted(other)}" for one, other in pairs)
        return pairs, f"its texts are those of the pairs {which}"
    if index.has_passage(text):
        return [], f"the passage text {quoted(text)} is pooled for other queries only, not for {_quoted_ids(query_ids)}"
    return [], f"the passage text {quoted(text)} is not in the pool"


def _quoted_ids(ids: Iterable[str]) -> str:
    return " and ".join(map(quoted, ids))
