from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch
import transformers

from quati_pool.models.readers.answers_in_words import closest_option
from quati_pool.models.readers.base import ReaderQuestion
from quati_pool.models.readers.card import CARD, ReaderCard
from quati_pool.models.readers.generative import parts_of
from tests.models.readers.words import opened
from tests.tiny_models.bart import bart
from tests.tiny_models.t5 import t5

pytestmark = pytest.mark.neural

QUESTIONS = [
    ReaderQuestion("Where do boats lie?", ("The boats lie in the harbour.",)),
    ReaderQuestion("Who?"),
    ReaderQuestion("What is left by the tide on the shore?", ("Shells, sand and weed " * 4,)),
    ReaderQuestion("the harbour </s> or <extra_id_0>", ("no",)),
]


def card(folder: Path, max_tokens: int, answer_tokens: int) -> None:
    text = ReaderCard("generative", "mrc", max_tokens, {"answer_tokens": answer_tokens}).as_json()
    (folder / CARD).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = t5(tmp_path_factory.mktemp("t5") / "model", initializer_factor=3.0)
    card(folder, 512, 12)
    return folder


def test_answers_are_what_the_model_generates_for_one_text_at_a_time(model: Path) -> None:
    direct = transformers.T5ForConditionalGeneration.from_pretrained(model).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    expected = []
    for question in QUESTIONS[:3]:
        context = f"  context: {question.contexts[0]}" if question.contexts else ""
        ids = tokenizer(f"question: {question.question}{context}", return_tensors="pt").input_ids
        with torch.no_grad():
            found = direct.generate(ids, max_new_tokens=12, do_sample=False, num_beams=1)
        expected.append(tokenizer.decode(found[0], skip_special_tokens=True).strip())
    answers = dict(opened(model, batch_tokens=10**5).answers(QUESTIONS[:3]))
    assert [answers[place].text for place in range(3)] == expected
    assert len(set(expected)) > 1  # the model answers by what it reads


def test_bart_answers_as_it_generates(tmp_path: Path) -> None:
    folder = bart(tmp_path / "model")
    card(folder, 128, 12)
    direct = transformers.BartForConditionalGeneration.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = tokenizer("question: Where do boats lie?  context: The boats lie in the harbour.", return_tensors="pt")
    with torch.no_grad():
        found = direct.generate(**ids, max_new_tokens=12, do_sample=False, num_beams=1)
    assert found[0, 1] == tokenizer.bos_token_id
    [(_, answer)] = opened(folder).answers(QUESTIONS[:1])
    assert answer.text == tokenizer.decode(found[0], skip_special_tokens=True).strip() != ""


@pytest.mark.parametrize("batch_tokens", [1, 300])
def test_batches_change_no_answer(model: Path, batch_tokens: int) -> None:
    together = dict(opened(model, batch_tokens=10**5).answers(QUESTIONS))
    assert dict(opened(model, batch_tokens=batch_tokens).answers(QUESTIONS)) == together


def test_only_the_context_is_shortened_and_only_at_its_end(model: Path, tmp_path: Path) -> None:
    question = "Where do the boats lie?"
    text = "In the harbour. " + "Not here. " * 30
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    whole = tokenizer(f"question: {question}  context: {text}").input_ids
    folder = t5(tmp_path / "model", initializer_factor=3.0)
    card(folder, 80, 12)
    direct = transformers.T5ForConditionalGeneration.from_pretrained(folder).eval()
    with torch.no_grad():
        found = direct.generate(torch.tensor([[*whole[:79], 1]]), max_new_tokens=12)
    [(_, answer)] = opened(folder).answers([ReaderQuestion(question, (text,))])
    assert answer.shortened
    assert answer.text == tokenizer.decode(found[0], skip_special_tokens=True).strip()
    [(_, fits)] = opened(folder).answers([ReaderQuestion("Who?", ("Me.",))])
    assert not fits.shortened


def test_a_question_is_never_shortened(tmp_path: Path) -> None:
    folder = t5(tmp_path / "model")
    card(folder, 60, 12)
    answers = dict(opened(folder).answers([ReaderQuestion("a" * 80, ("text",)), ReaderQuestion("Who?", ("Me.",))]))
    assert answers[0].text is None
    assert re.search(r"'question: aaaa.*tokens without any context, and the model reads 60", str(answers[0].unread))
    assert answers[1].text is not None


def test_options_are_written_in_the_form_of_unifiedqa() -> None:
    question = ReaderQuestion("Which?", ("Some text.",), ("one", "two"))
    assert "".join(parts_of(question)) == r"Which? \n (A) one (B) two \n Some text."
    assert "".join(parts_of(ReaderQuestion("Which?", (), ("one", "two")))) == r"Which? \n (A) one (B) two"


@pytest.mark.parametrize(
    ("text", "option"),
    [
        pytest.param("in the harbour", 1, id="the closest"),  # F1 0, 2·2/(3+2), 2·1/(3+2)
        pytest.param("", 0, id="nothing written: the first"),
        pytest.param("the sea", 2, id="one word of two: 2·1/(2+2) against 2·1/(2+2)"),
    ],
)
def test_the_option_with_the_highest_token_f1_wins(text: str, option: int) -> None:
    options = ("tide", "The harbour", "the sand") if text != "the sea" else ("tide", "ebb", "the sand", "the land")
    assert closest_option(text, options).option == option


def test_options_are_answered_with_the_written_text_and_all_f1(model: Path) -> None:
    question = ReaderQuestion("Where?", ("the harbour",), ("the", "harbour"))
    [(_, answer)] = opened(model).answers([question])
    assert answer.text is not None
    assert len(answer.scores) == 2
    assert answer.option == answer.scores.index(max(answer.scores))


def test_a_text_for_each_option_is_read_with_the_others_once(model: Path) -> None:
    question = ReaderQuestion("Which?", ("some", "other", "some"), ("a", "b", "c"))
    assert "".join(parts_of(question)) == r"Which? \n (A) a (B) b (C) c \n some other"
    assert opened(model).refusal(question) is None


def test_a_models_beams_and_samples_are_not_used_and_nothing_is_logged(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = t5(tmp_path / "model", initializer_factor=3.0)
    plain = dict(opened(folder).answers(QUESTIONS))
    config = json.loads((folder / "generation_config.json").read_text())
    config |= {"num_beams": 4, "early_stopping": True, "length_penalty": 2.0, "max_length": 142, "do_sample": True}
    (folder / "generation_config.json").write_text(json.dumps({**config, "temperature": 0.7, "top_p": 0.9}))
    capfd.readouterr()
    assert dict(opened(folder).answers(QUESTIONS)) == plain
    assert capfd.readouterr().err == ""


def test_a_card_with_longer_answers_is_another_reader(tmp_path: Path) -> None:
    folder = t5(tmp_path / "model")
    card(folder, 512, 12)
    before = opened(folder).identity
    card(folder, 512, 13)
    assert opened(folder).identity != before
