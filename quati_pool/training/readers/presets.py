"""The papers' settings by kind of reader and task, as far as papers and released code give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from quati_pool.models.readers.extractive import ANSWER_TOKENS as MARKED_TOKENS
from quati_pool.models.readers.extractive import MAX_TOKENS as MARKED_INPUT
from quati_pool.models.readers.generative import ANSWER_TOKENS as WRITTEN_TOKENS
from quati_pool.training.fit import FitSettings


@dataclass(frozen=True)
class Preset:
    """``fit``: how it is trained. ``max_tokens``: the longest input; ``answer_tokens``: the longest answer, None where
    a reader gives none in words."""

    fit: FitSettings
    max_tokens: int
    answer_tokens: int | None


# Pirá 2.0 (arXiv 2309.10945): 40 epochs, learning rate 2e-5, accumulated batches, early stopping on the held-out loss;
# its notebooks: 32 questions a step, 512 tokens, and 1,536 for passages. Ours: linear decay, how long to wait for a
# lower loss, and answers of 128 tokens, as in its code for UnifiedQA (the notebooks say 16, and many are longer).
_WORDS = FitSettings(epochs=40, batch_size=8, accumulate=4, learning_rate=2e-5, warmup=0.0, patience=3)
# Its code for UnifiedQA: 40 epochs, learning rate 2e-5, batches of 16 (4 for large models), 512 and 128 tokens.
_OPTIONS = FitSettings(epochs=40, batch_size=16, learning_rate=2e-5, warmup=0.0, patience=3)
# Ours, after common practice with SQuAD: Pirá 2.0 did not train its extractive readers on Pirá.
_MARKING = FitSettings(epochs=3, batch_size=16, learning_rate=3e-5, warmup=0.1, patience=2)
# Its code for answer triggering: 8 epochs, learning rate 2e-5, batches of 16 (8 for large models), 512 tokens. That the
# epoch with the lowest held-out loss is kept is ours.
_TRIGGERING = FitSettings(epochs=8, batch_size=16, learning_rate=2e-5, warmup=0.0, patience=None)
# RoMQA's configuration (arXiv 2210.14353): learning rate 1e-6, one question with 30 of its candidates a step, 256
# tokens. Ours: up to 10 epochs, and early stopping on the held-out loss (theirs: a million steps, on F1).
_DECIDING = FitSettings(epochs=10, batch_size=1, learning_rate=1e-6, warmup=0.0, patience=2)

PRESETS: Mapping[tuple[str, str], Preset] = {
    ("generative", "cgqa"): Preset(_WORDS, 512, WRITTEN_TOKENS),
    ("generative", "mrc"): Preset(_WORDS, 512, WRITTEN_TOKENS),
    ("generative", "oqa"): Preset(_WORDS, 1536, WRITTEN_TOKENS),
    ("generative", "mcqa"): Preset(_OPTIONS, 512, WRITTEN_TOKENS),
    ("extractive", "mrc"): Preset(_MARKING, MARKED_INPUT, MARKED_TOKENS),
    ("extractive", "oqa"): Preset(_MARKING, MARKED_INPUT, MARKED_TOKENS),
    ("classifier", "at"): Preset(_TRIGGERING, 512, None),
    ("candidates", "closed"): Preset(_DECIDING, 256, None),
    ("candidates", "gold"): Preset(_DECIDING, 256, None),
}
"""By kind of reader and task."""
