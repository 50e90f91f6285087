"""The definitions of constraints, clusters, queries and candidates, computed by brute force: Python sets and integers,
each draw among all that is eligible at that moment. Slow, and independent of the code except for its definitions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import xxhash

Triple = tuple[str, str, str]
Constraint = tuple[str, str, str]
"""Entity, property, side."""

MASK = 2**64 - 1
GAMMA = 0x9E3779B97F4A7C15


def mix(z: int) -> int:
    z ^= z >> 30
    z = z * 0xBF58476D1CE4E5B9 & MASK
    z ^= z >> 27
    z = z * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def text_hash(purpose: str, seed: int, *texts: str) -> int:
    joined = "".join(f"{len(text)}:{text}" for text in texts)
    return xxhash.xxh3_64_intdigest(f"{purpose}:{seed}:{joined}".encode())


def pair_number(first: int, second: int, place: int) -> int:
    """The ``place``-th number of the generator of a pair."""
    return mix(((first ^ mix((second + GAMMA) & MASK)) + place * GAMMA) & MASK)


def uniform(z: int) -> float:
    return ((z >> 12) + 0.5) / 2**52


class Graph:
    def __init__(self, triples: Iterable[Triple], min_shared: int = 2) -> None:
        self.triples = set(triples)
        answers: dict[Constraint, set[str]] = {}
        for s, p, o in self.triples:
            answers.setdefault((o, p, "subj"), set()).add(s)
            answers.setdefault((s, p, "obj"), set()).add(o)
        self.frequency = Counter(p for _, p, _ in self.triples)
        self.answers = {c: found for c, found in answers.items() if len(found) >= min_shared}
        self.min_shared = min_shared

    def hashed(self, c: Constraint, seed: int) -> int:
        return text_hash("constraint", seed, *c)


class Cluster(NamedTuple):
    cluster_id: str
    constraints: list[Constraint]
    shared: set[str]


def id_bytes(c: Constraint) -> tuple[bytes, ...]:
    return tuple(part.encode() for part in c)


def clusters(graph: Graph, seed: int = 0, smallest: int = 3, largest: int = 10) -> list[Cluster]:
    hashed = {c: graph.hashed(c, seed) for c in graph.answers}

    def key(c: Constraint, u: float) -> tuple[float, tuple[bytes, ...]]:
        return -math.log(u) * graph.frequency[c[1]], id_bytes(c)

    untried, used, found = set(graph.answers), set[Constraint](), []
    while untried - used:
        first = min(untried - used, key=lambda c: key(c, uniform(hashed[c])))
        untried.remove(first)
        grown, shared = [first], set(graph.answers[first])
        while len(grown) < largest:
            eligible = [
                c
                for c, answers in graph.answers.items()
                if c not in used and c not in grown and len(answers & shared) >= graph.min_shared
            ]
            if not eligible:
                break
            drawn = min(eligible, key=lambda c: key(c, uniform(pair_number(hashed[c], hashed[first], 1))))
            grown.append(drawn)
            shared &= graph.answers[drawn]
        if len(grown) >= smallest:
            used.update(grown)
            text = " ".join(part for c in grown for part in c)
            found.append(Cluster(f"{text_hash('cluster', seed, text):016x}", grown, shared))
    return found


class Query(NamedTuple):
    query_id: str
    signed: dict[Constraint, bool]
    """Whether each constraint is negated."""

    answers: set[str]


def answers_of(graph: Graph, signed: dict[Constraint, bool]) -> set[str]:
    """The answers of a query with a constraint that is not negated."""
    found = set.intersection(*(graph.answers[c] for c, negated in signed.items() if not negated))
    return found.difference(*(graph.answers[c] for c, negated in signed.items() if negated))


def is_positive(signed: dict[Constraint, bool]) -> bool:
    return not all(signed.values())


def without(signed: dict[Constraint, bool], c: Constraint) -> dict[Constraint, bool]:
    return {other: negated for other, negated in signed.items() if other != c}


def irredundant(graph: Graph, signed: dict[Constraint, bool]) -> dict[Constraint, bool]:
    for c in sorted(signed, key=lambda c: (-len(graph.answers[c]), id_bytes(c))):
        rest = without(signed, c)
        if is_positive(rest) and answers_of(graph, rest) == answers_of(graph, signed):
            signed = rest
    return signed


def queries(
    graph: Graph,
    cluster: Cluster,
    seed: int = 0,
    draws: int = 5,
    drop: float = 0.1,
    negate: float = 0.1,
    most: int = 4,
    most_answers: int = 5000,
) -> list[Query | str]:
    """The query of each draw, or the reason why there is none."""
    of_seed = graph.hashed(cluster.constraints[0], seed)
    found: list[Query | str] = []
    for draw in range(draws):
        signed, order = {}, {}
        for c in cluster.constraints:
            first, second, third = (pair_number(graph.hashed(c, seed), of_seed, 3 * draw + n) for n in (2, 3, 4))
            if uniform(first) >= drop:
                signed[c] = uniform(second) < negate
                order[c] = third, id_bytes(c)
        if not signed or not is_positive(signed):
            found.append("no_positive")
            continue
        signed = irredundant(graph, signed)
        if len(signed) > most:
            ordered = sorted(signed, key=order.__getitem__)
            kept = ordered[:most]
            if all(signed[c] for c in kept):
                kept[-1] = next(c for c in ordered if not signed[c])
            signed = {c: negated for c, negated in signed.items() if c in kept}
        answers = answers_of(graph, signed)
        if not answers:
            found.append("no_answers")
        elif len(answers) > most_answers:
            found.append("too_many_answers")
        elif any(isinstance(query, Query) and query.signed == signed for query in found):
            found.append("repeated")
        else:
            found.append(Query(f"{cluster.cluster_id}-{draw + 1}", signed, answers))
    return found


def candidates(graph: Graph, cluster: Cluster, query: Query, seed: int = 0, most: int = 100) -> list[tuple[str, bool]]:
    of_query = text_hash("candidates", seed, query.query_id)

    def drawn(x: str, place: int) -> tuple[int, bytes]:
        return pair_number(text_hash("candidate", seed, x), of_query, place), x.encode()

    positive = set().union(*(graph.answers[c] for c, negated in query.signed.items() if not negated))
    every = set().union(*(graph.answers[c] for c in cluster.constraints))
    chosen: list[str] = []
    for group in (query.answers, positive - query.answers, every - positive):
        chosen += sorted(group, key=lambda x: drawn(x, 1))[: most - len(chosen)]
    return [(x, x in query.answers) for x in sorted(chosen, key=lambda x: drawn(x, 2))]
