"""The funnel in tables, data and a picture, made of counts by hand."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from quati_pool.commands.prepare.pipeline_plan import pipeline
from quati_pool.commands.prepare.prepare import Funnel, Written
from quati_pool.commands.prepare.step_counts import StepCount
from quati_pool.preparation.config import load_prepare_config
from quati_pool.reporting.figures.prepare import picture
from quati_pool.reporting.json_data.prepare import as_data
from quati_pool.reporting.tables import prepare

CONFIG = """\
name: made
steps:
  - read: {path: pages.jsonl}
  - url: {drop_tlds: [pt]}
  - segment
  - write: {to: all}
"""


def funnel(folder: Path, inputs: int = 1) -> Funnel:
    """Four lines of which three are pages; one goes by its URL, none is left of the others in the end."""
    (folder / "prepare.yaml").write_text(CONFIG)
    config = load_prepare_config(folder / "prepare.yaml")
    counts = [
        StepCount(4, 4, 3000, 3, 3, 3000, dropped={"not JSON": 1}),
        StepCount(3, 3, 3000, 2, 2, 1500, dropped={"top-level domain": 1}),
        StepCount(2, 2, 1500, 0, 0, 0, dropped={"no text": 2}),
        StepCount(),
        StepCount(),
    ]
    files = {f"{number}.jsonl": "ab" for number in range(inputs)}
    return Funnel(config, pipeline(config), counts, [Written("write", Path("all"), 1, 0)], ["a note"], [], files, "key")


def test_tables_hold_each_step_and_each_reason_that_dropped_something(tmp_path: Path) -> None:
    steps, reasons, corpora = prepare.tables(funnel(tmp_path))
    assert steps.rows == [
        ["read", "pages", 4, 1, 3, 3, 3000, 1.0],
        ["url", "pages", 3, 1, 2, 2, 1500, 0.5],
        ["segment", "pages", 2, 2, 0, 0, 0, 0.0],
        ["repeated-ids", "passages", 0, 0, 0, 0, 0, 0.0],
        ["write", "passages", 0, 0, 0, 0, 0, 0.0],
    ]
    assert reasons.rows == [
        ["read", "not JSON", 1, 0.25],
        ["url", "top-level domain", 1, 1 / 3],
        ["segment", "no text", 2, 1.0],
    ]
    assert corpora.rows == [["write", "all", 1, 0]]


def test_data_names_every_reason_and_of_many_files_only_their_number(tmp_path: Path) -> None:
    data = as_data(funnel(tmp_path))
    assert data["steps"][1]["dropped"]["top-level domain"] == 1
    assert set(data["steps"][1]["dropped"]) == set(funnel(tmp_path).links[1].step.reasons)
    assert (data["notes"], data["input_files"], data["inputs"]) == (["a note"], 1, {"0.jsonl": "ab"})
    many = as_data(funnel(tmp_path, inputs=1001))
    assert (many["input_files"], many["inputs"]) == (1001, {})


def test_the_picture_says_what_rows_are_after_each_step(tmp_path: Path) -> None:
    svg = ET.parse(io.BytesIO(picture(funnel(tmp_path)).render("svg")))
    shown = [element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert {"3 pages", "2 pages", "0 passages", "thousands of characters"} <= set(shown)


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("too few words", "too-few-words"),
        ("top 2-gram", "top-2-gram"),
        ("no URL", "no-url"),
        ("Größe 日本!", "größe-日本"),
    ],
)
def test_a_reason_is_asked_for_in_one_word(reason: str, expected: str) -> None:
    assert prepare.slug(reason) == expected
