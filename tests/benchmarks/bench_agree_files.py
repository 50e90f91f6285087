"""``quati-pool agree`` on two label files of 1,000,000 rows: 1,000 queries, 1,000 passages each, four grades.

Next to it, in the same run, the script that one would write: pandas reads and merges the files, scikit-learn gives
kappa; it has one coefficient, no interval and no table by query. Each is a process of its own, so that seconds
and peak memory (of the whole process, imports and all) are those of the command. Files with ids in another order
in the second, which no two queries share, or which all share.

Run from the checkout: python -m tests.benchmarks.bench_agree_files [repeats]
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

QUERIES = EACH = 1_000
REPEAT = 3

PEER = """
import sys
import pandas as pd
from sklearn.metrics import cohen_kappa_score
columns = ["query_id", "zero", "doc_id", "relevance"]
kinds = {"query_id": str, "doc_id": str}
if sys.argv[1].endswith(".qrels"):
    a, b = (pd.read_csv(path, sep=" ", names=columns, dtype=kinds) for path in sys.argv[1:])
else:
    a, b = (pd.read_csv(path, sep="\\t" if path.endswith(".tsv") else ",", dtype=kinds) for path in sys.argv[1:])
both = a.merge(b, on=["query_id", "doc_id"])
print(len(both), cohen_kappa_score(both["relevance_x"], both["relevance_y"]))
"""


def write(folder: Path, suffix: str, shared: bool) -> list[Path]:
    """Two files of the same pairs, whose grades often agree; the second in another order."""
    generator = np.random.default_rng(0)
    rows = QUERIES * EACH
    numbers = generator.choice(900_000_000, EACH if shared else rows, replace=False) + 100_000_000
    number = np.tile(numbers, QUERIES) if shared else numbers
    first = generator.integers(0, 4, rows)
    second = np.where(generator.random(rows) < 0.5, first, generator.integers(0, 4, rows))
    layout = {".qrels": "{0} 0 {1} {2}\n", ".tsv": "{0}\t{1}\t{2}\n", ".csv": "{0},{1},{2}\n"}[suffix]
    paths = []
    for name, grades, order in (("a", first, np.arange(rows)), ("b", second, generator.permutation(rows))):
        paths.append(folder / f"{name}{suffix}")
        with paths[-1].open("w", encoding="utf-8") as stream:
            if suffix != ".qrels":
                stream.write(layout.format("query_id", "doc_id", "relevance"))
            for row in order.tolist():
                doc_id = f"msmarco_passage_{number[row] % 70:02d}_{number[row]}"
                stream.write(layout.format(1_000_000 + row // EACH, doc_id, grades[row]))
    return paths


def measure(command: Sequence[str]) -> tuple[float, float, float]:
    """Seconds, of these on a processor, and the process's peak memory in MB."""
    started = time.perf_counter()
    with open(os.devnull, "w") as nowhere:
        child = os.posix_spawn(
            command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, nowhere.fileno(), 1)]
        )
        _, status, usage = os.wait4(child, 0)
    if status:
        sys.exit(f"{' '.join(command)} failed")
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    repeat = int(sys.argv[1]) if len(sys.argv) > 1 else REPEAT
    print("| files | agree | pandas and scikit-learn, kappa alone |\n|---|---:|---:|")
    for suffix, shared in ((".qrels", False), (".qrels", True), (".tsv", False), (".csv", False)):
        with tempfile.TemporaryDirectory() as folder:
            paths = [str(path) for path in write(Path(folder), suffix, shared)]
            ours = [sys.executable, "-m", "quati_pool", "agree"]
            ours += [part for name, path in zip("ab", paths, strict=True) for part in ("--labels", f"{name}={path}")]
            theirs = [sys.executable, "-c", PEER, *paths]
            measured: list[list[tuple[float, float, float]]] = [[], []]
            for _ in range(repeat):
                for found, command in zip(measured, (ours, theirs), strict=True):
                    found.append(measure(command))
        cells = []
        for found in measured:
            taken, busy, held = (statistics.median(column) for column in zip(*found, strict=True))
            cells.append(f"{taken:.1f} s ({busy:.1f} s), {held:.0f} MB")
        passages = f"{EACH if shared else QUERIES * EACH:,} passages"
        print(f"| {suffix[1:]}, {passages} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
