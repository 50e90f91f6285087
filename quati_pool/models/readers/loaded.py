"""A reader's model on its devices, and what identifies its answers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from quati_pool.files.problems import quoted
from quati_pool.models.batches import Halving, spread, token_batches
from quati_pool.models.errors import ModelError
from quati_pool.models.loading import load_errors
from quati_pool.models.location import LocalModel
from quati_pool.models.pair_tokens import Batch
from quati_pool.models.parameters import ModelParameters, batch_tokens_of, devices_of
from quati_pool.models.readers.base import ReaderAnswer, ReaderQuestion, TooLongError

T = TypeVar("T")


@dataclass(frozen=True)
class LoadedModel:
    """A model of transformers on one device or several, and the tokens of a batch."""

    models: Sequence[Any]
    batch_tokens: int

    @property
    def config(self) -> Any:
        """The model's configuration."""
        return self.models[0].config

    def run(self, lengths: Sequence[int], work: Callable[[Any, list[int]], T]) -> Iterator[tuple[list[int], T]]:
        """Calls ``work`` with a model and positions in ``lengths`` (those of the inputs, in tokens), for batches of all
        positions. Yields positions with the result as they become ready."""
        batches = token_batches(np.array(lengths, dtype=np.int64), self.batch_tokens)
        halvings = [Halving(lambda line: None) for _ in self.models]
        yield from spread([batch.tolist() for batch in batches], work, self.models, halvings)


def load(name: str, parameters: ModelParameters, local: LocalModel) -> LoadedModel:
    """The model in a folder, by the name of its class in transformers. Raises ModelError if weights that it uses are
    missing, which transformers would fill at random."""
    import torch
    import transformers

    dtype = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[parameters.compute]
    names = devices_of(parameters)
    with load_errors(parameters.model):
        loaded = getattr(transformers, name).from_pretrained(
            str(local.folder), dtype=dtype, local_files_only=True, trust_remote_code=False
        )
        model = loaded.to(names[0]).eval()
    return LoadedModel(
        [model, *(copy.deepcopy(model).to(name) for name in names[1:])], batch_tokens_of(parameters, names)
    )


def load_tokenizer(parameters: ModelParameters, local: LocalModel) -> Any:
    """The tokenizer in a model's folder; raises ModelError unless it is a fast one."""
    with load_errors(parameters.model):
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(str(local.folder), local_files_only=True, trust_remote_code=False)
    if not tokenizer.is_fast:
        raise ModelError(
            f"model {parameters.model!r} cannot be used: its tokenizer is not a fast one (of the library tokenizers); "
            "name another model"
        )
    return tokenizer


def longest_input(model: Any, tokenizer: Any) -> int | None:
    """The longest input of a model with learned positions, in tokens; None for one with relative positions (T5)."""
    import torch

    limits: list[int] = []
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            # RoBERTa and similar models count positions from after that of the padding token.
            first = 0 if module.padding_idx is None else module.padding_idx + 1
            limits.append(module.num_embeddings - first)
    positions = getattr(model.config, "max_position_embeddings", None)
    if not limits and isinstance(positions, int) and positions > 0:
        limits.append(positions)
    if not limits:
        return None
    return min(*limits, int(min(tokenizer.model_max_length, 10**6)))


def max_tokens(card_tokens: int | None, longest: int | None, parameters: ModelParameters, default: int = 512) -> int:
    """The longest input in tokens: that of the card or, without one, the ``longest`` that the model takes, or the
    ``default`` for a model without a limit. Raises ModelError for a card with more than the model takes."""
    if card_tokens is None:
        return default if longest is None else longest
    if longest is not None and card_tokens > longest:
        raise ModelError(
            f"the card of model {parameters.model!r} says inputs of {card_tokens:,} tokens, and the model takes "
            f"{longest:,}; train it again with --max-tokens {longest}"
        )
    return card_tokens


def encoded(
    questions: Sequence[ReaderQuestion], encode: Callable[[ReaderQuestion], T]
) -> tuple[dict[int, T], dict[int, ReaderAnswer]]:
    """The questions' inputs by position, and the answers to those that ``encode`` finds too long (TooLongError)."""
    inputs: dict[int, T] = {}
    unread: dict[int, ReaderAnswer] = {}
    for place, question in enumerate(questions):
        try:
            inputs[place] = encode(question)
        except TooLongError as error:
            unread[place] = ReaderAnswer(unread=str(error))
    return inputs, unread


def arguments_of(batch: Batch, tokenizer: Any, device: Any = None) -> dict[str, Any]:
    """A batch as a model's arguments, on a device (the CPU by default), with token types where its tokenizer has
    any."""
    import torch

    arguments = {"input_ids": batch.ids, "attention_mask": batch.mask}
    if "token_type_ids" in tokenizer.model_input_names:
        arguments["token_type_ids"] = batch.types
    return {name: torch.from_numpy(array).to(device) for name, array in arguments.items()}


def require_finite(scores: npt.ArrayLike, parameters: ModelParameters, question: str) -> None:
    """Raises ModelError if a score is no number."""
    if not np.isfinite(scores).all():
        raise ModelError(
            f"model {parameters.model!r} gives no number for {quoted(question)}; its weights are damaged, or it needs "
            "fp32"
        )
