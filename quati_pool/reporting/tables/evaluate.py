"""The tables of ``evaluate``, and its means as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import numpy as np

from quati_pool.commands.evaluate import Condition, Evaluation, PoolQuality, mean_bounds
from quati_pool.evaluation.leaderboard import Conditions
from quati_pool.evaluation.qrels_comparison import Correlation
from quati_pool.evaluation.reusability import CUTOFFS, LeaveOut
from quati_pool.evaluation.significance import Comparison
from quati_pool.files.queries import CLUSTER_ID
from quati_pool.reporting.explorer import links
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.tables import robust as robust_tables
from quati_pool.reporting.tables import run_facts as run_facts_tables
from quati_pool.reporting.tables.build import grade_table
from quati_pool.stats.bootstrap import Interval
from quati_pool.text.pluralize import counted, listed

COEFFICIENTS = {"tau": "Kendall τ", "tau_ap": "τ_AP", "top_tau": "top-{top} τ", "rbo": "RBO"}
TESTS = {"t": "paired t", "wilcoxon": "Wilcoxon", "randomisation": "randomisation"}
# The number of comparisons in a printed table; files contain all.
SHOWN_COMPARISONS = 30


def tables(evaluation: Evaluation, comparisons: int | None = SHOWN_COMPARISONS) -> list[Table]:
    """All tables; those of pairs of systems have at most ``comparisons`` rows. With None, they have all rows, and a
    table of facts about the runs is added."""
    tables = []
    for condition in evaluation.conditions:
        tables += [*board_tables(evaluation, condition), *comparison_tables(evaluation, condition, comparisons)]
        tables += [run_facts_tables.table(condition)] if comparisons is None else []
    tables += ranking_tables(evaluation)
    for condition in evaluation.conditions:
        tables += quality_tables(evaluation, condition)
    return tables


def board_tables(evaluation: Evaluation, condition: Condition, *, alone: bool = False) -> list[Table]:
    """The leaderboard under a condition, its intervals, robustness if requested, and shares of unjudged documents. With
    ``alone`` the leaderboard is marked as resting on a judge's grades alone."""
    tables = [_board(evaluation, condition, alone)]
    if evaluation.settings.draws:
        tables.append(_intervals(evaluation, condition))
    return [*tables, *robust_tables.tables(evaluation, condition), _holes(evaluation, condition)]


def system_links(condition: Condition) -> list[str]:
    """Where the systems of a leaderboard lead, in its order."""
    return [links.system(row.run_tag, by=condition.source.name) for row in condition.board.rows]


def comparison_tables(evaluation: Evaluation, condition: Condition, limit: int | None) -> list[Table]:
    """All pairs of systems compared by the first measure, and each system with the baseline by every measure."""
    families = [(evaluation.measures[0], condition.comparisons), *condition.against.items()]
    return [_compared(evaluation, condition, name, found, limit) for name, found in families if found]


def ranking_tables(evaluation: Evaluation) -> list[Table]:
    """How the ranking of the systems differs between conditions; empty with a single condition."""
    tables = [] if evaluation.systems is None else [_systems(evaluation, evaluation.systems)]
    return [*tables, _rank_correlation(evaluation), *_swaps(evaluation)] if evaluation.compared else tables


def quality_tables(evaluation: Evaluation, condition: Condition) -> list[Table]:
    """What single systems and families contributed to the pool; empty if that is not known."""
    quality = condition.quality
    return _quality(evaluation, condition, quality) if isinstance(quality, PoolQuality) else []


def as_rows(evaluation: Evaluation) -> str:
    """CSV with one row per condition, run and measure: the mean with its interval and bounds."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = ["condition", "qrels", "rank", "run_tag", "measure", "mean", "low", "high", "lowest", "highest"]
    further = robust_tables.COLUMNS if evaluation.clusters else []
    writer.writerow([*columns, "queries", *further, *run_facts_tables.COLUMNS])
    for condition in evaluation.conditions:
        robust = robust_tables.values(condition)
        for row in condition.board.rows:
            for name, mean in row.measures.items():
                ends = mean_bounds(condition, name, row.run_tag) or (None, None)
                values = [mean.mean, mean.interval.low, mean.interval.high, *ends, row.queries]
                values += robust.get((row.run_tag, name), [None] * len(further))
                values += run_facts_tables.values(condition, row.run_tag)
                who = [condition.name, condition.source.name, row.rank, row.run_tag, name]
                writer.writerow([*who, *("" if value is None else value for value in values)])
    return out.getvalue()


def by_query(evaluation: Evaluation) -> str:
    """CSV with a row for each condition, run and judged query, and a column for each measure; with --robust,
    also a column for the query's cluster."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    clusters = evaluation.clusters
    cluster = [CLUSTER_ID] if clusters else []
    writer.writerow(["condition", "qrels", "run_tag", "query_id", "missing", *evaluation.measures, *cluster])
    for condition in evaluation.conditions:
        scores = condition.scores
        values = np.moveaxis(scores.values, 1, 2).tolist()
        for run, run_tag in enumerate(scores.run_tags):
            for query, query_id in enumerate(scores.query_ids):
                row = [condition.name, condition.source.name, run_tag, query_id, int(scores.missing[run, query])]
                of = [clusters.of.get(query_id) or ""] if clusters else []
                writer.writerow([*row, *values[run][query], *of])
    return out.getvalue()


def _board(evaluation: Evaluation, condition: Condition, alone: bool) -> Table:
    board, source = condition.board, condition.source
    rows: list[list[Cell]] = [
        [
            row.rank,
            row.run_tag,
            ", ".join(condition.letters[row.run_tag]),
            *(row.measures[name].mean for name in evaluation.measures),
            condition.judged_queries - condition.returned[row.run_tag],
        ]
        for row in board.rows
    ]
    columns = [Column("Rank"), Column("System"), Column("Group"), *(Column(name, 4) for name in evaluation.measures)]
    notes = [
        run_facts_tables.averaged(evaluation, condition),
        f"Systems that share a group cannot be told apart by {evaluation.measures[0]} "
        f"({TESTS[evaluation.settings.test]} test, Holm, alpha {evaluation.settings.alpha:g}).",
    ]
    unjudged = ", ".join(f"{row.run_tag} {row.unjudged_queries:,}" for row in board.rows if row.unjudged_queries)
    if unjudged:
        notes.append(f"Queries of a run that are not judged count nowhere: {unjudged}.")
    notes += filter(None, [hybrid_note(condition)])
    notes += run_facts_tables.notes(evaluation, condition)
    if source.ungraded:
        states = ", ".join(f"{count:,} {state}" for state, count in source.lacking.items())
        lacking = counted(source.ungraded, "pair has", "pairs have")
        notes.append(f"{lacking} no grade by {source.name} ({states}): unjudged where runs return them.")
    twice = sum(one.labeler == source.name for one in evaluation.gathered.duplicates)
    if twice:
        repeating = counted(twice, "row repeats another and does", "rows repeat others and do")
        notes.append(f"{repeating} not count.")
    if condition.run_set.absent:
        absent = ", ".join(f"{run_tag} ({why})" for run_tag, why in condition.run_set.absent.items())
        notes.append(f"Without {absent}.")
    if isinstance(condition.quality, str) and condition.run_set.pool_depths is not None:
        notes.append(f"Results that leave out one system at a time are missing: {condition.quality}.")
    heading = title(condition, alone=alone) + run_facts_tables.heading(evaluation, condition)
    columns.append(Column("Queries missing"))
    return Table(heading, columns, rows, " ".join(notes), links={1: system_links(condition)})


def hybrid_note(condition: Condition) -> str | None:
    """Where a hybrid's grades come from, and which measures are of expected gains; None for other labelers."""
    source, of_gains = condition.source, condition.of_expected_gains
    if source.hybrid is None:
        return None
    others = [name for name in condition.board.measures if name not in of_gains]
    gains = [
        f"{listed(names)} {'is' if len(names) == 1 else 'are'} of {what}"
        for names, what in ((of_gains, "expected gains"), (others, "the likeliest grades"))
        if names
    ]
    return f"{source.name} is a hybrid: {source.hybrid}. Under it {', '.join(gains)}."


def under(condition: Condition, *, alone: bool = False) -> str:
    """``under gpt-4o``, or ``under gpt-4o's grades alone``."""
    return f"under {condition.name}'s grades alone" if alone else f"under {condition.name}"


def title(condition: Condition, *, alone: bool = False) -> str:
    """The leaderboard's title; if only a part of the pool was graded, it says so."""
    source, covers = condition.source, condition.covers
    board = f"Leaderboard {under(condition, alone=alone)}"
    if covers is None or covers[0] == covers[1]:
        return f"{board}, {counted(len(source.qrels), 'graded pair', 'graded pairs')}"
    graded, pool = covers
    others = len(source.qrels) - graded
    more = f", and {others:,} outside the pool" if others else ""
    return f"{board}, over the {graded:,} of {pool:,} pairs that {source.name} graded{more}"


def _intervals(evaluation: Evaluation, condition: Condition) -> Table:
    rows: list[list[Cell]] = [
        [row.run_tag, *(ends(row.measures[name].interval) for name in evaluation.measures)]
        for row in condition.board.rows
    ]
    settings = evaluation.settings
    note = f"Bootstrap over queries, {settings.draws:,} resamples, seed {evaluation.seed}, percentiles 2.5 and 97.5."
    if condition.board.queries < 2:
        note = "One judged query only: an interval over queries needs two."
    columns = [Column("System"), *(Column(name, 4) for name in evaluation.measures)]
    title = f"95 % intervals under {condition.name}"
    return Table(title, columns, rows, note, links={0: system_links(condition)})


def ends(found: Interval) -> tuple[float, float] | None:
    return None if found.low is None or found.high is None else (found.low, found.high)


def _holes(evaluation: Evaluation, condition: Condition) -> Table:
    by_tag = {one.run_tag: one for one in condition.holes}
    bounded = [name for name in evaluation.measures if name in condition.bounds]
    rows: list[list[Cell]] = []
    for row in condition.board.rows:
        cells: list[Cell] = [row.run_tag, *(by_tag[row.run_tag].cutoffs[cutoff].share for cutoff in CUTOFFS)]
        for name in bounded:
            cells += mean_bounds(condition, name, row.run_tag) or (None, None)
        rows.append(cells)
    columns = [Column("System"), *(Column(f"in the first {cutoff}", 1, percent=True) for cutoff in CUTOFFS)]
    for name in bounded:
        columns += [Column(f"Lowest {name}", 4), Column("Highest", 4)]
    note = "Share of the documents returned there for judged queries; an unjudged one counts as not relevant."
    if bounded:
        grades = ", ".join(map(str, condition.scale))
        note += f" Lowest and highest: over all grades ({grades}) that the unjudged documents in the cutoff could have."
    title = f"Unjudged documents under {condition.name}"
    return Table(title, columns, rows, note, links={0: system_links(condition)})


def _compared(
    evaluation: Evaluation, condition: Condition, name: str, found: Sequence[Comparison], limit: int | None
) -> Table:
    rows: list[list[Cell]] = []
    for one in found[:limit]:
        rows.append([one.a, one.b, one.difference, one.p, one.p_holm, "yes" if one.significant else "no"])
    columns = [Column("System"), Column("and"), Column(f"Difference in {name}", 4), Column("p", 4, positive=True)]
    columns += [Column("p, Holm", 4, positive=True), Column("Significant")]
    settings = evaluation.settings
    family = counted(len(found), "comparison", "comparisons")
    over = "the queries that both return" if settings.queries == "returned" else "queries"
    note = f"{TESTS[settings.test].capitalize()} test over {over}, two-sided; Holm over {family}."
    undefined = {one.undefined for one in found if one.undefined}
    if undefined:
        note += f" Undefined, and not significant: {'; '.join(sorted(undefined))}."
    if limit is not None and len(found) > limit:
        note += f" The first {limit:,}; the files hold all."
    whom = f"Against {settings.baseline}" if found is not condition.comparisons else "Systems compared"
    leads = {0: [links.system(one.a, against=one.b, by=condition.source.name, measure=name) for one in found[:limit]]}
    return Table(f"{whom} by {name} under {condition.name}", columns, rows, note, links=leads)


def _systems(evaluation: Evaluation, found: Conditions) -> Table:
    rows: list[list[Cell]] = []
    for run_tag, cells in found.rows:
        row: list[Cell] = [run_tag]
        for place, cell in enumerate(cells):
            row += [None, None] if cell is None else [cell.mean, cell.rank]
            if place:
                row.append(None if cell is None else cell.difference)
        rows.append(row)
    columns = [Column("System")]
    for place, name in enumerate(found.conditions):
        columns += [Column(name, 4), Column("Rank"), *([Column("Difference to the first", 4)] if place else [])]
    counts = ", ".join(f"{one.name} {one.board.queries:,}" for one in evaluation.conditions)
    which = run_facts_tables.which(evaluation)
    note = f"Each mean is over the judged queries of its own qrels{which} ({counts}); the difference is of these means."
    if any(cell is None for _, cells in found.rows for cell in cells):
        note += " A dash: the system is not among those runs."
    leads = {0: [links.system(run_tag, measure=found.measure) for run_tag, _ in found.rows]}
    return Table(f"Systems by {found.measure}", columns, rows, note, links=leads)


def _rank_correlation(evaluation: Evaluation) -> Table:
    compared = evaluation.compared
    rows: list[list[Cell]] = []
    for a, b, found in compared:
        cells: list[Cell] = []
        for name in COEFFICIENTS:
            one: Correlation = getattr(found, name)
            cells += [one.value, ends(one.interval)]
        significant = sum(swap.significant_a or swap.significant_b for swap in found.swaps)
        counts = [found.common, found.max_rank_change, len(found.swaps), significant]
        rows.append([a.name, b.name, *cells, *counts])
    top = compared[0][2].top
    columns = [Column("Qrels"), Column("and")]
    for heading in COEFFICIENTS.values():
        columns += [Column(heading.format(top=top), 4), Column("95 % interval", 4)]
    columns += [Column("Common queries"), Column("Largest rank change"), Column("Swaps")]
    columns.append(Column("Significant under either"))
    reasons = {getattr(found, name).undefined for _, _, found in compared for name in COEFFICIENTS} - {None}
    note = (
        f"Compares the systems' orders by {evaluation.measures[0]} over the queries that both judge"
        f"{run_facts_tables.which(evaluation)}; the first is the "
        f"reference for τ_AP and for the top; RBO with p = {compared[0][2].rbo_p:g}. "
        "Resampling adds noise to both rankings, so intervals lie low."
    )
    if max(len(found.systems) for _, _, found in compared) <= top:
        note += f" There are no more than {top} systems: the top are all of them."
    lost = max(getattr(found, name).interval.undefined for _, _, found in compared for name in COEFFICIENTS)
    if lost:
        note += f" Resamples in which a coefficient is undefined are left out, up to {lost:,} of them."
    if reasons:
        note += f" Undefined: {'; '.join(sorted(reasons))}."
    if len(compared) < len(evaluation.rankings):
        left = counted(len(evaluation.rankings) - len(compared), "pair of qrels is", "pairs of qrels are")
        note += f" {left} left out: those of a panel and its own member; the JSON has them."
    leads = {
        0: [links.labeler(a.source.name, against=b.source.name) for a, b, _ in compared],
        1: [links.labeler(b.source.name, against=a.source.name) for a, b, _ in compared],
    }
    return Table("Rankings of the systems under two qrels", columns, rows, note, links=leads)


def _swaps(evaluation: Evaluation) -> list[Table]:
    tables = []
    for a, b, found in evaluation.compared:
        if not found.swaps:
            continue
        rows: list[list[Cell]] = [
            [swap.better, swap.worse, swap.difference_a, swap.p_a, swap.difference_b, swap.p_b,
             "yes" if swap.significant_a or swap.significant_b else "no"]
            for swap in found.swaps
        ]  # fmt: skip
        columns = [Column("Better"), Column("Worse")]
        for name in (a.name, b.name):
            columns += [Column(f"Difference under {name}", 4), Column("p, Holm", 4, positive=True)]
        note = (
            f"Better under {a.name}, worse under {b.name}, over the {counted(found.common, 'query', 'queries')} that "
            f"both judge{run_facts_tables.which(evaluation)}; {TESTS[found.test]} test"
            f"{run_facts_tables.tested(evaluation)}, Holm over all {found.pairs:,} pairs of systems."
        )
        tables.append(
            Table(
                f"Systems that swap between {a.name} and {b.name}",
                [*columns, Column("Significant under either")],
                rows,
                note,
                links={
                    0: [links.system(one.better, against=one.worse, by=a.source.name) for one in found.swaps],
                    1: [links.system(one.better, against=one.worse, by=b.source.name) for one in found.swaps],
                },
            )
        )
    return tables


def _quality(evaluation: Evaluation, condition: Condition, quality: PoolQuality) -> list[Table]:
    tables = [_leave_out(evaluation, condition, quality.systems, "system")]
    if quality.families is not None:
        tables.append(_leave_out(evaluation, condition, quality.families, "family"))
    tables.append(
        grade_table(quality.grades, f"Pairs that only one system returned, by relevance to {condition.source.name}")
    )
    return tables


def _leave_out(evaluation: Evaluation, condition: Condition, found: LeaveOut, what: str) -> Table:
    first = evaluation.measures[0]
    rows: list[list[Cell]] = []
    for one in found.systems:
        change = one.measures[first]
        ranks = [change.rank_before, change.rank_after]
        who: list[Cell] = [one.run_tag, *([one.left_out] if what == "family" else [])]
        rows.append(
            [*who, one.unique_pairs, one.unique_relevant, change.before, change.after, change.difference, *ranks]
        )
    stable = found.measures[first]
    columns = [Column("System"), *([Column("Family")] if what == "family" else []), Column("Pairs of its own")]
    columns += [Column("Relevant"), Column(first, 4), Column("Without them", 4), Column("Difference", 4)]
    tau = "undefined" if stable.tau is None else f"{stable.tau:.4f}"
    note = (
        f"Each {what}'s own judged pairs are removed. Kendall τ of the systems' order and the order in which each "
        f"has its value without them: {tau}."
    )
    if evaluation.settings.queries == "returned":
        note += " Means over all judged queries here, a query that a run lacks counting 0."
    if stable.mean_change is not None and stable.max_change is not None:
        note += f" Mean absolute change {stable.mean_change:.4f}, largest {stable.max_change:.4f}."
    if evaluation.config is not None and evaluation.config.pool.adaptive:
        note += " Grades chose the pool: without a system other pairs would have been judged, so this says too little."
    emptied = ", ".join(f"{one.run_tag} {one.emptied_queries:,}" for one in found.systems if one.emptied_queries)
    if emptied:
        note += f" Queries that lose all their judgements count 0: {emptied}."
    title = f"Each {what} left out of the pool, under {condition.name}"
    columns += [Column("Rank"), Column("Rank without")]
    by = condition.source.name
    leads = {0: [links.system(one.run_tag, by=by) for one in found.systems]}
    if what == "system":
        leads |= {
            1: [links.alone(one.run_tag, by=by) for one in found.systems],
            2: [links.alone(one.run_tag, by=by, relevant=True) for one in found.systems],
        }
    return Table(title, columns, rows, note, links=leads)
