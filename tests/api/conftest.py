"""The command line to compare with, and a demo that may be changed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import quati_pool as qp
from tests.cli.conftest import cli as cli
from tests.cli.conftest import sketched as sketched


@pytest.fixture
def demo(finished_demo: Path) -> qp.Collection:
    """The finished demo, to be read only."""
    return qp.open(finished_demo, progress=False)


@pytest.fixture
def changeable(finished_demo: Path, tmp_path: Path) -> qp.Collection:
    """A copy of the finished demo."""
    folder = Path(shutil.copytree(finished_demo, tmp_path / "demo", symlinks=True))
    return qp.open(folder, progress=False)
