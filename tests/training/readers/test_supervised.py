"""Training of readers that write, mark and classify: losses against transformers' own, and a killed training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from quati_pool.models.errors import ModelError
from quati_pool.models.readers.base import ReaderQuestion
from quati_pool.training.fit import FitSettings, Fitted
from quati_pool.training.readers.candidates import CandidateDecisions, CandidatesQuestion
from quati_pool.training.readers.classifier import LabelledText, TextClassification
from quati_pool.training.readers.extractive import AnswerMarking, FoundAnswer
from quati_pool.training.readers.generative import AnswerWriting, WrittenAnswer
from quati_pool.training.readers.supervised import load_for_training, train
from tests.tiny_models.bart import bart
from tests.tiny_models.cross_encoder import cross_encoder
from tests.tiny_models.t5 import t5

pytestmark = pytest.mark.neural

ANSWERS = [
    WrittenAnswer("1", ReaderQuestion("Where?", ("In the harbour.",)), "the harbour"),
    WrittenAnswer("2", ReaderQuestion("Who is there, and why?"), "no one"),
    WrittenAnswer("3", ReaderQuestion("Which?", ("A text.",), ("yes", "no")), "yes"),
]
TEXTS = [
    LabelledText("1", "Where?", "the harbour", True),
    LabelledText("2", "Who was it?", "the sea and the sky", False),
    LabelledText("3", "What?", "a boat", True),
]
FOUND = [
    FoundAnswer("1", "where?", "they go to the harbour", "the harbour"),
    FoundAnswer("2", "what?", "a e i o u " * 12 + "the sea", "sea"),
    FoundAnswer("3", "who?", "the sky", "nobody"),
]


def tokenizer_of(folder: Path) -> Any:
    return transformers.AutoTokenizer.from_pretrained(folder)


def test_the_loss_of_written_answers_is_that_of_transformers(tmp_path: Path) -> None:
    folder = t5(tmp_path / "model")
    tokenizer = tokenizer_of(folder)
    model = transformers.T5ForConditionalGeneration.from_pretrained(folder).eval()
    writing = AnswerWriting(tokenizer, 128, 32)
    with torch.no_grad():
        loss = model(**writing.collate([writing.encoded(one) for one in ANSWERS])).loss
    texts = [
        "question: Where?  context: In the harbour.",
        "question: Who is there, and why?",
        r"Which? \n (A) yes (B) no \n A text.",
    ]
    encoded = tokenizer(texts, padding=True, return_tensors="pt")
    labels = tokenizer([one.answer for one in ANSWERS], padding=True, return_tensors="pt").input_ids
    labels[labels == tokenizer.pad_token_id] = -100
    with torch.no_grad():
        expected = model(**encoded, labels=labels).loss
    assert float(loss) == pytest.approx(float(expected), abs=1e-5)


@pytest.mark.parametrize("model", [t5, bart])
def test_an_answer_has_the_special_tokens_of_its_model(tmp_path: Path, model: Callable[[Path], Path]) -> None:
    """T5 ends an answer, BART begins it too."""
    tokenizer = tokenizer_of(model(tmp_path / "model"))
    writing = AnswerWriting(tokenizer, 128, 32)
    for one in ANSWERS:
        assert writing.encoded(one).answer.tolist() == tokenizer(text_target=one.answer).input_ids


def test_a_long_answer_is_cut_without_an_end_and_counted(tmp_path: Path) -> None:
    tokenizer = tokenizer_of(t5(tmp_path / "model"))
    writing = AnswerWriting(tokenizer, 30, 6)
    long = WrittenAnswer("4", ReaderQuestion("Why?", ("x " * 40,)), "a b c d e")  # 2 tokens each
    ends = [tokenizer.eos_token_id in writing.encoded(one).answer for one in (long, ANSWERS[0])]
    assert ends == [False, True]
    assert len(writing.encoded(long).answer) == 6
    assert writing.cut([long, WrittenAnswer("5", ReaderQuestion("Why?"), "the harbour")]) == (1, 1)


def test_the_loss_of_classified_texts_is_cross_entropy(tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path / "model", labels=2)
    tokenizer = tokenizer_of(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    inputs = TextClassification(tokenizer, 64)
    encoded = tokenizer([one.text for one in TEXTS], [one.question for one in TEXTS], padding=True, return_tensors="pt")
    with torch.no_grad():
        loss = model(**inputs.collate([inputs.encoded(one) for one in TEXTS])).loss
        probabilities = model(**encoded).logits.softmax(dim=1)
    expected = -probabilities[[0, 1, 2], [1, 0, 1]].log().mean()
    assert float(loss) == pytest.approx(float(expected), abs=1e-5)


def test_the_loss_of_candidates_is_cross_entropy_over_those_of_a_question(tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path / "model", labels=2)
    tokenizer = tokenizer_of(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    asked = CandidatesQuestion("q", "c", "the sea?", ("Ana", "Rui"), ("", "a boat"), (True, False))
    decisions = CandidateDecisions(tokenizer, 64, 0)
    encoded = tokenizer(["Ana ; the sea?", "Rui ; the sea? ; a boat"], padding=True, return_tensors="pt")
    with torch.no_grad():
        loss = model(**decisions.collate([decisions.encoded(0, asked)])).loss
        probabilities = model(**encoded).logits.softmax(dim=1)
    expected = -probabilities[[0, 1], [1, 0]].log().mean()
    assert float(loss) == pytest.approx(float(expected), abs=1e-5)


def test_marked_tokens_are_the_closest_stretch_or_the_first_token(tmp_path: Path) -> None:
    tokenizer = tokenizer_of(cross_encoder(tmp_path / "model", head="ForQuestionAnswering", labels=2))
    marking = AnswerMarking(tokenizer, 40)
    marked = marking.marked(FOUND)
    assert marked.without == 1
    assert marked.f1 == 100
    batch = marking.collate(marked.windows)
    texts = []
    for ids, start, end in zip(batch["input_ids"], batch["start_positions"], batch["end_positions"], strict=True):
        texts.append(tokenizer.decode(ids[start : end + 1]))
    assert texts[0] == "the harbour"
    assert texts[-1] == "s e a" or texts[-1] == "sea"
    # The windows before the last do not hold the stretch.
    assert set(texts[1:-1]) <= {"[CLS]", texts[-1]}
    assert "[CLS]" in texts
    assert len(set(marked.ids)) == len(marked.ids) == len(marked.windows)


def fitted(folder: Path, checkpoints: Path, progress: Any, **more: Any) -> tuple[Any, Fitted]:
    tokenizer = tokenizer_of(folder)
    model = load_for_training(
        "AutoModelForSequenceClassification", folder, "tiny", 0, num_labels=2, hidden_dropout_prob=0.1
    )
    inputs = TextClassification(tokenizer, 64)
    settings = FitSettings(epochs=6, batch_size=2, learning_rate=1e-3, patience=None, device="cpu", checkpoint_steps=2)
    examples = inputs.examples(TEXTS)
    return model, train(model, examples, examples, inputs.collate, settings, checkpoints, progress, **more)


def test_a_killed_training_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path / "model", labels=1)
    unbroken, whole = fitted(folder, tmp_path / "unbroken", lambda done, total, words: None)

    def killed(done: int, total: int, words: str) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted(folder, tmp_path / "broken", killed)
    steps: list[int] = []
    model, again = fitted(folder, tmp_path / "broken", lambda done, total, words: steps.append(done))
    assert steps[0] == 5  # checkpoints are made every second step
    assert again == whole
    assert whole.losses[-1][1] < whole.losses[0][1]
    for name, weights in unbroken.state_dict().items():
        assert torch.allclose(weights, model.state_dict()[name], rtol=0, atol=1e-6), name


def test_a_base_of_another_size_than_its_configuration_is_refused(tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path / "model", labels=1)
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config.replace('"intermediate_size": 64', '"intermediate_size": 48'))
    with pytest.raises(ModelError, match=r"of another size than its config\.json says"):
        load_for_training("AutoModelForSequenceClassification", folder, "tiny", 0, num_labels=2)
