"""Reads sampled qrels: those of xinfAP (``query_id 0 doc_id stratum relevance``, −1 for a pair that was not drawn), and
prels (``query_id doc_id relevance method probability``), which list only what was judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from quati_pool.files.columns import Pairs, integer, read_columns
from quati_pool.files.label_files.label_file import LabelFile, Rows
from quati_pool.files.label_files.options import Options
from quati_pool.files.problems import Problems, RowError, quoted

NOT_DRAWN = "-1"
STRATA = ("query_id", "0", "doc_id", "stratum", "relevance")
PRELS = ("query_id", "doc_id", "relevance", "method", "probability")


def looks_like(first: str) -> str | None:
    """``xinfap`` or ``prels`` for the first row of such a file, else None."""
    columns = first.split()
    if len(columns) != len(STRATA):
        return None
    if columns[1] in ("0", "Q0") and integer(columns[4]) is not None:
        return "xinfap"
    return "prels" if integer(columns[2]) is not None and _probability(columns[4]) is not None else None


def read_strata(path: Path, options: Options, problems: Problems) -> LabelFile:
    """The labels of xinfAP's qrels; a pair that was not drawn has no grade, and every pair has a stratum."""
    options.refuse_annotator(path, "xinfAP's qrels")
    rows, pairs, strata = Rows(path), Pairs(), []
    for line, (query_id, _, doc_id, stratum, relevance) in read_columns(path, STRATA, problems):
        try:
            grade = None if relevance == NOT_DRAWN else options.grader.grade_in_qrels(relevance)
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
                raise RowError(f"probability {quoted(written)} is not one; expected a number from 0 to 1")
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
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number <= 1 and "_" not in text and text.isascii() else None
