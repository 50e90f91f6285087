"""Folders of long work in a workspace: finished once, continued after a break, repeated only on request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from small_stores import store

from quati_pool.files.artifacts import Counts
from quati_pool.project.artifact_builder import ArtifactBuilder
from quati_pool.project.inputs import Corpus
from quati_pool.project.resumable_folders import BuildContext
from quati_pool.project.workspace import Workspace
from quati_pool.retrieval.shards import Shards
from tests.commands.small_collection import Heard

PASSAGES, SHARD = 10, 3


class Encoding:
    """Encodes a corpus of ten passages in shards of three; breaks off before the shard ``broken``."""

    def __init__(self, broken: int | None = None) -> None:
        self.broken = broken
        self.encoded: list[int] = []

    def __call__(self, folder: Path) -> Counts:
        shards = Shards(folder)
        while shards.passages < PASSAGES:
            if shards.shards == self.broken:
                raise KeyboardInterrupt
            some = np.arange(shards.passages, min(shards.passages + SHARD, PASSAGES))
            self.encoded.extend(some.tolist())
            shards.append(len(some), vectors=some.astype(np.float32)[:, None])
        return {"passages": PASSAGES}


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def made(tmp_path: Path, heard: Heard) -> Callable[..., BuildContext]:
    """A context of a new build of one workspace."""
    corpus = Corpus("corpus", "a-fingerprint", store(tmp_path / "store", [str(i) for i in range(PASSAGES)]))

    def context(forced: bool = False) -> BuildContext:
        builder = ArtifactBuilder(Workspace(tmp_path / "work"), {}, heard)
        return BuildContext(builder=builder, corpora=[corpus], forced=forced, note=heard.say)

    return context


def grow(context: BuildContext, work: Encoding, **options: bool) -> Path:
    return context.resumable_folder(context.corpora[0].store, "dense", {"model": "m"}, work, **options)


def test_finished_work_is_not_done_again(made: Callable[..., BuildContext], heard: Heard) -> None:
    first, second = Encoding(), Encoding()
    folder = grow(made(), first)
    assert first.encoded == list(range(PASSAGES))
    assert grow(made(), second) == folder
    assert second.encoded == []
    assert heard.lines[-1] == f"encoding {folder.name}: reused"
    assert Shards(folder).array("vectors")[:, 0].tolist() == list(range(PASSAGES))


@pytest.mark.parametrize("broken", [0, 1, 3])
def test_work_broken_off_goes_on_with_its_finished_shards(
    made: Callable[..., BuildContext], heard: Heard, broken: int
) -> None:
    with pytest.raises(KeyboardInterrupt):
        grow(made(), Encoding(broken))
    assert made().finished_folder(made().corpora[0].store, "dense", {"model": "m"}) is None
    again = Encoding()
    folder = grow(made(), again)
    assert again.encoded == list(range(SHARD * broken, PASSAGES))
    assert Shards(folder).array("vectors")[:, 0].tolist() == list(range(PASSAGES))
    told = f"encoding {folder.name}: continues after {SHARD * broken} passages in {broken} shards"
    assert (told in heard.lines) == (broken > 0)
    assert made().finished_folder(made().corpora[0].store, "dense", {"model": "m"}) == folder


def test_a_cut_file_costs_the_shards_it_touches(made: Callable[..., BuildContext]) -> None:
    folder = grow(made(), Encoding())
    (folder / "vectors.bin").write_bytes((folder / "vectors.bin").read_bytes()[:-5])
    again = Encoding()
    grow(made(), again)
    # The last of four shards holds the tenth passage alone; five bytes are of two rows.
    assert again.encoded == [6, 7, 8, 9]


def test_force_rebuilds_once_per_build_and_never_what_was_paid_for(made: Callable[..., BuildContext]) -> None:
    grow(made(), Encoding())
    forced = made(forced=True)
    first, second, paid = Encoding(), Encoding(), Encoding()
    grow(forced, first)
    grow(forced, second)
    assert (len(first.encoded), len(second.encoded)) == (PASSAGES, 0)
    grow(made(forced=True), paid, paid=True)
    assert paid.encoded == []


@pytest.mark.parametrize(("unit", "doing"), [("passages", "encoding"), ("pairs", "scoring")])
def test_progress_names_the_system_and_the_work_and_then_what_it_named_before(
    made: Callable[..., BuildContext], heard: Heard, monkeypatch: pytest.MonkeyPatch, unit: str, doing: str
) -> None:
    reported: list[tuple[str, int, int, str]] = []

    def progress(label: str, done: int, total: int, detail: str = "", unit: str = "") -> None:
        reported.append((label, done, total, unit))

    monkeypatch.setattr(heard, "progress", progress)
    context = made()
    context.begin("large", "searching", "queries")

    def work(folder: Path) -> Counts:
        context.step("loading the model")
        context.progress(1, 2)
        return {}

    context.resumable_folder(context.corpora[0].store, "monot5", {}, work, unit=unit)
    context.progress(5, 6)
    assert reported == [
        ("large: loading the model", 0, 0, ""),
        (f"large: {doing}", 1, 2, unit),
        ("large: searching", 5, 6, "queries"),
    ]


def test_ctrl_c_notes_what_the_folder_keeps(made: Callable[..., BuildContext]) -> None:
    context = made()
    context.begin("large", "searching", "queries")
    with pytest.raises(KeyboardInterrupt) as stopped:
        grow(context, Encoding(broken=2))
    assert stopped.value.__notes__ == [f"{2 * SHARD} passages of large"]
