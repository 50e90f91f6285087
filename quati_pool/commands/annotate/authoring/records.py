"""What people have written so far, as the records of the design; reports and releases are computed from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from quati_pool.annotation.authoring.base import DRAFT_ROUND, Design, with_origin
from quati_pool.annotation.authoring.forms import MACHINE
from quati_pool.commands.annotate.authoring.sources import design_of
from quati_pool.commands.annotate.drafter_names import drafter_names
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.store.authoring import Authoring
from quati_pool.store.authoring_records import SAYING, Entry, Item, ItemState, RoundProgress, counting
from quati_pool.store.database import Store

Record = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Records:
    """The items of a collection with their entries, all of them, oldest first. ``drafters`` are the names of the
    programs that wrote items, by ``Item.drafted_by``, and of those that translated fields of forms."""

    config: PoolConfig
    design: Design[Any]
    items: Mapping[int, Item]
    entries: Mapping[int, Sequence[Entry]]
    progress: Sequence[RoundProgress]
    drafters: Mapping[str, str]

    @cached_property
    def by_kind(self) -> dict[str, list[Record]]:
        """The design's records of the items that are neither out nor left out, in the order of their numbers; kinds in
        the order in which they first occur."""
        unit = self.design.unit
        left = {
            kind: [one for one in of_kind if kind != unit or one["item_id"] not in self.left_out]
            for kind, of_kind in self._recorded.items()
        }
        return {kind: of_kind for kind, of_kind in left.items() if of_kind}

    @cached_property
    def left_out(self) -> Mapping[int, str]:
        """The items of the data set that are left out because of others, by ``item_id``, with the reason."""
        if type(self.design).left_out is Design.left_out:
            return {}  # without the records, which take longer than the items
        return self.design.left_out(self._recorded.get(self.design.unit, []))

    @cached_property
    def _recorded(self) -> dict[str, list[Record]]:
        found: dict[str, list[Record]] = {}
        for item in self.items.values():
            parent = None if item.parent_id is None else self.items[item.parent_id]
            entries = () if item.state == "out" else with_origin(item, self.entries)
            record = None if item.state == "out" else self.design.record(item, parent, entries)
            if record is not None:
                found.setdefault(item.kind, []).append({"item_id": item.item_id, **record})
        return found

    def of(self, kind: str, *, kept: bool = False) -> list[Record]:
        """The records of a kind; with ``kept`` only those of items that want nothing more."""
        found = self.by_kind.get(kind, ())
        return [one for one in found if not kept or self.items[one["item_id"]].state == "kept"]

    def counts(self, kind: str) -> Counter[str]:
        """The number of items of a kind by state: open, kept, out."""
        return Counter(self.state(item) for item in self.items.values() if item.kind == kind)

    def state(self, item: Item) -> ItemState:
        """The state of an item; one that is left out because of others is out."""
        return "out" if item.item_id in self.left_out else item.state

    def reason(self, item: Item) -> str | None:
        """Why an item is out; None if it is not."""
        if item.item_id in self.left_out:
            return self.left_out[item.item_id]
        return (item.reason or "other") if item.state == "out" else None

    @property
    def kinds(self) -> list[str]:
        return list(dict.fromkeys(item.kind for item in self.items.values()))

    @cached_property
    def out(self) -> dict[str, Counter[str]]:
        """How many items are out, by kind and reason."""
        found: dict[str, Counter[str]] = {}
        for item in self.items.values():
            reason = self.reason(item)
            if reason is not None:
                found.setdefault(item.kind, Counter())[reason] += 1
        return found

    @cached_property
    def people(self) -> dict[str, int]:
        """The number under which each person is released: from 1, by their first entry that says something. Nobody
        took part by opening a task alone."""
        said = (entry for entries in self.entries.values() for entry in entries if entry.action in SAYING)
        by_seq = sorted((entry.seq, entry.by) for entry in said)
        return {name: number for number, name in enumerate(dict.fromkeys(by for _, by in by_seq), 1)}

    def counting(self) -> Iterator[tuple[Item, Entry]]:
        """The entries that count, with their items, in the order in which they were made."""
        found = [(entry, item) for key, item in self.items.items() for entry in counting(self.entries.get(key, ()))]
        for entry, item in sorted(found, key=lambda pair: pair[0].seq):
            yield item, entry

    @cached_property
    def _translations(self) -> dict[int, dict[str, str]]:
        found: dict[int, dict[str, str]] = {}
        for one in self.by_kind.get("derived", ()):
            if one.get("what") == "translation.text":
                # Of several that were accepted, the first that was added, as for the other derived texts.
                found.setdefault(one["parent_id"], {}).setdefault(one["language"], one["text"])
        return found

    def texts(self, record: Mapping[str, Any]) -> dict[str, str]:
        """The text of a question by language, with the translations that people accepted where it has none."""
        own: dict[str, str] = record["text"]
        return self._translations.get(record["text_id"], {}) | own

    @property
    def units(self) -> list[Record]:
        """The records that the data set consists of; of drafts only those that people accepted."""
        found = self.of(self.design.unit, kept=self.design.finished_only)
        return [one for one in found if not self.undecided(self.items[one["item_id"]])]

    def undecided(self, item: Item) -> bool:
        """Whether an item is a question that a program drafted and nobody has accepted yet."""
        if item.drafted_by is None or item.kind != self.design.unit or item.state != "open":
            return False
        decisions = (one for one in counting(self.entries.get(item.item_id, ())) if one.round == DRAFT_ROUND)
        return not any(one.action == "given" for one in decisions)

    def of_unit(self, item_id: int) -> Item | None:
        """The item of the data set that an item is or derives from; None for one above them."""
        item = self.items[item_id]
        if item.kind == self.design.unit:
            return item
        return None if item.parent_id is None else self.of_unit(item.parent_id)

    def root(self, item_id: int) -> Item:
        """The source that an item comes from: itself where it is one."""
        item = self.items[item_id]
        return item if item.parent_id is None else self.root(item.parent_id)

    def released_id(self, item_id: int) -> str:
        """The id of an item of the data set."""
        return self.design.released_id(self.items[item_id], self.root(item_id))


def read_records(config: PoolConfig, store: Store) -> Records:
    """The records of a collection's store. Raises ConfigError where pool.yaml has no ``authoring:``."""
    design = design_of(config)
    authoring = Authoring(store, config.name, design.id, design)
    items = {item.item_id: item for item in authoring.items()}
    entries = authoring.entries()
    versions = {item.drafted_by for item in items.values() if item.drafted_by is not None}
    translations = (
        one for of_item in entries.values() for entry in of_item for one in entry.content.get(MACHINE, {}).values()
    )
    drafters = drafter_names(store, versions.union(one["by"] for one in translations))
    return Records(config, design, items, entries, authoring.progress(), drafters)


def open_records(config_path: Path, database: str | None = None) -> Records:
    """The records of a workspace, at one moment."""
    config = load_config(config_path, writing=True)
    design_of(config)
    with Store.open(database or config.labels.url, config.folder) as store, store.snapshot():
        return read_records(config, store)
