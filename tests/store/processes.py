"""Other processes at the same database, run from a script with their arguments as ``sys.argv``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

_BEGIN = """
import resource, sys
from pathlib import Path
from quati_pool.store.database import Store
from quati_pool.store.errors import StoreError
from quati_pool.store.records import Entry
from tests.store.samples import alone, entry, label

def tell(*what):
    print(*what, flush=True)
"""


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    """A process that runs ``script`` with the names of ``_BEGIN`` at hand; its output is a pipe."""
    command = [sys.executable, "-c", _BEGIN + script, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def line(process: subprocess.Popen[str]) -> str:
    """The next line it tells; empty where it has ended."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def go(process: subprocess.Popen[str]) -> None:
    """Lets a process on that waits for its input to end."""
    assert process.stdin is not None
    process.stdin.close()
