"""A shared task of 500 runs × 200 queries × 1000 documents by 50 groups: intake, pool by priority, evaluation.

Each command is a process of its own; peak memory is that of the largest process of a command. The peer is the script
that one would write: pytrec_eval parses and evaluates each file, timed on 10 of the runs and scaled to all. It checks
nothing, pools nothing and keeps one run in memory.

Run from the checkout: python -m tests.benchmarks.bench_shared_task [runs [run_depth]]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from quati_pool.files.runs import write_run
from quati_pool.records import Ids, Run

RUNS, GROUPS, QUERIES, DEPTH, CORPUS, CANDIDATES = 500, 50, 200, 1000, 1_000_000, 4000
PEER_RUNS = 10

# ``run_depth``: how many documents of each run are kept for evaluation.
CONFIG = """\
name: shared-task
queries: {path: topics.tsv}
run_depth: RUN_DEPTH
pool: {by: priority, per_group: 3, depth: 20}
labels: {files: {nist: {path: task.qrels}}}
systems: {}
"""

PEER = """
import sys
import pytrec_eval
qrels = pytrec_eval.parse_qrel(open(sys.argv[1]))
evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10", "map", "recall_100", "P_10"})
for path in sys.argv[2:]:
    evaluator.evaluate(pytrec_eval.parse_run(open(path)))
"""


def write(folder: Path, runs: int) -> list[Path]:
    """The groups' folders, topics and qrels. Every run orders a query's candidates by their merit and its own noise, so
    that runs share documents as real ones do."""
    generator = np.random.default_rng(0)
    candidates = np.array([generator.choice(CORPUS, CANDIDATES, replace=False) for _ in range(QUERIES)])
    query_ids = [str(number) for number in range(1, QUERIES + 1)]
    topics = "".join(f"{query_id}\tquestion number {query_id}\n" for query_id in query_ids)
    (folder / "topics.tsv").write_text(topics, encoding="utf-8")
    docs = Ids([f"msmarco_doc_{number:08}" for number in range(CORPUS)])
    with (folder / "task.qrels").open("w", encoding="utf-8") as stream:
        for query_id, row in zip(query_ids, candidates, strict=True):
            for place, doc in enumerate(row[:300].tolist()):
                stream.write(f"{query_id} 0 msmarco_doc_{doc:08} {generator.binomial(3, 0.6 * (1 - place / 300))}\n")
    merit = -np.arange(CANDIDATES)
    paths = []
    for number in range(runs):
        noise = generator.gumbel(size=candidates.shape) * generator.uniform(20, 150)
        score = (merit + noise).astype(np.float32)
        top = np.argsort(-score, axis=1, kind="stable")[:, :DEPTH]
        columns = (np.take_along_axis(table, top, axis=1).ravel() for table in (candidates, score))
        query = np.repeat(np.arange(QUERIES), DEPTH)
        path = folder / "incoming" / f"group{number % GROUPS:02}" / f"run{number:03}.run"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_run(Run.ranked(f"run{number:03}", Ids(query_ids), docs, query, *columns), path)
        paths.append(path)
    return paths


def measured(*command: str | Path) -> tuple[float, float]:
    """The wall seconds and the peak memory in GB of a command."""
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{output}")
    return time.perf_counter() - started, usage.ru_maxrss / 1e6


def main() -> None:
    runs, run_depth = (int(sys.argv[at]) if len(sys.argv) > at else default for at, default in ((1, RUNS), (2, 100)))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        paths = write(folder, runs)
        config = folder / "pool.yaml"
        config.write_text(CONFIG.replace("RUN_DEPTH", str(run_depth)), encoding="utf-8")
        quati_pool = (sys.executable, "-m", "quati_pool")
        incoming = folder / "incoming"
        seconds, peak = 0.0, 0.0
        print("| step | wall | peak memory |\n|---|---:|---:|")
        for command in (
            ("submissions", "check", incoming),
            ("submissions", "add", incoming),
            ("build",),
            ("evaluate", "--labeler", "nist"),
        ):
            took, memory = measured(*quati_pool, *command, "-c", config)
            name = " ".join(map(str, command)).replace(str(incoming), "incoming")
            print(f"| `{name}` | {took:.1f} s | {memory:.2f} GB |", flush=True)
            seconds, peak = seconds + took, max(peak, memory)
        print(f"| all | {seconds:.1f} s | {peak:.2f} GB |")
        took, memory = measured(sys.executable, "-c", PEER, folder / "task.qrels", *paths[:PEER_RUNS])
        scaled = took * runs / min(PEER_RUNS, runs)
        print(f"| pytrec_eval, {PEER_RUNS} of the runs, scaled to all | {scaled:.0f} s | {memory:.2f} GB |")


if __name__ == "__main__":
    main()
