"""Runs builds that break off at a chosen moment: one forked process a build, so that imports cost once.

Reads commands and writes answers as JSON lines. A command is ``{"arguments": [...], "folder": "..."}``
with, if the build is to be broken, ``"at"``: the number (from 0) of a writing event below the folder,
and ``"deed"``: ``kill`` (SIGKILL) or ``full`` (no space left on the device). ``"limit"`` is the size that
no file may grow beyond. The answer holds ``status`` (the exit status, -9 for a kill), ``stdout``,
``stderr`` and ``events``, the labels of all writing events up to the break.
"""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

import bm25s  # noqa: F401
import sklearn.feature_extraction.text
import sklearn.utils.extmath  # noqa: F401

from quati_pool.cli.main import main
from quati_pool.files import artifacts
from quati_pool.reporting.figures import build as build_figures
from quati_pool.retrieval import lsa, run_file  # noqa: F401
from quati_pool.retrieval.bm25s import Bm25s  # noqa: F401
from tests.commands.small_collection import sketch


class Writing:
    """Counts the events in which a process changes a folder, and breaks the process off at one of them.

    An event stands before what it names is done: before a file is opened for writing, synced, renamed
    or removed, before a folder is made. Lock files do not count.
    """

    def __init__(self, folder: Path, at: int | None, deed: str, report: int) -> None:
        self.folder = str(folder)
        self.at = at
        self.deed = deed
        self.report = report
        self.count = 0

    def watch(self) -> None:
        original = artifacts.sync

        def watched(path: Path) -> None:
            self.happens("sync", path)
            original(path)

        artifacts.sync = watched
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR):
            self.happens("open", arguments[0])
        elif event == "os.rename":
            self.happens("rename", arguments[1])
        elif event == "os.mkdir" and not os.path.isdir(arguments[0]):
            self.happens("mkdir", arguments[0])
        elif event in ("os.remove", "shutil.rmtree") and os.path.lexists(arguments[0]):
            self.happens("remove", arguments[0])

    def happens(self, kind: str, path: Any) -> None:
        name = os.path.abspath(path) if isinstance(path, (str, os.PathLike)) else ""
        inside = Path(name).is_relative_to(self.folder)
        if not inside or name.endswith((".lock", ".holder")):
            return
        label = f"{kind} {re.sub('[0-9a-f]{16}', '…', os.path.relpath(name, self.folder))}"
        os.write(self.report, f"{label}\n".encode())
        if self.count == self.at:
            self.strike(kind, name)
        self.count += 1

    def strike(self, kind: str, name: str) -> None:
        if self.deed == "full":
            # Removing needs no space.
            if kind != "remove":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
            return
        if kind == "sync" and os.path.isfile(name) and ".partial-" in name:
            # What was not synced yet may be half on disk.
            os.truncate(name, os.path.getsize(name) // 2)
        os.kill(os.getpid(), signal.SIGKILL)


def child(command: dict[str, Any], out: int, err: int, report: int) -> None:
    os.dup2(out, 1)
    os.dup2(err, 2)
    if "limit" in command:
        resource.setrlimit(resource.RLIMIT_FSIZE, (command["limit"], command["limit"]))
    if command["arguments"][0] == "build":
        build_figures.heat_map = sketch
    Writing(Path(command["folder"]), command.get("at"), command.get("deed", "kill"), report).watch()
    sys.argv = ["quati-pool", *command["arguments"]]
    try:
        main()
        status = 0
    except SystemExit as ending:
        status = ending.code if isinstance(ending.code, int) else 0 if ending.code is None else 1
    except BaseException:
        traceback.print_exc()
        status = 70
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def answer(command: dict[str, Any]) -> dict[str, Any]:
    pipes = [os.pipe() for _ in range(3)]
    process = os.fork()
    if process == 0:
        child(command, *(write for _, write in pipes))
    for _, write in pipes:
        os.close(write)
    # Each pipe holds 64 KiB, more than any of them gets here.
    texts = []
    for read, _ in pipes:
        with open(read, encoding="utf-8") as pipe:
            texts.append(pipe.read())
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return {"status": status, "stdout": texts[0], "stderr": texts[1], "events": texts[2].splitlines()}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
