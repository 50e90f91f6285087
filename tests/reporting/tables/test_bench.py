"""What bench prints and saves."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from quati_pool.commands.bench.bench import BenchOptions, BenchResult
from quati_pool.commands.bench.retrieval import Curve
from quati_pool.project.events import Listener
from quati_pool.qa_benchmarks.base import Case, Row
from quati_pool.reporting.figures.bench import pictures, write
from quati_pool.reporting.formats.tables import Table, to_text
from quati_pool.reporting.json_data.bench import as_data
from quati_pool.reporting.tables.bench import MOST_MEASURES, WIDTH, as_rows, success_rows, tables
from tests.commands.bench.small_benchmark import Small

EN, PT = Case("validation", "en"), Case("validation", "pt")
ONLY = Case("test", "en", "capitals-only")


def result(*rows: Row, **more) -> BenchResult:
    made = BenchResult(
        Small, Small.tasks["capitals"], Path("data"), BenchOptions(Path("work"), seed=7), rows=list(rows)
    )
    return replace(made, **more)


def curve(case: Case = PT, queries: int = 100) -> Curve:
    k = np.arange(1, queries + 1)
    return Curve(case, {"bm25s": np.minimum(1, 0.5 + k / 200), "lsa": k / 100}, k / 200, queries=50)


def headings(table: Table) -> list[str]:
    return [column.heading for column in table.columns]


def shown(*rows: Row, **more) -> str:
    return "\n".join(map(to_text, tables(result(*rows, **more))))


class Lines(Listener):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


# ---- tables


def test_rows_of_the_same_measures_share_a_table_and_others_have_their_own() -> None:
    rows = [
        Row("human", EN, 4, {"F1": 50.0, "EM": 25.0}),
        Row("ranks", EN, 4, {"mean rank": 2.5}),
        Row("gpt", PT, 4, {"F1": 75.0, "EM": 0.0}),
        Row("random", EN, 4, {"F1": 1.0, "EM": 0.0}, extra={"verdict": "holds"}),
        Row("tf-idf", EN, 4, {"F1": 1.0, "EM": 0.0}, extra={"verdict": "fails"}),
    ]
    found = tables(result(*rows))
    assert [[row[0] for row in table.rows] for table in found] == [["human", "gpt"], ["ranks"], ["random", "tf-idf"]]
    assert [table.title for table in found] == [
        "Capitals: capitals",
        "Capitals: capitals, ranks",
        "Capitals: capitals, F1, EM",
    ]
    assert headings(found[2]) == ["System", "Language", "Split", "n", "F1", "EM", "Verdict"]


def test_setting_and_unanswered_have_columns_only_where_there_are_any() -> None:
    [plain] = tables(result(Row("a", EN, 4, {"F1": 1.0})))
    assert headings(plain) == ["System", "Language", "Split", "n", "F1"]
    [told] = tables(result(Row("a", EN, 4, {"F1": 1.0}), Row("a", ONLY, 3, {"F1": 1.0}, unanswered=1)))
    assert headings(told) == ["System", "Language", "Split", "Setting", "n", "Unanswered", "F1"]
    assert [list(row) for row in told.rows] == [
        ["a", "en", "validation", "", 4, 0, 1.0],
        ["a", "en", "test", "capitals-only", 3, 1, 1.0],
    ]


def test_percent_has_two_decimals_and_a_share_four_and_a_count_none() -> None:
    measures = {"accuracy": 200 / 3, "success@5": 2 / 3, "nDCG@10": 1.0, "overlap": 0.5, "median rank": 1, "mean": 2.5}
    [table] = tables(result(Row("a", EN, 1234, measures)))
    assert table.shown() == [["a", "en", "validation", "1,234", "66.67", "0.6667", "1.0000", "0.5000", "1", "2.50"]]
    assert table.note == "accuracy: in percent."


def test_the_first_measures_are_printed_and_csv_and_json_hold_all() -> None:
    names = [f"P@{place}" for place in range(MOST_MEASURES + 4)]
    made = result(Row("a", EN, 4, {name: float(place) for place, name in enumerate(names)}))
    [table] = tables(made)
    assert headings(table)[4:] == names[:MOST_MEASURES]
    assert f"The first {MOST_MEASURES} of {len(names)} measures; CSV and JSON hold all." in table.note
    assert list(as_data(made)["rows"][0]["measures"]) == names
    assert [row["measure"] for row in csv.DictReader(io.StringIO(as_rows(made)))] == names
    [whole] = tables(made, None, None)
    assert headings(whole)[4:] == names


def test_an_undefined_measure_is_a_dash_with_its_reason_below() -> None:
    why = "no question has an answer"
    rows = [Row(name, EN, 0, {"F1": None, "EM": None}, {"F1": why, "EM": why}) for name in ("a", "b")]
    [table] = tables(result(*rows, Row("c", EN, 1, {"F1": 0.0, "EM": None}, {"EM": "it has none"})))
    assert [row[-2:] for row in table.shown()] == [["–", "–"], ["–", "–"], ["0.00", "–"]]
    assert "– F1 of a, F1 of b, EM of a, EM of b: no question has an answer." in table.note
    assert "– EM of c: it has none." in table.note


def test_what_unanswered_questions_leave_open_is_a_table_of_its_own() -> None:
    bounded = Row("a", EN, 3, {"accuracy": 100 / 3}, unanswered=1, bounds={"accuracy": (25.0, 50.0)})
    measured, bounds = tables(result(bounded, Row("b", EN, 4, {"accuracy": 75.0})))
    assert "n are the questions that were answered" in measured.note
    assert headings(bounds) == ["System", "Language", "Split", "Unanswered", "accuracy"]
    assert bounds.shown() == [["a", "en", "validation", "1", "25.00 to 50.00"]]


def test_what_is_undefined_in_every_row_names_no_system_and_what_is_in_some_cases_names_these() -> None:
    why = "the runs end at rank 5"
    rows = [Row(name, EN, 1, {"nDCG@10": None}, {"nDCG@10": why}) for name in ("a", "b")]
    [table] = tables(result(*rows))
    assert table.note == f"– nDCG@10: {why}."
    other = Row("a", PT, 1, {"nDCG@10": 1.0}, notes=("few questions",))
    [table] = tables(result(rows[0], other))
    assert table.note == f"– nDCG@10 of a (en, validation): {why}. a (pt, validation): few questions."


def test_a_note_of_several_systems_stands_once() -> None:
    rows = [Row(name, EN, 4, {"F1": 1.0}, notes=("few questions",)) for name in ("a", "b")]
    [table] = tables(result(*rows))
    assert table.note == "In percent. a, b: few questions."


def test_further_keys_are_columns_and_those_that_say_nothing_of_a_row_are_empty() -> None:
    nothing = {"expected": None, "difference": None, "interval": None, "fails": None}
    told = {"expected": "not below original", "difference": -1.25, "interval": [-2.0, 0.5], "fails": False}
    vague = {"expected": "not above chance", "difference": None, "interval": None, "fails": None}
    why = {"difference": "every answer is empty"}
    [table] = tables(
        result(
            Row("a", EN, 9, {"accuracy": 50.0}, extra=nothing),
            Row("a", EN, 9, {"accuracy": 49.0}, extra=told),
            Row("a", EN, 9, {"accuracy": 0.0}, why, extra=vague),
        )
    )
    assert headings(table)[5:] == ["Expected", "Difference", "Interval", "Fails"]
    assert [row[5:] for row in table.shown()] == [
        ["", "", "", ""],
        ["not below original", "-1.25", "-2.00 to 0.50", "no"],
        ["not above chance", "–", "", ""],
    ]
    assert "– difference of a (en, validation): every answer is empty." in table.note


def test_a_further_key_that_holds_names_is_a_table() -> None:
    verdicts = {"monotonicity": "holds", "sanity": "fails"}
    rows = [Row("a", EN, 9, {"accuracy": 50.0}, extra={"expectations": verdicts}), Row("b", EN, 9, {"accuracy": 50.0})]
    measured, nested = tables(result(*rows))
    assert len(measured.rows) == 2
    assert (nested.title, headings(nested)) == (
        "Expectations",
        ["System", "Language", "Split", "Monotonicity", "Sanity"],
    )
    assert nested.rows == [["a", "en", "validation", "holds", "fails"]]


def test_perturbed_questions_are_columns_of_the_first_table_as_in_the_paper() -> None:
    def row(system: str, setting: str, accuracy: float | None) -> Row:
        return Row(system, Case("test", "en", setting), 9, {"accuracy": accuracy}, extra={"expectation": None})

    settings = ("original", "perturbed-incorrect-option", "no-question", "no-context")
    rows = [row("a", f"high/{name}", place / 8) for place, name in enumerate(settings)]
    rows += [row("a", f"middle/{name}", 50.0) for name in settings[:3]]
    rows += [row("b", "high/original", None)]
    first = tables(result(*rows))[0]
    assert headings(first) == ["System", "Setting", "Original", "Perturbed", "No question", "No context"]
    assert first.rows == [
        ["a", "high", 0.0, 0.125, 0.25, 0.375],
        ["a", "middle", 50.0, 50.0, 50.0, ""],
        ["b", "high", None, "", "", ""],
    ]
    assert first.note == "In percent. Empty where the perturbation does not apply."
    alone = tables(result(*rows[:4]))[0]
    assert (alone.title, headings(alone)[:2]) == (
        "Capitals: accuracy on perturbed questions (en, test, high)",
        ["System", "Original"],
    )


def test_a_wide_table_goes_on_in_a_further_one_and_loses_nothing() -> None:
    setting = Case("test", "en", "perturbed-incorrect-option")
    names = [f"cluster_min complete precision@{10**place}" for place in range(6)]
    values = {name: float(place) for place, name in enumerate(names)}
    found = tables(result(Row("a", setting, 4, values), Row("b", setting._replace(setting="original"), 4, values)))
    assert len(found) > 2
    assert all(len(line) <= WIDTH for table in found for line in to_text(table).splitlines() if line != table.note)
    assert [heading for table in found for heading in headings(table) if heading in names] == names
    assert headings(found[0])[:5] == ["System", "Language", "Split", "Setting", "n"]
    # What is the same in all rows is said by the first table.
    assert headings(found[1])[:2] == ["System", "Setting"]
    assert {table.title for table in found[1:]} == {"Capitals: capitals, continued"}
    assert [table.note for table in found] == [""] * (len(found) - 1) + ["In percent."]


def test_every_k_of_every_system_is_a_row_with_its_interval() -> None:
    k = np.arange(1, 101)
    first = Curve(PT, {"bm25s": np.minimum(k, 50) / 50, "lsa": np.zeros(100)}, k / 100, queries=50)
    second = Curve(ONLY, {"bm25s": np.array([0.25, 0.25, 0.75])}, np.array([0.1, 0.2, 0.3]), queries=4)
    found = list(csv.DictReader(io.StringIO(success_rows(result(curves=[first, second])))))
    by_system: dict[tuple[str, str], list[dict[str, str]]] = {}
    for one in found:
        by_system.setdefault((one["system"], one["setting"]), []).append(one)
    assert {who: len(lines) for who, lines in by_system.items()} == {
        ("bm25s", ""): 100, ("lsa", ""): 100, ("random order", ""): 100,
        ("bm25s", "capitals-only"): 3, ("random order", "capitals-only"): 3,
    }  # fmt: skip
    for lines in by_system.values():
        assert [int(one["k"]) for one in lines] == list(range(1, len(lines) + 1))
    assert [float(one["success"]) for one in by_system["random order", ""]] == (k / 100).tolist()
    assert {(one["n"], one["low"], one["high"]) for one in by_system["random order", ""]} == {("", "", "")}
    # Wilson's interval is (2np + z² ∓ z √(z² + 4np(1 - p))) / (2(n + z²)). For 25 of 50 by hand:
    # (50 + 3.8415 ∓ 1.96 √(3.8415 + 50)) / 107.683 = 0.3664 and 0.6336.
    half = by_system["bm25s", ""][24]
    assert (half["success"], half["n"]) == ("0.5", "50")
    assert (float(half["low"]), float(half["high"])) == pytest.approx((0.3664, 0.6336), abs=5e-5)
    # 0 of 50: from 0 to z² / (n + z²) = 3.8415 / 53.8415.
    none = by_system["lsa", ""][99]
    assert (float(none["low"]), float(none["high"])) == pytest.approx((0, 0.07135), abs=5e-6)


def test_the_curves_are_printed_at_some_k_with_a_random_order_below() -> None:
    # bm25s: 0.5 + k/200; lsa: k/100; random: k/200.
    [table] = tables(result(curves=[curve()]))
    assert headings(table) == ["System", "Language", "Split", "success@1", "@5", "@10", "@20", "@50", "@100"]
    assert table.shown() == [
        ["bm25s", "pt", "validation", "0.5050", "0.5250", "0.5500", "0.6000", "0.7500", "1.0000"],
        ["lsa", "pt", "validation", "0.0100", "0.0500", "0.1000", "0.2000", "0.5000", "1.0000"],
        ["random order", "pt", "validation", "0.0050", "0.0250", "0.0500", "0.1000", "0.2500", "0.5000"],
    ]


def test_a_collection_that_was_only_written_says_what_comes_next() -> None:
    text = shown(workspaces=[Path("my work/pool.yaml")], notes=["the corpus is small"])
    assert "my work/pool.yaml" in text
    assert "quati-pool build -c 'my work/pool.yaml'" in text
    assert text.endswith("the corpus is small\n")


# ---- data


def test_json_has_the_shape_that_other_programs_read() -> None:
    row = Row(
        "gpt", ONLY, 3, {"F1": 50.0, "EM": None}, {"EM": "why"}, 1, {"F1": (37.5, 62.5)}, ("note",), {"cost": 0.5}
    )
    data = as_data(result(Row("human", EN, 4, {"F1": 25.0}), row, curves=[curve()], notes=["a", "b"]))
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert {key: data[key] for key in ("benchmark", "task", "license", "citation", "source", "notes", "seed")} == {
        "benchmark": "small",
        "task": "capitals",
        "license": "none",
        "citation": "none",
        "source": "https://example.org/capitals",
        "notes": ["a", "b"],
        "seed": 7,
    }
    assert data["rows"] == [
        {
            "system": "human",
            "language": "en",
            "split": "validation",
            "setting": None,
            "n": 4,
            "measures": {"F1": 25.0},
        },
        {
            "system": "gpt",
            "language": "en",
            "split": "test",
            "setting": "capitals-only",
            "n": 3,
            "measures": {"F1": 50.0, "EM": None},
            "undefined": {"EM": "why"},
            "unanswered": 1,
            "bounds": {"F1": {"low": 37.5, "high": 62.5}},
            "notes": ["note"],
            "cost": 0.5,
        },
    ]
    [drawn] = data["curves"]
    assert (drawn["split"], drawn["language"], drawn["setting"]) == ("validation", "pt", None)
    assert drawn["k"] == list(range(1, 101))
    assert drawn["random"][9] == 0.05
    assert {name: values[-1] for name, values in drawn["systems"].items()} == {"bm25s": 1.0, "lsa": 1.0}


def test_a_further_key_never_replaces_one_of_the_row() -> None:
    [row] = as_data(result(Row("a", EN, 4, {"F1": 1.0}, extra={"system": "b", "n": 0})))["rows"]
    assert (row["system"], row["n"]) == ("a", 4)


def test_csv_has_a_row_a_measure() -> None:
    row = Row('a, "b"\nc', ONLY, 3, {"F1": 50.0, "EM": None}, {"EM": "why"}, 1, {"F1": (37.5, 62.5)})
    first, second = csv.DictReader(io.StringIO(as_rows(result(row))))
    assert first == {
        "benchmark": "small", "task": "capitals", "system": 'a, "b"\nc', "language": "en", "split": "test",
        "setting": "capitals-only", "n": "3", "unanswered": "1", "measure": "F1", "value": "50.0",
        "low": "37.5", "high": "62.5", "undefined": "",
    }  # fmt: skip
    assert (second["measure"], second["value"], second["low"], second["undefined"]) == ("EM", "", "", "why")


# ---- pictures


def test_a_picture_shows_every_system_and_a_random_order_and_says_so_in_words() -> None:
    [picture] = pictures(result(curves=[curve(ONLY)]))
    assert picture.stem == "capitals--test--en--capitals-only"
    svg = picture.drawing.render("svg").decode()
    for word in ("bm25s", "lsa", "random order", "success@k", "en, test, capitals-only"):
        assert word in svg
    assert picture.alt.endswith("At k = 10: bm25s 0.5500, lsa 0.1000, random order 0.0500.")


def test_a_system_called_random_order_keeps_its_line() -> None:
    k = np.arange(1, 11) / 10
    [picture] = pictures(result(curves=[Curve(EN, {"random order": k}, k / 2, queries=2)]))
    assert picture.alt.endswith("At k = 10: random order 1.0000, random order (expected) 0.5000.")


# ---- files


def saved(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "reports").iterdir() if path.is_file()}


def whole() -> BenchResult:
    row = Row("a_*b*|", PT, 3, {"F1": 50.0, "EM": None}, {"EM": "why"}, 1, {"F1": (37.5, 62.5)}, ("note",))
    return result(row, curves=[curve()], notes=["a note"], files={"sets.jsonl": b"{}\n"})


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench")
    write(whole(), folder, Listener())
    return folder


def test_files_are_written_with_what_they_were_made_of(written: Path) -> None:
    names = ["capitals.md", "capitals.tex", "capitals.csv", "capitals.json", "capitals-tables.csv", "sets.jsonl"]
    names += ["capitals-success.csv", "capitals--validation--pt.svg", "capitals--validation--pt.png"]
    files = saved(written)
    assert {name for name in files if not name.endswith(".meta.json") and not name.startswith(".")} == set(names)
    assert {f"{name}.meta.json" for name in names} <= set(files)
    assert files["sets.jsonl"] == b"{}\n"
    assert json.loads(files["capitals.json"]) == as_data(whole())
    assert json.loads(files["capitals.json.meta.json"])["key"]["settings"] == {"seed": 7, "inputs": {}, "models": {}}


def test_the_markdown_file_names_license_and_source_and_shows_the_picture(written: Path) -> None:
    text = saved(written)["capitals.md"].decode()
    assert text.startswith("# Capitals: capitals\n\nname the capital\n")
    assert "License: none" in text
    assert "Released at https://example.org/capitals" in text
    assert "](capitals--validation--pt.svg)" in text
    assert r"| a\_\*b\*\| | pt | validation | 3 | 1 | 50.00 | – |" in text
    assert "\na note.\n" in text


def test_the_same_result_gives_the_same_bytes_and_only_what_differs_is_written(written: Path) -> None:
    before, heard = saved(written), Lines()
    write(whole(), written, heard)
    assert saved(written) == before
    write(result(Row("a", PT, 4, {"F1": 1.0}), files={"sets.jsonl": b"{}\n"}), written, heard)
    said = [line.partition(" to ")[0] for line in heard.lines]
    assert said == [
        f"bench capitals: {written / 'reports'} is up",
        "bench capitals: wrote capitals.md, capitals.tex, capitals.csv, capitals.json and 1 more",
    ]


def test_nothing_is_written_where_nothing_was_measured(tmp_path: Path) -> None:
    write(result(workspaces=[Path("ws/pool.yaml")]), tmp_path, Listener())
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_imitates_a_table_stays_in_its_cell() -> None:
    text = shown(Row("a\n─────\x1b[31m  b", EN, 4, {"F1": 1.0}))
    assert "\x1b" not in text
    assert len(text.splitlines()) == 5
