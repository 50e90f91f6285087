"""``quati-pool audit``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.judge import BudgetOption, ConcurrencyOption, DryRunOption, ReaskOption, RpmOption, TpmOption
from quati_pool.cli.label_options import declared, label_files, named_file, names_file
from quati_pool.cli.options import (
    ColumnOption,
    ConfigOption,
    Format,
    FormatOption,
    FullOption,
    GradeOption,
    LabelsOption,
    QueriesOption,
    RunsOption,
    ScaleOption,
)
from quati_pool.cli.progress import ConsoleListener

if TYPE_CHECKING:
    from quati_pool.commands.audit.audit import AuditReport
    from quati_pool.commands.audit.comparison import AuditComparison
    from quati_pool.commands.audit.grade_inputs import GradeSettings
    from quati_pool.commands.audit.plan import AuditPlan
    from quati_pool.commands.audit.settings import AuditSettings
    from quati_pool.commands.judge.chosen_judge import JudgeOptions
    from quati_pool.labels.gathered import LabelFiles
    from quati_pool.project.config import PoolConfig

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
TruthOption = Annotated[
    str | None,
    typer.Option(
        "--people",
        metavar="[NAME=]FILE|NAME",
        help="Whose grades the judge's are compared with: a file, one of --labels, or a labeler of the workspace; by "
        "default all people's.",
    ),
]
FamiliesOption = Annotated[
    Path | None,
    typer.Option("--families", metavar="FILE", help="run_tag <tab> family: which systems are related."),
]
JudgeFamilyOption = Annotated[
    list[str] | None,
    typer.Option("--judge-family", metavar="NAME=FAMILY", help="The family of a judge's model (repeatable)."),
]
MeasureOption = Annotated[
    str | None, typer.Option("--measure", help="What compares systems; pool.yaml's first measure, or nDCG@10.")
]
WordingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--wording",
        metavar="[NAME=]FILE",
        help="The labels of the judge of --labels under another wording of its prompt (repeatable).",
    ),
]
CompareOption = Annotated[
    bool, typer.Option("--compare", help="Say which of two judges to take: the JUDGEs, or those of two --labels.")
]
AnchorsOption = Annotated[
    int | None,
    typer.Option(
        "--anchors", min=1, metavar="N",
        help="Fix N pairs that people and the judge graded, to ask about them again later (--drift); ask nothing now.",
    ),
]  # fmt: skip
DriftOption = Annotated[
    bool,
    typer.Option(
        "--drift",
        help="Ask about the anchors again, and nothing else; exit 1 if the judge's grades have moved, or more than 5 % "
        "of the anchors have none any more, so that scripts stop.",
    ),
]
MaxAgeOption = Annotated[
    float,
    typer.Option(
        "--max-age", min=0, metavar="HOURS",
        help="With --drift: finish or show the last check if it began within this time; else ask again. A check of the "
        "last 24 hours that is not finished is finished in any case.",
    ),
]  # fmt: skip
# Options about changed passages, which files cannot be asked about.
_OF_PROBES = {
    "judges": "JUDGE", "probe": "--probe", "pairs": "--pairs", "redraw": "--redraw", "budget": "--budget",
    "dry_run": "--dry-run", "reask": "--reask", "concurrency": "--concurrency", "rpm": "--rpm", "tpm": "--tpm",
    "anchors": "--anchors", "drift": "--drift", "max_age": "--max-age",
}  # fmt: skip
# Options about grades next to people's, which are not compared where probes are named or nothing is asked.
_OF_GRADES = {
    "run": "--run", "people": "--people", "families": "--families", "judge_family": "--judge-family",
    "measure": "--measure",
}  # fmt: skip
# Options that say how label files are read.
_OF_FILES = {
    "wording": "--wording", "queries": "--queries", "column": "--column", "grade": "--grade", "scale": "--scale",
}  # fmt: skip
# Options that say what to ask, where anchors are fixed, which asks nothing.
_OF_CALLS = {
    "budget": "--budget", "dry_run": "--dry-run", "reask": "--reask", "concurrency": "--concurrency", "rpm": "--rpm",
    "tpm": "--tpm", "drift": "--drift",
}  # fmt: skip
# The width of the texts of examples, in characters.
_TEXT = 100


def register(app: typer.Typer) -> None:
    app.command(
        epilog="Example: quati-pool audit gpt-4o --dry-run && quati-pool audit gpt-4o --budget 5. Free and offline: "
        "quati-pool audit lexical"
    )(audit)


def audit(
    context: typer.Context,
    judges: JudgesArgument = None,
    config: ConfigOption = Path("pool.yaml"),
    probe: ProbeOption = None,
    pairs: PairsOption = None,
    redraw: RedrawOption = False,
    anchors: AnchorsOption = None,
    drift: DriftOption = False,
    max_age: MaxAgeOption = 24.0,
    budget: BudgetOption = None,
    dry_run: DryRunOption = False,
    reask: ReaskOption = 2,
    concurrency: ConcurrencyOption = None,
    rpm: RpmOption = None,
    tpm: TpmOption = None,
    people: TruthOption = None,
    run: RunsOption = None,
    families: FamiliesOption = None,
    judge_family: JudgeFamilyOption = None,
    measure: MeasureOption = None,
    labels: LabelsOption = None,
    wording: WordingOption = None,
    queries: QueriesOption = None,
    column: ColumnOption = None,
    grade: GradeOption = None,
    scale: ScaleOption = None,
    compare: CompareOption = False,
    probes: ProbesOption = False,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Find out what fools a judge, and what its grades can be used for.

    Each probe tests one published danger, such as the query's words put into an irrelevant passage. It changes pairs
    that the judge has graded, and compares the grades before and after. Most have controls: the same pairs, changed as
    much, but without the danger. The answer says what fools the judge and what not to do with its grades, what it is
    cleared of, and what is undecided.

    The answers are kept apart from grades: they enter no qrels, no agreement and no leaderboard. Each is committed as
    it arrives: stop the command with Ctrl-C or kill it, and run it again; it asks only what is left. The changed pairs
    are in audits/JUDGE/ next to pool.yaml. The language model behind a judge is asked as by quati-pool judge.

    Where people graded too, the judge's grades are compared with theirs: the order of systems, the level of the
    measure, whether it favours systems of its own model. Label files of judges (--labels) and of people (--people) are
    compared without a workspace, and nothing is asked.

    With --compare the answer says which of two judges to take: by the dangers that are shown of one alone, else by the
    order of systems, else by κ with people, else by cost.

    A model behind a name may change. --anchors fixes pairs with people's grades; --drift asks about them again later,
    and says whether the grades have moved (exit 1) or what such a check would have found.

    As JSON, one judge is one object; several are in a list under "audits", and with --dry-run under "plans".
    """
    if probes:
        _list(output_format, full)
        return
    from quati_pool.commands.audit.comparison import check_two
    from quati_pool.commands.audit.grade_inputs import GradeSettings
    from quati_pool.commands.audit.settings import AuditSettings
    from quati_pool.registry import PROBES

    if compare and not labels:
        check_two(judges or [])
    known = _families(judge_family or ())
    if labels:
        _refuse(context, _OF_PROBES, "is about changed passages, which files cannot be asked about; leave it out")
        home = declared(context, config)
        wordings = tuple(named_file(one, "--wording")[0] for one in wording or ())
        people, files = _files([*labels, *(wording or ())], people, column, grade, queries, scale, home)
        measure = measure or (home.measures[0] if home is not None else None)
        seed = None if home is None else home.seed
        of_files = GradeSettings(measure, people, families, known, seed=seed, wordings=wordings)
        _of_files(files, run or (), of_files, home, compare, output_format, full)
        return
    _refuse(context, _OF_FILES, "says how files of labels are read; add --labels [NAME=]FILE")
    if not drift:
        _refuse(context, {"max_age": "--max-age"}, "goes with --drift")
    if anchors is not None or drift:
        of_audits = {name: _OF_PROBES[name] for name in ("probe", "pairs", "redraw")}
        of_audits |= {**_OF_GRADES, "compare": "--compare"}
        _refuse(context, of_audits, "is about an audit; --anchors and --drift are about anchors alone")
        if anchors is not None:
            _refuse(context, _OF_CALLS, "asks, and --anchors does not; run one after the other")
            _fix_anchors(config, judges or [], anchors, output_format, full)
        else:
            how = AuditSettings(budget=budget, reask=reask, concurrency=concurrency, rpm=rpm, tpm=tpm)
            _drift(config, judges or [], how.judge_options(), max_age, dry_run, output_format, full)
        return
    if probe:
        _refuse(context, _OF_GRADES, "compares grades, which --probe leaves out; leave out one of them")
    if dry_run:
        _refuse(context, _OF_GRADES, "compares grades, which asks nothing; leave it out of --dry-run")
    if people is not None and names_file(people, "--people"):
        raise typer.BadParameter("is a file; add the judge's: --labels [NAME=]FILE", param_hint="--people")
    for name in probe or ():
        PROBES.find(name)
    settings = AuditSettings(
        probes=tuple(probe or ()), pairs=pairs, redraw=redraw, budget=budget, reask=reask, concurrency=concurrency,
        rpm=rpm, tpm=tpm, grades=GradeSettings(measure, people, families, known), runs=tuple(run or ()),
    )  # fmt: skip
    if dry_run:
        _plan(config, judges or [], settings, output_format, full)
    else:
        _audit(config, judges or [], settings, compare, output_format, full)


def _refuse(context: typer.Context, options: dict[str, str], why: str) -> None:
    """Refuses options that were given and say nothing here."""
    for name, shown in options.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(why, param_hint=shown)


def _families(options: Sequence[str]) -> dict[str, str]:
    """The families of judges by name."""
    found: dict[str, str] = {}
    for option in options:
        name, _, family = (part.strip() for part in option.partition("="))
        if not name or not family:
            raise typer.BadParameter(f"{option!r} is not NAME=FAMILY", param_hint="--judge-family")
        if found.setdefault(name, family) != family:
            raise typer.BadParameter(f"{name} has two families; give one", param_hint="--judge-family")
    return found


def _files(
    labels: Sequence[str], people: str | None, columns: list[str] | None, grades: list[str] | None,
    queries: Path | None, scale: str | None, home: PoolConfig | None,
) -> tuple[str | None, LabelFiles]:  # fmt: skip
    """The name of the people among the files, and all files; those of judges first."""
    options = [*labels]
    if people is not None and people not in {named_file(one, "--labels")[0] for one in labels}:
        if not names_file(people, "--people"):
            raise typer.BadParameter(f"{people} is neither a file nor one of --labels", param_hint="--people")
        options.append(people)
        people = named_file(people, "--people")[0]
    persons = [people] if people is not None else []
    return people, label_files(options, persons, columns, grades, queries, scale, home)


def _of_files(
    files: LabelFiles, runs: Sequence[str], settings: GradeSettings, home: PoolConfig | None, compare: bool,
    output_format: Format, full: bool,
) -> None:  # fmt: skip
    from quati_pool.commands.audit.audit import audit_files
    from quati_pool.commands.audit.comparison import compare_audits

    def warn(line: str) -> None:
        typer.echo(f"warning: {line}", err=True)

    with ConsoleListener() as listener, listener.stage("comparing grades"):
        reports = audit_files(files, runs, settings, None if home is None else home.audit.bounds, warn)
        comparison = compare_audits(reports, seed=settings.seed or 0) if compare else None
    if comparison is not None:
        _show_comparison(comparison, reports, output_format, full)
    else:
        _show(reports, (), output_format, full)


def _show(reports: Sequence[AuditReport], not_started: Sequence[str], output_format: Format, full: bool) -> None:
    from quati_pool.reporting.answers.audit import answer
    from quati_pool.reporting.json_data.audit import as_data
    from quati_pool.reporting.tables.audit import tables

    width = _TEXT if output_format is Format.table else None
    said, data = partial(answer, not_started=not_started), partial(as_data, not_started=not_started)
    show(reports, said, partial(tables, width=width), data, output_format, full)


def _show_comparison(
    comparison: AuditComparison, reports: Sequence[AuditReport], output_format: Format, full: bool
) -> None:
    from quati_pool.reporting.answers.audit_comparison import answer
    from quati_pool.reporting.json_data.audit_comparison import as_data
    from quati_pool.reporting.tables.audit_comparison import tables

    width = _TEXT if output_format is Format.table else None
    show(
        comparison,
        lambda found: answer(found, reports),
        lambda found: tables(found, reports, width),
        lambda found: as_data(found, reports),
        output_format,
        full,
    )


def _audit(
    config: Path, judges: list[str], settings: AuditSettings, compare: bool, output_format: Format, full: bool
) -> None:
    from quati_pool.commands.audit.audit import audit as step
    from quati_pool.commands.audit.audit import not_started
    from quati_pool.commands.audit.comparison import compare_in_workspace

    with ConsoleListener() as listener:
        reports = step(config, judges, listener, settings)
    last = reports[-1]
    error = next((run.error for run in last.runs if run.error is not None), None)
    if error is not None and not any(report.asked for report in reports):
        raise error
    left = not_started(reports, judges)
    if compare and not left:
        _show_comparison(compare_in_workspace(config, reports), reports, output_format, full)
    else:
        _show(reports, left, output_format, full)
    if last.fault is not None:
        raise last.fault


def _plan(config: Path, judges: list[str], settings: AuditSettings, output_format: Format, full: bool) -> None:
    from quati_pool.commands.audit.plan import plan

    with ConsoleListener() as listener:
        plans = plan(config, judges, listener, settings)
    _show_plans(plans, output_format, full)


def _show_plans(plans: Sequence[AuditPlan], output_format: Format, full: bool) -> None:
    from quati_pool.reporting.answers.audit_plan import plan_answer
    from quati_pool.reporting.json_data.audit import plan_data
    from quati_pool.reporting.tables.audit import plan_tables

    show(plans, plan_answer, plan_tables, plan_data, output_format, full)


def _fix_anchors(config: Path, judges: list[str], number: int, output_format: Format, full: bool) -> None:
    from quati_pool.commands.audit.anchors import fix_anchors
    from quati_pool.reporting.answers.drift import anchors_answer
    from quati_pool.reporting.json_data.drift import anchors_data
    from quati_pool.reporting.tables.drift import anchors_table

    with ConsoleListener() as listener:
        fixed = fix_anchors(config, judges, number, listener)
    show(
        fixed, anchors_answer, lambda found: [anchors_table(one.judge, one.drift) for one in found], anchors_data,
        output_format, full,
    )  # fmt: skip


def _drift(
    config: Path, judges: list[str], options: JudgeOptions, hours: float, dry_run: bool, output_format: Format,
    full: bool,
) -> None:  # fmt: skip
    from quati_pool.commands.audit.drift import check_drift, plan_drift
    from quati_pool.reporting.answers.drift import answer
    from quati_pool.reporting.json_data.drift import as_data
    from quati_pool.reporting.tables.drift import tables

    if dry_run:
        _show_plans(plan_drift(config, judges, options, hours), output_format, full)
        return
    with ConsoleListener() as listener:
        reports = check_drift(config, judges, listener, options, hours)
    last = reports[-1]
    if last.run.error is not None and not any(report.drift.pairs for report in reports):
        raise last.run.error
    show(
        reports, answer, lambda found: [table for one in found for table in tables(one.judge, one.drift)], as_data,
        output_format, full,
    )  # fmt: skip
    if last.fault is not None:
        raise last.fault
    if any(report.drift.alarms for report in reports):
        raise typer.Exit(1)


def _list(output_format: Format, full: bool) -> None:
    from quati_pool.commands.components import probes
    from quati_pool.reporting.answers.components import listing
    from quati_pool.reporting.json_data.serializer import serialize
    from quati_pool.reporting.tables import audit

    answer = partial(listing, rest="Their parameters and papers: quati-pool audit --probes --full.")
    show(probes(), answer, audit.probes, lambda found: serialize({"probes": found}), output_format, full)
