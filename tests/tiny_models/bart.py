"""BART with random weights, small enough to be made in a test."""

from __future__ import annotations

from pathlib import Path

import torch
import transformers

from tests.tiny_models.cross_encoder import cross_encoder


def bart(folder: Path, *, positions: int = 256, seed: int = 0) -> Path:
    """A folder with a BART that begins every answer with <s>, as released ones do, and RoBERTa's tokenizer."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(cross_encoder(folder, "roberta", positions=positions))
    config = transformers.BartConfig(
        vocab_size=len(tokenizer),
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=positions,
        # Wider than in real models, so that answers differ from text to text.
        init_std=0.4,
    )
    torch.manual_seed(seed)
    model = transformers.BartForConditionalGeneration(config)
    model.generation_config.forced_bos_token_id = tokenizer.bos_token_id
    model.save_pretrained(folder)
    return folder
