"""``quati-pool estimate``: what systems would score under people's grades, from few of theirs and all of a judge's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from quati_pool.commands.estimates.frame_estimator import FrameEstimator
from quati_pool.commands.estimates.inputs import chosen_runs, one_state, workspace
from quati_pool.commands.estimates.settings import EstimateSettings, measures_of, seed_of
from quati_pool.commands.estimates.sources import LabelInputs, graded, refuse_judge_of_the_sample
from quati_pool.estimation.results import Drawn, Estimate
from quati_pool.labels.gathered import Gathered, LabelFiles
from quati_pool.project.config import PoolConfig
from quati_pool.project.events import Listener
from quati_pool.text.pluralize import counted

if TYPE_CHECKING:
    from quati_pool.store.database import Store


@dataclass(frozen=True, eq=False)
class EstimateReport:
    """The result of ``estimate``: one estimate for each measure and target. ``people`` says whose grades are estimated,
    in words, ``aggregation`` how several grades of a pair became one, None for a single labeler; ``judge_version`` is
    None for a label file."""

    config: PoolConfig | None
    people: str
    judge: str
    judge_version: str | None
    drawn: Drawn
    estimates: tuple[Estimate, ...]
    seed: int
    """By which a design of the workspace drew; the same as ``simulation_seed`` for label files."""
    aggregation: str | None = None
    revealed: bool = False
    """Whether grades count that people gave after seeing a judge's."""
    gathered: Gathered | None = None
    """The label files that were read, or the workspace's labelers."""
    runs: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of each run's file, by run_tag."""
    warnings: tuple[str, ...] = ()
    seq: int | None = None
    """That of the last label in the workspace's store; None where the store was opened by others, or not at all."""
    simulation_seed: int = 0
    """The seed of simulated quantiles, and of how pairs are split for calibration."""

    def population(self, estimate: Estimate) -> str:
        """The queries that an estimate is for, with their number."""
        queries = self.drawn.queries
        if estimate.target == "these-queries":
            return f"these {queries:,} queries" if queries > 1 else "this query"
        return f"queries like these {queries:,}" if queries > 1 else "queries like this one"

    def statement(self, estimate: Estimate) -> str:
        """What an estimate holds for; it is printed wherever the estimate is shown."""
        drawn = self.drawn
        sample = (
            f"{counted(drawn.labelled, 'query', 'queries')} ({counted(drawn.labels, 'pair', 'pairs')})"
            if drawn.unit == "queries"
            else f"{counted(drawn.labels, 'pair', 'pairs')} of {counted(drawn.labelled, 'query', 'queries')}"
        )
        sample += ", which are all" if self._census else " drawn at random"
        seen = " (grades count that were given after seeing a judge's)" if self.revealed else ""
        version = f" (version {self.judge_version[:12]})" if self.judge_version else ""
        several = (
            "" if self.aggregation is None else f" ({self.aggregation} of a pair's grades, leads' decisions first)"
        )
        return (
            f"Estimate of {estimate.measure} under the grades of {self.people}{several}{seen}, "
            f"for {self.population(estimate)}, "
            f"within this pool; {sample}: {drawn.design}; "
            f"{self._covered(estimate)}; {counted(len(estimate.differences), 'comparison', 'comparisons')}"
            f"{'' if self._known(estimate) else ', Holm'}; "
            f"{counted(estimate.looks, 'look', 'looks')}; judge {self.judge}{version} used as covariate, "
            "never as truth."
        )

    @property
    def _census(self) -> bool:
        return self.drawn.unit == "queries" and self.drawn.labelled == self.drawn.queries

    def _known(self, estimate: Estimate) -> bool:
        return self._census and estimate.target == "these-queries"

    def _covered(self, estimate: Estimate) -> str:
        if self._known(estimate):
            return (
                "sampling leaves no error; disagreement among assessors, unjudged documents and systems outside the "
                "pool are not covered"
            )
        sampled = {self.drawn.unit, estimate.unit}
        if estimate.target == "queries-like-these":
            sampled.add("queries")
        return (
            f"the {estimate.level} intervals cover the sampling of {' and '.join(sorted(sampled, reverse=True))} "
            "only, not disagreement among assessors, unjudged documents or systems outside the pool"
        )


def estimate(
    config_path: Path,
    settings: EstimateSettings,
    files: LabelFiles | None = None,
    runs: Sequence[str] = (),
    *,
    pool: Path | None = None,
    database: str | None = None,
    store: Store | None = None,
    listener: Listener | None = None,
) -> EstimateReport:
    """Estimates the workspace's runs, or those of the ``runs`` options, under people's grades.

    ``files`` are label files by name, to which ``settings.people`` and ``settings.judge`` may refer. ``store`` is the
    workspace's, if it is open already.

    Raises QuatiPoolError where the labels are no random sample, or too few for an interval.
    """
    settings.check()
    files = files or LabelFiles()
    of_files = settings.people in files.files
    needs_labels = not (of_files and settings.judge in files.files)
    config = None
    if needs_labels or not runs:
        config = workspace(config_path, settings.people, settings.judge, files, runs)
    with one_state(config if needs_labels else None, database, store) as (opened, seq):
        frame, sources = graded(LabelInputs(config, files, pool, opened, of_files), settings)
    refuse_judge_of_the_sample(frame, sources.judge.name)
    run_set = chosen_runs(config, runs)
    listener = listener or Listener()
    listener.progress("estimate", 0, 0)
    simulation_seed = seed_of(settings, config)
    estimator = FrameEstimator(frame, run_set, settings, sources.scale, simulation_seed)
    measures = measures_of(settings, config)
    estimates = estimator.estimates(measures)
    return EstimateReport(
        config,
        sources.people,
        sources.judge.name,
        sources.judge.version if sources.judge.origin is None else None,
        frame.drawn,
        estimates,
        simulation_seed if sources.seed is None else sources.seed,
        sources.aggregation,
        settings.revealed,
        sources.gathered,
        run_set.digests,
        (*sources.warnings, *run_set.warnings, *estimator.warnings(measures)),
        seq,
        simulation_seed,
    )
