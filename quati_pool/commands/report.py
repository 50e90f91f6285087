"""The content of ``quati-pool report``: all results of a collection, over one state of its label database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from quati_pool.commands import labels
from quati_pool.commands.agree import AgreeReport, compare
from quati_pool.commands.audit.audit import AuditReport
from quati_pool.commands.audit.stored_audits import audit_digest, stored_audits
from quati_pool.commands.build import BuildResult
from quati_pool.commands.completeness import LabeledCompleteness, PoolGrades, labeled_completeness
from quati_pool.commands.estimates.drawn import estimate_drawn
from quati_pool.commands.estimates.estimate import EstimateReport
from quati_pool.commands.estimates.settings import EstimateSettings
from quati_pool.commands.evaluate import Evaluation, Settings, measure
from quati_pool.commands.labels import LabelsReport
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.evaluation.measures import parse_measures
from quati_pool.labels.gathered import Gathered, LabelFiles, LabelSource
from quati_pool.labels.labelers import Grading
from quati_pool.labels.main_labeler import Candidate
from quati_pool.labels.sources import gather
from quati_pool.pooling.diversity import diversity
from quati_pool.pooling.pool import Pool, growth, pool_grades
from quati_pool.project.cache_keys import refuse_outdated
from quati_pool.project.config import JudgeConfig, PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.project.inputs import load_queries
from quati_pool.project.pool_reader import pairs_without_text, read_ledger
from quati_pool.project.runs import RunSet, workspace_runs
from quati_pool.records import Run
from quati_pool.store.database import Store


@dataclass(frozen=True, eq=False)
class State:
    """The results of a collection at one moment; ``seq`` is the number of the last label in its database. If
    ``ledger``, ``runs``, ``agreement`` or ``evaluation`` is None, the reason is in ``missing``, by part of the report.
    ``grading`` reads single labels of the same state.

    ``estimates`` of the first measure under people's grades: None with a reason in ``missing`` if a random design drew
    pairs for people and nothing can be estimated yet, and without one if there is no such design.

    ``audits`` are those of judges and consensuses that were asked about changed pairs."""

    config: PoolConfig
    seq: int
    pool: BuildResult
    ledger: LabelsReport | None
    gathered: Gathered
    runs: RunSet | None
    agreement: AgreeReport | None
    evaluation: Evaluation | None
    missing: dict[str, str]
    settings: Settings
    seed: int
    grading: Grading
    estimates: EstimateReport | None = None
    audits: Sequence[AuditReport] = ()

    @property
    def sampled(self) -> bool:
        """Whether people grade a random sample, from which their grades of the rest are estimated."""
        return self.estimates is not None or "estimates" in self.missing

    def alone(self, source: LabelSource) -> bool:
        """Whether measures under the grades of ``source`` rest on a judge alone, while people grade a sample."""
        return self.sampled and source.grader in ("llm", "program", "distilled")

    def audit(self, name: str) -> AuditReport | None:
        """The audit of a labeler, if there is one."""
        return next((one for one in self.audits if one.judge == name), None)

    @property
    def unaudited(self) -> list[str]:
        """The judges whose grades rank systems, which ask a language model, and of which there is no audit."""
        sources = [condition.source for condition in self.evaluation.conditions] if self.evaluation else []
        return [
            source.name
            for source in sources
            if source.grader == "llm"
            and isinstance(self.config.judges.get(source.name), JudgeConfig)
            and self.audit(source.name) is None
        ]

    @cached_property
    def completeness(self) -> LabeledCompleteness | None:
        """What the pool lacks under the grades of the labeler that is named for the leaderboard, or else of the main
        one; None where nothing is graded."""
        pool, named = self.pool.pool, self.settings.labeler
        grades = [
            PoolGrades(Candidate(one.name, one.grader, len(one.qrels), one.members), *pool_grades(pool, one.qrels))
            for one in self.gathered.sources
            if named in (None, one.name)
        ]
        return labeled_completeness(self.config, pool, grades)

    @property
    def key(self) -> dict[str, Any]:
        """What the results depend on, for sidecars."""
        conditions = self.evaluation.conditions if self.evaluation else []
        return {
            "draws": self.settings.draws,
            "seed": self.seed,
            **({} if self.settings.queries == "judged" else {"queries": self.settings.queries}),
            "labelers": self.gathered.versions,
            **self.gathered.state,
            "state": self.seq,
            "runs": {condition.name: dict(condition.run_set.digests) for condition in conditions},
            # A design is drawn without a new label.
            **({"estimates": self._estimated} if self.sampled else {}),
            **({"audits": {one.judge: audit_digest(one) for one in self.audits}} if self.audits else {}),
        }

    @property
    def _estimated(self) -> str:
        if self.estimates is None:
            return self.missing["estimates"]
        return self.estimates.statement(self.estimates.estimates[0])


@contextmanager
def opened(
    config_path: Path,
    settings: Settings,
    people: Sequence[str] = (),
    listener: Listener | None = None,
    *,
    names: Sequence[str] = (),
    database: str | None = None,
) -> Iterator[State]:
    """Computes all results over one state of the label database, which stays open; of the labelers ``names`` without
    estimates, or of all. ``database`` is used in place of that in pool.yaml."""
    config = load_config(config_path)
    refuse_outdated(config)
    with Store.open(database or config.labels.url, config.folder) as store, store.snapshot() as seq:
        state = _computed(config, store, seq, settings, people, names, listener)
        yield state if names else _estimated(state, database)


def _computed(
    config: PoolConfig,
    store: Store,
    seq: int,
    settings: Settings,
    people: Sequence[str],
    names: Sequence[str],
    listener: Listener | None,
) -> State:
    measures = parse_measures(settings.measures or config.measures)
    seed = config.seed if settings.seed is None else settings.seed
    missing: dict[str, str] = {}
    grading = Grading(config, store)
    gathered = gather(config, names, LabelFiles(), people, store=store)
    ledger = None
    try:
        ledger = labels.read(grading, [*names] or None)
    except ConfigError as error:
        missing["labels"] = str(error)
    runs = None
    try:
        runs = workspace_runs(config)
    except QuatiPoolError as error:
        missing["evaluation"] = str(error)
    pool = built(config, grading.pool, runs.runs if runs else ())
    agreement = evaluation = None
    try:
        agreement = compare(gathered, draws=settings.draws, seed=seed, listener=listener)
    except QuatiPoolError as error:
        missing["agreement"] = str(error)
    try:
        evaluation = measure(config, gathered, [runs], measures, settings, listener=listener) if runs else None
    except QuatiPoolError as error:
        missing["evaluation"] = str(error)
    audits = stored_audits(grading, (listener or Listener()).say, names or None)
    return State(
        config, seq, pool, ledger, gathered, runs, agreement, evaluation, missing, settings, seed, grading,
        audits=audits,
    )  # fmt: skip


def _estimated(state: State, database: str | None) -> State:
    """The state with estimates under people's grades, if a random design drew pairs for people."""
    config, evaluation = state.config, state.evaluation
    if evaluation is None:
        return state
    settings = EstimateSettings(
        measures=evaluation.measures[:1],
        baseline=state.settings.baseline,
        alpha=state.settings.alpha,
        seed=state.seed,
    )
    try:
        found = estimate_drawn(config, state.grading.store, settings)
    except QuatiPoolError as error:
        return replace(state, missing={**state.missing, "estimates": str(error)})
    return replace(state, estimates=found)


def built(config: PoolConfig, path: Path, runs: Sequence[Run]) -> BuildResult:
    """The result of ``build`` for a pool on disk; its growth is empty unless ``runs`` includes every run that
    feeds the pool."""
    pool = read_ledger(path)
    absent = [run_tag for run_tag in pool.run_tags if run_tag not in config.systems]
    if absent:
        raise InputError(path, None, f"holds the system {absent[0]!r}, which pool.yaml does not; run: quati-pool build")
    feeding = {run_tag for run_tag, depth in zip(pool.run_tags, pool.depths.tolist(), strict=True) if depth}
    fed = [run for run in runs if run.run_tag in feeding]
    sizes = growth(fed) if fed and len(fed) == len(feeding) else np.empty(0, dtype=np.int64)
    return BuildResult(
        config, pool, diversity(pool), sizes, None, _without_pairs(config, pool), pairs_without_text(path)
    )


def _without_pairs(config: PoolConfig, pool: Pool) -> tuple[str, ...]:
    """The queries without a pair in the pool; none if the collection's queries cannot be read."""
    try:
        queries = load_queries(config).queries
    except QuatiPoolError:
        return ()
    pooled = set(pool.queries.decode(np.unique(pool.query)).to_pylist())
    return tuple(query.query_id for query in queries if query.query_id not in pooled)
