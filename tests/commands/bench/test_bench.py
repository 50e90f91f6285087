"""Which cases are run, who answers them, and which options are refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from quati_pool.commands.bench.bench import BenchOptions, BenchResult, bench
from quati_pool.commands.model_answers.asking import Answers
from quati_pool.errors import ConfigError
from quati_pool.project.events import Listener
from quati_pool.qa_benchmarks.base import Case
from quati_pool.registry import BENCHMARKS
from quati_pool.reporting.figures.bench import write
from tests.commands.bench.small_benchmark import CASES


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setitem(BENCHMARKS._builtin, "small", "tests.commands.bench.small_benchmark:Small")


def run(tmp_path: Path, task: str, **options) -> BenchResult:
    return bench("small", task, tmp_path, BenchOptions(folder=tmp_path / "work", **options), Listener())


def pool(folder: Path) -> Path:
    """A pool.yaml with the judge ``gpt``."""
    path = folder / "pool.yaml"
    path.write_text(
        "name: mine\ncorpus: {path: c.jsonl}\nqueries: {path: q.tsv}\nsystems: {bm25s: {retriever: bm25s}}\n"
        "judges: {gpt: {model: gpt-4o-mini, prompt: quati-en}}\n"
    )
    return path


def refused(tmp_path: Path, task: str, **options) -> str:
    with pytest.raises(ConfigError) as caught:
        run(tmp_path, task, **options)
    return str(caught.value)


def test_every_case_has_a_row_of_every_program(tmp_path):
    result = run(tmp_path, "capitals")
    assert [(row.system, row.case, row.measures["accuracy"]) for row in result.rows] == [
        ("paris", Case("validation", "en"), 25.0),
        ("paris", Case("validation", "en", "capitals-only"), 25.0),
        ("paris", Case("validation", "pt"), 25.0),
        ("paris", Case("test", "en"), 25.0),
    ]
    assert result.notes == ["four questions"]
    assert result.error is None


@pytest.mark.parametrize(
    ("options", "cases"),
    [
        ({"splits": ["dev"], "languages": ["pt"]}, ["validation pt"]),
        ({"splits": ["test"]}, ["test en"]),
        ({"settings": ["capitals-only"]}, ["validation en capitals-only"]),
        ({"splits": ["test", "validation"], "languages": ["pt", "en"]}, None),
    ],
    ids=["dev is validation", "split", "setting", "all"],
)
def test_options_choose_cases(tmp_path, options, cases):
    rows = run(tmp_path, "capitals", **options).rows
    found = [" ".join(filter(None, row.case)) for row in rows]
    assert found == (cases or ["validation en", "validation en capitals-only", "validation pt", "test en"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"splits": ["train"]}, "--split train: the folder holds no such case; there is: validation, test"),
        ({"languages": ["es"]}, "--lang es: the folder holds no such case; there is: en, pt"),
        ({"settings": ["x"]}, "--setting x: the folder holds no such case; there is: capitals-only"),
        (
            {"splits": ["test"], "languages": ["pt"]},
            "no case matches all options; there are: validation en; validation en capitals-only; "
            "validation pt; test en",
        ),
        ({"to": Path("ws")}, "--to has no effect on small capitals with these options; drop it"),
        ({"over": ["bm25s"]}, "--over has no effect on small capitals with these options; drop it"),
        ({"budget": 1.0}, "--budget has no effect on small capitals with these options; drop it"),
        ({"systems": Path("pool.yaml")}, "--systems has no effect on small capitals with these options; drop it"),
    ],
    ids=["split", "language", "setting", "none", "to", "over", "budget", "systems"],
)
def test_what_does_not_fit_is_refused(tmp_path, options, message):
    assert refused(tmp_path, "capitals", **options) == message


@pytest.mark.parametrize("option", ["judge", "predictions"])
def test_a_retrieval_task_without_readers_takes_no_answers(tmp_path, option):
    value = {"judge": "gpt", "predictions": [("mine", tmp_path / "mine.json")]}[option]
    message = refused(tmp_path, "sentences", **{option: value})
    assert message == f"--{option} has no effect on small sentences with these options; drop it"


def test_an_unknown_task_or_benchmark_gets_a_suggestion(tmp_path):
    assert refused(tmp_path, "capital") == "small has no task 'capital'; did you mean 'capitals'?"
    with pytest.raises(ConfigError, match=r"there is no benchmark 'smal'; did you mean 'small'\?"):
        bench("smal", "capitals", tmp_path, BenchOptions(folder=tmp_path), Listener())


def test_a_folder_that_is_not_there_is_named_with_the_source(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere is not a folder; give --data .* https://example.org/capitals"):
        bench("small", "capitals", tmp_path / "nowhere", BenchOptions(folder=tmp_path), Listener())


def test_a_budget_is_one_for_all_cases_and_its_end_is_told(tmp_path, monkeypatch):
    given = []

    def ask(task_run, answerer, journal, listener, budget, stop):
        given.append(budget)
        values = dict.fromkeys(task_run.ids, "Paris")
        # The second of the calls costs what its server does not tell.
        return [
            Answers(values, spent=0.25),
            Answers(values, cost=0.0, spent=0.5),
            Answers({}, spent=0.2, needed=0.09, ended="budget"),
        ][len(given) - 1]

    monkeypatch.setattr("quati_pool.commands.bench.bench.ask", ask)
    result = run(tmp_path, "capitals", judge="gpt", systems=pool(tmp_path), budget=1.0)
    assert given == [1.0, 0.75, 0.25]
    told = (
        "gpt was asked 0 of 4 questions of validation pt (US$ 0.9500 of the budget of US$ 1 is spent, nothing is "
        "reserved, and one more question needs up to US$ 0.0900); "
        "run the same command again: what is answered is kept"
    )
    assert (str(result.error), result.interrupted) == (told, False)
    assert told in result.notes
    assert [row.case for row in result.rows if row.system == "gpt"] == CASES[:2]
    assert [row.case for row in result.rows if row.system == "paris"] == CASES


def test_questions_without_an_answer_are_counted_and_told(tmp_path, monkeypatch):
    failed = {"fr": "refused: no", "pe": "unparsed: x"}
    answers = Answers({"jp": "Paris", "gh": "Accra"}, failed)
    monkeypatch.setattr("quati_pool.commands.bench.bench.ask", lambda *_: answers)
    result = run(tmp_path, "capitals", judge="gpt", systems=pool(tmp_path), splits=["test"])
    [row] = [row for row in result.rows if row.system == "gpt"]
    assert (row.n, row.unanswered, row.measures["accuracy"]) == (2, 2, 50.0)
    assert result.notes[-1] == (
        "gpt, test en: 2 of 4 questions have no answer: 1 refused, 1 unparsed (fr: refused: no; pe: unparsed: x)"
    )
    assert result.error is None


def test_a_fault_of_the_code_is_not_passed_off_as_one_of_the_server(tmp_path, monkeypatch):
    monkeypatch.setattr("quati_pool.commands.bench.bench.ask", lambda *_: Answers(error=TypeError("bug")))
    with pytest.raises(TypeError, match="bug"):
        run(tmp_path, "capitals", judge="gpt", systems=pool(tmp_path))
    monkeypatch.setattr("quati_pool.commands.bench.bench.ask", lambda *_: Answers(error=OSError(28, "full")))
    assert "(full)" in str(run(tmp_path, "capitals", judge="gpt", systems=pool(tmp_path)).error).replace(
        "[Errno 28] ", ""
    )


def test_what_figures_come_from_is_told_in_the_result_and_beside_each_report(tmp_path):
    (tmp_path / "validation.txt").write_text("data")
    (tmp_path / "mine.json").write_text('{"fr": "Paris"}')
    result = run(tmp_path, "capitals", settings=["capitals-only"], predictions=[("mine", tmp_path / "mine.json")])
    expected = {
        "validation.txt": hashlib.sha256(b"data").hexdigest(),
        "--predictions mine": hashlib.sha256(b'{"fr": "Paris"}').hexdigest(),
    }
    assert result.inputs == expected
    write(result, tmp_path / "work", Listener())
    meta = json.loads((tmp_path / "work" / "reports" / "capitals.md.meta.json").read_text())
    assert meta["key"]["settings"] == {"seed": 0, "inputs": expected, "models": {}}
    assert json.loads((tmp_path / "work" / "reports" / "capitals.json").read_text())["inputs"] == expected


def test_the_model_and_the_pool_yaml_that_names_it_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "quati_pool.commands.bench.bench.ask", lambda task_run, *_: Answers(dict.fromkeys(task_run.ids, ""))
    )
    result = run(tmp_path, "capitals", splits=["test"], judge="gpt", systems=pool(tmp_path))
    assert result.models == {"gpt": "gpt-4o-mini"}
    assert result.inputs == {"--systems": hashlib.sha256(pool(tmp_path).read_bytes()).hexdigest()}


@pytest.mark.parametrize("name", ["paris", "gpt"])
def test_predictions_may_not_be_called_as_another_row_is(tmp_path, name):
    path = tmp_path / "mine.json"
    path.write_text("{}")
    message = refused(
        tmp_path, "capitals", splits=["test"], predictions=[(name, path)], judge="gpt", systems=pool(tmp_path)
    )
    assert message == f"--predictions {name}: another row already has this name; give another by NAME=PATH"


def test_predictions_answer_one_case_and_its_first_setting(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"fr": "Paris", "pe": "Lima", "jp": "Tokyo"}), encoding="utf-8")
    given = {"predictions": [("mine", path)]}
    assert refused(tmp_path, "capitals", **given) == (
        "--predictions answer one case, and there are validation en; validation pt; test en; "
        "name one by --split, --lang, --setting"
    )
    result = run(tmp_path, "capitals", splits=["validation"], languages=["en"], **given)
    # Three of four are right; the fourth counts as empty, and so as wrong.
    assert [(row.case.setting, row.measures["accuracy"]) for row in result.rows if row.system == "mine"] == [("", 75.0)]
    assert "mine: 1 of 4 questions have no prediction in mine.json and count as empty" in result.notes
    named = run(tmp_path, "capitals", settings=["capitals-only"], **given)
    assert [row.case.setting for row in named.rows if row.system == "mine"] == ["capitals-only"]
