"""``agree`` on files of many labels: what it holds in memory, and what it imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from quati_pool.agreement.matching import match
from quati_pool.files.label_files import read_label_file
from quati_pool.files.label_files.shared_ids import SharedIds

ROWS = 200_000
# The columns of two files, ids, grades and a copy of these on the way; as objects of Python they took 650.
BYTES_A_ROW = 400

_MEASURED = """
import json, sys, tracemalloc
from pathlib import Path
import pyarrow as pa
from quati_pool.project.config import LabelFileConfig
from quati_pool.commands.agree import agree
from quati_pool.reporting.json_data.agree import as_data
from quati_pool.labels.gathered import LabelFiles
files = {name: LabelFileConfig(path=path) for name, path in zip("ab", sys.argv[1:])}
tracemalloc.start()
data = as_data(agree(Path("none.yaml"), (), LabelFiles(files), draws=50))
peak = tracemalloc.get_traced_memory()[1] + pa.default_memory_pool().max_memory()
print(json.dumps({"peak": peak, "pair": data["pairs"][0], "modules": sorted(sys.modules)}))
"""


def write(path: Path, order: np.ndarray, grade: np.ndarray) -> Path:
    rows = [f"{100 + n // 200} 0 msmarco_passage_{n % 70:02d}_{900_000_000 - n} {grade[n]}\n" for n in order.tolist()]
    path.write_text("".join(rows), encoding="utf-8")
    return path


@pytest.mark.slow
def test_two_large_files_are_compared_as_columns(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    grades = generator.integers(0, 4, (2, ROWS))
    paths = [
        write(tmp_path / "a.qrels", np.arange(ROWS), grades[0]),
        write(tmp_path / "b.qrels", generator.permutation(ROWS), grades[1]),
    ]
    run = [sys.executable, "-c", _MEASURED, *map(str, paths)]
    done = json.loads(subprocess.run(run, capture_output=True, check=True, text=True, env=os.environ).stdout)
    assert done["peak"] < ROWS * BYTES_A_ROW
    # Each takes tens of megabytes, and files need none of them.
    assert {"pandas", "sqlalchemy", "scipy", "sklearn", "matplotlib"}.isdisjoint(done["modules"])
    confusion = np.zeros((4, 4), dtype=int)
    np.add.at(confusion, (grades[0], grades[1]), 1)
    assert done["pair"]["confusion"] == confusion.tolist()


def test_ids_that_files_share_are_held_once(tmp_path: Path) -> None:
    texts = {"a": "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 3\n", "b": "q2 0 d1 2\nq1 0 é9 1\nq1 0 d2 0\n"}
    ids, plain = SharedIds(), {}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        plain[name] = read_label_file(tmp_path / name, "qrels")
    held = {name: ids.hold(file) for name, file in plain.items()}
    assert [list(file.doc_id or ()) for file in held.values()] == [["d1", "d2", "d1"], ["d1", "é9", "d2"]]
    assert sorted(ids.vocabulary[0].to_pylist()) == ["d1", "d2", "é9"]

    def graded(name: str, files: dict[str, object]) -> list[object]:
        qrels = match(files).qrels[name]  # type: ignore[arg-type]
        columns = (qrels.queries.decode(qrels.query).to_pylist(), qrels.docs.decode(qrels.doc).to_pylist())
        return list(zip(*columns, qrels.relevance.tolist(), strict=True))

    assert graded("a", {**held}) == graded("a", {**plain}) == [("q1", "d1", 1), ("q1", "d2", 0), ("q2", "d1", 3)]
    assert graded("b", {**held}) == graded("b", {**plain}) == [("q1", "d2", 0), ("q1", "é9", 1), ("q2", "d1", 2)]
