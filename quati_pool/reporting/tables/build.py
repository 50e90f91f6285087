"""The tables of ``build``: the diversity of a pool."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.commands.build import BuildResult
from quati_pool.pooling.diversity import RBO_P, GradeShares, Share
from quati_pool.reporting.explorer import links
from quati_pool.reporting.formats.tables import Column, Table

_SHARE = Column("Share", 1, percent=True)


def tables(result: BuildResult) -> list[Table]:
    """What ``build`` prints: Tables 1 and (if there are grades) 2 of the Quati paper, growth, overlap and RBO."""
    found = [_systems(result)]
    if result.grades:
        found.append(grade_table(result.grades, "Pairs that only one system returned, by relevance"))
    return [*found, *_rounds(result), _growth(result), *_matrices(result)]


def _systems(result: BuildResult) -> Table:
    diversity = result.diversity
    rows: list[list[Any]] = [[s.name, s.pairs, s.unique, s.unique_share] for s in diversity.systems]
    rows.append(["Mean of the shares", "", "", diversity.mean_unique_share])
    rows.append(["All systems together", diversity.union.pairs, diversity.union.unique, diversity.union.unique_share])
    notes = [f"{len(result.pool):,} pairs of {diversity.queries:,} queries are pooled"]
    if diversity.extra:
        notes.append(f"{diversity.extra:,} of them from {result.config.pool.extra} alone")
    without = result.queries_without_pairs
    if without:
        named = ", ".join(without[:5]) + (", …" if len(without) > 5 else "")
        notes.append(f"{len(without):,} queries have no pair ({named})")
    columns = [Column("System"), Column("Pairs returned"), Column("By it alone"), _SHARE]
    alone = [links.alone(one.name) for one in diversity.systems]
    leads = {0: [links.system(one.name) for one in diversity.systems], 2: alone}
    return Table("Pairs that only one system returned", columns, rows, "; ".join(notes) + ".", totals=2, links=leads)


def _rounds(result: BuildResult) -> list[Table]:
    """Why the pairs are in a pool that holds a part of the candidates, and since which round."""
    pool = result.pool
    if not result.config.pool.chooses:
        return []
    rows: list[list[Any]] = []
    for reason in sorted(set(pool.reason.tolist())):
        rounds = pool.round[pool.reason == reason]
        rows.append([reason, len(rounds), int(rounds.min()), int(rounds.max())])
    columns = [Column("Reason"), Column("Pairs"), Column("First round"), Column("Last round")]
    note = "kept: labelled, and in the pool before; each with the round in which it entered then."
    return [Table("Why pairs are in the pool", columns, rows, note if "kept" in pool.reason else "")]


def grade_table(grades: GradeShares, title: str) -> Table:
    """Table 2 of the Quati paper: by grade, the pairs that only one system returned."""

    def row(share: Share) -> list[Any]:
        return [share.name, share.pairs, share.unique, share.unique_share]

    rows = [row(share) for share in grades.grades] + [row(grades.relevant)]
    everything = grades.ungraded + sum(share.pairs for share in grades.grades)
    note = f"{grades.ungraded:,} of {everything:,} pairs have no grade and are in no row."
    columns = [Column("Relevance"), Column("Pairs returned"), Column("By one system"), _SHARE]
    return Table(title, columns, rows, note, totals=1)


def growth_steps(sizes: npt.NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """(depth, pairs down to that depth, pairs new at that depth), from the ``sizes`` of pools of depth 1, 2, …"""
    new = np.diff(np.r_[0, sizes])
    return list(zip(range(1, len(sizes) + 1), sizes.tolist(), new.tolist(), strict=True))


def _growth(result: BuildResult) -> Table:
    """Pool size by depth: every depth up to 10, then ever larger steps up to the depth of the runs."""
    steps = growth_steps(result.pool_growth)
    shown = {*range(1, 11), 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000, len(steps)}
    columns = [Column("Depth"), Column("Pairs"), Column("New at this rank")]
    return Table(
        "How the pool would grow with its depth",
        columns,
        [list(step) for step in steps if step[0] in shown],
        "Over the systems that feed the pool, one depth for all.",
    )


def _matrices(result: BuildResult) -> list[Table]:
    names = [share.name for share in result.diversity.systems]
    columns = [Column("System"), *(Column(name, 2) for name in names)]

    def table(title: str, values: npt.NDArray[np.float64], note: str) -> Table:
        rows = [[name, *row] for name, row in zip(names, values.tolist(), strict=True)]
        return Table(title, columns, rows, note, links={0: list(map(links.system, names))})

    return [
        table("Overlap", result.diversity.overlap, "Share of the row's pairs that the column returned too."),
        table(
            "Rank-biased overlap",
            result.diversity.rbo,
            f"p = {RBO_P}, extrapolated, mean over queries, lists to the pool's depth.",
        ),
    ]
