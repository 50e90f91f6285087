"""T5 with random weights, small enough to be made in a test."""

from __future__ import annotations

import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers

WORDS = ("▁true", "▁false", "▁yes", "▁no", "▁sim", "▁não", "▁Query:", "▁Document:", "▁Relevant:", "▁the", "▁harbour")


def t5(folder: Path, words: Sequence[str] = WORDS, *, seed: int = 0, multilingual: bool = False, **config: Any) -> Path:
    """A folder with a T5 (or mT5), whose vocabulary holds ``words``, letters and ten sentinels."""
    tokenizer = t5_tokenizer(words)
    settings = {
        "vocab_size": len(tokenizer),
        "d_model": 32,
        "d_kv": 16,
        "d_ff": 64,
        "num_layers": 2,
        "num_heads": 2,
        "decoder_start_token_id": 0,
    }
    torch.manual_seed(seed)
    name = "MT5" if multilingual else "T5"
    made = getattr(transformers, f"{name}Config")(**{**settings, **config})
    getattr(transformers, f"{name}ForConditionalGeneration")(made).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def t5_tokenizer(words: Sequence[str] = WORDS) -> Any:
    """As in real checkpoints, special tokens are pieces of the vocabulary too."""
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0), *((word, -3.0) for word in words)]
    pieces += [(character, -8.0) for character in string.ascii_letters + string.digits + string.punctuation + "ãçéó"]
    pieces += [(f"<extra_id_{number}>", 0.0) for number in reversed(range(10))]
    return transformers.T5Tokenizer(vocab=pieces, extra_ids=10)
