"""The grading page under load: from key to painted pair in one real browser beside 19 load clients, by engine.

Twenty people grade in a pool of 20,000 pairs and pause 2 to 6 seconds between two labels. Nineteen are clients that
send what the page's script sends; one is Chromium, whose key presses are timed from the event to the frame in which the
next pair is painted. ``--kill`` kills the server halfway, with SIGKILL, and starts it again: clients send what was not
confirmed once more, as the page does. At the end each confirmed label must be in the store once, and no others.

    python -m tests.benchmarks.bench_grading_page [--engine sqlite] [--seconds 180] [--people 20] [--kill]
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import shutil
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright
from sqlalchemy import select

from annotator_app.context import COOKIE
from quati_pool.commands.annotate.assigning.assign import assign
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.schema import labels
from tests.benchmarks.bench_annotation import milliseconds, pool
from tests.browser.served import Served, code_for, question, served, sign_in, visitor
from tests.commands.annotate.people_at_work import token
from tests.store.cluster import Cluster

PAUSE = (2.0, 6.0)
RETRY = 0.5

PRESS = """key => new Promise((painted) => {
  const desk = document.querySelector(".desk"), before = desk.dataset.item, began = performance.now();
  new MutationObserver((_, observer) => {
    if (desk.dataset.item === before) return;
    observer.disconnect();
    // The frame after the next one has begun once the next one is painted.
    requestAnimationFrame(() => requestAnimationFrame(() => painted(performance.now() - began)));
  }).observe(desk, { attributes: true, attributeFilter: ["data-item"] });
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
})"""


class Client:
    """Somebody who grades by the requests of the page's script."""

    def __init__(self, app: Served, name: str, mine: str, ended: threading.Event) -> None:
        self.name = name
        self.confirmed = 0
        self.seconds: list[float] = []
        self.problems: list[str] = []
        self._app = app
        self._ended = ended
        self._headers = {"Cookie": f"{COOKIE}={mine}", "Content-Type": "application/json"}
        self._chance = random.Random(name)

    def grade(self) -> None:
        view = self._send("open", {})
        while not self._ended.wait(self._chance.uniform(*PAUSE)):
            if view.get("stage") != "ask":
                self.problems.append(json.dumps(view)[:200])
                return
            known = {name: view[name] for name in ("item", "sha", "nonce")}
            began = time.perf_counter()
            answer = {"status": "ok", "relevance": self._chance.randrange(4), "active": 3.0, "elapsed": 3.0}
            view = self._send("answer", {**known, **answer})
            self.seconds.append(time.perf_counter() - began)
            self.confirmed += 1

    def _send(self, step: str, body: dict[str, Any]) -> dict[str, Any]:
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection("127.0.0.1", self._app.port, timeout=60)
                connection.request("POST", f"/grading/{step}", json.dumps(body), self._headers)
                answer = connection.getresponse()
                text = answer.read()
                connection.close()
                if answer.status == 200:
                    return dict(json.loads(text))
                self.problems.append(f"{answer.status} {text[:200]!r}")
            time.sleep(RETRY)


@contextlib.contextmanager
def at_work(clients: Sequence[Client], ended: threading.Event) -> Iterator[None]:
    threads = [threading.Thread(target=client.grade) for client in clients]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def browse(page: Page, until: float, pauses: random.Random) -> list[float]:
    """Grades in the browser; the seconds from each key to the painted pair."""
    times: list[float] = []
    while time.monotonic() < until:
        question(page)
        time.sleep(pauses.uniform(*PAUSE))
        times.append(page.evaluate(PRESS, str(pauses.randrange(4))) / 1000)
    return times


def processor_seconds(app: Served) -> float:
    """The processor time of the server so far."""
    assert app._process is not None
    fields = Path(f"/proc/{app._process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(config: Path, url: str, options: argparse.Namespace) -> None:
    names = [f"person{number:02}" for number in range(1, options.people)]
    assign(config, AssignOptions(everything=True, overlap=2), url)
    ended = threading.Event()
    with AnnotationSession.open(config, url) as session, served(config, url) as app:
        clients = [Client(app, name, token(session, name), ended) for name in names]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            with visitor(browser) as (_, record):
                sign_in(record.page, app, code_for(config, "browser", database=url))
                question(record.page)
                with at_work(clients, ended):
                    time.sleep(10)  # everybody has a block of pairs
                    before, began = processor_seconds(app), time.monotonic()
                    done = sum(client.confirmed for client in clients)
                    times = browse(record.page, began + options.seconds / 2, random.Random(0))
                    presses = sum(client.confirmed for client in clients) - done + len(times)
                    used, took = processor_seconds(app) - before, time.monotonic() - began
                    if options.kill:
                        app.stop(signal.SIGKILL)
                        app.start()
                        times += browse(record.page, time.monotonic() + options.seconds / 2, random.Random(1))
            browser.close()
        rest = [one for client in clients for one in client.seconds]
        print(f"  key to painted, in the browser: {milliseconds(times)}", flush=True)
        print(f"  request to response, {len(clients)} clients: {milliseconds(rest)}")
        print(f"  {presses / took:.1f} presses/s, {1000 * used / presses:.0f} ms of the server's processor each")
        wanted = Counter({client.name: client.confirmed for client in clients}) + Counter(browser=len(times))
        with session.store.reading() as connection:
            stored = connection.execute(select(labels.c.labeler_id, labels.c.query_id, labels.c.doc_id)).all()
        assert Counter(row.labeler_id for row in stored) == wanted, "a confirmed label is lost, or one is doubled"
        assert len(set(map(tuple, stored))) == len(stored)
        problems = [problem for client in clients for problem in client.problems]
        print(f"  {len(stored)} labels confirmed and stored once each; {len(problems)} other responses {problems[:2]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=["sqlite", "postgresql"])
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--kill", action="store_true")
    options = parser.parse_args()
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    engines: dict[str, Callable[[Path], contextlib.AbstractContextManager[str]]] = {
        "sqlite": _sqlite,
        "postgresql": _postgresql,
    }
    for engine, database in engines.items():
        if options.engine in (None, engine):
            with tempfile.TemporaryDirectory() as name:
                config = pool(Path(name) / "workspace", 20_000)
                with database(Path(name)) as url:
                    print(f"{engine}, {options.people} people{', a kill' if options.kill else ''}", flush=True)
                    measure(config, url, options)


@contextlib.contextmanager
def _sqlite(folder: Path) -> Iterator[str]:
    yield f"sqlite:///{folder / 'bench.db'}"


@contextlib.contextmanager
def _postgresql(_: Path) -> Iterator[str]:
    cluster = Cluster()
    try:
        yield cluster.url(cluster.create())
    finally:
        cluster.stop()


if __name__ == "__main__":
    main()
