"""``estimate`` of 20 systems × 200 queries × 1000 documents with all 190 differences, beyond what evaluation takes.

Both read the same files: runs, a judge's grades of the pool of the first ten documents of each run, and people's grades
of 40 whole queries, or of 4,000 drawn pairs as prels. The peer is the reading and measuring that ``evaluate`` does
with the judge's grades, without its intervals, tests and comparisons.

Run from the checkout: python -m tests.benchmarks.bench_estimate
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from quati_pool.commands.estimates.estimate import estimate
from quati_pool.commands.estimates.settings import EstimateSettings
from quati_pool.evaluation.judged_runs import JudgedRuns
from quati_pool.evaluation.scores import score
from quati_pool.labels.gathered import LabelFiles
from quati_pool.labels.sources import gather
from quati_pool.project.config import LabelFileConfig
from quati_pool.project.runs import run_sets
from tests.benchmarks.bench_evaluate import medians
from tests.benchmarks.synthetic_runs import frames

DEPTH, QUERIES, PAIRS = 10, 40, 4000


def write(folder: Path) -> None:
    inputs = frames()
    for number, frame in enumerate(inputs):
        columns = [frame["query_id"], ["Q0"] * len(frame), frame["doc_id"], frame["rank"], frame["score"]]
        table = pd.DataFrame(dict(enumerate([*columns, [f"s{number:02}"] * len(frame)])))
        table.to_csv(folder / f"s{number:02}.run", sep=" ", header=False, index=False)
    heads = pd.concat([frame[frame["rank"] <= DEPTH] for frame in inputs])[["query_id", "doc_id"]].drop_duplicates()
    generator = np.random.default_rng(0)
    people = generator.choice(4, size=len(heads), p=[0.5, 0.2, 0.2, 0.1])
    judge = np.minimum(people + (generator.random(len(heads)) < 0.4), 3)
    qrels = heads.assign(zero=0)[["query_id", "zero", "doc_id"]]
    qrels.assign(grade=judge).to_csv(folder / "judge.qrels", sep=" ", header=False, index=False)
    drawn = set(generator.choice(heads["query_id"].unique(), QUERIES, replace=False))
    whole = qrels.assign(grade=people)[heads["query_id"].isin(drawn).to_numpy()]
    whole.to_csv(folder / "queries.qrels", sep=" ", header=False, index=False)
    share = PAIRS / len(heads)
    prels = heads.assign(grade=people, method=1, inclusion=share)[generator.random(len(heads)) < share]
    prels.to_csv(folder / "pairs.prels", sep=" ", header=False, index=False)
    print(f"{len(heads):,} pairs in the pool")


def evaluated(folder: Path) -> None:
    files = LabelFiles({"judge": LabelFileConfig(path=str(folder / "judge.qrels"))})
    qrels = gather(None, (), files, any_grade=True).sources[0].qrels
    score(JudgedRuns(run_sets([str(folder / "*.run")])[0].runs, qrels), ["nDCG@10"])


def estimated(folder: Path, name: str, sampled: str | None) -> None:
    given = {
        "people": LabelFileConfig(path=str(folder / name)),
        "judge": LabelFileConfig(path=str(folder / "judge.qrels")),
    }
    settings = EstimateSettings(measures=["nDCG@10"], people="people", judge="judge", sampled=sampled)
    estimate(folder / "pool.yaml", settings, LabelFiles(given), [str(folder / "*.run")])


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        base, queries, pairs = medians(
            partial(evaluated, folder),
            partial(estimated, folder, "queries.qrels", "queries"),
            partial(estimated, folder, "pairs.prels", None),
        )
    print(f"read and measure {base:.2f} s; estimate from {QUERIES} queries {queries:.2f} s (+{queries - base:.2f})")
    print(f"from {PAIRS:,} pairs {pairs:.2f} s (+{pairs - base:.2f})")


if __name__ == "__main__":
    main()
