"""A headless Chromium for browser tests: Debian's, driven by playwright, which brings none here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.machine_parts import program


# Not for the session: while playwright runs, no other test of this thread could start an event loop.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = program("chromium", "chromium")
    with sync_playwright() as playwright:
        # Chromium's sandbox refuses to run as root, as continuous integration does.
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"], headless=True)
        # Other tests run at the same time, and a process that is started under load takes its time.
        expect.set_options(timeout=30_000)
        yield started
        started.close()
