"""Retrieval by the embeddings of a server, against numpy on the server's own vectors: what is asked, what is kept,
what it cost, and what is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from pydantic import ValidationError
from small_stores import by_query, store

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files.artifacts import Counts, digest
from quati_pool.llm.embeddings import surely_fitted
from quati_pool.llm.faults import FatalError
from quati_pool.llm.retries import Retry
from quati_pool.records import Query
from quati_pool.retrieval.base import ComponentEnvironment, Context
from quati_pool.retrieval.planning import Workload
from quati_pool.retrieval.remote.openai_embedding import OpenaiEmbedding, OpenaiEmbeddingParameters
from quati_pool.retrieval.remote.reorder_buffer import ReorderBuffer
from quati_pool.retrieval.shards import Shards
from tests.llm.embedding_server import ODD, WRONG, EmbeddingServer
from tests.near_ties import assert_ranked
from tests.patience import PATIENCE

pytestmark = pytest.mark.neural

KEY = "sk-test-0123456789abcdef"
TEXTS = [f"o trecho {n} trata de {n * n % 7}" for n in range(60)]
QUERIES = ["a primeira pergunta", "de que trata o trecho 7?", "ação ✓"]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    for variable in ("OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(OpenaiEmbedding, "retry", Retry(attempts=4, seconds=20, first=0.01, longest=0.02))
    with EmbeddingServer() as running:
        yield running


@dataclass
class Kept(Context):
    """Keeps long work where a later context finds it, as a workspace does."""

    place: Path = field(kw_only=True)

    def resumable_folder(
        self,
        corpus: CorpusStore,
        name: str,
        key: Mapping[str, Any],
        fill: Callable[[Path], Counts],
        *,
        unit: str = "passages",
        paid: bool = False,
    ) -> Path:
        assert paid
        folder = self._at(name, key)
        if self.finished_folder(corpus, name, key) is None:
            folder.mkdir(parents=True, exist_ok=True)
            assert fill(folder)[unit] > 0
            (folder / "finished").touch()
        return folder

    def finished_folder(self, corpus: CorpusStore, name: str, key: Mapping[str, Any]) -> Path | None:
        folder = self._at(name, key)
        return folder if (folder / "finished").exists() else None

    def _at(self, name: str, key: Mapping[str, Any]) -> Path:
        return self.place / f"{name}-{digest(dict(key))[:16]}"


def retriever(server: EmbeddingServer, environment: ComponentEnvironment | None = None, **more: Any) -> OpenaiEmbedding:
    given = {"model": "text-embedding-3-small", "base_url": server.url, "batch_size": 8, **more}
    return OpenaiEmbedding(OpenaiEmbeddingParameters(**given), environment)


def context(tmp_path: Path, notes: list[str] | None = None) -> Kept:
    return Kept(place=tmp_path / "grown", note=[].append if notes is None else notes.append)


def search(
    component: OpenaiEmbedding, corpus: CorpusStore, around: Context, texts: list[str] = QUERIES, depth: int = 10
) -> list[dict[int, float]]:
    queries = [Query(f"q{n}", text) for n, text in enumerate(texts)]
    return by_query(component.search(corpus, Path(), queries, depth, around), len(texts))


def best(products: npt.NDArray[np.float64], depth: int) -> list[list[int]]:
    """The passages of the highest inner products."""
    return np.argsort(-products, axis=1)[:, :depth].tolist()


def assert_found(found: list[dict[int, float]], products: npt.NDArray[np.float64], depth: int) -> None:
    """That the ``depth`` passages of the highest ``products``, shape (queries, passages), were found for each query."""
    for scores, exact in zip(found, products.tolist(), strict=True):
        assert_ranked(sorted(scores, key=lambda doc: -scores[doc]), dict(enumerate(exact)), 2e-6, depth)


def products(server: EmbeddingServer, texts: list[str], queries: list[str] = QUERIES, dimensions: int | None = None):
    """Exact inner products of the server's vectors, shape (queries, passages)."""
    return server.vectors_of(queries, dimensions).astype(float) @ server.vectors_of(texts, dimensions).astype(float).T


# -- what is found --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimensions", [None, 5])
def test_the_ranking_is_that_of_the_exact_inner_products(
    server: EmbeddingServer, tmp_path: Path, dimensions: int | None
) -> None:
    corpus = store(tmp_path / "store", TEXTS)
    found = search(retriever(server, dimensions=dimensions), corpus, context(tmp_path), depth=60)
    expected = products(server, TEXTS, dimensions=dimensions)
    assert_found(found, expected, 60)
    scores = np.array([[scores[doc] for doc in range(60)] for scores in found])
    assert scores == pytest.approx(expected, abs=1e-6)
    assert (scores < 0).any()


@pytest.mark.parametrize("way", [*ODD, *WRONG, "429 0.01", "500", "drop"])
def test_the_ranking_is_the_same_however_the_server_answers(server: EmbeddingServer, tmp_path: Path, way: str) -> None:
    failed: set[str] = set()

    def answering(texts: Sequence[str], _: int) -> str | None:
        # What passes does so for every batch once: by the number of the request, a slow machine could give all
        # attempts of one batch the bad numbers.
        if way not in ODD and texts[0] in failed:
            return None
        failed.add(texts[0])
        return way

    server.way = answering
    corpus = store(tmp_path / "store", TEXTS)
    found = search(retriever(server), corpus, context(tmp_path))
    assert_found(found, products(server, TEXTS), 10)


def test_an_empty_query_returns_nothing_and_is_not_asked(server: EmbeddingServer, tmp_path: Path) -> None:
    corpus = store(tmp_path / "store", TEXTS)
    found = search(retriever(server), corpus, context(tmp_path), ["", QUERIES[0], " \n\t"])
    assert [len(scores) for scores in found] == [0, 10, 0]
    assert_found(found[1:2], products(server, TEXTS, QUERIES[:1]), 10)
    server.asked.clear()
    assert search(retriever(server), corpus, context(tmp_path), ["", " "]) == [{}, {}]
    assert not server.asked


def test_empty_passages_are_not_sent_and_score_0(server: EmbeddingServer, tmp_path: Path) -> None:
    texts = ["", " \n", *TEXTS[:10], "", *TEXTS[10:20], "\t"]
    corpus = store(tmp_path / "store", texts)
    found = search(retriever(server, batch_size=3), corpus, context(tmp_path), depth=len(texts))
    assert sorted(server.texts) == sorted([*TEXTS[:20], *QUERIES])
    for scores in found:
        assert [scores[doc] for doc in (0, 1, 12, 23)] == [0, 0, 0, 0]
    place = {2 + n + (n >= 10): n for n in range(20)}
    with_text = [{place[doc]: score for doc, score in scores.items() if doc in place} for scores in found]
    assert_found(with_text, products(server, TEXTS[:20]), 20)


def test_long_stretches_of_empty_passages_take_their_places(
    server: EmbeddingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quati_pool.retrieval.remote.embedding_shards._MOST_PASSAGES", 4)
    texts = ["", "", "", "", "", "um", *[""] * 9, "dois", *[""] * 11]
    corpus = store(tmp_path / "store", texts)
    found = search(retriever(server), corpus, context(tmp_path), depth=len(texts))
    expected = products(server, ["um", "dois"])
    for row, scores in enumerate(found):
        assert len(scores) == len(texts)
        assert {doc for doc, score in scores.items() if score != 0} == {5, 15}
        assert [scores[5], scores[15]] == pytest.approx(expected[row], abs=1e-6)


def test_a_corpus_of_empty_passages_finds_nothing(server: EmbeddingServer, tmp_path: Path) -> None:
    corpus = store(tmp_path / "store", ["", " "])
    assert search(retriever(server), corpus, context(tmp_path)) == [{}, {}, {}]
    assert server.texts == QUERIES


def test_a_text_may_hold_anything(server: EmbeddingServer, tmp_path: Path) -> None:
    texts = ["\x00", "a\x07\x1b[31m", '"}]', "\u202e ação \ud7ff\U0010ffff", "x" * 2**20, "<|endoftext|>", "\ufeff"]
    corpus = store(tmp_path / "store", texts)
    found = search(retriever(server), corpus, context(tmp_path))
    sent = [text[:28672] for text in texts]
    assert_found(found, products(server, sent), len(texts))


def test_prefixes_stand_before_what_is_sent(server: EmbeddingServer, tmp_path: Path) -> None:
    corpus = store(tmp_path / "store", TEXTS)
    component = retriever(server, query_prefix="query: ", passage_prefix="passage: ")
    found = search(component, corpus, context(tmp_path))
    with_prefix = products(server, [f"passage: {text}" for text in TEXTS], [f"query: {text}" for text in QUERIES])
    assert_found(found, with_prefix, 10)


def test_vectors_are_compared_as_they_come_or_by_cosine(server: EmbeddingServer, tmp_path: Path) -> None:
    """The server's lengths differ: inner product and cosine rank differently, and a user is told."""
    lengths = {text: 1 + n % 5 for n, text in enumerate(TEXTS)}
    plain = server.vector_of
    server.vector_of = lambda text, dimensions=None: plain(text, dimensions) * lengths.get(text, 1)  # type: ignore[method-assign]
    corpus = store(tmp_path / "store", TEXTS)
    notes: list[str] = []
    as_given = search(retriever(server), corpus, context(tmp_path, notes))
    assert_found(as_given, products(server, TEXTS), 10)
    assert sum("not of length 1" in note for note in notes) == 1
    vectors = server.vectors_of(TEXTS).astype(float)
    cosines = server.vectors_of(QUERIES).astype(float) @ (vectors / np.linalg.norm(vectors, axis=1)[:, None]).T
    assert best(cosines, 10) != best(products(server, TEXTS), 10)
    (tmp_path / "other").mkdir()
    told: list[str] = []
    found = search(retriever(server, normalize=True), corpus, context(tmp_path / "other", told))
    assert_found(found, cosines, 10)
    assert not any("not of length 1" in note for note in told)


@pytest.mark.parametrize("index", ["hnsw", "ivf-pq"])
def test_an_index_finds_what_flat_finds(server: EmbeddingServer, tmp_path: Path, index: str) -> None:
    texts = [f"passagem número {n}" for n in range(400)]
    corpus = store(tmp_path / "store", texts)
    around = context(tmp_path)
    component = retriever(server, index=index, batch_size=100)
    folder = tmp_path / "index"
    folder.mkdir()
    component.index(corpus, folder, around)
    asked = len(server.asked)
    queries = [Query(f"q{n}", text) for n, text in enumerate(QUERIES)]
    found = by_query(component.search(corpus, folder, queries, 10, around), len(QUERIES))
    expected = best(products(server, texts), 10)
    hit = sum(len(set(scores) & set(docs)) for scores, docs in zip(found, expected, strict=True))
    assert hit >= 0.95 * 30
    for row, scores in enumerate(found):
        for doc, score in scores.items():
            assert score == pytest.approx(products(server, texts)[row, doc], abs=1e-6)
    assert len(server.asked) == asked + 1  # the queries


# -- what is asked, and what is kept --------------------------------------------------------------------------


def test_a_rerun_asks_nothing_whatever_else_is_changed(server: EmbeddingServer, tmp_path: Path) -> None:
    corpus = store(tmp_path / "store", TEXTS)
    first = search(retriever(server), corpus, context(tmp_path))
    assert len(server.asked) == 1 + 8
    assert sorted(server.texts) == sorted([*TEXTS, *QUERIES])
    server.asked.clear()
    for other in ({}, {"batch_size": 50}, {"concurrency": 2}, {"timeout": 5.0, "rpm": 100, "tpm": 10_000}):
        assert search(retriever(server, **other), corpus, context(tmp_path)) == first
    assert len(search(retriever(server), corpus, context(tmp_path), depth=30)[0]) == 30
    hnsw = retriever(server, index="hnsw")
    (tmp_path / "index").mkdir()
    hnsw.index(corpus, tmp_path / "index", context(tmp_path))
    assert not server.asked


def test_other_queries_do_not_ask_for_the_passages_again(server: EmbeddingServer, tmp_path: Path) -> None:
    corpus = store(tmp_path / "store", TEXTS)
    search(retriever(server), corpus, context(tmp_path))
    server.asked.clear()
    search(retriever(server), corpus, context(tmp_path), ["outra"])
    assert server.texts == ["outra"]


@pytest.mark.parametrize(("precision", "tolerance"), [("fp16", 2e-3), ("int8", 2e-2)])
def test_a_smaller_precision_is_made_from_vectors_that_are_here(
    server: EmbeddingServer, tmp_path: Path, precision: str, tolerance: float
) -> None:
    corpus = store(tmp_path / "store", TEXTS)
    asked_for = search(retriever(server, precision=precision), corpus, context(tmp_path / "one"), depth=60)
    search(retriever(server), corpus, context(tmp_path / "two"), depth=60)
    server.asked.clear()
    notes: list[str] = []
    derived = search(retriever(server, precision=precision), corpus, context(tmp_path / "two", notes), depth=60)
    assert not server.asked
    assert notes == ["the vectors of 60 passages are here already: nothing is asked"]
    assert derived == asked_for
    for row, scores in enumerate(derived):
        assert [scores[doc] for doc in range(60)] == pytest.approx(products(server, TEXTS)[row], abs=tolerance)


def test_a_first_batch_that_comes_last_holds_up_nothing(server: EmbeddingServer, tmp_path: Path) -> None:
    server.way = lambda texts, _: "late 0.5" if TEXTS[0] in texts else None
    corpus = store(tmp_path / "store", TEXTS)
    found = search(retriever(server, concurrency=4), corpus, context(tmp_path))
    assert_found(found, products(server, TEXTS), 10)
    assert [asked.done for asked in server.asked] == [True] * 9


def test_what_was_answered_before_a_failure_is_not_asked_again(server: EmbeddingServer, tmp_path: Path) -> None:
    """The second batch never gets an answer; the others, before and after it, do."""
    server.way = lambda texts, _: "500" if TEXTS[8] in texts else None
    corpus = store(tmp_path / "store", TEXTS)
    with pytest.raises(QuatiPoolError) as caught:
        search(retriever(server, concurrency=4), corpus, context(tmp_path))
    line = str(caught.value)
    assert line.endswith(
        " gives no embeddings after 4 attempts (The server had an error.); check the server and run the same command "
        "again: what was answered is kept"
    )
    answered = set(server.texts)
    assert TEXTS[0] in answered
    assert TEXTS[16] in answered
    server.asked.clear()
    server.way = None
    found = search(retriever(server, concurrency=4), corpus, context(tmp_path))
    assert set(server.texts) == set(TEXTS) - answered
    assert_found(found, products(server, TEXTS), 10)


PROCESS = """
import sys
from pathlib import Path
from quati_pool.corpus.store import CorpusStore
from tests.retrieval.remote.test_openai_embedding import Kept, QUERIES, retriever, search
class Address:
    url = sys.argv[2]
folder = Path(sys.argv[1])
component = retriever(Address, concurrency=4, batch_size=5)
search(component, CorpusStore(folder / "store"), Kept(place=folder / "grown"))
"""


@pytest.mark.kill
@pytest.mark.parametrize("answers", [2, 23])
def test_a_kill_loses_at_most_what_is_in_flight(server: EmbeddingServer, tmp_path: Path, answers: int) -> None:
    """Killed once so many batches of 40 were answered, with the first one still open: all others wait ahead of it."""
    texts = [f"passagem {n}" for n in range(200)]
    corpus = store(tmp_path / "store", texts)
    server.latency = 0.01
    server.way = lambda given, _: "late 30" if texts[0] in given else None
    command = [sys.executable, "-c", PROCESS, str(tmp_path), server.url]
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "tests")])}
    process = subprocess.Popen(command, env=environment, cwd=root)
    deadline = time.monotonic() + PATIENCE
    while sum(asked.done for asked in server.asked) < answers + 1:  # the queries' too
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(0.1)  # what the server was about to answer
    answered = {text for asked in server.asked if asked.done for text in asked.texts} - set(QUERIES)
    (folder,) = [path for path in (tmp_path / "grown").iterdir() if "queries" not in path.name]
    kept = {texts[place] for start, end in ReorderBuffer(folder).spans for place in range(start, end)}
    assert kept <= answered
    # Four calls of five texts at a time, and as many answers that wait for the disk.
    assert len(answered - kept) <= 8 * 5
    assert len(answered) >= 5 * (answers - 1)

    server.asked.clear()
    server.way = None
    found = search(retriever(server, concurrency=4, batch_size=5), corpus, context(tmp_path))
    assert sorted(server.texts) == sorted(set(texts) - kept)
    assert_found(found, products(server, texts), 10)
    vectors = Shards(folder).array("vectors")
    assert np.array_equal(vectors, server.vectors_of(texts))


def test_an_interrupt_keeps_what_is_in_flight(server: EmbeddingServer, tmp_path: Path) -> None:
    corpus = store(tmp_path / "store", TEXTS)
    server.latency = 0.05

    def interrupt(done: int, total: int) -> None:
        if total == len(TEXTS) and done:
            raise KeyboardInterrupt

    around = context(tmp_path)
    around.progress = interrupt
    with pytest.raises(KeyboardInterrupt):
        search(retriever(server, concurrency=3), corpus, around)
    # A second interrupt, here from the next answer, drops the rest.
    answered = set(server.texts) - set(QUERIES)
    assert len(answered) < len(TEXTS)
    server.asked.clear()
    found = search(retriever(server), corpus, context(tmp_path))
    assert_found(found, products(server, TEXTS), 10)
    assert len(server.texts) < len(TEXTS)


def test_ctrl_c_keeps_what_is_in_flight(server: EmbeddingServer, tmp_path: Path) -> None:
    corpus = store(tmp_path / "store", TEXTS)
    server.latency = 0.2
    pressed = []

    def press(done: int, total: int) -> None:
        if total == len(TEXTS) and done and not pressed:
            pressed.append(done)
            os.kill(os.getpid(), signal.SIGINT)

    around = context(tmp_path)
    around.progress = press
    with pytest.raises(KeyboardInterrupt):
        search(retriever(server, concurrency=2), corpus, around)
    answered = set(server.texts) - set(QUERIES)
    assert 0 < len(answered) < len(TEXTS)
    server.asked.clear()
    search(retriever(server), corpus, context(tmp_path))
    assert set(server.texts) == set(TEXTS) - answered


# -- what the server takes ------------------------------------------------------------------------------------


def test_a_request_holds_no_more_tokens_than_openai_takes(server: EmbeddingServer, tmp_path: Path) -> None:
    """A token has at least a byte, so 300,000 bytes are the bound that holds for any text."""
    texts = [f"{n} " + "çé" * 5000 for n in range(40)]  # 20,000 bytes each, and a few
    corpus = store(tmp_path / "store", texts)
    search(retriever(server, batch_size=2048), corpus, context(tmp_path))
    sizes = [sum(len(text.encode()) for text in asked.texts) for asked in server.asked[1:]]
    assert max(sizes) <= 300_000
    assert max(sizes) > 270_000
    assert sum(len(asked.texts) for asked in server.asked[1:]) == 40


def test_a_passage_the_server_finds_too_long_is_cut_and_counted(server: EmbeddingServer, tmp_path: Path) -> None:
    """The server takes 100 tokens of two bytes each. 120 three-byte characters are 103 tokens as they are usually
    estimated and are cut at once; 110 of them are 95, and only the server knows that they are too many."""
    server.most_tokens = 100
    texts = ["curto", "中" * 110, "x" * 90, "日" * 120, "x" * 150, "longo " * 100]
    corpus = store(tmp_path / "store", texts)
    notes: list[str] = []
    found = search(retriever(server, max_tokens=100), corpus, context(tmp_path, notes))
    sent = [
        texts[0],
        surely_fitted(texts[1], 100),
        texts[2],
        surely_fitted(texts[3], 100),
        texts[4],
        surely_fitted(texts[5], 100),
    ]
    assert_found(found, products(server, sent), 6)
    assert "3 passages were longer than max_tokens: 100 allows, and were cut" in notes[1]


def test_how_a_passage_is_cut_does_not_depend_on_its_batch(server: EmbeddingServer, tmp_path: Path) -> None:
    server.most_tokens = 100
    texts = [("中" * 110 if n % 3 == 0 else f"{n} " + "x" * 100) for n in range(20)]
    corpus = store(tmp_path / "store", texts)
    one = search(retriever(server, max_tokens=100, batch_size=1), corpus, context(tmp_path / "a"), depth=20)
    many = search(retriever(server, max_tokens=100, batch_size=16), corpus, context(tmp_path / "b"), depth=20)
    assert one == many


def test_a_server_that_takes_fewer_texts_gets_fewer(server: EmbeddingServer, tmp_path: Path) -> None:
    server.most_texts = 10
    texts = [f"t{n}" for n in range(320)]
    corpus = store(tmp_path / "store", texts)
    found = search(retriever(server, batch_size=32, concurrency=1), corpus, context(tmp_path))
    assert_found(found, products(server, texts), 10)
    sizes = [len(asked.texts) for asked in server.asked]
    # The first batches of two workers find it out; from then on nothing is refused.
    assert sizes.count(32) == 2
    assert max(sizes[20:]) == 8
    assert sorted(server.texts) == sorted([*texts, *QUERIES])


def test_a_refused_passage_is_named(server: EmbeddingServer, tmp_path: Path) -> None:
    server.way = lambda texts, _: "400" if TEXTS[13] in texts else None
    corpus = store(tmp_path / "store", TEXTS)
    with pytest.raises(QuatiPoolError) as caught:
        search(retriever(server), corpus, context(tmp_path))
    assert str(caught.value).endswith(
        " refuses the passage d13 (This value is not allowed.); correct it, or the parameters"
    )


@pytest.mark.parametrize("way", ["nan", "null", "infinite"])
def test_a_vector_that_is_none_is_refused_by_name(server: EmbeddingServer, tmp_path: Path, way: str) -> None:
    server.way = lambda texts, _: way if texts[-1] == TEXTS[23] else None
    corpus = store(tmp_path / "store", TEXTS)
    with pytest.raises(QuatiPoolError, match="NaN or infinite numbers for the passage d23; correct that text"):
        search(retriever(server), corpus, context(tmp_path))
    # The other answers are kept.
    server.asked.clear()
    server.way = None
    search(retriever(server), corpus, context(tmp_path))
    assert 0 < len(server.texts) < len(TEXTS)


def test_a_query_is_named_too(server: EmbeddingServer, tmp_path: Path) -> None:
    server.queue = ["nan"]
    corpus = store(tmp_path / "store", TEXTS)
    with pytest.raises(QuatiPoolError, match="for the query q2; correct that text"):
        search(retriever(server), corpus, context(tmp_path))


def test_vectors_of_another_dimension_are_refused(server: EmbeddingServer, tmp_path: Path) -> None:
    server.way = lambda texts, _: "500" if TEXTS[30] in texts else None
    corpus = store(tmp_path / "store", TEXTS)
    with pytest.raises(QuatiPoolError):
        search(retriever(server), corpus, context(tmp_path))
    server.way = None
    server.dimension = 12
    with pytest.raises(QuatiPoolError, match=r"gives vectors of 12 components, and those in .* have 16: it serves"):
        search(retriever(server), corpus, context(tmp_path))
    server.dimension = 16
    assert_found(search(retriever(server), corpus, context(tmp_path)), products(server, TEXTS), 10)


def test_a_server_that_ignores_dimensions_is_told_of(server: EmbeddingServer, tmp_path: Path) -> None:
    server.queue = ["other_dimension"]
    corpus = store(tmp_path / "store", TEXTS)
    with pytest.raises(QuatiPoolError, match="vectors of 7 components where dimensions: 8 are asked for; drop dim"):
        search(retriever(server, dimensions=8), corpus, context(tmp_path))


# -- what is refused before any work --------------------------------------------------------------------------


def test_a_missing_key_is_told_before_anything_is_asked(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(FatalError, match=r"there is no key for .*: set OPENAI_API_KEY; for a server that needs none"):
        retriever(server).fetch(print)
    assert not server.asked


def test_one_word_shows_before_any_work_that_key_model_and_server_are_well(server: EmbeddingServer) -> None:
    notes: list[str] = []
    retriever(server).fetch(notes.append)
    retriever(server, api_key_env=None).fetch(notes.append)
    assert [asked.texts for asked in server.asked] == [["word"], ["word"]]
    assert notes == []


@pytest.mark.parametrize("early", [True, False])
def test_a_wrong_key_is_told_at_the_first_request(server: EmbeddingServer, tmp_path: Path, early: bool) -> None:
    server.key = "another"
    corpus = store(tmp_path / "store", TEXTS)
    notes: list[str] = []
    begun = partial(retriever(server).fetch, notes.append)
    later = partial(search, retriever(server), corpus, context(tmp_path, notes))
    with pytest.raises(FatalError, match="refuses the key in OPENAI_API_KEY") as caught:
        (begun if early else later)()
    assert notes == []
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(server.asked) == 1


def test_an_unknown_model_is_told_at_the_first_request(server: EmbeddingServer) -> None:
    server.model = "another"
    with pytest.raises(FatalError, match="does not serve the model 'text-embedding-3-small'"):
        retriever(server).fetch(print)
    assert len(server.asked) == 1


def test_a_server_that_gives_another_dimension_than_asked_for_is_told_before_any_work(server: EmbeddingServer) -> None:
    server.queue = ["other_dimension"]
    with pytest.raises(QuatiPoolError, match="components where dimensions: 8 are asked for; drop dimensions:"):
        retriever(server, dimensions=8).fetch(print)


def test_ada_002_cannot_be_cut() -> None:
    with pytest.raises(ValidationError, match="text-embedding-ada-002 has 1536 dimensions and no others; drop dim"):
        OpenaiEmbeddingParameters(model="text-embedding-ada-002", dimensions=768)
    with pytest.raises(ValidationError, match="text-embedding-3-small has 1536 dimensions, not 3072"):
        OpenaiEmbeddingParameters(model="text-embedding-3-small", dimensions=3072)
    assert OpenaiEmbeddingParameters(model="text-embedding-3-small", dimensions=768).dimensions == 768


def test_prices_that_cannot_be_read_are_told_early(server: EmbeddingServer, tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("other: {models: 1}\n")
    with pytest.raises(InputError, match=r"prices\.yaml:1"):
        retriever(server, ComponentEnvironment(folder=tmp_path), prices="prices.yaml").fetch(print)


# -- what it cost ---------------------------------------------------------------------------------------------


def test_the_cost_is_that_of_the_tokens_the_server_counted(server: EmbeddingServer, tmp_path: Path) -> None:
    texts = ["palavra " * 500 for _ in range(20)]  # 4,000 bytes, 2,001 tokens at this server
    corpus = store(tmp_path / "store", texts)
    notes: list[str] = []
    search(retriever(server), corpus, context(tmp_path, notes))
    name = server.url.removeprefix("http://").removesuffix("/v1")
    assert len(notes) == 2
    # 20 × 2,001 × $0.02 per million
    assert notes[1] == (
        f"text-embedding-3-small at {name}: 20 passages in 3 requests, 40,020 tokens, $0.0008 (prices of 2026-11-21)"
    )


def test_tokens_the_server_does_not_count_are_estimated_and_said_to_be(server: EmbeddingServer, tmp_path: Path) -> None:
    server.way = lambda _, __: "no_usage"
    texts = ["x" * 350 for _ in range(10)]  # 100 tokens by their size
    corpus = store(tmp_path / "store", texts)
    notes: list[str] = []
    search(retriever(server), corpus, context(tmp_path, notes))
    assert "1,000 tokens (all estimated, as the server did not count them), less than $0.0001" in notes[1]


def test_an_unknown_price_is_said_to_be_unknown(server: EmbeddingServer, tmp_path: Path) -> None:
    corpus = store(tmp_path / "store", TEXTS)
    notes: list[str] = []
    search(retriever(server, model="a-model-of-ours"), corpus, context(tmp_path, notes))
    assert all("at an unknown price (name a file with it under prices:)" in note for note in notes)
    assert not any("$" in note for note in notes)


def test_a_price_of_the_users_own_goes_first(server: EmbeddingServer, tmp_path: Path) -> None:
    own = "us: {as_of: 2026-01-02, source: us, models: {a-model-of-ours: {input: 1000, output: 0}}}\n"
    (tmp_path / "prices.yaml").write_text(own)
    corpus = store(tmp_path / "store", ["x" * 20])  # 11 tokens at this server
    notes: list[str] = []
    component = retriever(server, ComponentEnvironment(folder=tmp_path), model="a-model-of-ours", prices="prices.yaml")
    search(component, corpus, context(tmp_path, notes))
    assert "11 tokens, $0.0110 (prices of 2026-01-02)" in notes[1]


def test_what_a_continued_encoding_cost_in_all_is_told(server: EmbeddingServer, tmp_path: Path) -> None:
    server.way = lambda texts, _: "500" if TEXTS[40] in texts else None
    corpus = store(tmp_path / "store", TEXTS)
    broken: list[str] = []
    with pytest.raises(QuatiPoolError):
        search(retriever(server), corpus, context(tmp_path, broken))
    paid = server.tokens_of([text for text in server.texts if text in TEXTS])
    assert f"{paid:,} tokens" in broken[1]
    server.way = None
    notes: list[str] = []
    search(retriever(server), corpus, context(tmp_path, notes))
    everything = server.tokens_of(TEXTS)
    assert f"{everything - paid:,} tokens" in notes[0]
    assert f"; all 60 together {everything:,} tokens, " in notes[0]


# -- keys and plans -------------------------------------------------------------------------------------------


def test_keys_hold_what_changes_the_scores_and_nothing_else() -> None:
    def keys(**more: Any) -> tuple[Any, Any]:
        component = OpenaiEmbedding(OpenaiEmbeddingParameters(**{"model": "text-embedding-3-small", **more}))
        return component.index_key(), component.search_key()

    plain = keys()
    assert plain[0] is None
    operational = {
        "api_key_env": "OTHER", "timeout": 3.0, "rpm": 3, "tpm": 5, "concurrency": 2, "batch_size": 7,
        "api_version": "2024-10-21", "prices": "mine.yaml",
    }  # fmt: skip
    for name, value in operational.items():
        assert keys(**{name: value}) == plain
    changing = {
        "model": "text-embedding-3-large", "dimensions": 768, "base_url": "http://localhost:1/v1", "normalize": True,
        "query_prefix": "q", "passage_prefix": "p", "max_tokens": 512, "precision": "fp16", "index": "hnsw",
    }  # fmt: skip
    for name, value in changing.items():
        assert keys(**{name: value}) != plain
    index, searched = keys(index="hnsw")
    assert keys(index="hnsw", ef_search=64)[0] == index
    assert keys(index="hnsw", ef_search=64)[1] != searched
    assert keys(index="hnsw", query_prefix="q")[0] == index
    assert keys(index="hnsw", hnsw_m=8)[0] != index


def test_a_plan_shows_tokens_cost_time_and_disk() -> None:
    """1,000,000 passages of 400 characters are 100 tokens each at 4 characters: 100 million tokens, 2 dollars at
    $0.02 per million, 100 minutes at a million tokens per minute; 1,536 numbers of 4 bytes each are kept."""
    parameters = OpenaiEmbeddingParameters(model="text-embedding-3-small", tpm=1_000_000, rpm=3000)
    made = OpenaiEmbedding(parameters).estimate(Workload(1_000_000, 400.0, 50, 100))
    assert (made.encode, made.tokens, made.cost) == (1_000_000, 100_000_000, pytest.approx(2.0))
    assert made.seconds == pytest.approx(6000.0 + made.search.seconds)
    assert made.disk == 1_000_000 * 1536 * 4
    assert made.notes == ()
    assert any("100,000,000 tokens × $0.02 per million" in line for line in made.arithmetic)
    half = OpenaiEmbeddingParameters(model="text-embedding-3-small", dimensions=768, precision="fp16")
    made = OpenaiEmbedding(half).estimate(Workload(1_000_000, 400.0, 50, 100))
    assert made.disk == 1_000_000 * 768 * 2
    assert made.seconds is None
    assert any("how long the server takes is not known" in note for note in made.notes)


def test_a_plan_counts_the_sample_and_admits_what_it_does_not_know() -> None:
    """Two passages of 350 and of no characters: 100 and 0 tokens by their size, so 50 on average."""
    component = OpenaiEmbedding(OpenaiEmbeddingParameters(model="a-model-of-ours"))
    made = component.estimate(Workload(1000, 175.0, 5, 10, 0, ["x" * 350, " "]))
    assert made.tokens == 50_000
    assert (made.cost, made.disk, made.memory) == (None, None, None)
    assert [note.partition(": ")[2][:9] for note in made.notes] == ["its price", "how long ", "the dimen"]
