"""``train reader --task cgqa|mrc|oqa``, and ``mcqa`` for models that write: answers in words, over Pirá."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from quati_pool.commands.train.passages import ReadSystem, passages_found, read_system
from quati_pool.commands.train.pira_examples import (
    choice_run,
    found_answers,
    reading_run,
    words_run,
    written_answers,
    written_options,
)
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
from quati_pool.models.location import LocalModel
from quati_pool.models.parameters import ModelParameters
from quati_pool.models.readers import extractive, generative
from quati_pool.models.readers.loaded import load_tokenizer, longest_input
from quati_pool.qa_benchmarks.base import AnswerTaskRun, Case, Task
from quati_pool.qa_benchmarks.multiple_choice import MultipleChoiceTaskRun
from quati_pool.qa_benchmarks.pira.answering import WordsTaskRun
from quati_pool.text.pluralize import counted
from quati_pool.training.fit import Fitted, Progress
from quati_pool.training.readers.extractive import AnswerMarking
from quati_pool.training.readers.generative import AnswerWriting
from quati_pool.training.readers.presets import PRESETS, Preset
from quati_pool.training.readers.supervised import load_for_training, train

PASSAGES = 5
"""How many passages are read, unless another number is given."""


class _Cases(NamedTuple):
    task: Task
    training: Sequence[Case]
    held_out: Sequence[Case]


class PiraRecipe(Recipe):
    """One stage for each folder of Pirá's files: learns from the split train, and holds validation out."""

    benchmark: ClassVar[str] = "pira"
    uses: ClassVar[frozenset[str]] = frozenset({"languages", "settings"})
    task: ClassVar[str]

    @property
    def preset(self) -> Preset:
        """The papers' settings for this kind of reader and task."""
        return PRESETS[self.kind, self.task]

    def prepare(self) -> list[PreparedStage]:
        return [self._stage(name, data) for name, data in self.options.data]

    def held_out_runs(self) -> list[AnswerTaskRun]:
        name, data = self.options.data[-1]
        found = self._cases(name, data)
        return [self.run(data, case) for case in found.held_out]

    @abstractmethod
    def run(self, data: Path, case: Case) -> AnswerTaskRun:
        """The questions of a case, as the reader gets them."""

    def _words(self, data: Path, case: Case) -> WordsTaskRun:
        run = self.run(data, case)
        assert isinstance(run, WordsTaskRun)
        return run

    @abstractmethod
    def examples(self, data: Path, case: Case) -> list[Any]:
        """The examples of a case."""

    def about(self) -> dict[str, Any]:
        """Further settings that change the weights."""
        return {} if self.answer_tokens is None else {"answer_tokens": self.answer_tokens}

    @property
    def answer_tokens(self) -> int | None:
        """The longest answer in tokens; None where the reader gives none in words."""
        return self.options.answer_tokens or self.preset.answer_tokens

    def _stage(self, name: str | None, data: Path) -> PreparedStage:
        found = self._cases(name, data)
        examples, held_out = (self._examples(data, cases) for cases in (found.training, found.held_out))
        if not examples:
            raise ConfigError(f"{data}: train.csv has no question that --task {self.task} can learn from")
        notes = [] if held_out else ["pira: nothing is held out, so the last step's weights are kept"]
        return PreparedStage(
            self.benchmark,
            examples,
            held_out,
            self.options.fitted_to(self.preset.fit),
            {"cases": [in_words(case) for case in found.training], **self.about()},
            hashes_of(data, found.task, [*found.training, *found.held_out]),
            notes,
        )

    def _examples(self, data: Path, cases: Sequence[Case]) -> list[Any]:
        """The examples of all cases. Cases share question ids, so of several each id begins with its case."""
        if len(cases) == 1:
            return self.examples(data, cases[0])
        return [
            replace(example, id=f"{in_words(case)}/{example.id}")
            for case in cases
            for example in self.examples(data, case)
        ]

    def _cases(self, name: str | None, data: Path) -> _Cases:
        found = benchmark_of(name, self.benchmark, data)
        if found.name != self.benchmark:
            raise ConfigError(f"--task {self.task} learns from pira, not from {found.name}; give the folder of Pirá")
        task = found.tasks[self.task]
        training = training_cases(task, data, self.options, all_settings=False)
        return _Cases(task, training, held_out_cases(task, data, training, self.options, all_settings=False))


class _Writing(PiraRecipe):
    """Readers that write their answer."""

    kind = generative.GenerativeReader.kind
    uses = PiraRecipe.uses | {"answer_tokens"}

    def examples(self, data: Path, case: Case) -> list[Any]:
        return written_answers(self._words(data, case))

    def load(self, local: LocalModel, stages: Sequence[PreparedStage]) -> Trainee:
        tokenizer = load_tokenizer(ModelParameters(model=self.options.model), local)
        model = load_for_training(generative.MODEL, local.folder, self.options.model, self.options.seed)
        longest = longest_input(model, tokenizer)
        most = input_tokens(self.options, self.preset.max_tokens, longest)
        longest_answer = self.answer_tokens
        assert longest_answer is not None
        if longest is not None and longest_answer > longest:
            raise ConfigError(
                f"--answer-tokens {longest_answer:,}: model {self.options.model!r} writes at most {longest:,}"
            )
        writing = AnswerWriting(tokenizer, most, longest_answer)
        kept = []
        for each in stages:
            stage = fitting(each, writing.encoded, most)
            contexts, answers = writing.cut(stage.examples)
            notes = [
                f"{stage.name}: {count:,} of {len(stage.examples):,} training examples have {what}"
                for count, what in (
                    (contexts, "a text that is shortened to fit"),
                    (answers, f"an answer that is cut to {longest_answer} tokens"),
                )
                if count
            ]
            kept.append(replace(stage, notes=[*stage.notes, *notes]))
        return Trainee(model, tokenizer, most, {"answer_tokens": longest_answer}, writing, kept)

    def fit(self, trainee: Trainee, stage: PreparedStage, checkpoints: Path, progress: Progress) -> Fitted:
        writing: AnswerWriting = trainee.encoder
        examples, held_out = writing.examples(stage.examples), writing.examples(stage.held_out)
        return train(trainee.model, examples, held_out, writing.collate, stage.settings, checkpoints, progress)


class _Marking(PiraRecipe):
    """Readers that mark the answer in a text."""

    kind = extractive.ExtractiveReader.kind
    uses = PiraRecipe.uses | {"answer_tokens"}

    def examples(self, data: Path, case: Case) -> list[Any]:
        return found_answers(self._words(data, case))

    def load(self, local: LocalModel, stages: Sequence[PreparedStage]) -> Trainee:
        tokenizer = load_tokenizer(ModelParameters(model=self.options.model), local)
        model = load_for_training(extractive.MODEL, local.folder, self.options.model, self.options.seed, num_labels=2)
        most = input_tokens(self.options, self.preset.max_tokens, longest_input(model, tokenizer))
        marking = AnswerMarking(tokenizer, most)
        kept = []
        for each in stages:
            stage = fitting(each, lambda example: marking.marked([example]), most)
            marked = marking.marked(stage.examples)
            if marked.f1 is None:
                raise ConfigError(f"{stage.name}: no answer shares a word with its text, so that there is none to mark")
            notes = [
                f"{stage.name}: what is learned is the stretch of the text with the highest token F1 with the answer, "
                f"{marked.f1:.1f} on average"
            ]
            if marked.without:
                left_out = counted(marked.without, "example", "examples")
                notes.append(f"{stage.name}: {left_out} left out, for want of a word that text and answer share")
            kept.append(replace(stage, notes=[*stage.notes, *notes]))
        return Trainee(model, tokenizer, most, {"answer_tokens": self.answer_tokens}, marking, kept)

    def fit(self, trainee: Trainee, stage: PreparedStage, checkpoints: Path, progress: Progress) -> Fitted:
        marking: AnswerMarking = trainee.encoder
        examples, held_out = (marking.examples(marking.marked(some)) for some in (stage.examples, stage.held_out))
        return train(trainee.model, examples, held_out, marking.collate, stage.settings, checkpoints, progress)


class _Answering(PiraRecipe):
    """Answers without a text, or over the question's own."""

    def run(self, data: Path, case: Case) -> WordsTaskRun:
        return words_run(self.task, data, case, self.options.seed)


class _Reading(PiraRecipe):
    """Answers over the best passages that a system found, which are read as one text, best first."""

    task = "oqa"
    uses = PiraRecipe.uses | {"answer_tokens", "systems", "over", "passages"}

    def run(self, data: Path, case: Case) -> WordsTaskRun:
        if (data, case) not in self._found:
            self._found[data, case] = passages_found(
                data, case, self._over, self._folder, self.options.seed, self.listener
            )
        return reading_run(data, case, self._count, self._found[data, case])

    def about(self) -> dict[str, Any]:
        return {**super().about(), "over": self._over.about(), "passages": self._count}

    @property
    def _count(self) -> int:
        return self.options.passages or PASSAGES

    @cached_property
    def _over(self) -> ReadSystem:
        return read_system(self.options.systems, self.options.over)

    @cached_property
    def _found(self) -> dict[tuple[Path, Case], Mapping[str, Sequence[str]]]:
        return {}

    @property
    def _folder(self) -> Path:
        output = self.options.output
        return output.with_name(f"{output.name}-collections")


class ClosedWriting(_Answering, _Writing):
    """``cgqa``: writes answers to questions alone."""

    task = "cgqa"


class TextWriting(_Answering, _Writing):
    """``mrc``: writes answers over the question's own text."""

    task = "mrc"


class TextMarking(_Answering, _Marking):
    """``mrc``: marks answers in the question's own text."""

    task = "mrc"


class PassageWriting(_Reading, _Writing):
    """``oqa``: writes answers over passages."""


class PassageMarking(_Reading, _Marking):
    """``oqa``: marks answers in passages."""


class WrittenChoices(_Writing):
    """``mcqa`` for models such as UnifiedQA, which write the right option."""

    task = "mcqa"

    def run(self, data: Path, case: Case) -> MultipleChoiceTaskRun:
        return choice_run(data, case, self.options.seed)

    def examples(self, data: Path, case: Case) -> list[Any]:
        return written_options(self.run(data, case))
