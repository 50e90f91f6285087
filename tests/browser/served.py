"""The annotator app as a process of its own over a workspace, and people who sign in to it in a browser."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from quati_pool.annotation.codes import hash_code, new_code
from quati_pool.project.config import load_config
from quati_pool.store.database import Store
from quati_pool.store.people import People
from quati_pool.store.records import Role
from tests.browser.pages import Record, Scheme
from tests.patience import PAGE_PATIENCE, PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Dialog, Page

_SHOWN = 6000  # characters
READING = 400
"""Milliseconds: longer than the app waits before it takes a press for a reader's."""


_idle: dict[Browser, dict[tuple[object, ...], list[BrowserContext]]] = {}


class Served:
    """``quati-pool annotate`` on a port that it chooses when it first starts. A port that was free before that may have
    been taken when it gets there."""

    def __init__(self, config: Path, log: Path, database: str | None = None, *options: str) -> None:
        self.port = 0
        self.config = config
        self.log = log
        self._options = [*options, *([] if database is None else ["--database", database])]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Returns once it answers; raises with what it said where it does not."""
        command = [sys.executable, "-m", "quati_pool", "annotate", "-c", str(self.config), "--port", str(self.port)]
        command += self._options
        with self.log.open("ab") as said:
            before = said.tell()
            self._process = subprocess.Popen(command, stdout=said, stderr=said, env=dict(os.environ))
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self._process.poll() is None:
            listening = re.search(rb"^http://\S+:(\d+) \(Ctrl-C", self.log.read_bytes()[before:], re.MULTILINE)
            if listening:
                self.port = int(listening[1])
                with suppress(OSError), urllib.request.urlopen(f"{self.address}/_stcore/health", timeout=2) as answer:
                    if answer.status == 200:
                        return
            time.sleep(0.1)
        self.stop(signal.SIGKILL)
        raise AssertionError(f"the app does not answer; it says:\n{self.said()}")

    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Ends it, and gives its exit status."""
        assert self._process is not None
        self._process.send_signal(how)
        return self._process.wait(PATIENCE)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """It does nothing until the end of the block, then all that it was asked for meanwhile."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def said(self) -> str:
        """All that it wrote to stdout and stderr."""
        return self.log.read_text(encoding="utf-8", errors="replace")


@contextmanager
def served(config: Path, database: str | None = None, *options: str) -> Iterator[Served]:
    """The app over the workspace of ``config``, a pool.yaml, until the end of the block. An error in the block is
    reported with the end of what the app wrote, because pages do not show what went wrong."""
    app = Served(config, config.parent / "app.log", database, *options)
    app.start()
    try:
        yield app
    except BaseException as error:
        error.add_note(f"the app wrote:\n{app.said()[-_SHOWN:]}")
        raise
    finally:
        app.stop(signal.SIGKILL)


def code_for(config: Path, name: str, role: Role = "assessor", database: str | None = None) -> str:
    """Makes a person, and gives the code that they type."""
    made = new_code()
    read = load_config(config, writing=True)
    with Store.open(database or read.labels.url, read.folder) as store:
        People(store, read.name).add(name, role, made.handle, hash_code(made.text))
    return made.text


@contextmanager
def visitor(
    browser: Browser, width: int = 1280, scheme: Scheme = "light", language: str = "en", height: int = 900
) -> Iterator[tuple[BrowserContext, Record]]:
    """A browser with cookies and storage of its own, and what happens in its first page. Only Streamlit's files, which
    take most of a visit to load and compile, may be in its cache from a visitor before with such a window."""
    for gone in [other for other in _idle if not other.is_connected()]:
        del _idle[gone]
    idle = _idle.setdefault(browser, {}).setdefault((width, height, scheme, language), [])
    context = (
        idle.pop()
        if idle
        else browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, locale=language, has_touch=width < 600
        )
    )
    context.set_default_timeout(PAGE_PATIENCE)
    page = context.new_page()
    clean = False
    try:
        yield context, watched(page)
        clean = _cleaned(context)
    finally:
        if clean:
            idle.append(context)
        else:
            context.close()


def _cleaned(context: BrowserContext) -> bool:
    """Closes its pages and empties it but for its cache; whether that could be done."""
    from playwright.sync_api import Error

    try:
        for page in context.pages:
            if page.url.startswith("http"):
                page.evaluate("localStorage.clear()")
            page.close()
        context.clear_cookies()
    except Error:
        return False
    return True


def watched(page: Page) -> Record:
    """Keeps what the page says, asks for and does."""
    record = Record(page)

    def dismiss(dialog: Dialog) -> None:
        record.dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("console", lambda message: record.console.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: record.errors.append(str(error)))
    page.on("dialog", dismiss)
    page.on("request", lambda request: record.requests.append(request.url))
    return record


def sign_in(page: Page, app: Served, code: str) -> None:
    """Types the code as a person does."""
    page.goto(f"{app.address}/sign-in")
    enter_code(page, code)
    page.wait_for_url(f"{app.address}/")


def let_in(page: Page, app: Served, code: str) -> None:
    """Sends the code without loading a page for it: for who goes on to another page than the first."""
    answer = page.request.post(f"{app.address}/sign-in", form={"code": code}, max_redirects=0)
    assert answer.status == 303


_READ = """reading => {
  const desk = document.querySelector(".desk[data-item]");
  if (!desk || desk.dataset.stage === "pending") return null;
  const shown = desk.dataset.item + desk.dataset.stage;
  if (window.shownLast !== shown) [window.shownLast, window.shownSince] = [shown, performance.now()];
  return performance.now() - window.shownSince >= reading ? desk.dataset.item : null;
}"""


def question(page: Page) -> str:
    """Which question is on the page. Waits until it has been there for as long as reading takes: a question that was
    waited for once is not waited for again."""
    found = page.wait_for_function(_READ, arg=READING, polling=50)
    return str(found.json_value())


_READ_DISPUTE = """([reading, last]) => {
  const shown = document.querySelector("[data-dispute]")?.dataset.dispute;
  const ran = document.querySelector("[data-testid=stApp][data-test-script-state=notRunning]");
  if (!shown || shown === last || !ran) return null;
  if (window.disputeLast !== shown) [window.disputeLast, window.disputeSince] = [shown, performance.now()];
  return performance.now() - window.disputeSince >= reading ? shown : null;
}"""


def dispute(page: Page, last: str | None = None) -> str:
    """Which dispute is on the review page, other than the ``last`` one. Waits until it has been there for as long as
    reading takes."""
    found = page.wait_for_function(_READ_DISPUTE, arg=[READING, last], polling=50)
    return str(found.json_value())


def drawn(page: Page) -> None:
    """Waits until Streamlit has drawn all that it has to."""
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")


def enter_code(page: Page, code: str) -> None:
    """Types it into the field that has the focus by itself, and sends it."""
    page.wait_for_selector("#code:focus")
    page.keyboard.type(code)
    page.keyboard.press("Enter")
