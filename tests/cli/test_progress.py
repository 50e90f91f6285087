"""How far a command is, on stderr: lines in a log, bars on a terminal."""

from __future__ import annotations

import io
import os
import pty
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.cli.progress import ConsoleListener, bar_line
from quati_pool.project.progress import Work
from quati_pool.text.display_width import columns
from tests.patience import PATIENCE


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


Log = Callable[[], list[str]]


@pytest.fixture
def log(capsys: pytest.CaptureFixture[str]) -> Callable[[], list[str]]:
    """The lines that were printed since the last call."""
    return lambda: capsys.readouterr().err.splitlines()


def at(listener: ConsoleListener, clock: Clock, *seconds: float) -> None:
    """What the timer does at these times."""
    for second in seconds:
        clock.now = second
        listener.report()


def test_work_of_a_minute_is_reported_every_minute_and_shorter_work_never(log: Log, clock: Clock) -> None:
    listener = ConsoleListener(clock=clock)
    listener.progress("e5: encoding", 0, 600, unit="passages")
    at(listener, clock, 1, 30, 59)
    assert log() == []
    listener.progress("e5: encoding", 100, 600, unit="passages")
    at(listener, clock, 60, 61, 119)
    # 100 in 59 s, and at 60 s no more: 1.7 per second, and 500 more take 300 s.
    assert log() == ["e5: encoding: 100 of 600 passages (16 %), 1.7/s, 5 min left"]
    at(listener, clock, 120)
    assert log() == ["e5: encoding: still at 100 of 600 passages (16 %), 2 min in all"]


def test_a_stage_that_reports_nothing_is_reported_and_so_is_a_command_without_one(log: Log, clock: Clock) -> None:
    listener = ConsoleListener(clock=clock)
    at(listener, clock, 60)
    with listener.stage("index hnsw"):
        at(listener, clock, 100, 120, 180)
    assert log() == [
        "still at work, 1 min so far",
        "index hnsw: 1 min so far",
        "index hnsw: 2 min so far",
    ]


def test_other_lines_delay_only_the_reports_on_short_works(log: Log, clock: Clock) -> None:
    listener = ConsoleListener(clock=clock)
    for second in range(0, 300, 20):  # each work takes 20 s and ends with a line
        with listener.stage(f"run {second}"):
            at(listener, clock, second + 19)
        clock.now = second + 20
        listener.say("built")
    assert set(log()) == {"built"}
    listener.progress("judge", 0, 10)
    for second in range(300, 421, 20):  # one work goes on while lines say that it waits
        clock.now = second
        listener.say("waits")
        listener.report()
    assert [line for line in log() if line != "waits"] == [
        "judge: 0 of 10 (0 %), 1 min so far",
        "judge: still at 0 of 10 (0 %), 2 min in all",
    ]


def test_the_timer_reports_by_itself_and_nothing_after_the_end(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    class Log(io.StringIO):
        arrived = threading.Event()

        def write(self, text: str) -> int:
            self.arrived.set()
            return super().write(text)

    log = Log()
    monkeypatch.setattr(sys, "stderr", log)
    with ConsoleListener(every=0.02) as listener:
        listener.progress("x", 1, 2)
        assert log.arrived.wait(PATIENCE)
    written = log.getvalue()
    assert "progress" not in [thread.name for thread in threading.enumerate()]
    assert re.fullmatch(r"x: 1 of 2 \(50 %\), .* so far\n(x: still at 1 of 2 \(50 %\), .* in all\n)*", written)


def test_lines_of_several_threads_are_never_mixed(log: Log) -> None:
    def talk(listener: ConsoleListener, letter: str) -> None:
        for _ in range(200):
            listener.say(letter * 50)
            listener.progress(letter, 1, 2)

    with ConsoleListener(every=1e-6) as listener:
        threads = [threading.Thread(target=talk, args=(listener, letter)) for letter in "abc"]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            listener.report()
        for thread in threads:
            thread.join()
    said = [line for line in log() if not line.endswith(("so far", "in all"))]
    assert Counter(said) == {letter * 50: 200 for letter in "abc"}


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "none"])
def test_without_stderr_the_work_goes_on(monkeypatch: pytest.MonkeyPatch, clock: Clock, closed: bool) -> None:
    stream = io.StringIO()
    stream.close()
    monkeypatch.setattr(sys, "stderr", stream if closed else None)
    with ConsoleListener(clock=clock) as listener:
        listener.say("a line")
        listener.progress("x", 1, 2)
        at(listener, clock, 100)


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> Iterator[int]:
    """Makes stderr a terminal; yields the descriptor from which what is drawn there can be read."""
    ours, theirs = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(width))
    with os.fdopen(theirs, "w", encoding="utf-8") as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        yield ours
    os.close(ours)


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_has_a_bar_for_each_work_at_one_time_and_it_vanishes(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, width: int
) -> None:
    with terminal(monkeypatch, width) as screen:
        listener = ConsoleListener(clock=clock)
        for label in ("one: encoding", "other: encoding"):
            listener.progress(label, 0, 1_000_000, unit="passages")
        at(listener, clock, 0.5)  # short work draws nothing
        clock.now = 60
        for label in ("one: encoding", "other: encoding"):
            listener.progress(label, 123_000, 1_000_000, unit="passages")
        listener.report()
        listener.say("one line")
        read = b""
        while b"one line\r\n" not in read:
            read += os.read(screen, 100_000)
        drawn = read.decode()
    first, _, after = drawn.partition("one line")
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", first)
    lines = [line for line in re.split(r"[\r\n]+", text) if line.strip()]
    # They may be drawn once more before they are erased.
    assert [line.split(":")[0] for line in lines][:2] == ["one", "other"]
    assert all(line.rstrip().endswith("123,000 of 1,000,000 passages, 2,050/s, 7 min left") for line in lines)
    assert all("━" in line and len(line) < width for line in lines)
    # The cursor goes up and each line is erased before the line is printed; nothing is drawn after it.
    assert first.count("\x1b[2K") >= 2
    assert "\x1b[1A" in first
    assert after.strip() == ""


names = st.text(st.characters(exclude_categories=("C", "Z", "M")), min_size=1, max_size=60)


@given(names, st.integers(0, 10**8), st.integers(0, 10**8), st.integers(20, 200), st.sampled_from(["", "passages"]))
def test_a_bar_fits_any_width(label: str, done: int, total: int, width: int, unit: str) -> None:
    work = Work(label, 0)
    work.count(min(done, total or done), total, unit, "3 unparsed, US$ 0.12", 1)
    assert columns(bar_line(work, 100, width)) <= width


def test_a_long_label_is_cut_in_the_middle_and_the_bar_shows_the_share() -> None:
    work = Work("run-of-the-multilingual-encoder-with-a-long-name: encoding", 0)
    work.count(0, 100, "passages", "", 0)
    work.count(50, 100, "passages", "", 100)
    # 80 columns: 40 of words and a space, a bar of 8 and a space, and the rest for the label.
    assert bar_line(work, 100, 80) == "run-of-the-multi…-name: encoding ━━━━──── 50 of 100 passages, 30/min, 2 min left"
