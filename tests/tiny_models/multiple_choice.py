"""Multiple-choice models with random weights, small enough to be made in a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers

from tests.tiny_models.cross_encoder import Family, cross_encoder


def multiple_choice(
    folder: Path, family: Family = "bert", *, positions: int = 64, seed: int = 0, **config: Any
) -> Path:
    """A folder with a model of ``family`` …ForMultipleChoice and its tokenizer, which knows letters, few words."""
    cross_encoder(folder, family, positions=positions, seed=seed, **config)
    settings = transformers.AutoConfig.from_pretrained(folder)
    torch.manual_seed(seed)
    transformers.AutoModelForMultipleChoice.from_config(settings).save_pretrained(folder)
    return folder
