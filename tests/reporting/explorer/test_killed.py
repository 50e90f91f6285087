"""``report`` and ``export explorer`` that are killed, or meet another, leave what an undisturbed one leaves."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from filelock import FileLock

from quati_pool.files.artifacts import lock_path, unfinished
from quati_pool.project.workspace import Workspace
from tests.annotator_app.explored import explored
from tests.commands.killing import KILLED, Driver, driving
from tests.commands.small_collection import command, environment, leftovers, run_cli, wait_for
from tests.patience import PATIENCE

pytestmark = pytest.mark.kill

REPORT = ("report", "--draws", "20")
EXPORT = ("export", "explorer")
FEWER = {REPORT: ("--measures", "nDCG@10"), EXPORT: ("--labeler", "gpt")}
"""Options with which a command writes fewer files."""
MODULES = ("quati_pool.reporting.page", "matplotlib.pyplot", "jinja2", "alembic.command", "sqlalchemy.dialects.sqlite")


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    with driving(*MODULES) as driver:
        yield driver


@pytest.fixture
def config(finished: Path, tmp_path: Path) -> Path:
    return explored(finished, tmp_path / "w")


def place(folder: Path, words: tuple[str, ...]) -> Path:
    """Where a command writes its explorer."""
    return Workspace(folder).report("explore") if words == REPORT else Workspace(folder).export("explorer")


def files(folder: Path) -> dict[str, bytes]:
    """What a reader sees, without the sidecars, which hold the time."""
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(".meta.json"))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def moments(events: list[str]) -> list[int]:
    """Each kind of making, renaming and removal in the reports or exports, a file half-written, and the end."""
    kinds: dict[str, int] = {}
    for number, event in enumerate(events):
        if re.match(r"(mkdir|rename|remove) (reports|exports)\b", event):
            kinds.setdefault(re.sub(r"/(\.partial-\w+|figures)/.*|(html|md)\b", "*", event), number)
    half = next(number for number, event in enumerate(events) if re.match(r"sync .*/\.partial-explore.*/data/", event))
    return sorted({*kinds.values(), half, len(events) - 1})


@pytest.mark.parametrize(("words", "replaces"), [(EXPORT, False), (EXPORT, True), (REPORT, True)])
def test_killed_at_any_event_it_ends_as_an_undisturbed_one(
    config: Path, driver: Driver, words: tuple[str, ...], replaces: bool
) -> None:
    """Of a first one, and of one that replaces another with fewer files."""
    workspace = config.parent
    explorer = place(workspace, words)
    if replaces:
        assert driver.run(workspace, *words, *FEWER[words], "-c", config)["status"] == 0
    former = files(explorer)
    saved = Path(shutil.copytree(workspace, workspace.with_name("saved")))
    whole = driver.run(workspace, *words, "-c", config)
    assert whole["status"] == 0, whole["stderr"]
    expected, shown = files(explorer.parent), files(explorer)
    assert shown.keys() > former.keys()
    chosen = moments(whole["events"])
    assert len(chosen) > 5
    for number in chosen:
        shutil.rmtree(workspace)
        shutil.copytree(saved, workspace)
        event = whole["events"][number]
        broken = driver.run(workspace, *words, "-c", config, at=number)
        assert (broken["status"], broken["events"][-1]) == (KILLED, event)
        assert files(explorer) in ({}, former, shown), event
        again = driver.run(workspace, *words, "-c", config)
        assert again["status"] == 0, (event, again["stderr"])
        assert files(explorer.parent) == expected, event
        assert unfinished(explorer) is None, event
        assert not leftovers(workspace), event


def test_killed_again_and_again_it_ends_as_an_undisturbed_one(config: Path, driver: Driver) -> None:
    workspace = config.parent
    explorer = place(workspace, EXPORT)
    whole = driver.run(workspace, *EXPORT, "-c", config)
    expected = files(explorer)
    shutil.rmtree(explorer)
    for number in (*moments(whole["events"])[:-2], 1, 2, 3):
        assert driver.run(workspace, *EXPORT, "-c", config, at=number)["status"] == KILLED
        assert files(explorer) in ({}, expected)
    assert driver.run(workspace, *EXPORT, "-c", config)["status"] == 0
    assert files(explorer) == expected
    assert not leftovers(workspace)


def test_of_two_exports_at_once_one_writes_the_explorer_and_both_succeed(config: Path, tmp_path: Path) -> None:
    explorer = place(config.parent, EXPORT)
    explorer.parent.mkdir()
    said = [tmp_path / "first", tmp_path / "second"]
    with FileLock(lock_path(explorer)) as held, ExitStack() as stack:
        started = []
        for path in said:
            stderr = stack.enter_context(path.open("wb"))
            arguments = command(*EXPORT, "-c", config)
            started.append(subprocess.Popen(arguments, env=environment(), stdout=subprocess.DEVNULL, stderr=stderr))
        # Both have read the same state and found no explorer.
        wait_for(lambda: all("waiting for" in path.read_text(encoding="utf-8") for path in said), "both to wait")
        held.release()
        assert [process.wait(PATIENCE) for process in started] == [0, 0]
    last = sorted(path.read_text(encoding="utf-8").splitlines()[-1] for path in said)
    assert last == [f"explorer: {explorer} is up to date", f"explorer: wrote 6 queries to {explorer}"]
    both = files(explorer)
    assert unfinished(explorer) is None
    assert not leftovers(config.parent)
    shutil.rmtree(explorer)
    done = run_cli(*EXPORT, "-c", config)
    assert done.returncode == 0, done.stderr
    assert files(explorer) == both
