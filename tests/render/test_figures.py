"""Figures hold the numbers and names they are given, in the same bytes every time."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from quati_pool.render.figures import heat_map

VALUES = np.array([[1.0, 0.25, np.nan], [0.125, 1.0, 0.6], [0.0, 0.875, 1.0]])
NAMES = ["bm25", "x_y$z$", "rrf<&>"]


def texts(path: Path) -> list[str]:
    """All text of an SVG, in order."""
    return [element.text or "" for element in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_same_bytes_twice(tmp_path: Path, suffix: str) -> None:
    one, other = tmp_path / f"one.{suffix}", tmp_path / f"other.{suffix}"
    for path in (one, other):
        heat_map(path, VALUES, NAMES, "Overlap", "share")
    assert one.read_bytes() == other.read_bytes()
    changed = tmp_path / f"changed.{suffix}"
    heat_map(changed, VALUES.T, NAMES, "Overlap", "share")
    assert changed.read_bytes() != one.read_bytes()


def test_numbers_and_names_are_shown_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "map.svg"
    heat_map(path, VALUES, NAMES, "Overlap", "share of pairs")
    shown = texts(path)
    cells = [text for text in shown if text == "–" or (len(text) == 4 and text[1] == ".")]
    # In reading order; 0.125 and 0.875 as Python rounds them. The scale shows 0.0 to 1.0.
    assert cells == ["1.00", "0.25", "–", "0.12", "1.00", "0.60", "0.00", "0.88", "1.00"]
    for name in NAMES:
        assert shown.count(name) == 2
    assert {"Overlap", "share of pairs"} <= set(shown)


@pytest.mark.parametrize("suffix", ["png", "svg"])
@pytest.mark.parametrize("value", [1.0, np.nan])
def test_a_single_system(tmp_path: Path, suffix: str, value: float) -> None:
    path = tmp_path / f"map.{suffix}"
    heat_map(path, np.array([[value]]), ["alone"], "Overlap", "share")
    head = path.read_bytes()[:8]
    assert head == b"\x89PNG\r\n\x1a\n" if suffix == "png" else head.startswith(b"<?xml")


def test_twenty_systems_are_larger_than_two(tmp_path: Path) -> None:
    sizes = []
    for count in (2, 20):
        path = tmp_path / f"{count}.svg"
        heat_map(path, np.eye(count), [f"system-{n}" for n in range(count)], "Overlap", "share")
        sizes.append(float(ET.parse(path).getroot().attrib["width"].removesuffix("pt")))
    assert sizes[1] > 2 * sizes[0]
