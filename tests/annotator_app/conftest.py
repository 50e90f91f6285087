"""The grading page as ana has it, over the ``session`` of each file of tests."""

from __future__ import annotations

import pytest

from quati_pool.commands.annotate.session import AnnotationSession
from tests.annotator_app.opened import GradingPage


@pytest.fixture
def page(session: AnnotationSession) -> GradingPage:
    return GradingPage(session, "token-of-ana").open()
