"""``quati-pool train reader`` for multiple choice, as a user runs it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from quati_pool.commands.train import reader as reader_step
from quati_pool.models.readers.card import CARD, read_card
from tests.cli.conftest import Cli, Done
from tests.qa_benchmarks.pira_rows import row, write_split
from tests.qa_benchmarks.small_questions import question, write_article, write_jsonl
from tests.tiny_models.multiple_choice import multiple_choice

pytestmark = pytest.mark.neural


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return multiple_choice(tmp_path_factory.mktemp("tiny") / "tiny", positions=128)


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RACE and QASC, each with a few questions to learn from and fewer that are held out."""
    monkeypatch.chdir(tmp_path)
    options = ["the fox", "a dog", "tide", "boats"]
    for split, count in (("train", 5), ("dev", 3)):
        records = [question(f"{split}{n}", f"who is {n}", options, "ABCD"[n % 4]) for n in range(count)]
        write_jsonl(Path("qasc") / f"{split}.jsonl", records)
        for n in range(count):
            asked = [(f"what is {n}", options, "ABCD"[n % 4])]
            write_article(Path("race") / split / "high" / f"{n}.txt", f"high{n}.txt", f"the court {n} of a", asked)


def train(cli: Cli, model: Path, *more: Any, data: str = "qasc=qasc", output: str = "mine") -> Done:
    settings = ("--epochs", "2", "--batch-size", "2", "--accumulate", "1", "--max-tokens", "64", "--device", "cpu")
    return cli("train", "reader", "--task", "mcqa", "--data", data, "--model", model, "-o", output, *settings, *more)


def stages(folder: str = "mine") -> list[dict[str, Any]]:
    card = read_card(Path(folder))
    assert card is not None
    found: list[dict[str, Any]] = card.training["stages"]
    return found


def test_the_answer_is_the_accuracy_on_what_was_held_out(cli: Cli, model: Path) -> None:
    done = train(cli, model)
    assert done.status == 0, done.err
    assert done.out.startswith("The reader has accuracy ")
    assert "on 3 held-out questions" in done.out
    assert "95 % interval" in done.out
    assert not Path("mine/checkpoints").exists()
    [stage] = stages()
    # 10 questions in batches of 2.
    assert (stage["examples"], stage["held_out"], stage["steps"], stage["method"]) == (5, 3, 5, "binary+augmentation")
    assert stage["about"]["augmentation"] == {"right": 0.2, "wrong": 0.8, "from": 0}
    assert json.loads(Path("mine/config.json").read_text())["architectures"] == ["BertForMultipleChoice"]
    measured = cli("bench", "qasc", "expectations", "--data", "qasc", "--reader", "mine", "--format", "json")
    assert measured.status == 0, measured.err
    rows = {(made["system"], made["split"], made["setting"]): made for made in json.loads(measured.out)["rows"]}
    held_out = json.loads(train(cli, model, "--format", "json").out)["rows"][0]["measures"]["accuracy"]
    assert rows["mine", "validation", "original"]["measures"]["accuracy"] == pytest.approx(held_out)


def test_the_same_command_again_trains_nothing_and_another_is_refused(cli: Cli, model: Path) -> None:
    first = json.loads(train(cli, model, "--format", "json").out)
    before = Path("mine/model.safetensors").stat().st_mtime_ns
    again = json.loads(train(cli, model, "--format", "json").out)
    assert again == {**first, "reused": True}
    assert Path("mine/model.safetensors").stat().st_mtime_ns == before
    refused = train(cli, model, "--seed", "1")
    assert refused.status == 1
    assert "mine holds a training of other settings" in refused.err
    write_jsonl(Path("qasc/train.jsonl"), [question("new", "who", ["a", "b"], "A")])
    assert "mine holds a training of other settings" in train(cli, model).err


def test_a_training_that_was_broken_off_goes_on(cli: Cli, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped after the last stage, before the reader is measured; a killed stage is tested with its weights."""
    stages_of_both = ("--then", "race=race")
    assert train(cli, model, *stages_of_both, output="unbroken").status == 0
    with monkeypatch.context() as patched:
        patched.setattr(reader_step, "_measured", _stop)
        stopped = train(cli, model, *stages_of_both)
    assert stopped.status == 130
    assert sorted(path.name for path in Path("mine/checkpoints").iterdir()) == ["stage-1", "stage-2"]
    other = train(cli, model, *stages_of_both, "--seed", "1")
    assert other.status == 1
    assert "mine holds a training of other settings" in other.err
    checkpoint = next(Path("mine/checkpoints/stage-2").glob("checkpoint-*"))
    written = checkpoint.stat().st_mtime_ns
    seen: list[int] = []
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", lambda path, **_: seen.append(checkpoint.stat().st_mtime_ns))
        assert train(cli, model, *stages_of_both).status == 0
    assert seen == [written]  # nothing was trained again
    assert _equal("mine", "unbroken")
    assert stages() == stages("unbroken")


def test_a_command_that_was_killed_before_the_sidecar_trains_nothing_again(cli: Cli, model: Path) -> None:
    first = json.loads(train(cli, model, "--format", "json").out)
    before = Path("mine/model.safetensors").stat().st_mtime_ns
    Path("mine.meta.json").unlink()
    Path("mine/checkpoints/stage-1").mkdir(parents=True)  # their removal was cut short
    assert train(cli, model, "--seed", "1").status == 1
    assert json.loads(train(cli, model, "--format", "json").out) == first
    assert Path("mine/model.safetensors").stat().st_mtime_ns == before
    assert not Path("mine/checkpoints").exists()
    assert json.loads(train(cli, model, "--format", "json").out)["reused"]


@pytest.mark.parametrize("file", [CARD, "model.safetensors"])
def test_a_finished_reader_that_was_damaged_is_refused(cli: Cli, model: Path, file: str) -> None:
    assert train(cli, model).status == 0
    whole = Path("mine", file).read_bytes()
    Path("mine", file).write_bytes(whole[:100])
    refused = train(cli, model)
    assert "the finished model mine cannot be used: it was changed since it was written; name another" in refused.err
    shutil.rmtree("mine")
    assert train(cli, model).status == 0
    assert Path("mine", file).stat().st_size == len(whole)


def test_a_command_that_was_killed_before_its_settings_were_written_begins(cli: Cli, model: Path) -> None:
    Path("mine/checkpoints").mkdir(parents=True)
    assert train(cli, model).status == 0


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


def test_race_first_and_then_the_target_with_the_last_stage_changed(cli: Cli, model: Path) -> None:
    done = train(cli, model, "--then", "qasc=qasc", "--format", "json", data="race=race")
    assert done.status == 0, done.err
    assert [(one["name"], one["method"]) for one in stages()] == [("race", "baseline"), ("qasc", "binary+augmentation")]
    # The second stage begins with the weights of the first: it is another model than one trained on QASC alone.
    assert train(cli, model, output="alone").status == 0
    assert not _equal("mine", "alone")
    assert [made["split"] for made in json.loads(done.out)["rows"]] == ["validation"]
    # A setting is about the last stage.
    written = train(cli, model, "--then", "race=race", "--setting", "high", data="qasc=qasc", output="other")
    assert written.status == 0, written.err


def test_on_race_the_first_epoch_is_as_released(cli: Cli, model: Path) -> None:
    assert train(cli, model, data="race=race").status == 0
    [stage] = stages()
    assert stage["about"]["augmentation"]["from"] == 1
    assert stage["about"]["cases"] == ["train en high"]


def test_presets_are_those_of_the_papers_code(cli: Cli, model: Path) -> None:
    for method, epochs in (("baseline", 4), ("binary", 5), ("binary+augmentation", 5)):
        done = cli(
            *("train", "reader", "--task", "mcqa", "--data", "qasc=qasc", "--model", model, "-o", method),
            *("--method", method, "--device", "cpu"),
        )
        assert done.status == 0, done.err
        [stage] = stages(method)
        settings = stage["settings"]
        assert (settings["epochs"], settings["batch_size"] * settings["accumulate"]) == (epochs, 16)
        assert (settings["learning_rate"], settings["weight_decay"], settings["warmup"]) == (1e-5, 0.1, 0.06)
    card = read_card(Path("baseline"))
    assert card is not None
    assert card.max_tokens == 128  # the model's own limit, which is below the paper's 256


def test_pira_builds_the_questions_in_the_language_that_is_named(cli: Cli, model: Path) -> None:
    write_split(
        Path("pira"),
        "train",
        [row(str(n), answer_en_origin=f"tide {n}", answer_pt_origin=f"maré {n}") for n in range(6)],
    )
    refused = train(cli, model, data="pira")
    assert refused.status == 1
    assert "pira holds texts in en, pt; name those to learn from by --lang" in refused.err
    done = train(cli, model, "--lang", "pt", data="pira")
    assert done.status == 0, done.err
    assert done.out.startswith("Nothing was held out")
    assert stages()[0]["about"]["cases"] == ["train pt built"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--method", "binari"), "--method binari: there is no such method; did you mean 'binary'?"),
        (("--sample", "clusters"), "--sample has no effect on --task mcqa with this model"),
        (("--lang", "de"), "--lang de: the training files in qasc hold no such case; there is: en"),
        (("--then", "romqa=qasc"), "no multiple choice; name one of pira, race, qasc, arc, openbookqa, aristo"),
        (("--then", "race"), "or name another benchmark, such as race=race"),
        (("--then", "race=race", "--epochs", "1"), "--epochs 1: on RACE, binary+augmentation learns"),
        (("--then", "qasc=nowhere"), "nowhere is not a folder"),
        (("--max-tokens", "500"), "takes at most 128"),
        (("--device", "cuda"), "this machine has no device 'cuda'"),
    ],
)
def test_faults_are_one_line(cli: Cli, model: Path, more: tuple[str, ...], message: str) -> None:
    refused = train(cli, model, *more)
    assert refused.status == 1
    assert message in refused.err
    assert "Traceback" not in refused.err


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--learning-rate", "-1", "-1.0 is no learning rate; expected a positive number"),
        ("--learning-rate", "nan", "nan is no learning rate"),
        ("--seed", 2**32, "4294967295"),
    ],
)
def test_values_that_no_training_can_have(cli: Cli, model: Path, option: str, value: object, message: str) -> None:
    refused = train(cli, model, option, value)
    assert refused.status == 2
    assert message in refused.err


def test_a_patience_of_0_never_stops_it(cli: Cli, model: Path) -> None:
    assert train(cli, model, "--epochs", "8", "--patience", 0).status == 0
    [stage] = stages()
    assert stage["settings"]["patience"] is None
    assert stage["steps"] == 20  # 8 times 5 questions in batches of 2


def test_after_a_training_that_saved_nothing_another_may_have_the_folder(cli: Cli, model: Path) -> None:
    refused = train(cli, model, "--learning-rate", "1e30")
    assert "the held-out loss is nan" in refused.err
    assert not Path("mine").exists()
    assert train(cli, model).status == 0


def test_a_folder_with_something_else_is_refused(cli: Cli, model: Path) -> None:
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("mine")
    refused = train(cli, model)
    assert "mine is not empty and holds no training; name another folder with -o" in refused.err
    assert Path("mine/thesis.txt").read_text() == "mine"


def test_questions_that_do_not_fit_are_left_out_of_training_with_a_note(cli: Cli, model: Path) -> None:
    with Path("qasc/train.jsonl").open("a") as file:
        file.write(json.dumps(question("long", "who " * 60, ["a", "b"], "A")) + "\n")
    done = train(cli, model, "--full")
    assert done.status == 0, done.err
    assert "1 of 9 questions are left out of training" in done.out
    assert stages()[0]["examples"] == 5


def _equal(one: str, other: str) -> bool:
    first, second = load_file(f"{one}/model.safetensors"), load_file(f"{other}/model.safetensors")
    return all(bool((first[name] == second[name]).all()) for name in first)


def test_the_card_says_what_the_reader_learned_from(cli: Cli, model: Path) -> None:
    assert train(cli, model).status == 0
    fields = json.loads(Path("mine", CARD).read_text(encoding="utf-8"))
    assert (fields["kind"], fields["task"], fields["max_tokens"]) == ("multiple-choice", "mcqa", 64)
    assert fields["inputs"] == {"form": "parts"}
    assert set(fields["training"]["stages"][0]["inputs"]) == {"train.jsonl", "dev.jsonl"}
    assert fields["training"]["model"]["digest"]
    sidecar = json.loads(Path("mine.meta.json").read_text(encoding="utf-8"))
    assert sidecar["models"] == [str(model)]
