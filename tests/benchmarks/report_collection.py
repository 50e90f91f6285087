"""A workspace of 20 systems and 6 labelers, 2 of them people, made with the commands themselves; seeded.

python -m tests.benchmarks.report_collection FOLDER [--queries 50] [--systems 20] [--pairs 100]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import yaml

# Each labeler's noise and how much more lenient it is than the others.
JUDGES = {"gpt-4o": (0.5, 0.2), "llama-70b": (0.7, 0.1), "mistral": (0.9, 0.5), "lexical-rules": (1.6, -0.2)}
PEOPLE = {"ana": (0.4, 0.0), "bia": (0.6, -0.1)}
_TEXT = (
    "a água que corre pelo vale chega ao mar depois de muitos dias e leva sementes para outras terras onde crescem "
    "plantas novas cujas folhas servem de abrigo a insetos que ninguém contou ainda no Brasil nem em Portugal"
)
WORDS = _TEXT.split()

# A judge in a file of its own, so that its reasons are stored as those of a model are.
_JUDGE = """import csv
from pathlib import Path

from quati_pool.judging.base import Judge, Parameters
from quati_pool.judging.verdict import Verdict
from quati_pool.records import State


class Given(Judge):
    by_content = False

    class Parameters(Parameters):
        file: str

    def __init__(self, parameters, setting):
        super().__init__(parameters, setting)
        with (Path(setting.folder) / parameters.file).open(encoding="utf-8") as rows:
            self._grades = {(query, doc): int(grade) for query, doc, grade in csv.reader(rows, delimiter="\\t")}

    def grade(self, pairs):
        return [
            Verdict(State.ok, grade, f"The passage {pair.doc_id} was read against the question {pair.query!r}. " * 3)
            for pair in pairs
            for grade in [self._grades[pair.query_id, pair.doc_id]]
        ]
"""


def make(folder: Path, queries: int = 50, systems: int = 20, pairs: int = 100, depth: int = 100) -> Path:
    """Writes the workspace into ``folder`` and returns its pool.yaml. About ``pairs`` passages are pooled per query,
    all of which every labeler grades; each system returns ``depth`` of them."""
    random = np.random.default_rng(0)
    folder.mkdir(parents=True)
    merit = random.normal(1.2, 1.0, (queries, 2 * pairs))
    names = [f"system-{number:02d}" for number in range(systems)]
    orders = [
        np.argsort(-(merit + random.normal(0, 0.6 + 0.08 * number, merit.shape)))[:, :depth]
        for number in range(systems)
    ]
    docs = [[f"doc-{query:04d}-{place:04d}" for place in range(2 * pairs)] for query in range(queries)]
    _write_texts(folder, docs, random)
    for name, order in zip(names, orders, strict=True):
        lines = (
            f"q{query} Q0 {docs[query][doc]} {rank} {depth - rank} {name}\n"
            for query in range(queries)
            for rank, doc in enumerate(order[query].tolist(), start=1)
        )
        (folder / f"{name}.run").write_text("".join(lines), encoding="utf-8")
    for name, (noise, lenient) in {**JUDGES, **PEOPLE}.items():
        grades = np.clip(np.rint(merit + lenient + random.normal(0, noise, merit.shape)), 0, 3).astype(int)
        rows = (f"q{q}\t{docs[q][d]}\t{grade}\n" for q in range(queries) for d, grade in enumerate(grades[q].tolist()))
        header = "query_id\tdoc_id\trelevance\n" if name in PEOPLE else ""
        (folder / f"{name}.tsv").write_text(header + "".join(rows), encoding="utf-8")
    (folder / "given.py").write_text(_JUDGE, encoding="utf-8")
    config = folder / "pool.yaml"
    config.write_text(yaml.safe_dump(_config(names, _pool_depth(orders, pairs), depth), sort_keys=False))
    for command in (["build"], *(["judge", name] for name in JUDGES), ["import", "--skip-unknown", *_people(folder)]):
        run = [sys.executable, "-m", "quati_pool", *command, "-c", str(config)]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
    return config


def _people(folder: Path) -> list[str]:
    return [f"{name}={folder / name}.tsv" for name in PEOPLE]


def _pool_depth(orders: list[np.ndarray], pairs: int) -> int:
    """The smallest pool depth at which the pool has ``pairs`` pairs per query or more."""
    queries, depth = orders[0].shape
    for found in range(1, depth):
        sizes = [len(np.unique([order[query, :found] for order in orders])) for query in range(queries)]
        if np.mean(sizes) >= pairs:
            return found
    return depth


def _write_texts(folder: Path, docs: list[list[str]], random: np.random.Generator) -> None:
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as corpus:
        for theirs in docs:
            for doc in theirs:
                text = " ".join(random.choice(WORDS, 150))
                corpus.write(json.dumps({"doc_id": doc, "text": text}, ensure_ascii=False) + "\n")
    with (folder / "queries.jsonl").open("w", encoding="utf-8") as queries:
        for query in range(len(docs)):
            row = {
                "query_id": f"q{query}",
                "query": f"Pergunta {query}: {' '.join(random.choice(WORDS, 8))}?",
                "narrative": " ".join(random.choice(WORDS, 25)),
            }
            queries.write(json.dumps(row, ensure_ascii=False) + "\n")


def _config(names: list[str], pool_depth: int, depth: int) -> dict[str, object]:
    return {
        "name": "many",
        "corpus": {"path": "corpus.jsonl"},
        "queries": {"path": "queries.jsonl"},
        "systems": {name: {"retriever": "run", "path": f"{name}.run"} for name in names},
        "run_depth": depth,
        "pool": {"depth": pool_depth},
        "judges": {name: {"judge": "given.py:Given", "file": f"{name}.tsv"} for name in JUDGES},
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--systems", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=100)
    given = parser.parse_args()
    print(make(given.folder, given.queries, given.systems, given.pairs))
