"""The lines of the card about a judge's grades: what was seen, against which bound, and what not to do."""

from __future__ import annotations

from collections.abc import Iterator

from quati_pool.audit.grade_bounds import GradeBounds, GradeLine, Unit, above, below, within_both
from quati_pool.commands.audit.grades import GradeAudit
from quati_pool.commands.audit.near_duplicates import DuplicateAudit
from quati_pool.commands.audit.wordings import Wordings
from quati_pool.stats.clustered_means import ClusteredMean

ORDER = "order of systems"
LEVEL = "level of the measure"
SIGNIFICANCE = "significance"
OVERRATING = "overrating"
LONGER = "longer passages"
WORDS = "words of the query"
KIN = "kinship"
RANKER = "judge as ranker"
ALIKE = "judges alike"
DUPLICATES = "near-duplicates"
WORDING = "wording of the prompt"


def lines(found: GradeAudit, bounds: GradeBounds) -> list[GradeLine]:
    """A line for each danger of which the grades say something, in the order of the card."""
    return [*_of_systems(found, bounds), *_of_pairs(found, bounds), *_of_models(found, bounds)]


def wording_line(found: Wordings, bounds: GradeBounds) -> GradeLine:
    """The line of other wordings of the judge's prompt: by how much the farthest of them moves the mean grade."""
    advice = "compare its grades with those under another wording of its prompt"
    return _mean(WORDING, found.farthest, bounds.grade, "pairs", advice)


def _of_systems(found: GradeAudit, bounds: GradeBounds) -> Iterator[GradeLine]:
    if found.rankings is not None and found.rankings.tau.value is not None:
        tau, ends = found.rankings.tau.value, found.rankings.tau.interval
        position = above(ends.low, ends.high, bounds.order)
        advice = "order systems by its grades alone"
        queries = found.rankings.common
        yield GradeLine(ORDER, tau, ends.low, ends.high, bounds.order, position, queries, "queries", advice, "least")
    if found.gap is not None:
        advice = f"read its {found.measure} as people's: quati-pool estimate corrects it"
        yield _mean(LEVEL, found.gap, bounds.level, "queries", advice)
    if found.decisions is not None and found.decisions.false_of_a is not None:
        share, pairs = found.decisions.false_of_a, found.decisions.pairs
        position = "beyond" if share > bounds.decisions else "within"
        advice = "take a significant difference under its grades for one under people's"
        yield GradeLine(
            SIGNIFICANCE, share, None, None, bounds.decisions, position, pairs, "pairs of systems", advice, "most"
        )


def _of_pairs(found: GradeAudit, bounds: GradeBounds) -> Iterator[GradeLine]:
    shown = found.overrating
    yield _mean(OVERRATING, shown.shift, bounds.grade, "pairs", "mix its grades with people's in one qrels file")
    if shown.length is not None:
        advice = "compare systems whose passages differ in length"
        yield _mean(LONGER, shown.length, bounds.length, "pairs", advice)
    if shown.overlap is not None:
        advice = "compare systems that match words with systems that do not"
        yield _mean(WORDS, shown.overlap, bounds.overlap, "pairs", advice)


def _of_models(found: GradeAudit, bounds: GradeBounds) -> Iterator[GradeLine]:
    if found.kinship is not None and found.kinship.excess is not None:
        kin = ", ".join(found.kinship.kin)
        yield _upper(KIN, found.kinship.excess, bounds.kin, f"rank {kin} among the others by its grades")
    if found.oracle is not None:
        advice = "rank systems that order or rerank by this judge"
        yield _upper(RANKER, found.oracle.excess, bounds.kin, advice)
    nearest = max(
        (one for one in found.alike if one.excess is not None), key=lambda one: one.excess or 0.0, default=None
    )
    if nearest is not None and nearest.excess is not None:
        low, high = nearest.interval.low, nearest.interval.high
        position = below(low, high, bounds.alike)
        advice = f"count {nearest.other} as a second opinion"
        yield GradeLine(ALIKE, nearest.excess, low, high, bounds.alike, position, nearest.n, "pairs", advice, "most")


def duplicates_line(found: DuplicateAudit, bounds: GradeBounds) -> GradeLine | None:
    """The line on near-duplicates that are graded apart; None if the judge graded none."""
    apart = found.found.judge.share
    if apart.share is None:
        return None
    position = below(apart.low, apart.high, bounds.duplicates)
    advice = "compare systems that return different copies of a passage"
    return GradeLine(
        DUPLICATES, apart.share, apart.low, apart.high, bounds.duplicates, position, apart.n, "pairs of passages",
        advice, "most",
    )  # fmt: skip


def _mean(danger: str, seen: ClusteredMean, bound: float, of: Unit, advice: str) -> GradeLine:
    position = within_both(seen.low, seen.high, bound)
    return GradeLine(danger, seen.value, seen.low, seen.high, bound, position, seen.n, of, advice, "both")


def _upper(danger: str, seen: ClusteredMean, bound: float, advice: str) -> GradeLine:
    position = below(seen.low, seen.high, bound)
    return GradeLine(danger, seen.value, seen.low, seen.high, bound, position, seen.n, "queries", advice, "most")
