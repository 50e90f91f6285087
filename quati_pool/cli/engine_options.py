"""The options that name an engine, as commands share them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class EngineName(StrEnum):
    local = "local"
    ray = "ray"


AddressOption = Annotated[
    str | None,
    typer.Option("--address", help="A Ray cluster that runs already; else one is started on this machine."),
]


def check_address(engine: EngineName | None, address: str | None) -> None:
    if address is not None and engine is not EngineName.ray:
        raise typer.BadParameter("is that of a Ray cluster; add --engine ray", param_hint="--address")
