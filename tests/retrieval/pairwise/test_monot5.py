"""monoT5 against plain transformers: one step of the decoder over the whole prompt, log-softmax over two logits.

Tolerance: scores of fp32 models agree within 1e-5, absolute or relative, whatever pairs share a batch.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import sentencepiece
import torch
import transformers
from near_ties import assert_ranked
from tiny_models.cross_encoder import cross_encoder
from tiny_models.t5 import WORDS, t5

from quati_pool.errors import ConfigError
from quati_pool.models.errors import ModelError
from quati_pool.retrieval.base import ComponentEnvironment
from quati_pool.retrieval.pairwise import monot5 as module
from quati_pool.retrieval.pairwise.monot5 import KNOWN, MonoT5, MonoT5Parameters
from quati_pool.retrieval.pairwise.pairs import QueryTooLongError
from quati_pool.retrieval.planning import Workload
from tests.retrieval.pairwise.test_cross_encoder import other_models, rescored

pytestmark = pytest.mark.neural

TEXTS = ["the harbour", "boats in the harbour\nat  night", "", "x", "the the the", "Mar alta, 7 barcos!", "oven?"]
QUERIES = ["the harbour boats", "dough ?"]
YES_NO = ["yes", "no"]


def reranker(folder: Path, tokens: list[str] | None = None, **parameters: Any) -> MonoT5:
    return MonoT5(
        MonoT5Parameters(model=folder.name, device="cpu", tokens=tokens, **parameters),
        ComponentEnvironment(folder.parent),
    )


def log_softmax(
    folder: Path, words: Sequence[str], query: str, texts: Sequence[str], ids: Sequence[int] | None = None
) -> npt.NDArray[np.float32]:
    """log p(relevant) by transformers alone, one prompt at a time; ``words`` are pieces, relevant first."""
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    scores = []
    for text in texts:
        prompt = tokenizer(f"Query: {query} Document: {text} Relevant:", return_tensors="pt")
        with torch.no_grad():
            logits = model(**prompt, decoder_input_ids=torch.tensor([[0]])).logits[0, -1]
        pair = logits[[tokenizer.convert_tokens_to_ids(word) for word in words]]
        scores.append(torch.log_softmax(pair, dim=0)[0].item())
    return np.array(scores, dtype=np.float32)


@pytest.mark.parametrize("multilingual", [False, True], ids=["t5", "mt5"])
@pytest.mark.parametrize("words", [("▁yes", "▁no"), ("▁sim", "▁não"), ("▁false", "▁true")])
def test_scores_are_the_log_probability_of_the_word_for_relevant(
    tmp_path: Path, multilingual: bool, words: tuple[str, str]
) -> None:
    folder = t5(tmp_path / "model", multilingual=multilingual)
    found = rescored(reranker(folder, [word.strip("▁") for word in words]), tmp_path / "store", TEXTS, QUERIES)
    for query, scores in zip(QUERIES, found, strict=True):
        expected = log_softmax(folder, words, query, TEXTS)
        assert scores == pytest.approx(expected, rel=1e-5, abs=1e-5)
        assert_ranked(np.argsort(-scores).tolist(), dict(enumerate(expected.tolist())), 1e-5)
        assert np.ptp(expected) > 0.05  # they differ by more than the tolerance
        assert (expected < 0).all()


def test_a_passage_is_cut_before_the_word_that_asks(tmp_path: Path) -> None:
    folder = t5(tmp_path / "model")
    query, long = "the harbour", "the harbour " * 400
    # Query: · Document: · Relevant: · </s> and the query's two are six tokens; 506 of 512 are the passage's.
    cut = "the harbour " * 253
    expected = log_softmax(folder, ("▁yes", "▁no"), query, [cut, "the harbour " * 3])
    found = rescored(reranker(folder, YES_NO), tmp_path / "store", [long, cut, cut[:-8]], [query])[0]
    assert found[:2] == pytest.approx(expected[[0, 0]], rel=1e-5, abs=1e-5)
    short = rescored(reranker(folder, YES_NO, max_tokens=12), tmp_path / "store2", [long], [query])[0]
    assert short == pytest.approx(expected[1:], rel=1e-5, abs=1e-5)
    assert np.ptp(expected) > 1e-3


def test_max_tokens_may_be_more_than_512(tmp_path: Path) -> None:
    folder = t5(tmp_path / "model")
    text = "the harbour " * 300
    found = rescored(reranker(folder, YES_NO, max_tokens=606), tmp_path / "store", [text], ["the"])[0]
    # 606 - 5 = 601 tokens, of which the passage has 600.
    assert found == pytest.approx(log_softmax(folder, ("▁yes", "▁no"), "the", [text]), rel=1e-5, abs=1e-5)


def test_a_query_without_room_for_a_passage_is_refused_by_name(tmp_path: Path) -> None:
    folder = t5(tmp_path / "model")
    with pytest.raises(
        QueryTooLongError, match=r"^query 'q1' has 508 tokens .* 512 tokens of a pair, 4 of them its own"
    ):
        rescored(reranker(folder, YES_NO), tmp_path / "store", ["a"], ["the " * 507, "the " * 508])


@pytest.mark.parametrize("mark", ["</s>", "<extra_id_0>", "<pad>"])
def test_a_passage_cannot_end_the_prompt(tmp_path: Path, mark: str) -> None:
    """Its letters, apart, are what the model reads; by itself the tokenizer would make a special token."""
    folder = t5(tmp_path / "model")
    texts = [f"the {mark} harbour", f"the {' '.join(mark)} harbour"]
    queries = [f"boats {mark}", f"boats {' '.join(mark)}"]
    found = rescored(reranker(folder, YES_NO), tmp_path / "store", texts, queries)
    assert found == pytest.approx(np.full((2, 2), found[1, 1]), abs=1e-5)
    marked, spelled = log_softmax(folder, ("▁yes", "▁no"), queries[1], texts)
    assert found[1, 0] == pytest.approx(spelled, rel=1e-5, abs=1e-5)
    assert abs(marked - spelled) > 1e-4


def test_what_is_nearly_certain_keeps_its_order(tmp_path: Path) -> None:
    """A log-softmax in float32 rounds to 0 from a gap of 17 on; log1p(exp(-gap)) does not."""
    folder = t5(tmp_path / "model")
    plain = reranker(folder, YES_NO).load(reranker(folder, YES_NO).local())
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    yes, no = (tokenizer.convert_tokens_to_ids(word) for word in ("▁yes", "▁no"))
    with torch.no_grad():
        head = model.lm_head.weight
        if head is model.shared.weight:
            model.lm_head.weight = torch.nn.Parameter(head.clone())
        gap = 60 * (model.lm_head.weight[yes] - model.lm_head.weight[no])
        model.lm_head.weight[yes] += gap
    score = module._scorer(model, "cpu", (yes, no))
    pairs = [(plain.reader.whole(["the"])[0], passage) for passage in plain.reader.whole(TEXTS)]
    batch = plain.frame.batch(pairs)
    with torch.no_grad():
        logits = model(
            input_ids=torch.from_numpy(batch.ids),
            attention_mask=torch.from_numpy(batch.mask),
            decoder_input_ids=torch.zeros((len(pairs), 1), dtype=torch.long),
        ).logits[:, -1]
    gaps = (logits[:, yes].double() - logits[:, no].double()).numpy()
    assert np.abs(gaps).max() > 20
    assert score(batch) == pytest.approx(-np.logaddexp(0, -gaps), rel=1e-4)


def test_an_old_folder_with_a_sentencepiece_model_and_no_fast_tokenizer(tmp_path: Path) -> None:
    """As the castorini checkpoints are: spiece.model alone."""
    text = tmp_path / "text"
    lines = ["Query: the harbour Document: boats lie in the harbour Relevant: true", "the quay is false"] * 20
    text.write_text("\n".join(lines), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(tmp_path / "spiece"), vocab_size=60, pad_id=0, eos_id=1, unk_id=2,
        bos_id=-1, hard_vocab_limit=False, user_defined_symbols=["▁true", "▁false"], minloglevel=2,
    )  # fmt: skip
    folder = t5(tmp_path / "monot5-base-msmarco", vocab_size=200)
    for file in folder.glob("tokenizer*"):
        file.unlink()
    (tmp_path / "spiece.model").rename(folder / "spiece.model")
    notes: list[str] = []
    component = reranker(folder)
    component.fetch(notes.append)
    assert notes == ["model monot5-base-msmarco is treated as castorini/monot5-base-msmarco: tokens ▁true and ▁false"]
    found = rescored(component, tmp_path / "store", TEXTS[:2], ["the quay"])[0]
    assert found == pytest.approx(log_softmax(folder, ("▁true", "▁false"), "the quay", TEXTS[:2]), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("place", ["folder", "config"])
def test_a_known_model_needs_no_tokens(tmp_path: Path, place: str) -> None:
    """By its folder's name, or by the name its configuration remembers."""
    folder = t5(tmp_path / ("MonoPTT5-base" if place == "folder" else "mine"), words=(*WORDS, "▁Sim", "▁Não"))
    if place == "config":
        config = json.loads((folder / "config.json").read_text())
        config["_name_or_path"] = "unicamp-dl/monoptt5-base"
        (folder / "config.json").write_text(json.dumps(config))
    notes: list[str] = []
    component = reranker(folder)
    component.fetch(notes.append)
    assert len(notes) == 1
    assert "unicamp-dl/monoptt5-base" in notes[0]
    found = rescored(component, tmp_path / "store", TEXTS, QUERIES[:1])[0]
    assert found == pytest.approx(log_softmax(folder, ("▁Sim", "▁Não"), QUERIES[0], TEXTS), rel=1e-5, abs=1e-5)


def test_given_tokens_come_before_the_table(tmp_path: Path) -> None:
    folder = t5(tmp_path / "monot5-base-msmarco")
    notes: list[str] = []
    component = reranker(folder, YES_NO)
    component.fetch(notes.append)
    assert notes == []
    found = rescored(component, tmp_path / "store", TEXTS[:2], QUERIES[:1])[0]
    assert found == pytest.approx(log_softmax(folder, ("▁yes", "▁no"), QUERIES[0], TEXTS[:2]), rel=1e-5, abs=1e-5)


def test_mt5_whose_word_false_begins_with_the_bare_beginning_of_a_word(tmp_path: Path) -> None:
    """As of unicamp-dl/mt5-3B-mmarco-en-pt: no ▁false in the vocabulary."""
    folder = t5(tmp_path / "mt5-3B-mmarco-en-pt", words=[word for word in WORDS if word != "▁false"])
    expected = log_softmax(folder, ("▁true", "▁"), QUERIES[0], TEXTS)
    by_table = rescored(reranker(folder), tmp_path / "store", TEXTS, QUERIES[:1])[0]
    by_words = rescored(reranker(folder, ["true", "false"]), tmp_path / "store2", TEXTS, QUERIES[:1])[0]
    by_pieces = rescored(reranker(folder, ["▁true", "▁"]), tmp_path / "store3", TEXTS, QUERIES[:1])[0]
    for found in (by_table, by_words, by_pieces):
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_an_unknown_model_without_tokens_is_refused(tmp_path: Path) -> None:
    folder = t5(tmp_path / "mine")
    for act in (lambda c: c.fetch(print), lambda c: c.search_key()):
        with pytest.raises(ConfigError, match=r"model 'mine' answers with .* tokens: \[yes, no\]$") as raised:
            act(reranker(folder))
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("tokens", "told"),
    [
        (["yes", "yes"], "begin with the same token, '▁yes'"),
        (["quay", "oven"], "begin with the same token, '▁'"),
        (["", "no"], "no token for ''"),
        (["yes", " "], "no token for ' '"),
        (["▁yes", "☃"], None),
    ],
)
def test_words_that_do_not_begin_with_two_tokens_are_refused_before_any_work(
    tmp_path: Path, tokens: list[str], told: str | None
) -> None:
    component = reranker(t5(tmp_path / "model"), tokens)
    if told is None:
        component.fetch(print)  # ▁ and then the unknown token: ▁ tells them apart
        return
    with pytest.raises(ConfigError, match=told):
        component.fetch(print)


def test_only_two_words_are_taken() -> None:
    for tokens in (["yes"], ["yes", "no", "maybe"]):
        with pytest.raises(ValueError, match="tokens"):
            MonoT5Parameters(model="x", tokens=tokens)


def test_every_known_pair_has_two_tokens_and_no_folder_name_stands_for_two_models() -> None:
    assert all(pair.relevant != pair.irrelevant for pair in KNOWN.values())
    assert all(token.startswith("▁") for pair in KNOWN.values() for token in pair)
    assert len(module._BY_LAST_PART) == len(KNOWN)


def test_models_of_another_kind_are_refused_and_told_their_place(tmp_path: Path) -> None:
    others = {name: folder for name, folder in other_models(tmp_path).items() if name != "t5"}
    others["cross-encoder"] = cross_encoder(tmp_path / "cross-encoder")
    told = {"cross-encoder": "cross-encoder", "bi-encoder": "dense", "bert": "dense", "masked": "without a head"}
    for name, folder in others.items():
        with pytest.raises(ModelError, match=told[name]):
            reranker(folder, YES_NO).fetch(print)


def test_the_key_holds_what_changes_scores_and_nothing_else(tmp_path: Path) -> None:
    folder = t5(tmp_path / "model")
    key = reranker(folder, YES_NO).search_key()
    assert key == MonoT5(MonoT5Parameters(model=str(folder), tokens=YES_NO, batch_tokens=7)).search_key()
    assert key != reranker(folder, ["no", "yes"]).search_key()
    assert key != reranker(folder, YES_NO, max_tokens=9).search_key()
    assert key != reranker(t5(tmp_path / "other", seed=1), YES_NO).search_key()
    json.dumps(key)


def test_the_libraries_stay_quiet(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = t5(tmp_path / "model")
    capfd.readouterr()
    component = reranker(folder, YES_NO)
    component.fetch(print)
    rescored(component, tmp_path / "store", ["the " * 1000, "a"], QUERIES)
    assert capfd.readouterr() == ("", "")


def test_the_estimate_of_the_papers_reranker_needs_no_model_here() -> None:
    """mT5-XL, 24 layers of 2,048 and 5,120, over 50 queries' 1,000 passages: more than twice the weights of
    the encoder for each token."""
    work = Workload(passages=1_000_000, characters=800.0, queries=50, depth=1000, pairs=50_000)
    found = MonoT5(MonoT5Parameters(model="unicamp-dl/mt5-3B-mmarco-en-pt")).estimate(work)
    encoder = 24 * (4 * 2048**2 + 3 * 2048 * 5120)
    assert found.encode == 50_000
    assert found.flops is not None
    assert 2 * encoder * 50_000 * 200 < found.flops < 4 * encoder * 50_000 * 200
    assert found.arithmetic
