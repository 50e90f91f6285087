"""Runs a trainer of transformers so that a killed training, started again, ends with the weights of an unbroken one.

Examples are streamed: epoch after epoch, each in an order that is a hash of seed, epoch and example. What changes from
epoch to epoch is computed from the epoch in the same way, so the only random state is that of dropout, which every
checkpoint holds with optimizer, learning rate and held-out losses. Checkpoints count once they are complete.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.files.artifacts import sync
from quati_pool.models.loading import quiet, require_packages
from quati_pool.stats.hashing import hashes, places

Precision = Literal["fp32", "bf16", "fp16"]
Progress = Callable[[int, int, str], None]
"""Called after every step with the steps done, those of the whole training, and a few words on the held-out loss."""

_COMPLETE = "complete.json"
_CHECKPOINT_FILES = ("trainer_state.json", "optimizer.pt", "scheduler.pt", "rng_state.pth")


@dataclass(frozen=True)
class FitSettings:
    """How a model is trained. ``warmup`` is the share of the steps in which the learning rate rises linearly to its
    highest, from which it falls linearly to 0. ``patience``: the number of checks of the held-out loss, ``checks`` per
    epoch, without improvement after which training stops; None trains all epochs."""

    epochs: int = 3
    batch_size: int = 16
    accumulate: int = 1
    learning_rate: float = 2e-5
    warmup: float = 0.1
    weight_decay: float = 0.01
    patience: int | None = 2
    checks: int = 1
    seed: int = 0
    device: str | None = None
    precision: Precision = "fp32"
    checkpoint_steps: int = 200

    @property
    def identity(self) -> dict[str, Any]:
        """What changes the weights, beyond the last digits; not the device and how often the state is saved."""
        return {
            name: value for name, value in vars(self).items() if name not in ("device", "checkpoint_steps")
        }  # fmt: skip


class Fitted(NamedTuple):
    """A training that is over: steps done of those planned, the held-out loss by step, and the step whose weights the
    model has: that of the lowest loss, or the last where nothing was held out."""

    steps: int
    planned: int
    losses: list[tuple[int, float]]
    step: int

    @property
    def stopped_early(self) -> bool:
        return self.steps < self.planned


class ExampleStream:
    """The examples of all epochs in the order of training. Row ``r`` of the stream is example ``positions[r % n]`` of
    epoch ``r // n``; each example occurs once per epoch."""

    def __init__(self, ids: Sequence[str], epochs: int, seed: int) -> None:
        """``ids`` identify the examples, shape (n,): the order follows them, not the order in which they come."""
        self._ids = ids
        self._seed = seed
        self.epochs = epochs
        self._orders: dict[int, npt.NDArray[np.int64]] = {}

    def __len__(self) -> int:
        return self.epochs * len(self._ids)

    def __getitem__(self, row: int) -> tuple[int, int]:
        """The epoch, from 0, and the example's position of a row."""
        epoch, place = divmod(row, len(self._ids))
        return epoch, int(self._order(epoch)[place])

    def _order(self, epoch: int) -> npt.NDArray[np.int64]:
        if epoch not in self._orders:
            drawn = hashes(f"training order of epoch {epoch}", self._seed, self._ids)
            self._orders[epoch] = places(drawn, self._ids)
        return self._orders[epoch]


def require_training(component: str) -> None:
    """Raises MissingExtraError if a library that training needs is not installed."""
    require_packages(component, "sentence_transformers", "accelerate", "datasets")


def training_arguments(kind: Any, checkpoints: Path, settings: FitSettings, examples: int, *, held_out: bool) -> Any:
    """The arguments of a trainer, of class ``kind`` (``transformers.TrainingArguments`` or one derived from it).

    ``examples`` is the number per epoch; the trainer's training data are an ``ExampleStream``, all epochs in one.
    ``held_out``: whether it has held-out data. Raises ConfigError for a device or precision that this machine lacks.
    """
    device = _device(settings)
    per_step = settings.batch_size * settings.accumulate
    every = max(math.ceil(examples / per_step / settings.checks), 1)
    more: dict[str, Any] = {"train_sampling_strategy": "sequential"}
    if "batch_sampler" in getattr(kind, "__dataclass_fields__", {}):  # of sentence-transformers, which reads that
        more["batch_sampler"] = batches_in_order
    if held_out:
        more |= {"eval_strategy": "steps", "eval_steps": every, "metric_for_best_model": "eval_loss"}
        more |= {"greater_is_better": False}
    arguments = kind(
        output_dir=str(checkpoints),
        num_train_epochs=1,
        per_device_train_batch_size=settings.batch_size,
        per_device_eval_batch_size=settings.batch_size,
        gradient_accumulation_steps=settings.accumulate,
        learning_rate=settings.learning_rate,
        warmup_steps=settings.warmup,
        weight_decay=settings.weight_decay,
        lr_scheduler_type="linear",
        seed=settings.seed,
        bf16=settings.precision == "bf16",
        fp16=settings.precision == "fp16",
        use_cpu=device == "cpu",
        save_strategy="steps",
        save_steps=settings.checkpoint_steps,
        save_total_limit=2,
        logging_strategy="no",
        disable_tqdm=True,
        report_to="none",
        push_to_hub=False,
        remove_unused_columns=False,
        dataloader_num_workers=0,
        dataloader_pin_memory=device == "cuda",
        **more,
    )
    _ = arguments.device  # sets the number of GPUs, which is to be one: several would train in parallel
    arguments._n_gpu = min(arguments.n_gpu, 1)
    return arguments


def batches_in_order(dataset: Any, batch_size: int, drop_last: bool, **_: Any) -> Any:
    """A sampler of batches in the order of the data, in the form that sentence-transformers asks for."""
    from torch.utils.data import BatchSampler, SequentialSampler

    return BatchSampler(SequentialSampler(dataset), batch_size, drop_last)


def fit(trainer: Any, settings: FitSettings, progress: Progress = lambda done, total, words: None) -> Fitted:
    """Trains to the end, going on from the last complete checkpoint in the trainer's ``output_dir`` if there is one;
    the trainer's model then has the weights of the step with the lowest held-out loss.

    The trainer is one of transformers or sentence-transformers with ``training_arguments``, its weights as before any
    training. Raises QuatiPoolError if the loss is no number, or a batch does not fit into the device's memory.
    """
    import transformers

    checkpoints = Path(trainer.args.output_dir)
    for callback in (transformers.PrinterCallback, transformers.trainer_callback.ProgressCallback):
        trainer.remove_callback(callback)
    watch = _watch(settings, progress)
    trainer.add_callback(watch)
    last = _last_checkpoint(checkpoints)
    state = None if last is None else _state(last)
    with quiet():
        if state is None or not _is_over(state, settings.patience):
            try:
                trainer.train(resume_from_checkpoint=None if last is None else str(last))
            except RuntimeError as error:
                if "out of memory" not in str(error).lower():
                    raise
                raise QuatiPoolError(
                    "the device has not enough memory for a batch; lower --batch-size and raise --accumulate by the "
                    "same factor, or lower --max-tokens"
                ) from error
            last = _last_checkpoint(checkpoints)
            assert last is not None
            state = _state(last)
        losses = _losses(state)
        step = min(losses, key=lambda each: each[1])[0] if losses else int(state["global_step"])
        # The trainer's own way to the best weights reports a failure to the log alone, and keeps the last ones.
        trainer._load_from_checkpoint(str(checkpoints / f"checkpoint-{step}"))
    return Fitted(int(state["global_step"]), int(state["max_steps"]), losses, step)


def _watch(settings: FitSettings, progress: Progress) -> Any:
    """A callback that reports progress, saves the state with every check of the loss, and stops where training no
    longer helps."""
    import transformers

    class Watch(transformers.TrainerCallback):  # type: ignore[misc, unused-ignore]
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            control.should_save |= control.should_evaluate
            losses = _losses({"log_history": state.log_history})
            progress(state.global_step, state.max_steps, f"held-out loss {losses[-1][1]:.4f}" if losses else "")

        def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            losses = [loss for _, loss in _losses({"log_history": state.log_history})]
            if not math.isfinite(losses[-1]):
                raise QuatiPoolError(
                    f"the held-out loss is {losses[-1]} after step {state.global_step:,}, which is not a number; lower "
                    f"--learning-rate, or use --precision fp32"
                )
            control.should_training_stop |= _is_past(losses, settings.patience)

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            _complete(Path(args.output_dir) / f"checkpoint-{state.global_step}")

    return Watch()


def _is_past(losses: Sequence[float], patience: int | None) -> bool:
    """Whether the last ``patience`` losses are no lower than the lowest before them."""
    return patience is not None and bool(losses) and len(losses) - 1 - int(np.argmin(losses)) >= patience


def _is_over(state: dict[str, Any], patience: int | None) -> bool:
    losses = [loss for _, loss in _losses(state)]
    return int(state["global_step"]) >= int(state["max_steps"]) or _is_past(losses, patience)


def _losses(state: dict[str, Any]) -> list[tuple[int, float]]:
    """The held-out loss by step."""
    return [(int(each["step"]), float(each["eval_loss"])) for each in state["log_history"] if "eval_loss" in each]


def _state(checkpoint: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
    return found


def _last_checkpoint(folder: Path) -> Path | None:
    """The checkpoint with the most steps; those that a killed process left incomplete are removed."""
    complete: dict[int, Path] = {}
    for checkpoint in folder.glob("checkpoint-*"):
        if _is_complete(checkpoint):
            complete[int(checkpoint.name.rpartition("-")[2])] = checkpoint
        else:
            shutil.rmtree(checkpoint, ignore_errors=True)
    return complete[max(complete)] if complete else None


def _complete(checkpoint: Path) -> None:
    """Marks a checkpoint as complete, once all of it is on disk."""
    sizes = _sizes(checkpoint)
    for name in sizes:
        sync(checkpoint / name)
    marker = checkpoint / _COMPLETE
    marker.write_text(json.dumps(sizes), encoding="utf-8")
    sync(marker)
    sync(checkpoint)


def _is_complete(checkpoint: Path) -> bool:
    try:
        marked = json.loads((checkpoint / _COMPLETE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(marked == _sizes(checkpoint) and set(_CHECKPOINT_FILES) <= marked.keys())


def _sizes(checkpoint: Path) -> dict[str, int]:
    """The size of each file in a checkpoint, in bytes, by its path there."""
    files = (file for file in sorted(checkpoint.rglob("*")) if file.is_file() and file.name != _COMPLETE)
    return {file.relative_to(checkpoint).as_posix(): file.stat().st_size for file in files}


def _device(settings: FitSettings) -> str:
    """The kind of device to train on."""
    import torch

    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    device = settings.device or next(name for name, found in there.items() if found)
    if device not in there:
        raise ConfigError(f"there is no device {device!r}; use cpu, cuda or mps (CUDA_VISIBLE_DEVICES picks the GPU)")
    if not there[device]:
        raise ConfigError(f"this machine has no device {device!r}; drop --device, or use cpu")
    if device != "cuda" and settings.precision != "fp32":
        raise ConfigError(f"{settings.precision} needs a GPU with CUDA; use --precision fp32 on {device}")
    if settings.precision == "bf16" and not torch.cuda.is_bf16_supported():
        raise ConfigError("this GPU does not compute in bf16; use --precision fp16 or fp32")
    return device
