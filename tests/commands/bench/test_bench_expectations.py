"""The expectations from the released files to the rows: programs, a model over HTTP, and predictions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from quati_pool.commands.bench.bench import BenchOptions, BenchResult, bench
from quati_pool.project.events import Listener
from quati_pool.qa_benchmarks.base import AnswerTask, Case, Row
from quati_pool.qa_benchmarks.expectations import NO_CONTEXT, NO_OPTION, NO_QUESTION, ORIGINAL, PERTURBED
from quati_pool.qa_benchmarks.qasc import Qasc
from tests.llm.server import ServerProcess, answer_of
from tests.qa_benchmarks.small_questions import question, write_jsonl

COUNT = 12
LABELS = "ABCD"


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with ServerProcess() as server:
        yield server


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Questions whose right option's context tells the local server what to answer."""
    records = []
    for n in range(COUNT):
        gold = LABELS[n % 4]
        paras = [f"text {x} of {n}" + (f" [[answer: {x}]]" if x == gold else "") for x in LABELS]
        records.append(question(f"q{n}", f"question {n}", [f"{x} of {n}" for x in LABELS], gold, paras=paras))
    write_jsonl(tmp_path / "data" / "dev.jsonl", records)
    return tmp_path / "data"


def run(data: Path, **options) -> BenchResult:
    return bench("qasc", "expectations", data, BenchOptions(folder=data.parent / "work", **options), Listener())


def rows(result: BenchResult, system: str) -> dict[str, Row]:
    return {row.case.setting: row for row in result.rows if row.system == system}


def test_a_model_is_asked_in_every_setting_and_found_wanting_where_it_looks_at_the_contexts_alone(
    data: Path, server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    pool = data.parent / "pool.yaml"
    pool.write_text(
        "name: mine\ncorpus: {path: c.jsonl}\nqueries: {path: q.tsv}\nsystems: {bm25: {retriever: bm25s}}\n"
        f"judges:\n  local: {{model: fake-1, prompt: quati-en, base_url: {server.url}}}\n"
    )
    result = run(data, systems=pool, judge="local")
    assert result.error is None
    found = rows(result, "local")
    # The server goes by the contexts, so it is right wherever they are, and else by a hash of the message.
    task = Qasc.tasks["expectations"]
    assert isinstance(task, AnswerTask)
    task_run = task.task_run(data, Case("validation", "en"), 0)
    guessed = [answer_of(task_run.request(f"q{n}#{NO_CONTEXT}").messages[-1]["content"], LABELS) for n in range(COUNT)]
    right = 100 * sum(guess == LABELS[n % 4] for n, guess in enumerate(guessed)) / COUNT
    assert {setting: row.measures["accuracy"] for setting, row in found.items()} == {
        ORIGINAL: 100, PERTURBED: 100, NO_OPTION: 100, NO_QUESTION: 100, NO_CONTEXT: pytest.approx(right),
    }  # fmt: skip
    verdicts = found[ORIGINAL].extra["expectations"]
    assert (verdicts["monotonicity"], verdicts["sanity"]) == ("holds", "fails")
    assert set(rows(result, "tf-idf")) == set(rows(result, "random")) == set(found)
    asked = len(server.log())
    again = run(data, systems=pool, judge="local")
    assert rows(again, "local") == found
    assert len(server.log()) == asked


def test_predictions_answer_every_setting_by_its_id(data: Path) -> None:
    path = data.parent / "mine.json"
    settings = ("", *(f"#{name}" for name in (PERTURBED, NO_OPTION, NO_QUESTION, NO_CONTEXT)))
    path.write_text(json.dumps({f"q{n}{setting}": "A" for n in range(COUNT) for setting in settings}))
    found = rows(run(data, predictions=[("mine", path)]), "mine")
    # "A" is right for every fourth question, which is chance.
    assert {row.measures["accuracy"] for row in found.values()} == {25.0}
    assert found[PERTURBED].extra["verdict"] == "holds"


def test_predictions_for_the_original_questions_alone_give_no_verdict(data: Path) -> None:
    path = data.parent / "mine.json"
    path.write_text(json.dumps({f"q{n}": LABELS[n % 4] for n in range(COUNT)}))
    result = run(data, predictions=[("mine", path)])
    found = rows(result, "mine")
    assert found[ORIGINAL].measures["accuracy"] == 100
    assert set(found[ORIGINAL].extra["expectations"].values()) == {"undefined"}
    assert any("48 of 60 questions have no prediction" in note for note in result.notes)


def test_the_file_that_says_how_to_make_the_inputs_is_kept(data: Path) -> None:
    (content,) = run(data).files.values()
    assert len(content.splitlines()) == COUNT
