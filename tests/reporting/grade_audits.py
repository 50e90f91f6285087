"""Comparisons of a judge's grades with people's as they would come from an audit, made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quati_pool.agreement.alike import AlikeJudges
from quati_pool.audit.kinship import FamilyShift
from quati_pool.audit.overrating import GradeShift, Overrating
from quati_pool.commands.audit.grades import GradeAudit, Kinship, OracleRank
from quati_pool.commands.audit.wordings import Kappa, Wording, Wordings
from quati_pool.evaluation.decision_contrast import DecisionContrast
from quati_pool.evaluation.qrels_comparison import Correlation, RankingComparison, System
from quati_pool.stats.bootstrap import Interval
from quati_pool.stats.clustered_means import ClusteredMean

Ends = tuple[float, float]
NONE = Correlation(None, Interval(None, None), "not made")


def mean(value: float, low: float, high: float, n: int = 20) -> ClusteredMean:
    return ClusteredMean(value, low, high, n)


def ranking(tau: float, ends: Ends, run_tags: str = "abcd") -> RankingComparison:
    return RankingComparison(
        measure="nDCG@10", queries_a=25, queries_b=20, common=20, top=10, rbo_p=0.9, test="t", alpha=0.05,
        tau=Correlation(tau, Interval(*ends)), tau_ap=NONE, top_tau=NONE, rbo=NONE,
        systems=tuple(System(tag, 0.5, 0.5, 1, 1) for tag in run_tags), max_rank_change=0, mean_rank_change=0.0,
        pairs=6, tied=0, swaps=(),
    )  # fmt: skip


def kinship(
    kin: Mapping[str, str], excess: ClusteredMean | None, *, family: str = "openai", guessed: bool = False
) -> Kinship:
    """Kin among the systems a, b, c and d."""
    shifts = [FamilyShift("ours", True, tuple(kin), excess)] if kin else []
    shifts += [FamilyShift(tag, False, (tag,), mean(-0.01, -0.03, 0.01)) for tag in "abcd" if tag not in kin]
    without = ranking(0.9, (0.8, 1.0), "".join(tag for tag in "abcd" if tag not in kin)) if kin else None
    return Kinship(family, guessed, kin, excess, shifts, without)


def alike(other: str = "mistral", value: float = 0.15, ends: Ends = (0.11, 0.19)) -> AlikeJudges:
    return AlikeJudges(other, 500, 0.4, 0.4 - value, value, Interval(*ends))


def grades(judge: str = "gpt", **changes: Any) -> GradeAudit:
    """A judge within all bounds, but for those of ``changes``."""
    shifts = (GradeShift(0, 300, 0.3, 0.25), GradeShift(1, 100, 1.0, 0.9))
    usual: dict[str, Any] = {
        "overrating": Overrating(mean(0.05, -0.05, 0.15, 400), shifts),
        "gap": mean(0.005, -0.01, 0.015),
        "rankings": ranking(0.94, (0.9, 0.98)),
        "decisions": DecisionContrast(both=3, opposed=0, only_a=0, only_b=1, neither=2),
        "kinship": kinship({}, None),
        "oracle": OracleRank(5, 1.0, 0.7, 1, 3, mean(0.01, 0.005, 0.015)),
    }  # fmt: skip
    return GradeAudit(judge=judge, people="nist", measure="nDCG@10", **{**usual, **changes})


def wordings() -> Wordings:
    """Four other wordings, of which one moves the mean grade past its bound."""
    kappa, tau = Kappa(0.4, Interval(0.3, 0.5)), Correlation(0.6, Interval(0.4, 0.8))
    others = [Wording(f"w{place}", 1.5, kappa, mean(0.5, 0.4, 0.6), tau, kappa, tau) for place in range(4)]
    return Wordings(Wording("own", 1.0, kappa_people=kappa, tau_people=tau), others, 120, 6, 90, "nDCG@10")


def all_beyond(judge: str = "gpt") -> GradeAudit:
    """A judge beyond all bounds."""
    shifts = (GradeShift(0, 300, 0.8, 0.3), GradeShift(1, 100, 1.5, 0.9))
    return grades(
        judge,
        overrating=Overrating(mean(0.53, 0.39, 0.66, 400), shifts, mean(0.3, 0.2, 0.4, 400), mean(3.7, 3.4, 4.0, 400)),
        gap=mean(-0.12, -0.15, -0.09),
        rankings=ranking(0.4, (-0.3, 0.5)),
        decisions=DecisionContrast(both=3, opposed=1, only_a=1, only_b=0, neither=1),
        kinship=kinship({"a": "by its name", "b": "uses gpt"}, mean(0.06, 0.03, 0.09), guessed=True),
        oracle=OracleRank(5, 1.0, 0.7, 1, 3, mean(0.3, 0.2, 0.4)),
        alike=[alike()],
    )
