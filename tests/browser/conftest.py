"""A headless Chromium for browser tests: Debian's, driven by playwright, which brings none here."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.patience import PAGE_PATIENCE

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
        expect.set_options(timeout=PAGE_PATIENCE)
        yield started
        started.close()
