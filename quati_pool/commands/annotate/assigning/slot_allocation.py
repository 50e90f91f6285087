"""Creates the slots that the pairs of a design still need: open ones, or slots of named people."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from quati_pool.annotation.allocation import allocate
from quati_pool.annotation.errors import DesignError
from quati_pool.annotation.presentation_order import first_query, query_places, shuffled
from quati_pool.commands.annotate.annotation_pair import Ids
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.listing import slots as all_slots
from quati_pool.store.records import NewSlot, Slot
from quati_pool.text.pluralize import counted


class SlotAllocation:
    """Computes the new slots of a design, given those that its pairs already have."""

    def __init__(self, session: AnnotationSession, options: AssignOptions, seed: int) -> None:
        self._options = options
        self._seed = seed
        # All existing slots, including withdrawn ones.
        self._known: dict[Ids, list[Slot]] = defaultdict(list)
        for slot in all_slots(session.store, session.config.name):
            self._known[slot.query_id, slot.doc_id].append(slot)

    def new_slots(self, pairs: Sequence[Ids], order: Mapping[str, int] | None = None) -> list[NewSlot]:
        """The slots that these pairs lack, by query_order, then doc_id, so that the pool's order has no effect.

        ``order`` has the places of the queries in the order in which everybody gets them. If it is None, they come in
        an order by the seed, of which people begin at different queries.

        Raises DesignError if the overlap or the load is below 1, or too few people are named.
        """
        options = self._options
        if options.overlap < 1:
            raise DesignError(f"an overlap of {options.overlap} gives pairs to nobody; ask for at least 1")
        if options.load is not None and options.load < 1:
            raise DesignError(f"a load of {options.load} gives nobody anything; ask for at least 1")
        rotated = order is None
        if order is None:
            order = query_places(self._seed, [query_id for query_id, _ in pairs])
        pairs = sorted(pairs, key=lambda pair: (order[pair[0]], pair[1]))
        holders = self._holders(pairs) if options.to else {pair: [None] * self._lacking(pair) for pair in pairs}
        turns = self._turns(holders)
        queries = len(order)
        first = {name: int(first_query(self._seed, name) * queries) if rotated else 0 for name in options.to}

        def slot(pair: Ids, replicate: int, name: str | None) -> NewSlot:
            place = order[pair[0]]
            if name is None:
                return NewSlot(*pair, replicate, place)
            query_turn = (place - 1 - first[name]) % queries + 1
            return NewSlot(*pair, replicate, place, name, query_turn, turns[name, *pair])

        return [
            slot(pair, replicate, name)
            for pair in pairs
            for replicate, name in enumerate(holders[pair], start=self._highest_replicate(pair) + 1)
        ]

    def waiting(self, pairs: Sequence[Ids], designs: Collection[int]) -> int:
        """How many of these pairs wait in open slots of these designs."""
        return sum(
            any(slot.state == "open" and slot.design_id in designs for slot in self._known.get(pair, ()))
            for pair in pairs
        )

    def _lacking(self, pair: Ids) -> int:
        live = sum(slot.state != "withdrawn" for slot in self._known.get(pair, ()))
        return max(self._options.overlap - live, 0)

    def _highest_replicate(self, pair: Ids) -> int:
        return max((slot.replicate for slot in self._known.get(pair, ())), default=0)

    def _holders(self, pairs: Sequence[Ids]) -> dict[Ids, list[str | None]]:
        """The people in ``to`` who get each pair. New pairs are allocated in whole queries by ``allocate``; missing
        slots of known pairs go to the people with the fewest pairs who never had a slot of the pair."""
        options = self._options
        fresh = [pair for pair in pairs if pair not in self._known]
        holders: dict[Ids, list[str | None]] = {pair: [] for pair in pairs}
        load: Counter[str] = Counter()
        allocated = allocate(
            [query_id for query_id, _ in fresh], [doc_id for _, doc_id in fresh], list(options.to), options.overlap,
            options.load, self._seed,
        )  # fmt: skip
        for row, _, name in allocated:
            holders[fresh[row]].append(name)
            load[name] += 1
        for pair in pairs:
            if pair in self._known:
                for name in self._least_loaded(pair, load):
                    holders[pair].append(name)
                    load[name] += 1
        return holders

    def _least_loaded(self, pair: Ids, load: Mapping[str, int]) -> list[str]:
        """The people who get the slots that a known pair lacks."""
        lacking, most = self._lacking(pair), self._options.load or np.inf
        had = {slot.holder for slot in self._known[pair]}
        able = [name for name in self._options.to if name not in had and load[name] < most]
        if lacking > len(able):
            raise DesignError(
                f"{pair[0]} {pair[1]} lacks {counted(lacking, 'person', 'people')}, and only {len(able)} of those "
                "named may still get it; name more with --to, raise --load, or lower --overlap",
                "lacking", pair=f"{pair[0]} {pair[1]}", lacking=lacking, able=len(able),
            )  # fmt: skip
        return sorted(able, key=lambda name: (load[name], name))[:lacking]

    def _turns(self, holders: Mapping[Ids, Sequence[str | None]]) -> dict[tuple[str | None, str, str], int]:
        """The position of each passage in its person's order of a query, from 1, by name, query_id and doc_id."""
        held: dict[tuple[str, str], list[str]] = defaultdict(list)
        for (query_id, doc_id), names in holders.items():
            for name in names:
                if name is not None:
                    held[name, query_id].append(doc_id)
        return {
            (name, query_id, doc_id): turn
            for (name, query_id), doc_ids in held.items()
            for turn, doc_id in enumerate(shuffled(self._seed, name, query_id, doc_ids), start=1)
        }
