"""The report's part on trust: what the results owe to single systems, and what nobody judged."""

from __future__ import annotations

from quati_pool.commands.evaluate import Condition, Evaluation, PoolQuality
from quati_pool.commands.report import State
from quati_pool.reporting.answers import evaluate as answers
from quati_pool.reporting.formats.document import Block, Details, Paragraph
from quati_pool.reporting.tables import evaluate as tables


def body(state: State) -> list[Block]:
    """What each system would lose if it were left out of the pool, and what is unjudged, under the first labeler."""
    evaluation = state.evaluation
    if evaluation is None:
        return [Paragraph(state.missing["evaluation"])]
    first = evaluation.conditions[0]
    said = [*_left_out(evaluation, first), *answers.doubts(first)]
    quality = tables.quality_tables(evaluation, first)
    if not quality:
        said.append("What single systems brought into the pool is not known: the runs that fed it are not all there.")
    return [Paragraph(" ".join(said)), *quality[:1]]


def appendix(state: State) -> list[Details]:
    """The pool without single systems and families, under every labeler."""
    if state.evaluation is None:
        return []
    first, *others = [tables.quality_tables(state.evaluation, condition) for condition in state.evaluation.conditions]
    blocks = [*first[1:], *(table for found in others for table in found)]
    return [Details("Trust: the pool without single systems and families", blocks)] if blocks else []


def _left_out(evaluation: Evaluation, condition: Condition) -> list[str]:
    """How far the pool's own systems depend on being in it."""
    if not isinstance(condition.quality, PoolQuality):
        return []
    measure = evaluation.measures[0]
    found = condition.quality.systems.measures[measure]
    if found.max_change is None or found.tau is None:
        return []
    return [
        f"Without the pairs that it alone brought into the pool, a system's {measure} changes by "
        f"{found.mean_change:.4f} on average and by {found.max_change:.4f} at most; Kendall's τ of the order of "
        f"systems is {found.tau:.2f}."
    ]
