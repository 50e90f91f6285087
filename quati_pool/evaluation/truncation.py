"""Finds measures that need deeper lists than a run has, and recall measures that its lists are too short for.

By convention AP, like every measure of the whole ranking, is computed over 1,000 documents per query, the depth of
TREC runs and of trec_eval's recall_1000; shorter lists give a lower value, which is not comparable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from quati_pool.evaluation.judged_runs import Judgements
from quati_pool.evaluation.measures import resolve
from quati_pool.evaluation.run_facts import RunFacts

WHOLE = 1000

_WHOLE_LIST = frozenset(
    {"AP", "Bpref", "IPrec", "RR", "SetAP", "SetF", "SetR", "infAP", "infNDCG", "nDCG", "statAP", "xinfAP"}
)
_RECALL = frozenset({"AP", "R", "Rprec"})


class Incomplete(NamedTuple):
    """A recall measure, and the number of queries with more relevant documents than a run's lists hold; ``most`` is
    the largest number of relevant documents of any such query."""

    measure: str
    queries: int
    most: int


class Truncated(NamedTuple):
    """Runs whose lists were cut at ``depth``, the ``measures`` that need deeper lists, and the recall measures that
    cannot reach 1 (``incomplete``)."""

    run_tags: tuple[str, ...]
    depth: int
    measures: tuple[str, ...]
    incomplete: tuple[Incomplete, ...]


def truncated(
    facts: Mapping[str, RunFacts], measures: Sequence[str], judged: Judgements, query_ids: Sequence[str]
) -> tuple[Truncated, ...]:
    """The runs that were cut at a smaller depth than a measure needs, or than the number of relevant documents of some
    query in ``query_ids``; one entry per depth, ascending.

    ``facts`` holds the runs by run_tag.
    """
    wanted = resolve(measures)
    kept = np.isin(judged.query_ids, query_ids)
    at_depth: dict[int, list[str]] = {}
    for run_tag, one in facts.items():
        if one.cut:
            at_depth.setdefault(one.longest, []).append(run_tag)
    found = []
    for depth, run_tags in sorted(at_depth.items()):
        deeper = tuple(str(measure) for measure in wanted if _needed_depth(measure) > depth)
        incomplete = []
        for measure in wanted:
            if measure.NAME in _RECALL and measure.params.get("cutoff", depth) >= depth:
                relevant = np.bincount(judged.query[judged.relevance >= measure["rel"]], minlength=len(kept))[kept]
                more = relevant[relevant > depth]
                incomplete += [Incomplete(str(measure), len(more), int(more.max()))] if len(more) else []
        if deeper or incomplete:
            found.append(Truncated(tuple(run_tags), depth, deeper, tuple(incomplete)))
    return tuple(found)


def _needed_depth(measure: Any) -> int:
    """The depth that a measure needs; 0 if deeper documents add next to nothing, or if ranks do not matter."""
    cutoff: int | None = measure.params.get("cutoff")
    if cutoff is not None:
        return cutoff
    return WHOLE if measure.NAME in _WHOLE_LIST else 0
