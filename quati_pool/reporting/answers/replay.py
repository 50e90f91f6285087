"""The answer of ``replay estimate``: how often the intervals of each design contain the truth, and how wide they
are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from quati_pool.commands.replay.estimate import ReplayReport
from quati_pool.estimation.replay.results import Method, MethodReplay
from quati_pool.estimation.results import Target
from quati_pool.reporting.answers import wording
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.saved_files import report_folder
from quati_pool.reporting.tables.replay import METHODS, at_once_of, explained, interval, lowest, refusals
from quati_pool.text.pluralize import counted, listed

FILES = "replay-estimate"
_DECIMALS = 3
_SHORT: dict[Target, str] = {"these-queries": "these", "queries-like-these": "like these"}
_DESIGNS: tuple[Method, ...] = ("queries", "pairs")
_FURTHER: tuple[Method, ...] = ("pairs-by-uncertainty", "pairs-by-disagreement")

_ByMethod = Mapping[Method, MethodReplay]


def answer(report: ReplayReport, output: Path | None = None) -> Answer:
    """``output`` is the folder that the command was asked to write to, if any."""
    folder = report_folder(report.config, output)
    first, *others = report.replay.plan.targets
    found = _of(report, first)
    sentences = [
        *_covered(report, found), *_compared(found), *_decided(report, found), *_at_once(report, found),
        *_judge(report, found),
    ]  # fmt: skip
    for target in others:
        sentences += _elsewhere(report, _of(report, target))
    return Answer(sentences, board(report), wording.files(folder, FILES))


def _of(report: ReplayReport, target: Target) -> _ByMethod:
    return {one.method: one for one in report.replay.methods if one.target == target}


def _covered(report: ReplayReport, found: _ByMethod) -> Iterator[str]:
    """Coverage and half-width of each design."""
    queries = found["queries"]
    these = queries.target == "these-queries"
    population = f"these {report.queries:,} queries" if these else f"queries like these {report.queries:,}"
    yield (
        f"Over {counted(queries.draws, 'draw', 'draws')}, the {interval(report)} intervals from "
        f"{_drawn(report, queries)} cover the true {report.measure} of {population} in {_coverage(report, queries)}."
    )
    for one in (found[method] for method in _DESIGNS[1:] if method in found):
        if one.estimated:
            yield f"Those from {_drawn(report, one)} cover it in {_coverage(report, one)}{_refused(report, one)}."
        else:
            reasons = refusals(report, one)
            yield f"From {_drawn(report, one)}, estimate would have refused in all {one.draws:,} draws: {reasons}."


def _compared(found: _ByMethod) -> Iterator[str]:
    """How wide the intervals from other probabilities of pairs are, next to those by the weight in the measure."""
    further = _estimated(found, _FURTHER)
    if not further or not found["pairs"].estimated or not found["pairs"].systems.half_width.any():
        return
    width = float(found["pairs"].systems.half_width.mean())
    ratios = [
        f"{METHODS[one.method]} {float(one.systems.half_width.mean()) / width:.2f} times as wide (coverage "
        f"{wording.share(float(one.systems.coverage.mean()))})"
        for one in further
    ]
    yield f"From as many pairs drawn {listed(ratios)}."


def _refused(report: ReplayReport, one: MethodReplay) -> str:
    """From how many draws ``estimate`` would give nothing, and why; empty if there are none."""
    if not one.refused:
        return ""
    refused = sum(one.refused.values())
    return f"; left out are {refused:,} draws that estimate would have refused ({refusals(report, one)})"


def _drawn(report: ReplayReport, one: MethodReplay) -> str:
    if one.method == "queries":
        return f"{report.replay.plan.queries:,} whole queries ({one.labels:,.0f} labels)"
    return f"{one.labels:,.0f} pairs of all queries"


def _coverage(report: ReplayReport, one: MethodReplay) -> str:
    coverage = one.systems.coverage
    place = lowest(coverage)
    ratio, _ = report.replay.relative_width(one)
    of_people = "" if ratio is None else f", {ratio:.2f} of people's alone"
    return (
        f"{wording.share(float(coverage.mean()))} (lowest system: {wording.share(float(coverage[place]))}, "
        f"{wording.name(report.run_tags[place])}), with a half-width of "
        f"{wording.number(float(one.systems.half_width.mean()), _DECIMALS)}{of_people}"
    )


def _decided(report: ReplayReport, found: _ByMethod) -> Iterator[str]:
    """The share of pairs of systems that each design decides, and how often wrongly."""
    systems, plan = len(report.run_tags), report.replay.plan
    designs = _estimated(found, ("people-only", *_DESIGNS))
    shares = [f"{METHODS[one.method]} {wording.share(one.decisions.decided)}" for one in designs]
    wrong = [wording.share(one.decisions.wrong_order_draws) for one in designs]
    yield (
        f"Decided of the {systems * (systems - 1) // 2:,} pairs of systems (Holm, alpha {plan.alpha:g}; ties within "
        f"±{plan.delta:.3g}): {listed(shares)}. In {listed(wrong)} of the draws, some order is wrong."
    )


def _at_once(report: ReplayReport, found: _ByMethod) -> Iterator[str]:
    """In how many draws all simultaneous intervals contain the truth."""
    if shares := _shares_at_once(found):
        all_of_them = counted(len(report.replay.a), "difference", "differences")
        yield (f"All simultaneous intervals of {all_of_them} hold in {at_once_of(report)}: {listed(shares)}.")


def _shares_at_once(found: _ByMethod) -> list[str]:
    return [
        f"{METHODS[one.method]} {wording.share(one.simultaneous_coverage)}"
        for one in _estimated(found, _DESIGNS)
        if one.simultaneous_coverage is not None
    ]


def _estimated(found: _ByMethod, methods: Sequence[Method]) -> list[MethodReplay]:
    """Those of the methods that give estimates."""
    return [found[method] for method in methods if method in found and found[method].estimated]


def _judge(report: ReplayReport, found: _ByMethod) -> Iterator[str]:
    one = found["judge-only"]
    bias = float(one.systems.bias.mean())
    yield (
        f"{wording.name(report.judge.name)} alone puts systems {abs(bias):.{_DECIMALS}f} too "
        f"{'high' if bias > 0 else 'low'} on average; its intervals cover "
        f"{wording.share(float(one.systems.coverage.mean()))}."
    )


def _elsewhere(report: ReplayReport, found: _ByMethod) -> Iterator[str]:
    """The other target, in short."""
    covered = [
        f"{METHODS[one.method]} cover it in {wording.share(float(one.systems.coverage.mean()))} (half-width "
        f"{wording.number(float(one.systems.half_width.mean()), _DECIMALS)})"
        for one in _estimated(found, _DESIGNS)
    ]
    parts = [listed(covered)]
    if shares := _shares_at_once(found):
        parts.append(f"differences at once: {listed(shares)}")
    if "pairs" in found and (refused := sum(found["pairs"].refused.values())):
        parts.append(f"pairs refused in {refused:,} draws")
    yield f"For queries like these {report.queries:,}: {'; '.join(parts)}."


def board(report: ReplayReport) -> Table:
    """Coverage, half-width and verdicts by method and target."""
    columns = [
        Column("Method"),
        Column("Queries"),
        Column("Labels", 0),
        Column("Coverage", _DECIMALS),
        Column("Lowest", _DECIMALS),
        Column("Half-width", _DECIMALS),
        Column("Ratio", 2),
        Column("Decided", 1, percent=True),
        Column("Wrong", 1, percent=True),
        Column("At once", _DECIMALS),
        Column("Refused", 1, percent=True),
        Column("Bias", _DECIMALS),
        Column("Error", _DECIMALS),
    ]
    rows = [_row(report, one) for one in report.replay.methods]
    note = f"{explained(report)} Ratio: half-width to that of people only. Decided: of all pairs of systems."
    return Table(f"Estimates of {report.measure} of {len(report.run_tags):,} systems, replayed", columns, rows, note)


def _row(report: ReplayReport, one: MethodReplay) -> list[Cell]:
    found = one.systems
    return [
        METHODS[one.method],
        _SHORT[one.target],
        one.labels,
        float(found.coverage.mean()),
        float(found.coverage.min()),
        float(found.half_width.mean()),
        report.replay.relative_width(one)[0],
        one.decisions.decided,
        one.decisions.wrong_order_draws,
        one.simultaneous_coverage,
        sum(one.refused.values()) / one.draws,
        float(found.bias.mean()),
        float(found.error.mean()),
    ]
