"""The diversity tables of a pool: as data, as tables, and as files under ``reports/``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.commands.build import BuildResult, provenance
from quati_pool.pooling.diversity import RBO_P, GradeShares, Share
from quati_pool.project.artifact_builder import ArtifactBuilder
from quati_pool.project.events import Listener
from quati_pool.project.workspace import Workspace
from quati_pool.reporting.figures.plots import Drawing, heat_map
from quati_pool.reporting.formats.tables import Column, Table, latex_file, to_json, to_markdown

# Raised when the same pool gives other reports.
_FORMAT = 1
_SHARE = Column("Share", 1, percent=True)


def tables(result: BuildResult) -> list[Table]:
    """What ``build`` prints: Table 1, Table 2 where there are grades, growth, overlap and RBO."""
    found = [_systems(result)]
    if result.grades:
        found.append(grade_table(result.grades, "Pairs that only one system returned, by relevance"))
    return [*found, _growth(result), *_matrices(result)]


def as_data(result: BuildResult) -> dict[str, Any]:
    """The JSON object of ``build``; what is undefined is null, with its reason under ``undefined``."""
    diversity, undefined = result.diversity, {}
    for share in diversity.systems:
        if share.unique_share is None:
            undefined[f"systems.{share.name}.unique_share"] = "the system returned nothing"
    if diversity.union.unique_share is None:
        undefined["pool.unique_share"] = undefined["pool.mean_unique_share"] = "no system returned anything"
    data: dict[str, Any] = {
        "collection": result.config.name,
        "systems": [
            {
                "run_tag": share.name,
                "family": result.config.family(share.name),
                "pool_depth": result.config.pool_depth(share.name),
                "returned": share.pairs,
                "unique": share.unique,
                "unique_share": share.unique_share,
            }
            for share in diversity.systems
        ],
        "pool": {
            "pairs": len(result.pool),
            "queries": diversity.queries,
            "queries_without_pairs": list(result.queries_without_pairs),
            "without_text": result.without_text,
            "returned_pairs": diversity.union.pairs,
            "extra_pairs": diversity.extra,
            "unique_pairs": diversity.union.unique,
            "unique_share": diversity.union.unique_share,
            "mean_unique_share": diversity.mean_unique_share,
        },
        "growth": [{"depth": depth, "pairs": pairs, "new": new} for depth, pairs, new in _steps(result.pool_growth)],
        "overlap": _square(result, diversity.overlap),
        "rbo": {"p": RBO_P, **_square(result, diversity.rbo)},
        "undefined": undefined,
    }
    if result.grades:
        shares = [*result.grades.grades, result.grades.relevant]
        data["grades"] = [
            {"grade": s.name, "pairs": s.pairs, "unique": s.unique, "unique_share": s.unique_share} for s in shares
        ]
        data["ungraded"] = result.grades.ungraded
    return data


def write(result: BuildResult, listener: Listener) -> None:
    """``reports/diversity.md``, ``.tex``, ``.json`` and ``overlap.png``, ``.svg``."""
    found = tables(result)
    drawing = overlap_picture(result)
    config = result.config
    builder = ArtifactBuilder(Workspace(config.folder), provenance(config), listener)

    def text(content: str) -> Any:
        def fill(path: Path) -> dict[str, Any]:
            path.write_text(content, encoding="utf-8")
            return {}

        return fill

    def picture(path: Path) -> dict[str, Any]:
        drawing.write(path)
        return {}

    head = f"# Diversity of the pool {config.name}\n\n"
    fills = {
        "diversity.md": text(head + "\n".join(map(to_markdown, found))),
        "diversity.tex": text(latex_file(found)),
        "diversity.json": text(to_json(as_data(result))),
        "overlap.png": picture,
        "overlap.svg": picture,
    }
    made = [
        name
        for name, fill in fills.items()
        if builder.ensure(
            f"report {name}",
            builder.workspace.report(name),
            {"report": _FORMAT, **result.key},
            fill,
            force=result.forced,
            quiet=True,
        )
    ]
    listener.say(f"reports: made {', '.join(made)}" if made else "reports: reused")


def overlap_picture(result: BuildResult) -> Drawing:
    """The heat map of overlap."""
    names = [share.name for share in result.diversity.systems]
    title = "Share of the row's pairs that the column returned too"
    return heat_map(result.diversity.overlap, names, title, "share of pairs")


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
    return Table("Pairs that only one system returned", columns, rows, "; ".join(notes) + ".")


def grade_table(grades: GradeShares, title: str) -> Table:
    """The Quati paper's Table 2."""

    def row(share: Share) -> list[Any]:
        return [share.name, share.pairs, share.unique, share.unique_share]

    rows = [row(share) for share in grades.grades] + [row(grades.relevant)]
    everything = grades.ungraded + sum(share.pairs for share in grades.grades)
    note = f"{grades.ungraded:,} of {everything:,} pairs have no grade and are in no row."
    columns = [Column("Relevance"), Column("Pairs returned"), Column("By one system"), _SHARE]
    return Table(title, columns, rows, note)


def _steps(sizes: npt.NDArray[np.int64]) -> list[tuple[int, int, int]]:
    new = np.diff(np.r_[0, sizes])
    return list(zip(range(1, len(sizes) + 1), sizes.tolist(), new.tolist(), strict=True))


def _growth(result: BuildResult) -> Table:
    """Every depth to 10, then rounder and rounder ones to the end of the runs."""
    steps = _steps(result.pool_growth)
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
        return Table(title, columns, [[name, *row] for name, row in zip(names, values.tolist(), strict=True)], note)

    return [
        table("Overlap", result.diversity.overlap, "Share of the row's pairs that the column returned too."),
        table(
            "Rank-biased overlap",
            result.diversity.rbo,
            f"p = {RBO_P}, extrapolated, mean over queries, lists to the pool's depth.",
        ),
    ]


def _square(result: BuildResult, values: npt.NDArray[np.float64]) -> dict[str, Any]:
    cells = [[None if value != value else value for value in row] for row in values.tolist()]
    return {"systems": [share.name for share in result.diversity.systems], "values": cells}
