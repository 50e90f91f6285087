"""Batches by token count, halving, and vectors equal to those of sentence-transformers."""

from __future__ import annotations

import functools
import gc
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer
from small_stores import store
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from quati_pool.errors import QuatiPoolError
from quati_pool.models import text_truncation
from quati_pool.models.batches import Halving, token_batches
from quati_pool.retrieval.encoders import encoding
from quati_pool.retrieval.encoders.encoding import Encoder, pieces, require_finite
from tests.tiny_models import dense as tiny

pytestmark = pytest.mark.neural

# float32 sums in another order: a batch of other texts or another width.
TOLERANCE = 1e-5


@given(st.lists(st.integers(0, 600), max_size=80), st.integers(1, 2000))
def test_batches_hold_every_text_once_and_keep_to_the_budget(lengths: list[int], budget: int) -> None:
    batches = token_batches(np.array(lengths, dtype=np.int64), budget)
    assert sorted(place for batch in batches for place in batch.tolist()) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[place] for place in batch)
        assert len(batch) == 1 or len(batch) * longest <= budget
    ordered = [lengths[place] for batch in batches for place in batch.tolist()]
    assert ordered == sorted(lengths, reverse=True)


def full(limit: int, kind: type[BaseException] = torch.OutOfMemoryError) -> Callable[[list[int]], list[int]]:
    """Work that fits for at most ``limit`` items."""

    def work(items: list[int]) -> list[int]:
        if len(items) > limit:
            raise kind("CUDA out of memory. Tried to allocate 3.00 GiB")
        return [10 * item for item in items]

    return work


@pytest.mark.parametrize("kind", [torch.OutOfMemoryError, torch.cuda.OutOfMemoryError, RuntimeError])
@pytest.mark.parametrize("limit", [1, 2, 3, 5, 16])
def test_a_batch_that_does_not_fit_is_halved_and_nothing_is_lost(
    limit: int, kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gc, "collect", lambda: 0)  # takes long here, and frees nothing
    notes: list[str] = []
    halving = Halving(notes.append)
    for batch in (list(range(11)), list(range(100, 107)), [5]):
        done = list(halving.run(full(limit, kind), batch))
        assert [item for part, _ in done for item in part] == batch
        assert [value for _, values in done for value in values] == [10 * item for item in batch]
    assert len(notes) == (1 if limit < 11 else 0)
    assert all("going on with" in note for note in notes)


def test_the_size_that_fitted_is_remembered() -> None:
    tried: list[int] = []
    halving = Halving(lambda note: None)

    def work(items: list[int]) -> None:
        tried.append(len(items))
        full(4)(items)

    list(halving.run(work, range(16)))
    first, tried[:] = list(tried), []
    list(halving.run(work, range(16)))
    assert first[:3] == [16, 8, 4]
    assert tried == [4, 4, 4, 4]


def test_one_text_that_does_not_fit_is_refused_in_one_line() -> None:
    with pytest.raises(QuatiPoolError, match=r"not enough memory for a single text; lower max_tokens"):
        list(Halving(lambda note: None).run(full(0), [1, 2, 3]))


def test_other_errors_of_the_model_are_not_swallowed() -> None:
    def work(items: list[int]) -> None:
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes"):
        list(Halving(lambda note: None).run(work, [1, 2]))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_vector_that_is_not_finite_is_named(value: float) -> None:
    vectors = np.ones((4, 3), dtype=np.float32)
    require_finite(vectors, "abcd", "m")
    vectors[2, 1] = value
    with pytest.raises(QuatiPoolError, match=r"^model 'm' gives passage 'c' a vector with NaN"):
        require_finite(vectors, ["a", "b", "c", "d"], "m")
    with pytest.raises(QuatiPoolError, match=r"query 'row 2'"):
        require_finite(vectors, lambda row: f"row {row}", "m", "query")


def test_large_finite_vectors_pass() -> None:
    require_finite(np.full((10, 10), np.finfo(np.float32).max, dtype=np.float32), [str(i) for i in range(10)], "m")


@pytest.mark.parametrize("size", [1, 3, 50])
def test_pieces_are_the_same_wherever_a_run_begins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(encoding, "PIECE_CHARACTERS", 40)
    monkeypatch.setattr(encoding, "_READ", 2)
    texts = ["x" * (7 * i % 60) for i in range(23)]
    corpus = store(tmp_path / "s", texts)
    ordinals = np.array([1, 2, 3, 5, 8, 9, 10, 13, 20, 21, 22])
    whole = [(some.tolist(), read) for some, read in pieces(corpus, ordinals, 0, size)]
    assert [ordinal for some, _ in whole for ordinal in some] == ordinals.tolist()
    assert all(read == [texts[ordinal] for ordinal in some] for some, read in whole)
    done = 0
    for at, (some, _) in enumerate(whole):
        assert [(a.tolist(), b) for a, b in pieces(corpus, ordinals, done, size)] == whole[at:]
        done += len(some)


TEXTS = [
    "the court judge heard the appeal", "", "boats", "a witness of the tide, the harbour and the keeper. " * 20,
    "   ", "\x00\x07 control\x1b", "baker kneads dough before the oven rises", "日本語 😀", "[SEP] [MASK] the [PAD]",
    "x" * 3000, "fox\n\ndog\t" * 7, "\u200b", "água não é rio floresta jacaré", "judge", "dog " * 63,
]  # fmt: skip


def folders(tmp: Path) -> dict[str, Path]:
    return {
        "mean": tiny.sentence_transformer(tmp / "mean"),
        "dot": tiny.dot_model(tmp / "dot"),
        "static": tiny.static(tmp / "static"),
        "prompts left out": tiny.sentence_transformer(tmp / "out", include_prompt=False),
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SentenceTransformer]:
    found = folders(tmp_path_factory.mktemp("models"))
    return {name: SentenceTransformer(str(folder), device="cpu") for name, folder in found.items()}


def encoded(encoder: Encoder, texts: Sequence[str], **settings: Any) -> npt.NDArray[np.float32]:
    told = {"prompt": "", "task": "document", "truncate_dim": None, "normalize": False, **settings}
    return encoder.encode(texts, **told)


@pytest.mark.parametrize("name", ["mean", "dot", "static", "prompts left out"])
@pytest.mark.parametrize("budget", [1, 40, 100_000])
@pytest.mark.parametrize("prompt", ["", "query: "])
def test_vectors_equal_those_of_sentence_transformers(
    made: dict[str, SentenceTransformer], monkeypatch: pytest.MonkeyPatch, name: str, budget: int, prompt: str
) -> None:
    monkeypatch.setattr(encoding, "_TOKENISE", 4)
    expected = made[name].encode(TEXTS, prompt=prompt or None, batch_size=3)
    found = encoded(Encoder(made[name], ["cpu"], budget, pytest.fail), TEXTS, prompt=prompt)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=TOLERANCE * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("truncate_dim", [1, 5, 32])
@pytest.mark.parametrize("normalize", [True, False])
def test_vectors_are_cut_and_then_normalised(
    made: dict[str, SentenceTransformer], truncate_dim: int, normalize: bool
) -> None:
    expected = made["dot"].encode(TEXTS, truncate_dim=truncate_dim, normalize_embeddings=normalize)
    found = encoded(Encoder(made["dot"], ["cpu"], 500, print), TEXTS, truncate_dim=truncate_dim, normalize=normalize)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("left", [True, False])
def test_batches_are_cut_where_the_padding_is(left: bool) -> None:
    """Rows of 2, 5, 1 and 3 tokens out of two parts; 9 is the padding, and what is no row stays."""
    rows = [[1, 2], [3, 4, 5, 6, 7], [8], [1, 2, 3]]

    def part(some: list[list[int]]) -> dict[str, Any]:
        width = max(map(len, some))
        ids = [[9] * (width - len(row)) + row if left else row + [9] * (width - len(row)) for row in some]
        return {"input_ids": torch.tensor(ids), "attention_mask": (torch.tensor(ids) != 9).long(), "prompt_length": 2}

    tokenized = encoding.Tokenized([part(rows[:2]), part(rows[2:])], padding=9)
    assert tokenized.lengths.tolist() == [2, 5, 1, 3]
    found = tokenized.batch([3, 0])
    assert found["input_ids"].tolist() == ([[1, 2, 3], [9, 1, 2]] if left else [[1, 2, 3], [1, 2, 9]])
    assert found["attention_mask"].tolist() == ([[1, 1, 1], [0, 1, 1]] if left else [[1, 1, 1], [1, 1, 0]])
    assert found["prompt_length"] == 2
    assert tokenized.batch([2])["input_ids"].tolist() == [[8]]


@pytest.mark.parametrize("name", ["mean", "static"])
def test_several_devices_give_the_same_vectors(made: dict[str, SentenceTransformer], name: str) -> None:
    one = encoded(Encoder(made[name], ["cpu"], 60, print), TEXTS * 3)
    three = encoded(Encoder(made[name], ["cpu"] * 3, 60, print), TEXTS * 3)
    np.testing.assert_allclose(three, one, atol=TOLERANCE)


def test_an_error_on_one_of_several_devices_ends_the_work(
    made: dict[str, SentenceTransformer], monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = Encoder(made["mean"], ["cpu", "cpu"], 60, print)
    monkeypatch.setattr(SentenceTransformer, "forward", lambda *args, **kwargs: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        encoded(encoder, TEXTS)


@pytest.mark.parametrize("devices", [1, 2])
def test_out_of_memory_halves_the_batch_and_changes_no_vector(
    made: dict[str, SentenceTransformer], monkeypatch: pytest.MonkeyPatch, devices: int
) -> None:
    notes: list[str] = []
    forward = SentenceTransformer.forward

    def small(self: Any, features: dict[str, Any], **kwargs: Any) -> Any:
        if features["input_ids"].numel() > 100:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return forward(self, features, **kwargs)

    expected = encoded(Encoder(made["mean"], ["cpu"], 2000, pytest.fail), TEXTS)
    monkeypatch.setattr(SentenceTransformer, "forward", small)
    found = encoded(Encoder(made["mean"], ["cpu"] * devices, 2000, notes.append), TEXTS)
    np.testing.assert_allclose(found, expected, atol=TOLERANCE)
    assert 1 <= len(notes) <= devices


def test_progress_counts_texts_up_to_all(made: dict[str, SentenceTransformer]) -> None:
    seen: list[int] = []
    encoded(Encoder(made["mean"], ["cpu"], 60, print), TEXTS, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == len(TEXTS)


def test_no_texts_give_no_vectors(made: dict[str, SentenceTransformer]) -> None:
    assert encoded(Encoder(made["mean"], ["cpu"], 60, print), []).shape == (0, tiny.WIDTH)


WORDS = st.sampled_from(
    ["court", "judging", "x" * 150, "Água", "e\u0301", "[SEP]", "日本", "a,b.c", "\u2003", "\n", "1"]
)


@given(st.lists(WORDS, min_size=1, max_size=60), st.integers(1, 40))
def test_a_shortened_text_has_the_same_first_tokens(words: list[str], repeats: int) -> None:
    text = " ".join(words * repeats)
    model = short_model()
    short = text_truncation.TextTruncation(model.tokenizer, model.max_seq_length)(text)
    assert text.startswith(short)
    tokenizer = model.tokenizer
    first, all_of_it = (tokenizer(t, truncation=True, max_length=model.max_seq_length) for t in (short, text))
    assert first["input_ids"] == all_of_it["input_ids"]


@functools.cache
def short_model() -> Any:
    """A tokenizer with a limit of eight tokens, so that texts of some hundred characters are long."""

    class Model:
        max_seq_length = 8

    model: Any = Model()
    with tempfile.TemporaryDirectory() as folder:
        tiny.bert_folder(Path(folder) / "bert")
        model.tokenizer = transformers.AutoTokenizer.from_pretrained(Path(folder) / "bert")
    return model


def test_a_megabyte_is_shortened_before_it_is_tokenised() -> None:
    model = short_model()
    text = "the court heard the appeal " * 40_000
    assert len(text_truncation.TextTruncation(model.tokenizer, model.max_seq_length)(text)) < 2000
    # One word without an end: nothing says where its tokens would part, so it stays whole.
    assert text_truncation.TextTruncation(model.tokenizer, model.max_seq_length)("x" * 1_000_000) == "x" * 1_000_000


@pytest.mark.parametrize(
    ("splits", "pre_tokenizer"),
    [
        (True, pre_tokenizers.BertPreTokenizer()),
        (True, pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])),
        (True, pre_tokenizers.Metaspace(split=True)),
        (True, pre_tokenizers.ByteLevel(use_regex=True)),
        (False, pre_tokenizers.Metaspace(split=False)),
        (False, pre_tokenizers.ByteLevel(use_regex=False)),
        (False, pre_tokenizers.Split(",", "isolated")),
        (False, pre_tokenizers.Punctuation()),
        (False, None),
    ],
    ids=["bert", "xlm-r", "metaspace", "bytes", "metaspace-whole", "bytes-whole", "split", "punctuation", "none"],
)
def test_only_tokenizers_that_split_at_spaces_are_shortened_for(splits: bool, pre_tokenizer: Any) -> None:
    tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.NFKC()
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    assert text_truncation.splits_at_spaces(tokenizer) is splits
