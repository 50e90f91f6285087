"""``quati-pool audit``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.judge import BudgetOption, ConcurrencyOption, DryRunOption, ReaskOption, RpmOption, TpmOption
from quati_pool.cli.options import ConfigOption, Format, FormatOption, FullOption
from quati_pool.cli.progress import ConsoleListener

if TYPE_CHECKING:
    from quati_pool.commands.audit.settings import AuditSettings

JudgesArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="JUDGE", help="Judges of pool.yaml; may be left out if there is only one."),
]
ProbeOption = Annotated[
    list[str] | None,
    typer.Option("--probe", metavar="NAME", help="Run this probe only (repeatable); all by default."),
]
PairsOption = Annotated[
    int | None,
    typer.Option("--pairs", min=1, metavar="N", help="How many pairs each probe changes; pool.yaml's, or 100."),
]
RedrawOption = Annotated[
    bool,
    typer.Option(
        "--redraw",
        help="Draw the pairs again, by the grades that people have given by now; at least as many as there were.",
    ),
]
ProbesOption = Annotated[
    bool, typer.Option("--probes", help="List the probes, their parameters and papers, and ask nothing.")
]
# The width of the texts of examples, in characters.
_TEXT = 100


def register(app: typer.Typer) -> None:
    app.command(
        epilog="Example: quati-pool audit gpt-4o --dry-run && quati-pool audit gpt-4o --budget 5. Free and offline: "
        "quati-pool audit lexical"
    )(audit)


def audit(
    judges: JudgesArgument = None,
    config: ConfigOption = Path("pool.yaml"),
    probe: ProbeOption = None,
    pairs: PairsOption = None,
    redraw: RedrawOption = False,
    budget: BudgetOption = None,
    dry_run: DryRunOption = False,
    reask: ReaskOption = 2,
    concurrency: ConcurrencyOption = None,
    rpm: RpmOption = None,
    tpm: TpmOption = None,
    probes: ProbesOption = False,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Find out what fools a judge: ask it about pairs that were changed to fool it.

    Each probe tests one published danger, such as the query's words put into an irrelevant passage. It changes pairs
    that the judge has graded, and compares the grades before and after. Most have controls: the same pairs, changed as
    much, but without the danger. The answer says what fools the judge and what not to do with its grades, what it is
    cleared of, and what is undecided.

    The answers are kept apart from grades: they enter no qrels, no agreement and no leaderboard. Each is committed as
    it arrives: stop the command with Ctrl-C or kill it, and run it again; it asks only what is left. The changed pairs
    are in audits/JUDGE/ next to pool.yaml. The language model behind a judge is asked as by quati-pool judge.

    As JSON, one judge is one object; several are in a list under "audits", and with --dry-run under "plans".
    """
    if probes:
        _list(output_format, full)
        return
    from quati_pool.commands.audit.settings import AuditSettings
    from quati_pool.registry import PROBES

    for name in probe or ():
        PROBES.find(name)
    settings = AuditSettings(
        probes=tuple(probe or ()), pairs=pairs, redraw=redraw, budget=budget, reask=reask, concurrency=concurrency,
        rpm=rpm, tpm=tpm,
    )  # fmt: skip
    if dry_run:
        _plan(config, judges or [], settings, output_format, full)
    else:
        _audit(config, judges or [], settings, output_format, full)


def _audit(config: Path, judges: list[str], settings: AuditSettings, output_format: Format, full: bool) -> None:
    from quati_pool.commands.audit.audit import audit as step
    from quati_pool.reporting.answers.audit import answer
    from quati_pool.reporting.json_data.audit import as_data
    from quati_pool.reporting.tables.audit import tables

    with ConsoleListener() as listener:
        reports = step(config, judges, listener, settings)
    last = reports[-1]
    error = next((run.error for run in last.runs if run.error is not None), None)
    if error is not None and not any(report.asked for report in reports):
        raise error
    width = _TEXT if output_format is Format.table else None
    done = {report.judge for report in reports}
    left = [name for name in dict.fromkeys(judges) if name not in done]
    said, data = partial(answer, not_started=left), partial(as_data, not_started=left)
    show(reports, said, partial(tables, width=width), data, output_format, full)
    if last.fault is not None:
        raise last.fault


def _plan(config: Path, judges: list[str], settings: AuditSettings, output_format: Format, full: bool) -> None:
    from quati_pool.commands.audit.plan import plan
    from quati_pool.reporting.answers.audit import plan_answer
    from quati_pool.reporting.json_data.audit import plan_data
    from quati_pool.reporting.tables.audit import plan_tables

    with ConsoleListener() as listener:
        plans = plan(config, judges, listener, settings)
    show(plans, plan_answer, plan_tables, plan_data, output_format, full)


def _list(output_format: Format, full: bool) -> None:
    from quati_pool.commands.components import probes
    from quati_pool.reporting.answers.components import listing
    from quati_pool.reporting.json_data.serializer import serialize
    from quati_pool.reporting.tables import audit

    answer = partial(listing, rest="Their parameters and papers: quati-pool audit --probes --full.")
    show(probes(), answer, audit.probes, lambda found: serialize({"probes": found}), output_format, full)
