"""Readers of multiple choice against transformers itself, input by input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForMultipleChoice, AutoTokenizer

from quati_pool.commands.bench.readers import HomeEnvironment
from quati_pool.models.errors import ModelError
from quati_pool.models.parameters import ModelParameters
from quati_pool.models.readers.base import Reader, ReaderAnswer, ReaderQuestion, TooLongError
from quati_pool.models.readers.card import CARD, ReaderCard
from quati_pool.models.readers.multiple_choice import InputForm, OptionEncoder
from quati_pool.models.readers.opening import open_reader
from tests.tiny_models.cross_encoder import cross_encoder
from tests.tiny_models.multiple_choice import multiple_choice

pytestmark = pytest.mark.neural

QUESTIONS = [
    ReaderQuestion("who?", ("the harbour", "a tide", "of boats"), ("judge", "baker", "fox")),
    ReaderQuestion("where", ("the harbour of the keeper of the lighthouse " * 3,), ("here", "there")),
    ReaderQuestion("what _ is", (), ("this", "that", "it", "none")),
    ReaderQuestion("", ("a text",), ("", "yes")),
]


@pytest.fixture(scope="module", params=["bert", "roberta"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return multiple_choice(tmp_path_factory.mktemp("tiny") / request.param, request.param)


def with_card(folder: Path, max_tokens: int = 64) -> Path:
    card = ReaderCard("multiple-choice", "mcqa", max_tokens, {"form": "parts"})
    (folder / CARD).write_text(card.as_json(), encoding="utf-8")
    return folder


def opened(folder: Path, **parameters: Any) -> Reader:
    settings = ModelParameters(model=str(folder), device="cpu", **parameters)
    return open_reader(settings, HomeEnvironment(), lambda line: None)


def answered(reader: Reader, questions: list[ReaderQuestion]) -> list[ReaderAnswer]:
    found = dict(reader.answers(questions))
    assert sorted(found) == list(range(len(questions)))
    return [found[position] for position in range(len(questions))]


def direct(folder: Path, texts: list[Any], **settings: Any) -> list[float]:
    """The scores that transformers computes of inputs, one at a time."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForMultipleChoice.from_pretrained(folder).eval()
    scores = []
    for text in texts:
        encoded = text if isinstance(text, list) else tokenizer(*text, **settings)["input_ids"]
        with torch.no_grad():
            scores.append(model(input_ids=torch.tensor([[encoded]])).logits.item())
    return scores


def parts(folder: Path, context: str, question: str, option: str, most: int = 64) -> list[int]:
    """``[CLS] context [SEP] question [SEP] option [SEP]``, written out: an empty part is [CLS], and the end of a long
    context is kept."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    first, last = tokenizer.cls_token_id, tokenizer.sep_token_id
    between = [last, last] if tokenizer.cls_token == "<s>" else [last]
    read = [tokenizer(text, add_special_tokens=False)["input_ids"] or [first] for text in (context, question, option)]
    room = most - 2 - 2 * len(between) - len(read[1]) - len(read[2])
    return [first, *read[0][-room:], *between, *read[1], *between, *read[2], last]


def test_scores_are_those_of_transformers_on_the_papers_input(model: Path) -> None:
    read = opened(with_card(model))
    for question, answer in zip(QUESTIONS, answered(read, QUESTIONS), strict=True):
        inputs = [parts(model, question.context_of(n), question.question, o) for n, o in enumerate(question.options)]
        scores = direct(model, inputs)
        if model.name == "roberta":  # has no token types, and so no more is in an input
            np.testing.assert_allclose(answer.scores, scores, atol=1e-5)
        assert len(answer.scores) == len(question.options)
        assert answer.option == int(np.argmax(answer.scores))
        assert answer.shortened == (question.question == "where")


def test_the_token_types_are_those_of_the_papers_code(tmp_path: Path) -> None:
    """Context and question are of the first segment, the option of the second."""
    folder = multiple_choice(tmp_path / "bert")
    tokenizer, scorer = AutoTokenizer.from_pretrained(folder), AutoModelForMultipleChoice.from_pretrained(folder).eval()
    [answer] = answered(opened(with_card(folder)), QUESTIONS[:1])
    for place, option in enumerate(QUESTIONS[0].options):
        ids = parts(folder, QUESTIONS[0].contexts[place], "who?", option)
        types = [0] * len(ids)
        length = len(tokenizer(option, add_special_tokens=False)["input_ids"]) + 1
        types[-length:] = [1] * length
        with torch.no_grad():
            score = scorer(input_ids=torch.tensor([[ids]]), token_type_ids=torch.tensor([[types]])).logits.item()
        assert answer.scores[place] == pytest.approx(score, abs=1e-5)


def test_a_users_own_folder_reads_pairs_as_the_examples_of_transformers_do(tmp_path: Path) -> None:
    """A BertForMultipleChoice without a card; transformers shortens the context, and keeps its beginning."""
    folder = multiple_choice(tmp_path / "own")
    assert json.loads((folder / "config.json").read_text())["architectures"] == ["BertForMultipleChoice"]
    tokenizer, scorer = AutoTokenizer.from_pretrained(folder), AutoModelForMultipleChoice.from_pretrained(folder).eval()
    # The tokenizer takes a second text without a letter for none at all.
    asked = QUESTIONS[:3]
    for question, answer in zip(asked, answered(opened(folder), asked), strict=True):
        for place, option in enumerate(question.options):
            filled = question.question.replace("_", option) if "_" in question.question else None
            second = filled or f"{question.question} {option}".strip()
            encoded = tokenizer(
                question.context_of(place), second, truncation="only_first", max_length=64, return_tensors="pt"
            )
            with torch.no_grad():
                score = scorer(**{name: values.unsqueeze(1) for name, values in encoded.items()}).logits.item()
            assert answer.scores[place] == pytest.approx(score, abs=1e-5)


def test_batches_change_nothing_beyond_rounding(model: Path) -> None:
    many = QUESTIONS * 3
    large = answered(opened(with_card(model), batch_tokens=10_000), many)
    small = answered(opened(with_card(model), batch_tokens=1), many)
    for one, other in zip(large, small, strict=True):
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-5)


def test_equal_options_of_two_questions_are_scored_once_and_alike(model: Path) -> None:
    twin = ReaderQuestion("who?", ("the harbour", "a dog", "of boats"), ("judge", "oven", "fox"))
    one, other = answered(opened(with_card(model), batch_tokens=1), [QUESTIONS[0], twin])
    assert (one.scores[0], one.scores[2]) == (other.scores[0], other.scores[2])
    assert one.scores[1] != other.scores[1]


def test_a_question_that_does_not_fit_is_left_unread_and_the_others_are_read(model: Path) -> None:
    long = ReaderQuestion("who " * 70, ("a",), ("b", "c"))
    found = answered(opened(with_card(model)), [QUESTIONS[0], long])
    assert found[0].option is not None
    assert found[1].option is None
    assert found[1].unread is not None
    assert "tokens without any context, and the model reads 64" in found[1].unread
    assert ReaderAnswer.from_json(json.loads(json.dumps(found[1].as_json()))) == found[1]
    assert ReaderAnswer.from_json(json.loads(json.dumps(found[0].as_json()))) == found[0]


def test_an_input_is_filled_to_the_last_token(model: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(model)
    encoder = OptionEncoder(tokenizer, 40, InputForm.parts)
    for count in range(60):
        encoded = encoder.encode("a " * count, "who", "dog")
        tokens = max(len(tokenizer("a " * count, add_special_tokens=False)["input_ids"]), 1)
        assert encoder.length(encoded) <= 40
        assert encoded.shortened == (len(encoded.context) < tokens)
        assert encoder.length(encoded) == 40 or len(encoded.context) == tokens
        assert encoder.batch([encoded]).ids.shape == (1, encoder.length(encoded))
    # Letters are tokens: 40 less those around the parts, an option of 3 and a context of 1.
    most = 40 - (6 if tokenizer.cls_token == "<s>" else 4) - 3 - 1
    assert encoder.length(encoder.encode("a", "w" * most, "dog")) == 40
    with pytest.raises(TooLongError, match="takes 41 tokens without any context, and the model reads 40"):
        encoder.encode("a", "w" * (most + 1), "dog")


def test_a_text_cannot_end_its_part(model: Path) -> None:
    """A special token in a text is read as letters, so no context can pretend to be the question."""
    tokenizer = AutoTokenizer.from_pretrained(model)
    encoder = OptionEncoder(tokenizer, 64)
    encoded = encoder.encode(f"a {tokenizer.sep_token} b", "who", "dog")
    assert tokenizer.sep_token_id not in encoded.context


def test_identity_changes_with_weights_card_and_precision(tmp_path: Path) -> None:
    folder = multiple_choice(tmp_path / "model")
    pairs = opened(folder).identity
    assert opened(folder).identity == pairs
    assert opened(folder, compute="bf16").identity != pairs
    carded = opened(with_card(folder)).identity
    assert carded != pairs
    multiple_choice(folder, seed=1)
    assert opened(folder).identity != carded


def test_other_models_are_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is no reader"):
        opened(_encoder(tmp_path / "encoder"))
    folder = multiple_choice(tmp_path / "other")
    (folder / CARD).write_text(ReaderCard("oracle", "mcqa", 64).as_json(), encoding="utf-8")
    with pytest.raises(ModelError, match="a reader of the kind 'oracle'; there is: multiple-choice"):
        opened(folder)
    good = json.loads(ReaderCard("multiple-choice", "mcqa", 64).as_json())
    for broken in ({}, [], {**good, "inputs": "parts"}, {**good, "training": None}, {**good, "max_tokens": "many"}):
        (folder / CARD).write_text(json.dumps(broken), encoding="utf-8")
        with pytest.raises(ModelError, match="is not the card of a reader"):
            opened(folder)
    for unfit in ({**good, "inputs": {"form": "prose"}}, {**good, "kind": "generative"}):
        (folder / CARD).write_text(json.dumps(unfit), encoding="utf-8")
        with pytest.raises(ModelError, match="is not that of a reader of the kind"):
            opened(folder)
    with pytest.raises(ModelError, match=r"says inputs of 100 tokens, and the model takes\s+64"):
        answered(opened(with_card(folder, 100)), QUESTIONS[:1])
    assert opened(with_card(folder)).refusal(ReaderQuestion("who")) is not None


def _encoder(folder: Path) -> Path:
    cross_encoder(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["BertModel"]}), encoding="utf-8")
    return folder


def test_a_question_has_no_context_one_or_one_for_each_option() -> None:
    with pytest.raises(ValueError, match="2 contexts for 3 options"):
        ReaderQuestion("q", ("a", "b"), ("1", "2", "3"))
    assert ReaderQuestion("q", (), ("1", "2")).context_of(1) == ""
    assert ReaderQuestion("q", ("a",), ("1", "2")).context_of(1) == "a"
    assert ReaderQuestion("q", ("a", "b"), ("1", "2")).context_of(1) == "b"
