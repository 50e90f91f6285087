"""The tables of ``bench list``."""

from __future__ import annotations

from collections.abc import Sequence

from quati_pool.commands.bench.listing import BenchmarkListing
from quati_pool.reporting.formats.tables import Column, Table


def tables(found: Sequence[BenchmarkListing]) -> list[Table]:
    """The benchmarks, their tasks and settings, and the sources of their files; empty tables are left out."""
    tables = [
        Table(
            "Benchmarks",
            [Column("Name"), Column("Title"), Column("What it is")],
            [[one.name, one.title, one.problem or one.summary] for one in found],
        ),
        task_table(found),
        Table(
            "Settings",
            [Column("Benchmark"), Column("Task"), Column("Setting"), Column("What it is")],
            [
                [one.name, task.name, setting, words]
                for one in found
                for task in one.tasks
                for setting, words in task.settings.items()
            ],
            "All of them are run where the folder holds what they need, or those that --setting names.",
        ),
        Table(
            "Files",
            [Column("Benchmark"), Column("About"), Column("Note")],
            [
                [one.name, about, words]
                for one in found
                if one.problem is None
                for about, words in (("released at", one.source), ("license", one.license), ("cite", one.citation))
            ],
        ),
    ]
    return [table for table in tables if table.rows]


def task_table(found: Sequence[BenchmarkListing]) -> Table:
    return Table(
        "Tasks",
        [Column("Benchmark"), Column("Task"), Column("Kind"), Column("What it is", prose=True)],
        [[one.name, task.name, task.kind, task.summary] for one in found for task in one.tasks],
        "Run one with: quati-pool bench BENCHMARK TASK --data FOLDER",
    )
