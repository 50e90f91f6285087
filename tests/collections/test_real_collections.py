"""The issue's real collections, built as a user builds them and measured by pytrec_eval."""

from __future__ import annotations

from pathlib import Path

import pytest

from quati_pool.commands.build import build
from quati_pool.project.events import Listener
from tests.collections.oracle import measures
from tests.collections.real_collections import pira, vaswani
from tests.shared_data import shared

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def pira_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pira")
    pira(folder, shared("pira/validation.csv"))
    build(folder / "pool.yaml", Listener())
    return folder


@pytest.fixture(scope="module")
def vaswani_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vaswani")
    vaswani(folder, shared("vaswani/doc-text.trec").parent)
    build(folder / "pool.yaml", Listener())
    return folder


def test_pira_has_the_passages_and_queries_of_its_file(pira_workspace: Path) -> None:
    # 225 question sets over 181 distinct texts, as the data's README counts them.
    assert len((pira_workspace / "corpus.jsonl").read_text().splitlines()) == 181
    assert len((pira_workspace / "queries.jsonl").read_text().splitlines()) == 225


@pytest.mark.parametrize(("run_tag", "least"), [("bm25s", 0.94), ("bm25", 0.90), ("lsa", 0.90), ("rrf", 0.94)])
def test_pira_success_at_10(pira_workspace: Path, run_tag: str, least: float) -> None:
    assert measures(pira_workspace, run_tag)["success@10"] >= least


def test_vaswani_bm25_has_the_known_figures(vaswani_workspace: Path) -> None:
    found = measures(vaswani_workspace, "bm25")
    # Of a direct Pyserini run with k1 0.9, b 0.4 (tests/retrieval/test_bm25.py compares the runs).
    assert round(found["nDCG@10"], 4) == 0.4368
    assert round(found["AP"], 4) == 0.2856


def test_vaswani_embedded_bm25_comes_close_to_lucene(vaswani_workspace: Path) -> None:
    lucene, embedded = (measures(vaswani_workspace, tag)["nDCG@10"] for tag in ("bm25", "bm25s"))
    assert embedded == pytest.approx(lucene, abs=0.02)
