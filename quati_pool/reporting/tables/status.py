"""The tables of ``status``."""

from __future__ import annotations

from quati_pool.commands.status.labelers import LabelerState
from quati_pool.commands.status.outputs import OPTIONAL, REPORTS
from quati_pool.commands.status.status import Status
from quati_pool.labels.base import NEVER_ASKED, NOT_GIVEN, TIED
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.tables import completeness


def tables(status: Status) -> list[Table]:
    """Where the collection stands, each system, each labeler, what the pool lacks, and everything in doubt with the
    command that helps."""
    found = [overview(status), _systems(status), _labelers(status)]
    found += completeness.tables(status.state.labels.completeness)
    if status.doubts:
        rows = [[one.words, status.pasted(one.command) if one.command else None] for one in status.doubts]
        found.append(Table("In doubt", [Column("What"), Column("Command")], rows))
    return found


def overview(status: Status) -> Table:
    """One row for the systems, the pool, each labeler, and each output."""
    state = status.state
    rows: list[list[Cell]] = [] if state.writing is None else [["questions", writing_in_words(status)]]
    if not state.only_writing:
        rows += [["systems", systems_in_words(status)], ["pool", pool_in_words(status)]]
    rows += [[one.name, _graded(one)] for one in state.labels.labelers]
    if state.labels.slots:
        slots = ", ".join(f"{count:,} {name}" for name, count in sorted(state.labels.slots.items()))
        rows.append(["people", f"{state.labels.people:,} with an access code; assignments: {slots}"])
    if state.database is not None:
        rows.append(["labels", "cannot be read"])
    for command in () if state.only_writing or state.database is not None else REPORTS:
        output = state.output(command)
        if output is not None or command not in OPTIONAL:
            rows.append([command, "not done yet" if output is None else output.why or "current"])
    folder = state.config.folder
    rows += [[str(one.path.relative_to(folder)), one.why or "current"] for one in state.outputs if one.export]
    return Table(f"Where {state.config.name} stands", [Column("What"), Column("State")], rows)


def writing_in_words(status: Status) -> str:
    """How many questions are finished, and the tasks that wait, by round; empty without rounds of writing."""
    found = status.state.writing
    if found is None:
        return ""
    states = found.states.get(found.unit, {})
    finished = f"{states.get('kept', 0):,} of {sum(states.values()):,} questions are finished"
    return f"{finished}, tasks wait: {found.waiting}" if found.waiting else f"{finished}, no task waits"


def systems_in_words(status: Status) -> str:
    """How many systems are in each state, and how many runs are imported."""
    systems = status.state.systems
    parts = []
    for kind in ("built", "out of date", "not built", "not checked"):
        count = sum(one.state == kind for one in systems)
        parts += [f"{count:,} {kind}"] if count else []
    imported = sum(one.imported for one in systems)
    return ", ".join(parts) + (f"; {imported:,} imported" if imported else "")


def pool_in_words(status: Status) -> str:
    """The size and depth of the pool that is there, and whether it is that of pool.yaml."""
    pool = status.state.pool
    if not pool.there:
        return pool.state
    words = f"{pool.pairs:,} pairs of {pool.queries or 0:,} queries{depth_in_words(status)}"
    return words if pool.state == "built" else f"{words}; {pool.state}"


def depth_in_words(status: Status) -> str:
    """The depth of the pool, or the least and the greatest of its systems; empty where unknown."""
    depths = sorted({depth for depth in status.state.pool.depths.values() if depth})
    if not depths:
        return ""
    return f" to depth {depths[0]}" if len(depths) == 1 else f" to depths {depths[0]} to {depths[-1]}"


def _graded(one: LabelerState) -> str:
    parts = ["hybrid"] if one.grader == "hybrid" else []
    parts.append(f"{one.graded:,} of {one.coverage.pairs:,} graded")
    counts = {
        "failed": one.failures,
        TIED: one.coverage.tied,
        NEVER_ASKED: one.coverage.unasked,
        NOT_GIVEN: one.coverage.not_given,
        "in batches": one.in_batches,
    }
    parts += [f"{count:,} {what}" for what, count in counts.items() if count]
    return ", ".join(parts)


def _systems(status: Status) -> Table:
    columns = [Column("System"), Column("What it is"), Column("State"), Column("Why")]
    rows = [[one.run_tag, one.what, one.state, one.why] for one in status.state.systems]
    return Table("Systems", columns, rows)


def _labelers(status: Status) -> Table:
    headings = (
        "Labeler", "Graded", "Failed", "Tied", "Never asked", "Not given", "In batches", "Unread", "Earlier labels",
        "Not pooled",
    )  # fmt: skip
    rows: list[list[Cell]] = [
        [
            one.name, one.graded, one.failures, one.coverage.tied, one.coverage.unasked, one.coverage.not_given,
            one.in_batches, one.unread, one.earlier, one.outside,
        ]
        for one in status.state.labels.labelers
    ]  # fmt: skip
    note = "Earlier labels were given under another version and do not count; unread answers were read by older rules."
    return Table("Labelers", [Column(heading) for heading in headings], rows, note)
