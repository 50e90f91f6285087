"""Latent semantic analysis against scikit-learn's TF-IDF and numpy's exact SVD."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from small_stores import contents, indexed, row, search, store
from threadpoolctl import threadpool_limits

from quati_pool.errors import QuatiPoolError
from quati_pool.records import Ids, Query, Run
from quati_pool.retrieval import lsa as module
from quati_pool.retrieval import memory_limits
from quati_pool.retrieval.base import ComponentEnvironment, Context
from quati_pool.retrieval.lsa import Lsa, LsaParameters, LsaReranker

Matrix = npt.NDArray[np.float64]

TEXTS = [
    "the court judge heard the appeal",
    "a judge and a witness in court court court",
    "the tide lifts boats in the harbour",
    "boats sail past the harbour lighthouse",
    "the lighthouse keeper was a witness",
    "baker kneads dough before the oven heats",
    "dough rises beside the oven oven",
    "appeal to the baker about dough",
    "tide and court",
    "keeper of the oven",
]
QUERIES = ["judge in the court", "harbour boats", "oven dough dough dough", "witness lighthouse unseen"]
plain = {"stemming": False, "stop_words": False}


def tf_idf(texts: Sequence[str], queries: Sequence[str]) -> tuple[Matrix, Matrix]:
    """Unit vectors of texts and queries by scikit-learn alone."""
    vectorizer = TfidfVectorizer(
        sublinear_tf=True, norm="l2", smooth_idf=True, token_pattern=r"[^\W_]+", dtype=np.float64
    )
    return vectorizer.fit_transform(texts).toarray(), vectorizer.transform(queries).toarray()


def cosines(one: Matrix, other: Matrix) -> Matrix:
    norms = np.linalg.norm(one, axis=1)[:, None] * np.linalg.norm(other, axis=1)
    return one @ other.T / norms


def scores(tmp_path: Path, texts: Sequence[str], queries: Sequence[str], dimensions: int) -> Matrix:
    """Our scores of all texts, shape (queries, texts)."""
    corpus = store(tmp_path / "store", texts)
    retriever = Lsa(LsaParameters(dimensions=dimensions, **plain))
    index = indexed(retriever, corpus, tmp_path / "index")
    found = search(retriever, corpus, index, queries, depth=len(texts))
    return np.array([row(hits, len(texts)) for hits in found])


def test_with_all_dimensions_and_few_terms_it_is_the_tf_idf_cosine(tmp_path: Path) -> None:
    """Four terms over six passages whose vectors span all four dimensions: nothing is lost."""
    texts = ["a", "a b", "b b c", "c d", "d d d a", "b d"]
    queries = ["a", "b c", "d d a", "c"]
    passages, asked = tf_idf(texts, queries)
    assert np.linalg.matrix_rank(passages) == passages.shape[1] == 4
    assert scores(tmp_path, texts, queries, 128) == pytest.approx(cosines(asked, passages), abs=1e-4)


def test_with_all_dimensions_and_many_terms_the_query_is_projected(tmp_path: Path) -> None:
    """Ten passages span ten of the terms' dimensions. A passage lies in that span as a whole, of a query
    only its projection P q does: its cosine with the passage x is x·Pq / |Pq| = x·q / |Pq|."""
    passages, asked = tf_idf(TEXTS, QUERIES)
    assert np.linalg.matrix_rank(passages) == len(TEXTS) < passages.shape[1]
    span = np.linalg.pinv(passages) @ passages
    projected = asked @ span
    expected = cosines(projected, passages)
    assert expected == pytest.approx(asked @ passages.T / np.linalg.norm(projected, axis=1)[:, None])
    assert scores(tmp_path, TEXTS, QUERIES, 128) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 6])
def test_truncated_it_is_the_cosine_in_the_leading_singular_directions(tmp_path: Path, dimensions: int) -> None:
    passages, asked = tf_idf(TEXTS, QUERIES)
    leading = np.linalg.svd(passages)[2][:dimensions].T
    expected = cosines(asked @ leading, passages @ leading)
    assert scores(tmp_path, TEXTS, QUERIES, dimensions) == pytest.approx(expected, abs=1e-3)
    if dimensions in (3, 6):
        assert (expected < -0.01).any()  # negative scores stay


def test_a_corpus_of_one_passage(tmp_path: Path) -> None:
    # One dimension: every vector that is not 0 points along it.
    found = scores(tmp_path, ["fox and dog"], ["dog", "fox fox"], 128)
    assert found == pytest.approx(np.ones((2, 1)), abs=1e-6)


def test_a_corpus_without_a_single_term(tmp_path: Path) -> None:
    corpus = store(tmp_path / "store", ["", "… !"])
    retriever = Lsa(LsaParameters())
    index = indexed(retriever, corpus, tmp_path / "index")
    assert search(retriever, corpus, index, ["", "word", "?"]) == [{}, {}, {}]


def test_a_query_without_a_known_term_returns_nothing(tmp_path: Path) -> None:
    corpus = store(tmp_path / "store", TEXTS)
    retriever = Lsa(LsaParameters(dimensions=5))
    index = indexed(retriever, corpus, tmp_path / "index")
    alone = search(retriever, corpus, index, ["court", "ovens"])
    mixed = search(retriever, corpus, index, ["", "court", "zebra", "the of", "ovens"])
    assert [len(hits) for hits in mixed] == [0, 10, 0, 0, 10]
    assert [mixed[1], mixed[4]] == alone


def test_a_passage_without_a_term_scores_0(tmp_path: Path) -> None:
    found = scores(tmp_path, ["fox", "… !", "dog"], ["fox"], 128)
    assert found == pytest.approx(np.array([[1, 0, 0]]), abs=1e-6)


def test_two_builds_write_the_same_bytes_and_a_seed_matters(tmp_path: Path) -> None:
    chance = np.random.default_rng(3)
    corpus = store(tmp_path / "store", [" ".join(f"w{n}" for n in chance.zipf(1.3, 30) % 500) for _ in range(200)])
    seven, eight = (Lsa(LsaParameters(dimensions=20, **plain), ComponentEnvironment(seed=seed)) for seed in (7, 8))
    one, other = (indexed(seven, corpus, tmp_path / name) for name in ("one", "other"))
    assert contents(one).keys() >= {"passages.npy", "terms.npy", "vocabulary.json"}
    assert contents(one) == contents(other)
    assert contents(one) != contents(indexed(eight, corpus, tmp_path / "third"))


def test_a_seed_of_more_than_32_bits(tmp_path: Path) -> None:
    corpus = store(tmp_path / "store", TEXTS)
    for name, seed in (("large", 2**40 + 5), ("negative", -1)):
        assert contents(
            indexed(Lsa(LsaParameters(dimensions=3), ComponentEnvironment(seed=seed)), corpus, tmp_path / name)
        )


@pytest.mark.parametrize("depth", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("block", [1, 3, 10])
def test_blocks_do_not_change_the_hits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, depth: int) -> None:
    corpus = store(tmp_path / "store", TEXTS)
    retriever = Lsa(LsaParameters(dimensions=4))
    index = indexed(retriever, corpus, tmp_path / "index")
    whole = search(retriever, corpus, index, QUERIES, depth)
    assert [len(hits) for hits in whole] == [min(depth, 10)] * 4
    monkeypatch.setattr(module, "_BLOCK", block)
    monkeypatch.setattr(module, "_QUERIES", 3)
    assert search(retriever, corpus, index, QUERIES, depth) == whole


def words(passages: int, chance: np.random.Generator) -> list[str]:
    return [" ".join(f"w{n}" for n in chance.zipf(1.3, 60) % 2000) for _ in range(passages)]


def test_equal_passages_have_equal_scores_wherever_they_lie(tmp_path: Path) -> None:
    """Of 100 dimensions and more, the last bits of a product of matrices depend on the column, whichever the
    processor; and on how many queries are asked."""
    chance = np.random.default_rng(4)
    kinds, queries = words(110, chance), words(9, chance)
    corpus = store(tmp_path / "store", [kinds[n % 110] for n in range(1003)])
    retriever = Lsa(LsaParameters(dimensions=100, **plain))
    index = indexed(retriever, corpus, tmp_path / "index")
    whole = search(retriever, corpus, index, queries, 1003)
    for hits in whole:
        assert [hits[doc] for doc in range(110, 1003)] == [hits[doc % 110] for doc in range(110, 1003)]
    for depth in (1, 10, 300):
        for query, hits, every in zip(queries, search(retriever, corpus, index, queries, depth), whole, strict=True):
            last = sorted(every.values(), reverse=True)[depth - 1]
            assert hits == {doc: score for doc, score in every.items() if score >= last}
            assert search(retriever, corpus, index, [query], depth) == [hits]


def test_the_number_of_threads_changes_no_bit(tmp_path: Path) -> None:
    chance = np.random.default_rng(6)
    texts = [*words(80, chance), *(" ".join(f"w{n}" for n in range(at, at + 150)) for at in range(0, 6000, 150))]
    corpus = store(tmp_path / "store", texts)
    # A text of thousands of terms as a query: as much as more than one thread would multiply.
    queries = [" ".join(f"w{n}" for n in chance.permutation(6000)[:5500]), *words(3, chance)]
    retriever = Lsa(LsaParameters(dimensions=100, **plain))
    answers = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads):
            index = indexed(retriever, corpus, tmp_path / str(threads))
            answers.append((contents(index), search(retriever, corpus, index, queries, 50)))
    assert answers[0] == answers[1] == answers[2]


def test_ties_at_the_cut_off_stay_whole_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = store(tmp_path / "store", ["fox", "dog", "fox", "cat", "fox"])
    retriever = Lsa(LsaParameters(**plain))
    index = indexed(retriever, corpus, tmp_path / "index")
    monkeypatch.setattr(module, "_BLOCK", 2)
    assert [search(retriever, corpus, index, ["fox"], depth)[0].keys() for depth in (1, 3)] == [{0, 2, 4}] * 2


@pytest.mark.parametrize("block", [1, 7, 65536])
def test_the_reranker_scores_as_the_retriever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    corpus = store(tmp_path / "store", TEXTS)
    parameters = LsaParameters(dimensions=4)
    retriever, reranker = Lsa(parameters), LsaReranker(parameters)
    index = indexed(retriever, corpus, tmp_path / "index")
    assert reranker.index_key() == retriever.index_key()
    queries = [Query(f"q{i}", text) for i, text in enumerate(["zebra", *QUERIES])]
    expected = search(retriever, corpus, index, ["zebra", *QUERIES])
    query, doc = np.divmod(np.arange(5 * len(TEXTS)), len(TEXTS))
    run = Run.ranked("first", Ids([q.query_id for q in queries]), corpus.ids, query, doc, np.sin(doc + query))
    monkeypatch.setattr(module, "_BLOCK", block)
    found = reranker.rescore(corpus, index, queries, run, Context())
    for row_query, row_doc, score in zip(run.query, run.doc, found, strict=True):
        # A query without a known term scores 0: reranking keeps what the first stage returned.
        assert score == expected[row_query].get(row_doc, 0.0)


def test_too_little_memory_names_bm25(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = store(tmp_path / "store", TEXTS)
    monkeypatch.setattr(memory_limits, "free_bytes", lambda: 3 * 2**10)
    with pytest.raises(
        QuatiPoolError, match=r"^lsa would need .* 10 passages, .*; use the retriever bm25, whose index is on disk$"
    ):
        indexed(Lsa(LsaParameters()), corpus, tmp_path / "index")
