"""Computes dashboards in a separate process: Python runs one thread at a time, so in the server's process each
dashboard would delay everybody who is grading."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from quati_pool.commands.annotate.review import dashboard
from quati_pool.commands.annotate.review.dashboard import Dashboard
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import QuatiPoolError, TranslatableText
from quati_pool.processes.child import Child, ChildEnded
from quati_pool.processes.messages import outcome_of, requests, send, unpack_outcome
from quati_pool.processes.service import Service

# Lower priority, so that people's requests go first if there are more processes than cores.
_NICE = 5


@contextlib.contextmanager
def separate_dashboards(session: AnnotationSession, config_path: Path, database: str | None = None) -> Iterator[None]:
    """A context in which another process computes the session's dashboards; it is started with the first of them.
    ``config_path`` and ``database`` must be those with which the session was opened."""
    # Not a multiprocessing process, which runs the parent's main module again: under Streamlit that is the page.
    process = Service(lambda: Child(__name__, quiet=False))
    request = pickle.dumps((config_path, database))

    def make(_: AnnotationSession) -> Dashboard:
        try:
            computed: Dashboard = unpack_outcome(process.call(request))
        except ChildEnded as end:
            text = f"the dashboard's process ended ({end}); see the server's log"
            raise QuatiPoolError(TranslatableText(text, "process_ended")) from None
        return computed

    dashboard.compute_with(session, make)
    try:
        yield
    finally:
        dashboard.compute_with(session, None)
        process.close()


def serve(messages: BinaryIO, answers: BinaryIO) -> None:
    """Runs in the other process: computes a dashboard for each request, until ``messages`` ends."""
    if hasattr(os, "nice"):
        os.nice(_NICE)
    # Labels are kept from one dashboard to the next, and repeated garbage collection while they are read takes as
    # long as reading them. So it runs after each answer, when nobody is waiting.
    gc.disable()
    open_session = functools.cache(AnnotationSession.open)
    for request in requests(messages):
        send(answers, outcome_of(lambda opened_with: dashboard.compute(open_session(*opened_with)), request))
        gc.collect()
