"""Cross-encoders with random weights, small enough to be made in a test."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any, Literal

import torch
import transformers

Family = Literal["bert", "roberta", "xlm-roberta"]
SPECIAL = {
    "bert": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
    "roberta": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
    "xlm-roberta": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
}
"""As each family writes them; the first five ids, but for <mask>, which is the last."""
_CHARACTERS = string.ascii_letters + string.digits + string.punctuation + "ãçéíóú"


def cross_encoder(
    folder: Path,
    family: Family = "bert",
    *,
    labels: int = 1,
    positions: int = 64,
    seed: int = 0,
    head: str = "ForSequenceClassification",
    **config: Any,
) -> Path:
    """A folder with a sequence classifier of ``family``, or a model with another ``head``, and its tokenizer, which
    knows letters, few words."""
    tokenizer = _tokenizer(family, positions)
    # RoBERTa counts positions from after the padding's, which is 1.
    more = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2} if family != "bert" else {}
    name = {"bert": "Bert", "roberta": "Roberta", "xlm-roberta": "XLMRoberta"}[family]
    settings = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "max_position_embeddings": positions if family == "bert" else positions + 2,
        "type_vocab_size": 2 if family == "bert" else 1,
        # Much wider than in real models, so that scores differ from passage to passage.
        "initializer_range": 0.4,
        "num_labels": labels,
    }
    torch.manual_seed(seed)
    made = getattr(transformers, f"{name}Config")(**{**settings, **more, **config})
    model = getattr(transformers, f"{name}{head}")(made)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _tokenizer(family: Family, positions: int) -> Any:
    special = SPECIAL[family]
    if family == "bert":
        words = [*special, *_CHARACTERS, *(f"##{character}" for character in _CHARACTERS), "the", "harbour"]
        return transformers.BertTokenizer(
            vocab={word: row for row, word in enumerate(words)}, do_lower_case=True, model_max_length=positions
        )
    if family == "roberta":
        alphabet = sorted(tokenizers_alphabet())
        pieces = [*special[:4], *alphabet, "th", "the", special[4]]
        return transformers.RobertaTokenizer(
            vocab={piece: row for row, piece in enumerate(pieces)},
            merges=[("t", "h"), ("th", "e")],
            model_max_length=positions,
        )
    pieces = [(piece, 0.0) for piece in special[:4]] + [("▁", -3.0), ("▁the", -4.0), ("▁harbour", -5.0)]
    pieces += [(character, -8.0) for character in _CHARACTERS] + [(special[4], 0.0)]
    return transformers.XLMRobertaTokenizer(vocab=pieces, model_max_length=positions)


def tokenizers_alphabet() -> list[str]:
    """The 256 characters by which byte-level BPE writes bytes."""
    from tokenizers import pre_tokenizers

    return list(pre_tokenizers.ByteLevel.alphabet())
