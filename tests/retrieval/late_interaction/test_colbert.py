"""The ColBERT retriever and reranker against MultiVectorEncoder and MaxSim by hand."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from near_ties import assert_ranked
from sentence_transformers import MultiVectorEncoder, SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from small_stores import by_query, contents, store

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.models import loading
from quati_pool.models.errors import ModelError, ModelMissingError
from quati_pool.models.loading import quiet
from quati_pool.records import Ids, Query, Run
from quati_pool.retrieval import planning
from quati_pool.retrieval.base import ComponentEnvironment, Context
from quati_pool.retrieval.encoders import passage_encoding
from quati_pool.retrieval.late_interaction.colbert import Colbert, ColbertReranker
from quati_pool.retrieval.late_interaction.colbert_parameters import ColbertParameters, ColbertRerankerParameters
from quati_pool.retrieval.late_interaction.token_encoder import TokenEncoder
from quati_pool.retrieval.shards import Shards
from tests.tiny_models import multivector

pytestmark = pytest.mark.neural

TOLERANCE = 1e-4
TEXTS = [
    "the old harbour, ferry and bridge",
    "",
    "... !!! ???",
    "dog cat rain",
    "the river bridge is new!",
    "dog cat rain",
    "ferry " * 60,
    "the [SEP] é \x00 ção \u200b [MASK]",
    "rain",
    "old old old new",
    "a cat, a dog; the rain - the river",
    " \n\t ",
]
QUERIES = ["the ferry", "old dog?", "rain in the harbour and on the river by the old bridge", "ção"]
KINDS = ["plain", "expanding", "stanford"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("models")
    with quiet():
        made = {name: getattr(multivector, name)(place / name) for name in KINDS}
        made["mean"] = multivector.expanding(place / "mean", similarity="meanmaxsim")
        skipped = (".", "!", "?", "[CLS]", "[SEP]", "[D]")
        made["skipping"] = multivector.expanding(place / "skipping", skiplist=skipped)
        made["long"] = multivector.plain(place / "long", normalize=False)
        backbone = Transformer(str(place / "plain-backbone"))
        SentenceTransformer(modules=[backbone, Pooling(32, "mean")], device="cpu").save(str(place / "dense"))
        made["dense"] = place / "dense"
        made["backbone"] = place / "plain-backbone"
    return made


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> CorpusStore:
    return store(tmp_path_factory.mktemp("corpus") / "store", TEXTS)


def retriever(folder: Path, **chosen: Any) -> Colbert:
    return Colbert(ColbertParameters(model=str(folder), device="cpu", **chosen))


def reranker(folder: Path, **chosen: Any) -> ColbertReranker:
    return ColbertReranker(ColbertRerankerParameters(model=str(folder), device="cpu", **chosen))


def asked(texts: Sequence[str]) -> list[Query]:
    return [Query(f"q{row}", text) for row, text in enumerate(texts)]


def search(
    made: Colbert, corpus: CorpusStore, texts: Sequence[str], depth: int = 100, context: Context | None = None
) -> list[dict[int, float]]:
    hits = made.search(corpus, Path("no index"), asked(texts), depth, context or Context())
    return by_query(hits, len(texts))


def similarity(folder: Path, queries: Sequence[str], texts: Sequence[str]) -> list[dict[int, float]]:
    """The scores of sentence-transformers, without those of passages that have no tokens."""
    with quiet():
        model = MultiVectorEncoder(str(folder), device="cpu")
        passages = model.encode_document(list(texts))
        scores = model.similarity(model.encode_query(list(queries)), passages).numpy()
    there = [row for row, passage in enumerate(passages) if len(passage)]
    return [{row: float(line[row]) for row in there} for line in scores]


def by_hand(folder: Path, queries: Sequence[str], texts: Sequence[str], dimension: int) -> npt.NDArray[np.float64]:
    """MaxSim in float64 of the leading numbers of each vector, scaled to length 1; shape (queries, texts)."""
    with quiet():
        model = MultiVectorEncoder(str(folder), device="cpu")
        encoded = [model.encode_query(list(queries)), model.encode_document(list(texts))]
    short = [[np.asarray(vectors, dtype=np.float64)[:, :dimension] for vectors in side] for side in encoded]
    units = [[vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in side] for side in short]
    scores = np.zeros((len(queries), len(texts)))
    for row, query in enumerate(units[0]):
        for column, passage in enumerate(units[1]):
            for token in query:
                scores[row, column] += max(float(np.dot(token, other)) for other in passage)
    return scores


def run_of(corpus: CorpusStore, queries: Sequence[Query], pairs: Sequence[tuple[int, int]]) -> Run:
    query, doc = np.array(pairs).T
    return Run.ranked("first", Ids([q.query_id for q in queries]), corpus.ids, query, doc, -np.arange(len(pairs)) * 1.0)


@pytest.mark.parametrize("kind", [*KINDS, "mean", "skipping", "long"])
def test_scores_are_those_of_sentence_transformers(folders: dict[str, Path], corpus: CorpusStore, kind: str) -> None:
    found = search(retriever(folders[kind]), corpus, QUERIES)
    expected = similarity(folders[kind], QUERIES, TEXTS)
    assert found == [pytest.approx(scores, abs=TOLERANCE, rel=1e-6) for scores in expected]
    assert any(max(scores.values()) - min(scores.values()) > 100 * TOLERANCE for scores in expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", [1, 3, 7])
def test_the_order_after_the_tie_rule_is_theirs(
    folders: dict[str, Path], corpus: CorpusStore, kind: str, depth: int
) -> None:
    """Passages 3 and 5 are equal: their scores tie, d5 comes first."""
    queries = asked(QUERIES)
    hits = retriever(folders[kind]).search(corpus, Path("no index"), queries, depth, Context())
    ids = Ids([query.query_id for query in queries])
    run = Run.ranked("colbert", ids, corpus.ids, *hits, depth=depth)
    for row, scores in enumerate(similarity(folders[kind], QUERIES, TEXTS)):
        found = run.doc[run.query == row].tolist()
        assert_ranked(found, scores, TOLERANCE, depth)
        assert 3 not in found or found[found.index(3) - 1] == 5


def test_ties_at_the_cut_off_stay_whole(folders: dict[str, Path], tmp_path: Path) -> None:
    corpus = store(tmp_path / "store", ["rain", "dog", "rain", "cat", "rain"])
    alone = search(retriever(folders["plain"]), corpus, ["rain"])[0]
    assert alone[0] == max(alone.values())
    assert [search(retriever(folders["plain"]), corpus, ["rain"], n)[0].keys() for n in (1, 3)] == [{0, 2, 4}] * 2


@pytest.mark.parametrize("dimension", [1, 8, 16])
def test_leading_dimensions_are_kept_and_scaled_back(
    folders: dict[str, Path], corpus: CorpusStore, dimension: int
) -> None:
    found = search(retriever(folders["plain"], dimension=dimension), corpus, QUERIES)
    expected = by_hand(folders["plain"], QUERIES, TEXTS, dimension)
    for scores, line in zip(found, expected, strict=True):
        assert scores == pytest.approx(dict(enumerate(line)), abs=TOLERANCE)


def test_the_dimension_is_what_lies_on_disk(folders: dict[str, Path], corpus: CorpusStore) -> None:
    context, made = Context(), retriever(folders["plain"], dimension=5, precision="int8")
    search(made, corpus, QUERIES, context=context)
    grown = context.finished_folder(corpus, "colbert", made.encoding_key())
    assert grown is not None
    vectors = Shards(grown).array("vectors")
    assert (vectors.dtype, vectors.shape[1]) == (np.int8, 5)


@pytest.mark.parametrize(("precision", "tolerance"), [("fp16", 0.5e-3), ("int8", 8e-3)])
def test_precision_moves_scores_by_little(
    folders: dict[str, Path], corpus: CorpusStore, precision: str, tolerance: float
) -> None:
    """The tolerance is one query token's; the expanding model has 12."""
    full = search(retriever(folders["expanding"]), corpus, QUERIES)
    less = search(retriever(folders["expanding"], precision=precision), corpus, QUERIES)
    assert less == [pytest.approx(scores, abs=12 * tolerance) for scores in full]
    assert less != full


def test_max_tokens_cut_passages_not_queries(folders: dict[str, Path], corpus: CorpusStore) -> None:
    # [CLS] and [SEP] count: of six tokens four are the text's, and of a query all stay.
    found = search(retriever(folders["plain"], max_tokens=6), corpus, QUERIES)
    with quiet():
        model = MultiVectorEncoder(str(folders["plain"]), device="cpu")
        model[0].document_length = 6
        passages = model.encode_document(TEXTS)
        expected = model.similarity(model.encode_query(QUERIES), passages).numpy()
    assert max(len(passage) for passage in passages) == 6
    for scores, line in zip(found, expected, strict=True):
        assert scores == pytest.approx(dict(enumerate(line.tolist())), abs=TOLERANCE)


@pytest.mark.parametrize("batch_tokens", [1, 50, 10**6])
def test_batches_do_not_change_the_scores(
    folders: dict[str, Path], corpus: CorpusStore, batch_tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passage_encoding, "shard_passages", lambda encoder, most: 5)
    found = search(retriever(folders["expanding"], batch_tokens=batch_tokens), corpus, QUERIES)
    expected = similarity(folders["expanding"], QUERIES, TEXTS)
    assert found == [pytest.approx(scores, abs=TOLERANCE) for scores in expected]


def test_a_query_alone_scores_as_among_others_and_a_blank_one_returns_nothing(
    folders: dict[str, Path], corpus: CorpusStore
) -> None:
    made = retriever(folders["expanding"])
    together = search(made, corpus, ["", *QUERIES, " \n\u3000"])
    assert (together[0], together[-1]) == ({}, {})
    for text, scores in zip(QUERIES, together[1:-1], strict=True):
        assert scores == pytest.approx(search(made, corpus, [text])[0], abs=TOLERANCE)
    assert search(made, corpus, []) == []
    assert search(made, corpus, ["", " "]) == [{}, {}]


def test_passages_whose_tokens_are_all_left_out_are_never_returned(
    folders: dict[str, Path], corpus: CorpusStore, tmp_path: Path
) -> None:
    # Left out are [CLS], [D], [SEP] and . ! ?: of "", "... !!! ???" and blanks no token stays.
    exact = search(retriever(folders["skipping"]), corpus, QUERIES)
    assert [scores.keys() for scores in exact] == [set(range(12)) - {1, 2, 11}] * 4
    made = retriever(folders["skipping"], index="ivf")
    context = Context()
    made.index(corpus, tmp_path, context)
    assert by_query(made.search(corpus, tmp_path, asked(QUERIES), 100, context), 4) == exact


def test_a_corpus_in_which_no_token_stays(folders: dict[str, Path], tmp_path: Path) -> None:
    empty = store(tmp_path / "store", ["", "...", "!"])
    assert search(retriever(folders["skipping"]), empty, ["rain"]) == [{}]
    assert search(retriever(folders["skipping"]), store(tmp_path / "none", []), ["rain"]) == [{}]


def test_equal_passages_are_encoded_once_and_score_the_same_in_any_shard(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = np.random.default_rng(0)
    words = list(multivector.WORDS)
    different = [" ".join(chance.choice(words, chance.integers(1, 20))) for _ in range(20)]
    rows = chance.integers(0, 20, 100)
    corpus = store(tmp_path / "store", [different[row] for row in rows])
    monkeypatch.setattr(passage_encoding, "shard_passages", lambda encoder, most: 9)
    encoded = counted(monkeypatch)
    found = search(retriever(folders["plain"]), corpus, QUERIES)
    assert sum(encoded) == len(set(rows.tolist()))
    for scores in found:
        assert all(len({scores[doc] for doc in np.flatnonzero(rows == row).tolist()}) <= 1 for row in range(20))


def counted(monkeypatch: pytest.MonkeyPatch, fail_at: int | None = None) -> list[int]:
    """How many passages each call encodes; the call ``fail_at`` fails."""
    calls: list[int] = []
    real = TokenEncoder.passages

    def passages(self: TokenEncoder, texts: Sequence[str], *others: Any) -> Any:
        if len(calls) == fail_at:
            raise KeyboardInterrupt
        calls.append(len(texts))
        return real(self, texts, *others)

    monkeypatch.setattr(TokenEncoder, "passages", passages)
    return calls


def test_an_interrupted_encoding_goes_on_after_its_last_shard(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = store(tmp_path / "store", [f"{a} {b}" for a in ("dog", "cat", "rain") for b in multivector.WORDS])
    monkeypatch.setattr(passage_encoding, "shard_passages", lambda encoder, most: 8)
    unbroken = Context()
    made = retriever(folders["plain"], precision="fp16")
    expected = search(made, corpus, QUERIES, context=unbroken)
    context = Context()
    with monkeypatch.context() as broken:
        first = counted(broken, fail_at=3)
        with pytest.raises(KeyboardInterrupt):
            search(made, corpus, QUERIES, context=context)
    again = counted(monkeypatch)
    assert search(made, corpus, QUERIES, context=context) == expected
    assert (first, again) == ([8, 8, 8], [8, 4])
    key = made.encoding_key()
    whole, resumed = unbroken.finished_folder(corpus, "colbert", key), context.finished_folder(corpus, "colbert", key)
    assert whole is not None
    assert resumed is not None
    assert contents(resumed) == contents(whole)


def test_progress_counts_passages_up_to_all(folders: dict[str, Path], corpus: CorpusStore) -> None:
    seen: list[tuple[int, int]] = []
    context = Context(progress=lambda done, total: seen.append((done, total)))
    retriever(folders["plain"]).encoded(corpus, context)
    assert seen[-1] == (12, 12)
    assert sorted(seen) == seen


@pytest.mark.parametrize("kind", ["expanding", "mean", "skipping"])
@pytest.mark.parametrize("grown", [True, False])
def test_the_reranker_scores_as_the_retriever(
    folders: dict[str, Path], corpus: CorpusStore, kind: str, grown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the retriever's vectors it encodes no passage; without them only those of the run."""
    queries = asked(QUERIES)
    context = Context()
    expected = search(retriever(folders[kind]), corpus, QUERIES, context=context if grown else None)
    run = run_of(corpus, queries, [(0, 3), (0, 5), (0, 1), (2, 0), (2, 3), (3, 10), (1, 6)])
    encoded = counted(monkeypatch)
    made = reranker(folders[kind])
    scores = made.rescore(corpus, Path("no index"), queries, run, context)
    # Passages 3 and 5 are equal, so five texts of 0, 1, 3, 5, 6 and 10.
    assert sum(encoded) == (0 if grown else 5)
    tolerance = 0 if grown else TOLERANCE
    for query, doc, score in zip(run.query.tolist(), run.doc.tolist(), scores.tolist(), strict=True):
        if doc in expected[query]:
            assert score == pytest.approx(expected[query][doc], abs=tolerance, rel=0)
    of_first = {int(doc): float(scores[row]) for row, doc in enumerate(run.doc) if run.query[row] == 0}
    assert of_first[3] == of_first[5]
    assert made.rescore(corpus, Path("no index"), queries, run, context).tolist() == scores.tolist()


def test_the_reranker_gives_a_passage_without_tokens_the_least_there_is(
    folders: dict[str, Path], corpus: CorpusStore
) -> None:
    # Twelve query tokens of length 1: -12; their mean: -1.
    queries = asked(["rain"])
    run = run_of(corpus, queries, [(0, 1), (0, 8), (0, 2)])
    scores = reranker(folders["skipping"]).rescore(corpus, Path("no index"), queries, run, Context())
    assert scores[[0, 2]] == pytest.approx([-12, -12], abs=1e-5)
    assert scores[1] > 0


def test_the_reranker_of_an_empty_run(folders: dict[str, Path], corpus: CorpusStore) -> None:
    empty = Run.ranked("first", Ids(["q0"]), corpus.ids, *(np.empty(0) for _ in range(3)))
    assert len(reranker(folders["plain"]).rescore(corpus, Path("x"), asked(["rain"]), empty, Context())) == 0


def test_the_inverted_file_gives_the_scores_of_exact_search(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = np.random.default_rng(0)
    texts = [" ".join(chance.choice(multivector.WORDS, chance.integers(1, 12))) for _ in range(300)]
    corpus = store(tmp_path / "store", texts)
    context = Context()
    exact = search(retriever(folders["expanding"]), corpus, QUERIES, 300, context)
    made = retriever(folders["expanding"], index="ivf", candidates=60)
    encoded = counted(monkeypatch)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        made.index(corpus, tmp_path / name, context)
    assert encoded == []  # the vectors of the exact search
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    found = by_query(made.search(corpus, tmp_path / "one", asked(QUERIES), 10, context), 4)
    for scores, every in zip(found, exact, strict=True):
        assert scores.items() <= every.items()
        assert len(scores) >= 10
        assert sum(score >= sorted(every.values())[-10] for score in scores.values()) >= 8
    assert all(
        len(scores) >= 290
        for scores in by_query(made.search(corpus, tmp_path / "one", asked(QUERIES), 290, context), 4)
    )


def test_nan_is_refused_with_the_name_of_the_passage_or_query(
    folders: dict[str, Path], corpus: CorpusStore, tmp_path: Path
) -> None:
    with quiet():
        model = MultiVectorEncoder(str(folders["plain"]), device="cpu")
        word = model.tokenizer.convert_tokens_to_ids("river")
        with torch.no_grad():
            model[0].auto_model.embeddings.word_embeddings.weight[word] = float("nan")
        model.save(str(tmp_path / "nan"))
    with pytest.raises(QuatiPoolError, match=r"nan' gives passage 'd4' a vector with NaN .*; .*use another model$"):
        search(retriever(tmp_path / "nan"), corpus, QUERIES)
    other = store(tmp_path / "other", ["rain"])
    with pytest.raises(QuatiPoolError, match=r"nan' gives query 'q1' a vector with NaN .*; .*use another model$"):
        search(retriever(tmp_path / "nan"), other, ["rain", "the river"])


def test_models_of_another_kind_are_refused_before_any_work(folders: dict[str, Path]) -> None:
    for kind, told in (("dense", "is a dense model"), ("backbone", "is an encoder without a head")):
        for made in (retriever(folders[kind]), reranker(folders[kind])):
            with pytest.raises(ModelError, match=rf"{told}, not a late-interaction model, which colbert needs; use it"):
                made.fetch(print)


def test_a_device_that_is_not_here_is_refused_before_any_work(folders: dict[str, Path]) -> None:
    parameters = ColbertParameters(model=str(folders["plain"]), device="cuda:99")
    with pytest.raises(ConfigError, match="this machine has no device 'cuda:99'"):
        Colbert(parameters).fetch(print)


def test_a_model_whose_tokenizer_knows_no_limit_reads_as_many_tokens_as_it_has_positions(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    model = shutil.copytree(folders["plain"], tmp_path / "m")
    settings = json.loads((model / "tokenizer_config.json").read_text())
    del settings["model_max_length"]
    (model / "tokenizer_config.json").write_text(json.dumps(settings))
    corpus = store(tmp_path / "store", ["rain " * 200, "dog"])
    assert search(retriever(model), corpus, ["rain " * 200]) == [
        pytest.approx(scores, abs=TOLERANCE) for scores in search(retriever(folders["plain"]), corpus, ["rain " * 200])
    ]


def test_a_model_that_is_not_here_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelMissingError, match=r"there is no model folder .*nowhere; correct model:"):
        retriever(tmp_path / "nowhere").fetch(print)
    with pytest.raises(ConfigError, match="is a placeholder"):
        retriever(Path("<yours>")).search_key()


def test_a_dimension_or_a_length_beyond_the_models_is_refused(folders: dict[str, Path], corpus: CorpusStore) -> None:
    message = r"gives token vectors of dimension 16, not 17; lower dimension$"
    with pytest.raises(ConfigError, match=message):
        retriever(folders["plain"], dimension=17).fetch(print)
    # Stanford's checkpoints tell their dimension only when they are loaded.
    with pytest.raises(ConfigError, match=message):
        search(retriever(folders["stanford"], dimension=17), corpus, QUERIES)
    with pytest.raises(ConfigError, match=r"reads at most 64 tokens of a text; lower max_tokens$"):
        search(retriever(folders["plain"], max_tokens=65), corpus, QUERIES)


def test_queries_that_are_cut_are_counted(folders: dict[str, Path], corpus: CorpusStore) -> None:
    notes: list[str] = []
    search(retriever(folders["expanding"]), corpus, QUERIES, context=Context(note=notes.append))
    # [CLS] [Q] and [SEP] leave nine of twelve tokens; only the third query has more.
    assert notes == [f"{folders['expanding']} reads 12 tokens of a query: the rest is left out, in 1 of 4 queries"]


def test_keys_hold_what_changes_the_scores_and_nothing_else(folders: dict[str, Path]) -> None:
    plain = folders["plain"]

    def keys(folder: Path = plain, seed: int = 0, **chosen: Any) -> tuple[Any, Any]:
        made = Colbert(ColbertParameters(model=str(folder), **chosen), ComponentEnvironment(seed=seed))
        return made.index_key(), made.search_key()

    base = keys()
    assert base[0] is None
    assert keys(batch_tokens=7, device="cpu", seed=5) == base
    for changed in ({"dimension": 8}, {"precision": "fp16"}, {"max_tokens": 20}, {"compute": "bf16"}):
        assert keys(**changed)[1] != base[1]
    assert keys(folders["stanford"])[1] != base[1]
    inverted = keys(index="ivf")
    assert inverted[0] is not None
    assert keys(index="ivf", seed=5)[0] != inverted[0]
    assert keys(index="ivf", lists=9)[0] != inverted[0]
    assert keys(index="ivf", precision="int8")[0] != inverted[0]
    for changed in ({"probes": 3}, {"candidates": 9}):
        more = keys(index="ivf", **changed)
        assert (more[0], more[1] != inverted[1]) == (inverted[0], True)
    assert reranker(plain).index_key() is None
    assert reranker(plain).search_key() != reranker(plain, precision="int8").search_key()


def test_nothing_but_our_own_lines_is_printed(
    folders: dict[str, Path], corpus: CorpusStore, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    for kind in KINDS:
        made = retriever(folders[kind])
        made.fetch(print)
        search(made, corpus, QUERIES)
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def test_parameters_are_read_without_the_heavy_libraries() -> None:
    code = (
        "import sys; from quati_pool.retrieval.late_interaction.colbert import ColbertParameters; "
        "ColbertParameters(model='m');"
        "print([name for name in ('torch', 'transformers', 'sentence_transformers', 'faiss') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_the_estimate_counts_bytes_of_token_vectors(folders: dict[str, Path]) -> None:
    # 400 characters are 100 tokens at 4 characters each, cut at 64. A million passages × 64 tokens × 8
    # numbers × 2 bytes = 1,024,000,000, and 8 bytes a passage where its tokens end.
    work = planning.Workload(passages=10**6, characters=400.0, queries=200, depth=100)
    made = retriever(folders["plain"], dimension=8, precision="fp16").estimate(work)
    assert (made.encode, made.disk) == (10**6, 1_024_000_000 + 8_000_000)
    assert made.seconds is not None
    assert any(re.search(r"1,000,000 passages × 64 tokens × 8 × fp16", line) for line in made.arithmetic)
    inverted = retriever(folders["plain"], dimension=8, precision="fp16", index="ivf").estimate(work)
    # A list of 4 · √64,000,000 = 32,000 lists; of each token a passage's number, 4 bytes.
    assert inverted.disk == 1_032_000_000 + 4 * 64_000_000 + 32_000 * (4 * 8 + 8)
    again = reranker(folders["plain"]).estimate(planning.Workload(10**6, 400.0, 200, 100, pairs=20_000))
    assert (again.encode, again.disk) == (20_000, 20_000 * (64 * 16 * 4 + 8))
    unknown = retriever(Path("someone/unknown")).estimate(work)
    assert (unknown.encode, unknown.flops) == (10**6, None)


def test_the_engines_are_in_the_key(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    before = reranker(folders["plain"]).search_key()
    monkeypatch.setattr(loading, "version", lambda name: importlib.metadata.version(name) + ".1")
    assert reranker(folders["plain"]).search_key() != before
