"""``quati-pool train reader``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.options import Format, FormatOption, FullOption
from quati_pool.cli.progress import ConsoleListener
from quati_pool.cli.training_options import (
    BaseModelOption,
    CheckpointStepsOption,
    DeviceOption,
    ModelFolderOption,
    PrecisionOption,
    TrainingSeedOption,
    given,
    rate,
)

TaskOption = Annotated[
    str, typer.Option("--task", help="mcqa, cgqa, mrc, at or oqa (Pirá's; mcqa any multiple choice), closed or gold.")
]
DataOption = Annotated[
    str,
    typer.Option(
        "--data", metavar="[NAME=]DIR", help="The folder of the released files, after the benchmark's name if need be."
    ),
]
ThenOption = Annotated[
    list[str] | None,
    typer.Option("--then", metavar="[NAME=]DIR", help="Released files to go on with after these (repeatable)."),
]
MethodOption = Annotated[
    str | None,
    typer.Option("--method", help="mcqa: baseline, binary or binary+augmentation.  [binary+augmentation]"),
]
SampleOption = Annotated[
    str | None, typer.Option("--sample", help="closed, gold: clusters of related questions, or unrelated ones.")
]
LanguageOption = Annotated[list[str] | None, typer.Option("--lang", help="pt or en (repeatable).")]
SettingOption = Annotated[
    list[str] | None, typer.Option("--setting", help="A setting of the benchmark's task (repeatable).")
]
SystemsOption = Annotated[
    Path | None, typer.Option("--systems", metavar="FILE", help="oqa: a pool.yaml whose systems search.")
]
OverOption = Annotated[
    str | None, typer.Option("--over", metavar="SYSTEM", help="oqa: whose passages are read.  [bm25s]")
]
PassagesOption = Annotated[
    int | None, typer.Option("--passages", min=1, help="oqa: how many of the best passages are read.  [5]")
]
EpochsOption = Annotated[int | None, typer.Option("--epochs", min=1, help="By default the paper's.")]
BatchSizeOption = Annotated[int | None, typer.Option("--batch-size", min=1, help="Questions computed together.")]
AccumulateOption = Annotated[int | None, typer.Option("--accumulate", min=1, help="Batches of one step.")]
RateOption = Annotated[
    float | None, typer.Option("--learning-rate", callback=rate, help="The highest; by default the paper's.")
]
TokensOption = Annotated[
    int | None, typer.Option("--max-tokens", min=8, help="The longest input; by default the paper's.")
]
AnswerTokensOption = Annotated[
    int | None, typer.Option("--answer-tokens", min=1, help="The longest answer in words; by default the preset's.")
]
PatienceOption = Annotated[
    int | None,
    typer.Option("--patience", min=0, help="Stop after so many epochs without a lower held-out loss; 0: never."),
]


def register(group: typer.Typer) -> None:
    group.command(
        "reader",
        epilog="Example: quati-pool train reader --task mcqa --data race=RACE --then qasc=QASC "
        "--model roberta-large -o readers/qasc",
    )(reader)


def reader(
    task: TaskOption,
    data: DataOption,
    model: BaseModelOption,
    output: ModelFolderOption,
    then: ThenOption = None,
    method: MethodOption = None,
    sample: SampleOption = None,
    lang: LanguageOption = None,
    setting: SettingOption = None,
    systems: SystemsOption = None,
    over: OverOption = None,
    passages: PassagesOption = None,
    epochs: EpochsOption = None,
    batch_size: BatchSizeOption = None,
    accumulate: AccumulateOption = None,
    learning_rate: RateOption = None,
    max_tokens: TokensOption = None,
    answer_tokens: AnswerTokensOption = None,
    patience: PatienceOption = None,
    seed: TrainingSeedOption = 0,
    device: DeviceOption = None,
    precision: PrecisionOption = None,
    checkpoint_steps: CheckpointStepsOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Train a model that answers a benchmark's questions, for bench --reader.

    It learns from the split train; of what the split validation holds, the lowest loss decides which step's weights
    are kept. The same command goes on where a killed one was.
    """
    from quati_pool.commands.train.reader import train_reader
    from quati_pool.commands.train.recipes import ReaderOptions
    from quati_pool.reporting.answers.train_reader import answer
    from quati_pool.reporting.json_data.train_reader import as_data
    from quati_pool.reporting.tables.train_reader import tables

    fit = given(
        epochs=epochs,
        batch_size=batch_size,
        accumulate=accumulate,
        learning_rate=learning_rate,
        patience=patience,
        device=device,
        precision=precision and precision.value,
        checkpoint_steps=checkpoint_steps,
    )
    if patience == 0:
        fit["patience"] = None
    options = ReaderOptions(
        task=task,
        data=[_named(text) for text in (data, *(then or ()))],
        model=model,
        output=output,
        languages=lang or (),
        settings=setting or (),
        method=method,
        sample=sample,
        systems=systems,
        over=over,
        passages=passages,
        answer_tokens=answer_tokens,
        max_tokens=max_tokens,
        seed=seed,
        given=fit,
    )
    with ConsoleListener() as listener:
        result = train_reader(options, listener)
    show(result, answer, tables, as_data, output_format, full)


def _named(text: str) -> tuple[str | None, Path]:
    """The benchmark, None where it is not named, and the folder of released files."""
    name, equals, path = text.partition("=")
    return (name, Path(path)) if equals else (None, Path(text))
