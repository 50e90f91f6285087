"""Reads queries from TSV, CSV, JSONL or classic TREC topics."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from quati_pool.errors import InputError
from quati_pool.files.formats import TableFormat, format_of
from quati_pool.files.lines import read_lines
from quati_pool.files.problems import STRICT, Problems, RowError, check_id, in_quotes, quoted, quotes_problem
from quati_pool.files.sgml import read_topics
from quati_pool.files.tables import Field, json_object, read_table
from quati_pool.records import Query

_TREC_FIELDS = {"query_id": "num", "query": "title", "narrative": "narr"}

CLUSTER_ID = "cluster_id"
DRAFTED_BY = "drafted_by"
"""The column with the program that drafted a query, which people accepted then."""
# A cell with quotes as written in CSV: in quotes, with the quotes inside doubled.
_CSV_CELL = re.compile(r'"(?:[^"]|"")*""(?:[^"]|"")*"\Z')
# Invisible characters would split a cluster in two; inner blanks are harmless, as no TREC file has cluster_ids.
_BAD_CLUSTER = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\u2028\u2029\u2060\ufeff\ud800-\udfff]")


def read_queries(
    path: Path,
    query_id: str = "query_id",
    query: str | list[str] | None = None,
    narrative: str = "narrative",
    cluster_id: str = CLUSTER_ID,
    problems: Problems = STRICT,
) -> list[Query]:
    """All queries in file order.

    ``query`` names the field of the text, or several fields, which are joined by a blank; by default it is
    ``query``, or the title of a TREC topic. A missing or empty narrative or cluster_id is None. A cluster_id is any
    text without control characters and without white space at its ends; TREC topics have none. If the caller names a
    narrative column, it must exist; if the caller names a cluster_id column, at least one query must have a cluster_id.
    """
    columns = ["query"] if query is None else [query] if isinstance(query, str) else query
    rows = _rows(path, query_id, columns, narrative, cluster_id, problems)
    queries: list[Query] = []
    lines: dict[str, int] = {}
    for line, values in rows:
        identity, *texts, narration, cluster = values
        before = lines.setdefault(identity, line)
        if before != line:
            message = f"query_id {quoted(identity)} is in line {before} already; expected it once"
            problems.report(path, line, message)
            continue
        if identity.startswith("#"):
            message = f"query_id {quoted(identity)} begins with '#', which marks a comment in TREC files; rename it"
            problems.report(path, line, message)
            continue
        fault = _cluster_fault(cluster)
        if fault:
            problems.report(path, line, f"{cluster_id} {quoted(cluster)} {fault}")
            continue
        queries.append(Query(identity, " ".join(text for text in texts if text), narration or None, cluster or None))
    if not queries and not problems.count:
        problems.report(path, None, "holds no queries; expected at least one")
    if queries and cluster_id != CLUSTER_ID and all(query.cluster_id is None for query in queries):
        message = f"no query has a cluster_id in the column {quoted(cluster_id)}; expected one at least"
        problems.report(path, None, f"{message}: add it, or set cluster_id to the right column")
    return queries


def query_columns(path: Path, query_id: str = "query_id") -> list[str]:
    """The columns of a file of queries, or the keys of its objects, in file order; none if they have no names, as in
    TREC topics and in a TSV without a header. Raises InputError for a line that is not an object."""
    table_format = _table_format(path)
    if table_format is None:
        return []
    if table_format == "jsonl":
        return list(dict.fromkeys(key for line, text in read_lines(path) for key in _keys(path, line, text)))
    rows = (text for _, text in read_lines(path) if text)
    header = next(csv.reader(rows), []) if table_format == "csv" else next(rows, "").split("\t")
    return header if query_id in header else []


def read_query_column(path: Path, column: str, query_id: str = "query_id") -> dict[str, str]:
    """The value of each query in one of the ``query_columns``, by query_id; an empty text where there is none.

    Raises InputError as ``read_queries`` does, and for a value that is no text.
    """
    table_format = _table_format(path)
    assert table_format is not None
    fields = [Field("query_id", query_id), Field("column", column, required=False)]
    return {identity: value for _, (identity, value) in read_table(path, table_format, fields)}


def _table_format(path: Path) -> TableFormat | None:
    found = format_of(path)
    return found if found == "jsonl" or found == "tsv" or found == "csv" else None


def _keys(path: Path, line: int, text: str) -> list[str]:
    if not text or text.isspace():
        return []
    try:
        return list(json_object(text))
    except RowError as fault:
        raise InputError(path, line, str(fault)) from None


def _cluster_fault(cluster_id: str) -> str | None:
    found = _BAD_CLUSTER.search(cluster_id)
    if found:
        return f"holds the character U+{ord(found.group()):04X}; expected a text without control characters"
    if cluster_id != cluster_id.strip():
        return "begins or ends with white space; expected none there"
    return None


def _rows(
    path: Path, query_id: str, query: list[str], narrative: str, cluster_id: str, problems: Problems
) -> Iterator[tuple[int, Sequence[str]]]:
    found = format_of(path)
    if found == "topics":
        return _topics(path, query_id, query, narrative, problems)
    if found == "documents":
        raise InputError(path, None, "holds documents (<DOC>); expected queries")
    if found == "parquet":
        raise InputError(path, None, "is Parquet; expected queries as .jsonl, .tsv, .csv or TREC topics")
    fields = [
        Field("query_id", query_id),
        *(Field("query", column) for column in query),
        Field("narrative", narrative, required=narrative != "narrative"),
        Field("cluster_id", cluster_id, required=False),
    ]
    headerless = (query_id, query, narrative) == ("query_id", ["query"], "narrative")
    rows = read_table(path, found, fields, headerless, problems)
    return _without_quotes(path, rows, query, problems) if found == "tsv" else rows


def _without_quotes(
    path: Path, rows: Iterator[tuple[int, Sequence[str]]], query: list[str], problems: Problems
) -> Iterator[tuple[int, Sequence[str]]]:
    """The rows of a TSV, where quotes are part of the text. Reports cells that appear to be written as CSV: cells with
    doubled quotes, or all cells in quotes. Single queries may be phrases in quotes."""
    first: tuple[int, str] | None = None
    all_quoted = True
    for line, values in rows:
        texts = values[1 : 1 + len(query)]
        doubled = next((place for place, text in enumerate(texts) if _CSV_CELL.match(text)), None)
        if doubled is not None:
            problems.report(path, line, quotes_problem(query[doubled], texts[doubled]))
            continue
        all_quoted = all_quoted and all(map(in_quotes, texts))
        first = first or (line, texts[0])
        yield line, values
    if first is not None and all_quoted:
        problems.report(path, first[0], quotes_problem(query[0], first[1]) + "; all queries are quoted like this")


def _topics(
    path: Path, query_id: str, query: list[str], narrative: str, problems: Problems
) -> Iterator[tuple[int, Sequence[str]]]:
    number, *texts, story = (_TREC_FIELDS.get(name, name).lower() for name in (query_id, *query, narrative))
    for line, fields in read_topics(path, problems):
        try:
            if number not in fields:
                raise RowError(f"this topic has no <{number}>; expected its query_id there")
            check_id("query_id", fields[number])
            # A topic may lack some of several fields: some topics of the early years have no title.
            if fields.keys().isdisjoint(texts):
                wanted = " or ".join(f"<{name}>" for name in texts)
                present = ", ".join(fields)
                raise RowError(f"this topic has no {wanted}; its fields are {present}: set query to one of them")
        except RowError as fault:
            problems.report(path, line, str(fault))
        else:
            yield line, [*(fields.get(name, "") for name in (number, *texts, story)), ""]
