"""The command line in this process, and a tiny workspace to spoil."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import typer

from quati_pool.cli.main import main

# Always the same, and most commands take less time than building it.
_tree_of_commands = cache(typer.main.get_command)


class Done(NamedTuple):
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str


Cli = Callable[..., Done]


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs ``quati-pool`` with arguments; an exception that the user would see as a traceback is raised."""

    def run(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["quati-pool", *map(str, arguments)])
        capsys.readouterr()
        status = 0
        try:
            main()
        except SystemExit as ending:
            status = ending.code if isinstance(ending.code, int) else 0 if ending.code is None else 1
        return Done(status, *capsys.readouterr())

    monkeypatch.setattr(typer.main, "get_command", _tree_of_commands)
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    return run


@pytest.fixture
def sketched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are sketched: drawing them takes longer than all the rest."""
    monkeypatch.setattr("quati_pool.reporting.figures.plots.Drawing.render", lambda self, form: b"a sketch")
    both = {"svg": b"a sketch", "png": b"a sketch"}
    monkeypatch.setattr("quati_pool.reporting.figures.plots.Drawing.render_all", lambda self: both)


CORPUS = """\
{"doc_id": "d1", "text": "The ferry leaves the harbour at noon."}
{"doc_id": "d2", "text": "Rye bread needs a long time in the oven."}
{"doc_id": "d3", "text": "A comet passed the harbour at night."}
"""
POOL = """\
name: tiny
corpus: {path: corpus.jsonl}
queries: {path: queries.tsv}
systems:
  bm25s: {retriever: bm25s, language: en}
  theirs: {retriever: run, path: theirs.run}
pool: {depth: 2}
"""


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a workspace that builds."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text(CORPUS, encoding="utf-8")
    (folder / "queries.tsv").write_text("q1\twhen does the ferry leave\nq2\tbaking bread\n", encoding="utf-8")
    (folder / "theirs.run").write_text("q1 Q0 d3 1 2.5 theirs\nq2 Q0 d2 1 1.5 theirs\n", encoding="utf-8")
    (folder / "pool.yaml").write_text(POOL, encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder
