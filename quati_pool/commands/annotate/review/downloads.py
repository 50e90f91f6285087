"""A lead's downloads from the app: one labeler's grades as qrels, or labels in the format of another tool.

People may still be grading at the time of the export, so pairs without a grade are left out and counted, as with
``quati-pool export qrels --allow-missing``; a missing grade is never written as 0.
"""

from __future__ import annotations

import io
import tempfile
from dataclasses import dataclass
from pathlib import Path

from quati_pool.commands.annotate.errors import AnswerError
from quati_pool.commands.annotate.review.annotated_pairs import peoples_pairs
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.export.labels import label_rows
from quati_pool.files.label_files.writing import WRITTEN_FORMATS, file_name, write_labels
from quati_pool.files.qrels import write_qrels
from quati_pool.labels.base import Labeler
from quati_pool.labels.labelers import Grading
from quati_pool.labels.qrels import as_qrels, nothing_graded
from quati_pool.registry import nearest

KINDS = ("qrels", *WRITTEN_FORMATS)
"""The available formats: TREC qrels, and the label formats."""


@dataclass(frozen=True)
class Download:
    """A file's name and bytes; ``left_out`` counts the pairs of the pool that have no grade or label in it."""

    filename: str
    content: bytes
    left_out: int


def exported(session: AnnotationSession, token: str | None, kind: str, labeler: str) -> Download:
    """One labeler's grades of the pool's pairs, in the pool's order.

    Raises SignedOutError, ForbiddenError for anybody but a lead, AnswerError for an unknown kind,
    ConfigError for an unknown labeler, QuatiPoolError if there is nothing to export.
    """
    session.person(token, "lead")
    if kind not in KINDS:
        raise AnswerError(f"there is no export {kind[:40]!r}; {nearest(kind, KINDS)}")
    with session.store.snapshot():
        grading: Grading = peoples_pairs(session)
        reader = grading.labeler(labeler)
        if reader.kind != "assessor" or not reader.stored:
            # A judge or a label file also has grades of pairs that no person labelled here.
            grading = Grading(session.config, session.store)
            reader = grading.labeler(labeler)
        return _qrels(session, grading, reader) if kind == "qrels" else _labels(session, grading, reader, kind)


def _qrels(session: AnnotationSession, grading: Grading, reader: Labeler) -> Download:
    graded = (graded for chunk in grading.pairs() for graded in reader.graded(chunk))
    kept = [one for one in graded if one.relevance is not None]
    if not kept:
        raise nothing_graded(reader.name, reader.kind)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "download.qrels"
        write_qrels(as_qrels(kept), path)
        content = path.read_bytes()
    return Download(f"{reader.name}.qrels", content, len(session.pool_view) - len(kept))


def _labels(session: AnnotationSession, grading: Grading, reader: Labeler, kind: str) -> Download:
    rows, _ = label_rows(grading, reader)
    if not rows:
        raise nothing_graded(reader.name, reader.kind)
    stream = io.BytesIO()
    write_labels(rows, kind, stream, session.config.grades, reader.name)
    left_out = len(session.pool_view) - len(rows)
    return Download(file_name(reader.name, kind), stream.getvalue(), left_out)
