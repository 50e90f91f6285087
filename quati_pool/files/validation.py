"""Checks a file from end to end: all its faults up to a limit, what looks odd, and what it holds."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import xxhash

from quati_pool.errors import InputError
from quati_pool.files import corpus, formats
from quati_pool.files.lines import read_lines
from quati_pool.files.problems import Collected, Problems, quoted
from quati_pool.files.qrels import is_label_file, read_labels, read_qrels
from quati_pool.files.queries import read_queries
from quati_pool.files.runs import RunRows, read_run_rows
from quati_pool.records import Qrels

Kind = Literal["run", "qrels", "labels", "queries", "corpus"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_SNIFFED = 20


@dataclass(frozen=True)
class Fields:
    """Under which names a corpus or queries file holds what is read."""

    doc_id: str = "doc_id"
    text: str | list[str] = "text"
    query_id: str = "query_id"
    query: str | list[str] | None = None


@dataclass(frozen=True)
class ValidationReport:
    """What a check found: the first faults, how many more there are, oddities, and counts."""

    path: Path
    kind: Kind | None
    errors: list[InputError]
    more_errors: int
    warnings: list[str] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return not self.errors


@dataclass
class _Findings:
    warnings: list[str] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)


def validate_file(
    path: Path,
    kind: Kind | None = None,
    limit: int = 20,
    doc_id: str = "doc_id",
    text: str | list[str] = "text",
    query_id: str = "query_id",
    query: str | list[str] | None = None,
) -> ValidationReport:
    """Reads a file whole, as ``kind`` or as what its first lines look like."""
    fields = Fields(doc_id, text, query_id, query)
    problems = Collected(limit)
    findings = _Findings()
    try:
        kind = kind or detect_kind(path, fields)
        _CHECKS[kind](path, fields, problems, findings)
    except InputError as error:
        problems.add(error)
    more = problems.count - len(problems.errors)
    return ValidationReport(path, kind, problems.errors, more, findings.warnings, findings.summary)


def detect_kind(path: Path, fields: Fields) -> Kind:
    """What a file seems to be; raises InputError where that cannot be said."""
    suffix = formats.data_suffix(path)
    if suffix == ".parquet":
        return "corpus"
    head = [line for _, line in islice(read_lines(path), _SNIFFED) if line.strip()]
    kind = _by_names(_names(suffix, head), fields) or _by_columns(suffix, head)
    if kind is None:
        kind = {"documents": "corpus", "topics": "queries", None: None}[formats.sniff(path)]
    if kind is None:
        raise InputError(path, None, f"could be one of several kinds; give --kind: {', '.join(KINDS)}")
    return kind


def _names(suffix: str, head: list[str]) -> set[str]:
    """The field names that the first line of a table, or its first object, shows."""
    first = head[0] if head else ""
    if suffix in (".jsonl", ".ndjson"):
        try:
            return set(json.loads(first))
        except (ValueError, TypeError, RecursionError):
            return set()
    if suffix == ".csv":
        return set(next(csv.reader([first]), []))
    return set(first.split("\t"))
