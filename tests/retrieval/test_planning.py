"""What a model's work is reckoned to take: sizes against published ones, FLOP against torch's own counter."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_stores import indexed, store

from quati_pool.bundled import bundled
from quati_pool.retrieval import planning
from quati_pool.retrieval.base import Component, ComponentEnvironment
from quati_pool.retrieval.bm25s import Bm25s
from quati_pool.retrieval.lsa import Lsa
from quati_pool.retrieval.planning import KNOWN, Shape, Workload, forward_flops, known_shape

TINY = Shape(layers=2, hidden=32, ffn=48, heads=4, vocabulary=100, dimension=32, max_tokens=64)

# Millions of weights, as the models' papers and cards have them: Devlin et al. 2019 (110 M), Conneau et al. 2020
# (270 M and 550 M; the E5 cards 278 M and 560 M), Xue et al. 2021 (580 M, 3.7 B, 13 B), Raffel et al. 2020 (220 M;
# its embeddings are tied, ours are counted twice: 25 M more), Wang et al. 2020 (118 M, 22.7 M).
PUBLISHED = {
    "google-bert/bert-base-uncased": 110,
    "intfloat/multilingual-e5-small": 118,
    "intfloat/multilingual-e5-base": 278,
    "intfloat/multilingual-e5-large": 560,
    "sentence-transformers/all-MiniLM-L6-v2": 22.7,
    "google/mt5-base": 580,
    "unicamp-dl/mt5-3B-mmarco-en-pt": 3700,
    "unicamp-dl/mt5-13b-mmarco-100k": 13000,
    "google-t5/t5-base": 247,
}


@pytest.mark.parametrize("model", PUBLISHED)
def test_known_shapes_have_the_published_number_of_weights(model: str) -> None:
    assert planning.weights(KNOWN[model]) / 1e6 == pytest.approx(PUBLISHED[model], rel=0.02)


def test_a_model_is_known_by_its_name_and_by_its_folder() -> None:
    assert known_shape("models/multilingual-e5-large/") == KNOWN["intfloat/multilingual-e5-large"]
    assert known_shape("intfloat/Multilingual-E5-Large") == KNOWN["intfloat/multilingual-e5-large"]
    assert known_shape("<yours>") is None


def test_flops_of_a_shape_derived_by_hand() -> None:
    # One layer: 4·2² + 2·2·4 = 32 weights, so 64 FLOP a token, and 4·3 tokens·2 = 24 for attention; 3 tokens: 264.
    shape = Shape(1, 2, 4, 1, 10, 2, 8)
    assert forward_flops(shape, 3) == 264
    assert forward_flops(shape, 3, 5) == 5 * 264
    # The vocabulary's head: 2·2·(2 + 10) = 48 a token.
    assert forward_flops(shape, 3, vocabulary_head=True) == 264 + 3 * 48


def _counted(work: Callable[[], Any]) -> int:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        work()
    return int(counter.get_total_flops())


def _bert(head: bool) -> tuple[Any, Any]:
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertModel

    config = BertConfig(
        vocab_size=TINY.vocabulary,
        hidden_size=TINY.hidden,
        num_hidden_layers=TINY.layers,
        num_attention_heads=TINY.heads,
        intermediate_size=TINY.ffn,
        max_position_embeddings=TINY.max_tokens,
        attn_implementation="eager",  # the counter does not know the CPU's fused attention
    )
    model = BertForMaskedLM(config) if head else BertModel(config, add_pooling_layer=False)
    return model.eval(), torch.ones((3, 17), dtype=torch.long)


@pytest.mark.neural
@pytest.mark.parametrize("head", [False, True], ids=["encoder", "masked-lm"])
def test_flops_are_those_that_torch_counts_in_an_encoder(head: bool) -> None:
    model, tokens = _bert(head)
    assert _counted(lambda: model(tokens)) == forward_flops(TINY, 17, 3, vocabulary_head=head)


@pytest.mark.neural
def test_flops_are_about_those_that_torch_counts_in_an_encoder_decoder() -> None:
    import torch
    from transformers import MT5Config, MT5ForConditionalGeneration

    config = MT5Config(
        vocab_size=100,
        d_model=32,
        d_kv=8,
        num_heads=4,
        d_ff=48,
        num_layers=2,
        num_decoder_layers=2,
        decoder_start_token_id=0,
        attn_implementation="eager",
    )
    model = MT5ForConditionalGeneration(config).eval()
    shape = Shape(2, 32, 48, 4, 100, 32, 64, matrices=3, decoder_layers=2)
    tokens, first = torch.ones((3, 17), dtype=torch.long), torch.zeros((3, 1), dtype=torch.long)
    counted = _counted(lambda: model(input_ids=tokens, decoder_input_ids=first))
    # The one thing left out: a decoded token's attention to itself, 4·32 a layer.
    assert counted - 3 * 2 * 4 * 32 == forward_flops(shape, 17, 3)


def test_tokens_follow_characters_or_are_counted() -> None:
    assert planning.tokens_of(1000) == 250  # 4 characters a token
    assert planning.tokens_of(1000, max_tokens=128) == 128
    # Words of "a b" and "a b c d", the latter cut at 3: (2 + 3) / 2.
    assert planning.tokens_of(1000, 3, ["a b", "a b c d"], lambda text: len(text.split())) == 2.5
    assert planning.tokens_of(1000, None, [], len) == 250


def test_gpu_hours_follow_from_the_stated_peak_and_share() -> None:
    # 312 TFLOP/s · 50 % for an hour; in fp32 the peak is 19.5 TFLOP/s, a sixteenth.
    assert planning.gpu_hours(156e12 * 3600) == pytest.approx(1)
    assert planning.gpu_hours(156e12 * 3600, "fp32") == pytest.approx(16)


def test_calibration_measures_once_and_time_follows_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    planning.calibrated_flops.cache_clear()
    asked = []
    monkeypatch.setattr(planning, "_best", lambda work, flops: asked.append(flops) or 4e9)
    monkeypatch.setattr(planning, "_gpu_flops", lambda: None)
    try:
        # 1024³ multiplications and additions; a model reaches 0.8 of 4 GFLOP/s: 16 GFLOP in 5 s.
        assert planning.seconds_here(1.6e10) == pytest.approx(5)
        assert planning.seconds_here(3.2e10) == pytest.approx(10)
        assert asked == [2 * 1024**3]
    finally:
        planning.calibrated_flops.cache_clear()


def test_calibration_measures_something() -> None:
    assert 1e8 < planning.calibrated_flops() < 1e16


def test_the_estimate_of_a_model_shows_its_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "calibrated_flops", lambda: 1e12)
    shape = KNOWN["intfloat/multilingual-e5-large"]
    made = planning.estimate_forward("intfloat/multilingual-e5-large", shape, 1_000_000, 215)
    # 24 layers · 12 · 1024² = 301,989,888 weights; attention 4·215·1024·24 = 21,135,360 a token; so
    # 215,000,000 tokens · (603,979,776 + 21,135,360) = 1.344e17 FLOP, at 0.8 of 1e12 FLOP/s 168,000 s.
    assert made.flops == 215e6 * (603_979_776 + 21_135_360)
    assert made.seconds == pytest.approx(168_000, rel=0.001)
    assert made.encode == 1_000_000
    assert made.arithmetic == (
        "multilingual-e5-large: 1,000,000 passages × 215 tokens × (2 × 302 M weights + 21 M for attention) = "
        "1.34e+17 FLOP",
        # 301,989,888 + 250,002 · 1,024 = 557,991,936 weights of 4 bytes.
        "multilingual-e5-large: 558 M weights × 4 bytes = 2.08 GiB",
    )
    assert made.memory == 4 * 557_991_936


def test_a_model_of_unknown_size_says_so() -> None:
    made = planning.estimate_forward("mine", None, 10, 20.0)
    assert (made.encode, made.flops, made.seconds) == (10, None, None)
    assert made.notes == ("mine: its sizes are not known here",)


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (4_096_000_000, "3.81 GiB"), (2**60, "1048576 TiB")],
)
def test_bytes_are_readable(size: int, shown: str) -> None:
    assert planning.human_bytes(size) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.2, "< 1 s"), (40, "40 s"), (150, "2.5 min"), (7200, "2 h"), (259200, "3.0 days"), (1e8, "1,157 days")],
)
def test_times_are_readable(seconds: float, shown: str) -> None:
    assert planning.human_seconds(seconds) == shown


@pytest.mark.parametrize(("hours", "shown"), [(0.001, "< 0.01 h"), (0.329, "0.33 h"), (120.4, "120 h")])
def test_hours_are_readable(hours: float, shown: str) -> None:
    assert planning.human_hours(hours) == shown


# ---- lexical systems: the index that is made is the oracle

with (bundled("data/sample") / "corpus.jsonl").open(encoding="utf-8") as lines:
    TEXTS = [json.loads(line)["text"] for line in lines]


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


@pytest.mark.parametrize("component", [Bm25s, Lsa], ids=["bm25s", "lsa"])
def test_the_disk_planned_is_about_that_of_the_index(component: type[Component], tmp_path: Path) -> None:
    made = component(component.Parameters(language="pt"), ComponentEnvironment())
    corpus = store(tmp_path / "store", TEXTS)
    characters = sum(map(len, TEXTS)) / len(TEXTS)
    planned = made.estimate(Workload(len(TEXTS), characters, 5, 10, sample=TEXTS[::2]))
    real = _size(indexed(made, corpus, tmp_path / "index"))
    assert planned.disk is not None
    assert planned.memory is not None
    assert real / 2 < planned.disk < 2 * real
    assert planned.memory > planned.disk
    assert planned.seconds is not None
    assert planned.seconds > 0


def test_lexical_work_grows_with_the_corpus_and_needs_no_sample() -> None:
    made = Bm25s(Bm25s.Parameters(language="pt"))
    small, large = (made.estimate(Workload(passages, 1143, 50, 100)) for passages in (1_000_000, 10_000_000))
    assert small.disk is not None
    assert small.memory is not None
    # Postings grow with the passages, terms more slowly.
    assert 9.5 * small.disk < large.disk < 10 * small.disk
    # Quati's passages have 27,000 terms and 20,000 distinct ones in 273,000 characters: 82 postings of 8 bytes a
    # passage of 1,143 characters; the bundled passages, shorter, repeat their terms less.
    assert small.disk == pytest.approx(1_000_000 * 82 * 8, rel=0.4)
