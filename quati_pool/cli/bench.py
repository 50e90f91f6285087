"""``quati-pool bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.options import Format, FormatOption, FullOption
from quati_pool.cli.progress import ConsoleListener

BenchmarkArgument = Annotated[str, typer.Argument(metavar="NAME", help="A benchmark; `list` shows all of them.")]
TaskArgument = Annotated[
    str | None, typer.Argument(metavar="TASK", help="One of its tasks; after `list`, the one benchmark to show.")
]
DataOption = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="The folder that holds the released files.")
]
SplitOption = Annotated[
    list[str] | None, typer.Option("--split", help="train, validation or test (repeatable); all by default.")
]
LanguageOption = Annotated[list[str] | None, typer.Option("--lang", help="pt or en (repeatable); all by default.")]
SettingOption = Annotated[
    list[str] | None, typer.Option("--setting", help="A setting of the task (repeatable); all by default.")
]
SystemsOption = Annotated[
    Path | None,
    typer.Option("--systems", metavar="FILE", help="A pool.yaml whose systems search; --judge is one of its judges."),
]
JudgeOption = Annotated[
    str | None, typer.Option("--judge", metavar="NAME", help="The judge (judge: llm) whose model answers too.")
]
PredictionsOption = Annotated[
    list[str] | None,
    typer.Option("--predictions", metavar="[NAME=]FILE", help="Answers of your own, JSON {id: answer} (repeatable)."),
]
ReaderOption = Annotated[
    list[str] | None,
    typer.Option(
        "--reader",
        metavar="[NAME=]PATH",
        help="A model that answers on this machine, such as train reader writes (repeatable).",
    ),
]
DeviceOption = Annotated[
    str | None, typer.Option("--device", help="cpu, cuda, cuda:1 … for readers; by default a GPU where there is one.")
]
BatchTokensOption = Annotated[
    int | None, typer.Option("--batch-tokens", min=1, help="Tokens of a reader's batch, padding included.")
]
OverOption = Annotated[
    list[str] | None,
    typer.Option(
        "--over", metavar="SYSTEM", help="Whose passages the model reads (repeatable); by default the first's."
    ),
]
CutOption = Annotated[
    str | None,
    typer.Option(
        "--cut", metavar="WAY", help="Search passages of the texts: cut at words or at sentences (pira's ir and oqa)."
    ),
]
WorkspaceOption = Annotated[
    Path | None,
    typer.Option("--to", metavar="WORKSPACE", help="Write the collection as a workspace; run nothing."),
]
RandomSeedOption = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything that is drawn.")]
BudgetOption = Annotated[
    float | None, typer.Option("--budget", metavar="USD", help="Stop asking before this is spent.")
]
FolderOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="DIR", help="Where runs, answers and reports are kept.  [bench/NAME]"),
]


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: quati-pool bench pira ir --data pira --lang pt")(bench)


def bench(
    name: BenchmarkArgument,
    task: TaskArgument = None,
    data: DataOption = None,
    split: SplitOption = None,
    lang: LanguageOption = None,
    setting: SettingOption = None,
    systems: SystemsOption = None,
    judge: JudgeOption = None,
    predictions: PredictionsOption = None,
    reader: ReaderOption = None,
    device: DeviceOption = None,
    batch_tokens: BatchTokensOption = None,
    over: OverOption = None,
    cut: CutOption = None,
    to: WorkspaceOption = None,
    seed: RandomSeedOption = 0,
    budget: BudgetOption = None,
    output: FolderOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Run a task of a question-answering benchmark on its released files.

    Retrieval tasks rank systems (six or more that need no model, or those of --systems); answering tasks
    measure programs, predictions, models on this machine (--reader) and, with --judge, a language model. There is
    one row for each split, language and setting in the folder.
    """
    if name == "list":
        _list(task, output_format, full)
        return
    if task is None:
        raise typer.BadParameter(f"name a task; quati-pool bench list {name} shows them", param_hint="TASK")
    if data is None:
        raise typer.BadParameter("name the folder with the released files", param_hint="--data")
    from quati_pool.commands.bench.bench import BenchOptions
    from quati_pool.commands.bench.bench import bench as step
    from quati_pool.reporting.answers.bench import answer
    from quati_pool.reporting.figures.bench import write
    from quati_pool.reporting.json_data.bench import as_data
    from quati_pool.reporting.tables.bench import tables

    options = BenchOptions(
        folder=output or Path("bench") / name,
        splits=split or (),
        languages=lang or (),
        settings=setting or (),
        systems=systems,
        judge=judge,
        predictions=[(name, Path(path)) for name, path in _named(predictions or (), "--predictions", "file")],
        readers=_named(reader or (), "--reader", "reader"),
        device=device,
        batch_tokens=batch_tokens,
        over=over or (),
        cut=cut,
        to=to,
        seed=seed,
        budget=budget,
    )
    with ConsoleListener() as listener:
        result = step(name, task, data, options, listener)
        write(result, options.folder, listener)
    show(result, answer, tables, as_data, output_format, full)
    if result.interrupted:
        typer.echo(f"quati-pool: {result.error}", err=True)
        raise typer.Exit(130)
    if result.error is not None:
        raise result.error


def _list(name: str | None, output_format: Format, full: bool) -> None:
    from quati_pool.commands.bench.listing import benchmarks
    from quati_pool.reporting.answers.listings import benchmark_list
    from quati_pool.reporting.json_data.serializer import serialize
    from quati_pool.reporting.tables.benchmarks import tables

    found = benchmarks(name)
    show(found, benchmark_list, tables, lambda found: serialize({"benchmarks": found}), output_format, full)


def _named(given: list[str] | tuple[str, ...], option: str, what: str) -> list[tuple[str, str]]:
    """Each path with its system's name, by default the file's or folder's name up to the first dot."""
    named = []
    for text in given:
        name, equals, path = text.partition("=")
        named.append((name, path) if equals else (Path(text).name.split(".")[0], text))
    if any(not name.strip() for name, _ in named):
        raise typer.BadParameter(f"a {what} has no name; give it as NAME=PATH", param_hint=option)
    twice = next((name for name, _ in named if [other for other, _ in named].count(name) > 1), None)
    if twice is not None:
        raise typer.BadParameter(f"two {what}s are called {twice!r}; give one as NAME=PATH", param_hint=option)
    return named
