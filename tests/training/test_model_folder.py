"""A training's folder: gone on with by the same training alone, and by one process at a time."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.files.artifacts import read_meta
from quati_pool.training.model_folder import CHECKPOINTS, require_name, train_into

KEY = {"epochs": 3, "pairs": "0" * 64}


def train(folder: Path, key: dict[str, Any] = KEY, run: Callable[[Path], Any] | None = None) -> bool:
    def ordinary(place: Path) -> dict[str, int]:
        (place / CHECKPOINTS).mkdir(exist_ok=True)
        (place / "weights").write_text("trained")
        (place / "card.json").write_text("{}")
        return {"steps": 4}

    return train_into(folder, key, {"model": "m"}, has_card, run or ordinary, lambda line: None)


def has_card(folder: Path) -> bool:
    return (folder / "card.json").is_file()


def stopped(place: Path) -> None:
    checkpoint = place / CHECKPOINTS / "checkpoint-2"
    checkpoint.mkdir(parents=True)
    (checkpoint / "optimizer.pt").write_text("…")
    raise KeyboardInterrupt


def test_a_finished_training_is_not_done_again(tmp_path: Path) -> None:
    folder = tmp_path / "models" / "judge"
    assert train(folder)
    meta = read_meta(folder)
    assert meta is not None
    assert (meta["key"], meta["counts"], meta["model"]) == (KEY, {"steps": 4}, "m")
    assert not (folder / CHECKPOINTS).exists()
    assert not train(folder, run=lambda place: pytest.fail("trained again"))


def test_a_broken_training_goes_on_in_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "judge"
    with pytest.raises(KeyboardInterrupt):
        train(folder, run=stopped)
    assert read_meta(folder) is None
    there: list[bool] = []

    def going_on(place: Path) -> dict[str, int]:
        there.append((place / CHECKPOINTS / "checkpoint-2").is_dir())
        (place / "card.json").write_text("{}")
        return {}

    assert train(folder, run=going_on)
    assert there == [True]


def test_after_the_card_nothing_is_trained_again(tmp_path: Path) -> None:
    """Killed between the card and the sidecar."""
    folder = tmp_path / "judge"

    def killed(place: Path) -> None:
        (place / CHECKPOINTS).mkdir()
        (place / "card.json").write_text("{}")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(folder, run=killed)
    assert train(folder, run=lambda place: pytest.fail("trained again"))
    assert not (folder / CHECKPOINTS).exists()
    assert read_meta(folder) is not None


@pytest.mark.parametrize("finished", [True, False])
def test_other_settings_are_refused_with_what_differs(finished: bool, tmp_path: Path) -> None:
    folder = tmp_path / "judge"
    if finished:
        train(folder)
    else:
        with pytest.raises(KeyboardInterrupt):
            train(folder, run=stopped)
    before = sorted(folder.rglob("*"))
    with pytest.raises(QuatiPoolError, match=r"judge holds a training of other settings \(epochs was 3, is 4\); name"):
        train(folder, {**KEY, "epochs": 4})
    with pytest.raises(QuatiPoolError, match=r"other settings \(pairs changed\)"):
        train(folder, {**KEY, "pairs": "1" * 64})
    assert sorted(folder.rglob("*")) == before


def test_of_several_stages_the_message_names_what_differs(tmp_path: Path) -> None:
    stages = [{"settings": {"epochs": 3}}, {"settings": {"epochs": 5}}]
    train(tmp_path / "reader", {"stages": stages})
    with pytest.raises(QuatiPoolError, match=r"other settings \(stages\.2\.settings\.epochs was 5, is 4\)"):
        train(tmp_path / "reader", {"stages": [stages[0], {"settings": {"epochs": 4}}]})


@pytest.mark.parametrize("folder", [".", ".."])
def test_a_folder_without_a_name_is_refused(folder: str) -> None:
    with pytest.raises(ConfigError, match=f"-o {folder} has no name of its own; name the folder"):
        require_name(Path(folder))


def test_a_training_that_saved_nothing_leaves_its_folder_to_any_other(tmp_path: Path) -> None:
    folder = tmp_path / "judge"

    def refused(place: Path) -> None:
        (place / CHECKPOINTS / "stage-1").mkdir(parents=True)
        raise QuatiPoolError("there is no such device")

    with pytest.raises(QuatiPoolError, match="no such device"):
        train(folder, run=refused)
    assert not folder.exists()
    assert train(folder, {**KEY, "epochs": 4})


def test_files_of_other_origin_are_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "judge"
    folder.mkdir()
    (folder / "thesis.tex").write_text("…")
    with pytest.raises(QuatiPoolError, match="judge is not empty and holds no training; name another folder with -o"):
        train(folder)
    (tmp_path / "file").write_text("…")
    with pytest.raises(QuatiPoolError, match="file is a file; name a folder with -o"):
        train(tmp_path / "file")


def test_two_at_once_train_one_model(tmp_path: Path) -> None:
    folder = tmp_path / "judge"
    began, go_on = threading.Event(), threading.Event()
    said: list[str] = []

    def slow(place: Path) -> dict[str, int]:
        began.set()
        assert go_on.wait(20)
        (place / "card.json").write_text(json.dumps({}))
        return {}

    def other() -> bool:
        return train_into(folder, KEY, {}, has_card, lambda place: pytest.fail("trained twice"), said.append)

    results: list[bool] = []
    first = threading.Thread(target=lambda: results.append(train(folder, run=slow)))
    first.start()
    assert began.wait(20)
    second = threading.Thread(target=lambda: results.append(other()))
    second.start()
    while not said:
        threading.Event().wait(0.01)
    go_on.set()
    first.join()
    second.join()
    assert results == [True, False]
    assert "waiting for process" in said[0]
