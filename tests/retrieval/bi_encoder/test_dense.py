"""Dense retrieval against sentence-transformers' own semantic search on the same model."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from near_ties import assert_ranked
from sentence_transformers import SentenceTransformer, util
from small_stores import by_query, indexed, search, store

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.models.errors import ModelMissingError
from quati_pool.records import Ids, Query, Run
from quati_pool.retrieval.base import ComponentEnvironment, Context
from quati_pool.retrieval.bi_encoder import dense as module
from quati_pool.retrieval.bi_encoder.dense import Dense, DenseParameters, DenseReranker
from quati_pool.retrieval.bi_encoder.dense_parameters import EncodingParameters, settings_of
from quati_pool.retrieval.encoders import passage_encoding
from quati_pool.retrieval.planning import Workload
from quati_pool.retrieval.vector_index.vector_search import Vectors
from tests.tiny_models import dense as tiny

pytestmark = [pytest.mark.neural, pytest.mark.usefixtures("offline")]

# Batches of other texts and widths sum in another order.
TOLERANCE = 1e-5

TEXTS = [
    "the court judge heard the appeal", "boats", "a judge and a witness in court court court", "",
    "the tide lifts boats in the harbour", "boats sail past the harbour lighthouse", "boats", "rio floresta jacaré",
    "the lighthouse keeper was a witness", "baker kneads dough before the oven heats", "x" * 500, "água",
    "dough rises beside the oven oven", "appeal to the baker about dough " * 30, "tide and court", "judge", "boats",
]  # fmt: skip
QUERIES = ["judge in the court", "harbour boats", "oven dough", "não é", "boats"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    tmp = tmp_path_factory.mktemp("models")
    return {
        "mean": tiny.sentence_transformer(tmp / "mean"),
        "unsaid": tiny.sentence_transformer(tmp / "unsaid", normalize=False, similarity=None),
        "dot": tiny.dot_model(tmp / "dot"),
        "static": tiny.static(tmp / "static"),
        "e5": tiny.e5_like(tmp / "intfloat"),
        "prompts": tiny.with_prompts(tmp / "prompts", query="query: ", passage="passage: ", other="fox "),
        "bert": tiny.bert_folder(tmp / "bert"),
        "short": tiny.sentence_transformer(tmp / "short", truncate_dim=6),
    }


@pytest.fixture
def corpus(tmp_path: Path) -> CorpusStore:
    return store(tmp_path / "store", TEXTS)


def dense(folder: Path, **parameters: Any) -> Dense:
    return Dense(DenseParameters(model=str(folder), **parameters))


def expected(
    folder: Path, *, prompts: tuple[str, str] = ("", ""), dot: bool = False, **settings: Any
) -> list[dict[int, float]]:
    """Scores of all passages by sentence-transformers alone."""
    model = SentenceTransformer(str(folder), device="cpu", model_kwargs={"dtype": torch.float32})
    if (length := settings.pop("max_tokens", None)) is not None:
        model.max_seq_length = length
    asked = model.encode(QUERIES, prompt=prompts[0] or None, convert_to_tensor=True, **settings)
    passages = model.encode(TEXTS, prompt=prompts[1] or None, convert_to_tensor=True, batch_size=4, **settings)
    found = util.semantic_search(
        asked, passages, top_k=len(TEXTS), score_function=util.dot_score if dot else util.cos_sim
    )
    return [{int(hit["corpus_id"]): float(hit["score"]) for hit in hits} for hits in found]


def ranking(scores: dict[int, float]) -> list[int]:
    """Score descending, then doc_id descending."""
    doc_ids = [f"d{i}" for i in range(len(TEXTS))]
    run = Run.ranked(
        "r", Ids(["q"]), Ids(doc_ids), np.zeros(len(scores)), np.array([*scores]), np.array([*scores.values()])
    )
    return run.doc.tolist()


def assert_same(found: Sequence[dict[int, float]], wanted: Sequence[dict[int, float]], tolerance: float) -> None:
    """The same scores, and the same order wherever scores are further apart than the tolerance."""
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.keys() == theirs.keys()
        scale = max(1.0, max(map(abs, theirs.values())))
        assert ours == {doc: pytest.approx(score, abs=tolerance * scale) for doc, score in theirs.items()}
        assert_ranked(ranking(ours), theirs, tolerance * scale)


@pytest.mark.parametrize(
    ("name", "parameters", "oracle"),
    [
        ("mean", {}, {}),
        ("unsaid", {}, {}),
        ("dot", {}, {"dot": True}),
        ("dot", {"normalize": True}, {}),
        ("unsaid", {"normalize": False}, {"dot": True}),
        ("static", {}, {}),
        ("bert", {}, {}),
        ("mean", {"truncate_dim": 7}, {"truncate_dim": 7}),
        ("dot", {"truncate_dim": 7}, {"truncate_dim": 7, "dot": True}),
        ("short", {}, {"truncate_dim": 6}),
        ("mean", {"max_tokens": 5}, {"max_tokens": 5}),
        ("e5", {}, {"prompts": ("query: ", "passage: ")}),
        ("prompts", {}, {"prompts": ("query: ", "passage: ")}),
        ("prompts", {"passage_prompt_name": "other"}, {"prompts": ("query: ", "fox ")}),
        ("prompts", {"query_prompt": "", "passage_prompt": ""}, {}),
        ("mean", {"query_prompt": "fox ", "passage_prompt": "dog: "}, {"prompts": ("fox ", "dog: ")}),
        ("mean", {"device": ["cpu", "cpu"], "batch_tokens": 60}, {}),
        ("mean", {"batch_tokens": 1}, {}),
    ],
    ids=lambda value: "-".join(f"{k}={v}" for k, v in value.items()) or "default" if isinstance(value, dict) else value,
)
def test_rankings_equal_semantic_search(
    made: dict[str, Path], corpus: CorpusStore, tmp_path: Path, name: str, parameters: Any, oracle: Any
) -> None:
    retriever = dense(made[name], **parameters)
    assert_same(search(retriever, corpus, tmp_path, QUERIES, len(TEXTS)), expected(made[name], **oracle), TOLERANCE)


# A component of a vector of length 1 is kept to 2⁻¹¹ of itself (fp16) or 1/254 of the largest (int8); a score
# is the sum of 32 such products. fp16 computes in half precision too.
@pytest.mark.parametrize(("precision", "tolerance"), [("fp16", 5e-3), ("int8", 2e-2)])
def test_smaller_precisions_stay_near(
    made: dict[str, Path], corpus: CorpusStore, tmp_path: Path, precision: str, tolerance: float
) -> None:
    found = search(dense(made["mean"], precision=precision), corpus, tmp_path, QUERIES, len(TEXTS))
    assert_same(found, expected(made["mean"]), tolerance)


def test_passages_with_the_same_text_get_the_same_score(
    made: dict[str, Path], corpus: CorpusStore, tmp_path: Path
) -> None:
    for hits in search(dense(made["mean"]), corpus, tmp_path, QUERIES, len(TEXTS)):
        assert hits[1] == hits[6] == hits[16]
    # "boats" asks for just these three; the cut-off falls among them and all come.
    assert search(dense(made["mean"]), corpus, tmp_path, ["boats"], 1)[0].keys() == {1, 6, 16}


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(st.integers(0, len(TEXTS) - 1), min_size=2, max_size=40),
    size=st.integers(1, 9),
    batch_tokens=st.sampled_from([1, 60, 2048]),
    precision=st.sampled_from(["fp32", "int8"]),
)
def test_equal_passages_have_the_same_vector_and_score_in_any_shard_and_batch(
    made: dict[str, Path], rows: list[int], size: int, batch_tokens: int, precision: str
) -> None:
    texts = [TEXTS[row] for row in rows]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(passage_encoding, "shard_passages", lambda encoder, most: size)
        corpus, context = store(Path(folder, "store"), texts), Context()
        retriever = dense(made["mean"], batch_tokens=batch_tokens, precision=precision)
        vectors = Vectors(retriever.encoded(corpus, context)).rows(slice(None))
        queries = [Query(f"q{i}", text) for i, text in enumerate(QUERIES)]
        found = by_query(retriever.search(corpus, Path("none"), queries, len(texts), context), len(QUERIES))
        for first, text in enumerate(texts):
            same = [doc for doc, other in enumerate(texts) if other == text]
            assert all(np.array_equal(vectors[first], vectors[doc]) for doc in same)
            assert all(hits[doc] == hits[first] for hits in found for doc in same)


@pytest.mark.parametrize("index", ["flat", "hnsw", "ivf-pq"])
def test_an_empty_corpus_gives_no_hits(made: dict[str, Path], tmp_path: Path, index: str) -> None:
    retriever, corpus = dense(made["mean"], index=index), store(tmp_path / "none", [])
    folder = indexed(retriever, corpus, tmp_path / "index")
    assert search(retriever, corpus, folder, ["boats"], 5) == [{}]


@pytest.mark.parametrize("index", ["flat", "hnsw"])
def test_blank_queries_return_nothing_and_leave_the_others_alone(
    made: dict[str, Path], corpus: CorpusStore, tmp_path: Path, index: str
) -> None:
    retriever = dense(made["mean"], index=index)
    folder = indexed(retriever, corpus, tmp_path / "index")
    asked = ["", "boats", " \t\n", "judge", "\u3000"]
    found = search(retriever, corpus, folder, asked, 5)
    assert [bool(hits) for hits in found] == [False, True, False, True, False]
    alone = search(retriever, corpus, folder, ["boats", "judge"], 5)
    assert_same([found[1], found[3]], alone, TOLERANCE)
    assert search(retriever, corpus, folder, ["", " "], 5) == [{}, {}]


def test_an_hnsw_index_of_a_small_corpus_gives_the_flat_scores(
    made: dict[str, Path], corpus: CorpusStore, tmp_path: Path
) -> None:
    retriever = dense(made["mean"], index="hnsw")
    assert retriever.index_key() is not None
    folder = indexed(retriever, corpus, tmp_path / "index")
    found = search(retriever, corpus, folder, QUERIES, len(TEXTS))
    assert_same(found, expected(made["mean"]), TOLERANCE)


def run_over(corpus: CorpusStore, docs: Sequence[int], queries: int) -> Run:
    query = np.repeat(np.arange(queries), len(docs))
    doc = np.tile(np.array(docs, dtype=np.int64), queries)
    ids = Ids([f"q{i}" for i in range(queries)])
    return Run.ranked("first", ids, corpus.ids, query, doc, np.cos(doc + query))


def rescored(component: Any, corpus: CorpusStore, run: Run, asked: Sequence[str], context: Context) -> Any:
    queries = [Query(f"q{i}", text) for i, text in enumerate(asked)]
    scores = component.rescore(corpus, Path("nowhere"), queries, run, context)
    return by_query(type("H", (tuple,), {})((run.query, run.doc, scores)), len(asked))  # type: ignore[arg-type]


@pytest.mark.parametrize("docs", [[4, 0, 12], list(range(len(TEXTS)))], ids=["some", "all"])
def test_the_reranker_scores_as_the_retriever(made: dict[str, Path], corpus: CorpusStore, docs: list[int]) -> None:
    reranker = DenseReranker(EncodingParameters(model=str(made["mean"])))
    found = rescored(reranker, corpus, run_over(corpus, docs, len(QUERIES)), QUERIES, Context())
    wanted = [{doc: hits[doc] for doc in docs} for hits in expected(made["mean"])]
    assert_same(found, wanted, TOLERANCE)


def counting(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many passages each call of the encoder was given."""
    counts: list[int] = []
    encode = module.Encoder.encode

    def counted(self: Any, texts: Sequence[str], prompt: str, task: str, *args: Any, **kwargs: Any) -> Any:
        if task == "document":
            counts.append(len(texts))
        return encode(self, texts, prompt, task, *args, **kwargs)

    monkeypatch.setattr(module.Encoder, "encode", counted)
    return counts


def test_the_reranker_encodes_only_the_runs_passages_once_and_uses_the_whole_corpus_where_it_is_there(
    made: dict[str, Path], corpus: CorpusStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = counting(monkeypatch)
    context = Context()
    reranker = DenseReranker(EncodingParameters(model=str(made["mean"])))
    run = run_over(corpus, [3, 9, 2], 2)
    first = rescored(reranker, corpus, run, QUERIES[:2], context)
    again = rescored(reranker, corpus, run, QUERIES[:2], context)
    assert counts == [3]
    assert first == again
    dense(made["mean"]).encoded(corpus, context)
    assert counts == [3, len(set(TEXTS))]
    whole = rescored(reranker, corpus, run_over(corpus, [5, 6], 2), QUERIES[:2], context)
    assert counts == [3, len(set(TEXTS))]
    assert whole[0].keys() == {5, 6}


def test_the_reranker_gives_pairs_of_a_blank_query_0(made: dict[str, Path], corpus: CorpusStore) -> None:
    reranker = DenseReranker(EncodingParameters(model=str(made["mean"])))
    found = rescored(reranker, corpus, run_over(corpus, [0, 1], 2), [" ", "boats"], Context())
    assert found[0] == {0: 0.0, 1: 0.0}
    assert found[1][1] == pytest.approx(1.0, abs=1e-5)
    assert len(reranker.rescore(corpus, Path(), [], run_over(corpus, [], 0), Context())) == 0


def test_every_kind_of_index_shares_the_vectors(
    made: dict[str, Path], corpus: CorpusStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = counting(monkeypatch)
    context = Context()
    for index in ("flat", "hnsw"):
        retriever = dense(made["mean"], index=index)
        folder = tmp_path / index
        folder.mkdir()
        retriever.index(corpus, folder, context)
        retriever.search(corpus, folder, [Query("q", "boats")], 3, context)
    assert counts == [len(set(TEXTS))]


@pytest.mark.parametrize("stop", [0, 1, 4])
def test_an_interrupted_encoding_goes_on_after_its_last_shard(
    made: dict[str, Path], corpus: CorpusStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    monkeypatch.setattr(passage_encoding, "shard_passages", lambda encoder, most: 3)
    retriever = dense(made["mean"])
    unbroken = Context()
    whole = Vectors(retriever.encoded(corpus, unbroken)).rows(slice(None))
    counts = counting(monkeypatch)
    counted = module.Encoder.encode

    def killed(self: Any, *args: Any, **kwargs: Any) -> Any:
        if len(counts) == stop:
            raise KeyboardInterrupt
        return counted(self, *args, **kwargs)

    monkeypatch.setattr(module.Encoder, "encode", killed)
    context = Context()
    with pytest.raises(KeyboardInterrupt):
        retriever.encoded(corpus, context)
    # Equal texts are encoded once.
    assert sum(counts) == len(set(TEXTS[: 3 * stop]))
    counts.clear()
    monkeypatch.setattr(module.Encoder, "encode", counted)
    seen: list[tuple[int, int]] = []
    context.progress = lambda done, total: seen.append((done, total))
    resumed = Vectors(retriever.encoded(corpus, context))
    assert sum(counts) == len(set(TEXTS)) - len(set(TEXTS[: 3 * stop]))
    assert seen[0] == (3 * stop, len(TEXTS))
    assert seen[-1] == (len(TEXTS), len(TEXTS))
    assert np.array_equal(resumed.rows(slice(None)), whole)


def test_a_passage_whose_vector_is_nan_is_named(made: dict[str, Path], corpus: CorpusStore, tmp_path: Path) -> None:
    # "dough" first stands in the passage d9.
    broken = tiny.poisoned(tiny.sentence_transformer(tmp_path / "broken"), "dough")
    with pytest.raises(QuatiPoolError, match=rf"^model '{broken}' gives passage 'd9' a vector with NaN") as caught:
        dense(broken).encoded(corpus, Context())
    assert "\n" not in str(caught.value)
    sound = store(tmp_path / "sound", ["boats"])
    with pytest.raises(QuatiPoolError, match=r"gives query 'q1' a vector with NaN"):
        search(dense(broken), sound, tmp_path, ["boats", "dough"])


def test_out_of_memory_is_said_once_and_changes_no_ranking(
    made: dict[str, Path], corpus: CorpusStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forward = SentenceTransformer.forward

    def small(self: Any, features: dict[str, Any], **kwargs: Any) -> Any:
        if features["input_ids"].numel() > 70:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        return forward(self, features, **kwargs)

    wanted = expected(made["mean"])
    monkeypatch.setattr(SentenceTransformer, "forward", small)
    notes: list[str] = []
    context = Context(note=notes.append)
    retriever = dense(made["mean"])
    hits = retriever.search(corpus, tmp_path, [Query(f"q{i}", q) for i, q in enumerate(QUERIES)], 99, context)
    assert_same(by_query(hits, len(QUERIES)), wanted, TOLERANCE)
    assert len(notes) == 1
    assert "memory is too small for a batch" in notes[0]


def test_a_model_of_another_kind_is_refused_before_any_work(made: dict[str, Path], tmp_path: Path) -> None:
    import transformers

    folder = tiny.bert_folder(tmp_path / "ce")
    config = transformers.AutoConfig.from_pretrained(folder, architectures=["BertForSequenceClassification"])
    config.save_pretrained(folder)
    for component in (dense(folder), DenseReranker(EncodingParameters(model=str(folder)))):
        with pytest.raises(QuatiPoolError, match=r"is a cross-encoder, not a dense model, .* \{with: cross-encoder\}"):
            component.fetch(print)


def test_what_is_assumed_of_a_model_is_noted(made: dict[str, Path]) -> None:
    def noted(name: str, **parameters: Any) -> str:
        notes: list[str] = []
        dense(made[name], **parameters).fetch(notes.append)
        return "; ".join(notes)

    assert "'query: ' and 'passage: ' are put before the texts" in noted("e5")
    assert noted("e5", query_prompt="x") == ""
    assert "the mean of its tokens" in noted("bert")
    assert noted("mean") == noted("prompts") == noted("static") == ""


@pytest.mark.parametrize(
    ("name", "parameters", "said"),
    [
        (
            "prompts",
            {"query_prompt_name": "web"},
            r"has no prompt 'web' \(it has: .*other.*\); correct "
            r"query_prompt_name",
        ),
        ("mean", {"query_prompt": "a", "query_prompt_name": "query"}, r"are both set; drop one"),
        ("mean", {"truncate_dim": 33}, r"has 32 dimensions, fewer than truncate_dim: 33; lower it"),
        ("mean", {"max_tokens": 65}, r"reads at most 64 tokens of a text; lower max_tokens"),
        ("static", {"max_tokens": 5}, r"reads texts of any length whole; drop max_tokens"),
        ("mean", {"device": "cuda:5"}, r"has no device 'cuda:5'"),
    ],
    ids=["prompt-name", "both", "truncate_dim", "max_tokens", "static", "device"],
)
def test_parameters_that_a_model_cannot_follow_are_refused(
    made: dict[str, Path], corpus: CorpusStore, tmp_path: Path, name: str, parameters: Any, said: str
) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        search(dense(made[name], **parameters), corpus, tmp_path, ["boats"])
    assert "\n" not in str(caught.value)


def test_distances_are_no_similarity(tmp_path: Path) -> None:
    folder = tiny.sentence_transformer(tmp_path / "far", similarity="euclidean")
    with pytest.raises(ConfigError, match=r"compares vectors by euclidean distance.* set normalize"):
        settings_of(EncodingParameters(model="far"), folder)
    assert settings_of(EncodingParameters(model="far", normalize=True), folder).normalize


@pytest.mark.parametrize(
    ("name", "prompts"),
    [
        ("multilingual-e5-large", ("query: ", "passage: ")),
        ("e5-small-v2", ("query: ", "passage: ")),
        ("E5-Base", ("query: ", "passage: ")),
        ("multilingual-e5-large-instruct", ("", "")),
        ("e5-mistral-7b-instruct", ("", "")),
        ("bge-base", ("", "")),
    ],
)
def test_only_the_plain_models_of_e5_get_their_prompts(
    made: dict[str, Path], name: str, prompts: tuple[str, str]
) -> None:
    for model in (f"intfloat/{name}", f"models/{name}/"):
        assert settings_of(EncodingParameters(model=model), made["mean"])[:2] == prompts


def test_keys_hold_what_changes_vectors_and_nothing_else(made: dict[str, Path]) -> None:
    model = str(made["mean"])

    def keys(**parameters: Any) -> tuple[Any, Any]:
        component = dense(Path(parameters.pop("model", model)), **parameters)
        return component.encoding_key(), component.search_key()

    same = keys()
    assert keys(device="cpu") == keys(device=["cpu", "cpu"]) == keys(batch_tokens=7) == keys(normalize=True) == same
    for changed in (
        {"model": str(made["dot"])}, {"passage_prompt": "x"}, {"truncate_dim": 5}, {"normalize": False},
        {"max_tokens": 9}, {"precision": "int8"}, {"precision": "fp16"}, {"compute": "bf16"},
    ):  # fmt: skip
        vectors, found = keys(**changed)
        assert vectors != same[0]
        assert found != same[1]
    vectors, found = keys(query_prompt="x")
    assert vectors == same[0]
    assert found != same[1]
    assert dense(made["mean"]).index_key() is None
    hnsw = dense(made["mean"], index="hnsw").index_key()
    assert hnsw is not None
    assert {**same[0], **hnsw} == hnsw
    reranker = DenseReranker(EncodingParameters(model=model))
    assert reranker.index_key() is None
    assert reranker.encoding_key() == same[0]


def test_half_precision_vectors_are_computed_in_half_precision_unless_told(made: dict[str, Path]) -> None:
    def computes(**parameters: Any) -> str:
        return settings_of(EncodingParameters(model="m", **parameters), made["mean"]).compute

    assert computes(precision="fp16") == "fp16"
    assert computes(precision="fp16", compute="fp32") == "fp32"
    assert computes(precision="int8") == "fp32"
    assert computes(precision="int8", compute="bf16") == "bf16"


def test_the_folder_of_a_model_is_relative_to_the_workspace(
    made: dict[str, Path], corpus: CorpusStore, tmp_path: Path
) -> None:
    parameters = DenseParameters(model=made["mean"].name)
    found = search(Dense(parameters, ComponentEnvironment(made["mean"].parent)), corpus, tmp_path, ["boats"], 3)
    assert found[0].keys() == {1, 6, 16}
    with pytest.raises(ModelMissingError):
        Dense(parameters, ComponentEnvironment(tmp_path)).search_key()


def test_searching_says_nothing(
    made: dict[str, Path], corpus: CorpusStore, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("mean", "static", "bert"):
        search(dense(made[name]), corpus, tmp_path, ["boats"])
    assert capfd.readouterr() == ("", "")


def test_the_estimate_counts_what_is_kept(made: dict[str, Path]) -> None:
    work = Workload(passages=1000, characters=40.0, queries=10, depth=100, sample=TEXTS[:5])
    # 1,000 vectors of 32 float32 components; as int8 one byte each and a float32 factor.
    assert dense(made["mean"]).estimate(work).disk == 1000 * 32 * 4
    assert dense(made["mean"], precision="int8", truncate_dim=8).estimate(work).disk == 1000 * (8 + 4)
    found = dense(made["mean"]).estimate(work)
    assert found.encode == 1000
    assert found.flops is not None
    assert found.flops > 0
    assert any("1,000" in line for line in found.arithmetic)
    assert dense(made["static"]).estimate(work).encode == 1000
    reranked = DenseReranker(EncodingParameters(model=str(made["mean"])))
    few = Workload(passages=1000, characters=40.0, queries=10, depth=100, pairs=30)
    assert reranked.estimate(few).disk == 30 * 32 * 4


def test_a_model_of_the_paper_is_estimated_without_its_files() -> None:
    """E5-large: 24 layers, 12 · 24 · 1024² ≈ 302 M weights, twice for each token; vectors of 1,024 float32."""
    work = Workload(passages=1_000_000, characters=800.0, queries=50, depth=1000)
    found = Dense(DenseParameters(model="intfloat/multilingual-e5-large")).estimate(work)
    assert found.disk == 1_000_000 * 1024 * 4
    assert found.flops is not None
    assert found.flops == pytest.approx(1e6 * 200 * 2 * 12 * 24 * 1024**2, rel=0.1)
    unknown = Dense(DenseParameters(model="someone/unknown")).estimate(work)
    assert unknown.encode == 1_000_000
    assert unknown.seconds is None
