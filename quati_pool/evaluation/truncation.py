"""Measures that look deeper than a run goes, and recall that no run could complete.

AP, and whatever else looks at the whole ranking, is by convention that of 1,000 documents per query, the depth of
TREC's runs and of trec_eval's recall_1000; of shorter lists it is a lower value of another name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from quati_pool.evaluation.judged_runs import Judgements
from quati_pool.evaluation.measures import resolve
from quati_pool.evaluation.run_facts import RunFacts

WHOLE = 1000

_WHOLE_LIST = frozenset({"AP", "Bpref", "IPrec", "RR", "SetAP", "SetF", "SetR", "infAP", "nDCG"})
_RECALL = frozenset({"AP", "R", "Rprec"})


class Incomplete(NamedTuple):
    """A measure of recall, and the queries with more relevant documents than a run holds of them, up to ``most``."""

    measure: str
    queries: int
    most: int


class Truncated(NamedTuple):
    """Runs whose lists were cut at ``depth``, the ``measures`` that look deeper, and those that cannot be complete."""

    run_tags: tuple[str, ...]
    depth: int
    measures: tuple[str, ...]
    incomplete: tuple[Incomplete, ...]


def truncated(
    facts: Mapping[str, RunFacts], measures: Sequence[str], judged: Judgements, query_ids: Sequence[str]
) -> tuple[Truncated, ...]:
    """Runs with these ``facts``, by run_tag, that were cut above the depth that ``measures`` look to, or above the
    number of relevant documents of some of the queries ``query_ids``; those cut at one depth together."""
    wanted = resolve(measures)
    kept = np.isin(judged.query_ids, query_ids)
    at_depth: dict[int, list[str]] = {}
    for run_tag, one in facts.items():
        if one.cut:
            at_depth.setdefault(one.longest, []).append(run_tag)
    found = []
    for depth, run_tags in sorted(at_depth.items()):
        deeper = tuple(str(measure) for measure in wanted if _looks_to(measure) > depth)
        incomplete = []
        for measure in wanted:
            if measure.NAME in _RECALL and measure.params.get("cutoff", depth) >= depth:
                relevant = np.bincount(judged.query[judged.relevance >= measure["rel"]], minlength=len(kept))[kept]
                more = relevant[relevant > depth]
                incomplete += [Incomplete(str(measure), len(more), int(more.max()))] if len(more) else []
        if deeper or incomplete:
            found.append(Truncated(tuple(run_tags), depth, deeper, tuple(incomplete)))
    return tuple(found)


def _looks_to(measure: Any) -> int:
    """The depth to which a measure looks; 0 where what lies deeper adds next to nothing, or is not ranked."""
    cutoff: int | None = measure.params.get("cutoff")
    if cutoff is not None:
        return cutoff
    return WHOLE if measure.NAME in _WHOLE_LIST else 0
