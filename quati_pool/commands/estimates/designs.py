"""Which design of a collection estimates are made from."""

from __future__ import annotations

from collections.abc import Container, Sequence

from quati_pool.store.database import Store
from quati_pool.store.designs import Designs
from quati_pool.store.drawn_labels import designs_of_people
from quati_pool.store.records import Design


def drawn_designs(designs: Designs) -> list[Design]:
    """The designs that drew a part of the pool at random, in the order of their numbers. Where all pairs were chosen,
    people's own figures say all there is to say."""
    return [one for one in designs.all() if one.is_random and one.method != "all"]


def answered_designs(store: Store, collection: str) -> frozenset[int]:
    """The numbers of the designs in whose slots people have labelled."""
    return frozenset().union(*designs_of_people(store, collection).values())


def begun_design(
    latest: Sequence[Design], designs: Designs, answered: Container[int | None], graded: Container[tuple[str, str]]
) -> Design:
    """Of random designs, the latest first, the first in whose slots people ``answered``; else the first that selected a
    pair they ``graded``, or the first. A new design also selects pairs that were graded before it was drawn."""
    for one in latest:
        if one.design_id in answered:
            return one
    for one in latest:
        if any((pair.query_id, pair.doc_id) in graded for pair in designs.selections(one.design_id or 0)):
            return one
    return latest[0]
