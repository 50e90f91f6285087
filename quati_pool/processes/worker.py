"""The worker process of the local engine."""

from __future__ import annotations

import os
from typing import BinaryIO

from quati_pool.processes.base import perform
from quati_pool.processes.messages import requests, send


def serve(messages: BinaryIO, answers: BinaryIO) -> None:
    """Runs one task after the other until the driver closes the pipe or dies."""
    for call in requests(messages):
        _forget_what_was_printed()
        send(answers, perform(call))


def _forget_what_was_printed() -> None:
    """Empties the file that collects the worker's output, so that only output of the task that kills it is quoted."""
    os.lseek(2, 0, os.SEEK_SET)
    os.ftruncate(2, 0)
