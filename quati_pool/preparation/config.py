"""Reads and checks ``prepare.yaml``, a list of steps. Every error names file, line and key."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from quati_pool.errors import ConfigError, InputError
from quati_pool.files.yaml_file import Model, YamlFile
from quati_pool.preparation.base import (
    ComponentEnvironment,
    Cutter,
    Filter,
    GlobalFilter,
    Parameters,
    Sink,
    Source,
    Step,
)
from quati_pool.registry import PREPARATIONS, nearest

_KINDS = (Source, Filter, Cutter, GlobalFilter, Sink)


class StepConfig(Model):
    """One step: its name in the registry, its label in reports, and its line in the file."""

    step: str
    label: str
    line: int
    parameters: Any = None


class PrepareConfig(Model):
    """The content of a ``prepare.yaml``: the steps, in order, that prepare a corpus from pages."""

    name: str
    seed: Annotated[int, Field(ge=0)] = 0
    steps: list[StepConfig]
    path: Path

    @property
    def folder(self) -> Path:
        """The folder of ``prepare.yaml``, to which its paths are relative."""
        return self.path.parent

    def built_steps(self) -> list[Step]:
        """The step objects, checked. Raises MissingExtraError, and InputError for parameters that cannot work."""
        environment = ComponentEnvironment(self.folder, self.seed)
        steps = []
        written: set[str] = set()
        for config in self.steps:
            kind: type[Step] = PREPARATIONS.get(config.step)
            kind.require()
            step = kind(config.parameters, environment)
            try:
                step.check()
            except ConfigError as error:
                raise InputError(self.path, config.line, str(error)) from error
            if isinstance(step, Sink):
                folder = os.path.normpath(self.folder / step.folder)
                if folder in written:
                    raise InputError(
                        self.path, config.line, f"two steps write to {step.folder}; give each a folder of its own"
                    )
                written.add(folder)
            steps.append(step)
        return steps


def load_prepare_config(path: Path) -> PrepareConfig:
    """Reads and checks a ``prepare.yaml``.

    Raises InputError, with the line at fault, for a file that does not exist, is not YAML, or has invalid content.
    """
    reader = YamlFile(path, missing="name one with -c; data/quati-paper/prepare.yaml shows an example")
    data = reader.data
    if not isinstance(data, dict):
        raise InputError(path, 1, "holds no settings; expected keys such as name, seed, steps")
    reader.refuse_unknown((), data, set(PrepareConfig.model_fields) - {"path"})
    steps = data.get("steps")
    if not isinstance(steps, list) or not steps:
        raise reader.error(("steps",), "expected a list of steps, such as  - read: {path: pages/*.jsonl.gz}")
    if isinstance(data.get("name"), str):
        # The name becomes part of the names of report files.
        reader.text_key(("name",), data["name"])
    read = [_step(reader, ("steps", place), item) for place, item in enumerate(steps)]
    _check_order(reader, [name for name, _ in read])
    labels = _labels([name for name, _ in read])
    configs = [
        StepConfig(step=name, label=label, line=reader.line(("steps", place)), parameters=parameters)
        for place, ((name, parameters), label) in enumerate(zip(read, labels, strict=True))
    ]
    return reader.model((), PrepareConfig, {**data, "steps": configs, "path": path})


def _step(reader: YamlFile, place: tuple[Any, ...], item: Any) -> tuple[str, Parameters]:
    if isinstance(item, str):
        item = {item: {}}
    if not isinstance(item, dict) or len(item) != 1:
        raise reader.error(place, "expected one step, such as  - url: {drop_tlds: [pt]}  or  - duplicates")
    ((name, parameters),) = item.items()
    if not isinstance(name, str) or name not in PREPARATIONS.names():
        raise reader.error(place, f"there is no step {name!r}; {nearest(str(name), PREPARATIONS.names())}")
    try:
        kind = PREPARATIONS.get(name)
    except ConfigError as error:
        raise reader.error(place, str(error)) from None
    if not isinstance(kind, type) or not issubclass(kind, _KINDS):
        known = ", ".join(each.__name__ for each in _KINDS)
        raise reader.error(place, f"{name} is not a step; its class must inherit from one of {known}")
    model: type[Parameters] = kind.Parameters
    return name, reader.model((*place, name), model, {} if parameters is None else parameters)


def _check_order(reader: YamlFile, names: list[str]) -> None:
    kinds = [PREPARATIONS.get(name) for name in names]
    for place, kind in enumerate(kinds):
        if issubclass(kind, Source) is not (place == 0):
            fault = "reads, but only the first step may: drop it" if place else "reads nothing: put  - read: …  first"
            raise reader.error(("steps", place), f"{names[place]} {fault}")
    cutters = [place for place, kind in enumerate(kinds) if issubclass(kind, Cutter)]
    if len(cutters) > 1:
        raise reader.error(("steps", cutters[1]), f"{names[cutters[1]]} cuts what is already cut: keep one of them")
    if not issubclass(kinds[-1], Sink):
        raise reader.error(
            ("steps", len(names) - 1), f"{names[-1]} is last, and nothing is written: end with  - write: …"
        )


def _labels(names: list[str]) -> list[str]:
    """The names, numbered from the second occurrence on: quality, quality-2."""
    return [
        f"{name}-{names[: place + 1].count(name)}" if name in names[:place] else name
        for place, name in enumerate(names)
    ]
