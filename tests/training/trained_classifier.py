"""A small training that a test runs in a process of its own, to kill it:
``python -m tests.training.trained_classifier FOLDER STEPS WHEN``, where WHEN is ``step:7`` or ``save:6``."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch
import transformers

from quati_pool.training import fit as fitting
from quati_pool.training.fit import ExampleStream, FitSettings, Fitted, fit, training_arguments
from tests.tiny_models.cross_encoder import cross_encoder

SETTINGS = FitSettings(epochs=3, batch_size=4, accumulate=2, learning_rate=1e-3, patience=None, seed=5, device="cpu")


class Rows(torch.utils.data.Dataset[dict[str, Any]]):
    """Token ids of random length with a label that follows from them, drawn by hash of epoch and example."""

    def __init__(self, count: int, epochs: int, seed: int) -> None:
        self.stream = ExampleStream([str(number) for number in range(count)], epochs, seed)

    def __len__(self) -> int:
        return len(self.stream)

    def __getitem__(self, row: int) -> dict[str, Any]:
        epoch, position = self.stream[row]
        drawn = torch.Generator().manual_seed(1000 * epoch + position)
        ids = torch.randint(5, 60, (8,), generator=drawn)
        return {"input_ids": ids, "labels": float(ids[0] % 2)}


def classifier(folder: Path, settings: FitSettings, *, held_out: bool = True, dropout: float = 0.2) -> Any:
    """A trainer of a tiny BERT with random weights; its checkpoints are in ``folder``."""
    model_folder = cross_encoder(folder.parent / "start", hidden_dropout_prob=dropout, initializer_range=0.1)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(model_folder)
    rows = Rows(26, settings.epochs, 0)
    arguments = training_arguments(transformers.TrainingArguments, folder, settings, 26, held_out=held_out)
    return transformers.Trainer(
        model=model, args=arguments, train_dataset=rows, eval_dataset=Rows(12, 1, 9) if held_out else None
    )


def run(folder: Path, settings: FitSettings = SETTINGS) -> tuple[Fitted, dict[str, torch.Tensor]]:
    trainer = classifier(folder, settings)
    fitted = fit(trainer, settings)
    return fitted, trainer.model.state_dict()


def _killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    folder, when = Path(sys.argv[1]), sys.argv[2]
    kind, _, at = when.partition(":")
    settings = FitSettings(**{**vars(SETTINGS), "checkpoint_steps": int(sys.argv[3])})
    if kind == "save":
        saved = fitting._complete
        fitting._complete = lambda place: _killed() if place.name.endswith(f"-{at}") else saved(place)
    trainer = classifier(folder, settings)
    fit(trainer, settings, lambda done, total, words: _killed() if kind == "step" and done == int(at) else None)
    torch.save(trainer.model.state_dict(), folder.parent / "weights.pt")
