"""The tables of ``submissions``: what was submitted, and what one group may see of the results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quati_pool.commands.submissions.adding import Added
from quati_pool.commands.submissions.group_results import GroupResults
from quati_pool.commands.submissions.intake import Intake, Submission
from quati_pool.commands.submissions.releasing import Released
from quati_pool.reporting.formats.tables import Cell, Column, Table

ANOTHER = "another group's"


def intake_table(found: Sequence[Submission], title: str = "Submitted runs", *, group: bool = True) -> Table:
    rows: list[list[Cell]] = []
    for one in found:
        said = "; ".join([*one.faults, *one.warnings])
        verdict = "faulty" if one.faults else "accepted"
        first: list[Cell] = [one.group] if group else []
        rows.append([*first, one.path.name, verdict, said, one.priority, one.run_tag, one.queries, one.rows])
    columns = [
        *([Column("Group")] if group else []), Column("File"), Column("Verdict"),
        Column("What is wrong or odd", prose=True), Column("Priority"), Column("Run tag"), Column("Queries"),
        Column("Rows"),
    ]  # fmt: skip
    return Table(title, columns, rows)


def intake_tables(found: Intake) -> list[Table]:
    return [intake_table(found.submissions)]


def added_tables(added: Added) -> list[Table]:
    states = [
        ("added", added.new),
        ("replaced", added.replaced),
        ("unchanged", added.unchanged),
        ("faulty", added.waiting),
        ("kept", added.kept),
    ]
    state = {one.key: name for name, listed in states for one in listed}
    names = {one.key: one for one in added.participants}
    rows: list[list[Cell]] = []
    for one in added.intake.submissions:
        known = names.get(one.key)
        system = None if known is None else known.system
        rows.append([one.group, one.path.name, state[one.key], system, one.priority, one.run_tag])
    columns = [Column(name) for name in ("Group", "File", "State", "System", "Priority", "Run tag")]
    note = "Who is behind a system is in submissions/participants.json alone, which is for organisers."
    return [Table("Runs of the shared task", columns, rows, note)]


def leaderboard_table(found: GroupResults) -> Table:
    """The leaderboard with the names of the group's own runs alone."""
    rows: list[list[Cell]] = []
    for row in found.rows:
        values = [row.measures[measure] for measure in found.measures]
        ends = values[0].interval
        interval = None if ends.low is None else f"{ends.low:.4f} to {ends.high:.4f}"
        name = ANOTHER if row.run_tag in found.anonymous else found.own.get(row.run_tag, row.run_tag)
        rows.append([row.rank, name, values[0].mean, interval, *(one.mean for one in values[1:])])
    first, *rest = found.measures
    columns = [
        Column("Rank"),
        Column("Run"),
        Column(first, 4),
        Column("95 % interval"),
        *(Column(one, 4) for one in rest),
    ]
    return Table(f"All runs under {found.labeler}", columns, rows)


def query_table(found: GroupResults) -> Table:
    """The first measure of each query: the group's own runs, and the lowest, median and highest of all."""
    lowest, median, highest = np.quantile(found.all_values, (0, 0.5, 1), axis=0)
    columns = [Column("Query"), *(Column(tag, 4) for tag in found.own.values())]
    columns += [Column("Lowest of all", 4), Column("Median", 4), Column("Highest", 4)]
    own = [found.values[system] for system in found.own]
    rows: list[list[Cell]] = [
        [query_id, *(float(values[at]) for values in own), float(lowest[at]), float(median[at]), float(highest[at])]
        for at, query_id in enumerate(found.query_ids)
    ]
    return Table(f"{found.measures[0]} of each query", columns, rows)


def results_tables(found: Sequence[GroupResults]) -> list[Table]:
    rows: list[list[Cell]] = [
        [one.group, len(one.own), one.own[one.best.run_tag], one.best.rank, one.best.measures[one.measures[0]].mean]
        for one in sorted(found, key=lambda one: one.best.rank)
    ]
    measure = found[0].measures[0]
    columns = [Column("Group"), Column("Runs"), Column("Best run"), Column("Rank"), Column(measure, 4)]
    return [Table("Each group's best run", columns, rows)]


def released_tables(found: Released) -> list[Table]:
    rows: list[list[Cell]] = [
        [one["file"], one["labeler"], one["pairs"], one["sha256"]] for one in found.manifest["qrels"]
    ]
    columns = [Column("Qrels"), Column("Labeler"), Column("Pairs"), Column("SHA-256")]
    return [Table("What the manifest promises", columns, rows)]
