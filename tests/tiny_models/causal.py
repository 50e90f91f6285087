"""Causal language models with random weights, a tokenizer and a chat template, small enough to be made in a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

TURN, END, PAD = "<|im_start|>", "<|im_end|>", "<pad>"
ODD = "~~turn~~"
"""A special token that looks like no other model's."""
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_TEXTS = (
    "You grade passages. The passage answers the question, or it does not. Which river crosses the city?",
    'Answer with a JSON object such as {"Score": 2}. A grade from 0 to 3, and nothing else, please.',
    "The tide rises at the harbour, and the keeper of the lighthouse sees the boats of the court and the baker.",
    "0 1 2 3 4 5 6 7 8 9 10 11 12 ç ã é ó água não Pontuação",
)
_KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama", {"num_key_value_heads": 1}),
    "mistral": ("Mistral", {"num_key_value_heads": 1, "sliding_window": 24}),
    "gemma2": ("Gemma2", {"num_key_value_heads": 1, "head_dim": 16, "sliding_window": 24, "query_pre_attn_scalar": 16}),
    "gpt2": ("GPT2", {}),
}


def tokenizer(template: str | None = TEMPLATE, most: int = 4096) -> Any:
    """A byte-level tokenizer that writes each digit by itself."""
    backend = Tokenizer(models.BPE())
    digits = pre_tokenizers.Split(Regex(r"\d"), "isolated")
    backend.pre_tokenizer = pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[PAD, TURN, END, ODD],
    )
    backend.train_from_iterator(_TEXTS, trainer)
    backend.add_tokens([AddedToken("[[tool]]", normalized=False), AddedToken("\n\n", normalized=False)])
    made: Any = transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token=END, pad_token=PAD, model_max_length=most
    )
    made.chat_template = template
    return made


def causal(folder: Path, kind: str = "llama", *, seed: int = 0, template: str | None = TEMPLATE, **config: Any) -> Path:
    """A folder with a model of ``kind`` as transformers saves it."""
    made = tokenizer(template)
    name, own = _KINDS[kind]
    settings = {
        "vocab_size": len(made),
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "max_position_embeddings": 4096,
        # Wider than in real models, so that answers differ from prompt to prompt.
        "initializer_range": 0.3,
        "bos_token_id": None,
        "eos_token_id": made.eos_token_id,
        "pad_token_id": made.pad_token_id,
    }
    torch.manual_seed(seed)
    model = getattr(transformers, f"{name}ForCausalLM" if name != "GPT2" else "GPT2LMHeadModel")
    model(getattr(transformers, f"{name}Config")(**{**settings, **own, **config})).save_pretrained(folder)
    made.save_pretrained(folder)
    return folder
