"""Hypothesis draws the same examples every time, no test fails for a slow machine, and the garbage collector passes
over what all tests share."""

from __future__ import annotations

import gc
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("quati-pool", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("quati-pool")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Thousands of tests and all that they import stay to the end. Where a library collects garbage for each thing
    that it does, as statsmodels does for each Holm correction, looking through them took most of a test's time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def finished_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a demo, made once in each process of the tests; not to be changed."""
    from quati_pool.commands.demo import demo
    from quati_pool.reporting.reporter import Reporter

    folder = tmp_path_factory.mktemp("finished-demo") / "demo"
    demo(folder, Reporter())
    return folder


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished build; not to be changed."""
    from tests.commands.small_collection import built, make_collection

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
    from tests.commands.small_collection import make_collection

    return make_collection(tmp_path / "fresh").parent
