"""``bench … --reader``: rows of models on this machine, each answer computed once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.bench.bench import BenchOptions, BenchResult, bench
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.models.errors import ModelMissingError
from quati_pool.models.readers.base import ReaderAnswer, ReaderQuestion
from quati_pool.models.readers.multiple_choice import MultipleChoiceReader
from quati_pool.project.events import Listener
from quati_pool.qa_benchmarks.base import Case
from quati_pool.qa_benchmarks.expectations import (
    NO_CONTEXT,
    NO_OPTION,
    NO_QUESTION,
    ORIGINAL,
    PERTURBED,
    ExpectationTaskRun,
    drawn_wrong,
)
from quati_pool.qa_benchmarks.multiple_choice import MultipleChoice, MultipleChoiceTaskRun
from tests.commands.bench.small_task_runs import Choices
from tests.qa_benchmarks.small_questions import question, write_article, write_jsonl
from tests.tiny_models.multiple_choice import multiple_choice

pytestmark = pytest.mark.neural


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return multiple_choice(tmp_path_factory.mktemp("tiny") / "tiny", positions=128)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def qasc(tmp_path: Path) -> Path:
    """Questions of four options with contexts of their own."""
    records = [
        question(
            f"q{n}",
            f"who is {n}",
            ["the fox", "a dog", f"tide {n}", "boats"],
            "ABCD"[n % 4],
            paras=[f"the {n} of a", "a court", "an appeal", "of the river"],
        )
        for n in range(12)
    ]
    write_jsonl(tmp_path / "qasc" / "dev.jsonl", records)
    return tmp_path / "qasc"


@pytest.fixture
def race(tmp_path: Path) -> Path:
    """Questions on one article each."""
    for n in range(6):
        asked = [(f"who is {n}", ["the fox", "a dog", f"tide {n}", "boats"], "ABCD"[n % 4])]
        write_article(tmp_path / "race" / "dev" / "high" / f"{n}.txt", f"high{n}.txt", f"the court {n} of a", asked)
    return tmp_path / "race"


def run(data: Path, *readers: tuple[str, Path], name: str = "qasc", **options: Any) -> BenchResult:
    given = [(name, str(path)) for name, path in readers]
    made = BenchOptions(Path("out"), readers=given, device="cpu", **options)
    return bench(name, "expectations", data, made, Listener())


def count_answers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that gets the number of questions of every call of a reader."""
    asked: list[int] = []
    answers = MultipleChoiceReader.answers

    def counting(self: MultipleChoiceReader, questions: Sequence[ReaderQuestion]) -> Iterator[tuple[int, ReaderAnswer]]:
        asked.append(len(questions))
        return answers(self, questions)

    monkeypatch.setattr(MultipleChoiceReader, "answers", counting)
    return asked


def test_a_reader_has_a_row_for_every_setting(qasc: Path, model: Path) -> None:
    result = run(qasc, ("mine", model))
    rows = {row.case.setting: row for row in result.rows if row.system == "mine"}
    assert list(rows) == [ORIGINAL, PERTURBED, NO_OPTION, NO_QUESTION, NO_CONTEXT]
    assert all(row.n == 12 for row in rows.values())
    assert result.models == {"mine": str(model)}
    assert len(result.inputs["--reader mine"]) == 64


def test_answers_are_those_of_the_reader_alone(qasc: Path, model: Path) -> None:
    from tests.models.readers.words import opened

    result = run(qasc, ("mine", model))
    [row] = [row for row in result.rows if row.system == "mine" and row.case.setting == ORIGINAL]
    records = [json.loads(line) for line in (qasc / "dev.jsonl").read_text().splitlines()]
    right = 0
    for record in records:
        choices = record["question"]["choices"]
        asked = ReaderQuestion(
            record["question"]["stem"],
            tuple(choice["para"] for choice in choices),
            tuple(choice["text"] for choice in choices),
        )
        [(_, answer)] = list(opened(model).answers([asked]))
        assert answer.option is not None
        right += "ABCD"[answer.option] == record["answerKey"]
    assert row.measures["accuracy"] == pytest.approx(100 * right / 12)


def test_nothing_is_computed_twice(qasc: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = count_answers(monkeypatch)
    first = run(qasc, ("mine", model))
    assert asked == [60]
    again = run(qasc, ("mine", model))
    assert asked == [60]
    assert [(row.case, row.measures) for row in again.rows] == [(row.case, row.measures) for row in first.rows]
    # The same weights under another name are the same reader; other weights are not.
    run(qasc, ("renamed", model))
    assert asked == [60]
    run(qasc, ("other", multiple_choice(Path("other"), positions=128, seed=1)))
    assert asked == [60, 60]


def test_answers_of_another_form_are_refused_at_the_first(
    qasc: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []

    def in_words(self: MultipleChoiceReader, questions: Sequence[ReaderQuestion]) -> Iterator[tuple[int, ReaderAnswer]]:
        for place in range(len(questions)):
            given.append(place)
            yield place, ReaderAnswer(text="a fox")

    monkeypatch.setattr(MultipleChoiceReader, "answers", in_words)
    with pytest.raises(ConfigError, match=r"--reader mine: its answer to .*; name another"):
        run(qasc, ("mine", model))
    assert given == [0]


def test_a_stopped_run_goes_on(qasc: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = MultipleChoiceReader.answers

    def stopping(self: MultipleChoiceReader, questions: Sequence[ReaderQuestion]) -> Iterator[tuple[int, ReaderAnswer]]:
        for count, found in enumerate(answers(self, questions)):
            if count == 20:
                raise KeyboardInterrupt
            yield found

    with monkeypatch.context() as patched:
        patched.setattr(MultipleChoiceReader, "answers", stopping)
        with pytest.raises(KeyboardInterrupt):
            run(qasc, ("mine", model))
    asked = count_answers(monkeypatch)
    resumed = run(qasc, ("mine", model))
    assert asked == [40]
    shutil.rmtree("out")
    unbroken = run(qasc, ("mine", model))
    assert [(row.case, row.measures) for row in resumed.rows] == [(row.case, row.measures) for row in unbroken.rows]


def test_the_perturbed_option_has_its_own_context_where_the_options_share_one(race: Path, model: Path) -> None:
    asked = MultipleChoice("q", "who", ("a", "b", "c"), ("A", "B", "C"), "B", ("one text",))
    task_run = ExpectationTaskRun(Case("test", "en"), [asked], 0)
    made = task_run.reader_question(f"q#{PERTURBED}")
    wrong = "ABC".index(drawn_wrong(asked, 0))
    assert wrong != 1
    assert made.options[wrong] == "who"
    assert made.contexts[wrong] == "who who who who who who who who who who"
    assert {made.contexts[place] for place in range(3) if place != wrong} == {"one text"}
    assert task_run.reader_question("q") == ReaderQuestion("who", ("one text",), ("a", "b", "c"))
    assert task_run.reader_question(f"q#{NO_QUESTION}") == ReaderQuestion("", ("one text",), ("a", "b", "c"))
    assert task_run.reader_question(f"q#{NO_CONTEXT}") == ReaderQuestion("who", ("",), ("a", "b", "c"))
    assert f"q#{NO_OPTION}" not in task_run.ids
    result = run(race, ("mine", model), name="race")
    assert [row.case.setting for row in result.rows if row.system == "mine"] == [
        "high/original", "high/perturbed-incorrect-option", "high/no-question", "high/no-context",
    ]  # fmt: skip


def test_equal_scores_favour_no_position() -> None:
    questions = [MultipleChoice(f"q{n}", "who", ("a",) * 4, tuple("ABCD"), "A") for n in range(400)]
    task_run = MultipleChoiceTaskRun(Case("test", "en"), questions, 0)
    tie = ReaderAnswer(option=0, scores=(1.0, 1.0 + 1e-7, 1.0 - 1e-7, 1.0))
    labels = [task_run.from_reader(id_, tie) for id_ in task_run.ids]
    # Binomial of 400 and 1/4: within 6 standard deviations of 100.
    assert all(abs(labels.count(label) - 100) < 6 * 8.7 for label in "ABCD")
    assert task_run.from_reader("q0", ReaderAnswer(option=2, scores=(0, 0, 0.1, 0))) == "C"
    assert task_run.from_reader("q0", ReaderAnswer(option=3)) == "D"
    with pytest.raises(ValueError, match="none of the options"):
        task_run.from_reader("q0", ReaderAnswer(text="a"))


def test_unread_questions_are_unanswered_with_bounds(qasc: Path, tmp_path: Path) -> None:
    """Without a card and of 32 positions: the perturbed option, which repeats the question, is still short enough."""
    short = multiple_choice(tmp_path / "short", positions=32)
    record = question("long", "who " * 40, ["the fox", "a dog"], "A", paras=["the court", "of a"])
    with (qasc / "dev.jsonl").open("a") as file:
        file.write(json.dumps(record) + "\n")
    result = run(qasc, ("mine", short))
    [row] = [row for row in result.rows if row.system == "mine" and row.case.setting == ORIGINAL]
    assert (row.n, row.unanswered) == (12, 1)
    assert set(row.bounds) == {"accuracy"}
    assert any("unanswered, as the reader cannot read them (long" in note for note in result.notes)


@pytest.mark.parametrize(
    ("readers", "options", "message"),
    [
        ((("tf-idf", "MODEL"),), {}, "--reader tf-idf: another row already has this name"),
        ((("me", "MODEL"),), {"judge": "me"}, "--reader me: another row already has this name"),
        ((("a", "MODEL"), ("a", "MODEL")), {}, "--reader a: two readers have this name"),
        ((("a", "./nowhere"),), {}, "there is no model folder nowhere"),
        ((), {"device": "cpu"}, "--device has no effect on qasc expectations"),
        ((), {"batch_tokens": 10}, "--batch-tokens has no effect on qasc expectations"),
    ],
)
def test_faults(qasc: Path, model: Path, readers: Any, options: dict[str, Any], message: str) -> None:
    given = [(name, str(model) if path == "MODEL" else path) for name, path in readers]
    with pytest.raises((ConfigError, ModelMissingError)) as refused:
        bench("qasc", "expectations", qasc, BenchOptions(Path("out"), readers=given, **options), Listener())
    assert message in str(refused.value)


def test_readers_of_retrieval_tasks_are_refused(qasc: Path, model: Path) -> None:
    with pytest.raises(ConfigError, match="--reader has no effect on qasc contexts"):
        bench("qasc", "contexts", qasc, BenchOptions(Path("out"), readers=[("a", str(model))]), Listener())


def test_a_run_without_reader_questions_says_so() -> None:
    with pytest.raises(QuatiPoolError, match="no reader answers questions of this form"):
        Choices.reader_question(Choices.__new__(Choices), "fr")
