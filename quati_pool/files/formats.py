"""Detects the format of a file by its suffix, or otherwise by its first lines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from quati_pool.errors import InputError
from quati_pool.files.lines import read_lines
from quati_pool.files.problems import Collected

TableFormat = Literal["jsonl", "tsv", "csv"]
Format = TableFormat | Literal["parquet", "documents", "topics"]

_BY_SUFFIX: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".tsv": "tsv",
    ".csv": "csv",
    ".parquet": "parquet",
}
_OPENING = re.compile(r"<(doc|top)\s*>", re.IGNORECASE)
_SNIFFED = 100


def data_suffix(path: Path) -> str:
    """The suffix in lower case, without .gz."""
    return Path(path.stem if path.suffix == ".gz" else path.name).suffix.lower()


def format_of(path: Path) -> Format:
    """The format of a corpus or queries file."""
    by_suffix = _BY_SUFFIX.get(data_suffix(path))
    if by_suffix is not None:
        return by_suffix
    sniffed = sniff(path)
    if sniffed is None:
        message = "is not in a known format; expected .jsonl, .tsv, .csv, .parquet, or TREC's <DOC> or <top>"
        raise InputError(path, None, message)
    return sniffed


def sniff(path: Path) -> Literal["documents", "topics"] | None:
    """TREC documents or topics, by the first element that opens within 100 lines.

    Lines that are not UTF-8 are left for the reader to report.
    """
    for number, line in read_lines(path, Collected(0)):
        found = _OPENING.search(line)
        if found:
            return "documents" if found[1].lower() == "doc" else "topics"
        if number == _SNIFFED:
            break
    return None
