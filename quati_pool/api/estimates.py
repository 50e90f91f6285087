"""Estimates, their plans and their replays, as results to print, and as frames and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quati_pool.api.frames import frame
from quati_pool.api.results import Estimate, Result, SavedResult, Saving, Views
from quati_pool.errors import ConfigError
from quati_pool.registry import nearest

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from quati_pool.commands.estimates.estimate import EstimateReport
    from quati_pool.commands.estimates.plan import PlanReport
    from quati_pool.commands.replay.estimate import ReplayReport
    from quati_pool.estimation.results import Estimate as TypedEstimate
    from quati_pool.estimation.results import Target

_KEY = {"measure": "str", "target": "str"}
_METHOD = {"method": "str", "target": "str"}
_FIGURES = ("truth", "coverage", "half_width", "bias", "error")


class Estimates(SavedResult):
    """Estimates of systems under people's grades: ``estimate``'s result.

    Frames have one block of rows per measure and target; the first ones are those of the first measure.
    """

    result: EstimateReport

    more = (
        "Frames: systems, differences. What the estimates hold for: statement(). A figure: plot(). "
        "All tables: to_latex(), save(folder)."
    )

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that were estimated."""
        return tuple(dict.fromkeys(one.measure for one in self.result.estimates))

    @property
    def targets(self) -> tuple[Target, ...]:
        """The targets, each of which every measure is estimated for."""
        return tuple(dict.fromkeys(one.target for one in self.result.estimates))

    @property
    def systems(self) -> pd.DataFrame:
        """The systems, best first: measure, target, run_tag (str), estimate with the ends of its interval, low and
        high, and standard_error; people_only, people_only_low and people_only_high, the same from people's grades
        without the judge's; judge_only, the mean under the judge's grades, which is no estimate of people's;
        effective_queries; lambda, and own_lambda of the system alone; lowest and highest, the estimate if the pairs
        that people could not judge had the worst or the best grades for the system (float64, NaN where undefined)."""
        figures = (
            "estimate", "low", "high", "standard_error", "people_only", "people_only_low", "people_only_high",
            "judge_only", "effective_queries", "lambda", "own_lambda", "lowest", "highest",
        )  # fmt: skip
        rows: list[list[Any]] = [
            [
                one.measure, one.target, system.run_tag, system.estimate, system.low, system.high,
                system.standard_error, system.people_only.estimate, system.people_only.low, system.people_only.high,
                system.judge_only, system.effective_queries, system.judge_weight, system.own_weight,
                *(system.bounds or (None, None)),
            ]
            for one in self.result.estimates
            for system in one.systems
        ]  # fmt: skip
        return frame(rows, {**_KEY, "run_tag": "str", **dict.fromkeys(figures, "float64")})

    @property
    def differences(self) -> pd.DataFrame:
        """Each two systems, or each system and the baseline (b): measure, target, a, b (str), estimate of a minus b
        with its simultaneous interval, low and high, p, p_adjusted by Holm (float64, NaN where undefined), verdict
        about a (str: better, worse, tie, inconclusive), needed (Int64: how many further queries or pairs, as drawn,
        would find a difference of delta; missing where none are needed, not even all would do, or there is a reason),
        reason (str, why a difference is not tested; empty where there is none)."""
        figures = dict.fromkeys(("estimate", "low", "high", "p", "p_adjusted"), "float64")
        rows: list[list[Any]] = [
            [
                one.measure, one.target, two.a, two.b, two.estimate, two.low, two.high, two.p, two.p_adjusted,
                two.verdict, two.needed, two.reason or "",
            ]
            for one in self.result.estimates
            for two in one.differences
        ]  # fmt: skip
        columns = {**_KEY, "a": "str", "b": "str", **figures, "verdict": "str", "needed": "Int64", "reason": "str"}
        return frame(rows, columns)

    def statement(self, measure: str | None = None, target: Target | None = None) -> str:
        """What an estimate holds for: the sentence to publish with it.

        Args:
            measure: One of ``measures``; the first by default.
            target: One of ``targets``; the first by default.

        Raises:
            QuatiPoolError: If there is no such estimate.
        """
        return self.result.statement(self._estimate(measure, target))

    def system(self, run_tag: str, measure: str | None = None, target: Target | None = None) -> Estimate:
        """The estimate of a system.

        Args:
            run_tag: The system.
            measure: One of ``measures``; the first by default.
            target: One of ``targets``; the first by default.

        Returns:
            The estimate with its interval; ``n`` is the number of queries that people graded pairs of.

        Raises:
            QuatiPoolError: If there is no such system or estimate.
        """
        systems = {one.run_tag: one for one in self._estimate(measure, target).systems}
        if run_tag not in systems:
            raise ConfigError(f"there is no system {run_tag!r} here; {nearest(run_tag, systems)}")
        found = systems[run_tag]
        return Estimate(found.estimate, found.low, found.high, self.result.drawn.labelled)

    def plot(self, measure: str | None = None, target: Target | None = None) -> Figure:
        """The systems with their intervals as a matplotlib figure, which a notebook displays.

        Args:
            measure: One of ``measures``; the first by default.
            target: One of ``targets``; the first by default.

        Raises:
            QuatiPoolError: If there is no such estimate.
        """
        from quati_pool.api.plots import displayed
        from quati_pool.reporting.figures.estimate import picture

        return displayed(picture(self.result, self._estimate(measure, target)).drawing)

    def to_frame(self) -> pd.DataFrame:
        """The same as ``systems``."""
        return self.systems

    def _estimate(self, measure: str | None, target: Target | None) -> TypedEstimate:
        for what, name, known in (("measure", measure, self.measures), ("target", target, self.targets)):
            if name is not None and name not in known:
                raise ConfigError(f"there is no {what} {name!r} here; {nearest(name, known)}")
        return next(
            one for one in self.result.estimates if measure in (None, one.measure) and target in (None, one.target)
        )

    def _saving(self) -> Saving:
        from quati_pool.reporting.figures.estimate import write

        return Saving(self.result.config, write)

    def _views(self) -> Views:
        from quati_pool.reporting.answers.estimate import answer
        from quati_pool.reporting.json_data.estimate import as_data
        from quati_pool.reporting.tables.estimate import tables

        return Views(answer, tables, as_data)


class EstimatePlan(Result):
    """How much people have to grade; ``plan_estimate``'s result."""

    result: PlanReport

    def to_frame(self) -> pd.DataFrame:
        """One row per measure, target and design: measure, target, design (str: queries or pairs), count of what is
        drawn (Int64, missing where not even all would do), labels, queries (int64), hours of people's time, half_width
        or difference, as the goal is (float64), and minimum (str: queries, pairs or ideal where this many are the
        fewest that can be planned, or else empty)."""
        goal = "half_width" if self.result.settings.half_width is not None else "difference"
        rows: list[list[Any]] = [
            [
                one.measure, one.target, design.unit, design.count, design.labels, design.queries,
                self.result.effort.hours(design), design.figure, design.minimum or "",
            ]
            for one in self.result.plans
            for design in one.designs
        ]  # fmt: skip
        columns = {"design": "str", "count": "Int64", "labels": "int64", "queries": "int64", "hours": "float64"}
        return frame(rows, {**_KEY, **columns, goal: "float64", "minimum": "str"})

    def _views(self) -> Views:
        from quati_pool.reporting.answers.plan_estimate import answer
        from quati_pool.reporting.json_data.plan_estimate import as_data
        from quati_pool.reporting.tables.plan_estimate import tables

        return Views(answer, tables, as_data)


class EstimateReplay(SavedResult):
    """How estimates did where people graded everything; ``replay_estimate``'s result."""

    result: ReplayReport

    more = "Frames: methods, systems, differences. A figure: plot(). All tables: to_latex(), save(folder)."

    @property
    def methods(self) -> pd.DataFrame:
        """One row per target and method: method, target (str), draws, refused (int64: those that ``estimate`` would
        have refused, which nothing else counts), labels, coverage over systems on average, lowest of a system,
        half_width, bias and error (float64), simultaneous_coverage of the differences, decided, the share of pairs of
        systems, and wrong_order_draws, the share of draws (float64, NaN where all draws are refused)."""
        figures = (
            "labels", "coverage", "lowest", "half_width", "bias", "error", "simultaneous_coverage", "decided",
            "wrong_order_draws",
        )  # fmt: skip
        rows: list[list[Any]] = [
            [
                one.method, one.target, one.draws, one.draws - one.estimated, one.labels,
                one.systems.coverage.mean(), one.systems.coverage.min(), one.systems.half_width.mean(),
                one.systems.bias.mean(), one.systems.error.mean(), one.simultaneous_coverage, one.decisions.decided,
                one.decisions.wrong_order_draws,
            ]
            for one in self.result.replay.methods
        ]  # fmt: skip
        columns = {"draws": "int64", "refused": "int64", **dict.fromkeys(figures, "float64")}
        return frame(rows, {**_METHOD, **columns})

    @property
    def systems(self) -> pd.DataFrame:
        """One row per target, method and system: method, target, run_tag (str), truth, coverage, half_width, bias,
        error (float64)."""
        truth, run_tags = self.result.replay.truth, self.result.run_tags
        rows: list[list[Any]] = [
            [one.method, one.target, run_tag, truth[place], *(values[place] for values in vars(one.systems).values())]
            for one in self.result.replay.methods
            for place, run_tag in enumerate(run_tags)
        ]
        return frame(rows, {**_METHOD, "run_tag": "str", **dict.fromkeys(_FIGURES, "float64")})

    @property
    def differences(self) -> pd.DataFrame:
        """One row per target, method and difference of a and b: method, target, a, b (str), truth, coverage,
        half_width, bias, error (float64)."""
        replay, run_tags = self.result.replay, self.result.run_tags
        rows: list[list[Any]] = [
            [
                one.method, one.target, run_tags[a], run_tags[b], replay.truth[a] - replay.truth[b],
                *(values[place] for values in vars(one.differences).values()),
            ]
            for one in replay.methods
            for place, (a, b) in enumerate(zip(replay.a, replay.b, strict=True))
        ]  # fmt: skip
        return frame(rows, {**_METHOD, "a": "str", "b": "str", **dict.fromkeys(_FIGURES, "float64")})

    def plot(self) -> Figure:
        """Coverage and half-width by method as a matplotlib figure, which a notebook displays."""
        from quati_pool.api.plots import displayed
        from quati_pool.reporting.figures.replay import picture

        return displayed(picture(self.result).drawing)

    def to_frame(self) -> pd.DataFrame:
        """The same as ``methods``."""
        return self.methods

    def _saving(self) -> Saving:
        from quati_pool.reporting.figures.replay import write

        return Saving(self.result.config, write)

    def _views(self) -> Views:
        from quati_pool.reporting.answers.replay import answer
        from quati_pool.reporting.json_data.replay import as_data
        from quati_pool.reporting.tables.replay import tables

        return Views(answer, tables, as_data)
