from __future__ import annotations

from pathlib import Path

import pytest

from quati_pool.errors import InputError
from quati_pool.qa_benchmarks.base import MissingDataError
from quati_pool.qa_benchmarks.pira.files import (
    SOURCE,
    columns,
    find,
    has_columns,
    read_questions,
    released,
    require_columns,
    split_files,
)
from tests.qa_benchmarks.pira_rows import row, write_split
from tests.shared_data import shared


def test_the_released_validation_file_is_read_whole() -> None:
    path = shared("pira/validation.csv")
    questions = read_questions(path, "question_pt_origin", "abstract_translated_pt")
    assert len(questions) == 225
    assert len({one.text["en"] for one in questions}) == len({one.text["pt"] for one in questions}) == 181
    assert sum(bool(one.validated["en"]) for one in questions) == 215
    first = questions[0]
    assert (first.query_id, first.line, first.at_label, first.meaningful) == ("A1234", 2, "1.0", "5.0")
    assert first.question["pt"] == "Quais são os métodos de previsão de precipitação no Nordeste?"
    assert first.translated_question == "What are the precipitation forecasting methods in the Northeast?"
    assert first.automatic == {"en": (), "pt": ()}


def test_files_lie_in_the_folder_or_where_the_release_has_them(tmp_path: Path) -> None:
    there = write_split(tmp_path / "Data", "test", [row("A1")])
    here = write_split(tmp_path, "train", [row("A2")])
    (tmp_path / "MCQA").mkdir()
    (tmp_path / "MCQA" / "MCQA-test.csv").touch()
    assert list(split_files(tmp_path).items()) == [("train", here), ("test", there)]
    assert released(tmp_path, "MCQA-test.csv") == tmp_path / "MCQA" / "MCQA-test.csv"
    assert find(tmp_path, "MCQA-train.csv") is None


def test_a_missing_file_is_named_with_where_it_is_released(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"holds no MCQA-test\.csv; .*github\.com/C4AI/Pira"):
        released(tmp_path, "MCQA-test.csv")
    with pytest.raises(MissingDataError, match=r"train\.csv, validation\.csv or test\.csv; .*C4AI/Pira"):
        split_files(tmp_path)
    with pytest.raises(MissingDataError, match=r"there is no such folder; .*C4AI/Pira"):
        split_files(tmp_path / "none")


def test_missing_columns_are_named_with_where_the_file_is_released(tmp_path: Path) -> None:
    path = write_split(tmp_path, "test", [row("A1")], without=("abstract", "at_labels"))
    assert not has_columns(path, "abstract", "id_qa")
    with pytest.raises(InputError, match=r"test\.csv:1: no columns 'abstract', 'at_labels'; .*C4AI/Pira"):
        require_columns(path, "id_qa", "abstract", "at_labels")
    with pytest.raises(InputError, match=rf"test\.csv:1: no column 'abstract'; .*{SOURCE}"):
        read_questions(path, "abstract")
    assert read_questions(path)[0].text == {"en": "", "pt": "pt: Tides rise and fall."}
    no_id = write_split(tmp_path, "train", [row("A1")], without=("id_qa",))
    with pytest.raises(InputError, match="no column 'id_qa'"):
        read_questions(no_id)


def test_quotes_and_line_breaks_in_cells_are_kept_and_values_stripped(tmp_path: Path) -> None:
    text = 'He said "tides, rise"\nand\n\nfall.'
    rows = [row("A1", f"  {text}\n"), row("A2")]
    path = write_split(tmp_path, "test", rows)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    first, second = read_questions(path)
    assert first.text["en"] == text
    # Of the first row, the English text breaks its line four times and the Portuguese one three times.
    assert (first.line, second.line) == (2, 2 + 1 + 4 + 3)


def test_windows_line_ends_read_like_others(tmp_path: Path) -> None:
    rows = [row("A1", "one\r\ntwo"), row("A2")]
    read = read_questions(write_split(tmp_path, "test", rows, newline="\r\n"))
    assert [one.text["en"] for one in read] == ["one\ntwo", "Tides rise and fall."]


def test_the_paraphrases_of_a_train_file_are_read(tmp_path: Path) -> None:
    automatic = {
        "question_AUT_EN_1": "Which?",
        "question_AUT_EN_2": " ",
        "question_AUT_PT_1": "a",
        "question_AUT_PT_2": "b",
    }
    path = write_split(tmp_path, "train", [row("A1", question_pt_paraphase="Qual?", **automatic)])
    (only,) = read_questions(path)
    assert only.automatic == {"en": ("Which?",), "pt": ("a", "b")}
    assert only.paraphrase == {"en": "", "pt": "Qual?"}


def test_an_id_that_stands_twice_is_refused_with_both_lines(tmp_path: Path) -> None:
    path = write_split(tmp_path, "test", [row("A1"), row("A2"), row("A1")])
    with pytest.raises(InputError, match=r"test\.csv:4: id_qa 'A1' is on line 2 already"):
        read_questions(path)


@pytest.mark.parametrize(
    ("replace", "by", "message"),
    [
        pytest.param(b"What of A1?", b"Qu\xe9?", r"test\.csv:2: byte \d+ \(0xE9\) is not UTF-8", id="latin-1"),
        pytest.param(b"What of A1?", b'"What', r"test\.csv:2: is not CSV", id="open quote"),
        pytest.param(b"What of A1?", b"What, of A1?", r"test\.csv:2: 23 columns; expected 22", id="comma"),
        pytest.param(b",A1,", b",A 1,", r"test\.csv:2: id_qa 'A 1' holds white space", id="id"),
        pytest.param(b",A1,", b",,", r"test\.csv:2: id_qa is empty", id="no id"),
        pytest.param(b"at_labels", b"abstract", r"test\.csv:1: column 'abstract' occurs twice", id="column twice"),
    ],
)
def test_a_broken_file_is_refused_by_line(tmp_path: Path, replace: bytes, by: bytes, message: str) -> None:
    path = write_split(tmp_path, "test", [row("A1")])
    path.write_bytes(path.read_bytes().replace(replace, by, 1))
    with pytest.raises(InputError, match=message):
        read_questions(path)


def test_a_file_without_rows_or_header_is_refused(tmp_path: Path) -> None:
    path = write_split(tmp_path, "test", [row("A1")])
    path.write_bytes(path.read_bytes().split(b"\n")[0] + b"\n")
    with pytest.raises(InputError, match=r"holds no questions; copy it again from .*C4AI/Pira"):
        read_questions(path)
    path.write_bytes(b"")
    with pytest.raises(InputError, match="is empty; copy it again"):
        columns(path)
    path.write_bytes(b'"id_qa')
    with pytest.raises(InputError, match="is not CSV"):
        columns(path)
    path.write_bytes(b"\n\n" + b",".join(name.encode() for name in ["id_qa", "abstract"]) + b"\n")
    assert columns(path) == ("id_qa", "abstract")
