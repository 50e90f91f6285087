"""The folder that a training writes: resumed by the same training, refused to any other, trained by one process at a
time."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.files.artifacts import (
    Counts,
    Key,
    differing,
    grow_folder,
    locked_output,
    put_file,
    sidecar,
    sync,
    unfinished,
)

CHECKPOINTS = "checkpoints"
_STARTED = "quati_pool_training.json"


def require_name(folder: Path) -> None:
    """Raises ConfigError for a folder without a name of its own, next to which nothing can be written."""
    if folder.name in ("", ".."):
        raise ConfigError(f"-o {folder} has no name of its own; name the folder, such as models/mine")


def train_into(
    folder: Path,
    key: Key,
    provenance: Mapping[str, Any],
    is_trained: Callable[[Path], bool],
    train: Callable[[Path], Counts],
    say: Callable[[str], None],
) -> bool:
    """Trains a model into ``folder`` unless that is done; returns whether this call did.

    ``train`` gets the folder and leaves its state in ``checkpoints`` there, from which it goes on; ``is_trained`` says
    of the folder whether it came to its end. ``key`` is everything that changes the model. Raises QuatiPoolError for a
    folder with anything else in it: a model of other settings, finished or not, a finished one that was changed since,
    or files of other origin.
    """
    wanted = json.loads(json.dumps(key))
    with locked_output(folder, say):
        _refuse_other(folder, wanted)
        if (lacking := unfinished(folder)) is None:
            return False
        if folder.exists() and sidecar(folder).exists():
            raise QuatiPoolError(
                f"the finished model {folder} cannot be used: it {lacking}; name another folder with -o, or remove it"
            )
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(wanted, ensure_ascii=False, indent=1) + "\n"
        put_file(folder / _STARTED, lambda partial: partial.write_text(text, encoding="utf-8"))

        def fill(place: Path) -> Counts:
            counts = {} if is_trained(place) else train(place)
            # The checkpoints go last: until the model is on the disk, they are all that a power failure leaves.
            for file in place.rglob("*"):
                sync(file)
            shutil.rmtree(place / CHECKPOINTS, ignore_errors=True)
            return counts

        try:
            grow_folder(folder, wanted, provenance, fill)
        except BaseException:
            _leave(folder)
            raise
    return True


def _leave(folder: Path) -> None:
    """Where nothing was saved yet, takes the folder back, so that the next command may have other settings."""
    checkpoints = folder / CHECKPOINTS
    # A trainer makes the folder of its checkpoints before it saves any.
    if any(file.is_file() for file in checkpoints.rglob("*")):
        return
    shutil.rmtree(checkpoints, ignore_errors=True)
    if [file.name for file in folder.iterdir()] == [_STARTED]:
        shutil.rmtree(folder)


def _refuse_other(folder: Path, wanted: dict[str, Any]) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise QuatiPoolError(f"{folder} is a file; name a folder with -o")
    files = {file.name for file in folder.iterdir()}
    if not files - {CHECKPOINTS, f".partial-{_STARTED}"}:
        return
    try:
        started = json.loads((folder / _STARTED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise QuatiPoolError(f"{folder} is not empty and holds no training; name another folder with -o") from None
    if started != wanted:
        raise QuatiPoolError(
            f"{folder} holds a training of other settings ({differing(started, wanted)}); name another folder with "
            f"-o, or remove it"
        )
