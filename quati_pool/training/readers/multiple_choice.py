"""Trains readers of multiple choice (Shah, Gupta and Roth 2020, arXiv 2011.10647).

``baseline``: a softmax over a question's options, and cross-entropy. ``binary``: each option is right or wrong by
itself, and binary cross-entropy. ``binary+augmentation``: that, on examples of which a share is changed in every epoch
(``Augmentation``). The loss is a mean over questions, whatever the number of their options and of batches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from quati_pool.models.loading import load_errors
from quati_pool.models.readers.base import TooLongError
from quati_pool.models.readers.multiple_choice import MODEL, OptionEncoder, OptionInput
from quati_pool.training.fit import ExampleStream, FitSettings, Fitted, Progress, fit, training_arguments
from quati_pool.training.readers.augmentation import Augmentation, ChoiceExample, OptionExample, Part, as_released

ADAM_BETA2 = 0.98
"""The decay of AdamW's second moment, as in the paper's code."""


class Method(StrEnum):
    """How options are learned."""

    baseline = "baseline"
    binary = "binary"
    augmented = "binary+augmentation"

    @property
    def epochs(self) -> int:
        """The paper's number of epochs: 4, and one more for binary decisions."""
        return 4 if self is Method.baseline else 5


@dataclass(frozen=True)
class Stage:
    """One stage of training: questions, a method, and settings. ``augment_from`` is the first epoch, counted from 0,
    whose examples are changed."""

    examples: Sequence[ChoiceExample]
    held_out: Sequence[ChoiceExample]
    method: Method
    settings: FitSettings
    augment_from: int = 0


def load_encoder(folder: Path, model: str, seed: int) -> Any:
    """A model that scores options, from that of any encoder: layers over [CLS] that it lacks are drawn by ``seed``.

    ``model`` is its name in messages. Raises ModelError if it cannot be loaded, or lacks weights of the encoder.
    """
    import torch
    import transformers

    torch.manual_seed(seed)
    with load_errors(model, unused=("classifier", "pooler", "sequence_summary", "logits_proj")):
        return getattr(transformers, MODEL).from_pretrained(
            str(folder), dtype=torch.float32, local_files_only=True, trust_remote_code=False
        )


def train_stage(
    model: Any, encoder: OptionEncoder, tokenizer: Any, stage: Stage, checkpoints: Path, progress: Progress
) -> Fitted:
    """Trains ``model`` in place, going on from the folder ``checkpoints`` where a training was broken off."""
    stream = ExampleStream([example.id for example in stage.examples], stage.settings.epochs, stage.settings.seed)
    arguments = training_arguments(
        _transformers().TrainingArguments,
        checkpoints,
        stage.settings,
        len(stage.examples),
        held_out=bool(stage.held_out),
    )
    arguments.adam_beta2 = ADAM_BETA2
    augmentation = Augmentation(stage.examples, stage.settings.seed) if stage.method is Method.augmented else None
    trainer = _trainer_class(stage.method)(
        model=model,
        args=arguments,
        train_dataset=TrainingOptions(stage.examples, stream, encoder, augmentation, stage.augment_from),
        eval_dataset=HeldOutOptions(stage.held_out, encoder) if stage.held_out else None,
        data_collator=OptionCollator(encoder, "token_type_ids" in tokenizer.model_input_names),
    )
    # The trainer would otherwise divide no loss by the number of accumulated batches.
    trainer.model_accepts_loss_kwargs = False
    return fit(trainer, stage.settings, progress)


class EncodedQuestion(NamedTuple):
    """A question's options as input, and which of them are right."""

    inputs: Sequence[OptionInput]
    right: Sequence[bool]


class TrainingOptions:
    """The questions of all epochs in the order of training, as a data set of torch."""

    def __init__(
        self,
        examples: Sequence[ChoiceExample],
        stream: ExampleStream,
        encoder: OptionEncoder,
        augmentation: Augmentation | None,
        augment_from: int,
    ) -> None:
        self._examples = examples
        self._stream = stream
        self._encoder = encoder
        self._augmentation = augmentation
        self._augment_from = augment_from

    def __len__(self) -> int:
        return len(self._stream)

    def __getitem__(self, row: int) -> EncodedQuestion:
        epoch, position = self._stream[row]
        example = self._examples[position]
        if self._augmentation is None or epoch < self._augment_from:
            return encode_released(example, self._encoder)
        changed = [self._augmentation.option(epoch, position, option) for option in range(len(example.options))]
        return EncodedQuestion([self._fitted(one) for one in changed], [one.right for one in changed])

    def _fitted(self, one: OptionExample) -> OptionInput:
        """The input of a changed option, the changed part emptied where another text makes it too long."""
        try:
            return self._encoder.encode(one.context, one.question, one.option)
        except TooLongError:
            if one.changed is None or one.emptied:
                raise
            texts = {Part.context: one.context, Part.question: one.question, Part.option: one.option, one.changed: ""}
            return self._encoder.encode(texts[Part.context], texts[Part.question], texts[Part.option])


class HeldOutOptions:
    """Questions as they are, as a data set of torch."""

    def __init__(self, examples: Sequence[ChoiceExample], encoder: OptionEncoder) -> None:
        self._examples = examples
        self._encoder = encoder

    def __len__(self) -> int:
        return len(self._examples)

    def __getitem__(self, position: int) -> EncodedQuestion:
        return encode_released(self._examples[position], self._encoder)


def encode_released(example: ChoiceExample, encoder: OptionEncoder) -> EncodedQuestion:
    """The options as they are in the data; raises TooLongError for one that does not fit."""
    options = [as_released(example, option) for option in range(len(example.options))]
    return EncodedQuestion(
        [encoder.encode(one.context, one.question, one.option) for one in options], [one.right for one in options]
    )


class OptionCollator:
    """Turns questions into tensors: ``sizes``, shape (questions,), are their numbers of options; ``right``, shape
    (options,), is 1 for a right option; the model's arguments have the shape (options, 1, tokens)."""

    def __init__(self, encoder: OptionEncoder, typed: bool) -> None:
        self._encoder = encoder
        self._typed = typed

    def __call__(self, questions: Sequence[EncodedQuestion]) -> Mapping[str, Any]:
        import torch

        batch = self._encoder.batch([one for question in questions for one in question.inputs])
        arguments = {"input_ids": batch.ids, "attention_mask": batch.mask}
        if self._typed:
            arguments["token_type_ids"] = batch.types
        return {
            # First, as the trainer takes the length of the first tensor for the number of examples.
            "sizes": torch.tensor([len(question.inputs) for question in questions]),
            "right": torch.tensor([float(right) for question in questions for right in question.right]),
            **{name: torch.from_numpy(values[:, np.newaxis]) for name, values in arguments.items()},
        }


def option_loss(scores: Any, sizes: Any, right: Any, method: Method) -> Any:
    """The mean loss of questions, a tensor: ``scores`` and ``right``, shape (options,), are of all their options in
    order, ``sizes``, shape (questions,), the numbers of these.

    ``baseline``: the negative logarithm of the right option's share in the softmax; otherwise the mean over options of
    the binary cross-entropy.
    """
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits

    scores = scores.float()
    question = torch.repeat_interleave(torch.arange(len(sizes), device=scores.device), sizes)
    if method is Method.baseline:
        place = torch.arange(len(scores), device=scores.device) - (sizes.cumsum(0) - sizes)[question]
        table = scores.new_full((len(sizes), int(sizes.max())), -torch.inf)
        table[question, place] = scores
        return -(torch.log_softmax(table, dim=1)[question, place] * right).sum() / len(sizes)
    losses = binary_cross_entropy_with_logits(scores, right, reduction="none")
    return (losses / sizes[question]).sum() / len(sizes)


def _transformers() -> Any:
    import transformers

    return transformers


def _trainer_class(method: Method) -> Any:
    """A trainer of transformers with the loss of a method."""
    import torch

    class Trainer(_transformers().Trainer):  # type: ignore[misc]
        def compute_loss(self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, **_: Any) -> Any:
            arguments = {name: value for name, value in inputs.items() if name not in ("sizes", "right")}
            outputs = model(**arguments)
            loss = option_loss(outputs.logits.reshape(-1), inputs["sizes"], inputs["right"], method)
            return (loss, outputs) if return_outputs else loss

        def prediction_step(self, model: Any, inputs: dict[str, Any], *_: Any, **__: Any) -> tuple[Any, None, None]:
            with torch.no_grad(), self.compute_loss_context_manager():
                return self.compute_loss(model, self._prepare_inputs(inputs)).detach(), None, None

    return Trainer
