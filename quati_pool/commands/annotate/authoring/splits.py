"""The splits of a data set of questions, which a release keeps once it has written them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quati_pool.commands.annotate.authoring.records import Records
from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.qa_benchmarks.base import SPLITS
from quati_pool.release.question_splits import split_units

SPLITS_FILE = "splits.json"
ABOUT = ("title", "license", "citation", "url")
"""What the file says of the data set, as ``release:`` does, for what is built from it."""

SETS = "sets"
"""The value of ``authoring: split: by`` for question sets; all others are the sources."""


@dataclass(frozen=True)
class Splits:
    """The split of each unit; ``units`` are the ids of question sets, or of the sources if ``by`` is ``texts`` or
    ``clusters``."""

    by: str
    seed: int
    shares: Mapping[str, int]
    units: Mapping[str, str]

    def of(self, records: Records, item_id: int) -> str | None:
        """The split of an item: that of the question set or source that it belongs to; None for an item above them."""
        if self.by != SETS:
            return self.units.get(records.root(item_id).source_id)
        unit = records.of_unit(item_id)
        return None if unit is None else self.units.get(records.released_id(unit.item_id))


def make_splits(records: Records, release: Path | None = None) -> Splits:
    """Splits the question sets of ``Records.units``, or their sources, by ``authoring: split`` and ``seed``. Units that
    the folder ``release`` of an earlier release holds stay in their splits. Raises QuatiPoolError if these are
    others."""
    settings = records.config.authoring
    assert settings is not None
    if settings.split.by != SETS:
        units = dict.fromkeys(records.root(one["item_id"]).source_id for one in records.units)
    else:
        units = dict.fromkeys(records.released_id(one["item_id"]) for one in records.units)
    shares = dict(zip(SPLITS, settings.split.shares, strict=True))
    found = None if release is None else read_splits(release)
    if found is not None and found["by"] != settings.split.by:
        problem = f"holds splits by {found['by']}, and authoring: split: by: is {settings.split.by}"
        raise QuatiPoolError(f"{release} {problem}; set it back, or name another folder with -o")
    known: Mapping[str, str] = {} if found is None else found["units"]
    seed = records.config.seed
    return Splits(settings.split.by, seed, shares, split_units(list(units), shares, seed, known))


def read_splits(release: Path) -> Mapping[str, Any] | None:
    """The splits of an earlier release, with its ``form``; None where the folder has none. Raises InputError for a file
    that cannot be read."""
    path = release / SPLITS_FILE
    try:
        found = json.loads(path.read_bytes())
        valid = isinstance(found, dict) and isinstance(found.get("units"), dict)
        valid = valid and all(
            isinstance(one, str) for one in (found.get("by"), found.get("form"), *found["units"].values())
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        valid = False
    if not valid:
        raise InputError(path, None, "is not the list of a release's splits; name another folder with -o")
    return dict(found)
