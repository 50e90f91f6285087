"""Grades as qrels, and the errors for pairs that have no grade yet; grades of pairs outside the pool."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np

from quati_pool.errors import QuatiPoolError, TranslatableText
from quati_pool.labels.base import NOT_GIVEN, Graded, Labeler
from quati_pool.labels.coverage import LabelCoverage
from quati_pool.records import Ids, Qrels, State, code_ids

# The number of pairs that an error message names.
_NAMED = 3


def grades_outside_pool(labeler: Labeler, pooled: Iterable[Graded]) -> list[Graded]:
    """A label file's grades of pairs that are not among ``pooled``, sorted by query_id, then doc_id. Agreement and
    evaluation use them too. All other labelers have grades only of the pool's pairs."""
    if not labeler.file_grades:
        return []
    inside = {(graded.query_id, graded.doc_id) for graded in pooled}
    found = sorted((pair, grade) for pair, grade in labeler.file_grades.items() if pair not in inside)
    return [Graded(query_id, doc_id, State.ok, grade) for (query_id, doc_id), grade in found]


def outside(labeler: Labeler, coverage: LabelCoverage) -> int:
    """The number of a label file's grades of pairs outside the pool; ``coverage`` is that of the pool."""
    return len(labeler.file_grades) - sum(coverage.grades.values()) if labeler.file_grades else 0


def nothing_graded(labeler: str, kind: str = "judge") -> QuatiPoolError:
    remedies = {"file": "check that its file names the collection's ids", "assessor": "run: quati-pool annotate"}
    remedies["hybrid"] = "let people grade, or its judge: quati-pool annotate, or quati-pool judge"
    remedy = remedies.get(kind, f"run: quati-pool judge {labeler}")
    text = f"{labeler} has graded no pair of the pool; {remedy}"
    return QuatiPoolError(TranslatableText(text, "nothing_graded", labeler=labeler))


def refuse_missing(labeler: Labeler, coverage: LabelCoverage) -> None:
    """Raises QuatiPoolError if a pair has no grade yet (``LabelCoverage.pending``): it would be missing in qrels."""
    if not coverage.pending:
        return
    pairs = f"{coverage.pairs:,} pairs"
    if coverage.not_given:
        to = "people" if labeler.derived_from else labeler.name
        pairs = f"the {coverage.pairs - coverage.not_given:,} pairs given to {to}"
    remedy = f"run: quati-pool judge {labeler.name}, or " if labeler.kind == "judge" else ""
    if coverage.tied:
        remedy = "decide tied pairs on the page Review of quati-pool annotate, or "
    raise QuatiPoolError(
        f"{coverage.pending:,} of {pairs} have no grade by {labeler.name} ({_reasons(coverage)}): "
        f"{_named(coverage)}; {remedy}leave them out, unjudged, with --allow-missing"
    )


def without_grade(coverage: LabelCoverage) -> str:
    """The pairs without a grade by state, such as "21 tied, 2,340 not given"; empty if there are none."""
    return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in coverage.lacks.items())


def as_qrels(graded: Sequence[Graded]) -> Qrels:
    """Qrels of the pairs that have a grade, in their order."""
    return qrels_of([(one.query_id, one.doc_id, one.relevance) for one in graded if one.relevance is not None])


def without_queries(qrels: Qrels, query_ids: Collection[str]) -> Qrels:
    """The grades of all other queries."""
    left_out = qrels.queries.encode(sorted(query_ids))
    rows = np.flatnonzero(~np.isin(qrels.query, left_out[left_out >= 0]))
    return replace(qrels, query=qrels.query[rows], doc=qrels.doc[rows], relevance=qrels.relevance[rows])


def qrels_of(rows: Sequence[tuple[str, str, int]]) -> Qrels:
    """Qrels from rows of query_id, doc_id and grade, in their order."""
    query_ids, doc_ids, grades = zip(*rows, strict=True) if rows else ((), (), ())
    queries, (query,) = code_ids([Ids(query_ids).values])
    docs, (doc,) = code_ids([Ids(doc_ids).values])
    return Qrels(queries, docs, query, doc, np.array(grades, dtype=np.int64))


def grades_by_pair(qrels: Qrels) -> dict[tuple[str, str], int]:
    """The grade of each (query_id, doc_id)."""
    query_ids, doc_ids = qrels.queries.decode(qrels.query).to_pylist(), qrels.docs.decode(qrels.doc).to_pylist()
    return dict(zip(zip(query_ids, doc_ids, strict=True), qrels.relevance.tolist(), strict=True))


def _reasons(coverage: LabelCoverage) -> str:
    final = (State.unsure, State.no_text, NOT_GIVEN)
    return ", ".join(f"{count:,} {name}" for name, count in coverage.lacks.items() if name not in final)


def _named(coverage: LabelCoverage) -> str:
    shown = [f"{graded.query_id} {graded.doc_id} ({graded.state_name})" for graded in coverage.lacking[:_NAMED]]
    more = coverage.pending - len(shown)
    return ", ".join(shown) + (f" and {more:,} more (quati-pool labels --missing lists them)" if more else "")
