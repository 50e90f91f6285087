"""Pairs scored shard by shard: interrupted and continued, in any batches, on several devices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_stores import store
from tiny_models.cross_encoder import cross_encoder

from quati_pool.errors import QuatiPoolError
from quati_pool.models.loading import load_model
from quati_pool.models.sizes import shape_of
from quati_pool.records import Ids, Query, Run
from quati_pool.retrieval.base import Context
from quati_pool.retrieval.pairwise import pairs
from quati_pool.retrieval.pairwise.pairs import pairs_digest
from quati_pool.retrieval.planning import forward_flops
from tests.retrieval.pairwise.test_cross_encoder import TEXTS, all_pairs, rescored
from tests.retrieval.pairwise.test_cross_encoder import reranker as cross

pytestmark = pytest.mark.neural

QUERIES = ["the harbour boats", "lighthouse?", "oven"]
ASKED = [Query(f"q{row}", text) for row, text in enumerate(QUERIES)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return cross_encoder(tmp_path / "model")


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "_MOST", 5)
    monkeypatch.setattr(pairs, "_FEWEST", 1)


class Counted:
    """How many pairs went through loaded models, and how often a model was loaded."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pairs = self.loads = 0
        load = load_model

        def counted(*args: Any, **options: Any) -> Any:
            self.loads += 1
            model = load(*args, **options)
            forward = model.forward

            def counting(features: dict[str, Any], **more: Any) -> Any:
                self.pairs += len(features["input_ids"])
                return forward(features, **more)

            model.forward = counting
            return model

        monkeypatch.setattr("quati_pool.retrieval.pairwise.cross_encoder.load_model", counted)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


def test_an_interrupted_rescoring_goes_on_after_its_last_shard(
    tmp_path: Path, folder: Path, small_shards: None, counted: Counted
) -> None:
    corpus = store(tmp_path / "store", TEXTS)
    run = all_pairs(3, len(TEXTS))  # 24 pairs, in shards of 5
    context = Context()

    def stop(done: int, total: int) -> None:
        assert total == 24
        if done > 12:
            raise KeyboardInterrupt

    context.progress = stop
    with pytest.raises(KeyboardInterrupt):
        cross(folder, batch_tokens=1).rescore(corpus, folder, ASKED, run, context)
    assert counted.pairs == 13  # the 13th is lost, and two more of its shard
    seen: list[int] = []
    context.progress = lambda done, total: seen.append(done)
    scores = cross(folder, batch_tokens=1).rescore(corpus, folder, ASKED, run, context)
    assert counted.pairs == 13 + 14
    assert seen == list(range(11, 25))
    unbroken = cross(folder, batch_tokens=1).rescore(corpus, folder, ASKED, run, Context())
    assert scores.tobytes() == unbroken.tobytes()


def test_what_is_scored_is_not_scored_again(tmp_path: Path, folder: Path, counted: Counted) -> None:
    corpus = store(tmp_path / "store", TEXTS)
    run = all_pairs(3, len(TEXTS))
    context = Context()
    scores = cross(folder).rescore(corpus, folder, ASKED, run, context)
    again = cross(folder, batch_tokens=64).rescore(corpus, folder, ASKED, run, context)
    assert (counted.loads, counted.pairs) == (1, 24)
    assert scores.tobytes() == again.tobytes()
    assert (scores.dtype, scores.shape) == (np.float32, (24,))
    cross(folder, max_tokens=19).rescore(corpus, folder, ASKED, run, context)
    assert counted.loads == 2


def test_no_pairs_need_no_model(tmp_path: Path) -> None:
    found = cross(tmp_path / "nowhere").rescore(store(tmp_path / "s", ["a"]), tmp_path, [], all_pairs(0, 1), Context())
    assert (found.dtype, found.shape) == (np.float32, (0,))


@pytest.mark.parametrize("batch_tokens", [1, 40, 100_000])
def test_scores_do_not_depend_on_the_batch(tmp_path: Path, folder: Path, batch_tokens: int) -> None:
    one = rescored(cross(folder), tmp_path / "store", TEXTS, QUERIES)
    other = rescored(cross(folder, batch_tokens=batch_tokens), tmp_path / "store2", TEXTS, QUERIES)
    assert other == pytest.approx(one, abs=1e-5)


def test_scores_do_not_depend_on_the_order_of_the_run(tmp_path: Path, folder: Path, small_shards: None) -> None:
    corpus = store(tmp_path / "store", TEXTS)
    run = all_pairs(3, len(TEXTS))
    scores = cross(folder).rescore(corpus, folder, ASKED, run, Context())
    order = np.random.default_rng(0).permutation(len(run))
    mixed = Run("m", run.queries, run.docs, run.query[order], run.doc[order], run.rank[order], run.score[order])
    found = cross(folder).rescore(corpus, folder, ASKED, mixed, Context())
    assert found == pytest.approx(scores[order], abs=1e-5)


def test_several_devices_give_the_same_scores(tmp_path: Path, folder: Path) -> None:
    one = rescored(cross(folder), tmp_path / "store", TEXTS, QUERIES)
    component = cross(folder, batch_tokens=40)
    component.parameters = component.parameters.model_copy(update={"device": ["cpu", "cpu"]})
    other = rescored(component, tmp_path / "store2", TEXTS, QUERIES)
    assert other == pytest.approx(one, abs=1e-5)


def test_a_batch_that_the_device_has_no_memory_for_is_halved_and_said(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = rescored(cross(folder), tmp_path / "store", TEXTS, QUERIES)
    load = load_model

    def narrow(*args: Any, **options: Any) -> Any:
        model = load(*args, **options)
        forward = model.forward

        def limited(features: dict[str, Any], **more: Any) -> Any:
            if len(features["input_ids"]) > 3:
                raise torch.OutOfMemoryError("out of memory")
            return forward(features, **more)

        model.forward = limited
        return model

    monkeypatch.setattr("quati_pool.retrieval.pairwise.cross_encoder.load_model", narrow)
    notes: list[str] = []
    seen: list[int] = []
    context = Context(note=notes.append, progress=lambda done, total: seen.append(done))
    other = rescored(cross(folder), tmp_path / "store2", TEXTS, QUERIES, context)
    assert other == pytest.approx(one, abs=1e-5)
    assert len(notes) == 1
    assert "memory" in notes[0]
    assert seen[-1] == 24


def test_a_score_that_is_no_number_is_refused_with_its_query_and_passage(tmp_path: Path) -> None:
    """The vector of one letter is NaN, and one passage holds it."""
    folder = cross_encoder(tmp_path / "model")
    from safetensors.torch import load_file, save_file
    from transformers import AutoTokenizer

    weights = load_file(folder / "model.safetensors")
    letter = AutoTokenizer.from_pretrained(folder).convert_tokens_to_ids("z")
    weights["bert.embeddings.word_embeddings.weight"][letter] = float("nan")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    corpus = store(tmp_path / "store", ["the", "a z", "x"], ["doc-a", "doc-z", "doc-x"])
    with pytest.raises(QuatiPoolError, match=r"scores query 'q0' and passage 'doc-z' nan, .* name another model$"):
        cross(folder).rescore(corpus, folder, ASKED[:1], all_pairs(1, 3), Context())
    with pytest.raises(QuatiPoolError, match=r"use compute: fp32$"):
        cross(folder, compute="bf16").rescore(corpus, folder, ASKED[:1], all_pairs(1, 3), Context())


def test_a_corpus_of_hostile_passages_is_scored(tmp_path: Path, folder: Path) -> None:
    texts = [
        "",
        " \n\t",
        "\x00\x01\x7f",
        "\u202e\ufeff\ufffd",
        "[SEP]" * 500,
        "a" * 100_000,
        "👩‍👩‍👧" * 50,
        "the " * 50_000,
    ]
    scores = rescored(cross(folder), tmp_path / "store", texts, ["the harbour", "[SEP] [CLS]"])
    assert np.isfinite(scores).all()
    assert scores[:, 0] == pytest.approx(scores[:, 1], abs=1e-5)  # both are no token


def ordered(query: npt.NDArray[Any], doc: npt.NDArray[Any]) -> Run:
    zeros = np.zeros(len(query), dtype=np.float32)
    return Run("r", Ids(["q0", "q1"]), Ids(["a", "b", "c"]), query, doc, np.arange(len(query)) + 1, zeros)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), max_size=6, unique=True))
def test_the_digest_tells_pairs_and_their_order_apart_and_not_the_names_of_queries(
    rows: list[tuple[int, int]],
) -> None:
    query, doc = (np.array([row[part] for row in rows], dtype=np.int64) for part in (0, 1))
    digest = pairs_digest([Query("x", "one"), Query("y", "two")], ordered(query, doc))
    assert digest == pairs_digest([Query("s", "one"), Query("t", "two")], ordered(query, doc))
    if rows:
        assert digest != pairs_digest([Query("x", "one!"), Query("y", "two!")], ordered(query, doc))
        assert digest != pairs_digest([Query("x", "one"), Query("y", "two")], ordered(query, doc + 1))
    if len(rows) > 1:
        assert digest != pairs_digest([Query("x", "one"), Query("y", "two")], ordered(query[::-1], doc[::-1]))


def test_the_digest_is_not_fooled_by_where_one_query_ends() -> None:
    run = ordered(np.array([0, 1]), np.array([0, 0]))
    assert pairs_digest([Query("x", "ab"), Query("y", "c")], run) != pairs_digest(
        [Query("x", "a"), Query("y", "bc")], run
    )


def test_a_shard_is_about_so_much_arithmetic_and_more_on_a_gpu(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    component, shorter = cross(folder), cross(folder, max_tokens=32)
    local = component.local()
    one = forward_flops(shape_of(local.folder), 64)
    monkeypatch.setattr(pairs, "_SHARD_FLOPS", {"cpu": 10.5 * one, "gpu": 1000.5 * one})
    model = component.load(local)
    assert component._shard_pairs(local, model) == 10
    assert component._shard_pairs(local, replace(model, devices=["cuda"])) == 1000
    # Half the tokens, and attention to half as many.
    assert 20 < component._shard_pairs(local, shorter.load(local)) < 40
