"""Cross-encoders against sentence-transformers' own CrossEncoder, on tiny random models.

Tolerance: scores of fp32 models agree within 1e-5, whatever pairs share a batch.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import sentence_transformers
import torch
import transformers
from near_ties import assert_ranked
from small_stores import store
from tiny_models.cross_encoder import Family, cross_encoder
from tiny_models.t5 import t5

from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.models.errors import ModelError, ModelMissingError
from quati_pool.records import Ids, Query, Run
from quati_pool.retrieval.base import ComponentEnvironment, Context
from quati_pool.retrieval.pairwise.cross_encoder import CrossEncoder
from quati_pool.retrieval.pairwise.pairs import PairParameters, QueryTooLongError
from quati_pool.retrieval.planning import Workload

pytestmark = pytest.mark.neural

TEXTS = [
    "the harbour",
    "boats in the harbour at night",
    "a lighthouse",
    "",
    "x",
    "the the the the the",
    "Maré alta, 7 barcos!",
    "oven and dough",
]
QUERIES = ["the harbour boats", "lighthouse?"]
FAMILIES: list[Family] = ["bert", "roberta", "xlm-roberta"]


def reranker(folder: Path, **parameters: Any) -> CrossEncoder:
    return CrossEncoder(
        PairParameters(model=folder.name, device="cpu", **parameters), ComponentEnvironment(folder.parent)
    )


def all_pairs(queries: int, docs: int) -> Run:
    """Every passage for every query, in order of ordinals."""
    rows = np.repeat(np.arange(queries), docs)
    ordinals = np.tile(np.arange(docs), queries)
    ids = Ids([f"q{row}" for row in range(queries)])
    score = np.zeros(len(rows), dtype=np.float32)
    return Run("first", ids, Ids([f"d{i}" for i in range(docs)]), rows, ordinals, ordinals + 1, score)


def rescored(
    component: Any, folder: Path, texts: Sequence[str], queries: Sequence[str], context: Context | None = None
) -> npt.NDArray[np.float32]:
    """Scores of all pairs, shape (queries, texts)."""
    corpus = store(folder, texts)
    asked = [Query(f"q{row}", text) for row, text in enumerate(queries)]
    run = all_pairs(len(queries), len(texts))
    scores = component.rescore(corpus, folder, asked, run, context or Context())
    return np.asarray(scores).reshape(len(queries), len(texts))


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_and_order_are_those_of_sentence_transformers(tmp_path: Path, family: Family) -> None:
    folder = cross_encoder(tmp_path / "model", family)
    oracle = sentence_transformers.CrossEncoder(str(folder), device="cpu")
    found = rescored(reranker(folder), tmp_path / "store", TEXTS, QUERIES)
    for query, scores in zip(QUERIES, found, strict=True):
        expected = {entry["corpus_id"]: entry["score"] for entry in oracle.rank(query, TEXTS)}
        assert scores[list(expected)] == pytest.approx(list(expected.values()), abs=1e-5)
        assert_ranked(np.argsort(-scores, kind="stable").tolist(), expected, 1e-5)
        assert np.ptp(scores) > 0.01  # they differ by more than the tolerance


@pytest.mark.parametrize("family", FAMILIES)
def test_a_long_passage_is_cut_at_its_end_and_the_query_never(tmp_path: Path, family: Family) -> None:
    folder = cross_encoder(tmp_path / "model", family)
    oracle = sentence_transformers.CrossEncoder(str(folder), device="cpu")
    # In words of one token, [CLS] and [SEP] or their kin around them: 3 of BERT, 4 of the others.
    frame = 3 if family == "bert" else 4
    query = "the harbour the" if family != "roberta" else "the"
    asked = len(oracle.tokenizer(query, add_special_tokens=False)["input_ids"])
    long = " ".join(["the"] * 300) if family != "roberta" else "the" * 300
    fits = 64 - frame - asked
    cut = " ".join(["the"] * fits) if family != "roberta" else "the" * fits
    assert len(oracle.tokenizer(query, cut)["input_ids"]) == 64
    found = rescored(reranker(folder), tmp_path / "store", [long, cut, cut[:-4]], [query])[0]
    assert found == pytest.approx(oracle.predict([(query, cut), (query, cut), (query, cut[:-4])]), abs=1e-5)
    assert abs(found[0] - found[2]) > 1e-4


def test_of_a_long_query_and_a_long_passage_only_the_passage_is_cut(tmp_path: Path) -> None:
    """The libraries' own truncation takes from the longer of the two, here the query."""
    folder = cross_encoder(tmp_path / "model")
    oracle = sentence_transformers.CrossEncoder(str(folder), device="cpu")
    query, passage = "the harbour " * 25, "the " * 40
    found = rescored(reranker(folder), tmp_path / "store", [passage], [query])[0, 0]
    # 64 - 50 - 3 = 11 tokens are left for the passage.
    assert found == pytest.approx(oracle.predict([(query, "the " * 11)])[0], abs=1e-5)
    assert abs(found - oracle.predict([(query, passage)])[0]) > 1e-4


def test_max_tokens_shortens_pairs(tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path / "model")
    oracle = sentence_transformers.CrossEncoder(str(folder), device="cpu")
    found = rescored(reranker(folder, max_tokens=8), tmp_path / "store", ["harbour the the the the the"], ["the"])
    # 8 - 1 - 3 = 4 tokens of the passage.
    assert found[0] == pytest.approx(oracle.predict([("the", "harbour the the the")]), abs=1e-5)


def test_more_tokens_than_the_model_has_positions_for_are_refused(tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path / "model", "roberta")
    with pytest.raises(ConfigError, match="max_tokens: 65 is more than the 64"):
        rescored(reranker(folder, max_tokens=65), tmp_path / "store", ["a"], ["b"])


def test_positions_are_counted_where_the_tokenizer_knows_no_limit(tmp_path: Path) -> None:
    """RoBERTa has 66 position vectors here, of which it uses the last 64."""
    folder = cross_encoder(tmp_path / "model", "roberta")
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    del settings["model_max_length"]
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    found = rescored(reranker(folder), tmp_path / "store", ["the" * 300, "the" * 59, "the" * 58], ["the"])[0]
    assert found[0] == pytest.approx(found[1], abs=1e-5)  # 64 - 4 - 1 = 59
    assert abs(found[0] - found[2]) > 1e-4


def test_a_query_without_room_for_a_passage_is_refused_by_name(tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path / "model")
    with pytest.raises(QueryTooLongError, match=r"^query 'q1' has 61 tokens and leaves no room .* 64 tokens") as raised:
        rescored(reranker(folder), tmp_path / "store", ["a"], ["the " * 60, "the " * 61])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_passage_cannot_end_itself_nor_write_a_query(tmp_path: Path, family: Family) -> None:
    folder = cross_encoder(tmp_path / "model", family)
    oracle = sentence_transformers.CrossEncoder(str(folder), device="cpu")
    mark = oracle.tokenizer.sep_token
    forged, spelled = f"the {mark} harbour", f"the {' '.join(mark)} harbour"
    found = rescored(reranker(folder), tmp_path / "store", [forged, spelled], [f"the {mark}", "harbour"])
    predicted = oracle.predict([("harbour", forged)])[0]
    assert abs(found[1, 0] - predicted) > 1e-4  # the library takes the mark for its own
    if family == "bert":  # whose letters are the same with spaces between them
        assert found[:, 0] == pytest.approx(found[:, 1], abs=1e-5)


def test_the_activation_is_the_models_own(tmp_path: Path) -> None:
    folder = cross_encoder(
        tmp_path / "model", sentence_transformers={"activation_fn": "torch.nn.modules.linear.Identity"}
    )
    oracle = sentence_transformers.CrossEncoder(str(folder), device="cpu")
    found = rescored(reranker(folder), tmp_path / "store", TEXTS, QUERIES[:1])[0]
    assert found == pytest.approx(
        oracle.predict([(QUERIES[0], text) for text in TEXTS]), abs=1e-4
    )  # not flattened by a sigmoid
    assert (found < 0).any() or (found > 1).any()  # no sigmoid


def test_a_model_saved_by_sentence_transformers_with_a_prompt(tmp_path: Path) -> None:
    made = sentence_transformers.CrossEncoder(str(cross_encoder(tmp_path / "plain")), device="cpu")
    made.prompts, made.default_prompt_name = {"ask": "harbour: "}, "ask"
    made.save_pretrained(str(tmp_path / "model"))
    oracle = sentence_transformers.CrossEncoder(str(tmp_path / "model"), device="cpu")
    found = rescored(reranker(tmp_path / "model"), tmp_path / "store", TEXTS, QUERIES[:1])[0]
    assert found == pytest.approx(oracle.predict([(QUERIES[0], text) for text in TEXTS]), abs=1e-5)
    plain = rescored(reranker(tmp_path / "plain"), tmp_path / "store2", TEXTS, QUERIES[:1])[0]
    assert np.abs(found - plain).max() > 1e-3


def test_half_precision_is_that_of_the_library_and_another_key(tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path / "model")
    full, half = reranker(folder), reranker(folder, compute="bf16")
    oracle = sentence_transformers.CrossEncoder(str(folder), device="cpu", model_kwargs={"dtype": torch.bfloat16})
    found = rescored(half, tmp_path / "store", TEXTS, QUERIES[:1])[0]
    # bf16 has 8 bits; what shares a batch changes the order of sums, and so the last of them.
    assert found == pytest.approx(oracle.predict([(QUERIES[0], text) for text in TEXTS]), abs=0.02)
    assert (found != rescored(full, tmp_path / "store2", TEXTS, QUERIES[:1])[0]).any()
    assert full.search_key() != half.search_key()


def test_the_key_holds_what_changes_scores_and_nothing_else(tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path / "model")
    key = reranker(folder).search_key()
    assert key == CrossEncoder(PairParameters(model=str(folder), batch_tokens=7, device=["cpu"])).search_key()
    assert key != reranker(folder, max_tokens=9).search_key()
    assert key != reranker(cross_encoder(tmp_path / "other", seed=1)).search_key()
    assert key == reranker(cross_encoder(tmp_path / "same")).search_key()
    assert reranker(folder).index_key() is None
    json.dumps(key)


def test_several_classes_are_refused_before_any_work(tmp_path: Path) -> None:
    for labels in (2, 3):
        folder = cross_encoder(tmp_path / f"model{labels}", labels=labels)
        with pytest.raises(ModelError, match=f"has {labels} classes, .*one label$"):
            reranker(folder).fetch(print)
    made = sentence_transformers.CrossEncoder(str(tmp_path / "model3"), device="cpu")
    made.save_pretrained(str(tmp_path / "saved"))
    with pytest.raises(ModelError, match="has 3 classes"):
        reranker(tmp_path / "saved").fetch(print)
    with pytest.raises(ModelError, match="has 2 classes"):
        rescored(reranker(tmp_path / "model2"), tmp_path / "store", ["a"], ["b"])


def other_models(folder: Path) -> dict[str, Path]:
    """A T5, and a BERT without a head as bi-encoders have it."""
    base = cross_encoder(folder / "base")
    for name in ("bert", "masked"):
        config = transformers.AutoConfig.from_pretrained(base)
        torch.manual_seed(0)
        kind = transformers.BertModel if name == "bert" else transformers.BertForMaskedLM
        kind(config).save_pretrained(folder / name)
        transformers.AutoTokenizer.from_pretrained(base).save_pretrained(folder / name)
    bi_encoder = sentence_transformers.SentenceTransformer(str(folder / "bert"), device="cpu")
    bi_encoder.save_pretrained(str(folder / "bi-encoder"))
    t5(folder / "t5")
    return {name: folder / name for name in ("bert", "masked", "bi-encoder", "t5")}


def test_models_of_another_kind_are_refused_and_told_their_place(tmp_path: Path) -> None:
    told = {"t5": "monot5", "bi-encoder": "retriever: dense", "bert": "dense", "masked": "encoder without a head"}
    for name, folder in other_models(tmp_path).items():
        for act in (lambda c: c.fetch(print), lambda c: c.search_key()):
            with pytest.raises(ModelError, match=told[name]) as raised:
                act(reranker(folder))
            assert "\n" not in str(raised.value)
            assert repr(folder.name) in str(raised.value)


def test_a_model_whose_head_has_no_weights_is_refused(tmp_path: Path) -> None:
    folder = other_models(tmp_path)["bert"]
    config = json.loads((folder / "config.json").read_text())
    config |= {"architectures": ["BertForSequenceClassification"], "id2label": {"0": "LABEL_0"}}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=r"no weights for .*classifier"):
        rescored(reranker(folder), tmp_path / "store", ["a"], ["b"])


def test_a_model_that_is_not_here(tmp_path: Path) -> None:
    with pytest.raises(ModelMissingError):
        reranker(tmp_path / "nowhere").fetch(print)
    with pytest.raises(QuatiPoolError, match="name your model"):
        CrossEncoder(PairParameters(model="<yours>")).fetch(print)


def test_the_libraries_stay_quiet(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = cross_encoder(tmp_path / "model")
    capfd.readouterr()
    component = reranker(folder)
    component.fetch(print)
    rescored(component, tmp_path / "store", ["the " * 1000, "a"], QUERIES)
    assert capfd.readouterr() == ("", "")


def test_the_estimate_counts_pairs_and_their_tokens(tmp_path: Path) -> None:
    component = reranker(cross_encoder(tmp_path / "model"))
    found = component.estimate(Workload(passages=1000, characters=4000.0, queries=10, depth=100, pairs=1000))
    assert (found.encode, found.disk) == (1000, 4000)
    # 4 · 32² + 2 · 32 · 64 weights in each of two layers, twice for 64 tokens a pair; attention beside them.
    plain = 1000 * 64 * 2 * 2 * (4 * 32**2 + 2 * 32 * 64)
    assert found.flops is not None
    assert plain < found.flops < 2 * plain
    unknown = CrossEncoder(PairParameters(model="<yours>")).estimate(Workload(10, 400.0, 1, 10, 10))
    assert (unknown.encode, unknown.flops) == (10, None)
