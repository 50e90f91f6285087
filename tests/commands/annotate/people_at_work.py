"""A workspace with people who grade it; used by the tests of the annotation steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from quati_pool.annotation.codes import token_sha
from quati_pool.commands.annotate.grading.answer import Answer
from quati_pool.commands.annotate.grading.item import Item
from quati_pool.commands.annotate.grading.next_item import next_item
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.files.pools import PoolPair
from quati_pool.store.records import Design, Label, NewSlot, Role, Selection
from tests.commands.judged import pair, workspace

WORDS = "amarelo barco cedro dado espelho figo gato harpa ilha jarro lago mesa navio olho prato queijo rede sino"


def text(number: int) -> str:
    """A passage of its own words: no two are alike."""
    return " ".join(f"{word}{number}" for word in WORDS.split())


def pairs(queries: int = 2, docs: int = 3) -> list[PoolPair]:
    return [pair(f"q{q}", f"d{d}", text(100 * q + d)) for q in range(queries) for d in range(docs)]


def collection(folder: Path, rows: Iterable[PoolPair] | None = None, **settings: Any) -> Path:
    """Writes a workspace with a pool; returns its pool.yaml."""
    judges = settings.pop("judges", {})
    return workspace(folder, pairs() if rows is None else rows, judges, **settings)


def token(session: AnnotationSession, name: str, role: Role = "assessor") -> str:
    """Makes a person who is signed in, and gives their token. Their code is nothing that can be typed."""
    session.people.add(name, role, f"H-{name}", "none")
    made = f"token-of-{name}"
    session.people.sign_in(name, token_sha(made), 3600)
    return made


def assigned(
    session: AnnotationSession,
    holders: Sequence[str | None] = (None,),
    load: int | None = None,
    queries: Sequence[str] | None = None,
    order: str | None = "stored",
) -> int:
    """Gives every pair of the pool (of some queries) as many slots as there are holders; None is the open queue.
    Everybody gets the queries as they are listed; with ``order`` None, each person begins at another one."""
    pool = session.pool_view
    wanted = pool.query_ids if queries is None else queries
    ids = [(query_id, doc_id, place) for place, query_id in enumerate(wanted, 1) for doc_id in pool.doc_ids(query_id)]
    slots = [
        NewSlot(query_id, doc_id, replicate, place, holder)
        for query_id, doc_id, place in ids
        for replicate, holder in enumerate(holders, 1)
    ]
    chosen = [Selection(query_id, doc_id, "all", 1.0, len(holders)) for query_id, doc_id, _ in ids]
    parameters = {"load": load, "order": order}
    design = Design(method="all", seed=0, frame_sha=pool.sha, frame_pairs=len(pool), parameters=parameters)
    return session.designs.create(design, chosen, slots)


def answer(number: int = 0, relevance: int | None = 2, **values: Any) -> Answer:
    """An answer with a nonce of its own for each number."""
    usual = {"status": "ok", "active_seconds": 4.25, "elapsed_seconds": 9.5}
    return Answer(relevance=relevance, nonce=f"nonce-{number:012d}", **{**usual, **values})


def item(session: AnnotationSession, mine: str) -> Item:
    found = next_item(session, mine)
    assert found is not None
    return found


def labels(session: AnnotationSession, name: str, query_id: str, doc_id: str) -> list[Label]:
    """All that somebody ever said of a pair, oldest first."""
    return [label for label, _ in session.store.history(session.config.name, name, query_id, doc_id)]


def everything(session: AnnotationSession) -> int:
    """How many labels the store holds, of anybody."""
    return sum(labeler.rows for labeler in session.store.labelers(session.config.name))
