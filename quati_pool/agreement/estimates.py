"""Coefficients with their confidence intervals, and the reasons for undefined ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quati_pool.records import Int
from quati_pool.stats.bootstrap import Interval, Values, interval, multiplicities


@dataclass(frozen=True, eq=False, kw_only=True)
class Estimates:
    """Coefficients with their intervals, by name.

    ``values``: None where undefined. ``intervals``: 95 % intervals by bootstrap over queries, or by linearisation of
    figures weighted by a design; empty where none were asked for, and both ends are None where an interval is
    undefined. ``undefined`` gives the reason under the coefficient's name, or under ``intervals.<name>`` if the
    coefficient is defined but its interval is not.
    """

    values: dict[str, float | None]
    intervals: dict[str, Interval]
    undefined: dict[str, str]


def resample(sums: Sequence[Int], draws: int, seed: int) -> list[Values]:
    """Bootstrap resamples over queries: for each array of per-query counts, shape (queries, …), the totals of every
    resample, shape (draws, …).

    Arrays with the same number of queries use the same draws. Fewer than two queries give no draws: shape (0, …).
    The counts are integers, so the totals are exact in any order of summation.
    """
    drawn = [np.empty((draws if len(one) > 1 else 0, *one.shape[1:])) for one in sums]
    for queries in {len(one) for one in sums if len(one) > 1}:
        chosen = [(one.astype(np.float64), out) for one, out in zip(sums, drawn, strict=True) if len(one) == queries]
        start = 0
        for block in multiplicities(queries, draws, seed):
            for one, out in chosen:
                out[start : start + len(block)] = np.tensordot(block, one, axes=1)
            start += len(block)
    return drawn


def estimate(
    values: Mapping[str, Values],
    drawn: Mapping[str, Values],
    why: Callable[[str], str],
    draws: int,
    queries: Mapping[str, int],
) -> Estimates:
    """Combines values, shape (), with the intervals of their draws, shape (draws,) or (0,).

    ``why`` maps the name of an undefined value to the reason; ``queries`` counts, by name, the queries that were
    resampled.
    """
    intervals = {name: interval(drawn[name]) for name in values} if draws else {}
    undefined = {name: why(name) for name, value in values.items() if np.isnan(value)}
    for name, found in intervals.items():
        if found.low is None and name not in undefined:
            undefined[f"intervals.{name}"] = (
                f"undefined in {found.undefined:,} of {draws:,} resamples"
                if queries[name] > 1
                else "one query only; an interval over queries needs two"
            )
    return Estimates(
        values={name: None if np.isnan(value) else float(value) for name, value in values.items()},
        intervals=intervals,
        undefined=undefined,
    )
