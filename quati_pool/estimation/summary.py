"""Estimates of systems and their differences, as results: from whole queries, or from pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from quati_pool.errors import QuatiPoolError
from quati_pool.estimation import decisions
from quati_pool.estimation.estimated import Estimated, compared
from quati_pool.estimation.pair_estimates import PairMeans
from quati_pool.estimation.query_regression import QuerySample, clipped, shared_weight
from quati_pool.estimation.results import Difference, Estimate, Figure, SystemEstimate, Target, Unit
from quati_pool.records import Int
from quati_pool.stats.ratio import ratio
from quati_pool.stats.sample_sizes import FEWEST_QUERIES
from quati_pool.stats.significance import holm_adjusted
from quati_pool.text.pluralize import counted

Values = npt.NDArray[np.float64]

# Differences computed at a time.
_BLOCK = 5000
_DECIMALS = 12
_SAME = "both rank the pool's documents alike"


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What is decided, and how surely. ``baseline`` is a run_tag, None for all pairs of systems; ``looks`` were planned
    in advance, each at alpha / looks; ``seed`` is that of simulated quantiles."""

    baseline: str | None = None
    alpha: float = 0.05
    delta: float = 0.02
    looks: int = 1
    seed: int = 0

    @property
    def level(self) -> float:
        """The error probability of one look."""
        return self.alpha / self.looks


@dataclass(frozen=True, eq=False)
class Labelled:
    """How many of the units that were drawn have people's grades, how many there are, and whether no grade is missing
    within those that count."""

    count: int
    frame: int
    unit: Unit
    complete: bool = True

    @property
    def all_graded(self) -> bool:
        return self.complete and self.count == self.frame


@dataclass(frozen=True, eq=False)
class QueryValues:
    """A measure's values: ``people``, shape (n, systems), for the drawn queries of ``sample``, and ``judge``, shape
    (queries, systems), for all queries.

    Where ``people`` are themselves estimates, from pairs drawn within the queries, ``alone``, shape (n, systems), are
    those without the judge, and ``noise``, shape (rows, systems), has the covariances of the errors of the mean over
    the drawn queries as noiseᵀ·noise.
    """

    people: Values
    judge: Values
    sample: QuerySample
    alone: Values | None = None
    noise: Values | None = None
    complete: bool = True
    """Whether all pairs of the drawn queries have people's grades."""

    def own_errors(self, target: Target) -> Values:
        """What the errors of the values add to rows of ``Estimated``, shape (rows, systems).

        Drawing queries contributes (1 − n/N)·s²/n to the variance of a mean, in which s² holds the variance v of a
        query's own error; two-phase sampling adds v/N (Särndal, Swensson, Wretman, Model Assisted Survey Sampling,
        1992, section 9.3). The variance of a population's mean has a term s²/N, which holds it already.
        """
        if self.noise is None or target == "queries-like-these":
            return np.empty((0, self.people.shape[1]))
        own: Values = self.noise * np.sqrt(len(self.people) / len(self.judge))
        return own


@dataclass(frozen=True, eq=False)
class PairValues:
    """The estimates ``found`` from drawn pairs, those from people's grades ``alone``, and the values under the judge's
    grades of all pairs, ``judge``, shape (queries, systems)."""

    found: PairMeans
    alone: PairMeans
    judge: Values
    labelled: Labelled


@dataclass(frozen=True, eq=False)
class _Systems:
    """The systems' estimates ``found``, those of people's grades ``alone``, and the values under the judge's grades,
    ``judge_only``, shape (queries, systems). ``weights``: λ pooled over systems, and that of each, shape (systems,)."""

    run_tags: Sequence[str]
    found: Estimated
    alone: Estimated
    judge_only: Values
    weights: tuple[float, Values] | None = None


@dataclass(frozen=True, eq=False)
class _Comparisons:
    """The ``differences`` of systems at positions ``a`` and ``b``. ``support`` counts the queries in which people's
    grades make a difference; ``alike`` marks systems that rank the pool's pairs alike. All have shape (comparisons,).
    """

    a: Int
    b: Int
    differences: Estimated
    support: Int
    alike: npt.NDArray[np.bool_]


def from_queries(
    measure: str,
    target: Target,
    run_tags: Sequence[str],
    values: QueryValues,
    choices: Choices,
    rankings: Sequence[int] = (),
) -> Estimate:
    """Estimates from whole queries drawn at random. One λ, left-one-out, serves all systems, another all differences.
    Systems with the same number in ``rankings`` rank the pool's pairs alike; empty: none do.

    Raises QuatiPoolError with fewer than 8 drawn queries.
    """
    people, judge, sample = values.people, values.judge, values.sample
    if len(people) < FEWEST_QUERIES:
        raise QuatiPoolError(
            f"{counted(len(people), 'query is', 'queries are')} graded in full, and an interval needs at least "
            f"{FEWEST_QUERIES}; have more queries graded"
        )
    like_these = target == "queries-like-these"
    sums = sample.judge_weights(people, judge)
    weight, own = shared_weight(*sums), clipped(*sums)
    noise = values.own_errors(target)
    found = _added(sample.means(people, judge, weight, like_these=like_these), noise)
    alone = sample.alone(people if values.alone is None else values.alone, like_these=like_these)
    a, b = comparisons(run_tags, found.estimate, choices.baseline)
    differences = _added(_query_differences(values, a, b, like_these=like_these), noise[:, a] - noise[:, b])
    return _estimate(
        measure,
        target,
        _Systems(run_tags, found, _added(alone, noise), judge, (float(weight.mean()), own.mean(axis=0))),
        _comparisons(a, b, differences, people, rankings),
        Labelled(len(people), len(judge), "queries", values.complete),
        choices,
        _at_an_end(weight),
    )


def from_pairs(
    measure: str,
    target: Target,
    run_tags: Sequence[str],
    values: PairValues,
    choices: Choices,
    rankings: Sequence[int] = (),
) -> Estimate:
    """Estimates from drawn pairs; ``rankings`` as for ``from_queries``."""
    like_these = target == "queries-like-these"
    found, alone = values.found.means(like_these=like_these), values.alone.means(like_these=like_these)
    a, b = comparisons(run_tags, found.estimate, choices.baseline)
    return _estimate(
        measure,
        target,
        _Systems(run_tags, found, alone, values.judge),
        _comparisons(a, b, found.differences(a, b), values.found.by_query, rankings),
        values.labelled,
        choices,
    )


def comparisons(run_tags: Sequence[str], estimates: Values, baseline: str | None) -> tuple[Int, Int]:
    """The positions of the systems that are compared, in the order of their estimates: each pair, the better one first,
    or each with the baseline."""
    ranking = ranked(run_tags, estimates)
    base = None if baseline is None else ranking.index(run_tags.index(baseline))
    first, second = compared(len(ranking), base)
    return np.array(ranking)[first], np.array(ranking)[second]


def ranked(run_tags: Sequence[str], estimates: Values) -> list[int]:
    """Positions of the systems, the highest estimate first, ties by run_tag."""
    values = np.round(estimates, _DECIMALS).tolist()
    return sorted(range(len(run_tags)), key=lambda run: (-values[run], run_tags[run]))


def _comparisons(a: Int, b: Int, differences: Estimated, values: Values, rankings: Sequence[int]) -> _Comparisons:
    """``values``, shape (queries, systems), are those under people's grades."""
    support = np.count_nonzero(np.round(values[:, a] - values[:, b], _DECIMALS), axis=0)
    alike = np.array(rankings)[a] == np.array(rankings)[b] if rankings else np.zeros(len(a), dtype=np.bool_)
    return _Comparisons(a, b, differences, support, alike)


def _query_differences(values: QueryValues, a: Int, b: Int, *, like_these: bool) -> Estimated:
    people, judge, sample = values.people, values.judge, values.sample

    def blocks() -> Iterator[tuple[Values, Values]]:
        for start in range(0, len(a), _BLOCK):
            first, second = a[start : start + _BLOCK], b[start : start + _BLOCK]
            yield people[:, first] - people[:, second], judge[:, first] - judge[:, second]

    shape = (len(people), 1)
    numerator, denominator = np.zeros(shape), np.zeros(shape)
    for of_people, of_judge in blocks():
        over, under = sample.judge_weights(of_people, of_judge)
        numerator += over.sum(axis=1, keepdims=True)
        denominator += under.sum(axis=1, keepdims=True)
    weight = clipped(numerator, denominator)
    found = [sample.means(*block, weight, like_these=like_these) for block in blocks()]
    return _joined(found) if found else sample.means(people[:, a], judge[:, a], weight, like_these=like_these)


def _joined(found: Sequence[Estimated]) -> Estimated:
    return replace(
        found[0],
        estimate=np.concatenate([one.estimate for one in found]),
        rows=np.concatenate([one.rows for one in found], axis=1),
        drawing=np.concatenate([one.drawing for one in found], axis=1),
        spread=np.concatenate([one.spread for one in found]),
    )


def _added(found: Estimated, rows: Values) -> Estimated:
    """The estimates with further rows of errors, which more queries do not lessen."""
    return replace(found, rows=np.concatenate([found.rows, rows])) if len(rows) else found


def _at_an_end(weight: Values) -> tuple[str, ...]:
    if (weight == 0).all():
        return ("λ is 0: the judge's values do not rise with people's, so that it narrows nothing",)
    if (weight == 1).all():
        return ("λ is at 1, the most that it may be: the judge's values differ less between queries than people's",)
    return ()


def _estimate(
    measure: str,
    target: Target,
    systems: _Systems,
    compared: _Comparisons,
    labelled: Labelled,
    choices: Choices,
    warnings: tuple[str, ...] = (),
) -> Estimate:
    tested = compared.differences.columns(compared.support >= FEWEST_QUERIES)
    critical = decisions.simultaneous_quantile(tested, choices.level, choices.seed)
    return Estimate(
        measure=measure,
        target=target,
        systems=_system_estimates(systems, target, choices.level),
        differences=_differences(systems.run_tags, compared, critical, labelled, choices),
        critical=critical,
        degrees=systems.found.degrees,
        alpha=choices.alpha,
        delta=choices.delta,
        looks=choices.looks,
        unit=labelled.unit,
        baseline=choices.baseline,
        warnings=warnings,
    )


def _system_estimates(systems: _Systems, target: Target, level: float) -> tuple[SystemEstimate, ...]:
    run_tags, found, alone, weights = systems.run_tags, systems.found, systems.alone, systems.weights
    half, half_alone = found.half_width(level), alone.half_width(level)
    effective = _effective_queries(found, len(systems.judge_only), target)
    judge_means = systems.judge_only.mean(axis=0)
    return tuple(
        SystemEstimate(
            run_tag=run_tags[run],
            estimate=float(found.estimate[run]),
            low=float(found.estimate[run] - half[run]),
            high=float(found.estimate[run] + half[run]),
            standard_error=float(found.standard_error[run]),
            people_only=_figure(alone, half_alone, run),
            judge_only=float(judge_means[run]),
            judge_weight=None if weights is None else weights[0],
            own_weight=None if weights is None else float(weights[1][run]),
            effective_queries=_defined(effective[run]),
        )
        for run in ranked(run_tags, found.estimate)
    )


def _figure(found: Estimated, half: Values, run: int) -> Figure:
    value = float(found.estimate[run])
    return Figure(value, value - float(half[run]), value + float(half[run]))


def _effective_queries(found: Estimated, queries: int, target: Target) -> Values:
    """How many of the ``queries`` people alone would have to grade for the same standard error, shape (columns,); NaN
    where all queries have the same value."""
    variance = found.standard_error**2
    if target == "these-queries":
        variance = variance + found.spread / queries
    return ratio(found.spread, variance)


def _differences(
    run_tags: Sequence[str],
    compared: _Comparisons,
    critical: float | None,
    labelled: Labelled,
    choices: Choices,
) -> tuple[Difference, ...]:
    differences, support, alike = compared.differences, compared.support, compared.alike
    p = np.where(support >= FEWEST_QUERIES, decisions.p_values(differences), np.nan)
    verdicts = decisions.verdicts(differences, support, choices.level, choices.delta)
    verdicts[alike] = "tie"
    known = (differences.standard_error == 0) & labelled.all_graded
    verdicts[known] = decisions.known_verdicts(differences.estimate[known])
    needed = decisions.needed(
        differences.drawing_variance, differences.fixed_variance, labelled.count, labelled.frame, choices.level,
        choices.delta, max(len(p), 1),
    )  # fmt: skip
    tested = (support >= FEWEST_QUERIES) | known | alike
    half = np.where(tested, (critical or 0.0) * differences.standard_error, np.nan)
    columns = zip(
        compared.a, compared.b, differences.estimate, half, p, holm_adjusted(p), verdicts, needed, support, alike,
        strict=True,
    )  # fmt: skip
    return tuple(
        Difference(
            a=run_tags[a],
            b=run_tags[b],
            estimate=float(estimate),
            low=_defined(estimate - width),
            high=_defined(estimate + width),
            p=_defined(p_value),
            p_adjusted=_defined(adjusted),
            verdict=str(verdict),  # type: ignore[arg-type]
            needed=more if verdict == "inconclusive" and queries >= FEWEST_QUERIES else None,
            reason=_SAME if same else _few(int(queries)) if verdict == "inconclusive" else None,
        )
        for a, b, estimate, width, p_value, adjusted, verdict, more, queries, same in columns
    )


def _few(queries: int) -> str | None:
    if queries >= FEWEST_QUERIES:
        return None
    if not queries:
        return "people's grades make no difference in any query"
    return f"people's grades make a difference in only {queries} {'query' if queries == 1 else 'queries'}"


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
