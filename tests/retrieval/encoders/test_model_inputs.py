"""Prompts and limits of loaded models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sentence_transformers import SentenceTransformer, SparseEncoder

from quati_pool.errors import ConfigError
from quati_pool.retrieval.encoders.model_inputs import limit_of, limit_tokens, positions_of, prompt_of, reader_of
from tests.tiny_models import cross_encoder, dense, sparse

pytestmark = pytest.mark.neural


@pytest.mark.parametrize(
    ("prompts", "query", "passage"),
    [
        ({}, "", ""),
        ({"query": "q: ", "document": "d: ", "passage": "p: "}, "q: ", "d: "),
        # What sentence-transformers makes of an older model's prompts.
        ({"query": "q: ", "document": "", "passage": "p: "}, "q: ", "p: "),
        ({"corpus": "c: ", "query": None}, "", "c: "),
    ],
    ids=["none", "new", "older", "corpus"],
)
def test_prompts_by_the_names_of_sentence_transformers(prompts: dict[str, Any], query: str, passage: str) -> None:
    assert (prompt_of(prompts, "query"), prompt_of(prompts, "document")) == (query, passage)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dense.sentence_transformer(tmp_path_factory.mktemp("models") / "bert")


def loaded(folder: Path) -> SentenceTransformer:
    return SentenceTransformer(str(folder), device="cpu")


def tokens(model: Any, text: str, task: str) -> int:
    return int(model.preprocess([text], task=task)["attention_mask"].sum())


def test_a_limit_holds_for_the_tasks_it_is_for(bert: Path) -> None:
    model = loaded(bert)
    limit_tokens(model, "m", 7, ["document"])
    assert (tokens(model, "dog " * 50, "document"), tokens(model, "dog " * 50, "query")) == (7, 52)
    limit_tokens(model, "m", 5)
    assert (tokens(model, "dog " * 50, "document"), tokens(model, "dog " * 50, "query")) == (5, 5)
    assert limit_of(reader_of(model, "query"), "query") == 5


def test_no_more_tokens_are_read_than_there_are_positions(bert: Path) -> None:
    model = loaded(bert)
    model.max_seq_length = 10**30
    limit_tokens(model, "m", None)
    assert tokens(model, "dog " * 500, "document") == 64
    model.max_seq_length = 40
    limit_tokens(model, "m", None, [])
    with pytest.raises(ConfigError, match=r"^model 'm' reads at most 64 tokens of a text; lower max_tokens$"):
        limit_tokens(model, "m", 65)


def test_roberta_has_two_positions_that_no_token_takes(tmp_path: Path) -> None:
    import transformers

    folder = cross_encoder.cross_encoder(tmp_path / "m", "roberta", positions=30)
    assert positions_of(transformers.AutoModel.from_pretrained(folder)) == 30


def test_static_embeddings_read_texts_whole(tmp_path: Path) -> None:
    model = loaded(dense.static(tmp_path / "m"))
    limit_tokens(model, "m", None)
    assert limit_of(reader_of(model, "query"), "query") is None
    with pytest.raises(ConfigError, match="reads texts of any length whole; drop max_tokens"):
        limit_tokens(model, "m", 5)


def test_each_route_of_a_model_is_limited(tmp_path: Path) -> None:
    model = SparseEncoder(str(sparse.inference_free(tmp_path / "m")), device="cpu")
    assert reader_of(model, "query") is not reader_of(model, "document")
    limit_tokens(model, "m", 6)
    assert (tokens(model, "fox " * 30, "query"), tokens(model, "fox " * 30, "document")) == (6, 6)
