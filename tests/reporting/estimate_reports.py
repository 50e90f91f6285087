"""Reports of ``estimate`` made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from quati_pool.commands.estimates.estimate import EstimateReport
from quati_pool.estimation.results import Difference, Drawn, Estimate, Figure, SystemEstimate, Target, Verdict
from quati_pool.project.config import PoolConfig

STATEMENT = (
    "Estimate of {measure} under the grades of nist, for {target}, within this pool; 15 queries (3,065 pairs) drawn at "
    "random by design 3 (random queries, seed 7); the 95 % interval covers sampling of queries only, not disagreement "
    "among assessors, unjudged documents or systems outside the pool; judge llm used as covariate, never as truth."
)


class Report(EstimateReport):
    def statement(self, estimate: Estimate) -> str:
        return STATEMENT.format(measure=estimate.measure, target=estimate.target)


def system(run_tag: str, estimate: float, **changes: Any) -> SystemEstimate:
    """A system whose interval is ±0.04, and ±0.08 by people alone, and which the judge puts 0.1 higher."""
    made = SystemEstimate(
        run_tag=run_tag,
        estimate=estimate,
        low=estimate - 0.04,
        high=estimate + 0.04,
        standard_error=0.02,
        people_only=Figure(estimate - 0.01, estimate - 0.09, estimate + 0.07),
        judge_only=estimate + 0.1,
        judge_weight=0.83,
        own_weight=0.79,
        effective_queries=31.4,
    )
    return replace(made, **changes)


def difference(
    a: SystemEstimate, b: SystemEstimate, verdict: Verdict, needed: int | None = None, **changes: Any
) -> Difference:
    value = a.estimate - b.estimate
    p = {"better": 0.001, "worse": 0.001, "tie": 0.9, "inconclusive": 0.2}[verdict]
    made = Difference(
        a=a.run_tag,
        b=b.run_tag,
        estimate=value,
        low=value - 0.05,
        high=value + 0.05,
        p=p / 2,
        p_adjusted=p,
        verdict=verdict,
        needed=needed,
    )
    return replace(made, **changes)


def estimate(
    systems: Sequence[SystemEstimate],
    verdicts: Mapping[tuple[str, str], tuple[Verdict, int | None]] | None = None,
    **changes: Any,
) -> Estimate:
    """The first of each two systems is better but for the ``verdicts``, which have what is needed too."""
    baseline = changes.get("baseline")
    pairs = [(a, b) for a, b in combinations(systems, 2)]
    if baseline is not None:
        (base,) = [one for one in systems if one.run_tag == baseline]
        pairs = [(one, base) for one in systems if one is not base]
    differences = [difference(a, b, *(verdicts or {}).get((a.run_tag, b.run_tag), ("better", None))) for a, b in pairs]
    made = Estimate(
        measure="nDCG@10",
        target="these-queries",
        systems=tuple(systems),
        differences=tuple(differences),
        critical=2.9,
        degrees=14,
        alpha=0.05,
        delta=0.02,
        looks=1,
        unit="queries",
    )
    return replace(made, **changes)


QUERIES = Drawn(
    unit="queries", design="design 3 (random queries, seed 7)", queries=53, labelled=15, pairs=10_828, labels=3_065,
    covered=10_828,
)  # fmt: skip
PAIRS = replace(QUERIES, unit="pairs", design="design 4 (pairs for nDCG@10, seed 7)", labelled=53)


def report(*estimates: Estimate, config: PoolConfig | None = None, drawn: Drawn = QUERIES, **changes: Any) -> Report:
    found = tuple(replace(one, unit=drawn.unit) for one in estimates)
    made = Report(config=config, people="nist", judge="llm", judge_version=None, drawn=drawn, estimates=found, seed=0)
    return replace(made, **changes)


def four(target: Target = "these-queries", **changes: Any) -> Estimate:
    """e5 is better than bm25, tied with rrf, and may or may not be better than lsa, which 12 more queries decide."""
    systems = [system(name, value) for name, value in {"e5": 0.612, "rrf": 0.605, "lsa": 0.55, "bm25": 0.4}.items()]
    verdicts: dict[tuple[str, str], tuple[Verdict, int | None]] = {
        ("e5", "rrf"): ("tie", None),
        ("e5", "lsa"): ("inconclusive", 12),
        ("rrf", "lsa"): ("inconclusive", None),
    }
    return estimate(systems, verdicts, target=target, **changes)
