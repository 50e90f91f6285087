"""Measures that look deeper than a run goes, and recall that no run could complete.

AP, and whatever else looks at the whole ranking, is by convention that of 1,000 documents per query, the depth of
TREC's runs and of trec_eval's recall_1000; of shorter lists it is a lower value of another name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from quati_pool.evaluation.joined import Judgements
from quati_pool.evaluation.measures import resolve
from quati_pool.evaluation.run_facts import RunFacts

WHOLE = 1000

_WHOLE_LIST = frozenset({"AP", "Bpref", "IPrec", "RR", "SetAP", "SetF", "SetR", "infAP", "nDCG"})
_RECALL = frozenset({"AP", "R", "Rprec"})


class Truncated(NamedTuple):
    """Runs whose lists were cut at ``depth``, and the measures that look deeper."""

    run_tags: tuple[str, ...]
    depth: int
    measures: tuple[str, ...]


class Incomplete(NamedTuple):
    """A measure of recall that cannot be complete: ``queries`` have more relevant documents than ``depth``, up to
    ``most``. ``run_tags`` were cut there; none where it is the measure's own cutoff."""

    measure: str
    run_tags: tuple[str, ...]
    depth: int
    queries: int
    most: int


@dataclass(frozen=True)
class Truncation:
    """What is measured of truncated lists: ``runs`` that were cut above the depth that measures look to, by that
    depth, and what is ``incomplete`` for want of it."""

    runs: tuple[Truncated, ...]
    incomplete: tuple[Incomplete, ...]


def truncation(
    facts: Mapping[str, RunFacts], measures: Sequence[str], judged: Judgements, query_ids: Sequence[str]
) -> Truncation:
    """Where the runs with these ``facts``, by run_tag, were cut above the depth that ``measures`` look to, or above
    the number of relevant documents of some of the queries ``query_ids``."""
    wanted = resolve(measures)
    at_depth: dict[int, list[str]] = {}
    for run_tag, one in facts.items():
        if one.cut:
            at_depth.setdefault(one.longest, []).append(run_tag)
    runs, incomplete = [], []
    for depth, run_tags in sorted(at_depth.items()):
        deeper = [measure for measure in wanted if _looks_to(measure) > depth]
        if deeper:
            runs.append(Truncated(tuple(run_tags), depth, tuple(map(str, deeper))))
        limited = [one for one in wanted if one.NAME in _RECALL and one.params.get("cutoff", np.inf) > depth]
        incomplete += [(measure, tuple(run_tags), depth) for measure in limited]
    incomplete += [(measure, (), measure.params["cutoff"]) for measure in wanted if measure.NAME == "R"]
    kept = np.isin(judged.query_ids, query_ids)
    found = []
    for measure, run_tags, depth in incomplete:
        relevant = np.bincount(judged.query[judged.relevance >= measure["rel"]], minlength=len(kept))[kept]
        if (relevant > depth).any():
            queries, most = int((relevant > depth).sum()), int(relevant.max())
            found.append(Incomplete(str(measure), run_tags, depth, queries, most))
    return Truncation(tuple(runs), tuple(found))


def _looks_to(measure: Any) -> int:
    """The depth to which a measure looks; 0 where what lies deeper adds next to nothing, or is not ranked."""
    cutoff: int | None = measure.params.get("cutoff")
    if cutoff is not None:
        return cutoff
    return WHOLE if measure.NAME in _WHOLE_LIST else 0
