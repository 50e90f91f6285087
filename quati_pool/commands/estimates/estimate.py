"""``quati-pool estimate``: what systems would score under people's grades, from few of theirs and all of a judge's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from quati_pool.commands.estimates.frame_estimator import FrameEstimator
from quati_pool.commands.estimates.settings import EstimateSettings, seed_of
from quati_pool.commands.estimates.sources import graded
from quati_pool.errors import ConfigError
from quati_pool.estimation.results import Drawn, Estimate
from quati_pool.evaluation.measures import parse_measures
from quati_pool.labels.gathered import Gathered, LabelFiles
from quati_pool.project.cache_keys import refuse_outdated
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.project.runs import RunSet, run_sets, workspace_runs
from quati_pool.text.pluralize import counted

if TYPE_CHECKING:
    from quati_pool.store.database import Store

DEFAULT_MEASURE = "nDCG@10"


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
    aggregation: str | None = None
    revealed: bool = False
    """Whether grades count that people gave after seeing a judge's."""
    gathered: Gathered | None = None
    """The label files that were read, or the workspace's labelers."""
    runs: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of each run's file, by run_tag."""
    warnings: tuple[str, ...] = ()

    def population(self, estimate: Estimate) -> str:
        """The queries that an estimate is for, with their number."""
        if estimate.target == "these-queries":
            return f"these {counted(self.drawn.queries, 'query', 'queries')}"
        return f"queries like these {self.drawn.queries:,}"

    def statement(self, estimate: Estimate) -> str:
        """What an estimate holds for; it is printed wherever the estimate is shown."""
        drawn = self.drawn
        sample = (
            f"{counted(drawn.labelled, 'query', 'queries')} ({drawn.labels:,} pairs)"
            if drawn.unit == "queries"
            else f"{counted(drawn.labels, 'pair', 'pairs')} of {counted(drawn.labelled, 'query', 'queries')}"
        )
        seen = " (grades count that were given after seeing a judge's)" if self.revealed else ""
        what = drawn.unit if drawn.unit == estimate.unit else f"{estimate.unit} and {drawn.unit}"
        version = f" (version {self.judge_version[:12]})" if self.judge_version else ""
        several = (
            "" if self.aggregation is None else f" ({self.aggregation} of a pair's grades, leads' decisions first)"
        )
        level = 100 * (1 - estimate.alpha / estimate.looks)
        return (
            f"Estimate of {estimate.measure} under the grades of {self.people}{several}{seen}, "
            f"for {self.population(estimate)}, "
            f"within this pool; {sample} drawn at random: {drawn.design}; "
            f"the {level:.4g} % intervals cover the sampling of {what} "
            "only, not disagreement among assessors, unjudged documents or systems outside the pool; "
            f"{counted(len(estimate.differences), 'comparison', 'comparisons')}, Holm; "
            f"{counted(estimate.looks, 'look', 'looks')}; judge {self.judge}{version} used as covariate, "
            "never as truth."
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
    if not 0 < settings.alpha < 1:
        raise ConfigError(f"alpha is {settings.alpha}; give a number between 0 and 1, such as 0.05")
    files = files or LabelFiles()
    of_files = settings.people in files.files
    needs_labels = not (of_files and settings.judge in files.files)
    config = load_config(config_path) if needs_labels or not runs else None
    with _one_state(config if needs_labels else None, database, store) as opened:
        frame, sources = graded(config, settings, files, pool, opened, of_files=of_files)
    run_set = chosen_runs(config, runs)
    listener = listener or Listener()
    listener.progress("estimate", 0, 0)
    estimator = FrameEstimator(frame, run_set, settings, sources.scale, seed_of(settings, config))
    measures = parse_measures(settings.measures or ([config.measures[0]] if config else [DEFAULT_MEASURE]))
    estimates = estimator.estimates(measures)
    return EstimateReport(
        config,
        sources.people,
        sources.judge.name,
        sources.judge.version if sources.judge.origin is None else None,
        frame.drawn,
        estimates,
        seed_of(settings, config),
        sources.aggregation,
        settings.revealed,
        sources.gathered,
        run_set.digests,
        (*sources.warnings, *run_set.warnings, *estimator.warnings(measures)),
    )


@contextmanager
def _one_state(config: PoolConfig | None, database: str | None, store: Store | None) -> Iterator[Store | None]:
    """The workspace's store in one state: the given one as its opener sees it, or one that is opened here; None without
    a workspace."""
    if store is not None or config is None:
        yield store
        return
    from quati_pool.store.database import Store

    with Store.open(database or config.labels.url, config.folder) as opened, opened.snapshot():
        yield opened


def chosen_runs(config: PoolConfig | None, options: Sequence[str]) -> RunSet:
    """The runs of the options, or without any those of the workspace."""
    if not options:
        assert config is not None
        refuse_outdated(config)
        return workspace_runs(config)
    found = run_sets(options)
    if len(found) > 1:
        names = ", ".join(one.name for one in found)
        raise ConfigError(f"--run names several sets of runs ({names}); estimate one at a time")
    return found[0]
