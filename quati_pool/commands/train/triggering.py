"""``train reader --task at``: whether a text answers a question, over Pirá.

With ``--setting human-paraphrases`` or ``automatic-paraphrases``, paraphrases of the training questions are further
examples; held-out questions are as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from quati_pool.commands.train.pira_examples import labelled_texts
from quati_pool.commands.train.recipes import PreparedStage, Trainee, fitting, input_tokens
from quati_pool.commands.train.words import PiraRecipe
from quati_pool.errors import ConfigError
from quati_pool.models.location import LocalModel
from quati_pool.models.parameters import ModelParameters
from quati_pool.models.readers import classifier
from quati_pool.models.readers.loaded import load_tokenizer, longest_input
from quati_pool.qa_benchmarks.base import AnswerTaskRun, Case
from quati_pool.qa_benchmarks.pira.triggering import AnswerTriggering
from quati_pool.training.fit import Fitted, Progress
from quati_pool.training.readers.classifier import TextClassification
from quati_pool.training.readers.supervised import load_for_training, train


class Triggering(PiraRecipe):
    """A sequence classifier of texts with questions."""

    kind = classifier.ClassifierReader.kind
    task = "at"

    def prepare(self) -> list[PreparedStage]:
        if len(self.options.settings) > 1:
            raise ConfigError("--setting: with --task at, each holds the original questions too; name one")
        return super().prepare()

    def run(self, data: Path, case: Case) -> AnswerTaskRun:
        return AnswerTriggering().task_run(data, case, self.options.seed)

    def examples(self, data: Path, case: Case) -> list[Any]:
        return labelled_texts(data, case, paraphrases=case.split == "train")

    def load(self, local: LocalModel, stages: Sequence[PreparedStage]) -> Trainee:
        tokenizer = load_tokenizer(ModelParameters(model=self.options.model), local)
        model = load_classifier(local, self.options.model, self.options.seed)
        most = input_tokens(self.options, self.preset.max_tokens, longest_input(model, tokenizer))
        classification = TextClassification(tokenizer, most)
        kept = []
        for each in stages:
            stage = fitting(each, classification.encoded, most)
            if shortened := classification.shortened(stage.examples):
                total = f"of {len(stage.examples):,} training examples"
                note = f"{stage.name}: {shortened:,} {total} have a text that is shortened to fit"
                stage = replace(stage, notes=[*stage.notes, note])
            kept.append(stage)
        return Trainee(model, tokenizer, most, {}, classification, kept)

    def fit(self, trainee: Trainee, stage: PreparedStage, checkpoints: Path, progress: Progress) -> Fitted:
        inputs: TextClassification = trainee.encoder
        examples, held_out = inputs.examples(stage.examples), inputs.examples(stage.held_out)
        return train(trainee.model, examples, held_out, inputs.collate, stage.settings, checkpoints, progress)


def load_classifier(local: LocalModel, model: str, seed: int) -> Any:
    """The model in a folder as a classifier of no and yes; raises the errors of ``load_for_training``."""
    names = dict(enumerate(classifier.LABELS))
    return load_for_training(
        classifier.MODEL,
        local.folder,
        model,
        seed,
        num_labels=len(names),
        id2label=names,
        label2id={name: number for number, name in names.items()},
        problem_type="single_label_classification",
    )
