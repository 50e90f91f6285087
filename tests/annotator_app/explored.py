"""A small collection with runs, a judge's grades of all pairs and people's of some, for tests of leads' explorer."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from quati_pool.commands.annotate.session import AnnotationSession
from tests.commands.annotate.disputes import add_label

GRADES: Mapping[str, tuple[int, ...]] = {"ana": (0, 1, 2, 1), "bia": (3, 1, 2)}
"""People's grades of the first passages of the first query: the first is disputed, the fourth has one label."""


def explored(finished: Path, folder: Path, database: str | None = None, note: str = "") -> Path:
    """A copy of a finished build with labels, to whose notes and reasons ``note`` is added; returns its pool.yaml."""
    config = Path(shutil.copytree(finished, folder)) / "pool.yaml"
    with AnnotationSession.open(config, database) as session:
        pool = session.pool_view
        for query_id in pool.query_ids:
            for number, doc_id in enumerate(pool.doc_ids(query_id)):
                add_label(session, "gpt", query_id, doc_id, number % 4, rationale=f"gpt of {doc_id} {note}")
        query_id, docs = first_query(session)
        for name, grades in GRADES.items():
            for doc_id, grade in zip(docs, grades, strict=False):
                add_label(session, name, query_id, doc_id, grade, rationale=f"{name} of {doc_id} {note}")
    return config


def first_query(session: AnnotationSession) -> tuple[str, list[str]]:
    """The first query of the pool and its passages, in the pool's order."""
    query_id = session.pool_view.query_ids[0]
    return query_id, list(session.pool_view.doc_ids(query_id))
