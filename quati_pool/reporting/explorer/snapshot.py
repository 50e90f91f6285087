"""The explorer for leads in the annotator app: its files at one moment, of which each lead gets what they may see."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from quati_pool.reporting.explorer.scripts import HIDDEN, arguments_of, script

Ids = tuple[str, str]

KEPT = 3
"""How many explorers are kept: pages of those before the last one may still be open in a browser."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The explorer's files in ``folder``, with all texts, computed at ``computed_at`` (UTC) in ``seconds``. ``pairs``
    has the number of each pair of the pool; ``judges`` are the numbers of the labelers other than people."""

    folder: Path
    computed_at: datetime
    seconds: float
    query_ids: tuple[str, ...]
    pairs: Mapping[Ids, int]
    judges: frozenset[int]

    @cached_property
    def files(self) -> frozenset[str]:
        """The files other than data of pairs, by their paths within the folder."""
        found = (path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file())
        return frozenset(path for path in found if not path.startswith(("data/collection", "data/query")))

    def collection(self, hidden: Iterable[Ids]) -> bytes:
        """The script with the collection's data, without judges' grades of the pairs ``hidden``, also in audits, and
        without the systems that brought them into the pool."""
        (data,) = self._read("collection")
        numbers = sorted(self.pairs[ids] for ids in hidden if ids in self.pairs)
        for judge in self.judges:
            marks = list(data["labels"][judge])
            for number in numbers:
                marks[number] = HIDDEN
            data["labels"][judge] = "".join(marks)
        for number in numbers:
            data["alone"][number] = -1
        for audit in filter(None, data.get("audits", ())):
            audit["worst"] = [one for one in audit["worst"] if one["pair"] not in numbers]
        return script("collection", {**data, "hidden": numbers})

    def query(self, number: int, hidden: Collection[Ids]) -> tuple[bytes, list[str]]:
        """The script with a query's data, without what judges said of the pairs ``hidden`` and, if there are any,
        without rankings; and the documents of all other pairs. Raises FileNotFoundError for an unknown query, or where
        newer explorers have replaced this one."""
        _, data = self._read(f"query-{number}")
        query_id, pooled = self.query_ids[number], data["docs"][: len(data["texts"])]
        places = {place for place, doc_id in enumerate(pooled) if (query_id, doc_id) in hidden}
        if places:
            data["details"] = [one for one in data["details"] if one[0] not in places or one[1] not in self.judges]
            data["rankings"] = [[] for _ in data["rankings"]]
            del data["docs"][len(pooled) :]
        visible = [doc_id for place, doc_id in enumerate(pooled) if place not in places]
        return script("query", number, data), visible

    def _read(self, name: str) -> list[Any]:
        return arguments_of((self.folder / "data" / f"{name}.js").read_bytes())
