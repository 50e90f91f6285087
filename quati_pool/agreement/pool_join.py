"""Label files without ids, joined to the pairs of a pool by the texts that people were shown.

Two texts are equal to the letter, or else as ``identities.folded``. A row is joined where its texts, and the id
that it may have, are those of exactly one pair; every other row is given back with the reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from quati_pool.agreement.identities import folded
from quati_pool.files.label_files import LabelFile
from quati_pool.files.pools import PooledPair
from quati_pool.files.problems import quoted

Ids = tuple[str, str]


class UnmatchedRow(NamedTuple):
    """A row of a labeler's file that is joined to no pair; ``candidates`` are the pairs (query_id, doc_id) among
    which its texts do not decide."""

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
    """Whether texts alone say which queries or passages the rows of a file are about."""
    return file.query_id is None or file.doc_id is None


def join_to_pool(
    files: Mapping[str, LabelFile], pool: Iterable[PooledPair], queries: Mapping[str, str]
) -> tuple[dict[str, LabelFile], list[UnmatchedRow]]:
    """The files with ids in every row, and the rows that have no place in them; files with ids stay as they are.

    ``queries`` maps further query_ids to texts. The pairs of files that have ids and texts count as the pool's. A
    row whose passage has an id needs its query's text to be known, a row with the passage's text its pair.
    """
    lacking = {name: file for name, file in files.items() if lacks_ids(file)}
    complete = [_pairs(file) for file in files.values() if not lacks_ids(file)]
    known = _Known(lacking.values(), chain(pool, *complete), queries)
    joined, unmatched = dict(files), []
    for name, file in lacking.items():
        joined[name], left_out = _joined(name, file, known)
        unmatched += left_out
    return joined, unmatched


def _pairs(file: LabelFile) -> Iterable[PooledPair]:
    if file.query_id is None or file.query is None or file.doc_id is None or file.text is None:
        return ()
    columns = (file.query_id, file.doc_id, file.query, file.text)
    return (PooledPair(*row) for row in zip(*columns, strict=True) if row[2] and row[3])


class _Known:
    """The ids of the texts that files hold: of a pool only what they ask for is kept."""

    def __init__(self, files: Collection[LabelFile], pool: Iterable[PooledPair], queries: Mapping[str, str]) -> None:
        self._forms: dict[str, str] = {}
        wanted = {self._form(text) for file in files if file.query_id is None for text in file.query or ()}
        passages = {self._form(text) for file in files if file.doc_id is None for text in file.text or ()}
        doc_ids = {doc_id for file in files for doc_id in file.doc_id or ()}
        query_ids = {query_id for file in files for query_id in file.query_id or ()}
        # By the form of a text: the ids, each with the texts as they were written.
        self._queries: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._passages: dict[str, dict[Ids, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._pooled: set[Ids] = set()
        for query_id, query in queries.items():
            self._add_query(query_id, query, wanted)
        last = None
        for pair in pool:
            if (pair.query_id, pair.query) != last:
                last = pair.query_id, pair.query
                theirs = self._add_query(*last, wanted) or pair.query_id in query_ids
            if theirs and pair.doc_id in doc_ids:
                self._pooled.add((pair.query_id, pair.doc_id))
            if passages and (form := folded(pair.text)) in passages:
                self._passages[form][pair.query_id, pair.doc_id].add(pair.text)

    def _form(self, text: str) -> str:
        if text not in self._forms:
            self._forms[text] = folded(text)
        return self._forms[text]

    def _add_query(self, query_id: str, query: str, wanted: Collection[str]) -> bool:
        form = folded(query)
        if form in wanted:
            self._queries[form][query_id].add(query)
        return form in wanted

    def query_ids(self, text: str) -> list[str]:
        """All query_ids of a text, those of the text to the letter if there are any."""
        found = self._queries.get(self._form(text), {})
        return sorted([one for one, texts in found.items() if text in texts] or found)

    def pairs(self, query_ids: Collection[str], text: str) -> list[Ids]:
        """All pairs of these queries with a passage's text, those with the text to the letter if there are any."""
        found = self._passages.get(self._form(text), {})
        found = {pair: texts for pair, texts in found.items() if pair[0] in query_ids}
        return sorted([pair for pair, texts in found.items() if text in texts] or found)

    def has_passage(self, text: str) -> bool:
        return self._form(text) in self._passages

    def has_pair(self, pair: Ids) -> bool:
        return pair in self._pooled


def _joined(name: str, file: LabelFile, known: _Known) -> tuple[LabelFile, list[UnmatchedRow]]:
    kept, ids, unmatched = [], [], []
    nothing = [None] * len(file)
    columns = (file.query_id or nothing, file.query or nothing, file.doc_id or nothing, file.text or nothing)
    for row, (query_id, query, doc_id, text) in enumerate(zip(*columns, strict=True)):
        pairs, reason = _find(known, query_id, query or "", doc_id, text or "")
        if len(pairs) == 1:
            kept.append(row)
            ids.append(pairs[0])
        else:
            line, relevance = file.lines[row], file.relevance[row]
            said = (query_id, query, doc_id, text, relevance)
            unmatched.append(UnmatchedRow(name, file.path, line, *said, reason, tuple(pairs)))

    def rows(column: Iterable[str] | None) -> list[str] | None:
        return None if column is None else [value for place, value in enumerate(column) if place in chosen]

    chosen = set(kept)
    return replace(
        file,
        lines=[file.lines[row] for row in kept],
        query_id=[query_id for query_id, _ in ids],
        query=rows(file.query),
        doc_id=[doc_id for _, doc_id in ids],
        text=rows(file.text),
        relevance=[file.relevance[row] for row in kept],
    ), unmatched


def _find(known: _Known, query_id: str | None, query: str, doc_id: str | None, text: str) -> tuple[list[Ids], str]:
    """The pairs that a row may be about, and why it is not joined where these are none or several."""
    query_ids = [query_id] if query_id is not None else known.query_ids(query)
    if not query_ids:
        return [], f"the query text {quoted(query)} is none of the pool's"
    if doc_id is not None:
        pairs = [(one, doc_id) for one in query_ids]
        if len(pairs) > 1:
            pairs = [pair for pair in pairs if known.has_pair(pair)] or pairs
        return pairs, f"the query text {quoted(query)} is that of query_id {_listed(query_ids)}"
    pairs = known.pairs(query_ids, text)
    if pairs:
        which = ", ".join(f"{quoted(one)} with {quoted(other)}" for one, other in pairs)
        return pairs, f"its texts are those of the pairs {which}"
    if known.has_passage(text):
        return [], f"the passage text {quoted(text)} is pooled for other queries only, not for {_listed(query_ids)}"
    return [], f"the passage text {quoted(text)} is none of the pool's"


def _listed(ids: Iterable[str]) -> str:
    return " and ".join(map(quoted, ids))
