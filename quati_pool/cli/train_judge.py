"""``quati-pool train judge``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.options import ConfigOption, Format, FormatOption, FullOption
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


class Target(StrEnum):
    ordinal = "ordinal"
    expected = "expected"
    binary = "binary"


class Augment(StrEnum):
    full = "full"
    paper = "paper"
    none = "none"


EpochsOption = Annotated[int, typer.Option(min=1, help="How often each example is seen, at most.")]
BatchSizeOption = Annotated[int, typer.Option(min=1, help="Examples computed at once.")]
AccumulateOption = Annotated[int, typer.Option(min=1, help="Batches per step: as a larger batch, in less memory.")]
LearningRateOption = Annotated[float, typer.Option(callback=rate, help="The highest rate, after warm-up.")]
WarmupOption = Annotated[
    float, typer.Option(min=0, max=0.99, help="The share of the steps in which the learning rate rises.")
]
PatienceOption = Annotated[
    int, typer.Option(min=0, help="Stop after so many epochs without a lower held-out loss; 0: never.")
]
MaxTokensOption = Annotated[
    int | None, typer.Option(min=1, help="Tokens of an input; by default what the model reads, at most 512.")
]
HeldOutOption = Annotated[float, typer.Option(help="The share of the queries that is not trained on.")]


def register(group: typer.Typer) -> None:
    group.command(
        "judge",
        epilog="Example: quati-pool train judge --from gpt-4o --model models/all-MiniLM-L6-v2 -o models/judge",
    )(judge)


def judge(
    labelers: Annotated[
        list[str],
        typer.Option("--from", metavar="NAME", help="A labeler of the workspace whose grades to learn (repeatable)."),
    ],
    model: BaseModelOption,
    output: ModelFolderOption,
    config: ConfigOption = Path("pool.yaml"),
    target: Annotated[
        Target,
        typer.Option(help="What to learn: grades by their order, the expected grade, or relevant or not."),
    ] = Target.ordinal,
    augment: Annotated[
        Augment,
        typer.Option(help="How pairs are changed in training, so that the judge must read them (docs/own-judge.md)."),
    ] = Augment.full,
    relevant_from: Annotated[
        int | None,
        typer.Option(help="The lowest relevant grade; by default the first of the upper half of the scale."),
    ] = None,
    negatives: Annotated[
        int,
        typer.Option(min=0, help="Take so many ungraded pairs of each query, drawn at random, as irrelevant."),
    ] = 0,
    held_out: HeldOutOption = 0.2,
    epochs: EpochsOption = 3,
    batch_size: BatchSizeOption = 16,
    accumulate: AccumulateOption = 1,
    learning_rate: LearningRateOption = 2e-5,
    warmup: WarmupOption = 0.1,
    patience: PatienceOption = 2,
    max_tokens: MaxTokensOption = None,
    seed: TrainingSeedOption = 0,
    device: DeviceOption = None,
    precision: PrecisionOption = None,
    checkpoint_steps: CheckpointStepsOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Train a small judge from the grades of other labelers.

    A cross-encoder learns the grades that the labelers gave to the pool's pairs, which costs no call; the judge
    distilled then grades as any judge does. Queries are split: by those that are held out it is decided when training
    ends, and it is measured how well the judge grades. Pairs are changed in training, so that the query's words in a
    passage do not suffice. Killed and run again, it goes on; a folder with another training is refused.
    """
    from quati_pool.commands.train.judge import TrainJudgeSettings, train_judge
    from quati_pool.reporting.answers.train import answer
    from quati_pool.reporting.json_data.train import as_data
    from quati_pool.reporting.tables.train import tables
    from quati_pool.training.fit import FitSettings
    from quati_pool.training.judge_model import JudgeTraining

    fit = FitSettings(
        epochs=epochs,
        batch_size=batch_size,
        accumulate=accumulate,
        learning_rate=learning_rate,
        warmup=warmup,
        patience=patience or None,
        seed=seed,
        **given(device=device, precision=precision and precision.value, checkpoint_steps=checkpoint_steps),
    )
    settings = TrainJudgeSettings(
        tuple(labelers),
        model,
        output,
        JudgeTraining(target.value, augment.value, max_tokens, fit),
        relevant_from,
        held_out,
        negatives,
    )
    with ConsoleListener() as listener:
        report = train_judge(config, settings, listener)
    show(report, answer, tables, as_data, output_format, full)
