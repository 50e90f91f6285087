"""``quati-pool judge``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quati_pool.cli.console import say_failures, show
from quati_pool.cli.options import (
    ConfigOption,
    Format,
    FormatOption,
    FullOption,
    NameArgument,
    PoolOption,
    parameters_of,
)
from quati_pool.cli.progress import ConsoleListener
from quati_pool.text.pluralize import counted

if TYPE_CHECKING:
    from quati_pool.commands.judge.chosen_judge import JudgeOptions
    from quati_pool.commands.judge.judge import JudgeReport
    from quati_pool.commands.judge.pairs import PairsFile

DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be asked, its tokens, cost and time; ask nothing.")
]
BudgetOption = Annotated[
    float | None,
    typer.Option(
        min=0,
        metavar="USD",
        help="Spend at most this in the run, calls in flight included. Each call reserves max_tokens for its answer, "
        "and after 20 answers 1.5 times the longest of them; an answer that is longer still may exceed the budget by "
        "the difference.",
    ),
]
LimitOption = Annotated[int | None, typer.Option(min=1, help="Ask about this many pairs and stop (exit 0).")]
ReaskOption = Annotated[int, typer.Option(min=0, help="Times to ask again for an answer that cannot be read.")]
ConcurrencyOption = Annotated[int | None, typer.Option(min=1, help="Most calls in flight.")]
RpmOption = Annotated[int | None, typer.Option(min=1, help="Most requests per minute.")]
TpmOption = Annotated[int | None, typer.Option(min=1, help="Most tokens per minute.")]
RereadOption = Annotated[
    bool, typer.Option("--reread", help="Read the stored answers by the current rules; ask nothing.")
]
PassageTokensOption = Annotated[
    int | None, typer.Option(min=1, help="Cut longer passages; each label records that its passage was cut.")
]
CheckAnchorsOption = Annotated[
    bool,
    typer.Option(
        "--check-anchors",
        help="First ask about the judge's anchors again, as quati-pool audit --drift does, unless that was done within "
        "24 hours; where it has moved, or gives many of them no grade, judge nothing (exit 1).",
    ),
]
AnchorsBudgetOption = Annotated[
    float | None,
    typer.Option("--anchors-budget", min=0, metavar="USD", help="With --check-anchors: spend at most this on it."),
]
AdaptiveOption = Annotated[
    bool,
    typer.Option(
        "--adaptive",
        help="Grade the adaptive pool that the judge steers (pool: in pool.yaml); its grades choose the next pairs.",
    ),
]
PairsOption = Annotated[
    Path | None,
    typer.Option(
        "--pairs",
        metavar="FILE",
        help="Grade the pairs of this file instead, without a workspace: JSON lines with query and text, plain or "
        ".gz. Needs --model, --prompt and -o.",
    ),
]
ModelOption = Annotated[str | None, typer.Option("--model", help="With --pairs: the model's name at the server.")]
PromptOption = Annotated[
    str | None, typer.Option("--prompt", help="With --pairs: a prompt's id (quati-pool prompts), or its YAML file.")
]
GradedOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="With --pairs: the pairs with their grades. What the judge said is kept in FILE.labels.db.",
    ),
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="With --pairs: any other setting of a judge in pool.yaml, such as temperature=0.7 (repeatable).",
    ),
]


def register(app: typer.Typer) -> None:
    app.command(
        epilog="Example: quati-pool judge gpt-4o --dry-run && quati-pool judge gpt-4o --budget 20. Without a "
        "workspace: quati-pool judge --pairs pairs.jsonl --model gpt-4o --prompt quati-en -o graded.jsonl"
    )(judge)


def judge(
    context: typer.Context,
    name: NameArgument = None,
    config: ConfigOption = Path("pool.yaml"),
    dry_run: DryRunOption = False,
    budget: BudgetOption = None,
    limit: LimitOption = None,
    reask: ReaskOption = 2,
    concurrency: ConcurrencyOption = None,
    rpm: RpmOption = None,
    tpm: TpmOption = None,
    reread: RereadOption = False,
    max_passage_tokens: PassageTokensOption = None,
    pool: PoolOption = None,
    adaptive: AdaptiveOption = False,
    check_anchors: CheckAnchorsOption = False,
    anchors_budget: AnchorsBudgetOption = None,
    pairs: PairsOption = None,
    model: ModelOption = None,
    prompt: PromptOption = None,
    output: GradedOption = None,
    settings: SettingsOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Grade the pool's pairs that a judge has not graded yet.

    Every verdict is committed as it arrives. An answer that cannot be read, a refusal or a failed call gives
    no grade: the output begins with how many there are, and an example. Answers that an earlier version read by older
    rules are read again first, without asking (--reread does only that). Stop it with Ctrl-C or kill it, and run it
    again: it asks only about pairs without a grade. Exit 0 once all pairs were asked. For a model behind another
    server, set OPENAI_BASE_URL and OPENAI_API_KEY, or base_url: and api_key_env: in pool.yaml (or with --set).
    """
    from quati_pool.commands.judge import judge as step
    from quati_pool.commands.judge.chosen_judge import JudgeOptions
    from quati_pool.commands.judge.pairs import judge_pairs, plan_pairs

    given = _pairs_file(context)
    options = JudgeOptions(limit, budget, reask, concurrency, rpm, tpm, max_passage_tokens, pool, reread)
    if check_anchors and (dry_run or reread):
        raise typer.BadParameter("asks, which --dry-run and --reread do not; drop one", param_hint="--check-anchors")
    if anchors_budget is not None and not check_anchors:
        raise typer.BadParameter("goes with --check-anchors", param_hint="--anchors-budget")
    if adaptive and (dry_run or reread or pool is not None):
        other = "--dry-run" if dry_run else "--reread" if reread else "--pool"
        raise typer.BadParameter(f"chooses the pairs as it asks; drop {other}", param_hint="--adaptive")
    if dry_run:
        from quati_pool.commands.judge import plan
        from quati_pool.reporting.answers.judge import plan_answer
        from quati_pool.reporting.json_data.judge import as_data
        from quati_pool.reporting.tables import judge_plan

        with ConsoleListener() as listener:
            made = plan.plan(config, name, listener, options) if given is None else plan_pairs(given, listener, options)
        show(made, plan_answer, lambda plan: [judge_plan.table(plan)], as_data, output_format, full)
        return
    from quati_pool.reporting.answers.judge import answer
    from quati_pool.reporting.json_data.judge import as_data
    from quati_pool.reporting.tables.judge import summary, tables

    if check_anchors:
        _check_anchors(config, name, JudgeOptions(None, anchors_budget, reask, concurrency, rpm, tpm), options)
    with ConsoleListener() as listener:
        if adaptive:
            from quati_pool.commands.judge.adaptive import judge_adaptively

            report = judge_adaptively(config, name, listener, options)
        else:
            report = (
                step.judge(config, name, listener, options) if given is None else judge_pairs(given, listener, options)
            )
    if report.error is not None and not report.pending.asked:
        raise report.error
    say_failures(report.judge, summary(report), report.example, report.written)
    show(report, answer, tables, as_data, output_format, full)
    _end(report, reread, workspace=given is None)


def _check_anchors(config: Path, name: str | None, options: JudgeOptions, judging: JudgeOptions) -> None:
    from quati_pool.commands.audit.drift import refuse_if_moved
    from quati_pool.reporting.answers.drift import card_line

    with ConsoleListener() as listener:
        report = refuse_if_moved(config, name, listener, options, judging)
    typer.echo(f"{report.judge}: {card_line(report.drift)}", err=True)


def _end(report: JudgeReport, reread: bool, *, workspace: bool) -> None:
    """Says on stderr what was written and what is left to ask; raises the error of a run that was not finished."""
    pending = report.pending
    if report.written is not None:
        graded = sum(pending.coverage.grades.values())
        typer.echo(
            f"wrote {report.written}: {counted(pending.total, 'pair', 'pairs')}, {graded:,} of them with a grade",
            err=True,
        )
    if report.error is None and report.ended in (None, "limit"):
        if reread and pending.left:
            left = counted(pending.left, "pair is", "pairs are")
            how_to = f"quati-pool judge {report.judge}" if workspace else "run the same command without --reread"
            typer.echo(f"{left} to be asked: {how_to}", err=True)
        if report.ended == "limit":
            typer.echo(f"{report.left}; run the same command again", err=True)
    if report.fault is not None:
        raise report.fault


_WITH_PAIRS = {"model": "--model", "prompt": "--prompt", "output": "--output", "settings": "--set"}
_OF_A_WORKSPACE = {
    "name": "NAME", "config": "--config", "pool": "--pool", "check_anchors": "--check-anchors",
    "anchors_budget": "--anchors-budget", "adaptive": "--adaptive",
}  # fmt: skip


def _pairs_file(context: typer.Context) -> PairsFile | None:
    """The pairs and judge of --pairs and the options that go with it; None without --pairs."""
    values = context.params
    sources = {name: context.get_parameter_source(name) for name in values}
    given = {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}
    if "pairs" in given:
        strange, problem = _OF_A_WORKSPACE, "names a workspace, and --pairs works without one; drop one of the two"
    else:
        strange, problem = _WITH_PAIRS, "goes with --pairs; in a workspace it is set in pool.yaml"
    for name, hint in strange.items():
        if name in given:
            raise typer.BadParameter(problem, param_hint=hint)
    if "pairs" not in given:
        return None
    from quati_pool.commands.judge.pairs import PairsFile

    for name in ("model", "prompt", "output"):
        if name not in given:
            raise typer.BadParameter(f"needs {_WITH_PAIRS[name]} too", param_hint="--pairs")
    settings = parameters_of(values["settings"] or [])
    for name in ("model", "prompt"):
        if name in settings:
            raise typer.BadParameter(f"{name} has its own option: --{name}", param_hint="--set")
    return PairsFile(values["pairs"], values["output"], values["model"], values["prompt"], settings)
