"""Checks a whole file and reports its faults up to a limit, warnings, and a summary of its content."""

from __future__ import annotations

import csv
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import xxhash

from quati_pool.errors import InputError
from quati_pool.files.corpus import read_file
from quati_pool.files.formats import data_suffix, sniff
from quati_pool.files.label_files import annotators, read_label_file
from quati_pool.files.label_files.reading import looks_like
from quati_pool.files.label_files.records import read_records
from quati_pool.files.label_files.repeats import repeats
from quati_pool.files.label_files.sampled import looks_like as sampled_row
from quati_pool.files.lines import read_lines
from quati_pool.files.problems import Collected, CollectedByKind, Problems, quoted
from quati_pool.files.queries import read_queries
from quati_pool.files.runs import RunRows, read_runs

Kind = Literal["run", "qrels", "labels", "queries", "corpus"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_SNIFFED = 20
_KIND_OF_SUFFIX: dict[str, Kind] = {".parquet": "corpus", ".run": "run", ".qrels": "qrels"}
_KIND_OF_HINT: dict[str, Kind] = {
    **dict.fromkeys(("quer", "topic", "question"), "queries"),
    **dict.fromkeys(("corpus", "collection", "passage", "doc"), "corpus"),
}
_KIND_OF_ELEMENT: dict[str, Kind] = {"documents": "corpus", "topics": "queries"}
_INTEGER_LIKE = re.compile(r"-?[0-9]+([.,][0-9]+)?\Z")


@dataclass(frozen=True)
class Findings:
    """Counts of a file's content, and warnings about content that looks odd but is not wrong."""

    summary: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ValidationReport:
    """The first faults of a file, the number of further faults, warnings, and counts of its valid content. ``repeats``
    is the number of faults that ``errors`` covers beyond the first of each kind."""

    path: Path
    kind: str | None
    errors: list[InputError]
    more_errors: int
    warnings: list[str]
    summary: dict[str, Any]
    repeats: int = 0

    @property
    def faults(self) -> int:
        return len(self.errors) + self.repeats + self.more_errors

    @property
    def ok(self) -> bool:
        return not self.faults


def validate_file(
    path: Path,
    kind: Kind | None = None,
    limit: int = 20,
    doc_id: str = "doc_id",
    text: str | list[str] = "text",
    query_id: str = "query_id",
    query: str | list[str] | None = None,
    grades: Mapping[str, int | None] | None = None,
) -> ValidationReport:
    """Validates a whole file, as ``kind`` or by default as the kind detected from its name and first lines. ``grades``
    maps the grade names used in a label file to grades. For a corpus ``limit`` applies to the kinds of faults, each of
    which is reported as one error."""
    try:
        kind = kind or detect_kind(path, doc_id, query_id)
    except InputError as error:
        return ValidationReport(path, None, [error], 0, [], {})
    problems = CollectedByKind(limit) if kind == "corpus" else Collected(limit)
    checks: dict[Kind, Callable[[], Findings]] = {
        "run": lambda: _check_runs(read_runs(path, problems)),
        "qrels": lambda: _check_qrels(path, grades, problems),
        "labels": lambda: _check_labels(path, grades, problems),
        "queries": lambda: _check_queries(path, query_id, query, problems),
        "corpus": lambda: _check_corpus(path, doc_id, text, problems),
    }
    findings = Findings()
    try:
        findings = checks[kind]()
    except InputError as error:
        problems.add(error)
    errors, warnings = problems.errors, [*problems.warnings, *findings.warnings]
    more, repeats = problems.count - problems.covered, problems.covered - len(errors)
    return ValidationReport(path, kind, errors, more, warnings, findings.summary, repeats)


def detect_kind(path: Path, doc_id: str = "doc_id", query_id: str = "query_id") -> Kind:
    """The kind of a file, by its name and first lines; raises InputError if it is unclear."""
    suffix = data_suffix(path)
    by_suffix = _KIND_OF_SUFFIX.get(suffix)
    if by_suffix is not None:
        return by_suffix
    lines = (line for _, line in read_lines(path, Collected(0)))
    head = list(islice((line for line in lines if line.strip() and line[0] != "#"), _SNIFFED))
    if not head:
        raise InputError(path, None, "is empty; expected rows")
    unmapped = (doc_id, query_id) == ("doc_id", "query_id")
    if unmapped and looks_like(path, {}) in ("quati", "doccano", "label-studio"):
        return "labels"
    kind = _kind_of_names(_names(path, suffix, head[0]), doc_id, query_id)
    if kind is None:
        element = sniff(path)
        kind = _KIND_OF_ELEMENT[element] if element else _kind_of_columns(path, suffix, head)
    if kind is None:
        raise InputError(path, None, f"its kind is unclear; give --kind, one of {', '.join(KINDS)}")
    return kind


def _names(path: Path, suffix: str, first: str) -> set[str]:
    """The field names in the first row of a table."""
    if suffix in (".jsonl", ".ndjson", ".json"):
        return next((set(record) for _, record in read_records(path, Collected(0))), set())
    if suffix == ".csv":
        return set(next(csv.reader([first])))
    return set(first.split("\t"))


def _kind_of_names(names: set[str], doc_id: str, query_id: str) -> Kind | None:
    if "relevance" in names and names & {"query_id", "query"} and names & {"doc_id", "text"}:
        return "labels"
    if (doc_id in names) == (query_id in names):
        return None
    return "corpus" if doc_id in names else "queries"


def _kind_of_columns(path: Path, suffix: str, head: list[str]) -> Kind | None:
    rows = [line.split("\t" if suffix == ".tsv" else None) for line in head]
    if any(len(row) == 6 and _INTEGER_LIKE.match(row[3]) for row in rows):
        return "run"
    if any((len(row) == 4 and _INTEGER_LIKE.match(row[3])) or sampled_row(" ".join(row)) for row in rows):
        return "qrels"
    # Two columns without names may be queries or passages: the file's name decides.
    if suffix == ".tsv" and all(len(row) == 2 for row in rows):
        return next((kind for hint, kind in _KIND_OF_HINT.items() if hint in path.name.lower()), None)
    return None


def _check_runs(runs: Mapping[str, RunRows]) -> Findings:
    """Warnings and counts of a file of one run, or of several: a query counts for each run that has it."""
    lengths = np.concatenate(
        [np.unique(rows.query, return_counts=True)[1] for rows in runs.values()] or [np.array([0])]
    )
    ties = sum(map(_ties, runs.values()))
    out_of_order = sum(map(_queries_out_of_order, runs.values()))
    warnings = []
    if out_of_order:
        warnings.append(
            f"in {out_of_order} of {len(lengths)} queries the ranks do not follow the scores; "
            "the scores count, as in trec_eval"
        )
    if ties:
        warnings.append(f"rows with equal scores in a query: {ties}; these are ordered by doc_id, descending")
    query_ids = {query_id for rows in runs.values() for query_id in rows.queries.values.to_pylist()}
    summary = {
        **({"run_tag": next(iter(runs), "")} if len(runs) < 2 else {"runs": len(runs)}),
        "rows": int(lengths.sum()),
        "queries": len(query_ids),
        "min_documents": int(lengths.min()),
        "max_documents": int(lengths.max()),
        "ties": ties,
    }
    return Findings(summary, warnings)


def _ties(rows: RunRows) -> int:
    """The number of rows that share their score with another row of their query."""
    order = np.lexsort((rows.score, rows.query))
    query, score = rows.query[order], rows.score[order]
    same = (query[1:] == query[:-1]) & (score[1:] == score[:-1])
    return int(np.count_nonzero(np.r_[same, False] | np.r_[False, same]))


def _queries_out_of_order(rows: RunRows) -> int:
    """The number of queries in which a later rank has a higher score."""
    order = np.lexsort((-rows.score, rows.rank, rows.query))
    query, score = rows.query[order], rows.score[order]
    rises = (query[1:] == query[:-1]) & (score[1:] > score[:-1])
    return len(np.unique(query[1:][rises]))


def _check_qrels(path: Path, names: Mapping[str, int | None] | None, problems: Problems) -> Findings:
    """Uses the label file reader of all commands, so that a file found valid here is valid there too."""
    file = read_label_file(path, sampled_format(path) or "qrels", names=names, problems=problems)
    repeated = repeats(file, problems)
    left_out = set(repeated)
    kept = [place for place, grade in enumerate(file.relevance) if grade is not None and place not in left_out]
    query_ids = file.query_id or []
    graded = {query_ids[place] for place in kept}
    without = len(graded - {query_ids[place] for place in kept if (file.relevance[place] or 0) > 0})
    summary = {
        "pairs": len(kept),
        "queries": len(graded),
        "grades": _grade_counts(file.relevance[place] for place in kept),
        "queries_without_relevant": without,
        **({"set_to_none": file.set_aside} if file.set_aside else {}),
        **({} if file.stratum is None else {"not_drawn": file.relevance.count(None) - file.set_aside}),
    }
    warning = f"{without} of {len(graded)} queries have no relevant document; they stay in every mean"
    return Findings(summary, [*_repeat_warnings(len(repeated)), *([warning] if without else [])])


def sampled_format(path: Path) -> str | None:
    """The format of sampled qrels; None for other files."""
    found = looks_like(path, {})
    return found if found in ("xinfap", "prels") else None


def _grade_counts(grades: Iterable[int | None]) -> dict[str, int]:
    """The number of labels with each grade, from the lowest grade up."""
    counts = Counter(grade for grade in grades if grade is not None)
    return {str(grade): counts[grade] for grade in sorted(counts)}


def _repeat_warnings(rows: int) -> list[str]:
    return [f"rows that repeat a pair with the same grade: {rows}; they count once"] if rows else []


class _WithoutRepeats(Problems):
    """Passes each fault on only once, since a file is read once per annotator."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._seen: set[str] = set()

    def add(self, error: InputError) -> None:
        if str(error) not in self._seen:
            self._seen.add(str(error))
            self._problems.add(error)
            self.count = self._problems.count


def _check_labels(path: Path, names: Mapping[str, int | None] | None, problems: Problems) -> Findings:
    without_repeats = _WithoutRepeats(problems)
    people = annotators(path)
    chosen: list[str | None] = [*people] or [None]
    files = [read_label_file(path, names=names, annotator=one, problems=without_repeats) for one in chosen]
    repeated = sum(len(repeats(file, without_repeats)) for file in files)
    grades = [grade for file in files for grade in file.relevance]
    ungraded = grades.count(None)
    summary = {
        "format": files[0].format,
        "labels": len(grades) - ungraded,
        "queries": len({query for file in files for query in file.query_id or file.query or ()}),
        "grades": _grade_counts(grades),
        "without_a_grade": ungraded,
        **({"annotators": len(people)} if people else {}),
    }
    warnings = []
    if ungraded:
        warnings.append(f"rows without a grade: {ungraded}; they are counted, but not as 0")
    return Findings(summary, [*warnings, *_repeat_warnings(repeated)])


def _check_queries(path: Path, query_id: str, query: str | list[str] | None, problems: Problems) -> Findings:
    queries = read_queries(path, query_id, query, problems=problems)
    empty = sum(not one.query.strip() for one in queries)
    clustered = [one.cluster_id for one in queries if one.cluster_id is not None]
    summary = {
        "queries": len(queries),
        "empty": empty,
        "narratives": sum(one.narrative is not None for one in queries),
        **({"clusters": len(set(clustered)), "without_a_cluster": len(queries) - len(clustered)} if clustered else {}),
    }
    return Findings(summary, [f"empty queries: {empty}; they retrieve nothing"] if empty else [])


def _check_corpus(path: Path, doc_id: str, text: str | list[str], problems: Problems) -> Findings:
    hashes = array("Q")
    empty = characters = 0
    for _, identity, content in read_file(path, doc_id, text, problems):
        hashes.append(xxhash.xxh3_64_intdigest(identity.encode()))
        characters += len(content)
        empty += not content.strip()
    if not hashes and not problems.count:
        problems.report(path, None, "holds no passages; expected at least one")
    hashed, counts = np.unique(np.frombuffer(hashes, dtype=np.uint64), return_counts=True)
    suspects = set(hashed[counts > 1].tolist())
    if suspects:
        _report_duplicates(path, doc_id, text, suspects, problems)
    summary = {
        "passages": len(hashes),
        "empty": empty,
        "mean_characters": characters / len(hashes) if hashes else None,
    }
    return Findings(summary, [f"empty passages: {empty}; nobody can judge them"] if empty else [])


def _report_duplicates(path: Path, doc_id: str, text: str | list[str], suspects: set[int], problems: Problems) -> None:
    """Reports ids that occur twice: reads the file again, and compares only the ids with a repeated hash."""
    first: dict[str, int] = {}
    for line, identity, _ in read_file(path, doc_id, text, Collected(0)):
        if xxhash.xxh3_64_intdigest(identity.encode()) in suspects:
            before = first.setdefault(identity, line)
            if before != line:
                message = f"doc_id {quoted(identity)} is in line {before} already; expected it once"
                problems.report(path, line, message)
