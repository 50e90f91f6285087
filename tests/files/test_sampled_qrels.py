"""Sampled qrels: prels and those of xinfAP, as label files."""

from __future__ import annotations

from pathlib import Path

import pytest

from quati_pool.errors import InputError
from quati_pool.files.label_files import detect_label_format, read_label_file
from quati_pool.files.label_files.sampled import prels_row
from quati_pool.files.validation import validate_file
from quati_pool.labels.gathered import LabelFiles
from quati_pool.labels.sources import gather
from quati_pool.project.config import LabelFileConfig

STRATA = "q1 0 d1 1 2\nq1 0 d2 1 0\n# a remark\nq1 0 d3 2 -1\nq2 Q0 d1 far 1\n"
PRELS = "q1 d1 2 1 0.25\nq1 d2 0 2 1\n\nq2 0 1 0 0.0\n"


def written(tmp_path: Path, text: str, name: str = "some.txt") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["x.qrels", "x.txt", "x", "x.tsv"])
@pytest.mark.parametrize(("text", "found"), [(STRATA, "xinfap"), (PRELS, "prels"), ("q1 0 d1 2\n", "qrels")])
def test_the_format_is_that_of_the_columns(tmp_path: Path, name: str, text: str, found: str) -> None:
    assert detect_label_format(written(tmp_path, text, name)) == found


def test_strata(tmp_path: Path) -> None:
    read = read_label_file(written(tmp_path, STRATA), names={"1": None})
    assert (list(read.query_id or ()), list(read.doc_id or ())) == (["q1", "q1", "q1", "q2"], ["d1", "d2", "d3", "d1"])
    assert (read.relevance, read.stratum, read.set_aside) == ([2, 0, None, None], ["1", "1", "2", "far"], 1)


def test_minus_one_is_a_pair_that_was_not_drawn_however_it_is_written(tmp_path: Path) -> None:
    rows = "".join(f"q1 0 d{row} 1 {grade}\n" for row, grade in enumerate(("-1", "-1.0", "-10", "2.0", "-2")))
    assert read_label_file(written(tmp_path, rows)).relevance == [None, None, -10, 2, -2]


def test_queries_of_which_nothing_was_drawn_are_counted(tmp_path: Path) -> None:
    path = written(tmp_path, "q1 0 d1 1 2\nq2 0 d1 1 -1\nq3 0 d1 1 -1\n")
    (warning,) = gather(None, (), LabelFiles({"x": LabelFileConfig(path=str(path))}), any_grade=True).warnings
    assert warning.endswith("; 2 queries have none drawn and no part in means")


def test_prels(tmp_path: Path) -> None:
    read = read_label_file(written(tmp_path, PRELS))
    assert (read.relevance, read.inclusion, read.stratum) == ([2, 0, 1], [0.25, 1.0, 0.0], None)
    assert prels_row("q", "d", 3, 1 / 3) == "q d 3 1 0.3333333333333333"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("q1 0 d1 1 2\nq1 0 d1 2 -1\n", ":2: query_id 'q1' and doc_id 'd1' are already in line 1; expected one row"),
        ("q1 0 d1 1 2\nq1 0 d2 1 x\n", ":2: relevance 'x' is not an integer"),
        ("q1 0 d1 1 2\nq1 0 d2 1\n", ":2: 4 columns; expected 5: query_id 0 doc_id stratum relevance"),
        ("q1 d1 2 1 0.5\nq1 d2 2 1 1.5\n", ":2: probability '1.5' is not one; expected 0, or a number from 1e-09 to 1"),
        ("q1 d1 2 1 nan\nq1 d2 2 1 1\n", ":1: probability 'nan' is not one"),
        ("q1 d1 2 1 1e-320\n", ":1: probability '1e-320' is not one"),
        # Prels whose first document is called 0.
        ("q1 0 3 1 1\nq1 5 2 1 1\n", ":2: column 2 is '5'; expected 0 in xinfAP's qrels (query_id 0 doc_id stratum"),
        ("q1 d1 2 1 0.5\nq1 d2 2 1 nan\n", ":2: probability 'nan' is not one"),
        ("q1 d1 2 1 0.5\nq1 d2 2 1 0,5\n", ":2: probability '0,5' is not one"),
        ("q1 d1 2 1 0.5\nq1 d2 2.5 1 0.5\n", ":2: relevance '2.5' is not an integer"),
        ("q1 d1 2 1 0.5\nq1 d1 2 1 0.5\n", ":2: query_id 'q1' and doc_id 'd1' are already in line 1"),
    ],
)
def test_faults_name_their_line(tmp_path: Path, text: str, fault: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_label_file(path)
    assert str(caught.value).startswith(f"{path}{fault}")


def test_validation(tmp_path: Path) -> None:
    found = validate_file(written(tmp_path, STRATA, "x.qrels"))
    assert (found.ok, found.kind) == (True, "qrels")
    assert (found.summary["pairs"], found.summary["not_drawn"]) == (3, 1)
    found = validate_file(written(tmp_path, PRELS, "y"))
    assert (found.kind, found.summary["pairs"], "not_drawn" in found.summary) == ("qrels", 3, False)


def test_a_sample_goes_with_the_grades(tmp_path: Path) -> None:
    files = {"x": LabelFileConfig(path=str(written(tmp_path, STRATA))), "y": LabelFileConfig(path=str(tmp_path / "y"))}
    written(tmp_path, PRELS, "y")
    gathered = gather(None, (), LabelFiles(files), any_grade=True)
    x, y = gathered.sources
    assert x.qrels.relevance.tolist() == [2, 0, 1]
    assert x.lacking == {"not drawn": 1}
    assert x.qrels.sample is not None
    assert x.qrels.sample.frame.relevance.tolist() == [2, 0, -1, 1]
    assert x.qrels.sample.stratum is not None
    assert x.qrels.sample.stratum.tolist() == [0, 0, 1, 2]
    assert y.qrels.sample is not None
    assert y.qrels.sample.inclusion is not None
    assert y.qrels.sample.inclusion.tolist() == [0.25, 1.0, 0.0]
    assert gathered.warnings[0].startswith(f"{tmp_path / 'some.txt'}: 1 of 4 pairs were not drawn: infAP, xinfAP,")
    assert gathered.warnings[1].startswith(f"{tmp_path / 'y'}: a sample of 3 pairs: statAP estimates from")
