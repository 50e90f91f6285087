"""Reads the parts of a written explorer as its pages do, without running them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def part(explorer: Path, name: str) -> list[Any]:
    """The arguments that a part passes to its function."""
    text = (explorer / "data" / f"{name}.js").read_text(encoding="utf-8")
    function, found, rest = text.partition("(")
    assert found
    assert function == f"explorerData.{name.partition('-')[0]}"
    assert rest.endswith(");\n")
    arguments: list[Any] = json.loads(f"[{rest[:-3]}]")
    return arguments


def collection(explorer: Path) -> dict[str, Any]:
    [found] = part(explorer, "collection")
    return dict(found)


def query(explorer: Path, number: int) -> dict[str, Any]:
    same, found = part(explorer, f"query-{number}")
    assert same == number
    return dict(found)


def grades(found: dict[str, Any], labeler: str) -> list[int | str]:
    """A labeler's grade of each pair, or the mark of what is there instead."""
    number = [one["name"] for one in found["labelers"]].index(labeler)
    scale = [grade for grade, _ in found["grades"]]
    return [mark if mark in "-!?" else scale[int(mark, 36)] for mark in found["labels"][number]]
