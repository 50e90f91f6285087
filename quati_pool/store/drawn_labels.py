"""How the pairs of people's labels were drawn: the design, stratum and inclusion probability of each label."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import and_, select

from quati_pool.store.database import Store
from quati_pool.store.records import NO_SAMPLE
from quati_pool.store.schema import assignments, designs, labels, selections


class Drawn(NamedTuple):
    """The design that gave a pair to a person, by number and method (``3-random``); the pair's stratum in it, None if
    the design did not select the pair; and its inclusion probability, None if that is not known."""

    design: str
    stratum: str | None
    inclusion: float | None


def drawn_labels(store: Store, collection: str, labeler_ids: Sequence[str]) -> dict[int, Drawn]:
    """How the pair of each label of these people was drawn, by the label's seq; labels that were given outside any
    slot, as leads' decisions are, are absent."""
    c, a, d, s = labels.c, assignments.c, designs.c, selections.c
    pair = and_(s.design_id == a.design_id, s.query_id == a.query_id, s.doc_id == a.doc_id)
    wanted = (
        select(c.seq, d.design_id, d.method, s.stratum, s.inclusion)
        .join_from(labels, assignments, a.assignment_id == c.assignment_id)
        .join(designs, d.design_id == a.design_id)
        .outerjoin(selections, pair)
        .where(c.collection == collection, c.labeler_id.in_(labeler_ids))
    )
    with store.reading() as connection:
        return {
            seq: Drawn(f"{design_id}-{method}", stratum, None if method in NO_SAMPLE else inclusion)
            for seq, design_id, method, stratum, inclusion in connection.execute(wanted)
        }


def designs_of_people(store: Store, collection: str) -> dict[str, frozenset[int]]:
    """By labeler_id, the numbers of the designs in whose slots each person has labelled."""
    c, a = labels.c, assignments.c
    wanted = (
        select(c.labeler_id, a.design_id)
        .join_from(labels, assignments, a.assignment_id == c.assignment_id)
        .where(c.collection == collection)
        .distinct()
    )
    found: dict[str, set[int]] = defaultdict(set)
    with store.reading() as connection:
        for labeler_id, design_id in connection.execute(wanted):
            found[labeler_id].add(design_id)
    return {labeler_id: frozenset(designs) for labeler_id, designs in found.items()}
