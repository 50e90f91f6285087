"""Ctrl-C ends a command with one line on what is kept, and a second one ends it at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.patience import PATIENCE
from tests.plugin_package import write_dist_info

pytestmark = pytest.mark.kill

ROOT = Path(__file__).parents[2]

SLOW = """
import hashlib, os, time
from pathlib import Path
from quati_pool.retrieval.base import Hits, Parameters, Retriever
from quati_pool.processes.child import Child

class Finds(Retriever):
    id = "retriever/{name}"
    summary = "never finds anything"
    Parameters = Parameters

    def search(self, corpus, folder, queries, depth, context):
        child = Child("quati_pool.processes.worker")
        Path("started.tmp").write_text(str(child.pid))
        os.rename("started.tmp", "started")
        {wait}
"""
WAITS = {
    "sleeps": "time.sleep(3600)",
    # Hours inside a function of C, which no handler of a signal interrupts.
    "computes": "hashlib.pbkdf2_hmac('sha256', b'', b'', 2**31 - 1)",
}

POOL = """
name: x
corpus: {path: c.jsonl}
queries: {path: q.tsv}
systems: {fast: {retriever: bm25s}, slow: {retriever: NAME}}
"""

# Where the tests run in the background, SIGINT is ignored from the start.
COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from quati_pool.cli.main import main
main()
"""


@pytest.fixture
def start(tmp_path: Path) -> object:
    """Starts a build of two systems, of which the second never ends; waits until it has begun."""
    started: list[subprocess.Popen[str]] = []

    def build(name: str) -> tuple[subprocess.Popen[str], int]:
        site = tmp_path / "site"
        (site / "slow").mkdir(parents=True)
        (site / "slow" / "__init__.py").write_text(SLOW.format(name=name, wait=WAITS[name]))
        write_dist_info(site, "slow", "1.0", f"[quati_pool.retrievers]\n{name} = slow:Finds\n")
        (tmp_path / "c.jsonl").write_text('{"doc_id": "d", "text": "a word"}\n')
        (tmp_path / "q.tsv").write_text("q\tword\n")
        (tmp_path / "pool.yaml").write_text(POOL.replace("NAME", name))
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, "build"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(site)])},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        end = time.monotonic() + PATIENCE
        while not (tmp_path / "started").exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end
            time.sleep(0.02)
        return process, int((tmp_path / "started").read_text())

    yield build
    for process in started:
        process.kill()
        process.communicate()


def gone(pid: int) -> None:
    """Waits until a process has ended."""
    end = time.monotonic() + PATIENCE
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_ctrl_c_says_in_one_line_what_is_kept(start, tmp_path: Path) -> None:
    process, child = start("sleeps")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "quati-pool: stopped; kept: 1 of 2 runs; run the same command again to go on"
    assert "Traceback" not in err
    assert (tmp_path / "runs" / "fast.trec.gz").exists()
    assert not list(tmp_path.rglob(".partial-*"))
    gone(child)


def test_a_second_ctrl_c_ends_even_what_python_cannot_interrupt(start) -> None:
    process, child = start("computes")
    process.send_signal(signal.SIGINT)
    # Two signals that are pending at once are one signal, so the second is sent until it counts.
    end = time.monotonic() + PATIENCE
    while process.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in err
    gone(child)
