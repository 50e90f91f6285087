"""Builds the runs of a benchmark's collection and measures them under its qrels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.commands.bench.systems_file import foreign_languages
from quati_pool.commands.build import build
from quati_pool.errors import ConfigError
from quati_pool.evaluation.judged_runs import JudgedRuns, emptied_if_unjudged
from quati_pool.evaluation.measures import resolve
from quati_pool.evaluation.robust import robust
from quati_pool.evaluation.scores import Scores, score
from quati_pool.evaluation.success import first_relevant, random_success, success
from quati_pool.files.artifacts import read_counts
from quati_pool.files.runs import read_run
from quati_pool.labels.qrels import qrels_of
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.project.workspace import Workspace
from quati_pool.qa_benchmarks.base import Case, Collection, ReadingTask, RetrievalTask, Row
from quati_pool.records import Ids, Run
from quati_pool.registry import nearest

Values = npt.NDArray[np.float64]

CURVE_DEPTH = 100
_SUCCESS = (1, 5, 10)
_FIRST = "nDCG@10"


@dataclass(frozen=True, eq=False)
class Curve:
    """Success@k for k = 1, 2, … of every system, and its expectation for a random order; each has shape (depth,),
    where depth is 100, or the depth of the runs where that is lower. ``queries`` is the number of queries."""

    case: Case
    systems: Mapping[str, Values]
    random: Values
    queries: int


@dataclass(frozen=True, eq=False)
class Retrieved:
    """The rows of all systems, in the order of pool.yaml. ``curve`` is None where the task has none. ``passages`` has,
    for each system whose passages are read, its texts by query, best first. ``notes`` apply to all rows."""

    rows: list[Row]
    curve: Curve | None = None
    passages: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    notes: Sequence[str] = ()


def retrieve(
    config_path: Path,
    collection: Collection,
    task: RetrievalTask,
    case: Case,
    listener: Listener,
    over: Sequence[str] | None = None,
) -> Retrieved:
    """Builds the workspace of ``config_path``, which holds ``collection``, and measures its runs.

    Every measure is a mean over all judged queries; a query without any result counts as 0. A measure whose cutoff is
    deeper than the runs is undefined. Where passages are cut from texts, ``text …`` are the measures of the texts in
    the order of their best passages; where queries are clustered, ``cluster_min nDCG@10`` is the mean over clusters of
    the lowest nDCG@10 in each.

    ``over``: the systems whose passages are read; the first system if empty, none if None. Raises ConfigError for a
    system that pool.yaml does not have, before anything is built, and the errors of ``build``.
    """
    config = load_config(config_path)
    readers = _readers(config, over)
    build(config_path, listener)
    runs = {run_tag: _run(config, run_tag) for run_tag in config.systems}
    qrels = qrels_of(collection.qrels)
    joined = JudgedRuns([emptied_if_unjudged(run, qrels) for run in runs.values()], qrels)
    measured = _MeasuredRuns(joined, config.run_depth, task.measures)
    measures, undefined = measured.measures()
    if collection.units is not None:
        texts = _by_text(joined.runs, collection, collection.units)
        text_measures, text_undefined = _MeasuredRuns(texts, config.run_depth, task.measures).measures()
        for by_name, by_text_name in zip(measures, text_measures, strict=True):
            by_name |= {f"text {name}": value for name, value in by_text_name.items()}
        undefined |= {f"text {name}": why for name, why in text_undefined.items()}
    extra = _cluster_minima(measured.scores, collection, measures, undefined)
    notes = _notes_of_systems(config, collection, measured.scores)
    rows = [
        Row(run_tag, case, len(measured.scores.query_ids), measures[place], undefined, notes=notes[place], extra=extra)
        for place, run_tag in enumerate(runs)
    ]
    curve = _curve(measured, collection, case) if task.curve else None
    text = dict(collection.passages) if readers else {}
    deepest = max(task.readers) if isinstance(task, ReadingTask) else 0
    passages = {tag: _texts(runs[tag], collection, text, deepest) for tag in readers}
    return Retrieved(rows, curve, passages, _notes(config, collection))


class _MeasuredRuns:
    """Runs of passages or of texts under qrels of the same unit, with their scores and success@k."""

    def __init__(self, joined: JudgedRuns, run_depth: int, measures: Sequence[str]) -> None:
        self.joined = joined
        self.run_depth = run_depth
        self.scores = score(joined, list(dict.fromkeys([_FIRST, *measures])))
        self.curves = success(first_relevant(joined, CURVE_DEPTH), CURVE_DEPTH)

    def measures(self) -> tuple[list[dict[str, float | None]], dict[str, str]]:
        """Each run's measures by name, and the reason for each measure that is undefined for all runs."""
        means = self.scores.values.mean(axis=2)
        found: list[dict[str, float | None]] = []
        for run in range(len(self.joined.runs)):
            by_name: dict[str, float | None] = dict(zip(self.scores.measures, means[run].tolist(), strict=True))
            by_name |= {f"success@{k}": float(self.curves[run, k - 1]) for k in _SUCCESS}
            found.append(by_name)
        undefined = {}
        for name in found[0] if found else ():
            depth = _cutoff(name)
            if depth is not None and depth > self.run_depth:
                undefined[name] = f"the runs end at rank {self.run_depth}"
                for by_name in found:
                    by_name[name] = None
        return found, undefined


def _curve(measured: _MeasuredRuns, collection: Collection, case: Case) -> Curve:
    """Success@k down to the end of the runs, and its expectation for a random order of the corpus."""
    depth = min(CURVE_DEPTH, measured.run_depth)
    there = {doc_id for doc_id, _ in collection.passages}
    place = {query_id: at for at, query_id in enumerate(measured.scores.query_ids)}
    relevant = np.zeros(len(place), dtype=np.int64)
    for query_id, doc_id, relevance in collection.qrels:
        relevant[place[query_id]] += relevance > 0 and doc_id in there
    expected = random_success(relevant, len(there), depth)
    systems = {tag: measured.curves[run, :depth] for run, tag in enumerate(measured.scores.run_tags)}
    return Curve(case, systems, expected, len(place))


def _readers(config: PoolConfig, over: Sequence[str] | None) -> list[str]:
    """The systems whose passages are read. Raises ConfigError for one that pool.yaml does not have."""
    if over is None:
        return []
    for run_tag in over:
        if run_tag not in config.systems:
            raise ConfigError(f"--over {run_tag}: no such system; {nearest(run_tag, config.systems)}")
    return list(dict.fromkeys(over)) or [next(iter(config.systems))]


def _run(config: PoolConfig, run_tag: str) -> Run:
    path = Workspace(config.folder).run(run_tag)
    if read_counts(path)["documents"] == 0:
        return Run.empty(run_tag)
    return read_run(path, run_tag)


def _by_text(runs: Sequence[Run], collection: Collection, units: Mapping[str, str]) -> JudgedRuns:
    """Runs and qrels of texts: each text is ranked by its best passage and has its passages' highest relevance."""
    names = Ids(list(dict.fromkeys(units.values())))
    grades: dict[tuple[str, str], int] = {}
    for query_id, doc_id, relevance in collection.qrels:
        pair = query_id, units.get(doc_id, doc_id)
        grades[pair] = max(relevance, grades.get(pair, relevance))
    text_runs = []
    for run in runs:
        unit = names.encode([units[doc_id] for doc_id in run.docs.values.to_pylist()])[run.doc]
        # Rows are sorted by query, then rank: the first of each pair is the text's best passage.
        _, first = np.unique(run.query * max(len(names), 1) + unit, return_index=True)
        kept = np.sort(first)
        text_runs.append(Run.ranked(run.run_tag, run.queries, names, run.query[kept], unit[kept], -run.rank[kept]))
    return JudgedRuns(text_runs, qrels_of([(*pair, relevance) for pair, relevance in grades.items()]))


def _cluster_minima(
    scores: Scores,
    collection: Collection,
    measures: Sequence[dict[str, float | None]],
    undefined: dict[str, str],
) -> dict[str, Any]:
    """Adds each run's cluster minimum of the first measure. Returns the number of clusters and of those with a
    single query; empty where no judged query has a cluster."""
    clusters = {topic.query_id: topic.cluster_id or None for topic in collection.queries}
    found = robust(scores, clusters, draws=0)
    if found is None:
        return {}
    name = f"cluster_min {_FIRST}"
    if _FIRST in undefined:
        undefined[name] = undefined[_FIRST]
    minima = {row.run_tag: row.measures[_FIRST].minimum.value for row in found.rows}
    for run_tag, by_name in zip(scores.run_tags, measures, strict=True):
        by_name[name] = None if _FIRST in undefined else minima[run_tag]
    return {"clusters": found.clusters, "single_query_clusters": found.single}


def _notes(config: PoolConfig, collection: Collection) -> list[str]:
    """Notes on all systems."""
    found = []
    judged = {query_id for query_id, _, _ in collection.qrels}
    queries = len(collection.queries)
    if len(judged) < queries:
        found.append(f"{queries - len(judged):,} of {queries:,} queries have no judgement and count nowhere")
    there = {doc_id for doc_id, _ in collection.passages}
    lost = sum(relevance > 0 and doc_id not in there for _, doc_id, relevance in collection.qrels)
    if lost:
        found.append(f"{lost:,} relevant passages are not in the corpus, where no system can find them")
    if collection.units is not None:
        found.append(f"texts rank in the order of their best passages among a run's first {config.run_depth:,}")
    return found


def _notes_of_systems(config: PoolConfig, collection: Collection, scores: Scores) -> list[tuple[str, ...]]:
    """Notes on each system."""
    foreign = foreign_languages(config, collection.language)
    queries = len(scores.query_ids)
    found = []
    for run, run_tag in enumerate(scores.run_tags):
        lines = []
        missing = int(scores.missing[run].sum())
        if missing:
            lines.append(f"found nothing for {missing:,} of {queries:,} queries, which count 0")
        if run_tag in foreign:
            lines.append(f"reads the texts, which are in {collection.language}, as {foreign[run_tag]}")
        found.append(tuple(lines))
    return found


def _cutoff(name: str) -> int | None:
    """The cutoff of a measure; None without one."""
    (measure,) = resolve([name.replace("success", "Success")])
    cutoff: int | None = measure.params.get("cutoff")
    return cutoff


def _texts(run: Run, collection: Collection, text: Mapping[str, str], depth: int) -> dict[str, list[str]]:
    """The texts of each query's first ``depth`` passages; an empty list for a query that the run lacks."""
    found: dict[str, list[str]] = {topic.query_id: [] for topic in collection.queries}
    top = run.head(depth)
    query_ids, doc_ids = run.queries.decode(top.query).to_pylist(), run.docs.decode(top.doc).to_pylist()
    for query_id, doc_id in zip(query_ids, doc_ids, strict=True):
        found[query_id].append(text[doc_id])
    return found
