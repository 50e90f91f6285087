"""The annotate page as ana sees it, over the ``session`` of each file of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from quati_pool.commands.annotate.session import AnnotationSession
from tests.annotator_app.opened import as_person


@pytest.fixture
def app(session: AnnotationSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppTest]:
    with as_person(session, "token-of-ana", monkeypatch) as made:
        yield made.run()
