"""Trains the cross-encoder of a judge by sentence-transformers' own trainer.

Texts become tokens as they do when the judge grades (``models.cross_encoder.PairReader``): a query as a whole, then
what fits of the passage, and no text forms a special token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.models.cross_encoder import PairReader, features_of, outputs_of, pair_frame, positions_of
from quati_pool.models.errors import ModelError
from quati_pool.models.judge_card import Target
from quati_pool.models.kind import require_kind
from quati_pool.models.loading import quiet
from quati_pool.models.location import LocalModel
from quati_pool.training.augmentation import UNCHANGED, Augmentation, Mode
from quati_pool.training.fit import ExampleStream, FitSettings, Fitted, Progress, fit, training_arguments
from quati_pool.training.judge_data import Balance, Examples, balance

_LONGEST = 512


@dataclass(frozen=True)
class JudgeTraining:
    """What is trained, and how. ``max_tokens`` are those of a pair; None takes what the model reads, at most 512."""

    target: Target = "ordinal"
    augment: Mode = "full"
    max_tokens: int | None = None
    fit: FitSettings = FitSettings()  # noqa: RUF009 - frozen


@dataclass(frozen=True, eq=False)
class TrainedJudge:
    """A trained judge's model, in the folder it was saved in."""

    fitted: Fitted
    balance: Balance
    max_tokens: int


def train_judge_model(
    local: LocalModel,
    name: str,
    training: Examples,
    held_out: Examples,
    settings: JudgeTraining,
    folder: Path,
    checkpoints: Path,
    progress: Progress,
) -> TrainedJudge:
    """Trains the model ``local``, called ``name``, and saves it in ``folder``; the state of training is in
    ``checkpoints``, from which a training that was broken off goes on.

    Raises QuatiPoolError for a model that reads no pairs, a query that leaves no room for a passage, and what ``fit``
    raises.
    """
    import transformers

    transformers.set_seed(settings.fit.seed)
    model = _starting_model(local, name, training.targets(settings.target).shape[1])
    most = _tokens(settings.max_tokens, positions_of(model), name)
    reader = PairReader(model.tokenizer, pair_frame(model, name), most)
    _require_room(reader, [training, held_out], name)
    model.max_seq_length = most
    shown = _Shown(training, settings, settings.fit.epochs)
    checked = _Shown(held_out, settings, 1)
    evened = balance(training.targets(settings.target), settings.target, shown.unchanged)
    arguments = _arguments(checkpoints, settings.fit, len(training), bool(len(held_out)))
    trainer = _trainer(model, arguments, shown, checked if len(held_out) else None, reader, evened, settings.target)
    fitted = fit(trainer, settings.fit, progress)
    with quiet():
        model.save_pretrained(str(folder), create_model_card=False)
    return TrainedJudge(fitted, evened, most)


class _Shown:
    """The examples of all epochs as they are shown to the model."""

    def __init__(self, examples: Examples, settings: JudgeTraining, epochs: int) -> None:
        self._stream = ExampleStream(examples.ids, epochs, settings.fit.seed)
        self._augmentation = Augmentation(settings.augment, examples, settings.fit.seed)
        self._targets = examples.targets(settings.target)
        self._weighted = settings.target == "expected"
        self.unchanged = self._augmentation.unchanged

    def __len__(self) -> int:
        return len(self._stream)

    def rows(self, numbers: Sequence[int]) -> dict[str, list[Any]]:
        """Columns: query, passage, targets and the weight of each row of the stream."""
        shown = []
        for number in numbers:
            epoch, position = self._stream[number]
            changed = self._augmentation(epoch, position)
            target = np.zeros(self._targets.shape[1]) if changed.flipped else self._targets[position]
            # Of the pairs that are irrelevant, more are changed: without this, those that are shown as they are would
            # seem to be relevant more often than they are. Log-odds are corrected instead (``balance``).
            weight = 1 / self.unchanged[position] if self._weighted and changed.change == UNCHANGED else 1.0
            shown.append((changed.query, changed.text, target.tolist(), float(weight)))
        names = ("query", "passage", "targets", "weight")
        return dict(zip(names, map(list, zip(*shown, strict=True)), strict=True))


def _starting_model(local: LocalModel, name: str, outputs: int) -> Any:
    """The model to train, with a head of ``outputs`` outputs: its own where it has such a one, else a random one."""
    import sentence_transformers
    import torch

    try:
        require_kind(local, name, "dense", "train judge")
    except ModelError:
        require_kind(local, name, "cross-encoder", "train judge")
    with quiet():
        try:
            model: Any = sentence_transformers.CrossEncoder(
                str(local.folder), num_labels=outputs, device="cpu", local_files_only=True, trust_remote_code=False,
                activation_fn=torch.nn.Identity(), model_kwargs={"ignore_mismatched_sizes": True},
            )  # fmt: skip
        except Exception as error:
            said = " ".join(str(error).split())[:200] or type(error).__name__
            raise ModelError(f"model {name!r} cannot be loaded ({said}); name another, or download it again") from error
    return model


def _tokens(wanted: int | None, known: int, name: str) -> int:
    if wanted is None:
        return min(known, _LONGEST)
    if wanted > known:
        raise ConfigError(f"--max-tokens {wanted:,} is more than the {known:,} that model {name!r} takes; lower it")
    return wanted


def _require_room(reader: PairReader, sets: Sequence[Examples], name: str) -> None:
    """Raises QuatiPoolError for a query that leaves no room for a passage."""
    queries = {
        query_id: query
        for examples in sets
        for query_id, query in zip(examples.query_ids, examples.queries, strict=True)
    }
    read = reader(list(queries.values()), [""] * len(queries))
    for query_id, tokens in zip(queries, read, strict=True):
        if tokens is None:
            raise QuatiPoolError(
                f"query {query_id!r} leaves no room for a passage in {reader.max_tokens:,} tokens of {name}; raise "
                f"--max-tokens, or name a model that reads more"
            )


def _arguments(checkpoints: Path, settings: FitSettings, examples: int, held_out: bool) -> Any:
    from sentence_transformers.cross_encoder import CrossEncoderTrainingArguments

    return training_arguments(CrossEncoderTrainingArguments, checkpoints, settings, examples, held_out=held_out)


def _trainer(
    model: Any, arguments: Any, shown: _Shown, checked: _Shown | None, reader: PairReader, evened: Balance,
    target: Target,
) -> Any:  # fmt: skip
    import torch
    from sentence_transformers.cross_encoder import CrossEncoderTrainer
    from sentence_transformers.cross_encoder.data_collator import CrossEncoderDataCollator

    class Collator(CrossEncoderDataCollator):  # type: ignore[misc, unused-ignore]
        def __call__(self, features: list[dict[str, Any]]) -> dict[str, Any]:
            pairs = reader([one["query"] for one in features], [one["passage"] for one in features])
            batch = features_of(model, reader.batch([pair for pair in pairs if pair is not None]))
            targets = torch.tensor([one["targets"] for one in features], dtype=torch.float32)
            weights = torch.tensor([[one["weight"]] for one in features], dtype=torch.float32)
            return {**batch, "label": torch.cat([targets, weights], dim=1)}

    class Loss(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.model = model
            self.positive_weights = torch.tensor(evened.positive_weights, dtype=torch.float32)

        def forward(self, inputs: list[Any], labels: Any, **_: Any) -> Any:
            features = dict(zip(names, inputs, strict=True))
            outputs = outputs_of(self.model, features)
            labels = labels.to(outputs.device)
            targets, weights = labels[:, :-1], labels[:, -1:]
            if target == "expected":
                losses = torch.nn.functional.mse_loss(outputs, targets, reduction="none")
            else:
                losses = torch.nn.functional.binary_cross_entropy_with_logits(
                    outputs, targets, reduction="none", pos_weight=self.positive_weights.to(outputs.device)
                )
            return (losses * weights).mean()

    class Trainer(CrossEncoderTrainer):  # type: ignore[misc, unused-ignore]
        def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
            """None: the judge's card says what is to be said, and theirs looks models up on the hub."""

        def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
            self.model.save_pretrained(str(output_dir or self.args.output_dir), create_model_card=False)

    names = list(features_of(model, reader.batch(_one_pair(reader))))
    return Trainer(
        model=model,
        args=arguments,
        train_dataset=_dataset(shown),
        eval_dataset=None if checked is None else _dataset(checked),
        loss=Loss(),
        data_collator=Collator(preprocess_fn=model.preprocess),
    )


def _one_pair(reader: PairReader) -> list[Any]:
    return [pair for pair in reader([""], [""]) if pair is not None]


def _dataset(shown: _Shown) -> Any:
    """The rows of ``shown`` as the kind of data set that sentence-transformers takes, computed as they are read."""
    import datasets

    rows = datasets.Dataset.from_dict({"row": range(len(shown))})
    return rows.with_transform(lambda batch: shown.rows(batch["row"]))
