"""Trains models of transformers that compute their own loss from labels: those that write, mark or classify."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from quati_pool.models.errors import ModelError
from quati_pool.models.loading import load_errors
from quati_pool.training.fit import ExampleStream, FitSettings, Fitted, Progress, fit, training_arguments

E = TypeVar("E")

HEADS = ("classifier", "classification_head", "qa_outputs", "pooler", "pre_classifier", "score.weight")
"""Parts of the names of the weights that a model gets for a task, which its base may lack."""


@dataclass(frozen=True, eq=False)
class Examples(Generic[E]):
    """Training or held-out examples: ``ids`` identify them, and ``encoded`` gives the one at a position as it is in an
    epoch, counted from 0. Examples are encoded when they are needed, so that data of any size fit."""

    ids: Sequence[str]
    encoded: Callable[[int, int], E]

    def __len__(self) -> int:
        return len(self.ids)


def load_for_training(name: str, folder: Path, model: str, seed: int, **settings: Any) -> Any:
    """The model in a folder, by the name of its class in transformers; the layers of a task that the base lacks, or has
    for another number of classes, are drawn by ``seed``. ``settings`` are put into the model's configuration.

    ``model`` is its name in messages. Raises ModelError if it cannot be loaded, or lacks other weights.
    """
    import torch
    import transformers

    torch.manual_seed(seed)
    with load_errors(model, unused=HEADS):
        loaded, report = getattr(transformers, name).from_pretrained(
            str(folder),
            dtype=torch.float32,
            local_files_only=True,
            trust_remote_code=False,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
            **settings,
        )
    other = [key for key, *_ in report["mismatched_keys"] if not any(part in key for part in HEADS)]
    if other:
        raise ModelError(
            f"model {model!r} has {other[0]} of another size than its config.json says; name another model"
        )
    return loaded


def train(
    model: Any,
    examples: Examples[E],
    held_out: Examples[E],
    collate: Callable[[Sequence[E]], Mapping[str, Any]],
    settings: FitSettings,
    checkpoints: Path,
    progress: Progress,
) -> Fitted:
    """Trains ``model`` in place with the loss that it computes from the ``labels``, or the positions, in what
    ``collate`` returns, going on from the folder ``checkpoints`` where a training was broken off.

    The loss of a step is the mean over its batches. Held-out examples are those of epoch 0.
    """
    import transformers

    stream = ExampleStream(examples.ids, settings.epochs, settings.seed)
    arguments = training_arguments(
        transformers.TrainingArguments, checkpoints, settings, len(examples), held_out=bool(len(held_out))
    )
    arguments.prediction_loss_only = True
    kind: Any = transformers.Trainer
    trainer = kind(
        model=model,
        args=arguments,
        train_dataset=_Streamed(examples, stream),
        eval_dataset=_HeldOut(held_out) if len(held_out) else None,
        data_collator=collate,
    )
    # The trainer would otherwise divide no loss by the number of accumulated batches.
    trainer.model_accepts_loss_kwargs = False
    return fit(trainer, settings, progress)


class _Streamed:
    """The examples of all epochs in the order of training, as a data set of torch."""

    def __init__(self, examples: Examples[Any], stream: ExampleStream) -> None:
        self._examples = examples
        self._stream = stream

    def __len__(self) -> int:
        return len(self._stream)

    def __getitem__(self, row: int) -> Any:
        return self._examples.encoded(*self._stream[row])


class _HeldOut:
    def __init__(self, examples: Examples[Any]) -> None:
        self._examples = examples

    def __len__(self) -> int:
        return len(self._examples)

    def __getitem__(self, position: int) -> Any:
        return self._examples.encoded(0, position)
