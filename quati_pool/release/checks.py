"""Checks that a release is consistent before it is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from quati_pool.files.problems import quoted
from quati_pool.records import Qrels, id_problem
from quati_pool.release.errors import ReleaseError
from quati_pool.release.state import Labelled, Release

BY_ID = "name the passages by their doc_id in its file"


def check(release: Release, needs_grades: bool = True) -> None:
    """Raises ReleaseError for an invalid query_id, a query or labeler that occurs twice, a release without labelers if
    the format ``needs_grades``, a labeler without grades, grades off the scale, a pair graded twice, a graded query
    that is not among the queries, and an invalid doc_id (a label file may have texts instead of ids).
    """
    query_ids = [query.query_id for query in release.queries]
    for query_id in query_ids:
        problem = id_problem(query_id)
        if problem:
            raise ReleaseError(f"{release.name}: query_id {quoted(query_id)} {problem}; rename this query")
    _refuse_twice(release, "query_id", query_ids)
    _refuse_twice(release, "labeler", [labelled.labeler for labelled in release.labelers])
    if needs_grades and not release.labelers:
        raise ReleaseError(f"{release.name}: there are no grades to release; name at least one labeler")
    known = set(query_ids)
    for labelled in release.labelers:
        _check_grades(release, labelled, known)


def _refuse_twice(release: Release, what: str, names: Sequence[str]) -> None:
    name, count = next(iter(Counter(names).most_common(1)), ("", 0))
    if count > 1:
        raise ReleaseError(f"{release.name}: {what} {quoted(name)} occurs {count} times; name it once")


def _check_grades(release: Release, labelled: Labelled, query_ids: Collection[str]) -> None:
    name, qrels = quoted(labelled.labeler), labelled.qrels
    if not len(qrels):
        again = f"run: quati-pool judge {labelled.labeler}, or leave it out" if labelled.kind == "judge" else ""
        raise ReleaseError(f"labeler {name} has graded no pair; {again or 'leave it out'}")
    off_scale = sorted(set(np.unique(qrels.relevance).tolist()) - set(release.grades))
    if off_scale:
        scale = ", ".join(map(str, sorted(release.grades)))
        raise ReleaseError(
            f"labeler {name} gives the grade {off_scale[0]}, which is not on the scale ({scale}); "
            "add it under grades: in pool.yaml, or leave this labeler out"
        )
    pairs = qrels.query * max(len(qrels.docs), 1) + qrels.doc
    first = np.unique(pairs, return_index=True)[1]
    if len(first) < len(pairs):
        row = int(np.setdiff1d(np.arange(len(pairs)), first)[0])
        query_id, doc_id = _ids(qrels, row)
        raise ReleaseError(f"labeler {name} grades {quoted(query_id)} {quoted(doc_id)} twice; keep one of its grades")
    for query_id in qrels.queries.decode(np.unique(qrels.query)).to_pylist():
        if query_id not in query_ids:
            raise ReleaseError(
                f"labeler {name} grades query_id {quoted(query_id)}, which is not among the queries; "
                "add it to the queries' file, or drop its grades"
            )
    for doc_id in graded_documents(labelled):
        problem = id_problem(doc_id)
        if problem:
            raise ReleaseError(f"labeler {name} grades doc_id {quoted(doc_id)}, which {problem}; {BY_ID}")


def graded(qrels: Qrels) -> Mapping[tuple[str, str], int]:
    """Grades by (query_id, doc_id)."""
    query_ids = qrels.queries.decode(qrels.query).to_pylist()
    doc_ids = qrels.docs.decode(qrels.doc).to_pylist()
    return dict(zip(zip(query_ids, doc_ids, strict=True), qrels.relevance.tolist(), strict=True))


def graded_documents(labelled: Labelled) -> list[str]:
    """The distinct doc_ids that a labeler graded."""
    doc_ids: list[str] = labelled.qrels.docs.decode(np.unique(labelled.qrels.doc)).to_pylist()
    return doc_ids


def holding_all_graded(release: Release, passages: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yields the passages unchanged; raises ReleaseError after the last one if a graded document was not among them."""
    missing: dict[str, str] = {}
    for labelled in release.labelers:
        for doc_id in graded_documents(labelled):
            missing.setdefault(doc_id, labelled.labeler)
    for doc_id, text in passages:
        missing.pop(doc_id, None)
        yield doc_id, text
    if missing:
        doc_id, labeler = next(iter(missing.items()))
        raise ReleaseError(
            f"labeler {quoted(labeler)} grades doc_id {quoted(doc_id)}, which the corpus does not hold "
            f"({len(missing):,} such documents); name the corpus that was graded in pool.yaml, or drop these grades"
        )


def _ids(qrels: Qrels, row: int) -> tuple[str, str]:
    query_id: str = qrels.queries.decode(qrels.query[[row]])[0].as_py()
    doc_id: str = qrels.docs.decode(qrels.doc[[row]])[0].as_py()
    return query_id, doc_id
