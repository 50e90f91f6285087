"""Commands that are killed while they write, each in a forked process of ``killing_driver``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.commands.small_collection import ROOT, environment

KILLED = -9


class Driver:
    """Asks the driver for one command after another."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, folder: Path, *arguments: object, **break_off: Any) -> dict[str, Any]:
        """The driver's answer to a command whose writing below ``folder`` is watched."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"arguments": [str(part) for part in arguments], "folder": str(folder), **break_off}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


@contextmanager
def driving(*modules: str) -> Iterator[Driver]:
    """A driver that has imported ``modules``, which each fork would import again."""
    imports = "".join(f"import {module}; " for module in modules)
    start = f"{imports}import runpy; runpy.run_module('tests.commands.killing_driver', run_name='__main__')"
    with subprocess.Popen(
        [sys.executable, "-c", start],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Driver(process)
