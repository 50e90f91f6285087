"""The files of estimate, and its figure: estimate, people only and judge alone of each system."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from quati_pool.estimation.results import Figure
from quati_pool.files.artifacts import stale
from quati_pool.project.events import Listener
from quati_pool.reporting.figures.estimate import pictures, write
from quati_pool.reporting.figures.plots import estimates
from tests.reporting.estimate_reports import estimate, four, report, system


@pytest.fixture
def sketched(monkeypatch: pytest.MonkeyPatch) -> None:
    sketches = {"svg": b"a sketch", "png": b"a sketch"}
    monkeypatch.setattr("quati_pool.reporting.figures.plots.Drawing.render_all", lambda self: sketches)


def written(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.startswith(".")}


@pytest.mark.usefixtures("sketched")
def test_tables_data_and_figures_are_written_with_sidecars(tmp_path: Path) -> None:
    made = report(four(measure="AP"), four("queries-like-these", measure="AP"))
    write(made, tmp_path, Listener())
    tables = ["estimate.md", "estimate.tex", "estimate.json", "estimate-systems.csv", "estimate-differences.csv"]
    figures = [
        f"estimate--AP--{one}.{suffix}" for one in ("these-queries", "queries-like-these") for suffix in ("svg", "png")
    ]
    files = {*tables, *figures}
    assert written(tmp_path) == files | {f"{name}.meta.json" for name in files}
    assert json.loads((tmp_path / "estimate.json").read_text(encoding="utf-8"))["measure"] == "AP"
    assert made.statement(made.estimates[0]) in (tmp_path / "estimate.md").read_text(encoding="utf-8")
    assert all("no sidecar" not in str(stale(tmp_path / name, {})) for name in files)


@pytest.mark.usefixtures("sketched")
def test_the_same_estimates_are_not_written_again(tmp_path: Path) -> None:
    lines: list[str] = []

    class Heard(Listener):
        def say(self, line: str) -> None:
            lines.append(line)

    for _ in range(2):
        write(report(four()), tmp_path, Heard())
    assert lines[1] == f"estimate: {tmp_path} is up to date"


def test_without_a_folder_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(report(four()), None, Listener())
    assert written(tmp_path) == set()


def test_the_picture_is_described_in_words() -> None:
    (picture,) = pictures(report(four()))
    assert picture.caption == (
        "nDCG@10 under the grades of nist, for these 53 queries: estimates, each with its 95 % interval. Lighter: from "
        "people's grades alone. Hollow: under the grades of llm alone, which is no estimate of people's."
    )
    assert "e5 0.6120 (0.5720 to 0.6520), rrf" in picture.alt


@pytest.mark.slow
def test_the_figure_names_systems_and_what_its_marks_are() -> None:
    one = system("x_y$z$", 0.5, people_only=Figure(0.4, None, None), judge_only=math.nan)
    (picture,) = pictures(report(estimate([system("e5", 0.6), one])))
    svg = ET.fromstring(picture.drawing.render("svg"))
    texts = [element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert {"e5", "x_y$z$", "0.6000", "0.5000", "estimate", "people only", "judge alone"} <= set(texts)


@pytest.mark.slow
def test_marks_are_in_the_row_of_their_system() -> None:
    people = ([0.4, 0.3], [0.3, None], [0.5, None])
    drawing = estimates(["a", "b"], [0.6, 0.5], ([0.5, 0.4], [0.7, 0.6]), people, [0.9, 0.8], "title", "AP")
    lines = [line.get_xydata() for line in drawing.figure().axes[0].get_lines()]
    ours, theirs, judge = (np.asarray(points, dtype=float) for points in lines)
    assert ours.tolist() == [[0.6, 0], [0.5, 1]]
    assert judge.tolist() == [[0.9, 0], [0.8, 1]]
    assert theirs[:, 0].tolist() == [0.4, 0.3]
    below = theirs[:, 1] - [0, 1]
    assert (below > 0).all()
    assert (below < 0.5).all()
