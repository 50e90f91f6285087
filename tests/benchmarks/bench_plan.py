"""What ``build --plan`` says of every kind of system, next to what building it takes: disk, memory and time.

A workspace of made passages (Zipf's law over made words), the tiny models of tests/tiny_models. Each system is built by
a ``quati-pool build --only`` of its own; its memory is the peak of that process and its children (RSS, sampled) above
that of an interpreter that has imported the build; its disk what came into the workspace.

Run from the checkout: python -m tests.benchmarks.bench_plan [--passages 20000] [--only bm25s lsa …]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psutil

QUERIES, DEPTH, WORDS = 50, 100, 60_000
SYSTEMS = {
    "bm25": "{retriever: bm25}",
    "bm25s": "{retriever: bm25s}",
    "lsa": "{retriever: lsa}",
    "lsa-rerank": "{first: second, rerank: {with: lsa, depth: 100}}",
    "dense": "{retriever: dense, model: models/dense}",
    "dense-fp16": "{retriever: dense, model: models/dense, precision: fp16}",
    "dense-int8": "{retriever: dense, model: models/dense, precision: int8}",
    "dense-hnsw": "{retriever: dense, model: models/dense, index: hnsw}",
    "dense-ivf-pq": "{retriever: dense, model: models/dense, index: ivf-pq}",
    "static": "{retriever: dense, model: models/static}",
    "static-hnsw": "{retriever: dense, model: models/wide, index: hnsw}",
    "static-ivf-pq": "{retriever: dense, model: models/wide, index: ivf-pq}",
    "splade": "{retriever: splade, model: models/splade/model, passage_terms: 64}",
    "splade-lucene": "{retriever: splade, model: models/splade/model, passage_terms: 64, search: lucene}",
    "colbert": "{retriever: colbert, model: models/colbert}",
    "colbert-ivf": "{retriever: colbert, model: models/colbert, index: ivf}",
    "dense-rerank": "{first: second, rerank: {with: dense, model: models/dense, depth: 100}}",
    "colbert-rerank": "{first: second, rerank: {with: colbert, model: models/colbert, depth: 100}}",
    "cross-encoder": "{first: second, rerank: {with: cross-encoder, model: models/pairs, depth: 100}}",
    "monot5": "{first: second, rerank: {with: monot5, model: models/t5, tokens: ['true', 'false'], depth: 100}}",
    "rrf": "{fuse: [first, second], depth: 100}",
}
FIRST = ("first", "second")
MADE = ("cache/indexes", "cache/encodings", "cache/candidates", "runs")


class Measured(NamedTuple):
    """Bytes, bytes and seconds."""

    disk: int
    memory: int
    seconds: float


def made_texts(count: int, seed: int = 5) -> Iterator[str]:
    """Passages of about 70 made words drawn by Zipf's law, so that vocabulary and postings grow as in real text."""
    chance = random.Random(seed)
    words = made_words(chance)
    weights = [1 / (rank + 2.7) for rank in range(1, WORDS + 1)]
    cumulated, total = [], 0.0
    for weight in weights:
        total += weight
        cumulated.append(total)
    for _ in range(count):
        length = max(8, min(400, round(math.exp(chance.gauss(4.1, 0.5)))))
        yield " ".join(chance.choices(words, cum_weights=cumulated, k=length))


def made_words(chance: random.Random) -> list[str]:
    """Distinct words of two to four syllables, the short ones first."""
    syllables = [consonant + vowel for consonant in "bcdfglmnprstv" for vowel in "aeiou"]
    found: dict[str, None] = {}
    while len(found) < WORDS:
        length = 2 if len(found) < 2000 else 3 if len(found) < WORDS // 2 else 4
        found["".join(chance.choices(syllables, k=length))] = None
    return list(found)


def make_workspace(folder: Path, passages: int, systems: dict[str, str]) -> Path:
    """A workspace with these systems and the models they name; its pool.yaml."""
    from tests.tiny_models import cross_encoder, dense, multivector, sparse, t5

    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as file:
        for number, text in enumerate(made_texts(passages)):
            file.write(json.dumps({"doc_id": f"doc-{number:07}", "text": text}) + "\n")
    asked = [" ".join(text.split()[:6]) for text in made_texts(QUERIES, seed=11)]
    (folder / "queries.tsv").write_text("".join(f"q{row}\t{text}\n" for row, text in enumerate(asked)), "utf-8")
    models = folder / "models"
    dense.sentence_transformer(models / "dense")
    dense.static(models / "static")
    dense.static(models / "wide", dimension=384)
    sparse.splade(models / "splade")
    multivector.plain(models / "colbert")
    cross_encoder.cross_encoder(models / "pairs")
    t5.t5(models / "t5")
    lines = [f"  {run_tag}: {settings}" for run_tag, settings in systems.items()]
    first = ["  first: {retriever: bm25s, k1: 1.2}", "  second: {retriever: lsa, dimensions: 16}"]
    path = folder / "pool.yaml"
    head = ["name: planned", "corpus: {path: corpus.jsonl}", "queries: {path: queries.tsv}", f"run_depth: {DEPTH}"]
    path.write_text("\n".join([*head, "systems:", *first, *lines]) + "\n", encoding="utf-8")
    return path


def run(*arguments: str) -> tuple[str, int, float]:
    """What ``watched`` gives for a quati-pool command."""
    return watched("-m", "quati_pool", *arguments)


def watched(*arguments: str) -> tuple[str, int, float]:
    """Output of Python with these arguments, its peak RSS with its children's in bytes, and its seconds."""
    started, peak = time.perf_counter(), 0
    command = [sys.executable, *arguments]
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as told:
        process = psutil.Popen(command, stdout=output, stderr=told)
        while process.poll() is None:
            peak = max(peak, resident(process))
            time.sleep(0.01)
        output.seek(0)
        told.seek(0)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)}: {told.read()}")
        return output.read(), peak, time.perf_counter() - started


def resident(process: Any) -> int:
    total = 0
    try:
        for one in [process, *process.children(recursive=True)]:
            total += one.memory_info().rss
    except psutil.Error:
        return total
    return total


def size(folder: Path) -> int:
    """Bytes of what a build makes: cache, runs."""
    return sum(
        file.stat().st_size
        for name in MADE
        for file in (folder / name).rglob("*")
        if file.is_file() and not file.name.endswith(".meta.json") and file.name.split(".")[0] not in FIRST
    )


def clear(folder: Path) -> None:
    for name in ("cache/indexes", "cache/encodings", "cache/candidates"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for path in (folder / "runs").glob("*"):
        if path.name.split(".")[0] not in FIRST:
            path.unlink()


def planned(path: Path, *only: str) -> dict[str, Any]:
    output, _, _ = run("build", "-c", str(path), "--plan", "--format", "json", *[f"--only={tag}" for tag in only])
    found: dict[str, Any] = json.loads(output)
    return found


def built(path: Path, run_tag: str, idle: int) -> Measured:
    clear(path.parent)
    _, peak, _ = run("build", "-c", str(path), "--only", run_tag)
    return Measured(size(path.parent), peak - idle, stage_seconds(path.parent))


def stage_seconds(folder: Path) -> float:
    """Seconds of the stages that were carried out, as their sidecars say."""
    places = [path for name in MADE for path in (folder / name).glob("*.meta.json")]
    return sum(
        json.loads(path.read_text("utf-8")).get("seconds", 0.0)
        for path in places
        if path.name.split(".")[0] not in FIRST
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=20_000)
    parser.add_argument("--only", nargs="*", default=list(SYSTEMS))
    options = parser.parse_args()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    with tempfile.TemporaryDirectory() as name:
        path = make_workspace(Path(name), options.passages, SYSTEMS)
        before = planned(path)
        run("build", "-c", str(path), *[f"--only={tag}" for tag in FIRST])
        _, idle, idle_seconds = watched(
            "-c", "import time, quati_pool.cli.main, quati_pool.commands.build; time.sleep(1)"
        )
        stores = Path(name) / "cache" / "corpus"
        store = sum(file.stat().st_size for file in stores.rglob("*") if file.is_file() and "meta" not in file.name)
        print(f"{options.passages:,} passages; the interpreter: {idle / 2**20:.0f} MiB, {idle_seconds:.1f} s")
        print(f"corpus store: {store / 2**20:.2f} MiB measured, planned {before['corpora'][0]}")
        print("| System | Disk, MiB | planned | Memory, MiB | planned | Time, s | planned |")
        print("|---|---|---|---|---|---|---|")
        plans = {system["run_tag"]: system for system in before["systems"]}
        for run_tag in options.only:
            made, plan = built(path, run_tag, idle), plans[run_tag]
            print(row(run_tag, made, plan), flush=True)


def row(run_tag: str, made: Measured, plan: dict[str, Any]) -> str:
    cells = [run_tag]
    for measured, expected in ((made.disk, plan["disk"]), (made.memory, plan["memory"])):
        off = "" if not expected or not measured else f" (×{expected / measured:.2f})"
        cells += [f"{measured / 2**20:.2f}", "–" if expected is None else f"{expected / 2**20:.2f}{off}"]
    low, high = plan.get("seconds_low"), plan.get("seconds_high")
    cells += [f"{made.seconds:.1f}", "–" if high is None else f"{low:.1f}–{high:.1f}"]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
