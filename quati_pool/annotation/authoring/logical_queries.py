"""Logical queries: conjunctions of a cluster's constraints, some of them negated, from which questions are written.

- Each draw leaves out each constraint of the cluster with probability ``drop`` and negates each that is left with
  probability ``negate``. A draw without a constraint that is not negated is discarded.
- The answers of a query are the entities that fulfil all constraints that are not negated, and none that is.
- A constraint is redundant if the query has the same answers without it, and another one that is not negated is left.
  Redundant ones are removed one by one, those with most answers first, each tested against what is left. One pass
  suffices: what is not redundant does not become so as others go, since answers then are the same, and those without
  the constraint can only grow.
- If more than ``max_kept`` are left, those with the least hashes are kept; if none of these is without negation, the
  one with the least hash that is takes the place of the last. This makes none redundant: an entity that one constraint
  alone excludes is still excluded by it alone.
- Discarded are queries without answers or with more than ``max_answers``, and those that equal an earlier draw of the
  cluster.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.annotation.authoring.constraints import (
    Cluster,
    ClusterSettings,
    ConstraintIndex,
    number,
    stream,
    uniform,
)
from quati_pool.files.triples import Code
from quati_pool.stats.hashing import Hashes

Reason = Literal["no_positive", "no_answers", "too_many_answers", "repeated"]
"""Why a draw gives no query."""


class ClusterAnswers(NamedTuple):
    """Which of a cluster's constraints an entity fulfils: ``fulfils`` has the shape (constraints, entities), in the
    cluster's order and that of ``entities`` (ascending), which fulfil at least one."""

    entities: Code
    fulfils: npt.NDArray[np.bool_]


class Draw(NamedTuple):
    """One draw, each of shape (constraints,), in the cluster's order: which are left out, which would be negated, and
    the hashes by which those are chosen that a query keeps."""

    number: int
    dropped: npt.NDArray[np.bool_]
    negated: npt.NDArray[np.bool_]
    order: Hashes


class Signed(NamedTuple):
    """A constraint of a query, by its place in the cluster from 0."""

    place: int
    negated: bool


class LogicalQuery(NamedTuple):
    """A query and its answers, ascending; its constraints are in the cluster's order."""

    query_id: str
    constraints: tuple[Signed, ...]
    answers: Code


class Discarded(NamedTuple):
    """A draw that gives no query."""

    query_id: str
    reason: Reason


def cluster_answers(index: ConstraintIndex, cluster: Cluster) -> ClusterAnswers:
    """The entities that fulfil any of a cluster's constraints, and which."""
    answers = [index.answers_of(constraint) for constraint in cluster.constraints]
    entities = np.unique(np.concatenate(answers))
    fulfils = np.zeros((len(answers), len(entities)), dtype=np.bool_)
    for row, found in zip(fulfils, answers, strict=True):
        row[np.searchsorted(entities, found)] = True
    return ClusterAnswers(entities, fulfils)


def draws(cluster: Cluster, hashed: Hashes, settings: ClusterSettings) -> list[Draw]:
    """The draws of a cluster; ``hashed`` are those of ``ConstraintIndex.hashes`` with the settings' seed.

    Each pair of the cluster's seed and a constraint has a generator. Its first number grew the cluster; every draw
    takes the next three.
    """
    states = stream(hashed[list(cluster.constraints)], hashed[cluster.constraints[0]])
    return [
        Draw(
            draw + 1,
            uniform(number(states, 3 * draw + 2)) < settings.drop,
            uniform(number(states, 3 * draw + 3)) < settings.negate,
            number(states, 3 * draw + 4),
        )
        for draw in range(settings.draws)
    ]


def logical_query(
    cluster: Cluster, known: ClusterAnswers, draw: Draw, settings: ClusterSettings
) -> LogicalQuery | Discarded:
    """The query of one draw, or why there is none; whether it equals an earlier one is left to ``logical_queries``."""
    query_id = f"{cluster.cluster_id}-{draw.number}"
    drawn = np.flatnonzero(~draw.dropped).tolist()
    if draw.negated[drawn].all():
        return Discarded(query_id, "no_positive")
    # What an entity violates; a constraint is redundant if no entity violates it alone.
    violated = known.fulfils == draw.negated[:, np.newaxis]
    kept = _chosen(cluster, _irredundant(cluster, known, violated, drawn, draw), draw, settings.max_kept)
    answers = known.entities[~violated[kept].any(axis=0)]
    if not len(answers):
        return Discarded(query_id, "no_answers")
    if len(answers) > settings.max_answers:
        return Discarded(query_id, "too_many_answers")
    return LogicalQuery(query_id, tuple(Signed(place, bool(draw.negated[place])) for place in kept), answers)


def logical_queries(
    cluster: Cluster, known: ClusterAnswers, hashed: Hashes, settings: ClusterSettings
) -> list[LogicalQuery | Discarded]:
    """What becomes of all draws of a cluster, in their order."""
    seen: set[tuple[Signed, ...]] = set()
    found: list[LogicalQuery | Discarded] = []
    for draw in draws(cluster, hashed, settings):
        query = logical_query(cluster, known, draw, settings)
        if isinstance(query, LogicalQuery):
            if query.constraints in seen:
                query = Discarded(query.query_id, "repeated")
            else:
                seen.add(query.constraints)
        found.append(query)
    return found


def _irredundant(
    cluster: Cluster, known: ClusterAnswers, violated: npt.NDArray[np.bool_], drawn: Sequence[int], draw: Draw
) -> list[int]:
    """The places of the constraints that are left once redundant ones are removed."""
    left = list(drawn)
    violations = violated[left].sum(axis=0)
    sizes = known.fulfils.sum(axis=1)
    for place in sorted(drawn, key=lambda place: (-sizes[place], cluster.constraints[place])):
        needed = not draw.negated[place] and _positives(left, draw) == [place]
        if not needed and not (violated[place] & (violations == 1)).any():
            left.remove(place)
            violations -= violated[place]
    return left


def _chosen(cluster: Cluster, left: Sequence[int], draw: Draw, most: int) -> list[int]:
    """At most ``most`` of the constraints, one of them without negation, in the cluster's order."""
    if len(left) <= most:
        return list(left)
    ordered = sorted(left, key=lambda place: (int(draw.order[place]), cluster.constraints[place]))
    kept = ordered[:most]
    if not _positives(kept, draw):
        kept[-1] = _positives(ordered, draw)[0]
    return sorted(kept)


def _positives(places: Collection[int], draw: Draw) -> list[int]:
    return [place for place in places if not draw.negated[place]]
