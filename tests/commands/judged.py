"""A small workspace with a pool to judge, and a server that judges it; used by the tests of judging."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from quati_pool.files.artifacts import write_file
from quati_pool.files.pools import PoolPair, write_pool
from quati_pool.project.workspace import Workspace

ID_PATTERN = r"\[pair ([^\]]+)\]"
"""What in a passage tells the server which pair it is asked about."""


def pair(query_id: str, doc_id: str, text: str | None = None) -> PoolPair:
    text = f"Um texto sobre o assunto. [pair {query_id}/{doc_id}]" if text is None else text
    return {
        "query_id": query_id,
        "doc_id": doc_id,
        "query": f"pergunta {query_id}",
        "text": text,
        "runs": {"a": 1},
        "round": 1,
        "reason": "depth",
        "inclusion": 1.0,
    }


def many(queries: int, docs: int) -> list[PoolPair]:
    return [pair(f"q{q:04d}", f"d{d:04d}") for q in range(queries) for d in range(docs)]


def workspace(
    folder: Path, pairs: Iterable[PoolPair], judges: Mapping[str, Any], name: str = "test", **settings: Any
) -> Path:
    """Writes ``pool.yaml`` and a finished pool; returns the path of ``pool.yaml``."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "name": name,
        "corpus": {"path": "corpus.jsonl"},
        "queries": {"path": "queries.tsv"},
        "systems": {"a": {"retriever": "bm25s"}},
        "judges": dict(judges),
        **settings,
    }
    (folder / "pool.yaml").write_text(yaml.safe_dump(config, allow_unicode=True, sort_keys=False), encoding="utf-8")
    repool(folder, pairs)
    return folder / "pool.yaml"


def repool(folder: Path, pairs: Iterable[PoolPair]) -> None:
    rows = list(pairs)

    def fill(path: Path) -> dict[str, int]:
        write_pool(path, rows)
        return {"pairs": len(rows), "queries": len({row["query_id"] for row in rows})}

    write_file(Workspace(folder).pool, {"made": "by a test"}, {}, fill)


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    """What the label database answers, read beside the tool."""
    connection = sqlite3.connect(f"file:{folder / 'labels.db'}?mode=ro", uri=True)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()
