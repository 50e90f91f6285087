"""A child that counts to the number it is asked for, with progress, and waits for ever at one below 0."""

from __future__ import annotations

import threading
from typing import BinaryIO

from quati_pool.processes.messages import outcome_of, pack_progress, requests, send


def serve(messages: BinaryIO, answers: BinaryIO) -> None:
    def count(last: int) -> int:
        for number in range(1, last + 1):
            send(answers, pack_progress(number, last))
        if last < 0:
            send(answers, pack_progress(0, last))
            threading.Event().wait()
        return last

    for request in requests(messages):
        send(answers, outcome_of(count, request))
