"""Predictions files: every fault is named, nothing is dropped silently."""

from __future__ import annotations

import json

import pytest

from quati_pool.commands.bench.predictions import read_predictions
from quati_pool.errors import InputError
from quati_pool.qa_benchmarks.base import Case
from tests.commands.bench.small_benchmark import CapitalsTaskRun

TASK_RUN = CapitalsTaskRun(Case("validation", "en"))
FULL = {"fr": "Paris", "pe": "Lima", "jp": "Kyoto", "gh": "Accra"}


def test_answers_come_in_the_order_of_the_questions(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(dict(reversed(FULL.items()))), encoding="utf-8")
    answers, missing = read_predictions(path, TASK_RUN)
    assert list(answers.items()) == list(FULL.items())
    assert missing == []


def test_a_byte_order_mark_is_stripped(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text("\ufeff" + json.dumps(FULL), encoding="utf-8")
    assert read_predictions(path, TASK_RUN) == (FULL, [])


def test_missing_ids_count_as_empty_and_are_told(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text('{"pe": "Lima"}', encoding="utf-8")
    assert read_predictions(path, TASK_RUN) == ({"fr": "", "pe": "Lima", "jp": "", "gh": ""}, ["fr", "jp", "gh"])


def test_predictions_for_dropped_questions_are_left_out(tmp_path):
    class Fewer(CapitalsTaskRun):
        dropped = frozenset({"cl"})

    path = tmp_path / "mine.json"
    path.write_text(json.dumps({**FULL, "cl": "Santiago"}), encoding="utf-8")
    assert read_predictions(path, Fewer(Case("validation", "en"))) == (FULL, [])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"fr": "Paris", "xx": "?", "yy": "?"}',
            ": predicts for 2 unknown ids ('xx', 'yy'); expected ids of the 4 questions of validation en",
        ),
        ('{"fr": 3}', ": 'fr': 3 is not a string; expected the capital's name"),
        ('{"fr": "Paris", "fr": "Lyon"}', ": 'fr' occurs twice; expected {id: answer}"),
        ('["Paris"]', ":1: is not a JSON object; expected {id: answer}"),
        ('{"fr":\n "Paris",\n}', None),
        ("", ":1: is not JSON (Expecting value); expected {id: answer}"),
    ],
    ids=["unknown ids", "another form", "twice", "a list", "broken", "empty"],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, content, message):
    path = tmp_path / "mine.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_predictions(path, TASK_RUN)
    if message is None:
        assert str(caught.value).startswith(f"{path}:3: is not JSON (")
    else:
        assert str(caught.value) == f"{path}{message}"


def test_many_unknown_ids_are_not_all_listed(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({f"x{i:03d}": "" for i in range(500)}), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_predictions(path, TASK_RUN)
    assert "predicts for 500 unknown ids ('x000', 'x001'" in str(caught.value)
    assert "'x009', …)" in str(caught.value)
    assert "x010" not in str(caught.value)


def test_latin_1_is_refused_with_the_byte(tmp_path):
    path = tmp_path / "mine.json"
    path.write_bytes('{"fr": "São"}'.encode("latin-1"))
    with pytest.raises(InputError, match=r"mine\.json: is not UTF-8 \(byte 10\); save it as UTF-8"):
        read_predictions(path, TASK_RUN)


def test_no_file_is_one_line(tmp_path):
    with pytest.raises(InputError, match="there is no such file; check the path"):
        read_predictions(tmp_path / "none.json", TASK_RUN)
