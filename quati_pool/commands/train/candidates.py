"""``train reader --task closed|gold``: which candidates answer a question, over RoMQA.

``--sample clusters`` learns from as many questions as there are clusters, in whole clusters of related questions, and
``--sample unrelated`` from one question of each cluster; without it all questions are learned from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, get_args

from quati_pool.commands.train.recipes import (
    PreparedStage,
    Recipe,
    Trainee,
    benchmark_of,
    fitting,
    hashes_of,
    input_tokens,
)
from quati_pool.commands.train.romqa_examples import candidate_questions, candidates_run, has_split
from quati_pool.commands.train.triggering import load_classifier
from quati_pool.errors import ConfigError
from quati_pool.models.location import LocalModel
from quati_pool.models.parameters import ModelParameters
from quati_pool.models.readers.candidates import CandidatesReader
from quati_pool.models.readers.loaded import load_tokenizer, longest_input
from quati_pool.qa_benchmarks.base import AnswerTaskRun, Case
from quati_pool.registry import nearest
from quati_pool.training.fit import Fitted, Progress
from quati_pool.training.readers.candidates import (
    CandidateDecisions,
    CandidatesQuestion,
    QuestionSample,
    sampled_questions,
)
from quati_pool.training.readers.presets import PRESETS, Preset
from quati_pool.training.readers.supervised import train


class _Candidates(Recipe):
    kind: ClassVar[str] = CandidatesReader.kind
    benchmark: ClassVar[str] = "romqa"
    uses: ClassVar[frozenset[str]] = frozenset({"sample"})
    task: ClassVar[str]

    @property
    def preset(self) -> Preset:
        """RoMQA's settings."""
        return PRESETS[self.kind, self.task]

    def prepare(self) -> list[PreparedStage]:
        options = self.options
        samples = get_args(QuestionSample)
        if options.sample is not None and options.sample not in samples:
            raise ConfigError(f"--sample {options.sample}: there is no such sample; {nearest(options.sample, samples)}")
        return [self._stage(name, data) for name, data in options.data]

    def load(self, local: LocalModel, stages: Sequence[PreparedStage]) -> Trainee:
        tokenizer = load_tokenizer(ModelParameters(model=self.options.model), local)
        model = load_classifier(local, self.options.model, self.options.seed)
        most = input_tokens(self.options, self.preset.max_tokens, longest_input(model, tokenizer))
        decisions = CandidateDecisions(tokenizer, most, self.options.seed)
        kept = []
        for each in stages:
            counts = Counter[bool]()

            def encode(example: CandidatesQuestion, counts: Counter[bool] = counts) -> None:
                counts.update(text.shortened for text in decisions.whole(example).texts)

            stage = fitting(each, encode, most)
            if counts[True]:
                note = (
                    f"{stage.name}: {counts[True]:,} of {counts.total():,} candidates have evidence that is shortened"
                )
                stage = replace(stage, notes=[*stage.notes, f"{note} to fit"])
            kept.append(stage)
        return Trainee(model, tokenizer, most, {}, decisions, kept)

    def fit(self, trainee: Trainee, stage: PreparedStage, checkpoints: Path, progress: Progress) -> Fitted:
        decisions: CandidateDecisions = trainee.encoder
        examples, held_out = decisions.examples(stage.examples), decisions.examples(stage.held_out)
        return train(trainee.model, examples, held_out, decisions.collate, stage.settings, checkpoints, progress)

    def held_out_runs(self) -> list[AnswerTaskRun]:
        _, data = self.options.data[-1]
        return [candidates_run(self.task, data, "validation", 0)] if has_split(self.task, data, "validation") else []

    def _stage(self, name: str | None, data: Path) -> PreparedStage:
        options = self.options
        found = benchmark_of(name, self.benchmark, data)
        if found.name != self.benchmark:
            raise ConfigError(f"--task {self.task} learns from romqa, not from {found.name}; give the folder of RoMQA")
        examples = [one for one in candidate_questions(self.task, data, "train", options.seed) if one.names]
        if not examples:
            raise ConfigError(
                f"{data}: no question of the {self.task} training file has candidates, of which to learn; copy the "
                "released file there"
            )
        total = len(examples)
        notes = []
        if options.sample is not None:
            examples = sampled_questions(examples, options.sample, options.seed)  # type: ignore[arg-type]
            clusters = len({one.cluster_id for one in examples})
            notes.append(
                f"romqa: learned from {len(examples):,} of {total:,} questions, in {clusters:,} clusters "
                f"(--sample {options.sample}, seed {options.seed})"
            )
        cases = [Case("train", "en")]
        held_out = []
        if has_split(self.task, data, "validation"):
            held_out = [one for one in candidate_questions(self.task, data, "validation", options.seed) if one.names]
            cases.append(Case("validation", "en"))
        else:
            notes.append("romqa: nothing is held out, so the last step's weights are kept")
        return PreparedStage(
            self.benchmark,
            examples,
            held_out,
            options.fitted_to(self.preset.fit),
            {"sample": options.sample},
            hashes_of(data, found.tasks[self.task], cases),
            notes,
        )


class ClosedCandidates(_Candidates):
    """Decides by the question and the candidate's name."""

    task = "closed"


class GoldCandidates(_Candidates):
    """Decides by the candidate's evidence too."""

    task = "gold"
