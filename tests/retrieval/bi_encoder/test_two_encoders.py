"""Dense retrieval by two encoders, against transformers' own DPR classes and sentence-transformers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from pydantic import ValidationError
from sentence_transformers import SentenceTransformer
from small_stores import indexed, row, search, store

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.models.errors import ModelError, ModelMissingError
from quati_pool.models.sizes import shape_of
from quati_pool.records import Ids, Query, Run
from quati_pool.retrieval.base import ComponentEnvironment, Context
from quati_pool.retrieval.bi_encoder.dense import Dense, DenseParameters, DenseReranker
from quati_pool.retrieval.bi_encoder.dense_parameters import EncodingParameters
from quati_pool.retrieval.planning import Workload
from tests.tiny_models import dense as tiny

pytestmark = [pytest.mark.neural, pytest.mark.usefixtures("offline")]

TOLERANCE = 1e-5
TEXTS = [
    "the court judge heard the appeal", "boats", "a judge and a witness in court court court",
    "the tide lifts boats in the harbour", "rio floresta jacaré", "x" * 500, "appeal to the baker about dough " * 30,
]  # fmt: skip
QUERIES = ["judge in the court", "harbour boats", "não é"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    tiny.dpr(folder / "question", "Question", seed=1)
    tiny.dpr(folder / "other-question", "Question", seed=3)
    tiny.dpr(folder / "context", "Context", seed=2)
    tiny.dpr(folder / "question-24", "Question", seed=1, projection_dim=24)
    tiny.dpr(folder / "context-24", "Context", seed=2, projection_dim=24)
    tiny.bert_folder(folder / "bert-1", seed=1)
    tiny.bert_folder(folder / "bert-2", seed=2)
    tiny.with_prompts(folder / "prompts", query="query: ", passage="passage: ")
    tiny.sentence_transformer(folder / "cosine", seed=2)
    tiny.dot_model(folder / "dot", seed=1)
    tiny.static(folder / "static-24")
    tiny.static(folder / "static-32", dimension=32)
    return folder


@pytest.fixture
def corpus(tmp_path: Path) -> CorpusStore:
    return store(tmp_path / "store", TEXTS)


def two(made: Path, query: str, passage: str, **parameters: Any) -> Dense:
    return Dense(DenseParameters(query_model=query, passage_model=passage, **parameters), ComponentEnvironment(made))


def scores(retriever: Dense, corpus: CorpusStore, folder: Path) -> Any:
    found = search(retriever, corpus, folder, QUERIES, len(TEXTS))
    return np.array([row(hits, len(TEXTS)) for hits in found])


def near(wanted: Any) -> Any:
    return pytest.approx(wanted, rel=0, abs=TOLERANCE * max(1.0, float(np.abs(wanted).max())))


def by_dpr(folder: Path, texts: list[str]) -> torch.Tensor:
    """The vectors by the class of transformers that the folder names, one text at a time."""
    role = "Question" if "question" in folder.name else "Context"
    model = getattr(transformers, f"DPR{role}Encoder").from_pretrained(folder).eval()
    tokenizer = getattr(transformers, f"DPR{role}EncoderTokenizer").from_pretrained(folder)
    with torch.inference_mode():
        return torch.cat(
            [model(**tokenizer(text, return_tensors="pt", truncation=True)).pooler_output for text in texts]
        )


@pytest.mark.parametrize("suffix", ["", "-24"])
@pytest.mark.parametrize(
    "parameters", [{}, {"index": "hnsw"}, {"batch_tokens": 1}, {"device": ["cpu", "cpu"]}], ids=str
)
def test_scores_are_the_inner_products_of_the_two_dpr_encoders(
    made: Path, corpus: CorpusStore, tmp_path: Path, suffix: str, parameters: Any
) -> None:
    asked = by_dpr(made / f"question{suffix}", QUERIES)
    wanted = (asked @ by_dpr(made / f"context{suffix}", TEXTS).T).numpy()
    retriever = two(made, f"question{suffix}", f"context{suffix}", **parameters)
    retriever.fetch(lambda line: pytest.fail(line))
    folder = indexed(retriever, corpus, tmp_path / "index")
    found = scores(retriever, corpus, folder)
    assert found == near(wanted)
    # Not those of either encoder alone, and not cosines.
    assert np.abs(wanted).max() > 1.5
    assert shape_of(made / f"question{suffix}").dimension == asked.shape[1] == (24 if suffix else 32)


def test_a_title_and_a_text_joined_by_sep_are_read_as_dpr_reads_a_pair(made: Path, tmp_path: Path) -> None:
    """DPR's own code gives title and text as a pair, and no token types (facebookresearch/DPR, dpr/models/hf_models.py
    and biencoder.py: segments of zeros)."""
    model = transformers.DPRContextEncoder.from_pretrained(made / "context").eval()
    tokenizer = transformers.DPRContextEncoderTokenizer.from_pretrained(made / "context")
    with torch.inference_mode():
        ids = tokenizer("the tide", "boats in the harbour", return_tensors="pt")["input_ids"]
        pair = model(input_ids=ids, attention_mask=torch.ones_like(ids)).pooler_output[0].numpy()
    written = store(tmp_path / "titled", ["the tide [SEP] boats in the harbour", "the tide boats in the harbour"])
    context = Context()
    vectors = np.asarray(two(made, "question", "context").encoded(written, context).array("vectors"))
    assert vectors[0] == near(pair)
    assert np.abs(vectors[1] - pair).max() > 0.01


def by_sentence_transformers(folder: Path, texts: list[str], prompt: str, normalize: bool) -> torch.Tensor:
    model = SentenceTransformer(str(folder), device="cpu")
    found: torch.Tensor = model.encode(
        texts, prompt=prompt or None, convert_to_tensor=True, normalize_embeddings=normalize
    )
    return found


@pytest.mark.parametrize(
    ("query", "passage", "parameters", "prompts", "normalize"),
    [
        ("bert-1", "bert-2", {}, ("", ""), True),
        ("bert-1", "bert-2", {"normalize": False}, ("", ""), False),
        ("dot", "bert-2", {"normalize": False}, ("", ""), False),
        ("static-32", "cosine", {}, ("", ""), True),
        ("prompts", "bert-1", {}, ("query: ", ""), True),
        ("bert-1", "prompts", {"passage_prompt_name": "query"}, ("", "query: "), True),
        ("cosine", "prompts", {"query_prompt": "fox "}, ("fox ", "passage: "), True),
    ],
)
def test_other_encoders_are_pooled_and_compared_as_their_files_say(
    made: Path,
    corpus: CorpusStore,
    tmp_path: Path,
    query: str,
    passage: str,
    parameters: Any,
    prompts: Any,
    normalize: bool,
) -> None:
    asked = by_sentence_transformers(made / query, QUERIES, prompts[0], normalize)
    wanted = (asked @ by_sentence_transformers(made / passage, TEXTS, prompts[1], normalize).T).numpy()
    retriever = two(made, query, passage, **parameters)
    retriever.fetch(lambda line: None)
    found = scores(retriever, corpus, tmp_path)
    assert found == near(wanted)


def test_one_model_in_both_places_is_one_model(made: Path, corpus: CorpusStore, tmp_path: Path) -> None:
    one = Dense(DenseParameters(model="cosine"), ComponentEnvironment(made))
    both = two(made, "cosine", "cosine")
    assert both.encoding_key() == one.encoding_key()
    assert both.encoded_as() == one.encoded_as()
    assert (scores(both, corpus, tmp_path) == scores(one, corpus, tmp_path)).all()


def test_the_reranker_scores_as_the_retriever(made: Path, corpus: CorpusStore, tmp_path: Path) -> None:
    wanted = scores(two(made, "question", "context"), corpus, tmp_path)
    parameters = EncodingParameters(query_model="question", passage_model="context")
    reranker = DenseReranker(parameters, ComponentEnvironment(made))
    query, doc = np.repeat(np.arange(len(QUERIES)), 3), np.tile([5, 0, 3], len(QUERIES))
    ids = Ids([f"q{place}" for place in range(len(QUERIES))])
    run = Run.ranked("first", ids, corpus.ids, query, doc, np.cos(doc + query))
    asked = [Query(f"q{place}", text) for place, text in enumerate(QUERIES)]
    found = reranker.rescore(corpus, tmp_path, asked, run, Context())
    assert found == near(wanted[run.query, run.doc])
    blank = [Query(query.query_id, " ") for query in asked]
    assert not reranker.rescore(corpus, tmp_path, blank, run, Context()).any()


@pytest.mark.parametrize("index", ["flat", "hnsw"])
def test_another_model_of_queries_encodes_no_passage_again(
    made: Path, corpus: CorpusStore, tmp_path: Path, index: str
) -> None:
    first = two(made, "question", "context", index=index)
    second = two(made, "other-question", "context", index=index)
    assert first.encoding_key() == second.encoding_key()
    assert first.index_key() == second.index_key()
    assert (first.index_key() is None) is (index == "flat")
    assert first.search_key() != second.search_key()
    context = Context()
    folder = first.encoded(corpus, context).folder
    asked = [Query("q", "boats")]
    place = tmp_path / "index"
    place.mkdir()
    second.index(corpus, place, context)
    counted = second.encode
    second.encode = pytest.fail  # type: ignore[method-assign]
    second.search(corpus, place, asked, 3, context)
    assert second.encoded(corpus, context).folder == folder
    second.encode = counted  # type: ignore[method-assign]
    third = two(made, "question", "bert-1", index=index, normalize=False)
    assert third.encoding_key() != first.encoding_key()


def test_a_prompt_of_one_side_is_in_the_key_of_that_side_alone(made: Path) -> None:
    plain = two(made, "question", "context", index="hnsw")
    asked = two(made, "question", "context", index="hnsw", query_prompt="q: ")
    read = two(made, "question", "context", index="hnsw", passage_prompt="p: ")
    assert (asked.index_key(), asked.search_key() == plain.search_key()) == (plain.index_key(), False)
    assert (read.index_key() == plain.index_key(), read.search_key()) == (False, plain.search_key())


def test_a_dump_of_one_model_is_that_from_before_there_could_be_two() -> None:
    """Keys of classes in users' files hold it."""
    assert not {
        name for name in DenseParameters(model="m").model_dump(mode="json") if name.endswith(("_model", "_revision"))
    }
    dumped = DenseParameters(query_model="q", passage_model="p", query_revision="1").model_dump()
    assert (dumped["query_model"], dumped["passage_model"], dumped["query_revision"]) == ("q", "p", "1")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "names no model; add model:, or query_model: and passage_model:"),
        ({"query_model": "q"}, "names one of two models; add passage_model:"),
        ({"passage_model": "p"}, "names one of two models; add query_model:"),
        ({"model": "m", "passage_model": "p"}, "keep either model: or the two"),
        ({"model": "m", "query_model": "q", "passage_model": "p"}, "keep either model: or the two"),
        ({"query_model": "q", "passage_model": "p", "revision": "1"}, "write query_revision: and passage_revision:"),
        ({"model": "m", "query_revision": "1"}, "write revision:"),
        ({"model": ""}, "at least 1 character"),
        ({"query_model": "", "passage_model": "p"}, "at least 1 character"),
    ],
    ids=str,
)
def test_exactly_one_of_the_two_forms(given: Any, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        DenseParameters(**given)


def test_revisions_are_of_their_models(made: Path) -> None:
    retriever = two(made, "question", "context", passage_revision="main")
    with pytest.raises(ConfigError, match=r"model 'context' is a folder, which has no revision 'main'"):
        retriever.encoding_key()
    with pytest.raises(ConfigError, match=r"model 'question' is a folder, which has no revision 'v2'"):
        two(made, "question", "context", query_revision="v2").search_key()


@pytest.mark.parametrize(
    ("query", "passage", "said"),
    [
        ("context", "context", r"query_model: 'context' is DPR's encoder of passages; name it as passage_model:"),
        ("question", "question", r"passage_model: 'question' is DPR's encoder of queries; name it as query_model:"),
        ("question-24", "context", r"'question-24' gives vectors of 24 dimensions and .*'context' of 32; name two"),
        ("static-24", "cosine", r"'static-24' gives vectors of 24 dimensions and .*'cosine' of 32"),
        ("question", "bert-2", r"'question' is made for inner product and .*'bert-2' for cosine; set normalize"),
        ("cosine", "dot", r"'cosine' is made for cosine and .*'dot' for inner product; set normalize"),
    ],
)
@pytest.mark.parametrize("step", ["fetch", "inspect"])
def test_a_wrong_pair_is_refused_before_any_work(made: Path, query: str, passage: str, said: str, step: str) -> None:
    reranker = DenseReranker(EncodingParameters(query_model=query, passage_model=passage), ComponentEnvironment(made))
    for component in (two(made, query, passage), reranker):
        check: Callable[[Any], None] = getattr(component, step)
        with pytest.raises(QuatiPoolError, match=said) as caught:
            check(lambda line: None)
        assert "\n" not in str(caught.value)


def test_truncated_vectors_of_two_widths_have_one_dimension(made: Path, corpus: CorpusStore, tmp_path: Path) -> None:
    retriever = two(made, "question-24", "context", truncate_dim=20)
    retriever.fetch(lambda line: None)
    asked, kept = by_dpr(made / "question-24", QUERIES)[:, :20], by_dpr(made / "context", TEXTS)[:, :20]
    wanted = (asked @ kept.T).numpy()
    assert scores(retriever, corpus, tmp_path) == near(wanted)


def test_dimensions_that_no_file_says_are_compared_when_searching(
    made: Path, corpus: CorpusStore, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=r"'question-24' gives vectors of 24 dimensions and .*'context' of 32"):
        search(two(made, "question-24", "context"), corpus, tmp_path, ["boats"])


def test_one_encoder_of_dpr_is_no_model_for_both(made: Path) -> None:
    for name, read in (("question", "queries"), ("context", "passages")):
        component = Dense(DenseParameters(model=name), ComponentEnvironment(made))
        with pytest.raises(ConfigError, match=rf"'{name}' is one of the two of DPR, that of {read}; name both"):
            component.fetch(lambda line: None)


def test_another_model_of_dpr_is_refused(made: Path, tmp_path: Path) -> None:
    reader = tiny.dpr(tmp_path / "reader", "Context")
    config = (reader / "config.json").read_text()
    (reader / "config.json").write_text(config.replace("DPRContextEncoder", "DPRReader"))
    with pytest.raises(ModelError, match=r"reader holds DPRReader of DPR; name its DPRQuestionEncoder and"):
        two(made, "question", str(reader)).fetch(lambda line: None)


def test_weights_of_the_other_encoder_are_not_replaced_by_random_ones(made: Path, tmp_path: Path) -> None:
    false = tiny.dpr(tmp_path / "false", "Question", seed=4)
    config = (false / "config.json").read_text()
    (false / "config.json").write_text(config.replace("DPRQuestionEncoder", "DPRContextEncoder"))
    corpus = store(tmp_path / "one", ["boats"])
    with pytest.raises(ModelError, match=r"has no weights for ctx_encoder.* and \d+ more, which would be random"):
        search(two(made, "question", str(false)), corpus, tmp_path, ["boats"])


def test_what_is_assumed_is_noted_of_each_model(made: Path) -> None:
    notes: list[str] = []
    two(made, "bert-1", "cosine").fetch(notes.append)
    assert notes == [
        "bert-1 has no sentence-transformers files: the mean of its tokens is the vector",
        "bert-1 does not say how its vectors are compared, so by cosine; normalize: false is inner product",
    ]


def test_a_missing_model_is_named(made: Path) -> None:
    for query, passage, name in (("./gone", "context", "gone"), ("question", "./gone", "gone")):
        component = two(made, query, passage)
        for check in (component.fetch, component.inspect):
            with pytest.raises(ModelMissingError, match=f"there is no model folder .*{name}"):
                check(lambda line: None)


def test_an_estimate_holds_the_larger_of_the_two_models(made: Path) -> None:
    work = Workload(passages=1000, characters=40.0, queries=10, depth=100, sample=TEXTS[:5])
    found = two(made, "question", "context").estimate(work)
    assert (found.disk, found.encode) == (1000 * 32 * 4, 1000)
    assert any("queries by another model: question" in line for line in found.arithmetic)
    # Known sizes: BERT-large as in E5-large, 24 layers of 1,024, against the tiny encoder of passages.
    large = two(made, "intfloat/multilingual-e5-large", "context").estimate(work)
    assert large.memory is not None
    assert found.memory is not None
    assert large.memory - found.memory > 2**30
    assert replace(large, memory=0, device_memory=0, arithmetic=()) == replace(
        found, memory=0, device_memory=0, arithmetic=()
    )
    unknown = two(made, "someone/unknown", "context").estimate(work)
    assert (unknown.memory, unknown.seconds) == (two(made, "question", "context").estimate(work).memory, found.seconds)
