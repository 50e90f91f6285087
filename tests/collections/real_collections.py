"""Workspaces of real collections, made in a folder from the files beside the checkout."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

PIRA = """\
name: pira-pt
corpus: {path: corpus.jsonl}
queries: {path: queries.jsonl}
systems:
  bm25: {retriever: bm25, language: pt}
  bm25s: {retriever: bm25s, language: pt}
  lsa: {retriever: lsa, language: pt}
  bm25s-lsa: {first: bm25s, rerank: {with: lsa, language: pt, depth: 100}}
  rrf: {fuse: [bm25, bm25s, lsa], method: rrf, k: 60}
"""

# A JSON string is a YAML string too, whatever the path.
PIRA_ENGLISH = """\
name: pira-en
corpus: {path: corpus.jsonl}
queries: {path: queries.jsonl}
systems:
  bm25: {retriever: bm25, language: en}
  bm25s: {retriever: bm25s, language: en}
  lsa: {retriever: lsa, language: en}
  dense: {retriever: dense, model: MODEL}
  bm25s-dense: {first: bm25s, rerank: {with: dense, model: MODEL, depth: 100}}
  rrf: {fuse: [bm25s, dense], method: rrf, k: 60}
"""

VASWANI = """\
name: vaswani
corpus: {path: doc-text.trec}
queries: {path: query-text.trec}
systems:
  bm25: {retriever: bm25, language: en, k1: 0.9, b: 0.4}
  bm25s: {retriever: bm25s, language: en, k1: 0.9, b: 0.4}
  lsa: {retriever: lsa, language: en}
  bm25s-lsa: {first: bm25s, rerank: {with: lsa, language: en, depth: 1000}}
  rrf: {fuse: [bm25, bm25s, lsa], method: rrf, k: 60}
  combsum: {fuse: [bm25, lsa], method: combsum}
  combmnz: {fuse: [bm25, lsa], method: combmnz}
run_depth: 1000
"""


def pira(folder: Path, validation: Path) -> None:
    """Pirá's validation split: each distinct Portuguese abstract a passage, each original question a
    query, its own abstract the one relevant passage (gold.qrels)."""
    _pira(folder, validation, "abstract_translated_pt", "question_pt_origin", PIRA)


def pira_english(folder: Path, validation: Path, model: Path) -> None:
    """The same split in English, with the sentence-transformers model in the folder ``model`` as ``dense``."""
    _pira(folder, validation, "abstract", "question_en_origin", PIRA_ENGLISH.replace("MODEL", json.dumps(str(model))))


def _pira(folder: Path, validation: Path, abstract: str, question: str, settings: str) -> None:
    with validation.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = {row[abstract]: None for row in rows}
    doc_ids = {text: f"texto-{number:03d}" for number, text in enumerate(texts, 1)}
    _jsonl(folder / "corpus.jsonl", [{"doc_id": doc_id, "text": text} for text, doc_id in doc_ids.items()])
    questions = [(f"q{number:03d}", row) for number, row in enumerate(rows, 1)]
    _jsonl(folder / "queries.jsonl", [{"query_id": query_id, "query": row[question]} for query_id, row in questions])
    gold = [f"{query_id} 0 {doc_ids[row[abstract]]} 1\n" for query_id, row in questions]
    (folder / "gold.qrels").write_text("".join(gold), encoding="utf-8")
    (folder / "pool.yaml").write_text(settings, encoding="utf-8")


def vaswani(folder: Path, source: Path) -> None:
    """The Vaswani collection from its TREC files."""
    for name in ("doc-text.trec", "query-text.trec"):
        shutil.copyfile(source / name, folder / name)
    shutil.copyfile(source / "qrels", folder / "gold.qrels")
    (folder / "pool.yaml").write_text(VASWANI, encoding="utf-8")


def _jsonl(path: Path, rows: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
