"""Readers of the tasks of Pirá: trained by ``train reader`` and used by ``bench --reader``, with tiny models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.bench.bench import BenchOptions, BenchResult, bench
from quati_pool.commands.train.reader import ReaderResult, train_reader
from quati_pool.commands.train.recipes import ReaderOptions
from quati_pool.commands.train.words import TextMarking
from quati_pool.errors import ConfigError
from quati_pool.models.readers.card import ReaderCard, read_card
from quati_pool.project.events import Listener
from quati_pool.qa_benchmarks.base import Row
from quati_pool.training.readers.presets import PRESETS
from tests.qa_benchmarks.pira_rows import row, write_split
from tests.tiny_models.bart import bart
from tests.tiny_models.cross_encoder import cross_encoder
from tests.tiny_models.t5 import t5

pytestmark = pytest.mark.neural

WORDS = ("tide", "boat", "moon", "sand", "net", "fish", "reef", "gull")


def questions(letter: str, count: int) -> list[dict[str, str]]:
    return [
        row(
            f"{letter}{number}",
            f"The {WORDS[number % 8]} is up. The {WORDS[(number + 3) % 8]} is not.",
            question_en_origin=f"Is the {WORDS[number % 8]} up?",
            question_en_paraphase=f"Up, the {WORDS[number % 8]}?",
            question_AUT_EN_1=f"The {WORDS[number % 8]}, up?",
            question_AUT_EN_2="Up?",
            answer_en_origin=f"the {WORDS[number % 8]} is",
            question_meaningful="5.0" if number % 3 else "1.0",
            at_labels="1.0" if number % 3 else "0.0",
        )
        for number in range(count)
    ]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pira")
    write_split(folder, "train", questions("A", 16))
    write_split(folder, "validation", questions("V", 6))
    return folder


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    words = ("▁Is", "▁the", "▁is", "▁up", *(f"▁{word}" for word in WORDS), "▁question:", "▁context:")
    return {
        "t5": t5(folder / "t5", words),
        "bart": bart(folder / "bart", positions=96),
        "bert": cross_encoder(folder / "bert", positions=96),
    }


def options(task: str, data: Path, model: Path, output: Path, **more: Any) -> ReaderOptions:
    given = {"epochs": 1, "device": "cpu"}
    return ReaderOptions(task, [(None, data)], str(model), output, languages=["en"], given=given, **more)


def measured(task: str, data: Path, folder: Path, reader: Path, **more: Any) -> BenchResult:
    settings = BenchOptions(folder, ["validation"], ["en"], readers=[("mine", str(reader))], device="cpu", **more)
    return bench("pira", task, data, settings, Listener())


def rows_of(result: BenchResult) -> list[Row]:
    return [each for each in result.rows if each.system.startswith("mine")]


def card_of(result: ReaderResult) -> ReaderCard:
    card = read_card(result.output)
    assert card is not None
    return card


@pytest.mark.parametrize(
    ("task", "model", "kind", "setting", "epochs", "tokens"),
    [
        ("cgqa", "t5", "generative", "", 40, 512),
        ("mrc", "t5", "generative", "", 40, 512),
        ("mcqa", "t5", "generative", "built", 40, 512),
        ("mrc", "bert", "extractive", "", 3, 96),
        ("at", "bert", "classifier", "", 8, 96),
    ],
)
def test_a_reader_is_trained_with_the_papers_settings_and_measured_as_bench_does(
    tmp_path: Path,
    data: Path,
    models: dict[str, Path],
    task: str,
    model: str,
    kind: str,
    setting: str,
    epochs: int,
    tokens: int,
) -> None:
    asked = options(task, data, models[model], tmp_path / "mine")
    trained = train_reader(asked, Listener())
    [stage] = trained.stages
    card = card_of(trained)
    assert (trained.kind, card.kind, card.task, card.max_tokens) == (kind, kind, task, tokens)
    assert stage.examples >= 16
    assert stage.held_out >= 6
    assert len(stage.losses) == 1
    assert not trained.reused
    settings = card.training["stages"][0]["settings"]
    assert (settings["learning_rate"], settings["weight_decay"]) == (3e-5 if kind == "extractive" else 2e-5, 0.01)
    # The test's own number of epochs is not the paper's, which is the preset's.
    assert replace(asked, given={}).fitted_to(PRESETS[kind, task].fit).epochs == epochs
    [mine] = [
        each
        for each in rows_of(measured(task, data, tmp_path / "bench", trained.output))
        if each.case.setting == setting
    ]
    [held_out] = trained.rows
    assert mine.measures == held_out.measures
    assert (mine.n, held_out.n) == (6, 6)
    assert train_reader(asked, Listener()).reused


def test_a_reader_learns_what_the_texts_say(tmp_path: Path, data: Path, models: dict[str, Path]) -> None:
    """Marking is learned from 16 questions: the stretch after ``The``."""
    given = {"epochs": 25, "device": "cpu", "learning_rate": 3e-3, "batch_size": 8, "patience": 25}
    asked = replace(options("mrc", data, models["bert"], tmp_path / "mine"), given=given)
    trained = train_reader(asked, Listener())
    losses = [loss for _, loss in trained.stages[0].losses]
    assert min(losses) < 0.5 * losses[0]
    assert (trained.rows[0].measures["F1"] or 0) > 60
    assert any("highest token F1 with the answer, 100.0 on average" in note for note in trained.notes)


@pytest.mark.parametrize(("setting", "examples"), [("", 16), ("human-paraphrases", 32), ("automatic-paraphrases", 64)])
def test_paraphrases_are_further_training_examples_and_held_out_questions_are_as_they_are(
    tmp_path: Path, data: Path, models: dict[str, Path], setting: str, examples: int
) -> None:
    asked = options("at", data, models["bert"], tmp_path / "mine", settings=[setting] if setting else [])
    trained = train_reader(asked, Listener())
    assert (trained.stages[0].examples, trained.stages[0].held_out) == (examples, 6)


@pytest.mark.parametrize(("model", "kind"), [("t5", "generative"), ("bert", "extractive")])
def test_open_questions_are_answered_over_the_passages_of_a_system(
    tmp_path: Path, data: Path, models: dict[str, Path], model: str, kind: str
) -> None:
    systems = tmp_path / "pool.yaml"
    systems.write_text(
        "name: mine\ncorpus: {path: corpus.jsonl}\nqueries: {path: queries.jsonl}\n"
        "systems:\n  words: {retriever: bm25s, stemming: false, language: en}\n"
    )
    asked = options("oqa", data, models[model], tmp_path / "mine", systems=systems, passages=5)
    trained = train_reader(asked, Listener())
    assert trained.kind == kind
    [held_out] = trained.rows
    found = rows_of(measured("oqa", data, tmp_path / "bench", trained.output, systems=systems))
    assert [each.system for each in found] == [f"mine over words@{k}" for k in (5, 10, 15)]
    assert found[0].measures == held_out.measures
    assert found[0].extra == {"k": 5}
    about = card_of(trained).training["stages"][0]["about"]
    assert about["over"]["run_tag"] == "words"
    assert about["passages"] == 5


def test_questions_that_do_not_fit_are_left_out_and_counted(tmp_path: Path, models: dict[str, Path]) -> None:
    long = row("A99", question_en_origin="Is the " + "a b " * 60 + "up?")
    write_split(tmp_path / "pira", "train", [*questions("A", 9), long])
    write_split(tmp_path / "pira", "validation", [*questions("V", 3), {**long, "id_qa": "V99"}])
    trained = train_reader(options("at", tmp_path / "pira", models["bert"], tmp_path / "mine"), Listener())
    assert (trained.stages[0].examples, trained.stages[0].held_out) == (9, 3)
    assert "pira: 2 of 14 questions are left out of training, as they have more than 96 tokens" in trained.notes
    assert (trained.rows[0].n, trained.rows[0].unanswered) == (3, 1)


@pytest.mark.parametrize(
    ("task", "model", "more", "message"),
    [
        ("cgqa", "bert", {}, "writes no answers; name an encoder-decoder such as T5"),
        ("at", "bert", {"method": "binary"}, "--method has no effect on --task at"),
        ("mrc", "t5", {"over": "bm25s"}, "--over has no effect on --task mrc"),
        ("oqa", "t5", {"over": "bm"}, "--over bm: did you mean"),
        ("oqa", "t5", {"over": "rrf"}, "for other systems, name a pool.yaml by --systems"),
        ("mrc", "bert", {"max_tokens": 400}, "--max-tokens 400: model .* takes at most 96"),
        ("at", "bert", {"settings": ["none"]}, "--setting none: the training files in .* hold no such case"),
        ("at", "bert", {"settings": ["human-paraphrases", "automatic-paraphrases"]}, "--setting: .* name one"),
        ("mrc", "bart", {"answer_tokens": 97}, "--answer-tokens 97: model .* writes at most 96"),
        ("mrc", "t5", {"max_tokens": 5}, "no question of pira fits into 5 tokens"),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, data: Path, models: dict[str, Path], task: str, model: str, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        train_reader(options(task, data, models[model], tmp_path / "mine", **more), Listener())


def test_examples_of_several_languages_have_ids_of_their_own(
    tmp_path: Path, data: Path, models: dict[str, Path]
) -> None:
    """The order of training is drawn from the ids, and both languages have the same questions."""
    asked = replace(options("mrc", data, models["bert"], tmp_path / "mine"), languages=["en", "pt"])
    [stage] = TextMarking(asked, Listener()).prepare()
    assert len({one.id for one in stage.examples}) == len(stage.examples) == 32
    assert {"train en/A0", "train pt/A0"} <= {one.id for one in stage.examples}


def test_another_benchmark_is_refused(tmp_path: Path, data: Path, models: dict[str, Path]) -> None:
    asked = replace(options("mrc", data, models["t5"], tmp_path / "mine"), data=[("race", data)])
    with pytest.raises(ConfigError, match="--task mrc learns from pira, not from race"):
        train_reader(asked, Listener())


@pytest.mark.parametrize(
    ("task", "model", "message"),
    [
        ("cgqa", "ForQuestionAnswering", "it marks the answer in a text, and there is none"),
        ("mrc", "ForSequenceClassification", "does not answer in words"),
        ("at", "ForQuestionAnswering", "does not say whether a text answers a question"),
    ],
)
def test_bench_refuses_a_reader_of_another_kind(
    tmp_path: Path, data: Path, task: str, model: str, message: str
) -> None:
    folder = cross_encoder(tmp_path / "model", labels=2, head=model, positions=96)
    with pytest.raises(ConfigError, match=message):
        measured(task, data, tmp_path / "bench", folder)
