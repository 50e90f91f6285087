"""Readers that classify: whether a text answers a question, and which candidates do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import transformers

from quati_pool.models.errors import ModelError
from quati_pool.models.readers.base import ReaderQuestion
from quati_pool.models.readers.card import CARD, ReaderCard
from tests.models.readers.words import opened
from tests.tiny_models.cross_encoder import Family, cross_encoder

pytestmark = pytest.mark.neural

ASKED = [
    ReaderQuestion("Where?", ("the harbour",)),
    ReaderQuestion("Who is there?", ("the sea " * 3,)),
    ReaderQuestion("[SEP] or </s>?", ("a <s> b [CLS]",)),
    ReaderQuestion("What?", ("the moon and the sun " * 9,)),
]
CANDIDATES = [
    ReaderQuestion("the sea?", ("deep " * 30, "", "blue"), ("Ana", "the moon", "Rui")),
    ReaderQuestion("the land?", (), ()),
    ReaderQuestion("the land?", (), ("Eva",)),
]


def candidates(folder: Path, family: Family = "bert", **settings: int) -> Path:
    cross_encoder(folder, family, labels=2, **settings)
    (folder / CARD).write_text(ReaderCard("candidates", "gold", 48).as_json(), encoding="utf-8")
    return folder


@pytest.mark.parametrize("family", ["bert", "roberta", "xlm-roberta"])
@pytest.mark.parametrize("labels", [1, 2])
def test_text_and_question_are_classified_as_transformers_does(tmp_path: Path, family: Family, labels: int) -> None:
    folder = cross_encoder(tmp_path / "model", family, labels=labels)
    answers = dict(opened(folder, batch_tokens=70).answers(ASKED))
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for place in (0, 1, 3):
        question = ASKED[place]
        encoded = tokenizer(
            question.contexts[0], question.question, truncation="only_first", max_length=64, return_tensors="pt"
        )
        with torch.no_grad():
            logits = model(**encoded).logits[0].tolist()
        score = logits[0] if labels == 1 else logits[1] - logits[0]
        assert answers[place].scores[0] == pytest.approx(score, abs=1e-4)
        assert answers[place].answerable == (score > 0)
    assert [answers[place].shortened for place in range(4)] == [False, False, False, True]


def test_special_tokens_in_texts_are_letters(tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path / "model", labels=2)
    spelled = ReaderQuestion("[ S E P ] or </s>?", ("a <s> b [ C L S ]",))
    answers = dict(opened(folder).answers([ASKED[2], spelled]))
    assert answers[0].scores[0] == pytest.approx(answers[1].scores[0], abs=1e-4)


def test_the_class_named_yes_counts_as_yes(tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path / "model", labels=2)
    before = dict(opened(folder).answers(ASKED))
    config = json.loads((folder / "config.json").read_text())
    config |= {"id2label": {"0": "YES", "1": "NO"}, "label2id": {"YES": 0, "NO": 1}}
    (folder / "config.json").write_text(json.dumps(config))
    after = dict(opened(folder).answers(ASKED))
    for place in range(4):
        assert after[place].scores[0] == pytest.approx(-before[place].scores[0], abs=1e-4)
        assert after[place].answerable is not before[place].answerable


def test_three_classes_are_refused(tmp_path: Path) -> None:
    reader = opened(cross_encoder(tmp_path / "model", labels=3))
    with pytest.raises(ModelError, match="has 3 classes"):
        list(reader.answers(ASKED))


def test_weights_that_are_no_numbers_are_no_answer(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = cross_encoder(tmp_path / "model", labels=2)
    weights = load_file(folder / "model.safetensors")
    weights["classifier.bias"][1] = float("nan")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"gives no number for '\w"):
        list(opened(folder).answers(ASKED))


def test_what_a_classifier_cannot_answer_is_refused(tmp_path: Path) -> None:
    reader = opened(cross_encoder(tmp_path / "model", labels=2))
    assert "there is none" in str(reader.refusal(ReaderQuestion("Who?")))
    assert "no options" in str(reader.refusal(ReaderQuestion("Who?", ("a",), ("c", "d"))))
    assert reader.refusal(ASKED[0]) is None


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_each_candidate_is_a_decision_of_its_own(tmp_path: Path, family: Family) -> None:
    folder = candidates(tmp_path / "model", family)
    answers = dict(opened(folder, batch_tokens=60).answers(CANDIDATES))
    assert answers[1].chosen == ()
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for place in (0, 2):
        question = CANDIDATES[place]
        expected = []
        for number, option in enumerate(question.options):
            evidence = question.context_of(number)
            text = f"{option} ; {question.question}" + (f" ; {evidence}" if evidence else "")
            # The evidence is last, so that transformers cuts the same tokens.
            encoded = tokenizer(text, truncation=True, max_length=48, return_tensors="pt")
            with torch.no_grad():
                logits = model(**encoded).logits[0].tolist()
            expected.append(logits[1] - logits[0])
        assert answers[place].scores == pytest.approx(expected, abs=1e-4)
        assert answers[place].chosen == tuple(number for number, score in enumerate(expected) if score > 0)
    assert answers[0].shortened
    assert not answers[2].shortened


def test_a_candidate_does_not_depend_on_the_others(tmp_path: Path) -> None:
    reader = opened(candidates(tmp_path / "model"))
    [(_, together)] = reader.answers(CANDIDATES[:1])
    for option in range(3):
        alone = ReaderQuestion("the sea?", (CANDIDATES[0].contexts[option],), (CANDIDATES[0].options[option],))
        [(_, answer)] = reader.answers([alone])
        assert answer.scores[0] == pytest.approx(together.scores[option], abs=1e-4)


def test_a_candidate_is_never_shortened(tmp_path: Path) -> None:
    reader = opened(candidates(tmp_path / "model"))
    answers = dict(reader.answers([ReaderQuestion("the sea?", (), ("b", "a" * 60)), CANDIDATES[2]]))
    assert "tokens without any context, and the model reads 48" in str(answers[0].unread)
    assert answers[0].chosen is None
    assert answers[1].chosen is not None


def test_a_question_without_room_for_a_text_is_left_unread(tmp_path: Path) -> None:
    reader = opened(cross_encoder(tmp_path / "model", labels=2))
    answers = dict(reader.answers([ReaderQuestion("a" * 70, ("text",)), ASKED[0]]))
    assert "leaves no room for a text in the 64" in str(answers[0].unread)
    assert answers[1].answerable is not None


def test_a_card_that_promises_more_than_the_model_takes_is_refused(tmp_path: Path) -> None:
    folder = candidates(tmp_path / "model", positions=32)
    with pytest.raises(ModelError, match="says inputs of 48 tokens, and the model takes 32"):
        list(opened(folder).answers(CANDIDATES))
