"""Made-up knowledge graphs, and the triples of files as codes."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pyarrow as pa

from quati_pool.files.triples import GraphIds, Triples, read_triples
from quati_pool.records import Ids
from tests.annotation.authoring.constraints_oracle import Cluster, Graph, Triple, clusters


def planted(triples: int, seed: int = 7, plants: int = 60) -> list[Triple]:
    """Distinct triples: groups of constraints that share answers, within links at random of properties of very
    different frequency. Some groups share exactly two answers, some only one, which makes no cluster. In every second
    group each constraint has an entity that fulfils all the others, so that none is redundant."""
    generator = random.Random(seed)
    found: dict[Triple, None] = {}
    for plant in range(plants):
        shared = [f"m{plant}.{n}" for n in range(1 + plant % 6)]
        size = 3 + plant % 7
        for c in range(size):
            prop = f"P{(plant * 7 + c * 3) % 40}"
            others = [f"e{generator.randrange(3000)}" for _ in range(generator.randrange(12))]
            but_one = [f"w{plant}.{n}" for n in range(size) if n != c] if plant % 2 else []
            for x in [*shared, *but_one, *others]:
                found[(x, prop, f"h{plant}.{c}") if (plant + c) % 3 else (f"h{plant}.{c}", prop, x)] = None
    while len(found) < triples:
        prop = f"P{min(int(generator.paretovariate(0.7)), 200)}"
        hub = int(min(generator.paretovariate(0.6), 2500))
        found[f"e{generator.randrange(3000)}", prop, f"e{hub}"] = None
    rows = list(found)
    generator.shuffle(rows)
    return rows


@cache
def brute_force(seed: int) -> tuple[list[Triple], Graph, list[Cluster]]:
    """20,000 triples with planted clusters, their graph, and its clusters by the oracle, which takes 15 seconds."""
    rows = planted(20_000)
    graph = Graph(rows)
    return rows, graph, clusters(graph, seed)


def coded(triples: Iterable[Triple], folder: Path) -> Triples:
    """The triples as read from a file."""
    path = folder / "triples.tsv"
    path.write_text("".join(f"{s}\t{p}\t{o}\n" for s, p, o in triples), encoding="utf-8")
    return read_triples([path])


def in_memory(triples: Iterable[Triple]) -> Triples:
    """The same without a file: the vocabularies by Python's sorting."""
    rows = list(triples)
    entities = sorted({x for s, _, o in rows for x in (s, o)}, key=str.encode)
    properties = sorted({p for _, p, _ in rows}, key=str.encode)
    ids = GraphIds(Ids(pa.array(entities, pa.large_string())), Ids(pa.array(properties, pa.large_string())))
    subject, obj = (ids.entities.encode([row[place] for row in rows]).astype("int32") for place in (0, 2))
    return Triples(subject, ids.properties.encode([p for _, p, _ in rows]).astype("int32"), obj, ids)
