"""The candidate answers of a question in RoMQA's closed setting (section 3 of the paper; how they are drawn is defined
here).

Candidates are the answers, or ``candidates`` of them at random where there are more; then, at random, entities that
fulfil a constraint of the query that is not negated; then, at random, entities that fulfil any other constraint of the
cluster; fewer if there are no more. With more answers than candidates none is wrong. The order in which they are shown
is random too, by numbers of its own: by those of the choice, wrong ones would come first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.annotation.authoring.constraints import ClusterSettings, number, stream
from quati_pool.annotation.authoring.logical_queries import ClusterAnswers, LogicalQuery
from quati_pool.files.triples import Code
from quati_pool.records import Ids
from quati_pool.stats.hashing import Hashes, hashes

_HASHED = 100_000


class Candidates(NamedTuple):
    """Entities in the order in which they are shown, and whether each is an answer; both of shape (candidates,)."""

    entities: Code
    is_answer: npt.NDArray[np.bool_]


def hashed_entities(entities: Ids, seed: int) -> Hashes:
    """A number for each entity from the seed and its id, shape (entities,); to be computed once for all queries."""
    parts = [np.empty(0, dtype=np.uint64)]
    for start in range(0, len(entities), _HASHED):
        parts.append(hashes("candidate", seed, entities.values.slice(start, _HASHED).to_pylist()))
    return np.concatenate(parts)


def answer_candidates(
    query: LogicalQuery, known: ClusterAnswers, hashed: Hashes, settings: ClusterSettings
) -> Candidates:
    """The candidates of a query; ``hashed`` are those of ``hashed_entities`` with the settings' seed."""
    # Each pair of a query and an entity has a generator: its first number chooses, its second orders.
    (of_query,) = hashes("candidates", settings.seed, [query.query_id])
    is_answer = np.zeros(len(known.entities), dtype=np.bool_)
    is_answer[np.searchsorted(known.entities, query.answers)] = True
    near = known.fulfils[[place for place, negated in query.constraints if not negated]].any(axis=0)
    states = stream(hashed[known.entities], of_query)
    chosen: list[npt.NDArray[np.int64]] = []
    missing = settings.candidates
    for group in (is_answer, near & ~is_answer, ~near):
        places = np.flatnonzero(group)
        chosen.append(places[_least(number(states[places], 1), missing)])
        missing -= len(chosen[-1])
    places = np.sort(np.concatenate(chosen))
    places = places[np.argsort(number(states[places], 2), kind="stable")]
    return Candidates(known.entities[places], is_answer[places])


def _least(drawn: Hashes, most: int) -> npt.NDArray[np.int64]:
    """The places of the least numbers, at most ``most``; among equal ones the first."""
    if most >= len(drawn):
        return np.arange(len(drawn))
    return np.argsort(drawn, kind="stable")[:most]
