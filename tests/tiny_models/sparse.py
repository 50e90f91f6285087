"""Sparse models with random weights, small enough to be made in a test."""

from __future__ import annotations

import json
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from sentence_transformers import SparseEncoder
from sentence_transformers.sparse_encoder.modules import Router, SparseStaticEmbedding, SpladePooling, Transformer

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = ("the", "court", "judge", "tide", "boats", "harbour", "oven", "dough", "fox", "dog", "água", "rio")
PIECES = ("##ing", "[unused1]", "|", "a|b", "t1|7", "two words", "a\u2003b", "ﬁ", "ǅ", "٣", "😀")
"""Pieces that an index of words could not tell apart, or would cut."""

VOCABULARY = (*SPECIAL, *WORDS, *PIECES, *string.ascii_lowercase, *(f"##{c}" for c in string.ascii_lowercase))


def masked_language_model(
    folder: Path, vocabulary: Sequence[str] = VOCABULARY, seed: int = 0, bias: float = 0.0, **config: Any
) -> Path:
    """A folder with a BERT that predicts masked words, as transformers saves it; ``bias`` is added to all of
    its logits: the lower, the sparser."""
    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"), do_lower_case=True, model_max_length=32)
    settings = {
        "vocab_size": len(vocabulary),
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "max_position_embeddings": 32,
        # Wider than in real models, so that weights differ from text to text.
        "initializer_range": 0.3,
    }
    torch.manual_seed(seed)
    model = transformers.BertForMaskedLM(transformers.BertConfig(**{**settings, **config}))
    with torch.no_grad():
        model.cls.predictions.bias += bias
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def splade(folder: Path, *, similarity: str = "dot", max_active_dims: int | None = None, **settings: Any) -> Path:
    """A folder with a SPLADE model."""
    transformer = Transformer(str(masked_language_model(folder / "made", **settings)), transformer_task="fill-mask")
    model = SparseEncoder(
        modules=[transformer, SpladePooling("max")], similarity_fn_name=similarity, max_active_dims=max_active_dims
    )
    return _saved(model, folder / "model")


def inference_free(folder: Path, idf: Sequence[float] | None = None, **settings: Any) -> Path:
    """A folder with a model whose queries are their words' weights: ``idf``, one for each of the vocabulary."""
    transformer = Transformer(str(masked_language_model(folder / "made", **settings)), transformer_task="fill-mask")
    size = len(transformer.tokenizer)
    assert size == len(settings.get("vocabulary", VOCABULARY))
    weights = torch.tensor(idf) if idf is not None else 0.5 + torch.arange(size) % 7
    router = Router.for_query_document(
        query_modules=[SparseStaticEmbedding(transformer.tokenizer, weights.float(), frozen=True)],
        document_modules=[transformer, SpladePooling("max", "log1p_relu")],
    )
    return _saved(SparseEncoder(modules=[router], similarity_fn_name="dot"), folder / "model")


def broken(model: Path, term: int) -> Path:
    """The same folder, with weights that give the term number ``term`` NaN in every text."""
    from safetensors.torch import load_file, save_file

    file = next(model.rglob("model.safetensors"))
    weights = load_file(file)
    weights["cls.predictions.bias"][term] = float("nan")
    save_file(weights, file, metadata={"format": "pt"})
    return model


def _saved(model: SparseEncoder, folder: Path) -> Path:
    model.save(str(folder), create_model_card=False)
    assert json.loads((folder / "config_sentence_transformers.json").read_text())
    return folder
