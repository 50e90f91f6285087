"""What the pages of docs show is what the commands print, and they name every component there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from quati_pool.cli.main import app
from quati_pool.commands.bench.bench import BenchOptions, bench
from quati_pool.commands.demo import demo
from quati_pool.commands.init import init_pages
from quati_pool.commands.prepare.prepare import prepare
from quati_pool.errors import MissingExtraError
from quati_pool.project.events import Listener
from quati_pool.registry import BENCHMARKS, EXPORTS, PREPARATIONS
from quati_pool.reporting.answers.demo import answer
from quati_pool.reporting.formats.answers import Answer, answer_text
from quati_pool.reporting.formats.tables import to_text
from quati_pool.reporting.tables.bench import tables as bench_tables
from quati_pool.reporting.tables.prepare import tables as prepare_tables
from quati_pool.retrieval.bm25 import Bm25
from tests.serial_engine import SerialEngine
from tests.shared_data import shared

DOCS = Path(__file__).parents[2] / "docs"


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def test_the_tour_shows_the_tables_of_the_lean_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = page("tour")

    def absent() -> None:
        raise MissingExtraError("bm25", "lucene", "pyserini")

    monkeypatch.setattr(Bm25, "require", absent)
    made = demo(tmp_path / "demo", Listener())
    said = answer(made, Path("quati-pool-demo"))
    # Numbers of the systems may differ in the last digit on another processor, as the vectors of lsa do.
    shown_lines = {re.sub(r"\d+\.\d+", "N", line) for line in shown.splitlines()}
    for line in answer_text(said).splitlines():
        assert not line or f"    {re.sub(r'[0-9]+[.][0-9]+', 'N', line)}" in shown_lines
    assert f"    {answer_text(Answer(said.sentences[:1])).splitlines()[0]}\n" in shown


def test_every_export_is_named() -> None:
    shown = page("release")
    for name in EXPORTS.names():
        assert f"| `{name}` |" in shown


def test_every_command_is_named() -> None:
    shown = page("commands")
    names = [command.name or command.callback.__name__ for command in app.registered_commands if command.callback]
    names += [str(group.name) for group in app.registered_groups]
    assert len(names) > 8
    for name in names:
        assert f"| `quati-pool {name}" in shown


def test_of_every_benchmark_it_is_said_what_is_reproduced() -> None:
    shown = page("qa-benchmarks")
    for name in BENCHMARKS.names():
        [paragraph] = [part for part in shown.split("\n\n") if part.startswith(f"**`{name}`**")]
        paragraph = " ".join(paragraph.split())
        benchmark = BENCHMARKS.get(name)
        assert f"({benchmark.title}," in paragraph
        assert f"({benchmark.source})" in paragraph
        assert "Reproduced: " in paragraph or "To the digit" in paragraph
        assert "Not reproduced: " in paragraph
        for task in benchmark.tasks:
            assert f"`{task}`" in paragraph or f"quati-pool bench {name} {task}" in shown


def test_the_page_of_benchmarks_shows_what_bench_prints(tmp_path: Path) -> None:
    shown = page("qa-benchmarks")
    result = bench("pira", "mrc", shared("pira"), BenchOptions(folder=tmp_path), Listener())
    for line in to_text(bench_tables(result)[0]).splitlines():
        assert f"    {line}\n" in shown


def test_every_step_of_preparation_is_named() -> None:
    shown = page("preparation")
    for name in PREPARATIONS.names():
        assert f"| `{name}` |" in shown


def test_the_page_of_preparation_shows_what_prepare_prints(tmp_path: Path) -> None:
    shown = page("preparation")
    result = prepare(init_pages(tmp_path)[-1], SerialEngine, Listener())
    for table in prepare_tables(result):
        for line in to_text(table).splitlines():
            assert f"    {line}\n" in shown
