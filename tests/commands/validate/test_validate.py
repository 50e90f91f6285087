"""``validate`` of a pool.yaml: a YAML file is one unless it is said to be something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from quati_pool.bundled import bundled
from quati_pool.commands.validate.validate import validate


@pytest.mark.neural
def test_the_systems_of_the_paper_are_a_valid_configuration() -> None:
    path = bundled("data/quati-paper") / "pool.yaml"
    report = validate(path, None, limit=100)
    # Fifteen systems on each of two corpora (the list; its three fusions and "half" included).
    assert (report.kind, report.summary) == ("config", report.summary | {"systems": 30, "corpora": 2, "judges": 1})
    # Passages and queries are still to be put there, and two models to be named.
    told = [str(error).partition(": ")[2] for error in report.errors]
    assert told[0].startswith("queries.path: ")
    assert sum(error.startswith("corpora.") for error in told) == 2
    assert {error.partition(".model: ")[0] for error in told if "<yours>" in error} == {
        f"systems.{name}-{size}" for name in ("colbert-x", "splade-v2") for size in ("1M", "10M")
    }


@pytest.mark.parametrize(("folder", "steps", "corpora"), [("quati-paper", 12, 2), ("sample", 9, 1)])
def test_the_preparations_that_come_with_the_package_are_valid(folder: str, steps: int, corpora: int) -> None:
    report = validate(bundled(f"data/{folder}") / "prepare.yaml", None)
    assert (report.ok, report.kind, report.summary) == (True, "config", {"steps": steps, "corpora": corpora})


@pytest.mark.parametrize("step", ["write: {to: .}", "write: {too: corpus}", "url: {drop_domains_file: none.txt}"])
def test_a_fault_of_a_preparation_is_an_error_of_its_file(tmp_path: Path, step: str) -> None:
    path = tmp_path / "prepare.yaml"
    path.write_text(f"name: x\nsteps:\n  - read: {{path: p.jsonl}}\n  - {step}\n  - write: {{to: corpus}}\n")
    (error,) = validate(path, None).errors
    assert str(error).startswith((f"{path}:4: ", f"{tmp_path / 'none.txt'}: there is no such file"))


@pytest.mark.parametrize("kind", [None, "config"])
def test_a_fault_is_told_with_its_line(tmp_path: Path, kind: str | None) -> None:
    path = tmp_path / ("pool.yaml" if kind is None else "pool.txt")
    path.write_text("name: x\ncorpus: {path: c.jsonl}\nqueries: {path: q.tsv}\nsystems:\n  a: {retriever: bm52s}\n")
    report = validate(path, kind)
    assert not report.ok
    assert str(report.errors[0]).startswith(f"{path}:5: ")
    assert "did you mean 'bm25s'" in str(report.errors[0])


def test_another_kind_of_file_is_checked_as_before(tmp_path: Path) -> None:
    path = tmp_path / "gold.yaml"
    path.write_text("q1 0 d1 1\n")
    assert validate(path, "qrels").summary["queries"] == 1
