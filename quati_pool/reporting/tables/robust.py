"""The tables and CSV columns that ``evaluate --robust`` adds."""

from __future__ import annotations

from collections.abc import Mapping

from quati_pool.commands.evaluate import Condition, Evaluation
from quati_pool.evaluation.robust import Robust, Robustness
from quati_pool.project.query_clusters import Clusters
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.stats.bootstrap import Interval
from quati_pool.text.pluralize import counted

COLUMNS = [f"{figure}{end}" for figure in ("cluster_minimum", "drop") for end in ("", "_low", "_high")]


def tables(evaluation: Evaluation, condition: Condition) -> list[Table]:
    """The first measure with its intervals, over all clusters and over those with several queries, then the cluster
    minimum of every measure; empty without --robust."""
    found = condition.robust
    if evaluation.clusters is None or not isinstance(found, Robust):
        return []
    tables = [_first(evaluation, condition, found, evaluation.clusters)]
    if 0 < found.single < found.clusters:
        tables.append(_of_several(evaluation, condition, found))
    return [*tables, _all(condition, found)]


def values(condition: Condition) -> Mapping[tuple[str, str], list[float | None]]:
    """The values of COLUMNS by run_tag and measure; empty if they are undefined."""
    if not isinstance(condition.robust, Robust):
        return {}
    return {
        (row.run_tag, name): [end for one in (got.minimum, got.drop) for end in (one.value, *one.interval[:2])]
        for row in condition.robust.rows
        for name, got in row.measures.items()
    }


def _first(evaluation: Evaluation, condition: Condition, found: Robust, clusters: Clusters) -> Table:
    name, several = found.measures[0], found.clusters - found.single
    rows: list[list[Cell]] = [
        [row.rank, row.run_tag, row.rank_by_mean, *_figures(row.measures[name])] for row in found.rows
    ]
    columns = [Column("Rank"), Column("System"), Column("Rank by mean"), *_columns(name)]
    note = (
        f"The mean over {counted(found.clusters, 'cluster', 'clusters')} ({clusters.column} in {clusters.path.name}) "
        f"of each one's lowest {name}, and how far it lies below the mean over their "
        f"{counted(found.queries, 'judged query', 'judged queries')}."
    )
    if found.single and not several:
        note += " Each cluster has one judged query only: this says nothing about robustness."
    elif found.single:
        has = counted(found.single, "cluster has", "clusters have")
        note += f" {has} one judged query only, which adds nothing to robustness."
    if found.without_cluster:
        unknown = f", {found.unknown:,} of them not in that file" if found.unknown else ""
        lacking = counted(found.without_cluster, "judged query has", "judged queries have")
        note += (
            f" {lacking} no {clusters.column} and {'is' if found.without_cluster == 1 else 'are'} left out{unknown}."
        )
    note += _intervals(evaluation, found.clusters)
    return Table(f"Robustness by {name} under {condition.name}", columns, rows, note)


def _of_several(evaluation: Evaluation, condition: Condition, found: Robust) -> Table:
    name, several = found.measures[0], found.clusters - found.single
    rows: list[list[Cell]] = [[row.run_tag, *_figures(row.of_several[name])] for row in found.rows]
    note = f"Over {counted(several, 'cluster', 'clusters')} of at least two judged queries."
    title = f"Robustness by {name} under {condition.name}, without clusters of one query"
    return Table(title, [Column("System"), *_columns(name)], rows, note + _intervals(evaluation, several))


def _columns(name: str) -> list[Column]:
    headings = [f"Mean {name}", "Cluster minimum", "95 % interval", "Drop", "95 % interval of the drop"]
    return [Column(heading, 4) for heading in headings]


def _figures(found: Robustness) -> list[Cell]:
    minimum, drop = found.minimum, found.drop
    return [found.mean.value, minimum.value, _ends(minimum.interval), drop.value, _ends(drop.interval)]


def _intervals(evaluation: Evaluation, clusters: int) -> str:
    if clusters < 2:
        return " An interval over clusters needs two of them."
    draws, seed = evaluation.settings.draws, evaluation.seed
    return f" Intervals: bootstrap over clusters, {draws:,} resamples, seed {seed}." if draws else ""


def _all(condition: Condition, found: Robust) -> Table:
    rows: list[list[Cell]] = [
        [row.run_tag, *(end for got in row.measures.values() for end in (got.minimum.value, got.drop.value))]
        for row in found.rows
    ]
    columns = [Column("System")]
    for name in found.measures:
        columns += [Column(name, 4), Column("Drop", 4)]
    taus = ", ".join(f"{name} {_tau(tau)}" for name, tau in found.tau.items())
    note = f"Kendall τ of the systems' order by mean and by cluster minimum: {taus}."
    return Table(f"Cluster minima under {condition.name}", columns, rows, note)


def _tau(found: float | str) -> str:
    return f"undefined ({found})" if isinstance(found, str) else f"{found:.4f}"


def _ends(found: Interval) -> tuple[float, float] | None:
    return None if found.low is None or found.high is None else (found.low, found.high)
