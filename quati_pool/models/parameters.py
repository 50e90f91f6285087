"""The parameters of neural components, and the devices and batch sizes that follow from them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import Field

from quati_pool.errors import ConfigError
from quati_pool.files.yaml_file import Model


class ModelParameters(Model):
    """The parameters that every component with a neural model has."""

    model: Annotated[str, Field(min_length=1, description="folder, or name on the Hugging Face hub")]
    revision: Annotated[str | None, Field(description="branch, tag or commit on the hub; main by default")] = None
    device: Annotated[
        str | list[str] | None,
        Field(description="cpu, cuda, cuda:1 …, or a list of them; by default a GPU where there is one"),
    ] = None
    batch_tokens: Annotated[
        int, Field(ge=1, description="tokens of one batch, padding included; on a CPU 2048 unless it is given")
    ] = 16384
    compute: Annotated[Literal["fp32", "fp16", "bf16"], Field(description="precision the model computes in")] = "fp32"

    def for_passages(self) -> Self:
        """The parameters of the model that reads passages, as if it were the only one."""
        return self

    def each_model(self) -> Mapping[str, ModelParameters]:
        """The parameters of each model, as if it were the only one, by the key that names it."""
        return {"model": self}


_CPU_TOKENS = 2048


def devices_of(parameters: ModelParameters) -> list[str]:
    """The devices to compute on, at least one.

    Raises ConfigError for a device that this machine does not have.
    """
    import torch

    asked = parameters.device
    if asked is None or asked == []:
        if torch.cuda.is_available():
            return ["cuda"]
        return ["mps"] if torch.backends.mps.is_available() else ["cpu"]
    names = [asked] if isinstance(asked, str) else asked
    there = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
    for name in names:
        kind = re.fullmatch(r"(cpu|mps|cuda)(?::(\d+))?", name)
        if kind is None:
            raise ConfigError(f"there is no kind of device {name!r}; use cpu, cuda, cuda:1 …")
        if int(kind[2] or 0) >= there[kind[1]]:
            raise ConfigError(f"this machine has no device {name!r}; drop device:, or use cpu")
    return names


def batch_tokens_of(parameters: ModelParameters, devices: Sequence[str]) -> int:
    """Tokens per batch. Unless the user sets a number, it is lower on a CPU than on a GPU, because larger batches do
    not fit into the CPU's caches (MiniLM on one core: batches of 2,048 tokens take half the time of 16,384)."""
    if "batch_tokens" in parameters.model_fields_set or not devices[0].startswith("cpu"):
        return parameters.batch_tokens
    return min(parameters.batch_tokens, _CPU_TOKENS)
