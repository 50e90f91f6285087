"""Late-interaction models with random weights, small enough to be made in a test."""

from __future__ import annotations

import json
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]", "[unused1]", "[Q]", "[D]"]
WORDS = ("the", "harbour", "ferry", "bridge", "cat", "dog", "rain", "river", "old", "new", "é", "ção")


def plain(folder: Path, *, dimension: int = 16, seed: int = 0, normalize: bool = True, **transformer: Any) -> Path:
    """Transformer, projection, mask, normalisation: no prompts, no query expansion, nothing left out."""
    return _saved(folder, dimension, seed, [], normalize, transformer)


def expanding(
    folder: Path,
    *,
    dimension: int = 16,
    seed: int = 0,
    skiplist: Sequence[str] = tuple(string.punctuation),
    similarity: str = "maxsim",
) -> Path:
    """As the first ColBERT: queries filled with [MASK] up to 12 tokens, prompts [Q] and [D], punctuation of
    passages left out."""
    more = {"query_expansion": {"strategy": "fixed", "attend": False, "length": 12}, "document_length": 24}
    prompts = {"query": "[Q] ", "document": "[D] "}
    return _saved(folder, dimension, seed, list(skiplist), True, more, prompts, similarity)


def stanford(folder: Path, *, dimension: int = 16, seed: int = 0) -> Path:
    """A folder as Stanford's ColBERT saves it: BERT and ``linear.weight`` in one file, and artifact.metadata."""
    from safetensors.torch import save_file

    _transformer_files(folder, seed)
    bert = transformers.AutoModel.from_pretrained(folder)
    torch.manual_seed(seed + 1)
    weights = {f"bert.{name}": weight.contiguous() for name, weight in bert.state_dict().items()}
    save_file({**weights, "linear.weight": torch.randn(dimension, 32)}, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["HF_ColBERT"]}), encoding="utf-8")
    metadata = {
        "query_token_id": "[unused0]", "doc_token_id": "[unused1]", "query_maxlen": 12, "doc_maxlen": 24,
        "dim": dimension, "mask_punctuation": True, "attend_to_mask_tokens": False,
    }  # fmt: skip
    (folder / "artifact.metadata").write_text(json.dumps(metadata), encoding="utf-8")
    return folder


def _saved(
    folder: Path,
    dimension: int,
    seed: int,
    skiplist: list[str],
    normalize: bool,
    transformer: dict[str, Any],
    prompts: dict[str, str] | None = None,
    similarity: str = "maxsim",
) -> Path:
    backbone = folder.with_name(folder.name + "-backbone")
    _transformer_files(backbone, seed)
    torch.manual_seed(seed + 1)
    identity = torch.nn.Identity()
    modules = [
        Transformer(str(backbone), **transformer),
        Dense(32, dimension, bias=False, activation_function=identity, module_input_name="token_embeddings"),
        MultiVectorMask(skiplist_words=skiplist),
        *([Normalize(module_input_name="token_embeddings")] if normalize else []),
    ]
    model = MultiVectorEncoder(modules=modules, prompts=prompts, similarity_fn_name=similarity, device="cpu")
    model.save(str(folder))
    return folder


def _transformer_files(folder: Path, seed: int) -> None:
    letters = string.ascii_lowercase + string.digits + string.punctuation
    words = [*SPECIAL, *letters, *(f"##{letter}" for letter in letters), *WORDS]
    tokenizer = transformers.BertTokenizer(
        vocab={word: row for row, word in enumerate(words)}, do_lower_case=True, model_max_length=64
    )
    tokenizer.add_special_tokens({"additional_special_tokens": ["[Q]", "[D]"]})
    torch.manual_seed(seed)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        # Much wider than in real models, so that scores differ from passage to passage.
        initializer_range=0.4,
    )
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
