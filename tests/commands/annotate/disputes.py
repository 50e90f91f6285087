"""A collection of six pairs that ana, bia and a judge disagree on; for the tests of what leads see and do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.records import State
from quati_pool.store.records import Attempt, Entry, Kind, Label, Phase, content_sha
from tests.commands.annotate.people_at_work import collection, token

GRADES: Mapping[str, Mapping[tuple[str, str], int | None]] = {
    "ana": {("q0", "d0"): 0, ("q0", "d1"): 1, ("q0", "d2"): 2, ("q1", "d0"): 0, ("q1", "d1"): None},
    "bia": {("q0", "d0"): 0, ("q0", "d1"): 2, ("q0", "d2"): 2, ("q1", "d0"): 3, ("q1", "d1"): 1, ("q1", "d2"): 1},
    "gpt": {("q0", "d0"): 3, ("q0", "d1"): 2, ("q0", "d2"): 2, ("q1", "d0"): 3, ("q1", "d1"): 1, ("q1", "d2"): 0},
}
"""None is "cannot judge". By hand: gaps of people are q1 d0 3, q0 d1 1; q1 d1 is split; q0 d0 and q0 d2 are
the same; q1 d2 has one label."""


class Tokens(NamedTuple):
    ana: str
    bia: str
    lia: str


def add_label(
    session: AnnotationSession,
    labeler_id: str,
    query_id: str,
    doc_id: str,
    relevance: int | None,
    phase: Phase = "blind",
    status: State | None = None,
    attempts: tuple[Attempt, ...] = (),
    **values: Any,
) -> int:
    """Appends a label of a pair as it is shown now; its seq. People's carry seconds and a note."""
    kind: Kind = "judge" if labeler_id == "gpt" else "assessor"
    shown = session.pool_view.pair(query_id, doc_id)
    assert shown is not None
    usual: dict[str, Any] = {"version": "v1", "rationale": f"gpt of {doc_id}"} if kind == "judge" else {
        "version": session.version,
        "rationale": f"{labeler_id} of {doc_id}",
        "extra": {"active_seconds": 4.0},
    }  # fmt: skip
    label = Label(
        collection=session.config.name,
        labeler_id=labeler_id,
        kind=kind,
        query_id=query_id,
        doc_id=doc_id,
        content_sha=content_sha(shown.query, shown.text, session.narratives.get(query_id)),
        status=status or (State.ok if relevance is not None else State.unsure),
        relevance=relevance,
        phase=phase,
        **{**usual, **values},
    )
    return session.store.append([Entry(label=label, attempts=attempts)])[0]


@contextmanager
def disputed(folder: Path, database: str | None = None, **settings: Any) -> Iterator[tuple[AnnotationSession, Tokens]]:
    """The session, and the tokens of two assessors and a lead who are signed in."""
    config = collection(folder, **settings)
    with AnnotationSession.open(config, database) as session:
        for name, grades in GRADES.items():
            for (query_id, doc_id), relevance in grades.items():
                add_label(session, name, query_id, doc_id, relevance)
        yield session, Tokens(token(session, "ana"), token(session, "bia"), token(session, "lia", "lead"))
