"""The corpus store: ordinals, ids and texts there and back, through small batches and colliding hashes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_runs import any_id

from quati_pool.corpus import store as module
from quati_pool.corpus.store import CorpusStore, DuplicateDocIdError
from quati_pool.records import Ids

any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
passages = st.dictionaries(any_id, any_text, max_size=20)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH_ROWS", 4)
    monkeypatch.setattr(module, "BATCH_CHARACTERS", 40)


def colliding(doc_ids: Sequence[str]) -> npt.NDArray[np.uint64]:
    """Three hashes for all ids there are."""
    return np.array([len(doc_id) % 3 for doc_id in doc_ids], dtype=np.uint64)


def write(folder: Path, doc_ids: Sequence[str], texts: Sequence[str] | None = None, size: int = 3) -> CorpusStore:
    """A store from batches of ``size``, which are not the store's own."""
    texts = texts or [f"text of {doc_id}" for doc_id in doc_ids]
    starts = range(0, len(doc_ids), size)
    given = [(doc_ids[start : start + size], texts[start : start + size]) for start in starts]
    assert CorpusStore.write(folder, given) == len(doc_ids)
    return CorpusStore(folder)


@pytest.mark.parametrize("hashes", ["real", "colliding"])
@given(passages, st.integers(1, 9), st.data())
def test_there_and_back(
    tmp_path_factory: pytest.TempPathFactory,
    hashes: str,
    corpus: dict[str, str],
    size: int,
    data: st.DataObject,
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if hashes == "colliding":
            patch.setattr(module, "_hashed", colliding)
        doc_ids, texts = list(corpus), list(corpus.values())
        store = write(tmp_path_factory.mktemp("store"), doc_ids, texts, size)
        assert len(store) == len(store.ids) == len(corpus)
        assert store.ids.values.to_pylist() == doc_ids
        batches = list(store.batches())
        assert [text for batch in batches for text in batch.column("text").to_pylist()] == texts
        assert all(len(batch) == 4 for batch in batches[:-1])

        ordinals = data.draw(st.lists(st.integers(0, len(corpus) - 1), max_size=12)) if corpus else []
        codes = np.array(ordinals, dtype=np.int64)
        assert store.texts(codes) == [texts[ordinal] for ordinal in ordinals]
        assert store.ids.decode(codes).to_pylist() == [doc_ids[ordinal] for ordinal in ordinals]
        asked = data.draw(st.lists(st.sampled_from([*doc_ids, "not there"]) | any_id, max_size=12))
        expected = [doc_ids.index(doc_id) if doc_id in corpus else -1 for doc_id in asked]
        for form in (asked, pa.array(asked, type=pa.string()), pa.chunked_array([asked], type=pa.large_string())):
            assert store.ids.encode(form).tolist() == expected


def test_its_ids_are_a_vocabulary_like_any_other(tmp_path: Path) -> None:
    doc_ids = ["b", "10", "é", "9", "B", "\U0001f600", "\uff5e"]
    store, plain = write(tmp_path, doc_ids), Ids(doc_ids)
    codes = np.array([6, 0, 0, 3, 5, 2, 1, 4])
    assert store.ids.lexicographic_rank(codes).tolist() == plain.lexicographic_rank(codes).tolist()
    assert store.ids.decode(codes).equals(plain.decode(codes))


def test_unknown_ids_are_minus_1_at_both_ends_of_the_hashes(tmp_path: Path) -> None:
    store = write(tmp_path, [f"d{n}" for n in range(50)])
    asked = [f"x{n}" for n in range(500)]
    assert set(store.ids.encode(asked).tolist()) == {-1}
    assert store.ids.encode(["", "d", "d50", "D1", "d1 "]).tolist() == [-1] * 5


def test_an_empty_store(tmp_path: Path) -> None:
    store = write(tmp_path, [])
    nothing = np.empty(0, dtype=np.int64)
    assert len(store) == 0
    assert list(store.batches()) == []
    assert store.ids.encode(["a", "b"]).tolist() == [-1, -1]
    assert store.texts(nothing) == store.ids.decode(nothing).to_pylist() == store.ids.values.to_pylist() == []
    with pytest.raises(IndexError):
        store.texts(np.array([0]))


@pytest.mark.parametrize("ordinal", [-1, 5])
def test_an_ordinal_outside_is_refused(tmp_path: Path, ordinal: int) -> None:
    store = write(tmp_path, list("abcde"))
    with pytest.raises(IndexError, match="ordinals run from 0 to 4"):
        store.texts(np.array([0, ordinal]))


@pytest.mark.parametrize("hashes", ["real", "colliding"])
def test_duplicates_are_refused_with_their_ordinals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashes: str
) -> None:
    if hashes == "colliding":
        monkeypatch.setattr(module, "_hashed", colliding)
    with pytest.raises(DuplicateDocIdError) as caught:
        write(tmp_path, ["a", "b", "c", "B", "a", "d", "b", "e", "a"])
    assert caught.value.ordinals == {"a": [0, 4, 8], "b": [1, 6]}
    assert str(caught.value) == "2 doc_ids occur more than once"


def test_equal_hashes_of_different_ids_are_no_duplicates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_hashed", lambda doc_ids: np.zeros(len(doc_ids), dtype=np.uint64))
    store = write(tmp_path, ["a", "b", "c", "d", "e"])
    assert store.ids.encode(["e", "a", "x", "c", "e"]).tolist() == [4, 0, -1, 2, 4]


def test_two_stores_of_one_corpus_have_the_same_bytes(tmp_path: Path) -> None:
    for name, size in (("one", 2), ("other", 7)):
        (tmp_path / name).mkdir()
        write(tmp_path / name, [f"d{n}" for n in range(30)], size=size)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == ["hashes.npy", "ordinals.npy", "passages.arrow"]
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
