"""The example of docs/api.md: it runs as written, and its types hold."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXAMPLE = re.search(r"^```python\n(.*?)^```", (ROOT / "docs" / "api.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)[
    1
]  # type: ignore[index]

ENDING = """
import json
print("DATA", json.dumps({"agree": a.to_dict(), "evaluate": e.to_dict(), "mine": mine.mean("bm25").value,
      "kappa": a.kappa("HA1", "gpt-4o").value, "both": both.kappa("A", "B").value, "pairs": len(pairs),
      "pooled": len(pool), "systems": c.systems}))
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A workspace with the names of the example: bm25, lexical, HA1 and gpt-4o."""
    sample = ROOT / "data" / "sample"
    for name in ("corpus.jsonl", "queries.jsonl"):
        shutil.copy(sample / name, tmp_path)
    gold = (sample / "labels.tsv").read_text(encoding="utf-8")
    (tmp_path / "ha1.tsv").write_text(gold, encoding="utf-8")
    header, *rows = gold.splitlines()
    column = header.split("\t").index("relevance")
    cells = [row.split("\t") for row in rows]
    for place, row in enumerate(cells):
        row[column] = str(min(3, int(row[column]) + (place % 5 == 0)))
    (tmp_path / "gpt.tsv").write_text("\n".join([header, *map("\t".join, cells)]) + "\n", encoding="utf-8")
    text = (sample / "pool.yaml").read_text(encoding="utf-8")
    text = text.replace("bm25s: {retriever", "bm25: {retriever").replace("bm25s, lsa]", "bm25, lsa]")
    text = text.replace("first: bm25s", "first: bm25")
    text = text.replace(
        "    sample-gold: labels.tsv\n", "    HA1: {path: ha1.tsv, person: true}\n    gpt-4o: gpt.tsv\n"
    )
    (tmp_path / "pool.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def test_the_example_runs_and_its_figures_are_those_of_the_commands(here: Path) -> None:
    (here / "example.py").write_text(EXAMPLE + ENDING, encoding="utf-8")
    ran = subprocess.run([sys.executable, "example.py"], cwd=here, env=environment(), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    data = json.loads(ran.stdout.partition("DATA ")[2])
    assert data.pop("systems")[-1] == "mine"

    def command(*words: str) -> dict[str, object]:
        line = [sys.executable, "-m", "quati_pool", *words, "--format", "json"]
        done = subprocess.run(line, cwd=here, env=environment(), capture_output=True, text=True, check=True)
        found: dict[str, object] = json.loads(done.stdout)
        return found

    assert data["agree"] == command("agree")
    # Before "mine" was added.
    pool = (here / "pool.yaml").read_text(encoding="utf-8")
    (here / "pool.yaml").write_text(re.sub(r"^  mine: .*\n", "", pool, flags=re.MULTILINE), encoding="utf-8")
    command("build")
    assert data["evaluate"] == command("evaluate", "--baseline", "bm25")
    agreed = {(one["a"], one["b"]): one["kappa"] for one in data["agree"]["pairs"]}
    assert data["kappa"] == agreed["HA1", "gpt-4o"]
    # Over the pairs of the files, in the pool or not.
    assert data["both"] == agreed["HA1", "gpt-4o"]
    [lexical] = [one for one in data["evaluate"]["qrels"] if one["name"] == "lexical"]
    [bm25] = [run for run in lexical["runs"] if run["run_tag"] == "bm25"]
    assert data["mine"] == bm25["measures"]["nDCG@10"]["mean"]
    assert data["pairs"] == data["pooled"]


def test_the_example_is_well_typed(here: Path) -> None:
    lines = [
        "reveal_type(a.kappa('HA1', 'gpt-4o'))",
        "reveal_type(c.build())",
        "reveal_type(c.build(only='bm25'))",
        "reveal_type(c.judge('lexical', dry_run=True))",
        "c.judge('lexical', bugdet=3)",
    ]
    (here / "example.py").write_text(EXAMPLE + "\n".join(lines) + "\n", encoding="utf-8")
    # With the settings of this project, strict too, because what `make lint` has checked is then not checked again.
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", here / "example.py"], cwd=ROOT, env=environment(), capture_output=True, text=True
    )
    first = len(EXAMPLE.splitlines()) + 1
    found = re.findall(r"^.*example\.py:(\d+): (note: Revealed|error:)(.*)$", checked.stdout, re.MULTILINE)
    assert [(int(line) - first, what) for line, kind, what in found if kind != "error:"] == [
        (0, ' type is "quati_pool.api.results.Estimate"'),
        (1, ' type is "quati_pool.api.results.Build"'),
        (2, ' type is "quati_pool.api.results.Build | None"'),
        (3, ' type is "quati_pool.api.results.JudgingPlan"'),
    ], checked.stdout
    errors = [(int(line) - first, what) for line, kind, what in found if kind == "error:"]
    assert {line for line, _ in errors} == {4}, checked.stdout
    assert 'Unexpected keyword argument "bugdet"' in errors[0][1]
    assert "Found 2 errors in 1 file" in checked.stdout
