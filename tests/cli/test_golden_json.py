"""Every JSON that a command prints or saves is that of ``golden/``: keys and their order, types, nulls and values,
floats to 1e-9. ``python -m tests.cli.make_golden`` writes these files again where a change is meant."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.golden_scenes import SCENES
from tests.cli.make_golden import GOLDEN, Members, capture, golden, parsed, steady

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[getattr(pytest.mark, mark) for mark in SCENES[name].marks]) for name in SCENES]
)
def test_the_json_is_that_of_golden(name: str, tmp_path: Path) -> None:
    scene = SCENES[name]
    found = capture(scene, tmp_path)
    there = {path.relative_to(GOLDEN / name) for path in (GOLDEN / name).rglob("*.json")}
    assert {golden(name, call).relative_to(GOLDEN / name) for call in found} == there
    for call, text in found.items():
        now = steady(parsed(text), tmp_path, scene.varying)
        differences = list(_differences(now, parsed(golden(name, call).read_text(encoding="utf-8")), call))
        assert not differences, "\n".join(differences[:20])
        if not call.startswith("saved-"):
            assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=1) + "\n"


def _differences(found: Any, expected: Any, place: str = "") -> Iterator[str]:
    """A line for each value that is another one."""
    if type(found) is not type(expected):
        yield f"{place}: {found!r}, expected {expected!r}"
    elif isinstance(found, Members):
        names, others = [name for name, _ in found], [name for name, _ in expected]
        if names != others:
            yield f"{place}: the keys {names}, expected {others}"
        else:
            for (name, one), (_, other) in zip(found, expected, strict=True):
                yield from _differences(one, other, f"{place}.{name}")
    elif isinstance(found, list):
        if len(found) != len(expected):
            yield f"{place}: {len(found)} values, expected {len(expected)}"
        for at, (one, other) in enumerate(zip(found, expected, strict=False)):
            yield from _differences(one, other, f"{place}[{at}]")
    elif not (math.isclose(found, expected, rel_tol=1e-9) if isinstance(found, float) else found == expected):
        yield f"{place}: {found!r}, expected {expected!r}"
