"""``quati-pool bench`` as a user runs it: lists, rows, collections, and one line for each fault."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from quati_pool.commands.llm_runs import Ending
from quati_pool.commands.model_answers.asking import Answers
from quati_pool.files.artifacts import file_digest
from quati_pool.project.config import load_config
from tests.cli.conftest import Cli
from tests.llm.server import ServerProcess
from tests.qa_benchmarks.pira_rows import row, write_split
from tests.shared_data import shared


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def pira() -> Path:
    return shared("pira/validation.csv").parent


def rows_of(out: str) -> dict[tuple[str, str, str, str | None], dict[str, object]]:
    found = json.loads(out)["rows"]
    return {(made["system"], made["split"], made["language"], made["setting"]): made for made in found}


def test_answer_triggering_of_the_released_file(cli: Cli) -> None:
    """Done-when 1 of the issue; 85.41 and 90.10 are its figures (173 of 192 questions are answerable)."""
    done = cli("bench", "pira", "at", "--data", pira(), "--format", "json")
    assert done.status == 0, done.err
    assert {"benchmark": "pira", "task": "at", "license": "CC BY 4.0"}.items() <= json.loads(done.out).items()
    rows = rows_of(done.out)
    for language in ("en", "pt"):
        majority = rows["majority", "validation", language, None]
        assert majority["n"] == 192
        assert majority["measures"] == pytest.approx({"F1": 85.41, "accuracy": 90.10}, abs=0.005)
        assert rows["naive-bayes", "validation", language, None]["n"] == 192


def test_the_human_answers_of_the_released_file(cli: Cli) -> None:
    rows = rows_of(cli("bench", "pira", "mrc", "--data", pira(), "--format", "json").out)
    for language, expected in (("en", 56.76), ("pt", 51.78)):
        human = rows["human", "validation", language, None]
        assert (human["n"], human["unanswered"]) == (215, 10)
        assert human["measures"]["F1"] == pytest.approx(expected, abs=0.005)


def test_a_collection_names_its_licence_and_source(cli: Cli) -> None:
    done = cli("bench", "pira", "ir", "--data", pira(), "--lang", "en", "--to", "WS")
    assert done.status == 0, done.err
    config = load_config(Path("WS/pool.yaml"))
    assert config.release.license == "CC BY 4.0"
    assert config.release.url == "https://github.com/C4AI/Pira"
    assert config.release.languages == ["en"]
    mark = json.loads(Path("WS/benchmark.json").read_text(encoding="utf-8"))
    assert mark["made_from"] == {"validation.csv": file_digest(pira() / "validation.csv")}


def test_a_setting_that_is_not_written_is_told(cli: Cli) -> None:
    done = cli("bench", "pira", "ir", "--data", pira(), "--lang", "pt", "--to", "WS", "--format", "json")
    told = "validation pt translated-questions is not written; to write it, add --setting translated-questions"
    assert told in json.loads(done.out)["notes"]


@pytest.mark.parametrize("how", ["table", "json", "markdown", "latex", "csv"])
def test_lists_in_every_format(cli: Cli, how: str) -> None:
    done = cli("bench", "list", "--full", "--format", how)
    assert done.status == 0, done.err
    for name in ("pira", "romqa", "race", "qasc", "arc", "openbookqa"):
        assert name in done.out
    if how == "json":
        listed = json.loads(done.out)["benchmarks"]
        assert [task["name"] for task in listed[0]["tasks"]][:6] == ["ir", "oqa", "cgqa", "mrc", "at", "mcqa"]
    if how == "csv":
        assert list(csv.reader(io.StringIO(done.out)))
    assert "2309.10945" in cli("bench", "list", "--full", "pira", "--format", how).out


def write_pool(url: str) -> None:
    settings = {
        "name": "models",
        "corpus": {"path": "none.jsonl"},
        "queries": {"path": "none.tsv"},
        "systems": {"bm25s": {"retriever": "bm25s", "language": "en"}},
        "judges": {"gpt": {"model": "gpt-4o-mini", "prompt": "quati-en", "base_url": url}},
    }
    Path("models.yaml").write_text(json.dumps(settings), encoding="utf-8")


@pytest.mark.parametrize(("ended", "status"), [("interrupted", 130), ("budget", 1)])
def test_what_ends_the_asking_is_told_beside_the_other_rows(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, ended: Ending, status: int
) -> None:
    write_pool("http://127.0.0.1:9/v1")
    monkeypatch.setattr("quati_pool.commands.bench.bench.ask", lambda *_: Answers(ended=ended))
    arguments = ("bench", "pira", "mrc", "--data", pira(), "--lang", "en", "--judge", "gpt", "--systems", "models.yaml")
    done = cli(*arguments, "--format", "json")
    assert (done.status, list(rows_of(done.out))) == (status, [("human", "validation", "en", None)])
    told = done.err.splitlines()[-1]
    assert told.startswith("quati-pool: gpt was asked 0 of 225 questions of validation en (")
    assert json.loads(done.out)["notes"] == [told.removeprefix("quati-pool: ")]


def test_a_model_answers_and_is_not_asked_twice(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    write_split(
        tmp_path / "data",
        "test",
        [
            row("A1", question_en_origin="What is it? [[answer: a wave]]", answer_en_origin="A wave."),
            row("A2", question_en_origin="What is it not? [[answer: nothing]]", answer_en_origin="a small wave"),
        ],
    )
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with ServerProcess() as server:
        write_pool(server.url)
        arguments = ("bench", "pira", "cgqa", "--data", "data", "--lang", "en", "--judge", "gpt")
        done = cli(*arguments, "--systems", "models.yaml", "--format", "json")
        assert done.status == 0, done.err
        # "a wave" is "A wave." without case and punctuation; of "a small wave" "nothing" shares no word.
        assert rows_of(done.out)["gpt", "test", "en", None]["measures"] == {"F1": 50.0, "EM": 50.0}
        asked = len(server.log())
        assert cli(*arguments, "--systems", "models.yaml", "--format", "json").out == done.out
        assert len(server.log()) == asked


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("pira", "mrc"), 2, "name the folder with the released files"),
        (("pira",), 2, "name a task; quati-pool bench list pira shows them"),
        (("pirra", "mrc", "--data", "."), 1, "there is no benchmark 'pirra'; did you mean 'pira'?"),
        (("pira", "mrx", "--data", "."), 1, "pira has no task 'mrx'; did you mean 'mrc'?"),
        (("pira", "mrc", "--data", "."), 1, "https://github.com/C4AI/Pira"),
        (("romqa", "closed", "--data", "."), 1, "https://github.com/facebookresearch/romqa"),
        (("race", "expectations", "--data", "."), 1, "https://www.cs.cmu.edu/~glai1/data/race/"),
        (("list", "pirra"), 1, "did you mean 'pira'?"),
        (("pira", "mrc", "--data", ".", "--predictions", "a.json", "--predictions", "b/a.json"), 2, "NAME=PATH"),
        (("pira", "mrc", "--data", ".", "--predictions", "=a.json"), 2, "a file has no name"),
        (("pira", "mrc", "--data", ".", "--judge", "gpt"), 1, "pool.yaml is not a file; name the pool.yaml"),
    ],
    ids=[
        "no data",
        "no task",
        "benchmark",
        "task",
        "pira files",
        "romqa files",
        "race files",
        "list",
        "same name",
        "no name",
        "pool",
    ],
)
def test_faults_are_one_line(cli: Cli, arguments: tuple[str, ...], status: int, message: str) -> None:
    done = cli("bench", *arguments)
    assert (done.status, done.out) == (status, "")
    assert message in " ".join(done.err.replace("│", " ").split())
    if status == 1:
        assert len(done.err.splitlines()) == 1
