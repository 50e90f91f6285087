"""SPLADE against sentence-transformers' own SparseEncoder, with tiny models of random weights."""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from near_ties import assert_ranked
from sentence_transformers import SparseEncoder
from small_stores import by_query, contents, indexed, search, store

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.models.errors import ModelError, ModelMissingError
from quati_pool.records import Query
from quati_pool.retrieval.base import Context
from quati_pool.retrieval.encoders import encoding, passage_encoding
from quati_pool.retrieval.planning import KNOWN, Workload, forward_flops
from quati_pool.retrieval.shards import Shards
from quati_pool.retrieval.sparse.impact_encoder import ImpactEncoder
from quati_pool.retrieval.sparse.impacts import stored
from quati_pool.retrieval.sparse.splade import Splade
from quati_pool.retrieval.sparse.splade_parameters import SpladeParameters
from tests.tiny_models import dense, sparse

pytestmark = pytest.mark.neural

FINE = 10_000
WORDS = [
    "the",
    "court",
    "judge",
    "tide",
    "boats",
    "harbour",
    "oven",
    "dough",
    "fox",
    "dog",
    "água",
    "rio",
    "xyz",
    "ing",
]
QUERIES = ["the court", "fox dog fox", "tide in the harbour", "água | rio", "zzz"]
chance = random.Random(3)
TEXTS = [" ".join(chance.choices(WORDS, k=chance.randint(1, 25))) for _ in range(40)]
HOSTILE = ["", " \t\n", "\x00\x01\ufeff", "|", "a|b t1|7", "[SEP] [unused1] ##ing", "\ud7ff😀" * 50, "á" * 5000]


@pytest.fixture(scope="module")
def splade(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sparse.splade(tmp_path_factory.mktemp("splade"), bias=-1.0)


@pytest.fixture(scope="module")
def inference_free(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sparse.inference_free(tmp_path_factory.mktemp("inference-free"))


def retriever(model: Path, **parameters: Any) -> Splade:
    return Splade(SpladeParameters(model=str(model), device="cpu", **parameters))


def scores(tmp_path: Path, model: Path, texts: Sequence[str], queries: Sequence[str], **parameters: Any) -> Any:
    """Our scores divided by the square of the quantization, shape (queries, texts); 0 where there is no hit."""
    corpus, splade = store(tmp_path / "store", texts), retriever(model, **parameters)
    index = indexed(splade, corpus, tmp_path / "index")
    found = search(splade, corpus, index, queries, len(texts))
    square = splade.parameters.quantization**2
    return np.array([[hits.get(row, 0.0) / square for row in range(len(texts))] for hits in found])


def oracle(
    model: Path,
    texts: Sequence[str],
    queries: Sequence[str],
    max_tokens: int | None = None,
    prompt: str | None = None,
    **options: Any,
) -> tuple[npt.NDArray[np.float64], float]:
    """Similarities by sentence-transformers alone, and how far FINE impacts may be from them: a weight is off
    by 0.5 / FINE at most, so a product of two by 0.5 / FINE × their sum (and a little), and products add up."""
    encoder = SparseEncoder(str(model), device="cpu")
    if max_tokens is not None:
        encoder.max_seq_length = max_tokens
    options["convert_to_sparse_tensor"] = False
    asked = encoder.encode_query(list(queries), **options)
    passages = encoder.encode_document(list(texts), prompt=prompt, **options)
    similarity = encoder.similarity(asked, passages).double().numpy()
    most = float(asked.sum(1).max() + passages.sum(1).max())
    return similarity, 0.51 / FINE * most


def assert_same(ours: Any, theirs: tuple[npt.NDArray[np.float64], float]) -> None:
    """The same scores, and the same order of passages but for pairs nearer than the tolerance."""
    expected, tolerance = theirs
    assert ours == pytest.approx(expected, abs=tolerance)
    for mine, their in zip(ours, expected, strict=True):
        assert_ranked(np.argsort(-mine, kind="stable").tolist(), dict(enumerate(their.tolist())), tolerance)


class TestAgainstSparseEncoder:
    def test_splade(self, splade: Path, tmp_path: Path) -> None:
        expected = oracle(splade, TEXTS, QUERIES)
        weights = SparseEncoder(str(splade), device="cpu").encode(TEXTS, convert_to_sparse_tensor=False)
        assert 0.1 < (weights == 0).double().mean() < 0.9
        assert expected[0].std() > 50 * expected[1]  # scores that say something
        assert_same(scores(tmp_path, splade, TEXTS, QUERIES, quantization=FINE), expected)

    def test_a_model_without_inference_on_the_side_of_the_query(self, inference_free: Path, tmp_path: Path) -> None:
        expected = oracle(inference_free, TEXTS, QUERIES)
        assert (expected[0] == 0).any()
        assert_same(scores(tmp_path, inference_free, TEXTS, QUERIES, quantization=1000), (expected[0], 0.05))

    def test_a_model_that_compares_by_cosine(self, tmp_path: Path) -> None:
        model = sparse.splade(tmp_path / "m", similarity="cosine")
        expected, _ = oracle(model, TEXTS, QUERIES)
        # The weights of a unit vector of 80 terms add up to √80 at most.
        assert_same(scores(tmp_path, model, TEXTS, QUERIES, quantization=FINE), (expected, 0.51 / FINE * 2 * 80**0.5))

    def test_a_model_that_keeps_its_heaviest_terms_itself(self, tmp_path: Path) -> None:
        model = sparse.splade(tmp_path / "m", max_active_dims=5)
        assert_same(scores(tmp_path, model, TEXTS, QUERIES, quantization=FINE), oracle(model, TEXTS, QUERIES))

    def test_a_masked_language_model_without_the_files_of_sentence_transformers(self, tmp_path: Path) -> None:
        model = sparse.masked_language_model(tmp_path / "m")
        assert_same(scores(tmp_path, model, TEXTS, QUERIES, quantization=FINE), oracle(model, TEXTS, QUERIES))

    def test_pruned_to_the_heaviest_terms(self, splade: Path, tmp_path: Path) -> None:
        ours = scores(tmp_path, splade, TEXTS, QUERIES, quantization=FINE, passage_terms=6, query_terms=6)
        assert_same(ours, oracle(splade, TEXTS, QUERIES, max_active_dims=6))

    def test_prompts_of_the_model(self, splade: Path, tmp_path: Path) -> None:
        model = SparseEncoder(str(splade), device="cpu", prompts={"query": "fox ", "passage": "rio "})
        model.save(str(tmp_path / "m"), create_model_card=False)
        # Asked for no prompt, sentence-transformers takes the empty "document" that it added itself.
        expected = oracle(tmp_path / "m", TEXTS, QUERIES, prompt="rio ")
        assert abs(expected[0] - oracle(splade, TEXTS, QUERIES)[0]).max() > 100 * expected[1]
        assert_same(scores(tmp_path, tmp_path / "m", TEXTS, QUERIES, quantization=FINE), expected)

    @pytest.mark.parametrize("kind", ["splade", "inference_free"])
    def test_fewer_tokens(self, kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
        model = request.getfixturevalue(kind)
        expected, tolerance = oracle(model, TEXTS, QUERIES, max_tokens=7)
        assert_same(
            scores(tmp_path, model, TEXTS, QUERIES, quantization=1000, max_tokens=7), (expected, 10 * tolerance)
        )

    def test_a_model_whose_tokenizer_knows_no_limit_reads_as_many_tokens_as_it_has_positions(
        self, splade: Path, tmp_path: Path
    ) -> None:
        import json
        import shutil

        model = shutil.copytree(splade, tmp_path / "m")
        settings = json.loads((model / "tokenizer_config.json").read_text())
        del settings["model_max_length"]
        (model / "tokenizer_config.json").write_text(json.dumps(settings))
        long = [" ".join(WORDS * 5), *TEXTS]
        assert_same(scores(tmp_path, model, long, QUERIES, quantization=FINE), oracle(splade, long, QUERIES))

    def test_texts_from_the_web(self, splade: Path, tmp_path: Path) -> None:
        texts = [*TEXTS[:3], *HOSTILE, "fox " * 250_000]
        assert_same(scores(tmp_path, splade, texts, QUERIES, quantization=FINE), oracle(splade, texts, QUERIES))


@pytest.mark.java
@pytest.mark.parametrize("kind", ["splade", "inference_free"])
@pytest.mark.parametrize(
    "parameters", [{}, {"quantization": 3}, {"quantization": FINE}, {"passage_terms": 4, "query_terms": 3}], ids=str
)
def test_lucene_gives_the_same_hits(
    kind: str, parameters: dict[str, Any], request: pytest.FixtureRequest, both: Any, tmp_path: Path
) -> None:
    """A coarse quantization ties often; vocabularies here hold pieces with spaces and bars."""
    model = request.getfixturevalue(kind)
    corpus, context = both
    found = []
    for way in ("csr", "lucene"):
        splade = retriever(model, search=way, **parameters)
        (tmp_path / way).mkdir()
        splade.index(corpus, tmp_path / way, context)
        queries = [Query(f"q{row}", text) for row, text in enumerate([*QUERIES, "", *HOSTILE])]
        hits = [splade.search(corpus, tmp_path / way, queries, depth, context) for depth in (1, 7, 100)]
        found.append([by_query(some, len(queries)) for some in hits])
    assert found[0] == found[1]
    for hits in found[0]:
        assert any(hits)
        assert all(score == int(score) > 0 for some in hits for score in some.values())


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with Context() as context:
        yield store(tmp_path_factory.mktemp("store"), [*TEXTS, *TEXTS[:5], *HOSTILE]), context


@pytest.mark.parametrize("way", ["csr", pytest.param("lucene", marks=pytest.mark.java)])
def test_passages_without_weights_and_queries_without_terms_are_in_no_run(way: str, tmp_path: Path) -> None:
    """Queries are their words' weights here: special tokens and [UNK] have none, and the model none at all for
    passages once its logits are low."""
    idf = [0.0] * 5 + [2.0] * (len(sparse.VOCABULARY) - 5)
    model = sparse.inference_free(tmp_path / "m", idf)
    with Context() as context:
        corpus, splade = store(tmp_path / "store", TEXTS), retriever(model, search=way)
        (tmp_path / "index").mkdir()
        splade.index(corpus, tmp_path / "index", context)
        queries = [Query(f"q{row}", text) for row, text in enumerate(["", " \n", "fox", "漢 漢", "[SEP]"])]
        found = by_query(splade.search(corpus, tmp_path / "index", queries, 5, context), 5)
    assert [bool(hits) for hits in found] == [False, False, True, False, False]


def test_passages_whose_weights_are_all_0_are_in_no_run(tmp_path: Path) -> None:
    model = sparse.inference_free(tmp_path / "m", bias=-1000.0)
    assert not scores(tmp_path, model, TEXTS, ["fox", "the court"]).any()


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 7), min_size=2, max_size=40), st.integers(1, 9), st.sampled_from([1, 60, 4096]))
def test_equal_passages_score_the_same_in_any_shard_and_batch(
    splade: Path, rows: list[int], size: int, batch_tokens: int
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(passage_encoding, "shard_passages", lambda encoder, most: size)
        corpus = store(Path(folder, "store"), [TEXTS[row] for row in rows])
        way = retriever(splade, quantization=FINE, batch_tokens=batch_tokens)
        encoded: list[str] = []
        real = ImpactEncoder.impacts

        def counted(self: ImpactEncoder, texts: Sequence[str], task: Any, *rest: Any) -> Any:
            encoded.extend(texts if task == "document" else [])
            return real(self, texts, task, *rest)

        patch.setattr(ImpactEncoder, "impacts", counted)
        found = search(way, corpus, indexed(way, corpus, Path(folder, "index")), QUERIES, len(rows))
    # Impacts that another batch rounds otherwise are rare; that nothing is encoded twice is sure.
    assert sorted(encoded) == sorted({TEXTS[row] for row in rows})
    for hits in found:
        assert all(len({hits.get(doc) for doc, other in enumerate(rows) if other == row}) == 1 for row in set(rows))


def test_ties_at_the_cut_off_stay_whole(splade: Path, tmp_path: Path) -> None:
    corpus, way = store(tmp_path / "store", ["fox", "dog", "fox", "court tide", "fox"]), retriever(splade)
    index = indexed(way, corpus, tmp_path / "index")
    found = search(way, corpus, index, ["fox"], 5)[0]
    assert found[0] == found[2] == found[4]
    place = sorted(found.values(), reverse=True).index(found[0])
    assert {0, 2, 4} <= search(way, corpus, index, ["fox"], place + 1)[0].keys()


@pytest.mark.parametrize("changed", [{"batch_tokens": 1}, {"batch_tokens": 90}, {"device": ["cpu", "cpu"]}], ids=str)
def test_batches_and_devices_change_nothing(
    changed: dict[str, Any], splade: Path, inference_free: Path, tmp_path: Path
) -> None:
    for place, model in (("a", splade), ("b", inference_free)):
        whole = scores(tmp_path / place / "whole", model, TEXTS, QUERIES)
        parameters = {"device": "cpu", **changed}
        other = Splade(SpladeParameters(model=str(model), **parameters))
        corpus = store(tmp_path / place / "store", TEXTS)
        index = indexed(other, corpus, tmp_path / place / "index")
        found = search(other, corpus, index, QUERIES, len(TEXTS))
        ours = np.array([[hits.get(row, 0.0) / 100**2 for row in range(len(TEXTS))] for hits in found])
        # A weight near the middle between two impacts may be rounded to the other.
        assert ours == pytest.approx(whole, abs=0.06)


def test_texts_without_a_token_are_read_beside_others(
    inference_free: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tokenised alone, such a text is an empty tensor of floating point numbers."""
    queries = ["fox dog", "\u200b\u200b", "tide", "\x00"]
    whole = scores(tmp_path / "whole", inference_free, TEXTS, queries)
    monkeypatch.setattr(encoding, "_TOKENISE", 1)
    assert scores(tmp_path / "single", inference_free, TEXTS, queries) == pytest.approx(whole, abs=0.06)
    assert [bool(row.any()) for row in whole] == [True, False, True, False]


class Killed(BaseException):
    """Ends an encoding as a signal would."""


def test_an_encoding_that_was_killed_goes_on_where_its_last_shard_ends(
    splade: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passage_encoding, "shard_passages", lambda encoder, most: 7)
    corpus, way = store(tmp_path / "store", TEXTS), retriever(splade)
    encoded: list[str] = []
    real = ImpactEncoder.impacts

    def counted(self: ImpactEncoder, texts: Sequence[str], *rest: Any, limit: int) -> Any:
        if len(encoded) >= limit:
            raise Killed
        encoded.extend(texts)
        return real(self, texts, *rest)

    def filled(folder: Path, limit: int) -> None:
        monkeypatch.setattr(
            ImpactEncoder, "impacts", lambda self, texts, *rest: counted(self, texts, *rest, limit=limit)
        )
        way._fill(folder, corpus, np.arange(len(corpus)), Context())

    filled(tmp_path / "whole", 1000)
    assert encoded == TEXTS
    encoded.clear()
    with pytest.raises(Killed):
        filled(tmp_path / "cut", 20)
    assert encoded == TEXTS[:21]
    with (tmp_path / "cut" / "terms.bin").open("ab") as file:
        file.write(b"half a shard")
    filled(tmp_path / "cut", 1000)
    assert encoded == TEXTS
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")
    filled(tmp_path / "cut", 0)
    assert len(Shards(tmp_path / "cut").array("ends")) == len(TEXTS)


def test_both_ways_of_searching_share_one_encoding(splade: Path, tmp_path: Path) -> None:
    corpus, context = store(tmp_path / "store", TEXTS), Context()
    progress: list[tuple[int, int]] = []
    context.progress = lambda done, total: progress.append((done, total))
    one = retriever(splade).encoded(corpus, context).folder
    assert progress[-1] == (40, 40)
    assert retriever(splade, search="lucene", query_terms=3, batch_tokens=7).encoded(corpus, context).folder == one
    assert retriever(splade, passage_terms=3).encoded(corpus, context).folder != one


def test_an_empty_corpus(splade: Path, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    CorpusStore.write(tmp_path / "store", [])
    corpus, way = CorpusStore(tmp_path / "store"), retriever(splade)
    index = indexed(way, corpus, tmp_path / "index")
    assert search(way, corpus, index, ["fox"]) == [{}]


def test_keys_hold_what_changes_scores_and_nothing_else(splade: Path, inference_free: Path) -> None:
    one = retriever(splade)
    same = Splade(SpladeParameters(model=str(splade), batch_tokens=5, query_terms=3))
    assert one.index_key() == same.index_key()
    assert one.search_key() != same.search_key()
    changes: list[dict[str, Any]] = [
        {"quantization": 99}, {"passage_terms": 5}, {"max_tokens": 9}, {"compute": "bf16"}, {"search": "lucene"},
    ]  # fmt: skip
    keys = [one.index_key(), *(retriever(splade, **change).index_key() for change in changes)]
    keys.append(retriever(inference_free).index_key())
    assert len({str(key) for key in keys}) == 7


class TestRefusals:
    def test_more_tokens_than_the_model_takes(self, splade: Path, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"reads at most 32 tokens of a text; lower max_tokens$"):
            indexed(retriever(splade, max_tokens=33), store(tmp_path / "store", ["fox"]), tmp_path / "index")

    def test_nan_weights_name_the_passage_and_the_query(self, tmp_path: Path) -> None:
        model = sparse.broken(sparse.splade(tmp_path / "m"), 7)
        corpus = store(tmp_path / "store", ["fox", "dog"], ["first one".replace(" ", "-"), "d2"])
        with pytest.raises(QuatiPoolError, match=r"^the model gave passage '(first-one|d2)' a weight .* not a finite"):
            indexed(retriever(model), corpus, tmp_path / "index")
        with pytest.raises(QuatiPoolError, match=r"^the model gave query 'q0' a weight that is not a finite number"):
            search(retriever(model), corpus, tmp_path / "index", ["fox"])

    def test_a_model_of_another_kind(self, tmp_path: Path) -> None:
        model = dense.sentence_transformer(tmp_path / "m")
        with pytest.raises(ModelError, match=r"is a dense model, not a sparse model, which splade needs"):
            retriever(model).fetch(lambda line: None)
        with pytest.raises(ModelError, match="is a dense model"):
            retriever(model).estimate(Workload(10, 10, 1, 1))

    def test_a_model_that_compares_by_distance(self, tmp_path: Path) -> None:
        model = sparse.splade(tmp_path / "m", similarity="euclidean")
        with pytest.raises(QuatiPoolError, match=r"compares vectors by euclidean distance, which impacts cannot; use "):
            indexed(retriever(model), store(tmp_path / "store", ["fox"]), tmp_path / "index")

    def test_a_model_that_is_not_here(self, tmp_path: Path) -> None:
        with pytest.raises(ModelMissingError):
            retriever(tmp_path / "none").index_key()

    @pytest.mark.parametrize(
        "bad", [{"quantization": 0}, {"passage_terms": 0}, {"query_terms": 0}, {"search": "x"}], ids=str
    )
    def test_parameters_out_of_range(self, bad: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=next(iter(bad))):
            SpladeParameters(model="m", **bad)


def test_nothing_is_printed(splade: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    scores(tmp_path, splade, [*TEXTS, *HOSTILE], QUERIES)
    assert capfd.readouterr() == ("", "")


def test_weights_on_disk_are_six_bytes_a_term(splade: Path, tmp_path: Path) -> None:
    folder = retriever(splade).encoded(store(tmp_path / "store", TEXTS), context := Context()).folder
    vectors = stored(Shards(folder))
    assert (folder / "terms.bin").stat().st_size + (folder / "weights.bin").stat().st_size == 6 * len(vectors.terms)
    del context


class TestEstimate:
    def test_a_model_that_is_here(self, splade: Path, inference_free: Path) -> None:
        work = Workload(1000, 4000, 50, 100, sample=["fox dog", "the the the"])
        # Two layers of four 32 × 32 and two 32 × 64 matrices, 32 tokens at most; samples of 4 and 5 tokens.
        for model in (splade, inference_free):
            found = retriever(model).estimate(work)
            tiny = replace(KNOWN["google-bert/bert-base-uncased"], layers=2, hidden=32, ffn=64, heads=2)
            tiny = replace(tiny, vocabulary=len(sparse.VOCABULARY), dimension=32, max_tokens=32)
            assert found.encode == 1000
            assert found.flops == pytest.approx(forward_flops(tiny, 4.5, 1000, vocabulary_head=True))
            # All terms that there are, of 6 bytes kept and 4 in lists, and where each passage ends; one block of lists
            # with the beginning of each.
            terms = len(sparse.VOCABULARY)
            assert found.disk == 1000 * (terms * 10 + 8) + 8 * terms
        pruned = retriever(splade, passage_terms=10, search="lucene").estimate(work)
        # By Lucene a byte and a quarter of log₂(terms ÷ 10) for each term, and 20 bytes a passage.
        by_lucene = 10 * (1 + math.log2(terms / 10) / 4) + 20
        assert pruned.disk == pytest.approx(1000 * (10 * 6 + 8 + by_lucene))

    @pytest.mark.parametrize("model", ["<yours>", "somebody/some-splade-that-is-not-here"])
    def test_a_model_that_is_not_here_is_reckoned_on_disk_alone(self, model: str) -> None:
        found = Splade(SpladeParameters(model=model)).estimate(Workload(1000, 4000, 50, 100))
        assert (found.encode, found.flops, found.disk) == (1000, None, 1000 * 2008 + 8 * 30_522)
        assert found.notes == (f"{model}: its sizes are not known here",)
