"""The answers of ``retrievers``, ``retrievers NAME`` and ``prepare --steps``."""

from __future__ import annotations

from collections.abc import Sequence

from quati_pool.commands.components import ComponentListing
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.formats.tables import Column, Table
from quati_pool.text.pluralize import counted, listed


def listing(found: Sequence[ComponentListing], rest: str) -> Answer:
    """All components of some kinds; ``rest`` says how to see their parameters."""
    kinds = list(dict.fromkeys(item.kind for item in found))
    ready = sum(item.problem is None for item in found)
    number = [counted(sum(item.kind == kind for item in found), kind, f"{kind}s") for kind in kinds]
    said = [f"{listed(number)}; {'all' if ready == len(found) else f'{ready:,} of them'} can run here."]
    rows = [[item.kind, item.name, "yes" if item.problem is None else "no", item.summary] for item in found]
    columns = [Column("Kind"), Column("Name"), Column("Here"), Column("What it is", prose=True)]
    problem = next((f"{item.name}: {item.problem}." for item in found if item.problem), "")
    return Answer([*said, problem] if problem else said, Table("Components", columns, rows), rest)


def one_component(found: Sequence[ComponentListing]) -> Answer:
    """The components of one name, of all kinds, with an example of each to copy into pool.yaml."""
    said = [f"{item.kind} {item.name}: {item.summary}{_problem(item)}" for item in found]
    several = len(found) > 1
    rows = [
        [*([item.kind] if several else []), one.name, one.default, one.description]
        for item in found
        for one in sorted(item.parameters, key=lambda one: one.default != "required")
    ]
    columns = [*([Column("Kind")] if several else []), Column("Parameter"), Column("Default")]
    table = Table("Parameters", [*columns, Column("Meaning", prose=True)], rows) if rows else None
    parts = [item.example.partition("\n") for item in found]
    headings = dict.fromkeys(heading for heading, _, _ in parts)
    examples = "\n".join(
        line for heading in headings for line in [heading, *(body for part, _, body in parts if part == heading)]
    )
    return Answer(said, table, f"In pool.yaml:\n{examples}\n--full prints the meanings uncut.")


def _problem(item: ComponentListing) -> str:
    return f" (cannot run here: {item.problem})" if item.problem else ""
