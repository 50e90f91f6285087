"""BM25 in memory against its formula, term by term in Python floats."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_stores import contents, indexed, search, store

from quati_pool.errors import QuatiPoolError
from quati_pool.retrieval import memory_limits
from quati_pool.retrieval.base import ComponentEnvironment
from quati_pool.retrieval.bm25s import Bm25s, Bm25sParameters

TEXTS = [
    "red fox red fox",
    "the red dog runs after a fox and a second fox through the long grass",
    "blue whale",
    "dog dog dog",
    "grass",
    "",
    "… !",
]
VOCABULARY = ["red", "fox", "dog", "blue", "whale", "grass", "runs"]
plain = {"stemming": False, "stop_words": False}


def bm25(texts: Sequence[str], query: str, k1: float, b: float) -> dict[int, float]:
    """Lucene's BM25 without its constant (k1 + 1), as since Lucene 8: for each query term, repeated ones
    again, idf · tf / (tf + k1 (1 - b + b dl / avgdl)) with idf = ln(1 + (N - df + 0.5) / (df + 0.5))."""
    passages = [text.split() for text in texts]
    average = sum(map(len, passages)) / len(passages)
    scores: dict[int, float] = {}
    for term in query.split():
        df = sum(term in passage for passage in passages)
        idf = math.log(1 + (len(passages) - df + 0.5) / (df + 0.5))
        for ordinal, passage in enumerate(passages):
            tf = passage.count(term)
            if tf:
                norm = k1 * (1 - b + b * len(passage) / average)
                scores[ordinal] = scores.get(ordinal, 0.0) + idf * tf / (tf + norm)
    return scores


texts = st.lists(st.lists(st.sampled_from(VOCABULARY), max_size=8).map(" ".join), min_size=1, max_size=8)
queries = st.lists(st.lists(st.sampled_from([*VOCABULARY, "unseen"]), max_size=4).map(" ".join), max_size=3)


@given(texts, queries, st.sampled_from([0.0, 0.9, 1.2]), st.sampled_from([0.0, 0.4, 1.0]))
def test_scores_follow_the_formula(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], queries: list[str], k1: float, b: float
) -> None:
    folder = tmp_path_factory.mktemp("bm25s")
    corpus = store(folder / "store", texts)
    retriever = Bm25s(Bm25sParameters(k1=k1, b=b, **plain))
    found = search(retriever, corpus, indexed(retriever, corpus, folder / "index"), queries)
    for query, scores in zip(queries, found, strict=True):
        # No more and no fewer than the passages that share a term.
        assert scores == pytest.approx(bm25(texts, query, k1, b), abs=1e-5)


def test_by_hand(tmp_path: Path) -> None:
    # N = 2, avgdl = 2. "b": df 1, idf ln(1 + 1.5/1.5) = ln 2; tf 1, dl 3 > avgdl:
    # norm 0.9 (0.6 + 0.4 · 3/2) = 1.08; ln 2 / 2.08 = 0.333244. "a": df 2, idf ln(1.2) = 0.182322;
    # passage 0: tf 2, norm 1.08: 0.182322 · 2/3.08 = 0.118391; passage 1: dl 1, norm 0.9 · 0.8 = 0.72:
    # 0.182322 / 1.72 = 0.106001.
    corpus = store(tmp_path / "store", ["a b a", "a"])
    retriever = Bm25s(Bm25sParameters(**plain))
    index = indexed(retriever, corpus, tmp_path / "index")
    both, one = search(retriever, corpus, index, ["b", "a"])
    assert both == pytest.approx({0: 0.333244}, abs=1e-6)
    assert one == pytest.approx({0: 0.118391, 1: 0.106001}, abs=1e-6)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bm25s, object, Path]:
    folder = tmp_path_factory.mktemp("built")
    corpus = store(folder / "store", TEXTS)
    retriever = Bm25s(Bm25sParameters())
    return retriever, corpus, indexed(retriever, corpus, folder / "index")


@pytest.mark.parametrize("query", ["", " ", "?!", "the of and", "zebra"])
def test_a_query_without_a_known_term_returns_nothing(built: tuple[Bm25s, object, Path], query: str) -> None:
    assert search(*built, [query]) == [{}]  # type: ignore[arg-type]


def test_such_a_query_among_others_shifts_nothing(built: tuple[Bm25s, object, Path]) -> None:
    alone = search(*built, ["whale", "dogs"])  # type: ignore[arg-type]
    assert alone[0].keys() == {2}
    assert alone[1].keys() == {1, 3}
    assert search(*built, ["", "whale", "zebra", "dogs"]) == [{}, alone[0], {}, alone[1]]  # type: ignore[arg-type]


@pytest.mark.parametrize("texts", [["", "… !", "   "], ["?"]])
def test_a_corpus_without_a_single_term(tmp_path: Path, texts: list[str]) -> None:
    corpus = store(tmp_path / "store", texts)
    retriever = Bm25s(Bm25sParameters())
    index = indexed(retriever, corpus, tmp_path / "index")
    assert search(retriever, corpus, index, ["", "word", "?"]) == [{}, {}, {}]


def test_a_tie_at_the_cut_off_stays_whole(tmp_path: Path) -> None:
    corpus = store(tmp_path / "store", ["fox", "red fox", "dog", "fox", "fox", "fox fox"])
    retriever = Bm25s(Bm25sParameters(**plain))
    index = indexed(retriever, corpus, tmp_path / "index")
    # 5 holds it twice and is best; 0, 3 and 4 tie; 1 is longer.
    assert [search(retriever, corpus, index, ["fox"], depth)[0].keys() for depth in (1, 2, 4, 5)] == [
        {5},
        {5, 0, 3, 4},
        {5, 0, 3, 4},
        {5, 0, 3, 4, 1},
    ]


def test_two_builds_write_the_same_bytes(tmp_path: Path) -> None:
    corpus = store(tmp_path / "store", TEXTS)
    retriever = Bm25s(Bm25sParameters())
    one, other = (indexed(retriever, corpus, tmp_path / name) for name in ("one", "other"))
    assert contents(one)
    assert contents(one) == contents(other)


def test_portuguese_plurals_and_accents_match(tmp_path: Path) -> None:
    texts = ["A casa amarela", "Uma ação judicial", unicodedata.normalize("NFD", "Outra ação popular")]
    corpus = store(tmp_path / "store", texts)
    retriever = Bm25s(Bm25sParameters(language="pt"))
    index = indexed(retriever, corpus, tmp_path / "index")
    composed, decomposed = (unicodedata.normalize(form, "ação") for form in ("NFC", "NFD"))
    found = search(retriever, corpus, index, ["casas", composed, decomposed])
    assert [scores.keys() for scores in found] == [{0}, {1, 2}, {1, 2}]


def test_the_index_key_names_what_changes_the_index() -> None:
    key = Bm25s(Bm25sParameters()).index_key()
    for change in ({"k1": 1.2}, {"b": 0.75}, {"language": "pt"}, {"stemming": False}, {"stop_words": False}):
        assert Bm25s(Bm25sParameters(**change)).index_key() != key
    assert Bm25s(Bm25sParameters(), ComponentEnvironment(seed=1)).index_key() == key


def test_too_little_memory_is_refused_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = store(tmp_path / "store", TEXTS)
    monkeypatch.setattr(memory_limits, "free_bytes", lambda: 100)
    retriever = Bm25s(Bm25sParameters())
    with pytest.raises(QuatiPoolError) as caught:
        indexed(retriever, corpus, tmp_path / "index2")
    assert str(caught.value) == (
        "bm25s would need about 0.0 GiB of memory to index 7 passages, and 0.0 GiB are free; "
        "use the retriever bm25, whose index is on disk"
    )
    assert not contents(tmp_path / "index2")


def test_free_memory_is_at_most_what_the_container_allows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_limits, "_CGROUP", tmp_path)
    unlimited = memory_limits.free_bytes()
    assert unlimited > 1 << 20
    (tmp_path / "memory.max").write_text("1500000\n")
    (tmp_path / "memory.current").write_text("500000\n")
    # What files the container has cached can be given back.
    (tmp_path / "memory.stat").write_text("anon 300000\ninactive_file 200000\n")
    assert memory_limits.free_bytes() == 1_200_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory_limits.free_bytes() > 1 << 20
