"""A training that was killed goes on to the weights of an unbroken one, whenever it was killed; the rate of learning,
early stopping and the choice of weights are as documented."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.training import fit as fitting
from quati_pool.training.fit import ExampleStream, FitSettings, Fitted, fit, training_arguments
from tests.training.trained_classifier import SETTINGS, classifier, run

pytestmark = pytest.mark.neural


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Fitted, dict[str, torch.Tensor]]:
    return run(tmp_path_factory.mktemp("unbroken") / "checkpoints")


def difference(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> float:
    assert one.keys() == other.keys()
    return max(float((one[name] - other[name]).abs().max()) for name in one)


def same_losses(one: Fitted, other: Fitted) -> bool:
    return np.array(one.losses) == pytest.approx(np.array(other.losses), abs=1e-7)


def process(folder: Path, when: str, checkpoint_steps: int) -> int:
    command = [sys.executable, "-m", "tests.training.trained_classifier", str(folder), when, str(checkpoint_steps)]
    root = Path(__file__).parents[2]
    paths = os.pathsep.join([str(root), str(root / "tests")])
    return subprocess.run(command, cwd=root, env={**os.environ, "PYTHONPATH": paths}, capture_output=True).returncode


def test_all_steps_are_done_and_the_weights_of_the_lowest_loss_kept(
    unbroken: tuple[Fitted, dict[str, torch.Tensor]], tmp_path: Path
) -> None:
    fitted, weights = unbroken
    # 3 epochs of 26 examples in batches of 4 make 20 batches, so 10 steps of two; an epoch has 26 / 8, so 4 steps.
    assert (fitted.planned, [step for step, _ in fitted.losses]) == (10, [4, 8, 10])
    assert fitted.step == min(fitted.losses, key=lambda each: each[1])[0]
    again, same = run(tmp_path / "checkpoints")
    assert same_losses(again, fitted)
    assert difference(weights, same) <= 1e-6
    # Training changes the weights by far more than a resumed one may differ.
    start = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "start").state_dict()
    assert difference(weights, start) > 1e-3


@pytest.mark.kill
def test_a_killed_training_goes_on_to_the_same_weights(
    unbroken: tuple[Fitted, dict[str, torch.Tensor]], tmp_path: Path
) -> None:
    folder = tmp_path / "checkpoints"
    # Killed when all of step 6's checkpoint is written but its mark; then, gone on from step 4's, after that of step 6.
    for when in ("save:6", "step:7"):
        assert process(folder, when, checkpoint_steps=3) == -signal.SIGKILL
    assert {place.name for place in folder.iterdir()} == {"checkpoint-4", "checkpoint-6"}
    done: list[int] = []
    settings = replace(SETTINGS, checkpoint_steps=3)
    trainer = classifier(folder, settings)
    fitted = fit(trainer, settings, lambda step, total, words: done.append(step))
    assert done == [7, 8, 9, 10]
    assert same_losses(fitted, unbroken[0])
    assert difference(trainer.model.state_dict(), unbroken[1]) <= 1e-6


def test_a_training_stopped_before_any_checkpoint_starts_again(
    unbroken: tuple[Fitted, dict[str, torch.Tensor]], tmp_path: Path
) -> None:
    def stop(step: int, total: int, words: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(classifier(tmp_path / "checkpoints", SETTINGS), SETTINGS, stop)
    assert difference(run(tmp_path / "checkpoints")[1], unbroken[1]) <= 1e-6


def test_half_of_a_checkpoint_is_dropped(
    unbroken: tuple[Fitted, dict[str, torch.Tensor]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "checkpoints"
    complete = fitting._complete

    def stop(checkpoint: Path) -> None:
        complete(checkpoint)
        if checkpoint.name == "checkpoint-8":
            raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "_complete", stop)
    with pytest.raises(KeyboardInterrupt):
        run(folder)
    monkeypatch.undo()
    weights = folder / "checkpoint-8" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    assert fitting._last_checkpoint(folder) == folder / "checkpoint-4"
    assert not weights.exists()
    fitted, resumed = run(folder)
    assert same_losses(fitted, unbroken[0])
    assert difference(resumed, unbroken[1]) <= 1e-6


def test_training_ends_when_the_loss_no_longer_falls(tmp_path: Path) -> None:
    """At this rate of learning the held-out loss rises from the second check on."""
    settings = replace(SETTINGS, epochs=8, learning_rate=0.5, patience=2, warmup=0.0)
    fitted, weights = run(tmp_path / "checkpoints", settings)
    losses = [loss for _, loss in fitted.losses]
    best = losses.index(min(losses))
    assert fitted.stopped_early
    assert len(losses) == best + 3
    assert fitted.step == fitted.losses[best][0]
    # Where a process is killed after its last step, the next does not train on.
    again, same = run(tmp_path / "checkpoints", settings)
    assert again == fitted
    assert difference(weights, same) == 0
    # A moved folder has its best weights, too.
    moved = Path(shutil.move(tmp_path / "checkpoints", tmp_path / "moved"))
    assert difference(weights, run(moved, settings)[1]) == 0


def test_the_rate_of_learning_rises_and_falls_linearly(tmp_path: Path) -> None:
    settings = replace(SETTINGS, warmup=0.2)
    trainer = classifier(tmp_path / "checkpoints", settings, held_out=False)
    rates: list[float] = []
    progress = lambda done, total, words: rates.append(trainer.lr_scheduler.get_last_lr()[0])  # noqa: E731
    fitted = fit(trainer, settings, progress)
    # 10 steps, of which 2 warm up: rates after steps 1, 2, … are 1/2, 1, 7/8, 6/8 … of the highest.
    assert rates == pytest.approx([1e-3 * share for share in [0.5, *(left / 8 for left in range(8, -1, -1))]])
    assert (fitted.losses, fitted.step) == ([], 10)


def test_an_epoch_has_every_example_once_in_an_order_of_its_own() -> None:
    ids = [f"q{number}" for number in range(50)]
    stream = ExampleStream(ids, 3, seed=1)
    rows = [stream[row] for row in range(len(stream))]
    assert Counter(rows) == Counter((epoch, position) for epoch in range(3) for position in range(50))
    assert [epoch for epoch, _ in rows] == [0] * 50 + [1] * 50 + [2] * 50
    orders = {tuple(position for each, position in rows if each == epoch) for epoch in range(3)}
    other = ExampleStream(ids, 1, seed=2)
    assert len({*orders, tuple(range(50)), tuple(other[row][1] for row in range(50))}) == 5
    # The order is that of the ids, not of the rows.
    mixed = ExampleStream(ids[::-1], 3, seed=1)
    assert [ids[position] for _, position in rows] == [ids[::-1][mixed[row][1]] for row in range(150)]


def test_a_loss_that_is_no_number_is_refused(tmp_path: Path) -> None:
    settings = replace(SETTINGS, learning_rate=1e30)
    with pytest.raises(QuatiPoolError, match=r"the held-out loss is nan after step \d+.*lower --learning-rate"):
        run(tmp_path / "checkpoints", settings)


def test_an_output_of_a_trainer_is_not_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    trainer = classifier(tmp_path / "checkpoints", SETTINGS)
    capfd.readouterr()
    fit(trainer, SETTINGS)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"device": "tpu"}, "there is no device 'tpu'"),
        ({"device": "cpu", "precision": "bf16"}, "bf16 needs a GPU with CUDA; use --precision fp32 on cpu"),
        ({"device": "cpu", "precision": "fp16"}, "fp16 needs a GPU with CUDA"),
    ],
)
def test_what_this_machine_lacks_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        training_arguments(
            transformers.TrainingArguments, tmp_path, replace(FitSettings(), **changes), 10, held_out=False
        )


def test_the_state_says_which_checkpoint_was_best(tmp_path: Path) -> None:
    """The library's own record of the best checkpoint agrees with ours, which it keeps from being rotated away."""
    folder = tmp_path / "checkpoints"
    fitted, _ = run(folder, replace(SETTINGS, epochs=6))
    state = json.loads((folder / f"checkpoint-{fitted.steps}" / "trainer_state.json").read_text())
    assert state["best_global_step"] == fitted.step
    assert state["best_metric"] == pytest.approx(min(loss for _, loss in fitted.losses))
    assert len(list(folder.glob("checkpoint-*"))) <= 2
    assert all(math.isfinite(loss) for _, loss in fitted.losses)
