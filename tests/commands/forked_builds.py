"""Runs commands at the same time, each in a forked process of its own, so that importing torch costs once.

Reads one JSON line, ``[{"arguments": [...], "log": "..."}, …]``, and answers with the processes' ids. At the next
line it waits for all of them and answers with their exit statuses (-9 for a kill): until then an id is no other's.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import sentence_transformers
import torch
import transformers

from quati_pool.cli.main import main
from quati_pool.commands import build
from tests.commands.forked import run_and_leave

# Lazy modules and what a build imports in any case.
WARM = (torch.nn, transformers.AutoTokenizer, transformers.BertModel, sentence_transformers.SentenceTransformer, build)


def child(arguments: list[str], log: str) -> None:
    def ready() -> None:
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT), 2)
        os.dup2(2, 1)

    run_and_leave(arguments, ready, main)


def start(commands: list[dict[str, Any]]) -> list[int]:
    processes = []
    for command in commands:
        process = os.fork()
        if process == 0:
            child(**command)
        processes.append(process)
    return processes


if __name__ == "__main__":
    started = start(json.loads(sys.stdin.readline()))
    print(json.dumps(started), flush=True)
    sys.stdin.readline()
    print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in started]), flush=True)
