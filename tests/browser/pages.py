"""Drives a page in Chromium and keeps what it says and asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page, Route

Scheme = Literal["light", "dark"]

_PROBE = "/_stcore/health?intercepted"


@dataclass
class Record:
    """What happened in a page since it was opened."""

    page: Page
    console: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def asserts_nothing_outside(self) -> None:
        """The page asked for itself alone (what it holds as data: is no request to anyone), said nothing on
        the console, where a browser reports refused content, and neither failed nor called for attention."""
        own = self.page.url.partition("#")[0]
        outside = [url for url in self.requests if url != own and not url.startswith("data:")]
        assert not outside, f"the page asked for {outside}"
        assert not self.console, f"the console says {self.console}"
        assert not self.errors, f"a script failed: {self.errors}"
        assert not self.dialogs, f"a dialog opened: {self.dialogs}"

    def screenshot(self, path: Path) -> Path:
        """The whole page as PNG."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=path, full_page=True)
        return path


@contextmanager
def opened(browser: Browser, file: Path, width: int = 1280, scheme: Scheme = "light") -> Iterator[Record]:
    """The local ``file`` in a window ``width`` pixels wide, in a browser context of its own."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    record = Record(page)

    def dismiss(dialog: Dialog) -> None:
        record.dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("console", lambda message: record.console.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: record.errors.append(str(error)))
    page.on("dialog", dismiss)
    page.on("request", lambda request: record.requests.append(request.url))
    try:
        page.goto(file.as_uri(), wait_until="load")
        yield record
    finally:
        context.close()


def too_wide(page: Page) -> int:
    """By how many pixels a page is wider than its window; at most 0 if it fits. A page of Streamlit scrolls within
    itself, so that its document always fits."""
    parts = "[...document.querySelectorAll('html, [data-testid=stMain]')]"
    return int(page.evaluate(f"Math.max(...{parts}.map(part => part.scrollWidth - part.clientWidth))"))


def _is_probe(url: str) -> bool:
    return url.endswith(_PROBE)


def intercept(page: Page, pattern: str, handler: Callable[[Route], Any]) -> None:
    """``page.route`` of a page of the app that is open. Chromium says that it intercepts a moment before it does (of 60
    requests on a busy machine one passed): waits until it has intercepted one."""
    caught: list[str] = []

    def probe(route: Route) -> None:
        caught.append(route.request.url)
        route.fulfill(body="ok")

    page.route(_is_probe, probe)
    page.route(pattern, handler)
    for _ in range(600):
        page.evaluate(f"fetch('{_PROBE}').then(response => response.text())")
        if caught:
            page.unroute(_is_probe, probe)
            return
        page.wait_for_timeout(50)
    raise AssertionError("Chromium intercepts nothing")
