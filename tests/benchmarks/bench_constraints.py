"""``quati-pool questions constraints`` on 5,000,000 triples, with evidence and a text for each id.

The graph is like T-REx (Elsahar et al., LREC 2018): 676 properties of which few have most triples, entities of
Wikidata's ids with as skewed a use, kinds of subjects of which much the same is said, and one row in five another
mention of a triple that was there. Seconds and peak memory are those of the command's process. Ends with status 1 above
the bound of 4 GB or 10 minutes.

Run from the checkout: python -m tests.benchmarks.bench_constraints [triples] [clusters at most; 0: all]
"""

from __future__ import annotations

import json
import sys
import tempfile
from itertools import chain
from pathlib import Path

import numpy as np

from quati_pool.files.artifacts import read_counts
from tests.benchmarks.bench_agree_files import measure

TRIPLES = 5_000_000
ROWS = 1.3
"""Rows for each triple, as some are mentioned again."""

PROPERTIES = 676
GIGABYTES, MINUTES = 4, 10


def write(path: Path, texts: Path, rows: int) -> None:
    """Triples with evidence, and a text for each id."""
    generator = np.random.default_rng(0)
    subjects, objects = rows * 3 // 10, rows * 2 // 5
    weights = 1 / np.arange(1, PROPERTIES + 1) ** 1.1
    prop = generator.choice(PROPERTIES, rows, p=weights / weights.sum())
    # Some subjects have many rows, most a few; a property has its own range of objects, with hubs.
    subject = (subjects * generator.random(rows) ** 1.5).astype(np.int64)
    spread = np.maximum(2, (objects * weights / weights[0]).astype(np.int64))
    obj = (spread[prop] * generator.random(rows) ** 4).astype(np.int64) * 7 + prop * 31
    # Half of what is said of a subject is said of others of its kind too: pianists of one town and time.
    kinds = max(1, subjects // 40)
    kind = np.minimum((kinds * generator.random(subjects) ** 2).astype(np.int64), kinds - 1)
    usual = generator.integers(0, rows, (kinds, 16))
    fact = usual[kind[subject], generator.integers(0, 16, rows)]
    alike = generator.random(rows) < 0.5
    prop[alike], obj[alike] = prop[fact[alike]], obj[fact[alike]]
    again = generator.random(rows) < 0.25
    source = generator.integers(0, rows, rows)
    for column in (subject, prop, obj):
        column[again] = column[source[again]]
    with texts.open("w", encoding="utf-8") as stream:
        ids = chain((f"P{n}" for n in range(PROPERTIES)), map("Q{}".format, np.union1d(subject * 5 + 1, obj * 3 + 2)))
        stream.writelines(
            f'{{"id": "{name}", "label": "The name of {name}", "description": "what {name} is, in some words"}}\n'
            for name in ids
        )
    with path.open("w", encoding="utf-8") as stream:
        stream.write("subject\tproperty\tobject\tdoc_id\tstart\tend\tevidence\n")
        for first in range(0, rows, 100_000):
            part = slice(first, first + 100_000)
            stream.writelines(
                f"Q{s * 5 + 1}\tP{p}\tQ{o * 3 + 2}\tD{row // 3}\t{row % 900}\t{row % 900 + 80}\t"
                f"A sentence of the abstract {row // 3} in which Q{s} and Q{o} are named together once.\n"
                for row, (s, p, o) in enumerate(
                    zip(subject[part].tolist(), prop[part].tolist(), obj[part].tolist(), strict=True), first
                )
            )


def main() -> None:
    triples = int(sys.argv[1]) if len(sys.argv) > 1 else TRIPLES
    most = sys.argv[2] if len(sys.argv) > 2 else "0"
    with tempfile.TemporaryDirectory() as name:
        path, texts, folder = (Path(name) / part for part in ("triples.tsv", "texts.jsonl", "clusters"))
        write(path, texts, int(triples * ROWS))
        for file in (path, texts):
            print(f"{file.name}: {file.stat().st_size / 1e6:.0f} MB", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", "quati_pool", "questions", "constraints", path, "--texts", texts, "-o", folder]
        taken, busy, held = measure([*map(str, command), "--clusters", most])
        print(json.dumps(read_counts(folder), indent=1), file=sys.stderr)
    print(f"{triples:,} triples: {taken:.0f} s ({busy:.0f} s of processor time), {held:,.0f} MB")
    if held > GIGABYTES * 1000 or taken > MINUTES * 60:
        sys.exit(f"above the bound of {GIGABYTES} GB and {MINUTES} minutes")


if __name__ == "__main__":
    main()
