"""``quati-pool judge --pairs``: grades the pairs of a file, without a workspace.

The pairs become a pool in a temporary folder, which ``judge`` grades like that of a workspace. The judge's answers are
kept in a database next to the output.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any
from urllib.parse import quote

from quati_pool.commands.judge import plan
from quati_pool.commands.judge.chosen_judge import DEFAULT, JudgeOptions
from quati_pool.commands.judge.judge import JudgeReport, judge
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.evaluation.measures import DEFAULTS
from quati_pool.files.artifacts import clear_partials, file_digest, locked_output, write_file
from quati_pool.files.lines import output
from quati_pool.files.pools import read_pairs
from quati_pool.files.yaml_file import checked_parameters
from quati_pool.judging.llm_parameters import LlmParameters
from quati_pool.judging.prompts import load_prompt
from quati_pool.labels.base import Graded
from quati_pool.labels.failures import without_thoughts
from quati_pool.labels.labelers import Grading, make_judge
from quati_pool.llm.thoughts import ANY
from quati_pool.project.config import JudgeConfig, LabelsConfig, PoolConfig, QueriesConfig, scale_of
from quati_pool.project.events import Listener
from quati_pool.records import FAILURES, State
from quati_pool.registry import JUDGES, nearest
from quati_pool.store.database import Store
from quati_pool.store.failed_answers import FailedAnswer, failed_answers
from quati_pool.store.label_queries import rationales_of
from quati_pool.store.records import CurrentLabel
from quati_pool.text.fencing import sendable

RESULTS = ("relevance", "status", "rationale", "details", "judge", "judge_version")
"""The keys that the output adds to those of the input; ``details`` only if there are any."""

_COLLECTION = "pairs"
_POOL, _QUERIES = "pool.jsonl", "queries.jsonl"
_OF_ALL_JUDGES = ("samples", "aggregate")


@dataclass(frozen=True)
class PairsFile:
    """Pairs to be graded by one model, and the output file for them with their grades. ``settings`` are those of a
    judge in ``pool.yaml`` other than model and prompt; paths in them are relative to the current folder."""

    path: Path
    output: Path
    model: str
    prompt: str
    settings: Mapping[str, Any]

    @property
    def database(self) -> Path:
        return self.output.with_name(f"{self.output.name}.labels.db")


def judge_pairs(given: PairsFile, listener: Listener, options: JudgeOptions = DEFAULT) -> JudgeReport:
    """Asks about every pair that has no grade yet, as ``judge`` does, and writes all pairs with their current results.

    Only one process at a time works on an output; a second one waits, and then finds the work done. The output is
    written however the run ends. Raises QuatiPoolError, and writes nothing, if the run cannot start.
    """
    config = _config(given)
    working = given.output.with_name(f".work-{given.output.name}")
    with locked_output(given.output, listener.say), _emptied(working):
        read = _write_pool(given, working)
        config = _placed(config, working, given.database)
        report = judge(config, None, listener, replace(options, pool=working / _POOL))
        if file_digest(given.path) != read:
            problem = "was changed while it was graded; what was graded is kept: run the same command again"
            raise InputError(given.path, None, problem)
        clear_partials(given.output)
        key = {"pairs": read, "judge": report.judge, "version": report.version}
        provenance = {"prompt": given.prompt, "database": given.database.name}
        with Store.open(config.labels.url, working) as store, store.snapshot():
            grading = Grading(config, store, working / _POOL)
            write_file(given.output, key, provenance, lambda partial: _write(partial, given, grading, report))
    return replace(report, written=given.output)


def plan_pairs(given: PairsFile, listener: Listener, options: JudgeOptions = DEFAULT) -> plan.JudgePlan:
    """An estimate of what ``judge_pairs`` would ask now, without any call or write."""
    config = _config(given)
    with TemporaryDirectory(prefix="quati-pool-") as name:
        folder = Path(name)
        _write_pool(given, folder)
        database = given.database if given.database.exists() else folder / given.database.name
        config = _placed(config, folder, database)
        return plan.plan(config, None, listener, replace(options, pool=folder / _POOL))


def _config(given: PairsFile) -> PoolConfig:
    """The configuration that a ``pool.yaml`` in the current folder with only this judge would give.

    Raises QuatiPoolError for invalid files and settings.
    """
    if not given.output.name or given.output.is_dir():
        raise QuatiPoolError(f"{given.output} is a folder; name a file with -o")
    if given.output.resolve() == given.path.resolve():
        raise QuatiPoolError(f"{given.output} holds the pairs themselves; name another file with -o")
    if given.path.exists() and not (given.path.is_file() or given.path.is_dir()):
        raise InputError(given.path, None, "can be read only once; save it as a file first")
    settings, where = given.settings, "judge --set"
    known = {*LlmParameters.model_fields, *_OF_ALL_JUDGES}
    for key in settings:
        if key not in known:
            raise ConfigError(f"{where} {key}: there is no such parameter; {nearest(key, known)}")
    asked = {key: value for key, value in settings.items() if key not in _OF_ALL_JUDGES}
    parameters = checked_parameters(LlmParameters, {**asked, "model": given.model, "prompt": given.prompt}, where)
    prompt = load_prompt(given.prompt)
    # From here on paths are relative to another folder.
    prices = parameters.prices and str(Path(parameters.prices).resolve())
    parameters = parameters.model_copy(update={"prompt": str(prompt.path.resolve()), "prices": prices})
    own = {key: settings[key] for key in _OF_ALL_JUDGES if key in settings}
    judge = {"judge": "llm", "component": JUDGES.find("llm"), "parameters": parameters, **own}
    made = checked_parameters(JudgeConfig, judge, where)
    config = PoolConfig(
        name=_COLLECTION,
        corpora={},
        queries=QueriesConfig(path=_QUERIES),
        systems={},
        grades=scale_of(prompt.scale),
        judges={given.model: made},
        measures=list(DEFAULTS),
        path=Path("pool.yaml"),
    )
    make_judge(config, made)  # reports invalid settings before the pairs are read
    return config


def _placed(config: PoolConfig, folder: Path, database: Path) -> PoolConfig:
    """The same configuration with its ``pool.yaml`` in ``folder`` and its labels in ``database``."""
    labels = LabelsConfig(url=f"sqlite:///{quote(str(database.resolve()))}")
    return config.model_copy(update={"path": folder / config.path.name, "labels": labels})


@contextmanager
def _emptied(folder: Path) -> Iterator[None]:
    """Provides an empty folder, even if a killed process left files in it, and removes it afterwards."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write_pool(given: PairsFile, folder: Path) -> str:
    """Writes the pairs as a pool, grouped by query, and the queries with their narratives. Returns the hash of the
    pairs' file. Raises InputError if the file is invalid."""
    places: dict[str, list[int]] = {}
    read = file_digest(given.path) if given.path.is_file() else ""
    with TemporaryFile(dir=folder) as spool:
        with output(folder / _QUERIES) as queries:
            for pair, narrative, _ in read_pairs(given.path, RESULTS):
                if pair.query_id not in places:
                    query = {"query_id": pair.query_id, "query": pair.query, "narrative": narrative}
                    queries.write(_line(query))
                places.setdefault(pair.query_id, []).append(spool.tell())
                spool.write(_line(pair._asdict()))
        with output(folder / _POOL) as pool:
            for place in (place for of_query in places.values() for place in of_query):
                pool.write(_line_at(spool, place))
    return read


def _write(partial: Path, given: PairsFile, grading: Grading, report: JudgeReport) -> dict[str, int]:
    """Writes the pairs in the order of their file, each with the judge's result."""
    places: dict[tuple[str, str], int] = {}
    states: Counter[str] = Counter()
    with TemporaryFile(dir=grading.config.folder) as spool, output(partial) as stream:
        for graded, result in _results(grading, report):
            states[graded.status.value if graded.status else "never asked"] += 1
            places[graded.query_id, graded.doc_id] = spool.tell()
            spool.write(_line(result))
        for pair, _, head in read_pairs(given.path):
            answer = _line_at(spool, places[pair.query_id, pair.doc_id])
            stream.write(head.encode() + b", " + answer.removeprefix(b"{"))
    return {"pairs": len(places), **states}


def _results(grading: Grading, report: JudgeReport) -> Iterator[tuple[Graded, dict[str, Any]]]:
    labeler, version = grading.labeler(report.judge), report.version
    signed = {"judge": labeler.name, "judge_version": version}
    for pairs in grading.pairs():
        behind = labeler.behind(pairs)
        reasons = rationales_of(grading.store, [label.seq for labels in behind for label in labels.values()])
        found = labeler.graded(pairs)
        failing = [graded.query_id for graded in found if graded.status in FAILURES]
        failures = failed_answers(grading.store, grading.config.name, labeler.name, version, failing)
        marks = labeler.reading.thoughts if labeler.reading else ANY
        for graded, labels in zip(found, behind, strict=True):
            failed = failures.get((graded.query_id, graded.doc_id)) if graded.status in FAILURES else None
            failed = failed and without_thoughts(failed, marks)
            details = _details(labels, reasons, failed, report.pending.samples)
            agreeing = (label for label in labels.values() if label.relevance == graded.relevance)
            reason = next((reasons.get(label.seq) for label in agreeing), None) if failed is None else None
            result = {"relevance": graded.relevance, "status": graded.status, "rationale": reason}
            yield graded, {**result, **({"details": details} if details else {}), **signed}


def _details(
    labels: Mapping[int, CurrentLabel],
    reasons: Mapping[int, str],
    failed: FailedAnswer | None,
    samples: int,
) -> dict[str, Any]:
    """The details of a grade, per sample if there are several; for a failure also the problem and the answer."""
    details: dict[str, Any] = {}
    if failed is not None:
        details = {"problem": failed.problem, "answer": failed.answer}
        if failed.thoughts is not None:
            details["thoughts"] = failed.thoughts
    if samples == 1:
        return {**details, **{name: value for label in labels.values() for name, value in label.extra.items()}}
    answers = []
    for sample, label in labels.items():
        if label.status is State.no_text:
            continue
        reason = {"problem" if label.status in FAILURES else "rationale": reasons.get(label.seq)}
        answers.append(
            {"sample": sample, "relevance": label.relevance, "status": label.status, **reason, **label.extra}
        )
    return {**details, **({"samples": answers} if answers else {})}


def _line(record: Mapping[str, Any]) -> bytes:
    # A model can write a lone surrogate, which UTF-8 cannot encode.
    return sendable(json.dumps(record, ensure_ascii=False)).encode() + b"\n"


def _line_at(file: IO[bytes], place: int) -> bytes:
    file.seek(place)
    return file.readline()
