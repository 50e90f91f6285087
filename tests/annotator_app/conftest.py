"""The annotate page as ana sees it, over the ``desk`` of each file of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from quati_pool.commands.annotate.session import Desk
from tests.annotator_app.opened import as_person


@pytest.fixture
def app(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppTest]:
    with as_person(desk, "token-of-ana", monkeypatch) as made:
        yield made.run()
