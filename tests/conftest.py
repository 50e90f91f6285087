"""Hypothesis draws the same examples every time, no test fails for a slow machine, and the garbage collector passes
over what all tests share."""

from __future__ import annotations

import gc
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
    from quati_pool.project.events import Listener

    folder = tmp_path_factory.mktemp("finished-demo") / "demo"
    demo(folder, Listener())
    return folder
