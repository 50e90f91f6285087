"""Trainers of sentence-transformers take the exported training data."""

from __future__ import annotations

from pathlib import Path

import pytest

from quati_pool.release.training import Training, TrainingParameters
from tests.release.small_release import release_of

pytestmark = [pytest.mark.neural, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

STEPS = 10


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    grades = {(f"q{query}", f"d{query}{doc}"): grade for query in range(6) for doc, grade in enumerate((3, 2, 0, 0, 1))}
    release = release_of(tmp_path, {"ana": grades})
    folder = tmp_path / "out"
    folder.mkdir()
    Training(TrainingParameters(splits={"train": 2, "test": 1})).write(release, folder)
    return folder


def test_ten_steps_on_triplets(exported: Path, tmp_path: Path) -> None:
    from datasets import load_dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    from tests.tiny_models import dense

    data = load_dataset(str(exported), "triplets", cache_dir=str(tmp_path / "cache"))
    assert data.column_names == {split: ["query", "positive", "negative"] for split in ("train", "test")}
    model = SentenceTransformer(str(dense.sentence_transformer(tmp_path / "dense")), device="cpu")
    before = model.encode(["the court"])
    arguments = SentenceTransformerTrainingArguments(
        str(tmp_path / "trained"), max_steps=STEPS, per_device_train_batch_size=4, learning_rate=1e-2, use_cpu=True,
        report_to="none", save_strategy="no", disable_tqdm=True, seed=0,
    )  # fmt: skip
    trainer = SentenceTransformerTrainer(
        model, arguments, train_dataset=data["train"], eval_dataset=data["test"],
        loss=MultipleNegativesRankingLoss(model),
    )  # fmt: skip
    assert trainer.train().global_step == STEPS
    assert abs(model.encode(["the court"]) - before).max() > 1e-4
    assert trainer.evaluate()["eval_loss"] > 0


def test_ten_steps_on_scored_pairs(exported: Path, tmp_path: Path) -> None:
    from datasets import load_dataset
    from sentence_transformers import CrossEncoder
    from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments
    from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss

    from tests.tiny_models import cross_encoder

    data = load_dataset(str(exported), "pairs", cache_dir=str(tmp_path / "cache"))
    assert data.column_names["train"] == ["query", "passage", "score"]
    model = CrossEncoder(str(cross_encoder.cross_encoder(tmp_path / "cross")), device="cpu")
    arguments = CrossEncoderTrainingArguments(
        str(tmp_path / "trained"), max_steps=STEPS, per_device_train_batch_size=4, use_cpu=True, report_to="none",
        save_strategy="no", disable_tqdm=True, seed=0,
    )  # fmt: skip
    trainer = CrossEncoderTrainer(model, arguments, train_dataset=data["train"], loss=BinaryCrossEntropyLoss(model))
    assert trainer.train().global_step == STEPS
