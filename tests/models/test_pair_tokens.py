"""Pairs as token ids, against the tokenizers of transformers themselves."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
import transformers
from hypothesis import given
from hypothesis import strategies as st
from tiny_models.cross_encoder import SPECIAL, cross_encoder
from tiny_models.t5 import t5_tokenizer

from quati_pool.models.pair_tokens import Frame, Part, TextReader, Tokens

pytestmark = pytest.mark.neural

FAMILIES = ["bert", "roberta", "xlm-roberta"]
WRITTEN = {**SPECIAL, "t5": ["<pad>", "</s>", "<extra_id_0>", "<extra_id_9>"]}
words = st.lists(st.sampled_from(["the", "harbour", "quay", "a", "Não", "maré,", "x-7", "é"]), max_size=12)
texts = words.map(" ".join) | st.text(max_size=30)


@cache
def tokenizer(family: str) -> Any:
    if family == "t5":
        return t5_tokenizer()
    folder = cross_encoder(Path(mkdtemp()), family)  # type: ignore[arg-type]
    return transformers.AutoTokenizer.from_pretrained(folder)


def tokens(*ids: int) -> Tokens:
    return np.array(ids, dtype=np.int32)


@pytest.mark.parametrize("family", [*FAMILIES, "t5"])
@given(text=texts)
def test_ordinary_text_has_the_tokens_that_the_tokenizer_gives_it(family: str, text: str) -> None:
    expected = tokenizer(family)(text, add_special_tokens=False)["input_ids"]
    reader = TextReader(tokenizer(family), 5)
    assert reader.whole([text])[0].tolist() == expected
    assert reader.beginnings([text])[0].tolist() == expected[:5]


@pytest.mark.parametrize(
    ("family", "token"), [(family, token) for family, written in WRITTEN.items() for token in written]
)
@pytest.mark.parametrize("around", ["{}", "the {} harbour", "the{}harbour {}{}"])
def test_a_special_token_written_out_is_none(family: str, token: str, around: str) -> None:
    text = around.format(*[token] * around.count("{}"))
    known = tokenizer(family)
    special = set(known.all_special_ids) - {known.unk_token_id}
    if token != known.unk_token:
        # Without care it is one, so that this test can fail.
        assert special & set(known(text, add_special_tokens=False)["input_ids"])
    reader = TextReader(known, 50)
    for read in (reader.whole([text])[0], reader.beginnings([text])[0]):
        assert not special & set(read.tolist())
        assert ("th" in "".join(known.convert_ids_to_tokens(read.tolist()))) == ("the" in text)


def test_it_is_read_as_its_letters() -> None:
    known = tokenizer("bert")
    read = TextReader(known, 50).whole(["the [SEP] a"])[0]
    assert known.convert_ids_to_tokens(read.tolist()) == ["the", "[", "s", "e", "p", "]", "a"]


def test_neither_is_one_that_appears_only_once_the_text_is_normalised() -> None:
    from tokenizers import normalizers

    known = t5_tokenizer()
    known.backend_tokenizer.normalizer = normalizers.NFKC()  # as the real T5's and XLM-R's, full-width letters
    text = "the ＜/s＞ harbour"
    assert known.eos_token_id in known(text, add_special_tokens=False)["input_ids"]
    assert known.eos_token_id not in TextReader(known, 50).whole([text])[0]


def test_a_text_as_long_as_a_book_begins_with_the_same_tokens() -> None:
    text = "the harbour, a quay " * 3_000
    for family in (*FAMILIES, "t5"):
        known = tokenizer(family)
        expected = known(text, add_special_tokens=False, verbose=False)["input_ids"][:40]
        assert TextReader(known, 40).beginnings(["a", text, "", text])[1].tolist() == expected


def test_many_texts_and_none() -> None:
    reader = TextReader(tokenizer("bert"), 3)
    assert reader.beginnings([]) == []
    assert [len(read) for read in reader.beginnings(["the " * 400_000] * 3 + ["", "the"])] == [3, 3, 3, 0, 1]


@pytest.mark.parametrize("family", FAMILIES)
@given(query=texts, passage=texts.filter(bool))
def test_a_framed_pair_is_what_the_tokenizer_makes_of_two_texts(family: str, query: str, passage: str) -> None:
    known = tokenizer(family)
    reader, frame = TextReader(known, 1000), Frame.of(known)
    expected = known(query, passage, return_token_type_ids=True)
    batch = frame.batch([(reader.whole([query])[0], reader.whole([passage])[0])])
    assert batch.ids[0].tolist() == expected["input_ids"]
    assert batch.types[0].tolist() == expected["token_type_ids"]
    assert batch.mask.all()


def test_short_pairs_are_padded_on_the_side_of_the_tokenizer() -> None:
    part = Part(tokens(7), tokens(1))
    frame = Frame(part, Part.untyped(tokens()), part, query_type=2, passage_type=3, pad=9, pad_type=5)
    pairs = [(tokens(1), tokens(2, 3)), (tokens(4), tokens())]
    batch = frame.batch(pairs)
    assert batch.ids.tolist() == [[7, 1, 2, 3, 7], [7, 4, 7, 9, 9]]
    assert batch.types.tolist() == [[1, 2, 3, 3, 1], [1, 2, 1, 5, 5]]
    assert batch.mask.tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    left = Frame(part, Part.untyped(tokens()), part, 2, 3, 9, 5, pads_left=True).batch(pairs)
    assert left.ids.tolist() == [[7, 1, 2, 3, 7], [9, 9, 7, 4, 7]]
    assert left.mask.tolist() == [[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]]


def test_a_tokenizer_that_does_not_say_whose_a_token_is_has_no_frame() -> None:
    with pytest.raises(ValueError, match="tokenizer"):
        Frame.of(transformers.CanineTokenizer())
