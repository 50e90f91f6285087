"""A built collection of 20 systems and 6 labelers of whom 2 are people, to measure a report on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import yaml

from quati_pool.commands.build import build
from quati_pool.project.events import Listener

LABELERS = ("ana", "bia", "gpt-4o", "llama-70b", "mistral", "lexical-rules")
_QUERIES, _DOCUMENTS, _SYSTEMS = 24, 30, 20


def large_collection(folder: Path) -> Path:
    """Writes and builds the collection; returns the path of its pool.yaml."""
    generator = np.random.default_rng(0)
    query_ids, doc_ids = [f"q{n}" for n in range(_QUERIES)], [f"d{n}" for n in range(_DOCUMENTS)]
    folder.mkdir()
    _lines(folder / "queries.jsonl", [json.dumps({"query_id": one, "query": f"What is {one}?"}) for one in query_ids])
    _lines(folder / "corpus.jsonl", [json.dumps({"doc_id": one, "text": f"This is {one}."}) for one in doc_ids])
    relevance = generator.normal(size=(_QUERIES, _DOCUMENTS))
    for labeler, name in enumerate(LABELERS):
        noisy = relevance + 0.3 * labeler * generator.normal(size=relevance.shape)
        grades = np.digitize(noisy, (-0.5, 0.5, 1.2))
        rows = [f"{q}\t{d}\t{grades[i, j]}" for i, q in enumerate(query_ids) for j, d in enumerate(doc_ids)]
        _lines(folder / f"{name}.tsv", ["query_id\tdoc_id\trelevance", *rows])
    systems = {}
    for system in range(_SYSTEMS):
        run_tag = f"system-{system:02d}"
        scores = relevance + 0.2 * system * generator.normal(size=relevance.shape)
        rows = []
        for i, query_id in enumerate(query_ids):
            order = np.argsort(-scores[i]).tolist()
            rows += [f"{query_id} Q0 {doc_ids[j]} {at + 1} {100 - at} {run_tag}" for at, j in enumerate(order)]
        _lines(folder / f"{run_tag}.run", rows)
        systems[run_tag] = {"retriever": "run", "path": f"{run_tag}.run"}
    files = {name: {"path": f"{name}.tsv", "person": name in LABELERS[:2]} for name in LABELERS}
    config = {
        "name": "large",
        "corpus": {"path": "corpus.jsonl"},
        "queries": {"path": "queries.jsonl"},
        "systems": systems,
        "pool": {"depth": 6},
        "labels": {"files": files},
    }
    path = folder / "pool.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    build(path, Listener())
    return path


def _lines(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
