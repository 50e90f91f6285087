"""Estimates what systems would score under people's grades, and plans and replays such estimates."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from quati_pool.api.arguments import Labels, Scale, check_choice, check_resampling, label_files, path_or_none, several
from quati_pool.api.estimates import EstimatePlan, EstimateReplay, Estimates
from quati_pool.api.progress import listener
from quati_pool.api.workspace import Aggregation, Sampled, Workspace
from quati_pool.errors import QuatiPoolWarning

if TYPE_CHECKING:
    from quati_pool.estimation.results import Target


class Estimating(Workspace):
    """What a workspace's systems would score under people's grades."""

    def estimate(
        self,
        *,
        people: str | None = None,
        judge: str | None = None,
        labels: Labels | None = None,
        sampled: Sampled | None = None,
        measures: Sequence[str] | str | None = None,
        target: Target | Sequence[Target] = "these-queries",
        baseline: str | None = None,
        alpha: float = 0.05,
        delta: float | None = None,
        looks: int = 1,
        design: int | None = None,
        aggregate: Aggregation = "majority",
        revealed: bool = False,
        scale: Scale = None,
        pool: str | Path | None = None,
        seed: int | None = None,
    ) -> Estimates:
        """Estimates what systems would score under people's grades, from few of theirs and all of a judge's. Writes
        nothing; ``save`` of the result does.

        Args:
            people: Whose grades count: a labeler of the workspace or of ``labels``; by default all people who graded.
            judge: The judge that graded all pairs, likewise; by default the workspace's language model.
            labels: Further labels by labeler, as in ``quati_pool.agree``, for ``people`` and ``judge`` to name.
            sampled: What of people's ``labels`` was drawn at random: whole queries, or single pairs. Designs of the
                workspace are known.
            measures: Names as ir_measures has them; by default the first of pool.yaml.
            target: The mean over the collection's queries, or over all queries like them; or both.
            baseline: A system that all others are compared with; by default each two systems are.
            alpha: The level of significance.
            delta: Systems that differ by less than this for certain are a tie; by default 0.02 of the measure's highest
                value.
            looks: How often the estimates will be looked at, as planned in advance.
            design: The number of the design that drew people's pairs; by default the latest random one that people have
                begun.
            aggregate: The grade of a pair that several people graded; leads' decisions come first.
            revealed: Whether people's second labels, given after seeing a judge's grade, count where there are any.
            scale: All grades of ``labels``; by default those of pool.yaml.
            pool: Another pool than the workspace's.
            seed: The seed of simulated quantiles; by default that of pool.yaml.

        Returns:
            Each system's estimate with its interval, and the differences between systems with their verdicts.

        Raises:
            QuatiPoolError: If people's labels are no random sample, or too few for an interval; if no judge has graded
                the pool, or there are no runs.
        """
        from quati_pool.commands.estimates.estimate import estimate
        from quati_pool.commands.estimates.settings import EstimateSettings

        check_choice("sampled", sampled, get_args(Sampled))
        check_choice("aggregate", aggregate, get_args(Aggregation))
        check_resampling(0, seed)
        files = label_files(labels, "labels", person=several(people), scale=scale or self._config().grades)
        settings = EstimateSettings(
            measures=several(measures) or None,
            targets=_targets(target),
            people=people,
            judge=judge,
            aggregate=aggregate,
            design=design,
            sampled=sampled,
            baseline=baseline,
            alpha=alpha,
            delta=delta,
            looks=looks,
            revealed=revealed,
            seed=seed,
        )
        with listener(self.progress) as shown:
            report = estimate(self.path, settings, files, pool=path_or_none(pool), listener=shown)
        of_estimates = (warning for one in report.estimates for warning in one.warnings)
        for warning in dict.fromkeys([*report.warnings, *of_estimates]):
            warnings.warn(warning, QuatiPoolWarning, stacklevel=2)
        return Estimates(report)

    def plan_estimate(
        self,
        *,
        half_width: float | None = None,
        difference: float | None = None,
        power: float | None = None,
        correlation: float | None = None,
        seconds_per_label: float | None = None,
        minutes_per_query: float | None = None,
        people: str | None = None,
        judge: str | None = None,
        labels: Labels | None = None,
        measures: Sequence[str] | str | None = None,
        target: Target | Sequence[Target] = "these-queries",
        baseline: str | None = None,
        alpha: float = 0.05,
        looks: int = 1,
        scale: Scale = None,
        pool: str | Path | None = None,
        seed: int | None = None,
    ) -> EstimatePlan:
        """Plans how much people have to grade for estimates, before or after their first labels.

        Args:
            half_width: The goal that the intervals of systems reach this far to either side, on average.
            difference: Or the goal that two systems which differ by this are found to differ.
            power: The probability with which they are found; by default 0.8.
            correlation: That of people's and the judge's grades, to plan from instead of labels; 0.6 where there are
                none.
            seconds_per_label: What a label takes; by default the median of the labels in the workspace, or else 30.
            minutes_per_query: What reading into a query takes; by default 2.
            people: Whose grades are planned from, if there are any: as in ``estimate``, like the following ones.
            judge: The judge that graded all pairs.
            labels: Further labels by labeler.
            measures: Names as ir_measures has them.
            target: The mean over the collection's queries, or over all queries like them; or both.
            baseline: A system that all others are compared with.
            alpha: The level of significance.
            looks: How often the estimates will be looked at.
            scale: All grades of ``labels``.
            pool: Another pool than the workspace's.
            seed: The seed of the draws that are tried out; by default that of pool.yaml.

        Returns:
            The whole queries, or the pairs, that each measure needs for each target, with hours of people's time.

        Raises:
            QuatiPoolError: Without a goal, or with both; for a measure that can only be planned from people's grades
                while there are none; if no judge has graded the pool, or there are no runs.

        Example:
            >>> plan = c.plan_estimate(half_width=0.1, judge="lexical")
            >>> plan.to_frame().design.tolist()
            ['queries', 'pairs']
        """
        from quati_pool.commands.estimates.plan import plan_estimate
        from quati_pool.commands.estimates.plan_settings import PlanSettings
        from quati_pool.commands.estimates.settings import EstimateSettings

        check_resampling(0, seed)
        files = label_files(labels, "labels", person=several(people), scale=scale or self._config().grades)
        settings = PlanSettings(
            estimate=EstimateSettings(
                measures=several(measures) or None,
                targets=_targets(target),
                people=people,
                judge=judge,
                baseline=baseline,
                alpha=alpha,
                looks=looks,
                seed=seed,
            ),
            half_width=half_width,
            difference=difference,
            power=power,
            correlation=correlation,
            seconds_per_label=seconds_per_label,
            minutes_per_query=minutes_per_query,
        )
        with listener(self.progress) as shown:
            report = plan_estimate(self.path, settings, files, pool=path_or_none(pool), listener=shown)
        for warning in dict.fromkeys(report.warnings):
            warnings.warn(warning, QuatiPoolWarning, stacklevel=2)
        return EstimatePlan(report)

    def replay_estimate(
        self,
        *,
        people: str,
        judge: str,
        labels: Labels | None = None,
        measure: str = "nDCG@10",
        queries: int = 15,
        pairs: int | None = None,
        draws: int = 1000,
        target: Target | Sequence[Target] = ("these-queries", "queries-like-these"),
        systems: Sequence[str] | str = (),
        baseline: str | None = None,
        alpha: float = 0.05,
        delta: float | None = None,
        scale: Scale = None,
        pool: str | Path | None = None,
        seed: int | None = None,
        workers: int | None = None,
    ) -> EstimateReplay:
        """Tries out designs and estimates where people graded all pairs, so that the truth is known. Writes nothing;
        ``save`` of the result does.

        Args:
            people: Who graded all pairs: a labeler of the workspace or of ``labels``.
            judge: The judge, likewise.
            labels: Further labels by labeler, as in ``quati_pool.agree``.
            measure: The ir_measures name of what is estimated.
            queries: How many queries are drawn whole.
            pairs: How many pairs are expected to be drawn; by default as many as the drawn queries have on average.
            draws: How many samples are drawn by each method.
            target: The mean over the collection's queries, or over all queries like them; or both.
            systems: The systems that are estimated; by default all.
            baseline: A system whose differences to the others are reported; by default those of all pairs are.
            alpha: The level of significance.
            delta: As in ``estimate``.
            scale: All grades of ``labels``; by default those of pool.yaml.
            pool: Another pool than the workspace's.
            seed: The seed of the draws; by default that of pool.yaml.
            workers: Processes; by default one per core. Results are the same.

        Returns:
            How often the intervals contain the truth, how wide they are, and what they decide, by method and target.

        Raises:
            QuatiPoolError: If people lack a grade of a pair that the judge graded, for fewer than two systems, and for
                more queries or pairs than there are.
        """
        from quati_pool.commands.replay.estimate import ReplaySettings, replay_estimate

        check_resampling(0, seed)
        config = self._config()
        settings = ReplaySettings(
            people=people,
            judge=judge,
            measure=measure,
            queries=queries,
            pairs=pairs,
            draws=draws,
            targets=_targets(target),
            systems=several(systems),
            baseline=baseline,
            alpha=alpha,
            delta=delta,
            seed=seed,
            workers=workers,
        )
        files = label_files(labels, "labels", person=[people], scale=scale or config.grades)
        with listener(self.progress) as shown:
            report = replay_estimate(self.path, settings, files, pool=path_or_none(pool), home=config, listener=shown)
        for warning in report.warnings:
            warnings.warn(warning, QuatiPoolWarning, stacklevel=2)
        return EstimateReplay(report)


def _targets(target: Target | Sequence[Target]) -> tuple[Target, ...]:
    """Raises ConfigError for an unknown target."""
    from quati_pool.estimation.results import TARGETS

    targets = (target,) if isinstance(target, str) else tuple(target)
    for one in targets:
        check_choice("target", one, TARGETS)
    return targets
