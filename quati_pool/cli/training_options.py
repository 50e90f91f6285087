"""The options that all commands of ``train`` share; with the value None, what is trained has its own default."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class Precision(StrEnum):
    fp32 = "fp32"
    bf16 = "bf16"
    fp16 = "fp16"


def rate(value: float | None) -> float | None:
    """A learning rate as it was given; raises BadParameter for one that cannot be learned with."""
    if value is not None and not (math.isfinite(value) and value > 0):
        raise typer.BadParameter(f"{value} is no learning rate; expected a positive number, such as 2e-5")
    return value


BaseModelOption = Annotated[
    str, typer.Option("--model", metavar="PATH|NAME", help="The model to begin from: a folder, or a name on the hub.")
]
ModelFolderOption = Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the model goes.")]
TrainingSeedOption = Annotated[
    int, typer.Option("--seed", min=0, max=2**32 - 1, help="Seed of everything that is drawn.")
]
DeviceOption = Annotated[
    str | None, typer.Option("--device", help="cpu, cuda or mps; by default a GPU where there is one.")
]
PrecisionOption = Annotated[Precision | None, typer.Option("--precision", help="bf16 or fp16 on a GPU.  [fp32]")]
CheckpointStepsOption = Annotated[
    int | None, typer.Option("--checkpoint-steps", min=1, help="Steps between two saved states of training.  [200]")
]


def given(**options: Any) -> dict[str, Any]:
    """The options that have a value."""
    return {name: value for name, value in options.items() if value is not None}
