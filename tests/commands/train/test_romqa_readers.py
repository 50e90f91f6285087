"""Readers of RoMQA's candidates: trained by ``train reader`` and used by ``bench --reader``, with tiny models."""

from __future__ import annotations

import bz2
import json
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.bench.bench import BenchOptions, bench
from quati_pool.commands.train.reader import train_reader
from quati_pool.commands.train.recipes import ReaderOptions
from quati_pool.commands.train.romqa_examples import candidate_questions
from quati_pool.errors import ConfigError
from quati_pool.models.readers.card import read_card
from quati_pool.project.events import Listener
from tests.tiny_models.cross_encoder import cross_encoder

pytestmark = pytest.mark.neural

BIRDS = ("jabiru", "toucan", "rhea", "heron", "macaw", "ibis")


def entry(number: int, cluster: int) -> dict[str, Any]:
    """A question whose right candidates have evidence of a harbour."""
    candidates = [
        {
            "text": bird,
            "desc": "",
            "is_answer": (number + place) % 3 == 0,
            "evidence": [{"text": f"The {bird}: {'the harbour' if (number + place) % 3 == 0 else 'a rock'}."}],
        }
        for place, bird in enumerate(BIRDS)
    ]
    return {
        "id": f"q{number}",
        "cluster_id": f"c{cluster}",
        "question": "Which birds?",
        "candidates": candidates,
        "complete_answer": [{"text": one["text"]} for one in candidates if one["is_answer"]],
    }


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("romqa")
    splits = {"train": [entry(number, number // 3) for number in range(18)], "dev": [entry(90, 1), entry(91, 2)]}
    for kind in ("closed", "gold"):
        (folder / kind).mkdir()
        for split, questions in splits.items():
            (folder / kind / f"{split}.json.bz2").write_bytes(bz2.compress(json.dumps(questions).encode()))
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cross_encoder(tmp_path_factory.mktemp("models") / "bert", positions=128, initializer_range=0.1)


def options(task: str, data: Path, model: Path, output: Path, **more: Any) -> ReaderOptions:
    return ReaderOptions(task, [(None, data)], str(model), output, **{"given": {"epochs": 1, "device": "cpu"}, **more})


@pytest.mark.parametrize("task", ["closed", "gold"])
def test_a_reader_is_trained_and_measured_as_bench_does(tmp_path: Path, data: Path, model: Path, task: str) -> None:
    trained = train_reader(options(task, data, model, tmp_path / "mine"), Listener())
    card = read_card(trained.output)
    assert card is not None
    assert (card.kind, card.task, card.max_tokens) == ("candidates", task, 128)
    settings = card.training["stages"][0]["settings"]
    assert (settings["learning_rate"], settings["batch_size"]) == (1e-6, 1)
    assert (trained.stages[0].examples, trained.stages[0].held_out) == (18, 2)
    settings = BenchOptions(tmp_path / "bench", ["validation"], readers=[("mine", str(trained.output))], device="cpu")
    found = [row for row in bench("romqa", task, data, settings, Listener()).rows if row.system == "mine"]
    # The few-shot setting has examples for prompts, which a reader does not read.
    assert [row.case.setting for row in found] == [""]
    assert found[0].measures == trained.rows[0].measures


def test_evidence_is_learned(tmp_path: Path, data: Path, model: Path) -> None:
    given = {"epochs": 15, "device": "cpu", "learning_rate": 2e-3, "batch_size": 3, "patience": 15}
    trained = train_reader(options("gold", data, model, tmp_path / "mine", given=given), Listener())
    losses = [loss for _, loss in trained.stages[0].losses]
    assert min(losses) < 0.5 * losses[0]
    assert (trained.rows[0].measures["F1"] or 0) > 80


@pytest.mark.parametrize(("sample", "clusters"), [("clusters", 2), ("unrelated", 6)])
def test_as_many_related_as_unrelated_questions_are_sampled(
    tmp_path: Path, data: Path, model: Path, sample: str, clusters: int
) -> None:
    trained = train_reader(options("closed", data, model, tmp_path / "mine", sample=sample), Listener())
    assert trained.stages[0].examples == 6
    assert f"romqa: learned from 6 of 18 questions, in {clusters} clusters" in trained.notes[0]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"sample": "cluster"}, "--sample cluster: there is no such sample; did you mean"),
        ({"method": "binary"}, "--method has no effect on --task gold"),
        ({"max_tokens": 129}, "--max-tokens 129: model .* takes at most 128"),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, data: Path, model: Path, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        train_reader(options("gold", data, model, tmp_path / "mine", **more), Listener())


@pytest.mark.parametrize("task", ["closed", "gold"])
def test_a_file_without_candidates_is_refused(tmp_path: Path, model: Path, task: str) -> None:
    folder = tmp_path / "romqa" / task
    folder.mkdir(parents=True)
    without = {**entry(0, 0), "candidates": []}
    (folder / "train.json.bz2").write_bytes(bz2.compress(json.dumps([without]).encode()))
    with pytest.raises(ConfigError, match=f"no question of the {task} training file has candidates"):
        train_reader(options(task, tmp_path / "romqa", model, tmp_path / "mine"), Listener())


def test_examples_have_evidence_where_the_task_gives_it(data: Path) -> None:
    [gold, *_] = candidate_questions("gold", data, "validation", 0)
    [closed, *_] = candidate_questions("closed", data, "validation", 0)
    assert gold.evidence[:2] == ("The jabiru: the harbour.", "The toucan: a rock.")
    assert closed.evidence == ("",) * 6
    assert gold.names == closed.names == BIRDS
    assert gold.right == closed.right == (True, False, False, True, False, False)
    assert gold.cluster_id == "c1"
