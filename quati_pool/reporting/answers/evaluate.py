"""The answer of ``evaluate``: who is best, how sure that is, and how far other labelers agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from quati_pool.agreement.pairwise import PairAgreement
from quati_pool.commands.evaluate import Condition, Evaluation
from quati_pool.evaluation.leaderboard import LeaderboardRow
from quati_pool.evaluation.qrels_comparison import RankingComparison
from quati_pool.evaluation.significance import Comparison
from quati_pool.labels.gathered import LabelSource
from quati_pool.reporting.answers import wording
from quati_pool.reporting.explorer import links
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.formats.document import Link, Words, plain
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.saved_files import report_folder
from quati_pool.reporting.tables import run_facts
from quati_pool.reporting.tables.evaluate import TESTS, ends, hybrid_note, title
from quati_pool.text.pluralize import counted, listed

HOLES_AT = 10
"""The top of a ranking, in documents, where unjudged ones count."""
_OTHERS = 5
_ORDER = "Kendall's τ of the order of systems"


def answer(evaluation: Evaluation, output: Path | None = None) -> Answer:
    """``output`` is the folder that the command was asked to write to, if any."""
    first = evaluation.conditions[0]
    folder = report_folder(evaluation.config or evaluation.gathered.config, output)
    sentences = [*leaders(evaluation), *_against_baseline(evaluation, first), *labelers(evaluation)]
    sentences += [*filter(None, map(hybrid_note, evaluation.conditions)), *doubts(first)]
    table = board(evaluation, first)
    if evaluation.settings.draws:
        lie_low = "; those of τ lie low, as resampling adds noise to both orders" if evaluation.compared else ""
        table = replace(table, note=f"{table.note} Intervals: bootstrap over queries{lie_low}.")
    return Answer(sentences, table, wording.files(folder, "evaluation"))


def leaders(evaluation: Evaluation) -> list[str]:
    """The best system, and who cannot be told apart from it, for each set of runs under its first labeler."""
    by_set = {id(condition.run_set): condition for condition in reversed(evaluation.conditions)}
    firsts = [condition for condition in evaluation.conditions if by_set[id(condition.run_set)] is condition]
    more = len(firsts) - _OTHERS
    said = [_leader(evaluation, condition) for condition in firsts[:_OTHERS]]
    return [*said, f"{more:,} more sets of runs are in the tables."] if more > 0 else said


def _leader(evaluation: Evaluation, condition: Condition) -> str:
    rows, measure = condition.board.rows, evaluation.measures[0]
    under = f"{measure} under {wording.name(condition.name)}'s grades over {_queries(evaluation, condition)}"
    best = [row for row in rows if row.rank == 1]
    if len(rows) == 1:
        return f"{wording.name(rows[0].run_tag)} has {_value(evaluation, rows, level=True)} {under}."
    if len(rows) == 2:
        return _of_two(evaluation, condition, under)
    if len(best) == len(rows):
        return f"All {len(rows):,} systems have {_value(evaluation, rows, level=True)} {under}."
    leaders = [row.run_tag for row in best]
    has = "has" if len(best) == 1 else "have"
    first = f"{wording.names(leaders)} {has} the highest {under}, {_value(evaluation, best, level=True)}"
    return f"{_ahead(first, leaders, len(rows) - len(best), condition)} {_tested_by(evaluation, condition)}."


def _ahead(first: str, leaders: Sequence[str], others: int, condition: Condition) -> str:
    """How surely the ``leaders``, whom ``first`` names, are ahead of the ``others`` (a number)."""
    pairs = [one for one in condition.comparisons if one.a in leaders and one.b not in leaders]
    alike = len({one.b for one in pairs if not one.significant})
    rest = f"the other {others:,}" if others > 1 else "the other"
    it = "it" if len(leaders) == 1 else "all of them"
    if not any(one.significant for one in pairs):
        return f"No clear winner: {first}, but no difference to {rest} is significant"
    if alike:
        which = f"{alike:,} of {rest}" if others > 1 else rest
        return f"{first}; {which} {'does' if alike == 1 else 'do'} not differ significantly from {it}"
    return f"{first}; all others differ significantly from {it}"


def _of_two(evaluation: Evaluation, condition: Condition, under: str) -> str:
    (comparison,) = condition.comparisons
    verdict = "they differ significantly" if comparison.significant else "the difference is not significant"
    both = [
        f"{wording.name(row.run_tag)} {_value(evaluation, [row], level=not place)}"
        for place, row in enumerate(condition.board.rows)
    ]
    test = TESTS[evaluation.settings.test]
    return f"{listed(both)} {under}: {verdict}, {wording.p_value(comparison.p)} ({test} test)."


def _value(evaluation: Evaluation, rows: Sequence[LeaderboardRow], *, level: bool) -> str:
    """The mean that the ``rows`` share, with its interval unless theirs differ."""
    means = [row.measures[evaluation.measures[0]] for row in rows]
    same = len({mean.interval for mean in means}) == 1
    return wording.with_interval(means[0].mean, means[0].interval if same else None, 3, level=level)


def _tested_by(evaluation: Evaluation, condition: Condition) -> str:
    family = counted(len(condition.comparisons), "pair", "pairs")
    return f"({TESTS[evaluation.settings.test]} test, Holm over {family}, alpha {evaluation.settings.alpha:g})"


def _queries(evaluation: Evaluation, condition: Condition) -> str:
    whose = {"judged": "", "common": " that all runs return", "returned": " at most, each run's own"}
    return counted(condition.board.queries, "query", "queries") + whose[evaluation.settings.queries]


def _against_baseline(evaluation: Evaluation, condition: Condition) -> Iterator[str]:
    found = condition.against.get(evaluation.measures[0], ())
    if len(found) < 2:
        return
    better = sum(one.significant and (one.difference or 0) > 0 for one in found)
    worse = sum(one.significant and (one.difference or 0) < 0 for one in found)
    yield (
        f"Against the baseline {wording.name(evaluation.settings.baseline or '')}, of {len(found):,} systems: "
        f"{better:,} significantly better, {worse:,} worse, {len(found) - better - worse:,} neither (Holm over these)."
    )


def labelers(evaluation: Evaluation, *, kappa: bool = True) -> Iterator[str]:
    """How far each other labeler's grades (with ``kappa``), and its order of the systems, agree with those of the
    first labeler."""
    first = evaluation.conditions[0]
    orders = {b.source.name: comparison for a, b, comparison in evaluation.compared if a is first}
    agreed = evaluation.agreement if kappa else {}
    every = list(dict.fromkeys([*agreed, *orders]))
    if not every:
        return
    gold = wording.name(first.source.name)
    if len(every) == 1:
        figures = _figures(agreed.get(every[0]), orders.get(every[0]), "Cohen's κ of the grades", _ORDER)
        yield f"{wording.name(every[0])} against {gold}: {figures}."
        return
    parts = [f"{wording.name(name)} {_figures(agreed.get(name), orders.get(name), 'κ', 'τ')}" for name in every]
    more = f"; {len(parts) - _OTHERS:,} more labelers" if len(parts) > _OTHERS else ""
    measured = listed(["Cohen's κ of the grades"] * bool(agreed) + [_ORDER] * bool(orders))
    yield f"Against {gold} ({measured}): {'; '.join(parts[:_OTHERS])}{more}."


def _figures(pair: PairAgreement | None, order: RankingComparison | None, kappa: str, tau: str) -> str:
    """κ and τ of a labeler with their intervals, each after its name."""
    found = []
    if pair is not None:
        found.append(f"{kappa} {wording.with_interval(pair.values['kappa'], pair.intervals.get('kappa'), 2)}")
    if order is not None:
        low, high = order.tau.interval.low, order.tau.interval.high
        includes = ", which includes 0" if low is not None and high is not None and low <= 0 <= high else ""
        found.append(f"{tau} {wording.with_interval(order.tau.value, order.tau.interval, 2)}{includes}")
    return ", ".join(found)


def doubts(condition: Condition) -> Iterator[str]:
    """What is unjudged or missing: documents, systems, queries, grades."""
    yield from map(plain, unjudged(condition))
    absent = [f"{wording.name(run_tag)} ({why})" for run_tag, why in condition.run_set.absent.items()]
    if absent:
        more = f" and {len(absent) - _OTHERS:,} more" if len(absent) > _OTHERS else ""
        yield f"Without {', '.join(absent[:_OTHERS])}{more}."
    yield from map(plain, missing_queries(condition))
    yield from map(plain, without_grade(condition.source))


def unjudged(condition: Condition) -> Iterator[Words]:
    """The largest share of unjudged documents that a system has at the top."""
    shares = {one.run_tag: one.cutoffs[HOLES_AT].share or 0 for one in condition.holes}
    worst = max(shares, key=lambda run_tag: shares[run_tag])
    if shares[worst]:
        system = Link(wording.name(worst), links.system(worst, by=condition.source.name))
        words = f"Up to {100 * shares[worst]:.1f} % of the first {HOLES_AT} documents are unjudged ("
        yield words, system, "); they count as not relevant."


def missing_queries(condition: Condition) -> Iterator[Words]:
    missing = [row.run_tag for row in condition.board.rows if row.missing_queries]
    if missing:
        systems = wording.linked(missing, lambda run_tag: links.system(run_tag, by=condition.source.name))
        yield "Judged queries are missing from ", *systems, "."


def without_grade(source: LabelSource) -> Iterator[Words]:
    """How many pairs a labeler has not graded, and why."""
    if source.ungraded:
        pairs = counted(source.ungraded, "pair has", "pairs have")
        labeler = Link(wording.name(source.name), links.labeler(source.name))
        yield f"{pairs} no grade by ", labeler, f" ({wording.counts(source.lacking.items())})."


def board(evaluation: Evaluation, condition: Condition) -> Table:
    """The leaderboard with the first measure's interval, the test against the baseline or the first system, the share
    of judged documents, and the other labelers' and measures' means as far as they fit."""
    columns = [*_main_columns(evaluation, condition), *_further_columns(evaluation, condition)]
    cells = [[values.get(row.run_tag) for _, values in columns] for row in condition.board.rows]
    heading = title(condition) + run_facts.heading(evaluation, condition)
    return Table(heading, [column for column, _ in columns], cells, _note(evaluation, condition))


def _main_columns(evaluation: Evaluation, condition: Condition) -> Iterator[tuple[Column, Mapping[str, Cell]]]:
    """Columns, the most important first, each with its cells by run_tag."""
    measure, rows = evaluation.measures[0], condition.board.rows
    reference = evaluation.settings.baseline or rows[0].run_tag
    tests = {other: one.p_holm for one in _tested(evaluation, condition) for other in {one.a, one.b} - {reference}}
    shares = {one.run_tag: one.cutoffs[HOLES_AT].share for one in condition.holes}
    yield Column("Rank"), {row.run_tag: row.rank for row in rows}
    yield Column("System"), {row.run_tag: row.run_tag for row in rows}
    yield Column(measure, 4), _means(condition, measure)
    if evaluation.settings.draws:
        yield Column("95 % interval", 4), {row.run_tag: ends(row.measures[measure].interval) for row in rows}
    yield Column(f"p vs {_reference(evaluation)}", 4, positive=True), tests
    judged = {run_tag: None if share is None else 1 - share for run_tag, share in shares.items()}
    yield Column(f"Judged@{HOLES_AT}", 3), judged


def _further_columns(evaluation: Evaluation, condition: Condition) -> Iterator[tuple[Column, Mapping[str, Cell]]]:
    measure, *others = evaluation.measures
    for other in evaluation.conditions:
        if other is not condition and other.run_set is condition.run_set:
            yield Column(f"by {wording.name(other.name)}", 4), _means(other, measure)
    for one in others:
        if one != f"Judged@{HOLES_AT}":
            yield Column(one, 4), _means(condition, one)


def _note(evaluation: Evaluation, condition: Condition) -> str:
    notes = [f"p: {TESTS[evaluation.settings.test]} test against the {_reference(evaluation)}, Holm."]
    if evaluation.compared:
        notes.append(f"Columns by a labeler: {evaluation.measures[0]} under its grades.")
    return " ".join([*notes, run_facts.averaged(evaluation, condition)])


def _reference(evaluation: Evaluation) -> str:
    return "baseline" if evaluation.settings.baseline else "first"


def _means(condition: Condition, measure: str) -> dict[str, Cell]:
    return {row.run_tag: row.measures[measure].mean for row in condition.board.rows}


def _tested(evaluation: Evaluation, condition: Condition) -> Iterator[Comparison]:
    """The comparisons with the baseline, or with the first system."""
    if evaluation.settings.baseline:
        yield from condition.against.get(evaluation.measures[0], ())
    else:
        first = condition.board.rows[0].run_tag
        yield from (one for one in condition.comparisons if first in {one.a, one.b})
