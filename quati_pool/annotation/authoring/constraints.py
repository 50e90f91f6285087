"""Constraints of a knowledge graph, and clusters of them that share answers: what RoMQA's questions are written from
(Zhong, Shi, Yih and Zettlemoyer, Findings of EMNLP 2023, section 2.1; the sampling itself is defined here).

T is the set of distinct triples (subject, property, object).

- A constraint c is (entity e, property p, side). Its answers A(c) are, for side ``subj``, all x with (x, p, e) in T;
  for ``obj``, all x with (e, p, x) in T: the side is the place of the answer. It is usable if it has at least
  ``min_shared`` answers. Its weight is 1 / f(p), where f(p) is the number of triples of p.
- A cluster has at least ``min_constraints`` constraints and at most ``max_constraints``; all of them together share at
  least ``min_shared`` answers. It grows from a seed: of all constraints that are in no cluster yet and that share that
  many answers with all those drawn before, one is drawn in proportion to its weight, until there is none.
- Seeds are drawn in proportion to weight from all usable constraints, without replacement. A seed whose cluster
  remains too small is not tried again as a seed, and its constraints may be drawn by others. A constraint is in one
  cluster at most, so splits by cluster share none.

A draw takes the least key -ln(u) / weight, with u in (0, 1) from a hash of ids: exponential clocks, of which the least
is each constraint's with probability in proportion to its weight (Efraimidis and Spirakis, Information Processing
Letters 97, 2006). They are memoryless, and constraints only ever become ineligible, so the same keys serve all draws of
one cluster. Equal keys are ordered by the constraints' ids. Row order, files and codes therefore change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.errors import ConfigError
from quati_pool.files.triples import Code, GraphIds, Triples
from quati_pool.records import Int
from quati_pool.stats.hashing import Hashes, hashes
from quati_pool.stats.splitmix64 import GAMMA, mix

Side = Literal["subj", "obj"]
"""The place of the answer in the triple, as ``prop_dir`` in RoMQA's files."""

Progress = Callable[[int, int], None]
"""Receives how many seeds were tried, and how many constraints there are."""

_HASHED = 100_000
_REPORTED = 1_000


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """All that decides what is drawn from a graph. Raises ConfigError for a value out of its range."""

    seed: int = 0
    """Of all draws."""

    min_shared: int = 2
    """Answers that a constraint must have, and that all constraints of a cluster must share."""

    min_constraints: int = 3
    """Constraints that a cluster must have."""

    max_constraints: int = 10
    """Constraints at which a cluster ends to grow. The paper gives none; five queries of four constraints at most stay
    varied."""

    draws: int = 5
    """Logical queries drawn for each cluster; those discarded are not drawn again."""

    min_questions: int = 3
    """Queries, not discarded, that a cluster must give for people to write from it."""

    drop: float = 0.1
    """Probability that a query leaves out a constraint of its cluster."""

    negate: float = 0.1
    """Probability that a constraint which is not left out is negated."""

    max_kept: int = 4
    """Constraints that a query may have once redundant ones are removed."""

    max_answers: int = 5_000
    """Answers above which a query is discarded."""

    candidates: int = 100
    """Candidate answers of a question in the closed setting."""

    def __post_init__(self) -> None:
        least = {
            "min_shared": 1,
            "min_constraints": 1,
            "max_constraints": self.min_constraints,
            "draws": 1,
            "min_questions": 1,
            "max_kept": 1,
            "max_answers": 1,
            "candidates": 1,
        }
        for name, low in least.items():
            value = getattr(self, name)
            if value < low:
                raise ConfigError(f"{name} is {value}; expected {low} or more")
        for name in ("drop", "negate"):
            value = getattr(self, name)
            if not 0 <= value < 1:
                raise ConfigError(f"{name} is {value}; expected a probability from 0 to below 1")


class Constraint(NamedTuple):
    """One condition on an answer, by ids."""

    entity: str
    property: str
    side: Side


@dataclass(frozen=True, eq=False)
class ConstraintIndex:
    """The usable constraints of a graph, numbered in the order of their ids (entity, property, side).

    ``entity``, ``property`` and ``is_subj`` have the shape (constraints,). The answers of constraint c are
    ``answers[starts[c]:starts[c + 1]]``, ascending; the constraints that entity x answers are
    ``of_entity[of_entity_starts[x]:of_entity_starts[x + 1]]``, ascending. ``frequency`` is the number of distinct
    triples of each property, and ``triples`` those of all.
    """

    ids: GraphIds
    min_shared: int
    entity: Code
    property: Code
    is_subj: npt.NDArray[np.bool_]
    starts: Int
    answers: Code
    of_entity_starts: Int
    of_entity: Code
    frequency: Int
    triples: int

    def __len__(self) -> int:
        return len(self.entity)

    def answers_of(self, constraint: int) -> Code:
        """The entities that fulfil a constraint, ascending, shape (answers,)."""
        return self.answers[self.starts[constraint] : self.starts[constraint + 1]]

    def constraints(self, places: slice | Sequence[int]) -> list[Constraint]:
        """The constraints of some numbers, by ids."""
        at = places if isinstance(places, slice) else np.array(places, dtype=np.int64)
        entities = self.ids.entities.decode(self.entity[at]).to_pylist()
        properties = self.ids.properties.decode(self.property[at]).to_pylist()
        return [
            Constraint(entity, prop, "subj" if subj else "obj")
            for entity, prop, subj in zip(entities, properties, self.is_subj[at].tolist(), strict=True)
        ]

    def linking(self, constraint: int, entities: Code) -> Int:
        """The keys (``GraphIds.keys``) of the triples by which ``entities`` would fulfil a constraint, shape (n,), in
        the graph or not."""
        other = np.full(len(entities), self.entity[constraint])
        subject, obj = (entities, other) if self.is_subj[constraint] else (other, entities)
        return self.ids.keys(subject, np.full(len(entities), self.property[constraint]), obj)

    def hashes(self, seed: int) -> Hashes:
        """A number for each constraint from the seed and its ids, shape (constraints,)."""
        parts = [np.empty(0, dtype=np.uint64)]
        for start in range(0, len(self), _HASHED):
            entities, properties, sides = zip(*self.constraints(slice(start, start + _HASHED)), strict=True)
            parts.append(hashes("constraint", seed, entities, properties, sides))
        return np.concatenate(parts)

    @cached_property
    def odds(self) -> npt.NDArray[np.float64]:
        """The frequency of each constraint's property, which is 1 / weight, shape (constraints,)."""
        return self.frequency[self.property].astype(np.float64)


class Cluster(NamedTuple):
    """Constraints that all share the answers ``shared`` (ascending), by number: the seed first, the others in the order
    in which they were drawn. ``cluster_id`` is a hash of their ids and the seed of all draws."""

    cluster_id: str
    constraints: tuple[int, ...]
    shared: Code


def index_constraints(triples: Triples, min_shared: int = 2) -> ConstraintIndex:
    """The constraints with at least ``min_shared`` answers."""
    entities, properties, rows = len(triples.ids.entities), len(triples.ids.properties), len(triples)
    # ((entity, property), side), answer: one number for each fact read from either side.
    facts = np.empty(2 * rows, dtype=np.int64)
    for half, (of, answer, subj) in (
        (facts[:rows], (triples.object, triples.subject, 1)),
        (facts[rows:], (triples.subject, triples.object, 0)),
    ):
        np.multiply(of, properties, out=half, dtype=np.int64)
        half += triples.property
        half *= 2
        half += subj
        half *= entities
        half += answer
    facts.sort()
    new = np.empty(len(facts), dtype=np.bool_)
    new[:1] = True
    np.not_equal(facts[1:], facts[:-1], out=new[1:])
    facts = facts[new]
    group = facts // entities
    facts -= group * entities
    answers = facts.astype(np.int32)
    del facts, new
    starts = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1]))) if len(group) else np.empty(0, np.int64)
    sizes = np.diff(starts, append=len(group))
    names = group[starts]
    del group
    is_subj = names % 2 == 1
    names //= 2
    prop = (names % properties).astype(np.int32)
    frequency = np.zeros(properties, dtype=np.int64)
    np.add.at(frequency, prop[is_subj], sizes[is_subj])
    usable = sizes >= min_shared
    answers = answers[np.repeat(usable, sizes)]
    sizes = sizes[usable]
    order = np.argsort(answers, kind="stable")
    of_entity = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)[order]
    del order
    return ConstraintIndex(
        ids=triples.ids,
        min_shared=min_shared,
        entity=(names[usable] // properties).astype(np.int32),
        property=prop[usable],
        is_subj=is_subj[usable],
        starts=_bounds(sizes),
        answers=answers,
        of_entity_starts=_bounds(np.bincount(answers, minlength=entities)),
        of_entity=of_entity,
        frequency=frequency,
        triples=int(frequency.sum()),
    )


def clusters(index: ConstraintIndex, settings: ClusterSettings, progress: Progress | None = None) -> Iterator[Cluster]:
    """The clusters of a graph, as they are drawn: a caller that takes fewer has the first of more. The index has the
    ``min_shared`` of the settings."""
    if index.min_shared != settings.min_shared:
        raise ValueError("the index has another min_shared than the settings")
    hashed = index.hashes(settings.seed)
    free = np.ones(len(index), dtype=np.bool_)
    seeds = np.argsort(clocks(hashed) * index.odds, kind="stable").tolist()
    for tried, seed in enumerate(seeds):
        if progress is not None and tried % _REPORTED == 0:
            progress(tried, len(index))
        if not free[seed]:
            continue
        grown, shared = _grown(index, seed, free, hashed, settings)
        if len(grown) < settings.min_constraints:
            free[grown] = True
            continue
        yield Cluster(_cluster_id(index, grown, settings.seed), tuple(grown), shared)
    if progress is not None:
        progress(len(index), len(index))


def stream(hashed: Hashes, of: np.uint64 | int) -> Hashes:
    """The state of a SplitMix64 generator for each pair of a hash with ``of``, shape of ``hashed``."""
    (other,) = mix(np.array([of], dtype=np.uint64) + GAMMA)
    states: Hashes = hashed ^ other
    return states


def number(states: Hashes, place: int) -> Hashes:
    """The ``place``-th number of each generator, from 1, shape of ``states``."""
    # An array, since numpy warns where a scalar overflows.
    return mix(states + np.array([place], dtype=np.uint64) * GAMMA)


def uniform(drawn: Hashes) -> npt.NDArray[np.float64]:
    """Numbers in (0, 1), from the upper 52 bits."""
    return ((drawn >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def clocks(drawn: Hashes) -> npt.NDArray[np.float64]:
    """Exponential variates of mean 1."""
    return -np.log(uniform(drawn))


def gathered(starts: Int, values: Code, rows: npt.NDArray[np.integer]) -> Code:
    """The values of some rows of a matrix in compressed form, one row after another."""
    first = starts[rows]
    sizes = starts[rows + 1] - first
    ends = np.cumsum(sizes)
    found: Code = values[np.repeat(first - ends + sizes, sizes) + np.arange(ends[-1] if len(ends) else 0)]
    return found


def common(a: Code, b: Code) -> Code:
    """The values in both, where each is ascending without repetitions."""
    if len(a) > len(b):
        a, b = b, a
    return a[contained(a, b)]


def contained(values: Code, within: Code) -> npt.NDArray[np.bool_]:
    """Which values are in ``within``, which is ascending; shape of ``values``."""
    if not len(within):
        return np.zeros(len(values), dtype=np.bool_)
    place = np.searchsorted(within, values)
    place[place == len(within)] = 0
    found: npt.NDArray[np.bool_] = within[place] == values
    return found


def _bounds(sizes: Int) -> Int:
    bounds = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=bounds[1:])
    return bounds


def _grown(
    index: ConstraintIndex, seed: int, free: npt.NDArray[np.bool_], hashed: Hashes, settings: ClusterSettings
) -> tuple[list[int], Code]:
    """The constraints that grow from a seed, and the answers they share. They are no longer free afterwards."""
    grown, shared = [seed], index.answers_of(seed)
    free[seed] = False
    while len(grown) < settings.max_constraints:
        eligible = _eligible(index, shared, free)
        if not len(eligible) or len(grown) + len(eligible) < settings.min_constraints:
            break
        keys = clocks(number(stream(hashed[eligible], hashed[seed]), 1)) * index.odds[eligible]
        narrowed = shared
        # As long as the shared answers remain the same, so do the others that are eligible.
        for _ in range(min(len(eligible), settings.max_constraints - len(grown))):
            place = np.argmin(keys)
            keys[place] = np.inf
            drawn = int(eligible[place])
            grown.append(drawn)
            free[drawn] = False
            narrowed = common(shared, index.answers_of(drawn))
            if len(narrowed) < len(shared):
                break
        shared = narrowed
    return grown, shared


def _eligible(index: ConstraintIndex, shared: Code, free: npt.NDArray[np.bool_]) -> Code:
    """The free constraints that have at least ``min_shared`` of the ``shared`` answers, ascending."""
    # A constraint with m of the answers has one of any that remain without m - 1. Those left out are the entities that
    # answer most constraints, whose lists are long; a search adds them to the counts.
    left_out = index.min_shared - 1
    if left_out:
        degrees = index.of_entity_starts[shared + 1] - index.of_entity_starts[shared]
        order = np.argpartition(degrees, len(shared) - left_out)
        hubs, shared = shared[order[-left_out:]], shared[order[:-left_out]]
    found = gathered(index.of_entity_starts, index.of_entity, shared)
    found = found[free[found]]
    if len(found) > len(index) >> 4:
        counts = np.bincount(found, minlength=len(index))
        found = np.flatnonzero(counts).astype(np.int32)
        counts = counts[found]
    else:
        found, counts = np.unique(found, return_counts=True)
    if left_out:
        for hub in hubs:
            counts += contained(found, index.of_entity[index.of_entity_starts[hub] : index.of_entity_starts[hub + 1]])
    return found[counts >= index.min_shared]


def _cluster_id(index: ConstraintIndex, constraints: Sequence[int], seed: int) -> str:
    # Ids have no white space.
    text = " ".join(part for constraint in index.constraints(constraints) for part in constraint)
    return f"{int(hashes('cluster', seed, [text])[0]):016x}"
