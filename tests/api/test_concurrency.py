"""Collections in threads, within an event loop, and interrupted."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import quati_pool as qp
from tests.commands.judged import ID_PATTERN, many, rows, workspace
from tests.commands.small_collection import products
from tests.llm.server import PROBE, ServerProcess, grade_of

JUDGES = {"fake": {"model": "fake-1", "prompt": "quati-pt"}}
QUERIES, DOCS = 4, 10


@pytest.fixture
def judged(
    running_server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[qp.Collection, ServerProcess]]:
    monkeypatch.setenv("OPENAI_BASE_URL", running_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")

    def opened(**script: Any) -> tuple[qp.Collection, ServerProcess]:
        running_server.script(id_pattern=ID_PATTERN, **script)
        running_server.clear()
        config = workspace(tmp_path / "judged", many(QUERIES, DOCS), JUDGES)
        return qp.open(config, progress=False), running_server

    return opened


def graded(labels: pd.DataFrame) -> dict[str, int]:
    return {f"{row.query_id}/{row.doc_id}": row.relevance for row in labels.itertuples()}


def test_judging_within_an_event_loop(judged: Callable[..., tuple[qp.Collection, ServerProcess]]) -> None:
    c, _ = judged()

    async def cell() -> qp.Judging:
        # A cell of a notebook calls so: the loop of this thread is running.
        assert asyncio.get_running_loop().is_running()
        return c.judge()

    assert asyncio.run(cell()).left == 0
    pairs = [f"q{query:04d}/d{doc:04d}" for query in range(QUERIES) for doc in range(DOCS)]
    assert graded(c.labels("fake")) == {pair: grade_of(pair) for pair in pairs}


@pytest.mark.kill
def test_an_interrupted_judge_keeps_its_grades(judged: Callable[..., tuple[qp.Collection, ServerProcess]]) -> None:
    c, server = judged(latency=0.2)
    ended = threading.Event()

    def interrupt() -> None:
        while not ended.wait(0.02):
            if sum(entry["done"] for entry in server.log()) > 5:
                os.kill(os.getpid(), signal.SIGINT)
                return

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt, match="still to be asked; run the same command again"):
        c.judge(concurrency=2)
    ended.set()
    thread.join()
    answered = sum(entry["done"] for entry in server.log() if entry["id"] != PROBE)
    assert 0 < answered < QUERIES * DOCS
    assert len(c.labels("fake")) == answered
    assert c.judge().left == 0
    assert len(c.labels("fake")) == QUERIES * DOCS
    # Nothing was asked twice.
    assert rows(c.folder, "SELECT count(*) FROM labels") == [(QUERIES * DOCS,)]


def test_a_failed_run_raises_what_the_command_says(judged: Callable[..., tuple[qp.Collection, ServerProcess]]) -> None:
    c, _ = judged()
    with pytest.raises(qp.QuatiPoolError, match="there is no judge 'fke'; did you mean 'fake'"):
        c.judge("fke")
    with pytest.raises(qp.QuatiPoolError, match="--budget needs the price of fake-1"):
        c.judge(budget=1)
    assert c.judge(limit=3).left == QUERIES * DOCS - 3


def test_threads_that_do_the_same(fresh: Path, finished: Path) -> None:
    def work(opened: qp.Collection) -> pd.DataFrame:
        opened.build()
        return opened.pool()

    shared = qp.open(fresh, progress=False)
    collections = [shared, shared, qp.open(fresh, progress=False), qp.open(fresh / "pool.yaml", progress=False)]
    with ThreadPoolExecutor(len(collections)) as threads:
        pools = list(threads.map(work, collections))
    for pool in pools:
        pd.testing.assert_frame_equal(pool, pools[0])
    made = {name: data for name, data in products(fresh).items() if "reports" not in name}
    assert made == {name: data for name, data in products(finished).items() if "reports" not in name}


@pytest.mark.slow
def test_threads_that_read_and_draw(demo: qp.Collection) -> None:
    alone = demo.evaluate(draws=20)
    picture = alone.plot()._repr_png_()  # type: ignore[attr-defined]

    def work(_: int) -> tuple[pd.DataFrame, bytes]:
        found = demo.evaluate(draws=20)
        return found.leaderboard, found.plot()._repr_png_()  # type: ignore[attr-defined]

    with ThreadPoolExecutor(4) as threads:
        for board, drawn in threads.map(work, range(4)):
            pd.testing.assert_frame_equal(board, alone.leaderboard)
            assert drawn == picture
