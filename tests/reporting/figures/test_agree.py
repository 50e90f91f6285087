"""Which confusion matrices are drawn where labelers are many."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from quati_pool.commands.agree import AgreeReport, agree
from quati_pool.labels.gathered import LabelFiles
from quati_pool.project.config import LabelFileConfig
from quati_pool.project.events import Listener
from quati_pool.reporting.figures.agree import MOST_CONFUSIONS, drawn, not_drawn, pictures, write


@dataclass
class Heard(Listener):
    lines: list[str]

    def say(self, line: str) -> None:
        self.lines.append(line)


def report(folder: Path, labelers: int, people: tuple[str, ...] = ()) -> AgreeReport:
    generator = np.random.default_rng(0)
    files = {}
    for n in range(labelers):
        path = folder / f"L{n}.qrels"
        rows = [f"q{q} 0 d{d} {grade}" for q in range(2) for d, grade in enumerate(generator.integers(0, 4, 5))]
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")
        files[f"L{n}"] = LabelFileConfig(path=str(path))
    return agree(folder / "pool.yaml", files=LabelFiles(files), people=people, draws=0)


def test_six_labelers_have_all_of_their_fifteen_matrices_drawn(tmp_path: Path) -> None:
    found = report(tmp_path, 6, ("L5",))
    assert drawn(found) == found.pairs
    assert len(found.pairs) == MOST_CONFUSIONS == 15
    assert not_drawn(found) is None


def test_of_many_labelers_those_with_people_are_drawn_first(tmp_path: Path) -> None:
    found = report(tmp_path, 8, ("L6", "L7"))
    # 13 pairs of 28 are with L6 or L7; then come the first others.
    with_people = [(pair.a, pair.b) for pair in found.pairs if {pair.a, pair.b} & {"L6", "L7"}]
    assert len(with_people) == 13
    assert [(pair.a, pair.b) for pair in drawn(found)] == [*with_people, ("L0", "L1"), ("L0", "L2")]
    assert sum(picture.stem.startswith("confusion--") for picture in pictures(found)) == 15


def test_what_is_not_drawn_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quati_pool.reporting.figures.plots.Drawing.render_all", lambda self: {"svg": b"a sketch"})
    heard = Heard([])
    write(report(tmp_path, 7), tmp_path / "out", heard)
    assert heard.lines[0] == (
        "agreement: 15 of 21 confusion matrices are drawn, those with people first; the tables hold all"
    )
    assert len(list((tmp_path / "out").glob("confusion--*.svg"))) == 15
    assert (tmp_path / "out" / "agreement.md").read_text(encoding="utf-8").count("(rows)") == 21


def test_pairs_are_said_to_be_matched_by_queries_and_passages(tmp_path: Path) -> None:
    found = report(tmp_path, 2)
    assert found.gathered.matched_by == "query_id and doc_id"
    for name in ("L0", "L1"):
        text = "query\tpassage\tscore\nWhy?\tsome words\t1\n"
        (tmp_path / f"{name}.tsv").write_text(text, encoding="utf-8")
    columns = {"query": "query", "text": "passage", "relevance": "score"}
    files = {n: LabelFileConfig(path=str(tmp_path / f"{n}.tsv"), columns=columns) for n in ("L0", "L1")}
    found = agree(tmp_path / "pool.yaml", files=LabelFiles(files), draws=0)
    assert found.gathered.matched_by == "query text and passage text"
