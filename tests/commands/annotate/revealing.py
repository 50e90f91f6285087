"""A collection whose judge is revealed after a person's own grade; for the tests of the page and of the browser."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.files.pools import PoolPair
from quati_pool.records import State
from quati_pool.store.database import Store
from quati_pool.store.records import Entry, Label, content_sha
from tests.commands.annotate.people_at_work import assigned, collection, pairs


def judged(
    store: Store,
    version: str,
    rows: dict[tuple[str, str], int],
    name: str = "lexical",
    pool: Sequence[PoolPair] | None = None,
) -> None:
    """Labels of the judge, as `judge` would write them."""
    texts = {(row["query_id"], row["doc_id"]): row for row in pool or pairs()}
    for ids, grade in rows.items():
        seen = content_sha(texts[ids]["query"], texts[ids]["text"])
        label = Label(
            collection="test", labeler_id=name, kind="judge", version=version, query_id=ids[0], doc_id=ids[1],
            content_sha=seen, status=State.ok, relevance=grade, rationale=f"nota {grade} para {ids[1]}",
        )  # fmt: skip
        store.append([Entry(label=label)])


@contextmanager
def revealing(folder: Path, holders: Sequence[str | None] = (None,)) -> Iterator[AnnotationSession]:
    """One query, whose passages d0, d1, d2 the judge grades 0, 1, 2, with as many slots a pair as there are
    ``holders``."""
    config = collection(
        folder,
        pairs(1, 3),
        judges={"lexical": {"judge": "lexical"}},
        annotation={"prompt": "quati-pt", "reveal": "lexical"},
    )
    with AnnotationSession.open(config) as session:
        assert session.revealed is not None
        judged(session.store, str(session.revealed.version), {("q0", f"d{d}"): d for d in range(3)})
        assigned(session, holders)
        yield session
