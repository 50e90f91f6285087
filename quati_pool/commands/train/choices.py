"""``train reader --task mcqa``: examples of multiple choice, and the settings of Shah, Gupta and Roth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from quati_pool.commands.train.recipes import (
    PreparedStage,
    Recipe,
    Trainee,
    benchmark_of,
    fitting,
    hashes_of,
    held_out_cases,
    in_words,
    input_tokens,
    training_cases,
)
from quati_pool.errors import ConfigError
from quati_pool.models.errors import ModelError
from quati_pool.models.location import LocalModel
from quati_pool.models.parameters import ModelParameters
from quati_pool.models.readers.loaded import load_tokenizer, longest_input
from quati_pool.models.readers.multiple_choice import InputForm, MultipleChoiceReader, OptionEncoder
from quati_pool.qa_benchmarks.base import AnswerTaskRun, Benchmark, Case, MissingDataError
from quati_pool.qa_benchmarks.expectations import Expectations
from quati_pool.qa_benchmarks.multiple_choice import MultipleChoice, MultipleChoiceTaskRun
from quati_pool.qa_benchmarks.pira.multiple import MultipleChoiceTask
from quati_pool.registry import BENCHMARKS, nearest
from quati_pool.training.fit import FitSettings, Fitted, Progress
from quati_pool.training.readers.augmentation import RIGHT_SHARE, WRONG_SHARE, ChoiceExample
from quati_pool.training.readers.multiple_choice import (
    Method,
    Stage,
    encode_released,
    load_encoder,
    train_stage,
)

RACE_TOKENS, OTHER_TOKENS = 384, 256
"""The paper's longest inputs, in tokens."""


def preset(method: Method) -> FitSettings:
    """The settings of the paper's code: batches of 16 questions, which here are 4 times 4; AdamW at 1e-5 with a weight
    decay of 0.1; a learning rate that rises over 6 % of the steps. The step is that of the lowest held-out loss, the
    paper's the epoch of the highest accuracy."""
    return FitSettings(
        epochs=method.epochs,
        batch_size=4,
        accumulate=4,
        learning_rate=1e-5,
        warmup=0.06,
        weight_decay=0.1,
        patience=None,
    )


class Choices(Recipe):
    """Multiple choice over any benchmark that has it. Of several stages, the last has the method of --method, and the
    others are trained as ``baseline``, as the paper trains on RACE first."""

    kind: ClassVar[str] = MultipleChoiceReader.kind
    benchmark: ClassVar[str] = "pira"
    uses: ClassVar[frozenset[str]] = frozenset({"languages", "settings", "method"})

    def prepare(self) -> list[PreparedStage]:
        options = self.options
        chosen = self._method()
        stages = []
        for number, (name, data) in enumerate(options.data, 1):
            method = chosen if number == len(options.data) else Method.baseline
            stages.append(self._stage(name, data, method, last=number == len(options.data)))
        return stages

    def load(self, local: LocalModel, stages: Sequence[PreparedStage]) -> Trainee:
        model = load_encoder(local.folder, self.options.model, self.options.seed)
        tokenizer = load_tokenizer(ModelParameters(model=self.options.model), local)
        usual = RACE_TOKENS if any(stage.name == "race" for stage in stages) else OTHER_TOKENS
        most = input_tokens(self.options, usual, longest_input(model, tokenizer))
        try:
            encoder = OptionEncoder(tokenizer, most, InputForm.parts)
        except ValueError as error:
            raise ModelError(f"model {self.options.model!r} cannot be used: {error}; name another model") from None
        kept = [fitting(stage, lambda example: encode_released(example, encoder), most) for stage in stages]
        return Trainee(model, tokenizer, most, {"form": InputForm.parts.value}, encoder, kept)

    def fit(self, trainee: Trainee, stage: PreparedStage, checkpoints: Path, progress: Progress) -> Fitted:
        method, augment_from = Method(stage.about["method"]), int(stage.about.get("augmentation", {}).get("from", 0))
        learned = Stage(stage.examples, stage.held_out, method, stage.settings, augment_from)
        return train_stage(trainee.model, trainee.encoder, trainee.tokenizer, learned, checkpoints, progress)

    def held_out_runs(self) -> list[AnswerTaskRun]:
        name, data = self.options.data[-1]
        found = self._cases(name, data, last=True)
        return [MultipleChoiceTaskRun(case, found.questions(case), self.options.seed) for case in found.held_out]

    def _method(self) -> Method:
        given = self.options.method
        methods = [method.value for method in Method]
        if given is not None and given not in methods:
            raise ConfigError(f"--method {given}: there is no such method; {nearest(given, methods)}")
        return Method.augmented if given is None else Method(given)

    def _stage(self, name: str | None, data: Path, method: Method, *, last: bool) -> PreparedStage:
        found = self._cases(name, data, last=last)
        benchmark = name or self.benchmark
        examples: list[ChoiceExample] = []
        notes: list[str] = []
        for case in found.training:
            made, unkeyed = _examples(case, found.questions(case))
            examples += made
            if unkeyed:
                notes.append(f"{benchmark}, {in_words(case)}: {unkeyed:,} questions without a released answer left out")
        if not examples:
            raise ConfigError(f"{data} holds no training question of {benchmark} with a released answer")
        held_out = [example for case in found.held_out for example in _examples(case, found.questions(case))[0]]
        if not held_out:
            notes.append(f"{benchmark}: nothing is held out, so the last step's weights are kept")
        about: dict[str, Any] = {"method": method.value, "cases": [in_words(case) for case in found.training]}
        settings = self.options.fitted_to(preset(method))
        if method is Method.augmented:
            # On RACE the first epoch is as released, as in the paper.
            first = 1 if benchmark == "race" else 0
            if settings.epochs <= first:
                raise ConfigError(
                    f"--epochs {settings.epochs}: on RACE, {method.value} learns the first epoch as released and so "
                    "would change nothing; raise it, or name --method binary"
                )
            about["augmentation"] = {"right": RIGHT_SHARE, "wrong": WRONG_SHARE, "from": first}
        inputs = hashes_of(data, found.task, [*found.training, *found.held_out])
        return PreparedStage(benchmark, examples, held_out, settings, about, inputs, notes)

    def _cases(self, name: str | None, data: Path, *, last: bool) -> _Cases:
        """The cases of a benchmark to learn from. --lang and --setting are about the ``last`` stage, and about another
        one as far as it has such cases."""
        benchmark = benchmark_of(name, self.benchmark, data)
        tasks = _tasks(benchmark)
        if not tasks:
            there = [other for other in BENCHMARKS.names() if _tasks(BENCHMARKS.get(other))]
            raise ConfigError(f"{benchmark.name} has no multiple choice; name one of {', '.join(there)}")
        # Pirá's own task has more sets than its expectations: those that are built, and those in Portuguese.
        task = next((one for one in tasks if isinstance(one, MultipleChoiceTask)), tasks[0])
        every = isinstance(task, Expectations)
        options = self.options
        try:
            cases = task.cases(data)
        except MissingDataError as error:
            if name is not None:
                raise
            raise ConfigError(f"{error}; or name another benchmark, such as race={data}") from None
        if not last:
            languages, settings = {case.language for case in cases}, {case.setting for case in cases}
            options = replace(
                options,
                languages=[language for language in options.languages if language in languages],
                settings=[setting for setting in options.settings if setting in settings],
            )
        training = training_cases(task, data, options, all_settings=every)
        held_out = held_out_cases(task, data, training, options, all_settings=every)
        return _Cases(task, data, training, held_out, self.options.seed)


@dataclass(frozen=True)
class _Cases:
    """The cases of a benchmark to learn from, and the task that reads their questions."""

    task: MultipleChoiceTask | Expectations
    data: Path
    training: Sequence[Case]
    held_out: Sequence[Case]
    seed: int

    def questions(self, case: Case) -> Sequence[MultipleChoice]:
        return self.task.questions(self.data, case, self.seed)


def _tasks(benchmark: Benchmark | type[Benchmark]) -> list[MultipleChoiceTask | Expectations]:
    """The tasks of a benchmark whose questions can be learned from."""
    return [task for task in benchmark.tasks.values() if isinstance(task, MultipleChoiceTask | Expectations)]


def _examples(case: Case, questions: Sequence[MultipleChoice]) -> tuple[list[ChoiceExample], int]:
    """The examples of a case, and the number of questions without a released answer. An id names the case too, as one
    question may be in several."""
    found = [
        ChoiceExample(
            f"{in_words(case)} {question.id}",
            question.question,
            question.options,
            question.labels.index(question.gold),
            question.contexts,
        )
        for question in questions
        if question.gold is not None
    ]
    return found, len(questions) - len(found)
