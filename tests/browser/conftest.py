"""A headless Chromium for browser tests: Debian's, driven by playwright, which brings none here."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser


# Not for the session: while playwright runs, no other test of this thread could start an event loop.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import expect, sync_playwright

    with sync_playwright() as playwright:
        # Chromium's sandbox refuses to run as root, as continuous integration does.
        started = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"], headless=True
        )
        # Other tests run at the same time, and a process that is started under load takes its time.
        expect.set_options(timeout=30_000)
        yield started
        started.close()
