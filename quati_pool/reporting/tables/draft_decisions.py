"""The table of what people made of drafts."""

from __future__ import annotations

from collections.abc import Sequence

from quati_pool.commands.annotate.draft_decisions import QUESTION, Drafts
from quati_pool.reporting.formats.tables import Cell, Column, Table

_HEADINGS = ("model", "what", "drafts", "waiting", "accepted as they were", "edited", "refused")


def table(drafts: Sequence[Drafts]) -> Table:
    """A row for each model and what it drafted; without rows where nothing was drafted."""
    rows: list[tuple[Cell, ...]] = [
        (
            *(one.model, "questions" if one.what == QUESTION else "derived texts"),
            *(one.proposed, one.waiting, one.accepted, one.edited, sum(one.refused.values())),
            None if one.share.value is None else 100 * one.share.value,
            None if one.share.low is None or one.share.high is None else (100 * one.share.low, 100 * one.share.high),
            ", ".join(f"{count:,} {why}" for why, count in sorted(one.refused.items(), key=lambda pair: -pair[1])),
        )
        for one in drafts
    ]
    columns = [*map(Column, _HEADINGS), Column("% accepted", 1), Column("95 % interval", 1)]
    note = "% accepted: as they were or edited, of those decided; intervals over sources"
    return Table("Drafts by model", [*columns, Column("reasons", prose=True)], rows, note)
