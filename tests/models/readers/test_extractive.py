from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.models.readers.base import ReaderQuestion
from quati_pool.models.readers.card import CARD, ReaderCard
from quati_pool.models.readers.extractive import Windows, best_span
from tests.models.readers.words import opened
from tests.tiny_models.cross_encoder import Family, cross_encoder

pytestmark = pytest.mark.neural

SHORT = ReaderQuestion("the harbour?", ("the sea, the harbour",))
LONG = ReaderQuestion("the harbour?", ("Boats of the harbour go out; nets of the sea come in. " * 4,))
LOGITS = st.lists(st.integers(-5, 5), min_size=1, max_size=12)


@given(st.data(), LOGITS, st.integers(1, 12))
def test_the_best_span_is_that_of_brute_force(data: st.DataObject, starts: list[int], longest: int) -> None:
    ends = data.draw(st.lists(st.integers(-5, 5), min_size=len(starts), max_size=len(starts)))
    spans = [(first, last) for first, last in product(range(len(starts)), repeat=2) if first <= last < first + longest]
    best = max(starts[first] + ends[last] for first, last in spans)
    expected = next(span for span in spans if starts[span[0]] + ends[span[1]] == best)
    found = best_span(np.array(starts, np.float32), np.array(ends, np.float32), longest)
    assert (found.first, found.last, found.score) == (*expected, best)


@pytest.mark.parametrize("family", ["bert", "roberta", "xlm-roberta"])
def test_a_short_text_is_answered_as_transformers_computes_it(tmp_path: Path, family: Family) -> None:
    folder = cross_encoder(tmp_path / "model", family, head="ForQuestionAnswering", labels=2)
    [(_, answer)] = opened(folder).answers([SHORT])
    model = transformers.AutoModelForQuestionAnswering.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    encoded = tokenizer(SHORT.question, SHORT.contexts[0], return_tensors="pt", return_offsets_mapping=True)
    offsets = encoded.pop("offset_mapping")[0].tolist()
    with torch.no_grad():
        output = model(**encoded)
    context = [place for place, whose in enumerate(encoded.sequence_ids(0)) if whose == 1]
    spans = [(first, last) for first, last in product(context, repeat=2) if first <= last]
    starts, ends = output.start_logits[0].tolist(), output.end_logits[0].tolist()
    first, last = max(spans, key=lambda span: starts[span[0]] + ends[span[1]])
    assert answer.text == SHORT.contexts[0][offsets[first][0] : offsets[last][1]].strip()
    assert answer.scores[0] == pytest.approx(starts[first] + ends[last], abs=1e-4)
    assert not answer.shortened


def test_a_long_text_is_read_in_windows_to_its_end(tmp_path: Path) -> None:
    """The oracle reads each window by itself, with the tokens of the whole text in a plain loop."""
    folder = cross_encoder(tmp_path / "model", head="ForQuestionAnswering", labels=2)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForQuestionAnswering.from_pretrained(folder).eval()
    question = tokenizer(LONG.question, add_special_tokens=False).input_ids
    context = tokenizer(LONG.contexts[0], add_special_tokens=False, return_offsets_mapping=True)
    tokens, offsets = context.input_ids, context.offset_mapping
    room = 64 - 3 - len(question)
    step = room - room // 2
    best = (-np.inf, "")
    start = 0
    while True:
        part = tokens[start : start + room]
        ids = [2, *question, 3, *part, 3]
        types = [0] * (len(question) + 2) + [1] * (len(part) + 1)
        with torch.no_grad():
            output = model(torch.tensor([ids]), token_type_ids=torch.tensor([types]))
        shift = len(question) + 2
        for first in range(len(part)):
            for last in range(first, len(part)):
                score = float(output.start_logits[0, shift + first] + output.end_logits[0, shift + last])
                if score > best[0] + 1e-5:
                    best = score, LONG.contexts[0][offsets[start + first][0] : offsets[start + last][1]]
        if start + room >= len(tokens):
            break
        start += step
    for batch_tokens in (1, 10**5):
        [(_, answer)] = opened(folder, batch_tokens=batch_tokens).answers([LONG])
        assert answer.text == best[1]
        assert answer.scores[0] == pytest.approx(best[0], abs=1e-4)


@given(length=st.integers(0, 200))
def test_windows_leave_no_word_out(length: int) -> None:
    windows = Windows(_tokenizer(), 40).of("a b c", " ".join(["b"] * length))
    starts = [int(place) for window in windows for place in window.spans[:, 0]]
    assert set(starts) == {2 * place for place in range(length)}
    assert all(window.length <= 40 for window in windows)
    # No window is contained in the one before.
    assert all(a.spans[-1, 1] < b.spans[-1, 1] for a, b in pairwise(windows))


def test_the_longest_answer_is_that_of_the_card(tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path / "model", head="ForQuestionAnswering", labels=2)
    (folder / CARD).write_text(ReaderCard("extractive", "mrc", 64, {"answer_tokens": 1}).as_json(), encoding="utf-8")
    [(_, answer)] = opened(folder).answers([SHORT])
    assert len(str(answer.text).split()) == 1


def test_an_empty_text_has_an_empty_answer_and_options_are_chosen_by_f1(tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path / "model", head="ForQuestionAnswering", labels=2)
    reader = opened(folder)
    choice = ReaderQuestion("the harbour?", ("the",), ("moon", "the harbour"))  # one token to mark
    answers = dict(reader.answers([ReaderQuestion("the?", (" ",)), SHORT, choice]))
    assert answers[0].text == ""
    assert answers[0].scores == ()
    assert answers[2].option == 1


def test_what_it_cannot_read_is_refused(tmp_path: Path) -> None:
    reader = opened(cross_encoder(tmp_path / "model", head="ForQuestionAnswering", labels=2))
    assert "there is none" in str(reader.refusal(ReaderQuestion("Who?")))
    without_text = ReaderQuestion("Who?", (), ("c", "d"))
    assert reader.refusal(without_text) is None
    [(_, answer)] = reader.answers([without_text])
    assert (answer.text, answer.scores) == ("", (0, 0))
    assert reader.refusal(SHORT) is None
    answers = dict(reader.answers([ReaderQuestion("a" * 70, ("text",)), SHORT]))
    assert "leaves no room for a text in the 64" in str(answers[0].unread)
    assert answers[1].text


def _tokenizer() -> transformers.PreTrainedTokenizerBase:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"]
    return transformers.BertTokenizer(vocab={word: row for row, word in enumerate(words)})
