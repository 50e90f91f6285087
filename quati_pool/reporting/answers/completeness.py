"""How complete a pool is, in sentences: what it lacks, with the uncertainty, and which queries need more."""

from __future__ import annotations

from quati_pool.commands.completeness import LabeledCompleteness
from quati_pool.pooling.completeness import PoolCompleteness, Unseen
from quati_pool.reporting.answers.wording import name, names
from quati_pool.text.pluralize import counted


def sentences(report: LabeledCompleteness | None, *, known: bool = False) -> list[str]:
    """What the pool lacks. With ``known`` nothing is said of what cannot be estimated."""
    if report is None:
        return []
    found = report.found
    if found is None or report.labeler is None:
        return [] if known else [f"How many relevant documents the pool lacks is not known: {report.undefined}."]
    if not _estimated(found):
        reason = found.whole.undefined["capture"]
        return [] if known else [f"{_held(found, report.labeler)}; how many it lacks is not known: {reason}."]
    said = [f"{lacking(found, report.labeler)}; {_needing_more(found)}."]
    if found.not_graded:
        queries = counted(len(found.not_graded), "query is", "queries are")
        said.append(f"{queries} not graded enough for an estimate: {names(found.not_graded)}.")
    return said


def lacking(found: PoolCompleteness, labeler: str) -> str:
    """How many relevant documents the pool holds, and how many it lacks by each estimate, without a full stop."""
    whole, parts = found.whole, [_held(found, labeler)]
    if whole.random is not None:
        drawn = counted(whole.drawn, "pair", "pairs")
        parts.append(f"{_more(whole.random, '')} among the systems' other candidates, by {drawn} drawn at random")
    if whole.capture is not None:
        families = f"capture–recapture over {len(found.families):,} families of systems"
        parts.append(f"{_more(whole.capture, 'at least ')} outside it, by {families}")
    return "; ".join(parts)


def _estimated(found: PoolCompleteness) -> bool:
    return found.whole.capture is not None or found.whole.random is not None


def _held(found: PoolCompleteness, labeler: str) -> str:
    queries = counted(len(found.queries), "query", "queries")
    documents = counted(found.whole.relevant, "relevant document", "relevant documents")
    return f"Of {queries} the pool holds {documents} (grade {found.relevant_from} or higher by {name(labeler)})"


def _more(unseen: Unseen, bound: str) -> str:
    """``at least an estimated 12 more (95 % interval 4 to 31) are``."""
    interval = f"(95 % interval {unseen.low:,.0f} to {unseen.high:,.0f})"
    rounded = round(unseen.estimate)
    return f"{bound}an estimated {rounded:,} more {interval} are" if rounded else f"no more {interval} are estimated"


def _needing_more(found: PoolCompleteness) -> str:
    need = [query.query_id or "" for query in found.needing_more]
    if not need:
        bound = "by this lower bound " if found.whole.random is None else ""
        return f"{bound}no query clearly needs more"
    return f"{counted(len(need), 'query needs', 'queries need')} more: {names(need)}"
