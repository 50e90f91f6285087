"""Draws the pairs that probes change: reproducibly, and spread over the queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from quati_pool.audit.base import Drawn
from quati_pool.audit.outcomes import Flags, Grades, Scale
from quati_pool.records import Int
from quati_pool.stats.hashing import hashes, places


@dataclass(frozen=True, eq=False)
class GradedPairs:
    """The pairs of a pool that have a text and a judge's grade; grades have shape (pairs,), people's are NaN where
    there is none."""

    query_ids: Sequence[str]
    doc_ids: Sequence[str]
    judge: Grades
    people: Grades

    def __len__(self) -> int:
        return len(self.query_ids)


class DrawnPairs(NamedTuple):
    """Places of pairs in the order in which they are drawn; the first ``by_people`` were chosen by people's grades, the
    others by the judge's own."""

    places: Int
    by_people: int


def draw(pairs: GradedPairs, drawn: Drawn, scale: Scale, highest: int, seed: int) -> DrawnPairs:
    """All pairs that can be drawn, in a random order in which every query comes once before any comes twice.

    Pairs that people graded come first. Irrelevant ones have people's lowest grade, and not the judge's ``highest``,
    above which nothing can rise; those that people did not grade have the judge's lowest. Relevant ones were graded as
    an answer by people and the judge, or by the judge alone.
    """
    ungraded = np.isnan(pairs.people)
    if drawn == "any":
        return DrawnPairs(_spread(pairs, np.ones(len(pairs), dtype=np.bool_), seed), 0)
    if drawn == "irrelevant":
        by_people = (pairs.people == scale.lowest) & (pairs.judge < highest)
        by_judge = ungraded & (pairs.judge == scale.lowest)
    else:
        answers = pairs.judge >= scale.answers_from
        by_people, by_judge = (pairs.people >= scale.answers_from) & answers, ungraded & answers
    first = _spread(pairs, by_people, seed)
    return DrawnPairs(np.concatenate([first, _spread(pairs, by_judge, seed)]), len(first))


def _spread(pairs: GradedPairs, wanted: Flags, seed: int) -> Int:
    """The places of the wanted pairs, one of each query in turn."""
    rows = np.flatnonzero(wanted)
    query_ids, doc_ids = ([ids[row] for row in rows.tolist()] for ids in (pairs.query_ids, pairs.doc_ids))
    order = places(hashes("audit pairs", seed, query_ids, doc_ids), query_ids, doc_ids)
    of_query = hashes("audit queries", seed, query_ids)
    order = order[np.argsort(of_query[order], kind="stable")]
    ordered = of_query[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else order
    turn = np.arange(len(order)) - np.repeat(starts, np.diff(np.r_[starts, len(order)]))
    return rows[order[np.argsort(turn, kind="stable")]]
