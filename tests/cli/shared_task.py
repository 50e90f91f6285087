"""A made-up shared task over the bundled sample collection: 12 groups with 40 runs, of which 9 are faulty, each in
another way, and the corrected files that these groups send later."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from quati_pool.bundled import bundled

GROUPS = (
    "acre", "bahia", "ceara", "goias", "maranhao", "para", "parana", "piaui", "roraima", "sergipe", "tocantins", "usp",
)  # fmt: skip
RUNS = 40
FAULTY = 9

POOL = """\
name: amostra-task
corpus: {path: corpus.jsonl}
queries: {path: queries.jsonl}
systems:
  baseline: {retriever: bm25s, language: pt}
run_depth: 60
pool: {by: priority, per_group: 2, depth: 10}
judges: {stub: {judge: lexical, language: pt}}
measures: [nDCG@10, Judged@10]
"""

Rows = list[tuple[str, str, float]]


def write(folder: Path) -> None:
    """Writes the workspace, the groups' runs in ``incoming`` and the corrected files in ``corrected``."""
    for name in ("corpus.jsonl", "queries.jsonl"):
        shutil.copy(bundled("data/sample") / name, folder / name)
    (folder / "pool.yaml").write_text(POOL, encoding="utf-8")
    doc_ids = [json.loads(line)["doc_id"] for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines()]
    query_ids = [json.loads(line)["query_id"] for line in (folder / "queries.jsonl").read_text("utf-8").splitlines()]
    sizes = [RUNS // len(GROUPS) + (place < RUNS % len(GROUPS)) for place in range(len(GROUPS))]
    faults = iter(FAULTS.items())
    for group, size in zip(GROUPS, sizes, strict=True):
        incoming, corrected = folder / "incoming" / group, folder / "corrected" / group
        incoming.mkdir(parents=True)
        corrected.mkdir(parents=True)
        for number in range(1, size + 1):
            tag = f"{group}-{number}"
            good = text(rows(tag, query_ids, doc_ids), tag)
            name, spoil = next(faults, (None, None)) if number == 2 else (None, None)
            if name is None or spoil is None:
                (incoming / f"run{number}.txt").write_text(good, encoding="utf-8")
                continue
            suffix = ".txt.gz" if name == "cut off" else ".txt"
            data = spoil(good, folder)
            (incoming / f"run{number}{suffix}").write_bytes(data)
            (corrected / f"run{number}{suffix}").write_bytes(
                gzip.compress(good.encode()) if suffix != ".txt" else good.encode()
            )
        order = [f"run{number}.txt" for number in range(size, 0, -1)]
        notes = {"name": f"Universidade de {group.title()}", "contact": f"ir@{group}.example"}
        if group == "usp":
            notes |= {"priorities": order}  # type: ignore[dict-item]
        (incoming / "group.yaml").write_text(json.dumps(notes), encoding="utf-8")


def rows(tag: str, query_ids: list[str], doc_ids: list[str]) -> Rows:
    """A ranking of some 50 documents for each query, made up from the tag; the first ones are often on the topic."""
    found: Rows = []
    for query_id in query_ids:
        draw = random.Random(f"{tag} {query_id}")
        for rank, doc_id in enumerate(draw.sample(doc_ids, draw.randint(40, 55))):
            found.append((query_id, doc_id, round(60 - rank - draw.random() / 2, 4)))
    return found


def text(found: Rows, tag: str) -> str:
    ranks: dict[str, int] = {}
    lines = []
    for query_id, doc_id, score in found:
        ranks[query_id] = ranks.get(query_id, 0) + 1
        lines.append(f"{query_id} Q0 {doc_id} {ranks[query_id]} {score} {tag}\n")
    return "".join(lines)


def _lines(change: Callable[[list[list[str]]], list[list[str]]]) -> Callable[[str, Path], bytes]:
    def spoil(good: str, folder: Path) -> bytes:
        return "".join(" ".join(row) + "\n" for row in change([line.split() for line in good.splitlines()])).encode()

    return spoil


def _too_deep(found: list[list[str]]) -> list[list[str]]:
    query_id, tag = found[0][0], found[0][5]
    return found + [[query_id, "Q0", f"extra-{n}", str(n), str(-n), tag] for n in range(100, 1100)]


def _another_groups(good: str, folder: Path) -> bytes:
    tag = good.split()[5]
    first = (folder / "incoming" / GROUPS[0] / "run1.txt").read_text(encoding="utf-8")
    return first.replace(f"{GROUPS[0]}-1\n", f"{tag}\n").encode()


FAULTS: dict[str, Callable[[str, Path], bytes]] = {
    "decimal comma": _lines(lambda found: [[*row[:4], row[4].replace(".", ","), row[5]] for row in found]),
    "a document twice": _lines(lambda found: [*found, found[0]]),
    "documents of another corpus": _lines(lambda found: [[*row[:2], f"X{row[2]}", *row[3:]] for row in found]),
    "queries of another year": _lines(lambda found: [[f"2019-{row[0]}", *row[1:]] for row in found]),
    "too deep": _lines(_too_deep),
    "two runs in a file": _lines(lambda found: found + [[*row[:5], "second"] for row in found]),
    "cut off": lambda good, folder: gzip.compress(good.encode())[:-400],
    "another group's run": _another_groups,
    "distances for scores": _lines(lambda found: [[*row[:4], f"-{row[4]}", row[5]] for row in found]),
}
