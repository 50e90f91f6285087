"""With what probability each pair should be drawn, so that people's time is spent where a measure is decided.

The variance of an estimated sum of discounted gains is least where a pair is drawn in proportion to its weight in the
sum (Särndal, Swensson, Wretman, Model Assisted Survey Sampling, 1992, section 3.6). A pair has a weight in the sums of
the systems that rank it, and, for a measure that is divided by an ideal, in the ideal ranking, whose place for it is
not known beforehand: half of that weight follows the judge's grades, half is equal within a query, so that a judge who
grades badly costs precision and never validity.
"""

from __future__ import annotations

import numpy as np

from quati_pool.errors import QuatiPoolError, TranslatableText
from quati_pool.estimation.pair_frame import NO_GRADE, PairFrame, Values
from quati_pool.estimation.pair_measures import PairMeasure

UNIFORM = 0.2
"""The share of the expected pairs that is spread evenly over the frame."""


def probabilities(
    frame: PairFrame,
    measure: PairMeasure,
    expected: float,
    *,
    uniform: float = UNIFORM,
    weights: Values | None = None,
    spread: Values | None = None,
    capped: bool = False,
) -> Values:
    """The probability of each pair, shape (pairs,), each above 0 and at most 1, of ``expected`` pairs in all.

    ``weights``, shape (systems,), are the importance of the systems, None for equal ones. ``spread``, shape (pairs,),
    multiplies what each pair weighs (``gain_spread``); only its proportions count. With ``capped``, as many are
    expected as can be where these are fewer than ``expected``. Of two numbers of pairs, the larger one never lowers a
    probability.

    Raises QuatiPoolError, unless ``capped``, if fewer pairs than ``expected`` have a weight; ValueError if ``uniform``
    is not above 0 and at most 1, or a spread is not a number above 0.
    """
    if not 0 < uniform <= 1:
        raise ValueError(f"a uniform share of {uniform}; give one above 0 and at most 1")
    if spread is not None and not ((spread > 0) & np.isfinite(spread)).all():
        raise ValueError("a spread is not a number above 0")
    pairs = len(frame)
    expected = min(expected, pairs) if capped else expected
    if not 0 < expected <= pairs:
        raise QuatiPoolError(
            f"the pool has {pairs:,} pairs to choose from, not {expected:,.0f}; ask for at most {pairs}"
        )
    if uniform == 1:
        return np.full(pairs, expected / pairs)
    weight = np.sqrt(_squared_weights(frame, measure, weights))
    weight = weight if spread is None else weight * spread
    weighted = weight > 0
    # Those with a weight at 1, and the others at the uniform part of as many.
    most = weighted.sum() / (1 - uniform * (~weighted).sum() / pairs)
    expected = min(expected, most) if capped else expected
    if expected > most:
        text = (
            f"only {weighted.sum():,} pairs matter for {measure.name}: the systems rank them in their first "
            f"{measure.cutoff}; ask for at most {int(most)} pairs"
        )
        raise QuatiPoolError(TranslatableText(text, "few_matter", measure=measure.name, most=int(most)))
    if expected == pairs:
        # Rounding errors would leave some to chance.
        return np.ones(pairs)
    return _filled(uniform * expected / pairs, weight, expected)


def _squared_weights(frame: PairFrame, measure: PairMeasure, weights: Values | None) -> Values:
    share = np.full(frame.systems, 1.0) if weights is None else np.asarray(weights, dtype=np.float64)
    discounts = frame.discounts(measure)
    squared: Values = (discounts * discounts) @ (share / share.sum())
    if measure.normalized:
        squared = squared + (_judged_ideal(frame, measure) + _flat_ideal(frame, measure)) / 2
    return squared


def _flat_ideal(frame: PairFrame, measure: PairMeasure) -> Values:
    """δ² of a place in the ideal ranking if all pairs of the query have the same chance of each: shape (pairs,)."""
    squares = np.concatenate([[0.0], np.cumsum(measure.discounts**2)])
    flat: Values = squares[np.minimum(frame.sizes, measure.cutoff)] / np.maximum(frame.sizes, 1)
    return flat[frame.query]


def _judged_ideal(frame: PairFrame, measure: PairMeasure) -> Values:
    """Mean δ² of the places in the query's ideal ranking under the judge's grades that the pairs with its grade fill:
    shape (pairs,)."""
    if not (frame.judge != NO_GRADE).any():
        return _flat_ideal(frame, measure)
    order = np.lexsort((-frame.judge_or_mean, frame.query))
    query, grade = frame.query[order], frame.judge_or_mean[order]
    first = np.concatenate([[0], np.cumsum(frame.sizes)[:-1]])
    place = np.arange(len(frame)) - first[query]
    squares = np.append(measure.discounts**2, 0.0)[np.minimum(place, measure.cutoff)]
    starts = np.r_[True, (query[1:] != query[:-1]) | (grade[1:] != grade[:-1])]
    tie = np.cumsum(starts) - 1
    mean = np.bincount(tie, squares) / np.bincount(tie)
    shared = np.empty(len(frame))
    shared[order] = mean[tie]
    return shared


def _filled(least: float, weight: Values, expected: float) -> Values:
    """min(1, ``least`` + c · weight) with the c that makes the sum ``expected``."""
    order = np.argsort(-weight, kind="stable")
    # With the j largest weights at 1, c follows from the others; the right j is the first whose next one stays below 1.
    remaining = np.cumsum(weight[order][::-1])[::-1]
    saturated = np.arange(len(weight))
    factor = (expected - saturated - least * (len(weight) - saturated)) / np.where(remaining > 0, remaining, np.inf)
    below = least + factor * weight[order] <= 1
    full = int(np.argmax(below)) if below.any() else len(weight)
    filled: Values = least + (factor[full] if full < len(weight) else 0.0) * weight
    filled[order[:full]] = 1.0
    return filled
