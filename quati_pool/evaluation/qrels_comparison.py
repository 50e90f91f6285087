"""Compares how two qrels rank the same systems: correlations, rank changes and swaps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.evaluation.scores import Scores, Values
from quati_pool.evaluation.significance import Comparison, compare
from quati_pool.evaluation.system_ranks import ranks, rounded
from quati_pool.stats.bootstrap import DRAWS, Interval, interval, multiplicities, summable
from quati_pool.stats.rank_correlation import kendall_tau, ranking_overlap, tau_ap, top_tau
from quati_pool.stats.ratio import ratio

TOP = 10
RBO_P = 0.9

_UNDEFINED = Interval(None, None)


@dataclass(frozen=True)
class Correlation:
    """A correlation coefficient and its bootstrap interval over queries, around the value: that of the coefficient
    which as many queries are expected to show. ``undefined`` says why it has no value."""

    value: float | None
    interval: Interval
    undefined: str | None = None


@dataclass(frozen=True)
class System:
    """A system's means and ranks under both qrels; systems with equal means share the best rank."""

    run_tag: str
    mean_a: float
    mean_b: float
    rank_a: int
    rank_b: int

    @property
    def rank_change(self) -> int:
        """Ranks gained under the second qrels; negative if ranks are lost."""
        return self.rank_a - self.rank_b


@dataclass(frozen=True)
class Swap:
    """Two systems whose order is reversed: ``better`` leads ``worse`` under the first qrels and trails it
    under the second.

    ``difference_a`` (positive) and ``difference_b`` (negative) are the mean of ``better`` minus the mean of ``worse``.
    ``p_a`` and ``p_b`` are adjusted by Holm over all pairs of systems; if a test is undefined, its p is None, the
    difference is not significant, and ``undefined_a`` or ``undefined_b`` says why. If means are over each run's own
    queries, the tests are over the queries that both runs return; if the difference there has the opposite sign, it
    counts as not significant.
    """

    better: str
    worse: str
    difference_a: float
    difference_b: float
    p_a: float | None
    p_b: float | None
    significant_a: bool
    significant_b: bool
    undefined_a: str | None = None
    undefined_b: str | None = None


@dataclass(frozen=True)
class RankingComparison:
    """Two rankings of the same systems by one measure, over the queries that both qrels judge.

    ``queries_a`` and ``queries_b`` count the queries that each qrels judges, ``common`` those that both judge; only
    these count in means, ranks, correlations and tests. The first qrels are the reference for ``tau_ap`` and
    ``top_tau``. ``systems`` are in the order of the first qrels. ``pairs`` counts all pairs of systems,
    ``tied`` those that are tied under either qrels, which are not swaps. ``max_rank_change`` and
    ``mean_rank_change`` are absolute values, None without a common query or system.
    """

    measure: str
    queries_a: int
    queries_b: int
    common: int
    top: int
    rbo_p: float
    test: str
    alpha: float
    tau: Correlation
    tau_ap: Correlation
    top_tau: Correlation
    rbo: Correlation
    systems: tuple[System, ...]
    max_rank_change: int | None
    mean_rank_change: float | None
    pairs: int
    tied: int
    swaps: tuple[Swap, ...]


def compare_rankings(
    a: Scores,
    b: Scores,
    measure: str,
    *,
    top: int = TOP,
    rbo_p: float = RBO_P,
    test: str = "t",
    alpha: float = 0.05,
    draws: int = DRAWS,
    seed: int = 0,
) -> RankingComparison:
    """Compares how the qrels behind ``a`` (the reference) and ``b`` rank the same runs by ``measure``.

    ``top`` is the k of top-k τ, which includes systems tied with the k-th, and all systems if there are fewer than k.
    ``rbo_p`` is the persistence of rank-biased overlap, which is over all systems. Intervals resample the common
    queries, with the same draws for both qrels and all coefficients; the top k are determined in each draw. If means
    are over each run's own queries, so are these, and a draw that leaves a run without queries is undefined. Swaps are
    tested under each of the two qrels by the paired ``test`` over the common queries, with Holm's correction over all
    pairs of systems.

    Raises QuatiPoolError if the runs are not the same, ConfigError for a measure that was not
    computed, an unknown test, and ``top``, ``rbo_p`` or ``alpha`` out of range.
    """
    _check(a, b, top, rbo_p)
    judged_by_b = set(b.query_ids)
    common = [query_id for query_id in a.query_ids if query_id in judged_by_b]
    one, other = restricted(a, measure, a.run_tags, common), restricted(b, measure, a.run_tags, common)
    coefficients: dict[str, Callable[[Values, Values], Values]] = {
        "tau": kendall_tau,
        "tau_ap": lambda x, y: tau_ap(y, x),
        "top_tau": lambda x, y: top_tau(y, x, top),
        "rbo": lambda x, y: ranking_overlap(x, y, rbo_p),
    }
    systems = _systems(one, other) if one.averaged.any(axis=1).all() else ()
    pairs = list(combinations(systems, 2))
    changes = [abs(system.rank_change) for system in systems]
    return RankingComparison(
        measure=measure,
        queries_a=len(a.query_ids),
        queries_b=len(b.query_ids),
        common=len(common),
        top=top,
        rbo_p=rbo_p,
        test=test,
        alpha=alpha,
        **_correlations(one, other, coefficients, draws, seed),
        systems=systems,
        max_rank_change=max(changes, default=None),
        mean_rank_change=float(np.mean(changes)) if changes else None,
        pairs=len(pairs),
        tied=sum(i.rank_a == j.rank_a or i.rank_b == j.rank_b for i, j in pairs),
        swaps=_swaps(pairs, [_tested(scores, test, alpha, seed) for scores in (one, other)]) if pairs else (),
    )


def _check(a: Scores, b: Scores, top: int, rbo_p: float) -> None:
    unshared = sorted(set(a.run_tags) ^ set(b.run_tags))
    if unshared:
        raise QuatiPoolError(
            f"{', '.join(unshared[:3])}{' …' if len(unshared) > 3 else ''}: scored under one of the two qrels only; "
            "score the same runs under both"
        )
    if top < 2:
        raise ConfigError(f"top is {top}; give at least 2 systems to correlate")
    if not 0 < rbo_p < 1:
        raise ConfigError(f"the p of rank-biased overlap is {rbo_p}; give a number between 0 and 1, such as {RBO_P}")


def restricted(scores: Scores, measure: str, run_tags: tuple[str, ...], query_ids: list[str]) -> Scores:
    """The scores by one measure, for these runs and queries, in the given orders."""
    run = [scores.run_tags.index(run_tag) for run_tag in run_tags]
    place = {query_id: position for position, query_id in enumerate(scores.query_ids)}
    query = np.array([place[query_id] for query_id in query_ids], dtype=np.int64)
    return replace(
        scores,
        run_tags=run_tags,
        measures=(measure,),
        query_ids=tuple(query_ids),
        values=scores.of(measure)[run][:, None, query],
        missing=scores.missing[run][:, query],
        without_relevant=scores.without_relevant[query],
        unjudged_queries=tuple(scores.unjudged_queries[position] for position in run),
    )


def _correlations(
    a: Scores, b: Scores, coefficients: dict[str, Callable[[Values, Values], Values]], draws: int, seed: int
) -> dict[str, Correlation]:
    """Each coefficient between the systems' means under ``a`` and ``b``, which hold one measure, with its interval."""
    queries = a.missing.shape[1]
    reason = _why_none(a)
    if reason:
        return {name: Correlation(None, _UNDEFINED, reason) for name in coefficients}
    mean_a, mean_b = (rounded(scores.means()[:, 0])[None] for scores in (a, b))
    drawn: dict[str, list[Values]] = {name: [] for name in coefficients}
    for block in multiplicities(queries, draws, seed):
        drawn_a, drawn_b = (drawn_means(scores, block) for scores in (a, b))
        defined = np.isfinite(drawn_a).all(axis=1)
        for name, coefficient in coefficients.items():
            values = np.full(len(block), np.nan)
            values[defined] = coefficient(drawn_a[defined], drawn_b[defined])
            drawn[name].append(values)
    found = {}
    for name, coefficient in coefficients.items():
        value = float(coefficient(mean_a, mean_b)[0])
        if np.isnan(value):
            found[name] = Correlation(None, _UNDEFINED, _why_undefined(mean_a, mean_b))
        else:
            # A single query is the same in every draw, so its interval would wrongly have no width.
            values = np.concatenate([np.empty(0), *drawn[name]]) if queries > 1 else np.empty(0)
            found[name] = Correlation(value, _within(interval(values, around=value)))
    return found


def _within(found: Interval) -> Interval:
    """The interval without what no coefficient can be, below -1 or above 1."""
    low, high = (None if end is None else min(max(end, -1.0), 1.0) for end in (found.low, found.high))
    return found._replace(low=low, high=high)


def _why_none(scores: Scores) -> str | None:
    systems, queries = scores.missing.shape
    if queries == 0:
        return "no query is judged in both"
    if systems < 2:
        return "fewer than two systems"
    return None if scores.averaged.any(axis=1).all() else "a system returns no query that both judge"


def drawn_means(scores: Scores, block: Values) -> Values:
    """The systems' means in resamples of the queries, shape (resamples, systems); NaN for a mean over no queries."""
    averaged = scores.averaged
    sums = block @ summable(np.where(averaged, scores.values[:, 0], 0).T)
    return rounded(ratio(sums, block @ averaged.T.astype(np.float64)))


def _why_undefined(a: Values, b: Values) -> str:
    tied = [name for name, means in (("first", a), ("second", b)) if np.ptp(means) == 0]
    if tied:
        return f"all systems are tied under the {' and the '.join(tied)} qrels"
    return "the top systems are all tied under one of the qrels"


def _systems(a: Scores, b: Scores) -> tuple[System, ...]:
    """All systems, sorted by their rank under ``a``, ties by run_tag."""
    mean_a, mean_b = (rounded(scores.means()[:, 0]) for scores in (a, b))
    columns = (column.tolist() for column in (mean_a, mean_b, ranks(mean_a), ranks(mean_b)))
    systems = [System(*row) for row in zip(a.run_tags, *columns, strict=True)]
    return tuple(sorted(systems, key=lambda system: (system.rank_a, system.run_tag)))


def _tested(scores: Scores, test: str, alpha: float, seed: int) -> dict[frozenset[str], Comparison]:
    comparisons = compare(scores, scores.measures[0], test, alpha=alpha, seed=seed)
    return {frozenset((comparison.a, comparison.b)): comparison for comparison in comparisons}


def _swaps(
    pairs: Iterable[tuple[System, System]], tested: Sequence[dict[frozenset[str], Comparison]]
) -> tuple[Swap, ...]:
    """The swaps among ``pairs`` of systems, each pair in the order of the first qrels."""
    swaps = []
    for better, worse in pairs:
        if better.rank_a == worse.rank_a or better.rank_b <= worse.rank_b:
            continue
        under_a, under_b = (comparisons[frozenset((better.run_tag, worse.run_tag))] for comparisons in tested)
        swaps.append(
            Swap(
                better=better.run_tag,
                worse=worse.run_tag,
                difference_a=better.mean_a - worse.mean_a,
                difference_b=better.mean_b - worse.mean_b,
                p_a=under_a.p_holm,
                p_b=under_b.p_holm,
                significant_a=under_a.significant and _leads(under_a, better.run_tag),
                significant_b=under_b.significant and _leads(under_b, worse.run_tag),
                undefined_a=under_a.undefined,
                undefined_b=under_b.undefined,
            )
        )
    return tuple(swaps)


def _leads(tested: Comparison, run_tag: str) -> bool:
    """Whether this system has the higher mean over the queries that were tested."""
    return tested.difference is not None and (tested.difference > 0) == (tested.a == run_tag)
