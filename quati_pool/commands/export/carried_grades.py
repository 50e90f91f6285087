"""Grades carried to near-duplicates: of pairs of the pool without a grade, for one file of qrels.

Nothing is stored: a carried grade is no label.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from quati_pool.annotation.near_duplicate_passages import NEAR, near_duplicates
from quati_pool.errors import ConfigError
from quati_pool.judging.pair import Pair
from quati_pool.labels.base import Graded
from quati_pool.records import State

LEAST = NEAR
"""The least similarity at which grades may be carried."""


class CarriedGrade(NamedTuple):
    """A grade of one passage that was given for ``from_doc_id``, a near-duplicate."""

    query_id: str
    doc_id: str
    grade: int
    from_doc_id: str
    similarity: float


def check_similarity(similarity: float) -> None:
    """Raises ConfigError if grades may not be carried at this similarity."""
    if not LEAST <= similarity <= 1:
        raise ConfigError(f"grades are carried at a similarity from {LEAST:g} to 1, not {similarity:g}")


def carried_grades(pairs: Sequence[Pair], graded: Sequence[Graded], similarity: float) -> list[CarriedGrade]:
    """The grades for those of ``pairs``, in their order, for which the labeler gave nothing yet or its answer failed:
    that of the most similar passage of the same query that has one, if the similarity is at least ``similarity``; of
    equally similar ones the lowest grade, then the first in the order of ``pairs``. Carried grades are not carried
    further. ``graded`` are the labeler's grades of ``pairs``.

    Pairs that the labeler looked at without a grade as the outcome (it could not judge, or people disagree) get none:
    a near-duplicate's grade must not overrule that.
    """
    by_query: dict[str, list[int]] = {}
    for place, pair in enumerate(pairs):
        by_query.setdefault(pair.query_id, []).append(place)
    found: list[CarriedGrade] = []
    for places in by_query.values():
        lacking = [_lacks(graded[place]) for place in places]
        if not any(lacking) or all(graded[place].relevance is None for place in places):
            continue
        alike = near_duplicates([pairs[place].text for place in places], similarity)
        for place, lacks, others in zip(places, lacking, alike, strict=True):
            sources = [
                (-likeness, grade, places[other])
                for other, likeness in others
                if (grade := graded[places[other]].relevance) is not None
            ]
            if lacks and sources:
                likeness, grade, source = min(sources)
                pair = pairs[place]
                similar = round(-likeness, 4)
                found.append(CarriedGrade(pair.query_id, pair.doc_id, grade, pairs[source].doc_id, similar))
    return found


def _lacks(graded: Graded) -> bool:
    looked_at = graded.tied or graded.status in (State.ok, State.unsure, State.no_text)
    return graded.relevance is None and not looked_at
