"""Dashboards of another process: the same as those of this one, and none is left behind when the server ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from quati_pool.commands.annotate.review.background import Latest
from quati_pool.commands.annotate.review.dashboard import Dashboard, compute, dashboard
from quati_pool.commands.annotate.review.dashboard_process import separate_dashboards
from quati_pool.processes.child import Child
from tests.commands.annotate.disputes import disputed
from tests.other_processes import children
from tests.store.processes import ROOT

_PATIENCE = 60.0


def plain(made: Dashboard | None) -> str:
    """All that it says but when and how quickly it was made."""
    assert made is not None
    return repr(replace(made, computed_at=datetime.min, seconds=0.0))


@pytest.mark.kill
def test_another_process_makes_the_same_dashboard_and_is_started_again_when_it_was_killed(
    tmp_path: Path, made_url: str
) -> None:
    with disputed(tmp_path, made_url) as (session, tokens):
        there = children(os.getpid())

        def latest() -> Latest[Dashboard]:
            return dashboard(session, tokens.lia, _PATIENCE, refresh=True)

        with separate_dashboards(session, session.config.path, made_url):
            assert children(os.getpid()) == there  # not before somebody asks
            expected = plain(compute(session))
            assert plain(latest().value) == expected
            started = children(os.getpid()) - there
            assert len(started) == 1
            for one in started:
                os.kill(one, signal.SIGKILL)
            found = latest()
            assert (plain(found.value), found.problem) == (expected, None)
        assert children(os.getpid()) == there


def test_what_the_other_process_refuses_is_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with (
        disputed(tmp_path / "w", None) as (session, tokens),
        separate_dashboards(session, tmp_path / "none.yaml"),
    ):
        found = dashboard(session, tokens.lia, _PATIENCE, refresh=True)
        assert found.value is None
        assert found.problem is not None
        assert "none.yaml" not in found.problem
        assert "none.yaml" in caplog.text


def test_that_the_other_process_ended_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "quati_pool.commands.annotate.review.dashboard_process.Child",
        lambda module, quiet: Child("absent", quiet=quiet),
    )
    with disputed(tmp_path / "w", None) as (session, tokens), separate_dashboards(session, session.config.path):
        found = dashboard(session, tokens.lia, _PATIENCE, refresh=True)
        assert found.problem == "the dashboard's process ended (exit status 1); see the server's log"


SERVER = """
import os, sys, time
from pathlib import Path
from quati_pool.commands.annotate.review.dashboard_process import separate_dashboards
from quati_pool.commands.annotate.review.dashboard import dashboard
from quati_pool.commands.annotate.session import AnnotationSession
if __name__ == "__main__":
    config = Path(sys.argv[1])
    with AnnotationSession.open(config) as session, separate_dashboards(session, config):
        latest = dashboard(session, "token-of-lia", 60.0, refresh=True)
        assert latest.value is not None, latest.problem
        print("made", flush=True)
        time.sleep(60)
"""


@pytest.mark.kill
def test_the_other_process_ends_with_a_server_that_is_killed(tmp_path: Path) -> None:
    with disputed(tmp_path / "w", None) as (session, _):
        config = session.config.path
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    command = [sys.executable, str(script), str(config)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "made\n"
        started = children(server.pid)
        assert started
        server.kill()
        server.wait(_PATIENCE)
        end = time.monotonic() + _PATIENCE
        while any(Path(f"/proc/{one}").exists() for one in started):
            assert time.monotonic() < end, f"still there: {started}"
            time.sleep(0.05)
