"""A headless Chromium for browser tests: Debian's, driven by playwright, which brings none here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.machine_parts import program


# Not for the session: while playwright runs, no other test of this thread could start an event loop.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = program("chromium", "chromium")
    with sync_playwright() as playwright:
        # Chromium's sandbox refuses to run as root, as continuous integration does.
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"], headless=True)
        yield started
        started.close()
