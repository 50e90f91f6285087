"""Pirá's retrieval task on its validation split: success@k by ir_measures, and the commands in its workspace."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from unittest import mock

import ir_measures
import pytest

from quati_pool.cli.main import main
from quati_pool.commands.bench.collections import Source, write_workspace
from quati_pool.commands.bench.retrieval import Curve, Retrieved, retrieve
from quati_pool.commands.bench.systems_file import SystemsFile
from quati_pool.project.events import Listener
from quati_pool.qa_benchmarks.base import Case
from quati_pool.registry import BENCHMARKS
from tests.collections.oracle import measures
from tests.commands.small_collection import sketch
from tests.shared_data import shared

SYSTEMS = """\
name: one
corpus: {path: nowhere.jsonl}
queries: {path: nowhere.jsonl}
systems:
  bm25s: {retriever: bm25s, language: pt}
"""
CASE = Case("validation", "pt", "translated-texts")


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Retrieved]:
    folder = tmp_path_factory.mktemp("pira")
    (folder / "pool.yaml").write_text(SYSTEMS)
    benchmark = BENCHMARKS.get("pira")
    task = benchmark.tasks["ir"]
    collection = task.collection(shared("pira/validation.csv").parent, CASE)
    systems = SystemsFile.read(folder / "pool.yaml")
    path = write_workspace(folder / "ws", Source("pira", benchmark), collection, systems, 0, Listener())
    with mock.patch("quati_pool.reporting.figures.build.heat_map", sketch):
        return path.parent, retrieve(path, collection, task, CASE, Listener())


def curve(found: Retrieved) -> Curve:
    assert found.curve is not None
    return found.curve


def test_success_is_that_of_a_count_over_the_files(searched: tuple[Path, Retrieved]) -> None:
    folder, found = searched
    rows = [line.split() for line in (folder / "gold.qrels").read_text().splitlines()]
    relevant = {query_id: doc_id for query_id, _, doc_id, _ in rows}
    assert (len(relevant), len(set(relevant.values()))) == (225, 181)
    best: dict[str, int] = {}
    for line in gzip.decompress((folder / "runs" / "bm25s.trec.gz").read_bytes()).decode().splitlines():
        query_id, _, doc_id, rank, _, _ = line.split()
        if relevant[query_id] == doc_id:
            best[query_id] = int(rank)
    counted = [sum(rank <= k for rank in best.values()) / 225 for k in range(1, 101)]
    assert curve(found).systems["bm25s"].tolist() == pytest.approx(counted)


def test_success_and_ndcg_are_those_of_ir_measures(searched: tuple[Path, Retrieved]) -> None:
    folder, found = searched
    wanted = [ir_measures.Success @ k for k in (1, 2, 5, 10, 37, 100)]
    qrels = list(ir_measures.read_trec_qrels(str(folder / "gold.qrels")))
    with gzip.open(folder / "runs" / "bm25s.trec.gz", "rt") as file:
        run = list(ir_measures.read_trec_run(file))
    theirs = ir_measures.calc_aggregate(wanted, qrels, run)
    for measure, value in theirs.items():
        assert curve(found).systems["bm25s"][measure["cutoff"] - 1] == pytest.approx(value)
    (row,) = found.rows
    assert row.n == 225
    assert row.measures["nDCG@10"] == pytest.approx(measures(folder, "bm25s")["nDCG@10"])


def test_a_random_order_is_the_papers_line(searched: tuple[Path, Retrieved]) -> None:
    assert curve(searched[1]).random.tolist() == pytest.approx([k / 181 for k in range(1, 101)])


@pytest.mark.slow
def test_bench_to_a_workspace_then_build_and_evaluate_end_with_six_systems_and_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Figures take as long as the rest.
    monkeypatch.setattr("quati_pool.reporting.figures.build.heat_map", sketch)

    def stdout_of(*arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", ["quati-pool", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ending:
            main()
        printed = capsys.readouterr()
        assert ending.value.code in (0, None), printed.err
        return printed.out

    data, settings = shared("pira/validation.csv").parent, tmp_path / "WS" / "pool.yaml"
    stdout_of("bench", "pira", "ir", "--data", data, "--lang", "pt", "--to", tmp_path / "WS")
    stdout_of("build", "-c", settings)
    (gold,) = json.loads(stdout_of("evaluate", "-c", settings, "--format", "json"))["qrels"]
    assert (gold["labeler"], gold["pairs"]) == ("gold", 225)
    assert len(gold["runs"]) >= 8
    assert {"nDCG@10", "Success@1", "Success@5", "Success@10", "R@100", "RR@10"} == set(gold["runs"][0]["measures"])
