"""What ``train reader`` does for one task: which examples it makes of released files, and how it trains on them.

A task of ``train reader`` is one subclass of ``Recipe`` and one entry in ``RECIPES``.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from quati_pool.commands.bench.provenance import Inputs
from quati_pool.errors import ConfigError
from quati_pool.models.location import LocalModel
from quati_pool.models.modules import read_config
from quati_pool.models.readers.base import TooLongError
from quati_pool.project.events import Listener
from quati_pool.qa_benchmarks.base import AnswerTaskRun, Benchmark, Case, Task
from quati_pool.registry import BENCHMARKS, nearest
from quati_pool.training.fit import FitSettings, Fitted, Progress

RECIPES: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "mcqa": {"multiple-choice": ("choices", "Choices"), "generative": ("words", "WrittenChoices")},
    "cgqa": {"generative": ("words", "ClosedWriting")},
    "mrc": {"generative": ("words", "TextWriting"), "extractive": ("words", "TextMarking")},
    "oqa": {"generative": ("words", "PassageWriting"), "extractive": ("words", "PassageMarking")},
    "at": {"classifier": ("triggering", "Triggering")},
    "closed": {"candidates": ("candidates", "ClosedCandidates")},
    "gold": {"candidates": ("candidates", "GoldCandidates")},
}
"""The recipes of each task by kind of reader: the module in this package, and the class."""


@dataclass(frozen=True)
class ReaderOptions:
    """What ``train reader`` was given.

    ``data``: the benchmark (None for the task's own) and the folder of each stage, in order. ``model``: a folder, or a
    name on the hub. ``output``: the folder of the reader. ``method`` and ``sample``: of tasks that have some. For
    ``oqa``, ``systems`` is a pool.yaml, ``over`` the system in it, and ``passages`` how many of its best are read.
    ``answer_tokens``: of the longest answer in words.
    ``given``: the fields of ``FitSettings`` that were given; the recipe's preset has the others.
    """

    task: str
    data: Sequence[tuple[str | None, Path]]
    model: str
    output: Path
    languages: Sequence[str] = ()
    settings: Sequence[str] = ()
    method: str | None = None
    sample: str | None = None
    systems: Path | None = None
    over: str | None = None
    passages: int | None = None
    answer_tokens: int | None = None
    max_tokens: int | None = None
    seed: int = 0
    given: Mapping[str, Any] = field(default_factory=dict)

    def fitted_to(self, preset: FitSettings) -> FitSettings:
        """The preset with what was given instead."""
        return replace(preset, seed=self.seed, **self.given)


OF_SOME_TASKS = {
    "languages": "--lang",
    "settings": "--setting",
    "method": "--method",
    "sample": "--sample",
    "systems": "--systems",
    "over": "--over",
    "passages": "--passages",
    "answer_tokens": "--answer-tokens",
}
"""The options that only some tasks use, by field."""


@dataclass(frozen=True)
class PreparedStage:
    """One stage of training: its ``examples`` and ``held_out`` ones are dataclasses of plain values with an ``id``.

    ``about``: further settings that change the weights. ``inputs``: the hash of each file that was read. ``notes``: on
    the examples.
    """

    name: str
    examples: Sequence[Any]
    held_out: Sequence[Any]
    settings: FitSettings
    about: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Trainee:
    """A model to train, its tokenizer, and what inference must know of its inputs (``ReaderCard``). ``encoder`` is for
    the recipe. ``stages``: those to train on where some examples do not fit the model, with notes; None for all."""

    model: Any
    tokenizer: Any
    max_tokens: int
    inputs: Mapping[str, Any] = field(default_factory=dict)
    encoder: Any = None
    stages: Sequence[PreparedStage] | None = None


class Recipe(ABC):
    """How readers of one task are trained."""

    kind: ClassVar[str]
    """The kind of reader, as cards name it."""
    benchmark: ClassVar[str]
    """The benchmark whose files are meant by --data DIR."""
    uses: ClassVar[frozenset[str]] = frozenset()
    """The fields of ``ReaderOptions`` in ``OF_SOME_TASKS`` that it uses; the others are refused."""

    def __init__(self, options: ReaderOptions, listener: Listener) -> None:
        self.options = options
        self.listener = listener

    @abstractmethod
    def prepare(self) -> list[PreparedStage]:
        """The examples and settings of each stage. Raises QuatiPoolError for options and files that do not fit."""

    @abstractmethod
    def load(self, local: LocalModel, stages: Sequence[PreparedStage]) -> Trainee:
        """The model before any training. Raises ModelError for one that cannot learn the task."""

    @abstractmethod
    def fit(self, trainee: Trainee, stage: PreparedStage, checkpoints: Path, progress: Progress) -> Fitted:
        """Trains the model in place on one stage, going on from ``checkpoints``."""

    @abstractmethod
    def held_out_runs(self) -> list[AnswerTaskRun]:
        """The questions of the last stage's held-out split that the trained reader is measured on; empty without."""


def recipe(options: ReaderOptions, local: LocalModel, listener: Listener) -> Recipe:
    """The recipe of a task for a model: encoder-decoders such as T5 write, if the task has a recipe for that, and other
    models choose or mark. Raises ConfigError for an unknown task, a model that cannot learn it, and an option
    that has no effect."""
    if options.task not in RECIPES:
        raise ConfigError(f"--task {options.task}: there is no such task; {nearest(options.task, RECIPES)}")
    kinds = RECIPES[options.task]
    writes = bool(read_config(local.folder / "config.json").get("is_encoder_decoder"))
    kind = next((kind for kind in kinds if (kind == "generative") == writes), next(iter(kinds)))
    if kind == "generative" and not writes:
        raise ConfigError(
            f"--task {options.task}: model {options.model!r} writes no answers; name an encoder-decoder such as T5"
        )
    module, name = kinds[kind]
    found: Recipe = getattr(importlib.import_module(f"quati_pool.commands.train.{module}"), name)(options, listener)
    for field_, option in OF_SOME_TASKS.items():
        if getattr(options, field_) and field_ not in found.uses:
            raise ConfigError(f"{option} has no effect on --task {options.task} with this model; drop it")
    return found


def benchmark_of(name: str | None, default: str, data: Path) -> Benchmark:
    """The benchmark of a stage; raises ConfigError where there is none, or ``data`` is no folder."""
    benchmark: Benchmark = BENCHMARKS.get(name or default)()
    if not data.is_dir():
        raise ConfigError(f"{data} is not a folder; give the folder with the files of {benchmark.source}")
    return benchmark


def training_cases(task: Task, data: Path, options: ReaderOptions, *, all_settings: bool) -> list[Case]:
    """The cases of the split train to learn from: those of the languages and settings that were named.

    Without --setting these are the cases of all settings or, if not ``all_settings`` because they are versions of the
    same questions, of the first. Raises ConfigError where there is none, and where there are several languages and none
    was named.
    """
    cases = [case for case in task.cases(data) if case.split == "train"]
    if not cases:
        raise ConfigError(f"{data} holds no file of the split train that can be learned from")
    for option, place, wanted in (("--lang", 1, options.languages), ("--setting", 2, options.settings)):
        there = dict.fromkeys(case[place] for case in cases)
        for value in wanted:
            if value not in there:
                found = ", ".join(filter(None, there)) or "only one, without a name"
                raise ConfigError(
                    f"{option} {value}: the training files in {data} hold no such case; there is: {found}"
                )
        if wanted:
            cases = [case for case in cases if case[place] in wanted]
    languages = list(dict.fromkeys(case.language for case in cases))
    if len(languages) > 1 and not options.languages:
        raise ConfigError(f"{data} holds texts in {', '.join(languages)}; name those to learn from by --lang")
    return cases if options.settings or all_settings else _first_settings(cases)


def held_out_cases(
    task: Task, data: Path, training: Sequence[Case], options: ReaderOptions, *, all_settings: bool
) -> list[Case]:
    """The cases of the split validation that belong to the ``training`` ones: of their languages, and of the settings
    that were named or, as for training, of all settings or the first. Empty where there is none."""
    languages = {case.language for case in training}
    cases = [case for case in task.cases(data) if case.split == "validation" and case.language in languages]
    if options.settings:
        return [case for case in cases if case.setting in options.settings]
    return cases if all_settings else _first_settings(cases)


def _first_settings(cases: Sequence[Case]) -> list[Case]:
    """One case for each language, that of its first setting."""
    first: dict[str, Case] = {}
    for case in cases:
        first.setdefault(case.language, case)
    return list(first.values())


def input_tokens(options: ReaderOptions, usual: int, longest: int | None) -> int:
    """The longest input in tokens: what was given, or else the ``usual`` number, lowered to what the model takes
    (``longest``, None for a model without a limit). Raises ConfigError for more than the model takes."""
    if options.max_tokens is None:
        return usual if longest is None else min(usual, longest)
    if longest is not None and options.max_tokens > longest:
        raise ConfigError(f"--max-tokens {options.max_tokens:,}: model {options.model!r} takes at most {longest:,}")
    return options.max_tokens


def fitting(stage: PreparedStage, encode: Callable[[Any], object], most: int) -> PreparedStage:
    """The stage without the examples that ``encode`` refuses (TooLongError) because they do not fit into ``most``
    tokens even without any context, with a note on their number. Raises ConfigError where no example fits."""

    def fits(example: Any) -> bool:
        try:
            encode(example)
        except TooLongError:
            return False
        return True

    examples, held_out = (list(filter(fits, some)) for some in (stage.examples, stage.held_out))
    every = len(stage.examples) + len(stage.held_out)
    left_out = every - len(examples) - len(held_out)
    if not left_out:
        return stage
    if not examples:
        raise ConfigError(
            f"no question of {stage.name} fits into {most:,} tokens; raise --max-tokens, or name another model"
        )
    note = (
        f"{stage.name}: {left_out:,} of {every:,} questions are left out of training, as they have more than {most:,} "
        "tokens"
    )
    return replace(stage, examples=examples, held_out=held_out, notes=[*stage.notes, note])


def hashes_of(data: Path, task: Task, cases: Iterable[Case]) -> dict[str, str]:
    """The hash of each file that cases are read from, by its path in ``data``."""
    inputs = Inputs(data)
    for case in cases:
        inputs.add(task.files(data, case))
    return inputs.named()


def in_words(case: Case) -> str:
    """The case in a few words, such as ``train en built``."""
    return " ".join(filter(None, case))
