"""What ``quati-pool import`` says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quati_pool.commands.annotate.assigning.import_labels import ImportedLabels
from quati_pool.labels.label_files import unmatched_data
from quati_pool.reporting.formats.tables import Cell, Column, Table


def table(made: Sequence[ImportedLabels]) -> Table:
    columns = [Column(name) for name in ("Person", "File", "Written", "There already", "Taken back", "Left out")]
    rows: list[list[Cell]] = [
        [one.name, one.path.name, one.written, one.there, one.taken_back, _left_out(one)] for one in made
    ]
    return Table(
        "Imported labels", columns, rows,
        "Taken back: undone in the app after an earlier import of the file; these stay undone.",
    )  # fmt: skip


def as_data(made: Sequence[ImportedLabels]) -> dict[str, Any]:
    return {
        "imported": [
            {
                "name": one.name,
                "file": str(one.path),
                "written": one.written,
                "there": one.there,
                "taken_back": one.taken_back,
                "duplicates": one.duplicates,
                "ungraded": one.ungraded,
                "outside_pool": one.outside,
                "unmatched": unmatched_data(one.unmatched),
                "other_text": one.differing,
                "design": one.design_id,
                "new_person": one.new,
            }
            for one in made
        ]
    }


def _left_out(one: ImportedLabels) -> str:
    counts = {
        "not in the pool": one.outside,
        "that name no pair": len(one.unmatched),
        "without a grade": one.ungraded,
        "said twice": one.duplicates,
    }
    return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count) or "none"
