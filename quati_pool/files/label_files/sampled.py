"""Reads sampled qrels: those of xinfAP (``query_id 0 doc_id stratum relevance``, −1 for a pair that was not drawn), and
prels (``query_id doc_id relevance method probability``), which list only what was judged."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from quati_pool.files.columns import Pairs, integer, read_columns
from quati_pool.files.label_files.label_file import LabelFile, Rows
from quati_pool.files.label_files.options import Options
from quati_pool.files.problems import Problems, RowError, quoted

STRATA = ("query_id", "0", "doc_id", "stratum", "relevance")
PRELS = ("query_id", "doc_id", "relevance", "method", "probability")

_ZERO = ("0", "Q0")
_NOT_DRAWN = re.compile(r"-1(\.0*)?\Z")
# 1/π of a smaller one says nothing, and sums of them overflow.
_SMALLEST = 1e-9


def looks_like(first: str) -> str | None:
    """``xinfap`` or ``prels`` for the first row of such a file, else None."""
    columns = first.split()
    if len(columns) != len(STRATA):
        return None
    if columns[1] in _ZERO and integer(columns[4]) is not None:
        return "xinfap"
    return "prels" if integer(columns[2]) is not None and _number(columns[4]) is not None else None


def read_strata(path: Path, options: Options, problems: Problems) -> LabelFile:
    """The labels of xinfAP's qrels; a pair that was not drawn has no grade, and every pair has a stratum."""
    options.refuse_annotator(path, "xinfAP's qrels")
    rows, pairs, strata = Rows(path), Pairs(), []
    for line, (query_id, zero, doc_id, stratum, relevance) in read_columns(path, STRATA, problems):
        try:
            if zero not in _ZERO:
                raise RowError(
                    f"column 2 is {quoted(zero)}; expected 0 in xinfAP's qrels ({' '.join(STRATA)}); name prels in "
                    "pool.yaml with format: prels"
                )
            grade = None if _NOT_DRAWN.match(relevance) else options.grader.grade_in_qrels(relevance)
            pairs.add(query_id, doc_id, line)
        except RowError as fault:
            problems.report(path, line, str(fault))
        else:
            rows.add(line, (query_id, None, doc_id, None), grade)
            strata.append(stratum)
    return replace(rows.label_file("xinfap", " ".join(STRATA), problems), stratum=strata)


def read_prels(path: Path, options: Options, problems: Problems) -> LabelFile:
    """The labels of prels, each with the probability with which its pair was drawn, 0 for a pair that was judged but
    not drawn."""
    options.refuse_annotator(path, "prels")
    rows, pairs = Rows(path), Pairs()
    inclusion: list[float] = []
    for line, (query_id, doc_id, relevance, _, written) in read_columns(path, PRELS, problems):
        try:
            grade = options.grader.grade_in_qrels(relevance)
            probability = _probability(written)
            if probability is None:
                expected = f"expected 0, or a number from {_SMALLEST:g} to 1"
                raise RowError(f"probability {quoted(written)} is not one; {expected}")
            pairs.add(query_id, doc_id, line)
        except RowError as fault:
            problems.report(path, line, str(fault))
        else:
            rows.add(line, (query_id, None, doc_id, None), grade)
            inclusion.append(probability)
    return replace(rows.label_file("prels", " ".join(PRELS), problems), inclusion=inclusion)


def prels_row(query_id: str, doc_id: str, relevance: int, probability: float) -> str:
    """A row of prels; the method is 1, sampling (2 and 0 are those of other designs, TREC 2007 Million Query track)."""
    return f"{query_id} {doc_id} {relevance} 1 {probability!r}"


def _probability(text: str) -> float | None:
    number = _number(text)
    return number if number is not None and (number == 0 or _SMALLEST <= number <= 1) else None


def _number(text: str) -> float | None:
    try:
        return float(text) if "_" not in text and text.isascii() else None
    except ValueError:
        return None
