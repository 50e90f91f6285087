"""Readers of multiple choice in training: losses, steps, and a killed training."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy
from transformers import AutoModelForMultipleChoice, AutoTokenizer

from quati_pool.models.readers.multiple_choice import OptionEncoder
from quati_pool.training.fit import ExampleStream, FitSettings
from quati_pool.training.readers.augmentation import Augmentation, ChoiceExample
from quati_pool.training.readers.multiple_choice import (
    Method,
    Stage,
    TrainingOptions,
    load_encoder,
    option_loss,
    train_stage,
)
from tests.tiny_models.dense import bert_folder
from tests.tiny_models.multiple_choice import multiple_choice

pytestmark = pytest.mark.neural

SIZES = torch.tensor([2, 4, 3])
RIGHT = torch.tensor([0.0, 1, 0, 0, 1, 0, 1, 0, 0])
SETTINGS = FitSettings(epochs=2, batch_size=4, learning_rate=1e-3, patience=None, device="cpu", checkpoint_steps=2)


def examples(count: int) -> list[ChoiceExample]:
    words = ["court", "tide", "boats", "harbour", "baker", "dough", "oven", "fox", "dog", "river"]
    made = []
    for number in range(count):
        options = tuple(words[(number + place) % len(words)] for place in range(3 + number % 2))
        made.append(ChoiceExample(f"q{number}", f"who is {number}", options, number % 3, (f"the {options[0]} of a",)))
    return made


def stage(method: Method = Method.augmented, **settings: Any) -> Stage:
    return Stage(examples(10), examples(13)[10:], method, replace(SETTINGS, **settings))


def trained(folder: Path, model: Path, one: Stage) -> dict[str, torch.Tensor]:
    loaded = load_encoder(model, "tiny", seed=0)
    tokenizer = AutoTokenizer.from_pretrained(model)
    train_stage(loaded, OptionEncoder(tokenizer, 48), tokenizer, one, folder, lambda done, total, words: None)
    return {name: values.clone() for name, values in loaded.state_dict().items()}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return multiple_choice(
        tmp_path_factory.mktemp("tiny") / "model", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )


def farthest(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor], but: str = "?") -> float:
    """The largest difference of two weights, those whose name has ``but`` in it left out."""
    return max(float((one[name].float() - other[name].float()).abs().max()) for name in one if but not in name)


def test_the_losses_are_means_over_questions() -> None:
    scores = torch.tensor([0.3, -1.0, 2.0, 0.1, 0.7, -0.4, 1.5, 0.0, -2.0])
    parts = list(zip(scores.split(SIZES.tolist()), RIGHT.split(SIZES.tolist()), strict=True))
    softmax = torch.stack([cross_entropy(one, right.argmax()) for one, right in parts]).mean()
    binary = torch.stack([binary_cross_entropy_with_logits(one, right) for one, right in parts]).mean()
    assert option_loss(scores, SIZES, RIGHT, Method.baseline).item() == pytest.approx(softmax.item(), abs=1e-6)
    for method in (Method.binary, Method.augmented):
        assert option_loss(scores, SIZES, RIGHT, method).item() == pytest.approx(binary.item(), abs=1e-6)


def test_the_first_loss_is_that_of_the_model_for_multiple_choice(model: Path, tmp_path: Path) -> None:
    """Transformers' own loss of ...ForMultipleChoice, where all questions have as many options."""
    tokenizer = AutoTokenizer.from_pretrained(model)
    encoder = OptionEncoder(tokenizer, 48)
    direct = AutoModelForMultipleChoice.from_pretrained(model).eval()
    equal = [one for one in examples(10) if len(one.options) == 3]
    inputs = [encoder.encode(one.context_of(n), one.question, one.options[n]) for one in equal for n in range(3)]
    batch = encoder.batch(inputs)
    arguments = {
        "input_ids": torch.from_numpy(batch.ids).reshape(len(equal), 3, -1),
        "attention_mask": torch.from_numpy(batch.mask).reshape(len(equal), 3, -1),
        "token_type_ids": torch.from_numpy(batch.types).reshape(len(equal), 3, -1),
    }
    with torch.no_grad():
        outputs = direct(**arguments, labels=torch.tensor([one.answer for one in equal]))
    one = Stage(equal, equal, Method.baseline, replace(SETTINGS, epochs=1, batch_size=3, learning_rate=1e-12))
    loaded = load_encoder(model, "tiny", seed=0)
    fitted = train_stage(loaded, encoder, tokenizer, one, tmp_path / "c", lambda done, total, words: None)
    assert fitted.losses[0][1] == pytest.approx(outputs.loss.item(), abs=1e-5)


def test_accumulated_batches_train_as_large_ones_do(model: Path, tmp_path: Path) -> None:
    for method in (Method.baseline, Method.binary):
        large = trained(tmp_path / f"large-{method}", model, stage(method, batch_size=8))
        small = trained(tmp_path / f"small-{method}", model, stage(method, batch_size=2, accumulate=4))
        # The gradient of a key's bias is 0, and AdamW makes steps of what rounding leaves of it.
        assert farthest(large, small, but="key.bias") < 2e-4
        assert farthest(large, load_encoder(model, "tiny", seed=0).state_dict()) > 1e-3


def test_methods_differ_from_the_first_epoch_that_is_augmented(model: Path, tmp_path: Path) -> None:
    binary = trained(tmp_path / "binary", model, stage(Method.binary))
    plain = trained(tmp_path / "later", model, replace(stage(), augment_from=2))
    augmented = trained(tmp_path / "augmented", model, stage())
    assert farthest(binary, plain) == 0
    assert farthest(binary, augmented) > 1e-3


def test_layers_that_an_encoder_lacks_are_drawn_by_the_seed(tmp_path: Path) -> None:
    folder = bert_folder(tmp_path / "encoder")
    first, again, other = (load_encoder(folder, "encoder", seed) for seed in (0, 0, 1))
    assert torch.equal(first.classifier.weight, again.classifier.weight)
    assert not torch.equal(first.classifier.weight, other.classifier.weight)
    assert torch.equal(first.bert.encoder.layer[0].output.dense.weight, other.bert.encoder.layer[0].output.dense.weight)


KILLED = """
import sys
from pathlib import Path
from tests.training.readers.test_multiple_choice import stage, trained
trained(Path(sys.argv[1]), Path(sys.argv[2]), stage(epochs=12))
"""


def test_a_killed_training_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    """With dropout, whose random state a checkpoint holds, and another draw of the augmentation in every epoch."""
    model = multiple_choice(tmp_path / "model")
    command = [sys.executable, "-c", KILLED, str(tmp_path / "killed"), str(model)]
    process = subprocess.Popen(command, start_new_session=True)
    deadline = time.monotonic() + 120
    while not list((tmp_path / "killed").glob("checkpoint-*/complete.json")) and time.monotonic() < deadline:
        assert process.poll() is None, "the training ended before it could be killed"
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    begun = max(
        int(path.parent.name.split("-")[1]) for path in (tmp_path / "killed").glob("checkpoint-*/complete.json")
    )
    assert begun < 12 * 10 // 4
    # A checkpoint that was being written counts as none.
    half = tmp_path / "killed" / "checkpoint-9998"
    shutil.copytree(next((tmp_path / "killed").glob("checkpoint-*")), half)
    (half / "complete.json").unlink(missing_ok=True)
    resumed = trained(tmp_path / "killed", model, stage(epochs=12))
    unbroken = trained(tmp_path / "unbroken", model, stage(epochs=12))
    assert farthest(resumed, unbroken) <= 1e-6


def test_a_replacement_that_does_not_fit_is_emptied(model: Path) -> None:
    """One question is so long that it fits with its own options alone."""
    tokenizer = AutoTokenizer.from_pretrained(model)
    encoder = OptionEncoder(tokenizer, 40)
    long = ChoiceExample("long", "w" * 28, ("a", "b"), 0, ("the court",))
    wide = ChoiceExample("wide", "who", ("c" * 25, "d" * 25), 0, ("the harbour",))
    data = TrainingOptions(
        [long, wide], ExampleStream(["long", "wide"], 60, 0), encoder, Augmentation([long, wide], 0), 0
    )
    sizes = set()
    for row in range(len(data)):
        for one in data[row].inputs:
            assert encoder.length(one) <= 40
            sizes.add((len(one.question), len(one.option)))
    letters = [len(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in ("w" * 28, "c" * 25)]
    assert (1, letters[1]) in sizes  # an emptied question with a long option
    assert (letters[0], 1) in sizes
    assert (letters[0], letters[1]) not in sizes
