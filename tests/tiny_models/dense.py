"""Dense models with random weights, small enough to be made in a test."""

from __future__ import annotations

import json
import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, StaticEmbedding, Transformer
from tokenizers import Tokenizer, models, pre_tokenizers

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = (
    "the", "of", "a", "court", "judge", "appeal", "witness", "tide", "boats", "harbour", "lighthouse", "keeper",
    "baker", "kneads", "dough", "oven", "rises", "query", "passage", "agua", "rio", "floresta", "nao", "fox", "dog",
)  # fmt: skip
VOCABULARY = (
    *SPECIAL, *WORDS, ":", ".", ",", "##s", "##ing",
    *string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase), *string.digits,
)  # fmt: skip
WIDTH = 32
_SIZES = (
    "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
    "max_position_embeddings", "initializer_range",
)  # fmt: skip


def bert_folder(folder: Path, seed: int = 0, positions: int = 64, **config: Any) -> Path:
    """A folder with a plain BERT encoder, as transformers saves it."""
    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"), do_lower_case=True, model_max_length=positions)
    settings = {
        "vocab_size": len(VOCABULARY),
        "hidden_size": WIDTH,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 48,
        "max_position_embeddings": positions,
        # Wider than in real models, so that vectors differ from text to text.
        "initializer_range": 0.3,
    }
    torch.manual_seed(seed)
    transformers.BertModel(transformers.BertConfig(**{**settings, **config})).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def dpr(folder: Path, role: str, seed: int = 0, **config: Any) -> Path:
    """A DPR encoder as transformers saves it; ``role`` is Question or Context."""
    bert_folder(folder, seed)
    (folder / "model.safetensors").unlink()
    settings = json.loads((folder / "config.json").read_text())
    kept = {name: settings[name] for name in _SIZES}
    torch.manual_seed(seed)
    model = getattr(transformers, f"DPR{role}Encoder")(transformers.DPRConfig(**{**kept, **config}))
    model.save_pretrained(folder)
    tokenizer = getattr(transformers, f"DPR{role}EncoderTokenizer").from_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def sentence_transformer(
    folder: Path,
    *,
    normalize: bool = True,
    similarity: str | None = "cosine",
    prompts: Mapping[str, str] | None = None,
    default_prompt: str | None = None,
    include_prompt: bool = True,
    truncate_dim: int | None = None,
    **settings: Any,
) -> Path:
    """A BERT with mean pooling, and vectors of length 1 unless ``normalize`` is off."""
    transformer = Transformer(str(bert_folder(folder.with_name(folder.name + "-bert"), **settings)))
    modules = [transformer, Pooling(WIDTH, pooling_mode="mean", include_prompt=include_prompt)]
    if normalize:
        modules.append(Normalize())
    model = SentenceTransformer(
        modules=modules,
        similarity_fn_name=similarity,
        prompts=dict(prompts or {}),
        default_prompt_name=default_prompt,
        truncate_dim=truncate_dim,
    )
    return _saved(model, folder)


def dot_model(folder: Path, **settings: Any) -> Path:
    """Vectors of any length, compared by inner product."""
    return sentence_transformer(folder, normalize=False, similarity="dot", **settings)


def e5_like(folder: Path, name: str = "multilingual-e5-base") -> Path:
    """A folder named as one of E5's models, whose files name no prompts; a plain mean and length 1."""
    return sentence_transformer(folder / name, similarity=None)


def with_prompts(folder: Path, **prompts: str) -> Path:
    """A model whose files name prompts, left out of the mean."""
    return sentence_transformer(folder, prompts=prompts or {"query": "query: ", "passage": "passage: "})


def static(folder: Path, dimension: int = 24, seed: int = 0) -> Path:
    """Static embeddings: the mean of a table's rows, one a token."""
    tokenizer = Tokenizer(models.WordPiece({word: place for place, word in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    torch.manual_seed(seed)
    module = StaticEmbedding(tokenizer, embedding_weights=torch.randn(len(VOCABULARY), dimension))
    return _saved(SentenceTransformer(modules=[module], similarity_fn_name="cosine"), folder)


def poisoned(folder: Path, word: str) -> Path:
    """The same folder, with NaN in the embedding of a word: texts that hold it get NaN vectors."""
    from safetensors.torch import load_file, save_file

    file = next(folder.rglob("model.safetensors"))
    weights = load_file(file)
    table = next(name for name in weights if name.endswith("word_embeddings.weight"))
    weights[table][VOCABULARY.index(word)] = float("nan")
    save_file(weights, file, metadata={"format": "pt"})
    return folder


def _saved(model: SentenceTransformer, folder: Path) -> Path:
    model.save(str(folder), create_model_card=False)
    assert json.loads((folder / "modules.json").read_text())
    return folder
