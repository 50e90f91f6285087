"""``quati-pool bench``: measures systems, programs, predictions and a model on the cases of a benchmark's task."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from quati_pool.commands.annotate.authoring.splits import read_splits
from quati_pool.commands.bench.collections import Source, write_workspace
from quati_pool.commands.bench.predictions import read_predictions
from quati_pool.commands.bench.provenance import Inputs
from quati_pool.commands.bench.readers import NamedReader, open_readers, read_answers
from quati_pool.commands.bench.retrieval import Curve, retrieve
from quati_pool.commands.bench.systems_file import SystemsFile
from quati_pool.commands.llm_runs import check_budget
from quati_pool.commands.model_answers.asking import Answerer, ask, chosen_answerer
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.files.artifacts import digest, file_digest
from quati_pool.project.events import Listener
from quati_pool.qa_benchmarks.base import (
    AnswerTask,
    AnswerTaskRun,
    Benchmark,
    Case,
    Collection,
    ReadingTask,
    RetrievalTask,
    Row,
    Task,
)
from quati_pool.registry import BENCHMARKS, nearest

# The file that judges are read from, unless --systems names another.
_CONFIG = Path("pool.yaml")

# Other names of the same split.
_SPLITS = {"dev": "validation", "val": "validation"}


@dataclass(frozen=True)
class BenchOptions:
    """Which cases to measure, and which systems.

    ``systems``: a pool.yaml with the systems that search and the judge that ``judge`` names. ``readers``: the names of
    their rows and their models, folders or names on the hub; ``device`` and ``batch_tokens`` are theirs. ``over``: the
    systems whose best passages a model reads. ``cut``: how texts are cut into passages, None for the task's own way.
    ``to``: the workspace to write a retrieval task's collection into. ``folder``: where runs, answers and reports are
    kept. ``budget``: US dollars, None for no limit.
    """

    folder: Path
    splits: Sequence[str] = ()
    languages: Sequence[str] = ()
    settings: Sequence[str] = ()
    systems: Path | None = None
    judge: str | None = None
    predictions: Sequence[tuple[str, Path]] = ()
    readers: Sequence[tuple[str, str]] = ()
    device: str | None = None
    batch_tokens: int | None = None
    over: Sequence[str] = ()
    cut: str | None = None
    to: Path | None = None
    seed: int = 0
    budget: float | None = None


@dataclass(eq=False)
class BenchResult:
    """The results of all cases.

    ``workspaces``: the pool.yaml of each collection that was written (with ``to``, instead of rows). ``files``: the
    contents of the task's further files by name. ``inputs``: the hash of each file that was read, by its path in the
    data folder or by the option that named it; a reader's is that of all that changes its answers. ``models``: the
    model by the name of the judge or reader. ``error``: why questions were left without an answer. ``interrupted``:
    whether that was Ctrl-C.
    """

    benchmark: type[Benchmark]
    task: Task
    data: Path
    options: BenchOptions
    rows: list[Row] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    workspaces: list[Path] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    error: QuatiPoolError | None = None
    interrupted: bool = False

    def note(self, *lines: str) -> None:
        """Adds the ``lines`` that are not among the notes yet."""
        self.notes += [line for line in dict.fromkeys(lines) if line not in self.notes]


def bench(
    name: str,
    task_name: str,
    data: Path,
    options: BenchOptions,
    listener: Listener,
    stop: threading.Event | None = None,
) -> BenchResult:
    """Measures every case that the folder ``data`` holds and ``options`` select.

    Raises QuatiPoolError where there is no such case, or where an option does not fit the task.
    """
    benchmark = BENCHMARKS.get(name)
    if task_name not in benchmark.tasks:
        raise ConfigError(f"{name} has no task {task_name!r}; {nearest(task_name, benchmark.tasks)}")
    task = benchmark.tasks[task_name]
    _refuse_misfits(name, task, options)
    if options.cut is not None:
        task = _cut_task(task, options.cut)
    if not data.is_dir():
        raise ConfigError(f"{data} is not a folder; give --data the folder with the files of {benchmark.source}")
    config = options.systems or _CONFIG
    if (options.systems or options.judge) and not config.is_file():
        raise ConfigError(f"{config} is not a file; name the pool.yaml of the systems and judges by --systems")
    cases = _chosen(task.cases(data), options)
    result = BenchResult(benchmark, task, data, options)
    answerer = chosen_answerer(config, options.judge) if options.judge else None
    if answerer is not None:
        result.models[answerer.name] = answerer.parameters.model
    readers = open_readers(options.readers, options.device, options.batch_tokens, listener)
    result.models.update(options.readers)
    runner = _CaseRunner(result, answerer, readers, listener, stop, Inputs(data))
    if isinstance(task, RetrievalTask):
        systems = SystemsFile.read(options.systems) if options.systems else None
        if options.to is not None:
            written = _first_settings(cases, options)
            runner.write(task, written, options.to, systems)
            for case in cases:
                if case not in written:
                    result.note(f"{' '.join(case)} is not written; to write it, add --setting {case.setting}")
        else:
            for case in cases:
                runner.search(task, case, systems)
    elif isinstance(task, AnswerTask):
        predicted = _predicted(cases, options)
        for case in cases:
            runner.answer(task.task_run(data, case, options.seed), options.predictions if case == predicted else ())
        if not result.rows and result.error is None:
            result.note(
                f"no program answers {name} {task_name}: name a model with --judge or --reader, or give --predictions"
            )
    # Hashed last, as the code that reads a broken file reports it better.
    result.inputs = _inputs(runner.inputs, task, cases, options)
    result.inputs.update({f"--reader {each.name}": digest(each.reader.identity) for each in readers})
    return result


def _cut_task(task: Task, way: str) -> Task:
    """The task over passages that are cut this way. Raises ConfigError for a way that it does not have."""
    assert isinstance(task, RetrievalTask)
    if way not in task.cuts:
        raise ConfigError(f"--cut {way}: {task.name} cuts at {' or '.join(task.cuts)}; name one")
    return task.cut_as(way)


def _inputs(read: Inputs, task: Task, cases: Sequence[Case], options: BenchOptions) -> dict[str, str]:
    """The hashes of all files that were read."""
    for case in cases:
        read.add(task.files(read.data, case))
    given = {f"--predictions {name}": path for name, path in options.predictions}
    if options.systems is not None or options.judge is not None:
        given["--systems"] = options.systems or _CONFIG
    return {**read.named(), **{option: file_digest(path) for option, path in given.items()}}


def case_folder(task: Task, case: Case) -> str:
    """The name of a case's folder."""
    return "-".join(filter(None, (task.name, *case)))


def _refuse_misfits(name: str, task: Task, options: BenchOptions) -> None:
    retrieval = isinstance(task, RetrievalTask)
    reads = isinstance(task, ReadingTask)
    asks = reads or isinstance(task, AnswerTask)
    misfits = {
        "--to": options.to is not None and not retrieval,
        "--judge": options.judge is not None and not asks,
        "--budget": options.budget is not None and options.judge is None,
        "--reader": bool(options.readers) and not asks,
        "--device": options.device is not None and not options.readers,
        "--batch-tokens": options.batch_tokens is not None and not options.readers,
        "--cut": options.cut is not None and not (isinstance(task, RetrievalTask) and task.cuts),
        "--over": bool(options.over) and not (reads and (options.judge or options.readers)),
        "--predictions": bool(options.predictions) and retrieval,
        "--systems": options.systems is not None and not retrieval and options.judge is None,
    }
    for option, misfit in misfits.items():
        if misfit:
            raise ConfigError(f"{option} has no effect on {name} {task.name} with these options; drop it")
    check_budget(options.budget)
    if any(name == options.judge for name, _ in options.readers):
        raise ConfigError(f"--reader {options.judge}: another row already has this name; give another by NAME=PATH")
    for option, given in (("--judge", options.judge is not None), ("--reader", bool(options.readers))):
        if options.to is not None and given:
            raise ConfigError(f"--to only writes a collection and asks no model; drop {option}, or --to")


def _chosen(cases: Sequence[Case], options: BenchOptions) -> list[Case]:
    """The cases that the options select, in their order. Raises ConfigError for a value that no case has."""
    chosen = list(cases)
    for option, field_, wanted in (
        ("--split", 0, [_SPLITS.get(split, split) for split in options.splits]),
        ("--lang", 1, list(options.languages)),
        ("--setting", 2, list(options.settings)),
    ):
        there = list(dict.fromkeys(case[field_] for case in cases))
        for value in wanted:
            if value not in there:
                found = ", ".join(value for value in there if value) or "only one, without a name"
                raise ConfigError(f"{option} {value}: the folder holds no such case; there is: {found}")
        if wanted:
            chosen = [case for case in chosen if case[field_] in wanted]
    if not chosen:
        all_cases = "; ".join(" ".join(filter(None, case)) for case in cases)
        raise ConfigError(f"no case matches all options; there are: {all_cases}")
    return chosen


def _first_settings(cases: Sequence[Case], options: BenchOptions) -> list[Case]:
    """One case for each split and language, that of its first setting; all cases where settings were named."""
    if options.settings:
        return list(cases)
    first: dict[tuple[str, str], Case] = {}
    for case in cases:
        first.setdefault(case[:2], case)
    return list(first.values())


def _predicted(cases: Sequence[Case], options: BenchOptions) -> Case | None:
    """The one case that predictions answer; None without predictions. Raises ConfigError for several cases."""
    if not options.predictions:
        return None
    among = _first_settings(cases, options)
    if len(among) > 1:
        there = "; ".join(" ".join(filter(None, case)) for case in among)
        raise ConfigError(
            f"--predictions answer one case, and there are {there}; name one by --split, --lang, --setting"
        )
    return among[0]


@dataclass
class _CaseRunner:
    """Measures one case at a time and adds its rows to ``result``; ``spent`` is the cost so far in US dollars."""

    result: BenchResult
    answerer: Answerer | None
    readers: Sequence[NamedReader]
    listener: Listener
    stop: threading.Event | None
    inputs: Inputs
    spent: float = 0.0

    def write(self, task: RetrievalTask, cases: Sequence[Case], to: Path, systems: SystemsFile | None) -> None:
        """Writes each case's collection as a workspace for the user: a single one into ``to``, several into folders
        in it."""
        for case in cases:
            folder = to if len(cases) == 1 else to / "-".join(filter(None, case))
            _, written = self._workspace(folder, task, case, systems, keep=True)
            self.result.workspaces.append(written)

    def _workspace(
        self, folder: Path, task: RetrievalTask, case: Case, systems: SystemsFile | None, *, keep: bool
    ) -> tuple[Collection, Path]:
        """Writes a case's workspace; returns its collection and the path of its pool.yaml."""
        result, data = self.result, self.inputs.data
        collection = task.collection(data, case)
        result.note(*collection.notes)
        files = self.inputs.add(task.files(data, case))
        released = read_splits(data)
        about = None if released is None else released.get("about", {})
        source = Source(f"{result.benchmark.name}-{case_folder(task, case)}", result.benchmark, files, about)
        config = write_workspace(folder, source, collection, systems, result.options.seed, self.listener, keep=keep)
        return collection, config

    def search(self, task: RetrievalTask, case: Case, systems: SystemsFile | None) -> None:
        """Adds the rows of every system on one collection, and of a model that reads the systems' passages."""
        result, options = self.result, self.result.options
        folder = options.folder / "collections" / case_folder(task, case)
        collection, config = self._workspace(folder, task, case, systems, keep=False)
        asks = isinstance(task, ReadingTask) and (self.answerer is not None or bool(self.readers))
        found = retrieve(config, collection, task, case, self.listener, options.over if asks else None)
        result.rows += found.rows
        result.note(*found.notes)
        if found.curve is not None:
            result.curves.append(found.curve)
        if not isinstance(task, ReadingTask):
            return
        for run_tag, passages in found.passages.items():
            for k in task.readers:
                task_run = task.reading(result.data, case, k, {query: texts[:k] for query, texts in passages.items()})
                result.note(*(f"{run_tag}@{k}, {note}" for note in task_run.notes))
                for named in self.readers:
                    self._read(task_run, named, f"{named.name} over {run_tag}@{k}")
                self._ask(task_run, f"{options.judge} over {run_tag}@{k}")

    def answer(self, task_run: AnswerTaskRun, predictions: Sequence[tuple[str, Path]]) -> None:
        """Adds the rows of programs, predictions, readers and the model on one case."""
        result = self.result
        result.note(*task_run.notes)
        programs = task_run.programs()
        for system, answers in programs.items():
            result.rows += task_run.rows(system, answers)
        taken = {*programs, result.options.judge}
        for option, name in (
            *(("--predictions", name) for name, _ in predictions),
            *(("--reader", named.name) for named in self.readers),
        ):
            if name in taken:
                raise ConfigError(f"{option} {name}: another row already has this name; give another by NAME=PATH")
            taken.add(name)
        for system, path in predictions:
            answers, missing = read_predictions(path, task_run)
            if missing:
                lacking = f"{len(missing):,} of {len(task_run.ids):,} questions"
                result.note(f"{system}: {lacking} have no prediction in {path.name} and count as empty")
            result.rows += task_run.rows(system, answers)
        if task_run.for_models and task_run.for_readers:
            for named in self.readers:
                self._read(task_run, named, named.name)
        if task_run.for_models:
            self._ask(task_run, str(result.options.judge))
        result.rows += task_run.extra_rows()
        result.files.update(task_run.files())

    def _read(self, task_run: AnswerTaskRun, named: NamedReader, system: str) -> None:
        """Adds the rows of a reader."""
        result = self.result
        answers = read_answers(task_run, named, result.options.folder / "answers", self.listener)
        result.note(*answers.notes)
        result.rows += task_run.rows(system, answers.values)

    def _ask(self, task_run: AnswerTaskRun, system: str) -> None:
        """Adds the row of the model if all questions have been asked; otherwise sets ``result.error``."""
        result, options = self.result, self.result.options
        if self.answerer is None or result.error is not None:
            return
        journal = options.folder / "answers" / f"{options.judge}.jsonl"
        left = None if options.budget is None else options.budget - self.spent
        answers = ask(task_run, self.answerer, journal, self.listener, left, self.stop)
        self.spent += answers.spent
        why = answers.cut_short(len(task_run.ids), options.budget, self.spent, "question")
        if why is not None:
            done = len(answers.values) + len(answers.failed)
            result.interrupted = answers.ended == "interrupted"
            result.error = QuatiPoolError(
                f"{options.judge} was asked {done:,} of {len(task_run.ids):,} questions of "
                f"{' '.join(filter(None, task_run.case))} ({why}); run the same command again: what is answered is kept"
            )
            result.note(str(result.error))
            return
        result.note(*_failures(system, task_run, answers.failed))
        result.rows += task_run.rows(system, answers.values)


def _failures(system: str, task_run: AnswerTaskRun, failed: Mapping[str, str]) -> list[str]:
    """A note on the questions without an answer: how many there are by state, and the first three."""
    if not failed:
        return []
    states = Counter(why.partition(":")[0] for why in failed.values()).most_common()
    counts = ", ".join(f"{count:,} {state}" for state, count in states)
    shown = "; ".join(f"{question_id}: {why}" for question_id, why in list(failed.items())[:3])
    more = "; …" if len(failed) > 3 else ""
    lacking = f"{len(failed):,} of {len(task_run.ids):,} questions have no answer"
    return [f"{system}, {' '.join(filter(None, task_run.case))}: {lacking}: {counts} ({shown}{more})"]
