"""Estimates of what systems would score under people's grades, as values that are printed and stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from quati_pool.text.pluralize import counted

Target = Literal["these-queries", "queries-like-these"]
"""The mean over the collection's queries, or over the population that they were drawn from."""
TARGETS: tuple[Target, ...] = get_args(Target)

Verdict = Literal["better", "worse", "tie", "inconclusive"]

Unit = Literal["queries", "pairs"]
"""What was drawn at random: queries, each with all of its pairs of the pool, or single pairs."""


@dataclass(frozen=True)
class Figure:
    """An estimate with its 95 % confidence interval; both ends are None if that is undefined."""

    estimate: float
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class SystemEstimate:
    """The estimate of one system, sorted by which systems are ranked.

    ``people_only`` uses people's grades without the judge's, ``judge_only`` is the mean under the judge's alone.
    ``judge_weight`` is λ, how much of the judge's differences between queries is taken over, pooled over systems, and
    ``own_weight`` that of this system alone; both are None where pairs were drawn, whose grades are calibrated instead.
    ``effective_queries``: how many queries people alone would have to grade for as narrow an interval. ``bounds``: the
    lowest and the highest estimate if the pairs that people could not judge had the worst and the best grades for the
    system; None where these are few.
    """

    run_tag: str
    estimate: float
    low: float
    high: float
    standard_error: float
    people_only: Figure
    judge_only: float
    judge_weight: float | None
    own_weight: float | None
    effective_queries: float | None
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The estimate of ``a`` minus that of ``b``. The interval holds for all differences of a table at once (max-t);
    ``p`` is two-sided, ``p_adjusted`` by Holm over them. They are None for a difference that too few queries show to be
    tested, which is no member of the family.

    ``verdict`` is about ``a``: better or worse than ``b`` (p_adjusted at most alpha, or all was graded), a tie within
    ±delta, or inconclusive, for which ``reason`` may say why and ``needed`` how many further queries or pairs (as
    drawn) would find a difference of delta with a power of 80 %; None where not even all would.
    """

    a: str
    b: str
    estimate: float
    low: float | None
    high: float | None
    p: float | None
    p_adjusted: float | None
    verdict: Verdict
    needed: int | None = None
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """One measure under people's grades, for one target.

    ``systems``: the best first. ``differences``: all pairs of systems in this order, or each system minus the baseline;
    ``unit`` is that of what inconclusive ones need, ``critical`` the quantile that their intervals use.
    ``degrees`` of freedom, None where quantiles are normal. ``warnings`` are sentences about the estimates, such as
    that λ is at an end of its range.
    """

    measure: str
    target: Target
    systems: tuple[SystemEstimate, ...]
    differences: tuple[Difference, ...]
    critical: float | None
    degrees: float | None
    alpha: float
    delta: float
    looks: int
    unit: Unit
    baseline: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def level(self) -> str:
        """The level of the intervals in words: ``95 %``, or ``98.33 %`` where three looks share alpha."""
        percent = f"{100 * (1 - self.alpha / self.looks):.4g}"
        return "> 99.99 %" if percent == "100" else f"{percent} %"


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """What people graded, and how it was drawn.

    ``design`` names the design in words, such as "design 3 (random queries, seed 7)". ``queries`` and ``pairs`` are
    those of the frame, ``labelled`` the queries with people's grades (the completed ones, if whole queries were drawn),
    ``labels`` the pairs of the design that people graded, ``covered`` the pairs of the frame that the judge graded.
    ``not_judged``: pairs that people were asked for and could not judge, of which several people judged ``tied`` ones
    without a majority. ``left_out``: drawn queries that do not count, by reason.
    """

    unit: Unit
    design: str
    queries: int
    labelled: int
    pairs: int
    labels: int
    covered: int
    not_judged: int = 0
    tied: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    waiting: str | None = None
    """The query_id of the first query in the random order that is not graded in full."""

    @property
    def without_majority(self) -> str | None:
        """What the pairs without a majority count as; None where there are none."""
        if not self.tied:
            return None
        pairs = counted(self.tied, "pair has", "pairs have")
        return f"{pairs} no majority, and count like pairs that could not be judged"
