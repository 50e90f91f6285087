"""What a program shows while it works: lines, and what takes long."""

from __future__ import annotations

import io
import sys
import time

import pytest

from quati_pool.api import progress
from quati_pool.api.progress import OnStderr, listener
from quati_pool.reporting.reporter import Reporter
from tests.patience import PATIENCE


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def wait_for(stream: io.StringIO, text: str) -> None:
    end = time.monotonic() + PATIENCE
    while text not in stream.getvalue():
        assert time.monotonic() < end, stream.getvalue()
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_FRAME", 0.02)
    monkeypatch.setattr(progress, "_SHORT", 0.05)


def test_a_log_has_a_line_at_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with OnStderr(every=0.1) as shown:
        shown.say("corpus: reused")
        with shown.stage("run dense"):
            shown.progress("dense: passages", 10, 40, unit="passages")
            wait_for(stream, "dense: passages: 10 of 40 passages (25 %)")
    assert stream.getvalue().startswith("corpus: reused\n")
    assert "\r" not in stream.getvalue()
    assert stream.getvalue().endswith("\n")


def test_a_terminal_has_one_line_that_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "60")
    with listener(show=True) as shown:
        assert isinstance(shown, OnStderr)
        shown.progress("dense: passages", 10, 40, unit="passages")
        wait_for(stream, "10 of 40 passages, 25 %")
        shown.say("run dense: built")
        shown.progress("dense: passages", 20, 40, unit="passages")
        wait_for(stream, "20 of 40 passages, 50 %")
    parts = stream.getvalue().split("\r\x1b[K")
    # The line is erased before another is written, and at the end.
    assert any(part.startswith("run dense: built\n") for part in parts)
    assert parts[-1] == ""
    assert max(len(line) for part in parts for line in part.splitlines()) < 60


def test_nothing_is_shown_where_it_is_not_wanted(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    quiet = listener(show=False)
    with quiet as shown:
        # It still saves what commands finish.
        assert type(shown) is Reporter
        shown.say("corpus: reused")
        shown.progress("x", 1, 2)
    monkeypatch.setattr(sys, "stderr", None)
    with listener(show=True) as closed:
        closed.say("corpus: reused")
    assert capfd.readouterr() == ("", "")
