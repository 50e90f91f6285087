"""What every retriever and every reranker keeps to, whatever it is made of."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from small_stores import store

from quati_pool.corpus.store import CorpusStore
from quati_pool.records import Ids, Query, Run
from quati_pool.registry import RERANKERS, RETRIEVERS, Registry
from quati_pool.retrieval.base import ComponentEnvironment, Context, Hits
from tests.llm.embedding_server import EmbeddingServer

# A neural score is a sum over tensors whose shapes the batch decides.
TOLERANCE = 1e-4


class Case(NamedTuple):
    """A component with the parameters it is tried with, where MODEL:x stands for a tiny model of kind x, and the
    markers of what it needs."""

    name: str
    parameters: dict[str, Any]
    needs: Sequence[str] = ("neural",)

    @property
    def title(self) -> str:
        shown = [str(value) for key, value in self.parameters.items() if key in ("index", "search", "precision")]
        return "-".join([self.name, *shown])


_EMBEDDING = {"model": "tiny", "base_url": "SERVER", "api_key_env": None}
RETRIEVER_CASES = [
    Case("bm25", {"language": "en"}, ["java"]),
    Case("bm25s", {"language": "en"}, []),
    Case("lsa", {"language": "en", "dimensions": 8}, []),
    Case("dense", {"model": "MODEL:dense"}),
    Case("dense", {"model": "MODEL:dense", "precision": "fp16"}),
    Case("dense", {"model": "MODEL:dense", "precision": "int8"}),
    Case("dense", {"model": "MODEL:dense", "index": "hnsw"}),
    Case("dense", {"model": "MODEL:dense", "index": "ivf-pq"}),
    Case("dense", {"model": "MODEL:static"}),
    Case("dense", {"query_model": "MODEL:question", "passage_model": "MODEL:context"}),
    Case("splade", {"model": "MODEL:sparse", "search": "csr"}),
    Case("splade", {"model": "MODEL:sparse", "search": "lucene"}, ["neural", "java"]),
    Case("colbert", {"model": "MODEL:multivector"}),
    Case("colbert", {"model": "MODEL:multivector", "index": "ivf"}),
    Case("openai-embedding", _EMBEDDING),
    Case("openai-embedding", {**_EMBEDDING, "index": "hnsw"}),
]
RERANKER_CASES = [
    Case("lsa", {"language": "en", "dimensions": 8}, []),
    Case("dense", {"model": "MODEL:dense"}),
    Case("dense", {"query_model": "MODEL:question", "passage_model": "MODEL:context"}),
    Case("colbert", {"model": "MODEL:multivector"}),
    Case("cross-encoder", {"model": "MODEL:cross_encoder"}),
    Case("monot5", {"model": "MODEL:t5", "tokens": ["yes", "no"]}),
]
_WORDS = "the harbour court judge tide boats witness lighthouse keeper baker oven dough appeal sea star"


def passages() -> list[str]:
    """40 passages, three of them the same, one long, one with special tokens written out."""
    chance = random.Random(11)
    texts = [" ".join(chance.choices(_WORDS.split(), k=chance.randint(3, 20))) for _ in range(36)]
    return [*texts, texts[0], texts[0], "harbour " * 400, "[SEP] </s> [MASK] harbour <unk>"]


TEXTS = passages()
DOC_IDS = [f"{'0' * (i % 3)}{i}" for i in range(len(TEXTS))]
QUERIES = ["harbour judge", "the lighthouse keeper", "dough in the oven", "appeal", "harbour " * 30]


@pytest.fixture(scope="module", autouse=True)
def quick_java() -> Iterator[None]:
    """Java compiles as quickly as it can, not as well: the tests' work is over before it would pay."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("contract")


@pytest.fixture(scope="module")
def corpus(place: Path) -> CorpusStore:
    return store(place / "store", TEXTS, DOC_IDS)


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


@pytest.fixture(scope="module")
def context() -> Iterator[Context]:
    with Context() as shared_context:
        yield shared_context


def titled(cases: Sequence[Case]) -> list[Any]:
    return [
        pytest.param(case, marks=[getattr(pytest.mark, need) for need in case.needs], id=f"{n}-{case.title}")
        for n, case in enumerate(cases)
    ]


def model(place: Path, kind: str) -> str:
    """The folder in ``place`` of a tiny model, made once."""
    from tests.tiny_models import cross_encoder, dense, multivector, sparse, t5

    make = {
        "dense": dense.sentence_transformer,
        "static": dense.static,
        "question": partial(dense.dpr, role="Question", seed=1),
        "context": partial(dense.dpr, role="Context", seed=2),
        "sparse": sparse.splade,
        "multivector": multivector.expanding,
        "cross_encoder": cross_encoder.cross_encoder,
        "t5": t5.t5,
    }
    if not (place / kind).exists():
        make[kind](place / f"{kind}-model").rename(place / kind)
    return kind


class Made(NamedTuple):
    component: Any
    index: Path


_made: dict[tuple[Path, str], Made] = {}


def made(
    registry: Registry, case: Case, place: Path, corpus: CorpusStore, server: EmbeddingServer, context: Context
) -> Made:
    """The component of a case with its index, made once."""
    key = (place, f"{registry.kind} {case}")
    if key not in _made:
        _made[key] = fresh(registry, case, place, corpus, server, context, place / f"index-{len(_made)}")
    return _made[key]


def fresh(
    registry: Registry,
    case: Case,
    place: Path,
    corpus: CorpusStore,
    server: EmbeddingServer,
    context: Context,
    index: Path,
) -> Made:
    component = fetched(registry, case, place, server, context)
    if component.index_key() is not None:
        index.mkdir()
        component.index(corpus, index, context)
    return Made(component, index)


def fetched(registry: Registry, case: Case, place: Path, server: EmbeddingServer, context: Context) -> Any:
    """The component of a case, which has built nothing yet."""
    values = dict(case.parameters)
    for key, value in values.items():
        if str(value).startswith("MODEL:"):
            values[key] = model(place, value.removeprefix("MODEL:"))
    if "base_url" in values:
        values["base_url"] = server.url
    kind = registry.get(case.name)
    kind.require()
    component = kind(kind.Parameters(**values), ComponentEnvironment(folder=place))
    component.fetch(context.note)
    return component


def ranked(hits: Hits, queries: Sequence[Query], corpus: CorpusStore, depth: int) -> dict[str, list[tuple[str, float]]]:
    """The run of some hits as it would be written."""
    run = Run.ranked("x", Ids([query.query_id for query in queries]), corpus.ids, *hits, depth)
    rows: dict[str, list[tuple[str, float]]] = {}
    query_ids, doc_ids = run.queries.decode(run.query).to_pylist(), run.docs.decode(run.doc).to_pylist()
    for query_id, doc_id, score in zip(query_ids, doc_ids, run.score.tolist(), strict=True):
        rows.setdefault(query_id, []).append((doc_id, score))
    return rows


def numbered(texts: Sequence[str]) -> list[Query]:
    return [Query(f"q{i}", text) for i, text in enumerate(texts)]


def test_every_component_of_ours_is_tried_here() -> None:
    # A plug-in is tested where it is made; run files, which search nothing, in test_run_file.py.
    assert {case.name for case in RETRIEVER_CASES} == set(RETRIEVERS._builtin) - {"run"}
    assert {case.name for case in RERANKER_CASES} == set(RERANKERS._builtin)


@pytest.mark.parametrize("case", titled(RETRIEVER_CASES))
class TestRetrievers:
    @pytest.fixture(autouse=True)
    def _made(self, case: Case, place: Path, corpus: CorpusStore, server: EmbeddingServer, context: Context) -> None:
        self.corpus, self.context = corpus, context
        self.component, self.index = made(RETRIEVERS, case, place, corpus, server, context)

    def search(self, queries: Sequence[Query], depth: int) -> Hits:
        hits: Hits = self.component.search(self.corpus, self.index, queries, depth, self.context)
        return hits

    @pytest.mark.parametrize("depth", [1, 7, 40, 1000])
    def test_a_run_has_at_most_so_many_known_documents_once_each_in_strict_order(self, case: Case, depth: int) -> None:
        hits = self.search(numbered(QUERIES), depth)
        assert len({*zip(hits.query.tolist(), hits.doc.tolist(), strict=True)}) == len(hits.doc)
        assert np.isfinite(hits.score).all()
        found = ranked(hits, numbered(QUERIES), self.corpus, depth)
        assert found, "no query found anything"
        for rows in found.values():
            assert len(rows) <= depth
            assert {doc_id for doc_id, _ in rows} <= set(DOC_IDS)
            assert all(isinstance(doc_id, str) for doc_id, _ in rows)
            keys = [(np.float32(score), doc_id) for doc_id, score in rows]
            assert keys == sorted(keys, reverse=True)
            assert len(set(keys)) == len(keys)

    def test_a_shallow_run_is_the_head_of_a_deep_one(self, case: Case) -> None:
        queries = numbered(QUERIES)
        deep = ranked(self.search(queries, 40), queries, self.corpus, 40)
        for depth in (1, 3, 10):
            shallow = ranked(self.search(queries, depth), queries, self.corpus, depth)
            for query_id, rows in deep.items():
                assert_same(shallow[query_id], rows[:depth])

    def test_the_same_again_gives_the_same(
        self, case: Case, tmp_path: Path, place: Path, server: EmbeddingServer
    ) -> None:
        queries = numbered(QUERIES)
        first = ranked(self.search(queries, 10), queries, self.corpus, 10)
        with Context() as context:
            again = fresh(RETRIEVERS, case, place, self.corpus, server, context, tmp_path / "index")
            hits = again.component.search(self.corpus, again.index, queries, 10, context)
        assert ranked(hits, queries, self.corpus, 10) == first

    def test_a_query_finds_the_same_alone_as_among_others(self, case: Case) -> None:
        queries = numbered(QUERIES)
        together = ranked(self.search(queries, 10), queries, self.corpus, 10)
        for query in queries:
            alone = ranked(self.search([query], 10), [query], self.corpus, 10)
            assert_same(alone.get(query.query_id, []), together.get(query.query_id, []))

    def test_no_queries_find_nothing(self, case: Case) -> None:
        assert [len(column) for column in self.search([], 10)] == [0, 0, 0]

    def test_keys_are_data_and_do_not_change_by_themselves(
        self, case: Case, place: Path, server: EmbeddingServer
    ) -> None:
        import json

        # The keys decide whether an index is built, so one that has been used has those of one that has not.
        self.search(numbered(QUERIES[:1]), 1)
        with Context() as context:
            again = fetched(RETRIEVERS, case, place, server, context)
        for key in ("index_key", "search_key"):
            one, other = (json.dumps(getattr(made, key)(), sort_keys=True) for made in (self.component, again))
            assert one == other


@pytest.mark.parametrize("blank", ["", " \t\n"])
@pytest.mark.parametrize("case", titled(RETRIEVER_CASES))
def test_an_empty_query_finds_nothing_and_troubles_no_other(
    case: Case, blank: str, place: Path, corpus: CorpusStore, server: EmbeddingServer, context: Context
) -> None:
    component, index = made(RETRIEVERS, case, place, corpus, server, context)
    queries = [Query("q0", QUERIES[0]), Query("none", blank), Query("q3", QUERIES[3])]
    found = ranked(component.search(corpus, index, queries, 10, context), queries, corpus, 10)
    assert set(found) == {"q0", "q3"}
    assert [len(column) for column in component.search(corpus, index, [queries[1]], 10, context)] == [0, 0, 0]


# Of equals, Lucene's BM25 has an order of its own, each a step below the one before.
@pytest.mark.parametrize("case", titled([case for case in RETRIEVER_CASES if case.name != "bm25"]))
def test_equal_passages_have_equal_scores(
    case: Case, place: Path, corpus: CorpusStore, server: EmbeddingServer, context: Context
) -> None:
    component, index = made(RETRIEVERS, case, place, corpus, server, context)
    hits = component.search(corpus, index, numbered([TEXTS[0]]), len(TEXTS), context)
    scores = dict(zip(hits.doc.tolist(), hits.score.tolist(), strict=True))
    assert scores[0] == scores[36] == scores[37]


@pytest.mark.parametrize("case", titled(RERANKER_CASES))
class TestRerankers:
    @pytest.fixture(autouse=True)
    def _made(self, case: Case, place: Path, corpus: CorpusStore, server: EmbeddingServer, context: Context) -> None:
        self.corpus, self.context = corpus, context
        self.component, self.index = made(RERANKERS, case, place, corpus, server, context)

    def scores(self, queries: Sequence[Query], pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], float]:
        """By query and ordinal; the first stage ranks pairs in the order given."""
        query = np.array([pair[0] for pair in pairs], dtype=np.int64)
        doc = np.array([pair[1] for pair in pairs], dtype=np.int64)
        first = Run.ranked(
            "first",
            Ids([q.query_id for q in queries]),
            self.corpus.ids,
            query,
            doc,
            -np.arange(len(pairs), dtype=float),
        )
        values = self.component.rescore(self.corpus, self.index, queries, first, self.context)
        assert len(values) == len(first)
        assert np.isfinite(values).all()
        return dict(zip(zip(first.query.tolist(), first.doc.tolist(), strict=True), values.tolist(), strict=True))

    def test_each_pair_gets_one_score_whatever_the_order_and_company(self, case: Case) -> None:
        queries = numbered(QUERIES[:4])
        pairs = [(query, doc) for query in range(4) for doc in range(0, 40, 3)]
        found = self.scores(queries, pairs)
        assert found.keys() == set(pairs)
        shuffled = random.Random(3).sample(pairs, len(pairs))
        assert self.scores(queries, shuffled) == pytest.approx(found, abs=TOLERANCE)
        some = pairs[::5]
        assert self.scores(queries, some) == pytest.approx({pair: found[pair] for pair in some}, abs=TOLERANCE)

    def test_the_same_again_gives_the_same(
        self, case: Case, tmp_path: Path, place: Path, server: EmbeddingServer
    ) -> None:
        queries, pairs = numbered(QUERIES[:2]), [(query, doc) for query in range(2) for doc in range(20)]
        found = []
        for name in ("one", "other"):
            # A context of its own: what another has encoded already is not reused.
            with Context() as self.context:
                self.component, self.index = fresh(
                    RERANKERS, case, place, self.corpus, server, self.context, tmp_path / name
                )
                found.append(self.scores(queries, pairs))
        assert found[0] == found[1]

    def test_equal_passages_have_equal_scores(self, case: Case) -> None:
        found = self.scores(numbered(QUERIES[:1]), [(0, doc) for doc in range(40)])
        assert found[0, 0] == pytest.approx(found[0, 36], abs=TOLERANCE)
        assert found[0, 0] == pytest.approx(found[0, 37], abs=TOLERANCE)

    def test_no_pairs_get_no_scores(self, case: Case) -> None:
        assert self.scores(numbered(QUERIES[:1]), []) == {}


def assert_same(found: Sequence[tuple[str, float]], expected: Sequence[tuple[str, float]]) -> None:
    """The same scores by rank, and the same documents wherever scores are not near each other."""
    assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=TOLERANCE)
    scores = [score for _, score in expected]
    for rank, ((one, _), (other, _)) in enumerate(zip(found, expected, strict=True)):
        near = [s for at, s in enumerate(scores) if at != rank and abs(s - scores[rank]) <= 2 * TOLERANCE]
        assert one == other or near or rank == len(scores) - 1
