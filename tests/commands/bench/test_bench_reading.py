"""Answering over what systems find: Pirá's texts in passages, their best ones read by a model over HTTP."""

from __future__ import annotations

import gzip
from pathlib import Path
from unittest import mock

import pytest

from quati_pool.commands.bench.bench import BenchOptions, BenchResult, bench
from quati_pool.project.events import Listener
from tests.commands.small_collection import sketch
from tests.llm.server import ServerProcess
from tests.qa_benchmarks.pira_rows import row, write_split


def run(data: Path, folder: Path, **options) -> BenchResult:
    with mock.patch("quati_pool.reporting.figures.build.heat_map", sketch):
        return bench("pira", "oqa", data, BenchOptions(folder=folder, languages=["en"], **options), Listener())


def test_a_model_reads_the_best_passages_of_each_system_and_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    # Of the text's seven passages of 100 words each has "tide" once less than the one before; the server answers
    # as the last that it is shown says.
    text = " ".join(f"{'tide ' * (8 - n)}{'filler ' * (91 + n)}[[answer:passage{n}]]" for n in range(1, 8))
    data = tmp_path / "data"
    write_split(data, "test", [
        row("A1", text, question_en_origin="What tide?", answer_en_origin="passage5"),
        row("A2", "Something else.", question_en_origin="Zzz?", answer_en_origin="unanswerable"),
    ])  # fmt: skip
    with ServerProcess() as server:
        pool = tmp_path / "pool.yaml"
        pool.write_text(
            "name: mine\ncorpus: {path: c.jsonl}\nqueries: {path: q.tsv}\n"
            "systems: {a: {retriever: bm25s, language: en}, b: {retriever: bm25s, language: en, k1: 2.0}}\n"
            f"judges:\n  local: {{model: fake-1, prompt: quati-en, base_url: {server.url}}}\n"
        )
        found = run(data, tmp_path / "work", systems=pool, judge="local", over=["b"])
        calls = len(server.log())
        again = run(data, tmp_path / "work", systems=pool, judge="local", over=["b"])
        assert len(server.log()) == calls
    assert [one.system for one in found.rows] == ["a", "b", "local over b@5", "local over b@10", "local over b@15"]
    run_file = tmp_path / "work" / "collections" / "oqa-test-en" / "runs" / "b.trec.gz"
    order = [line.split()[2][-1] for line in gzip.decompress(run_file.read_bytes()).decode().splitlines()]
    assert order == list("1234567")
    five, ten, _ = found.rows[2:]
    assert (five.n, five.unanswered, five.extra) == (2, 0, {"k": 5})
    # The fifth passage is the last of the best five, the seventh that of all.
    assert (five.measures["EM"], ten.measures["EM"]) == (50, 0)
    assert any("1 question is asked without a passage" in note for note in found.notes)
    assert [one.measures for one in again.rows] == [one.measures for one in found.rows]
