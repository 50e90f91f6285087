"""The table of ``import``."""

from __future__ import annotations

from collections.abc import Sequence

from quati_pool.commands.annotate.assigning.import_labels import ImportedLabels
from quati_pool.reporting.formats.tables import Cell, Column, Table


def table(imported: Sequence[ImportedLabels]) -> Table:
    columns = [Column(name) for name in ("Person", "File", "Written", "There already", "Taken back", "Left out")]
    rows: list[list[Cell]] = [
        [one.name, one.path.name, one.written, one.there, one.taken_back, _left_out(one)] for one in imported
    ]
    return Table(
        "Imported labels", columns, rows,
        "Taken back: undone in the app after an earlier import of the file; these stay undone.",
    )  # fmt: skip


def _left_out(one: ImportedLabels) -> str:
    counts = {
        "not in the pool": one.outside,
        "that match no pair": len(one.unmatched),
        "without a grade": one.ungraded,
        "said twice": one.duplicates,
    }
    return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count) or "none"
