"""The tables of ``prompts`` and ``prompts show``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quati_pool.commands.prompts import PromptListing
from quati_pool.reporting.formats.tables import Column, Table


def table(found: Sequence[PromptListing]) -> Table:
    columns = [Column("ID"), Column("Language"), Column("Grades"), Column("What it is", prose=True), Column("From")]
    note = "A judge takes one by prompt: ID, or by the path of a YAML file."
    return Table("Prompts", columns, [_row(item) for item in found], note)


def _row(item: PromptListing) -> list[str]:
    source = "quati-pool" if item.bundled else str(item.path)
    if item.prompt is None:
        return [item.id, "?", "?", item.problem or "", source]
    grades = ", ".join(map(str, sorted(item.prompt.scale)))
    return [item.id, item.prompt.language, grades, item.prompt.summary, source]


def message_table(prompt_id: str, messages: Sequence[Mapping[str, str]]) -> Table:
    columns = [Column("Role"), Column("Content")]
    return Table(f"Messages of {prompt_id}", columns, [list(message.values()) for message in messages])
