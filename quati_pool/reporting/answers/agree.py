"""The answer of ``agree``: how far labelers agree, people with each other and judges with people first."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from pathlib import Path

from quati_pool.agreement.pairwise import PairAgreement
from quati_pool.commands.agree import AgreeReport
from quati_pool.reporting.answers import wording
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.saved_files import report_folder
from quati_pool.reporting.tables.agree import HEADINGS, WEIGHTED_INTERVALS, unweighted_kappa, weighting_notes
from quati_pool.reporting.tables.evaluate import ends
from quati_pool.text.pluralize import counted

# The most judges, and labelers, that the sentences name.
_JUDGES = 4


def answer(report: AgreeReport, output: Path | None = None) -> Answer:
    """``output`` is the folder that the command was asked to write to, if any."""
    sentences = [*main_result(report), *together(report), *_weights(report), *_doubts(report)]
    return Answer(sentences, _pairs(report), wording.files(report_folder(report.gathered.config, output), "agreement"))


def main_result(report: AgreeReport) -> Iterator[str]:
    """Cohen's κ of the two labelers, or among people and of judges with people, or its range over all pairs."""
    compared = [pair for pair in report.compared if pair.n]
    if len(compared) == 1:
        yield _of_two(compared[0])
        return
    kappas = report.layouts["kappa"]
    people = sum(name in kappas.people for name in kappas.labelers)
    if people and len(kappas.labelers) > 1:
        yield from _with_people(report)
        return
    by_kappa = [(value, pair) for pair in compared if (value := pair.values["kappa"]) is not None]
    if not by_kappa:
        yield f"Cohen's κ is undefined for all {len(compared):,} pairs of labelers."
        return
    (low, lowest), (high, highest) = min(by_kappa, key=lambda one: one[0]), max(by_kappa, key=lambda one: one[0])
    if low == high:
        yield f"Cohen's κ of {_both(lowest)}, and of all pairs where it is defined, is {_kappa(lowest, level=True)}."
        return
    yield (
        f"Cohen's κ of {len(by_kappa):,} pairs of labelers is between {_kappa(lowest, level=True)} of "
        f"{_both(lowest)} and {_kappa(highest)} of {_both(highest)}."
    )


def _of_two(pair: PairAgreement) -> str:
    basis = pair.weighting or pair
    on = f"on {counted(basis.n, 'pair', 'pairs')} of {counted(basis.queries, 'query', 'queries')}"
    if pair.values["kappa"] is None:
        return f"Cohen's κ of {_both(pair)} {on} is undefined: {pair.undefined['kappa']}."
    quadratic = wording.with_interval(pair.values["kappa_quadratic"], pair.intervals.get("kappa_quadratic"), 2)
    higher = pair.values["difference"] or 0
    mean = f", and those of {wording.name(pair.a if higher > 0 else pair.b)} are {abs(higher):.2f} higher on average"
    return (
        f"Cohen's κ of {_both(pair)} is {_kappa(pair, level=True)} {on}, quadratic κ {quadratic}; "
        f"{wording.share(pair.values['agreement'] or 0)} of the grades are equal{mean if round(higher, 2) else ''}."
    )


def _with_people(report: AgreeReport) -> Iterator[str]:
    """People among each other, and each judge with them: means of κ as in the Quati paper's Table 3."""
    kappas = report.layouts["kappa"]
    by_pair = {frozenset((pair.a, pair.b)): pair for pair in report.pairs}
    if len(kappas.people) == 2:
        both = wording.names(kappas.people)
        yield f"Cohen's κ of the two people, {both}, is {_kappa(by_pair[frozenset(kappas.people)], level=True)}."
    elif len(kappas.people) > 2 and isnan(kappas.human_mean):
        shared = any(pair.n for names, pair in by_pair.items() if names <= {*kappas.people})
        why = "undefined for every two of them" if shared else "not known, as no two of them graded the same pair"
        yield f"Cohen's κ of the {len(kappas.people):,} people with each other is {why}."
    elif len(kappas.people) > 2:
        mean = wording.with_interval(kappas.human_mean, None, 2)
        spread = wording.with_interval(kappas.human_std, None, 2)
        yield (
            f"{len(kappas.people):,} people agree with each other at a mean Cohen's κ of {mean} "
            f"(standard deviation {spread})."
        )
    means = dict(zip(kappas.labelers, kappas.mean.tolist(), strict=True))
    judges = [name for name in kappas.labelers if name not in kappas.people]
    shown: list[str] = []
    for name in judges[:_JUDGES]:
        pair = by_pair.get(frozenset((name, kappas.people[0]))) if len(kappas.people) == 1 else None
        value = wording.with_interval(means[name], None, 2) if pair is None else _kappa(pair, level=not shown)
        shown.append(f"{wording.name(name)} {value}")
    if judges:
        with_whom = "them" if len(kappas.people) > 1 else wording.name(kappas.people[0])
        more = f", and {len(judges) - _JUDGES:,} more" if len(judges) > _JUDGES else ""
        what = "mean κ" if len(kappas.people) > 1 else "Cohen's κ"
        yield f"Agreement of the others with {with_whom}, {what}: {', '.join(shown)}{more}."


def together(report: AgreeReport) -> Iterator[str]:
    """How far all labelers agree, if there are more than two."""
    if len(report.overall.labelers) > 2:
        name = "alpha_ordinal"
        value = wording.with_interval(report.overall.values[name], report.overall.intervals.get(name), 2)
        yield f"All {len(report.overall.labelers):,} together: Krippendorff's ordinal α {value}."


def _weights(report: AgreeReport) -> Iterator[str]:
    """How figures are weighted; κ without weights if it is the only one."""
    compared = [pair for pair in report.compared if pair.n]
    first, *others = [*weighting_notes(compared, wording.name), ""]
    if len(compared) == 1 and compared[0].unweighted is not None:
        first = f"{first[:-1]}; without weights κ is {_kappa(compared[0].unweighted)}."
    yield from filter(None, [first, *others])


def _doubts(report: AgreeReport) -> Iterator[str]:
    for source in report.gathered.sources:
        if source.hybrid is not None:
            yield f"{wording.name(source.name)} is a hybrid: {source.hybrid}."
        if source.note is not None:
            yield f"{source.note[0].upper()}{source.note[1:]}."
    for source in [source for source in report.gathered.sources if source.ungraded][:_JUDGES]:
        yield f"{wording.name(source.name)} without a grade: {wording.counts(source.lacking.items())}."
    left_out = len(report.pairs) - len(report.compared)
    if left_out:
        yield (
            f"{counted(left_out, 'pair of labelers is', 'pairs of labelers are')} left out that agree by "
            "construction, such as a panel and its member."
        )


def _pairs(report: AgreeReport) -> Table:
    rows: list[list[Cell]] = []
    weighted = any(pair.weighting for pair in report.compared)
    for pair in report.compared:
        row: list[Cell] = [pair.a, pair.b, pair.n, pair.values["kappa"]]
        if report.draws:
            row.append(ends(pair.intervals["kappa"]))
        row += [unweighted_kappa(pair)] if weighted else []
        rows.append([*row, *(pair.values[name] for name in ("kappa_quadratic", "agreement", "spearman", "difference"))])
    columns = [Column("Labeler"), Column("and"), Column("Pairs"), Column("κ", 2)]
    columns += [Column("95 % interval", 2)] if report.draws else []
    columns += [Column("κ unweighted", 2)] if weighted else []
    columns += [Column(HEADINGS["kappa_quadratic"], 2), Column(HEADINGS["agreement"], 1, percent=True)]
    columns += [Column(HEADINGS["spearman"], 2), Column(HEADINGS["difference"], 2)]
    note = f"Intervals: {report.draws:,} bootstrap resamples of the queries." if report.draws else ""
    note += f" {WEIGHTED_INTERVALS}" if note and weighted else ""
    return Table("Agreement of two labelers", columns, rows, note)


def _both(pair: PairAgreement) -> str:
    return f"{wording.name(pair.a)} and {wording.name(pair.b)}"


def _kappa(pair: PairAgreement, *, level: bool = False) -> str:
    return wording.with_interval(pair.values["kappa"], pair.intervals.get("kappa"), 2, level=level)
