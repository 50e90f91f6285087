"""``train judge`` and the judge ``distilled`` in a workspace: what is learned from, what the card says, and grades that
equal a direct computation."""

from __future__ import annotations

import gzip
import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
import yaml
from safetensors.torch import load_file
from scipy.stats import chisquare
from sklearn.metrics import cohen_kappa_score, roc_auc_score

from quati_pool.commands.judge.judge import judge
from quati_pool.commands.train import judge as command
from quati_pool.commands.train.held_out import measured
from quati_pool.commands.train.judge import TrainedJudgeReport, TrainJudgeSettings, _drawn, train_judge
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.files.digests import query_sha
from quati_pool.judging.pair import Pair
from quati_pool.labels.labelers import Grading
from quati_pool.models.judge_card import CARD, read_card
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.reporting.answers.train import answer
from quati_pool.reporting.json_data.train import as_data
from quati_pool.reporting.tables.train import tables
from quati_pool.store.database import Store
from quati_pool.store.records import content_sha
from quati_pool.training.fit import FitSettings
from quati_pool.training.judge_data import Examples, TaughtPair
from quati_pool.training.judge_model import JudgeTraining
from tests.tiny_models.cross_encoder import cross_encoder

pytestmark = pytest.mark.neural

FIT = FitSettings(epochs=2, batch_size=16, learning_rate=2e-3, seed=3, device="cpu", patience=None, checkpoint_steps=8)
TOKENS = 96


@pytest.fixture(scope="module")
def base(finished_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judged workspace with a file of grades of its first queries, and a tiny model to begin from."""
    folder = Path(shutil.copytree(finished_demo, tmp_path_factory.mktemp("trained") / "demo"))
    cross_encoder(folder / "start", positions=TOKENS, initializer_range=0.1)
    config = yaml.safe_load((folder / "pool.yaml").read_text())
    rows = [f"{one['query_id']} 0 {one['doc_id']} {len(one['text']) % 4}\n" for one in half_of(pool(folder))]
    (folder / "half.qrels").write_text("".join(rows))
    config["labels"]["files"]["half"] = {"path": "half.qrels"}
    config["judges"]["tiny"] = {"judge": "distilled", "model": "./models/tiny", "device": "cpu"}
    (folder / "pool.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    return folder


def pool(folder: Path) -> list[dict[str, Any]]:
    with gzip.open(folder / "pool.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def half_of(pairs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Two of three pairs of the first half of the queries."""
    queries = list(dict.fromkeys(one["query_id"] for one in pairs))
    some = set(queries[: len(queries) // 2])
    return [one for place, one in enumerate(pairs) if one["query_id"] in some and place % 3]


def drawn_as_irrelevant(folder: Path, query_ids: Iterable[str]) -> list[dict[str, Any]]:
    """Two ungraded pairs of each query."""
    graded = {(one["query_id"], one["doc_id"]) for one in half_of(pool(folder))}
    found = []
    for query_id in query_ids:
        rest = [one for one in pool(folder) if one["query_id"] == query_id]
        ungraded = [one for one in rest if (query_id, one["doc_id"]) not in graded]
        kept = _drawn([Pair(query_id, one["doc_id"], one["query"], one["text"]) for one in ungraded], 2, FIT.seed)
        found += [one for one in ungraded if one["doc_id"] in {pair.doc_id for pair in kept}]
    return found


def settings(folder: Path, name: str = "tiny", **changes: Any) -> TrainJudgeSettings:
    training = JudgeTraining(max_tokens=TOKENS, fit=FIT)
    made = TrainJudgeSettings(("half",), str(folder / "start"), folder / "models" / name, training)
    return replace(made, **changes)


def train(folder: Path, name: str = "tiny", listener: Listener | None = None, **changes: Any) -> TrainedJudgeReport:
    return train_judge(folder / "pool.yaml", settings(folder, name, **changes), listener or Listener())


@pytest.fixture(scope="module")
def trained(base: Path) -> TrainedJudgeReport:
    return train(base, negatives=2)


@pytest.fixture
def grading(base: Path, trained: TrainedJudgeReport) -> Iterator[Grading]:
    config = load_config(base / "pool.yaml")
    with Store.open(config.labels.url, config.folder) as store:
        yield Grading(config, store)


def direct(folder: Path, pairs: list[dict[str, Any]]) -> Any:
    """The outputs of a model, a pair at a time, by transformers alone; the passage is cut, never the query."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    found = []
    for one in pairs:
        features = tokenizer(
            one["query"], one["text"], truncation="only_second", max_length=TOKENS, return_tensors="pt"
        )
        with torch.inference_mode():
            found.append(model(**features).logits[0].numpy().astype(np.float64))
    return np.array(found)


def test_the_card_says_what_it_learned_from(base: Path, trained: TrainedJudgeReport) -> None:
    card = trained.card
    pairs = pool(base)
    graded = {(one["query_id"], one["doc_id"]): len(one["text"]) % 4 for one in half_of(pairs)}
    queries = {query_id for query_id, _ in graded}
    assert {*card.training_queries, *card.held_out_queries} == queries
    assert len(card.held_out_queries) == round(0.2 * len(queries))
    texts = {one["query_id"]: one["query"] for one in pairs}
    assert card.training_queries == {each: query_sha(texts[each]) for each in card.training_queries}
    (teacher,) = card.teachers
    assert (teacher.name, teacher.kind, teacher.sources) == ("half", "file", ["half"])
    counts = Counter(grade for (query_id, _), grade in graded.items() if query_id in card.training_queries)
    assert teacher.grades == dict(sorted(counts.items()))
    # Of each query, two ungraded passages count as irrelevant.
    learned_from = set(card.content_shas)
    shas = {content_sha(one["query"], one["text"]): one["query_id"] for one in pairs}
    taught = {content_sha(one["query"], one["text"]) for one in half_of(pairs)}
    negatives = learned_from - taught
    assert learned_from & taught == {sha for sha in taught if shas[sha] in card.training_queries}
    assert Counter(shas[sha] for sha in negatives) == dict.fromkeys(card.training_queries, 2)
    assert card.negatives == {
        "per_query": 2,
        "training": len(negatives),
        "held_out": 2 * len(card.held_out_queries),
    }
    assert (card.target, card.scale, card.relevant_from, card.max_tokens) == ("ordinal", [0, 1, 2, 3], 2, TOKENS)
    assert sum(card.augmentation["shares"]["irrelevant"].values()) == pytest.approx(0.8)
    assert card.libraries["transformers"] == transformers.__version__
    assert card.settings["seed"] == 3


def test_pairs_that_count_as_irrelevant_are_drawn_from_all_ranks() -> None:
    pairs = [Pair("q", f"d{rank}", "query", "text") for rank in range(20)]
    one, three = ([_drawn(pairs, number, seed) for seed in range(2_000)] for number in (1, 3))
    assert all(more[:1] == fewer for fewer, more in zip(one, three, strict=True))
    assert chisquare(list(Counter(pair.doc_id for (pair,) in one).values())).pvalue > 1e-6
    assert sorted(_drawn(pairs, 30, 0)) == sorted(pairs)
    assert _drawn(pairs, 0, 0) == []


def test_the_held_out_measures_are_those_of_scikit_learn(base: Path, trained: TrainedJudgeReport) -> None:
    card = trained.card
    kept_back = [one for one in half_of(pool(base)) if one["query_id"] in card.held_out_queries]
    read = card.read(direct(trained.folder, kept_back))
    truth = np.array([len(one["text"]) % 4 for one in kept_back])
    found = card.held_out
    assert found["queries"] == len(card.held_out_queries)
    assert found["pairs"] == len(kept_back) + card.negatives["held_out"]
    negatives = drawn_as_irrelevant(base, card.held_out_queries)
    of_negatives = card.read(direct(trained.folder, negatives)).grades
    every_truth = np.concatenate([truth, np.zeros(len(negatives), dtype=np.int64)])
    every_grade = np.concatenate([read.grades, of_negatives])
    for name, expected in {
        "kappa": cohen_kappa_score(truth, read.grades),
        "kappa_quadratic": cohen_kappa_score(truth, read.grades, weights="quadratic"),
        "kappa_relevant": cohen_kappa_score(every_truth >= 2, every_grade >= 2),
        "agreement": float((truth == read.grades).mean()),
        "difference": float((read.grades - truth).mean()),
    }.items():
        assert found[name]["value"] == pytest.approx(expected)
    # Without ungraded pairs in it, the area is that of the graded ones.
    plain = train(base, "plain", training=JudgeTraining("expected", "none", TOKENS, FIT))
    kept_back = [one for one in half_of(pool(base)) if one["query_id"] in plain.card.held_out_queries]
    score = plain.card.read(direct(plain.folder, kept_back)).score
    relevant = np.array([len(one["text"]) % 4 >= 2 for one in kept_back])
    area = plain.card.held_out["auc"]
    assert area["value"] == pytest.approx(roc_auc_score(relevant, score), abs=1e-6)
    assert area["low"] <= area["value"] <= area["high"]


def test_kappa_of_grades_is_undefined_where_the_labelers_gave_one_grade(
    base: Path, trained: TrainedJudgeReport
) -> None:
    grades, texts = [(0,), (0,), (1,), (1,)], ["a", "b", "c", "d"]
    taught = [
        TaughtPair(f"q{place % 2}", f"d{place}", "query", text, grade, (float(grade[0]),), grade == (0,))
        for place, (grade, text) in enumerate(zip(grades, texts, strict=True))
    ]
    held_out = Examples.of(taught, [0, 1], 1)
    card = trained.card.model_copy(update={"scale": [0, 1], "relevant_from": 1, "shifts": [0.0]})
    found = measured(card, np.array([[-1.0], [1.0], [1.0], [1.0]]), held_out, 0)
    assert found["undefined"] == dict.fromkeys(
        ["kappa", "kappa_quadratic"], "the labelers gave all held-out pairs the same grade"
    )
    assert found["agreement"]["value"] == 1
    # Of 4 pairs 3 agree; chance is 1/2 * 1/4 + 1/2 * 3/4 = 1/2.
    assert found["kappa_relevant"]["value"] == pytest.approx((3 / 4 - 1 / 2) / (1 - 1 / 2))


def test_it_grades_as_a_direct_computation_does(base: Path, trained: TrainedJudgeReport) -> None:
    config = base / "pool.yaml"
    report = judge(config, "tiny", Listener())
    assert report.error is None
    pairs = pool(base)
    read = trained.card.read(direct(trained.folder, pairs))
    assert read.expected is not None
    assert read.distribution is not None
    loaded = load_config(config)
    with Store.open(loaded.labels.url, loaded.folder) as store:
        grading = Grading(loaded, store)
        labeler = grading.labeler("tiny")
        rows = [pair for chunk in grading.pairs() for pair in chunk]
        labels = [one[1] for one in labeler.behind(rows)]
        assert [(pair.query_id, pair.doc_id) for pair in rows] == [(one["query_id"], one["doc_id"]) for one in pairs]
        expected = np.array([one.extra["expected_grade"] for one in labels])
        assert np.abs(expected - read.expected).max() < 1e-5
        for label, shares in zip(labels, read.distribution, strict=True):
            assert list(label.extra["distribution"]) == ["0", "1", "2", "3"]
            assert list(label.extra["distribution"].values()) == pytest.approx(shares.tolist(), abs=1e-5)
        sure = np.abs(read.distribution.cumsum(axis=1) - 0.5).min(axis=1) > 1e-4
        grades = np.array([one.relevance for one in labels])
        assert (grades == read.grades)[sure].all()
        assert (labeler.grader, labeler.derived_from) == ("distilled", {"half"})
        # A judge that learns from it takes its expected grades.
        taught = command._Grades(grading, [labeler], settings(base))
        assert [one.expected[0] for one in taught.pairs] == expected.tolist()
        teacher = command._teacher(grading, labeler)
        assert (teacher.sources, teacher.models) == (["half"], ["./models/tiny"])
    # Asked again, it has nothing left to grade.
    assert judge(config, "tiny", Listener()).pending.asked == 0


def test_it_says_which_passages_it_reads_as_a_whole(grading: Grading) -> None:
    _, tiny = grading.judge("tiny")
    tokenizer = transformers.AutoTokenizer.from_pretrained(grading.config.folder / "models" / "tiny")
    pairs = [pair for chunk in grading.pairs() for pair in chunk]
    pairs += [pair._replace(text=pair.text[:length]) for pair in pairs[:20] for length in (0, 10, 30, 40, 50, 60)]
    sizes = [len(tokenizer(pair.query, pair.text)["input_ids"]) for pair in pairs]
    assert {size <= TOKENS for size in sizes} == {True, False}
    assert [tiny.reads_whole(pair) for pair in pairs] == [size <= TOKENS for size in sizes]


def test_the_same_command_again_does_nothing_and_another_is_refused(base: Path, trained: TrainedJudgeReport) -> None:
    again = train(base, negatives=2)
    assert (again.trained, again.card) == (False, trained.card)
    assert answer(again).sentences[0] == "This judge was trained before; nothing was done."
    for changes, problem in (
        ({"negatives": 3}, "(held_out_pairs changed|negatives was 2, is 3)"),
        ({"negatives": 2, "labelers": ("half", "sample-gold")}, "held_out_pairs changed"),
        ({"negatives": 2, "training": JudgeTraining(fit=replace(FIT, epochs=5), max_tokens=TOKENS)}, "epochs was 2, "),
    ):
        with pytest.raises(QuatiPoolError, match=f"holds a training of other settings \\({problem}"):
            train(base, **changes)


def test_a_training_that_was_broken_off_ends_with_the_weights_of_an_unbroken_one(
    base: Path, trained: TrainedJudgeReport
) -> None:
    class Stopping(Listener):
        def progress(self, label: str, done: int, total: int, detail: str = "", unit: str = "") -> None:
            if unit == "steps" and done == 11:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        train(base, "broken", Stopping(), negatives=2)
    assert stopped.value.__notes__ == ["the training up to step 8"]
    assert not (base / "models" / "broken" / CARD).exists()
    steps: list[int] = []

    class Counting(Listener):
        def progress(self, label: str, done: int, total: int, detail: str = "", unit: str = "") -> None:
            steps.extend([done] if unit == "steps" else [])

    gone_on = train(base, "broken", Counting(), negatives=2)
    assert steps[0] == 9
    one, other = (load_file(folder / "model.safetensors") for folder in (trained.folder, gone_on.folder))
    assert one.keys() == other.keys()
    assert max(float((one[name] - other[name]).abs().max()) for name in one) <= 1e-6
    assert gone_on.card.held_out == trained.card.held_out
    assert not (gone_on.folder / "checkpoints").exists()


def test_labels_stay_readable_when_the_model_is_gone(base: Path, trained: TrainedJudgeReport, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(base, tmp_path / "copy"))
    config = folder / "pool.yaml"
    judge(config, "tiny", Listener())
    shutil.rmtree(folder / "models")
    loaded = load_config(config)
    with Store.open(loaded.labels.url, loaded.folder) as store:
        grading = Grading(loaded, store)
        labeler = grading.labeler("tiny")
        chunk = next(grading.pairs())
        assert all(one.relevance is not None for one in labeler.graded(chunk))
        assert labeler.derived_from == {"half"}
    with pytest.raises(QuatiPoolError, match="there is no model folder"):
        judge(config, "tiny", Listener())


def test_a_model_of_another_scale_is_refused(base: Path, trained: TrainedJudgeReport, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(base, tmp_path / "copy"))
    config = yaml.safe_load((folder / "pool.yaml").read_text())
    config["grades"] = {0: "no", 1: "yes"}
    del config["labels"]
    (folder / "pool.yaml").write_text(yaml.safe_dump(config))
    with pytest.raises(
        ConfigError, match=r"\./models/tiny' learned grades 0, 1, 2, 3, and this collection's are 0, 1;"
    ):
        judge(folder / "pool.yaml", "tiny", Listener())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labelers": ()}, "whose grades is the judge to learn"),
        ({"labelers": ("nobody",)}, "there is no labeler 'nobody'"),
        ({"held_out": 1.0}, "--held-out 1 is not a share of the queries"),
        ({"relevant_from": 7}, "the lowest relevant grade 7 is not one of 1, 2, 3"),
        ({"model": "none/such/model"}, "there is no model folder"),
        ({"training": JudgeTraining(max_tokens=400, fit=FIT)}, "--max-tokens 400 is more than the 96 that model"),
        ({"training": JudgeTraining(max_tokens=20, fit=FIT)}, "leaves no room for a passage in 20 tokens"),
    ],
)
def test_what_cannot_be_trained_is_refused_in_a_line(base: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(QuatiPoolError, match=message):
        train(base, f"refused-{message[:9].strip()}", **changes)


def test_what_is_printed(base: Path, trained: TrainedJudgeReport) -> None:
    said = answer(trained)
    area = trained.card.held_out["auc"]
    words = f"tells relevant from irrelevant with an AUC of {area['value']:.3f} ({area['low']:.3f} to "
    assert words in said.sentences[0]
    assert "with the grades of half" in said.sentences[1]
    assert "tiny: {judge: distilled, model: models/tiny}" in said.rest
    data = json.loads(json.dumps(as_data(trained)))
    assert data["settings"] == {"judge": "distilled", "model": "models/tiny"}
    assert data["held_out"]["auc"] == pytest.approx(area)
    assert data["labelers"][0]["name"] == "half"
    assert [table.title for table in tables(trained)][1:] == ["Grades of the training pairs", "Held-out loss"]
    assert read_card(trained.folder, "tiny") == trained.card


def test_without_held_out_queries_nothing_is_measured(base: Path) -> None:
    report = train(base, "all", held_out=0.0, training=JudgeTraining("binary", "paper", TOKENS, replace(FIT, epochs=1)))
    assert report.card.held_out["undefined"] == {"auc": "no queries were held out"}
    assert report.card.held_out_queries == {}
    assert "how well it grades is not known" in answer(report).sentences[0]
    # One output: relevant or not, as the lowest relevant grade or the lowest of all.
    assert set(report.card.read(direct(report.folder, pool(base)[:40])).grades.tolist()) <= {0, 2}
