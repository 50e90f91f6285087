"""A finished workspace, built once a session and copied for each test that changes it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.commands.small_collection import built, make_collection


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished build; not to be changed."""
    path = make_collection(tmp_path_factory.mktemp("finished") / "workspace")
    # Older than two seconds: inputs this old are remembered by their size and time.
    for file in path.parent.iterdir():
        os.utime(file, (1_700_000_000, 1_700_000_000))
    built(path)
    return path.parent


@pytest.fixture
def workspace(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished workspace, with its file times."""
    return Path(shutil.copytree(finished, tmp_path / "workspace", symlinks=True))


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """The inputs alone."""
    return make_collection(tmp_path / "fresh").parent
