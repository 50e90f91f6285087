"""The app's script run by Streamlit's AppTest, over a session of its own and as a person who is signed in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import annotator_app
from annotator_app import context, grading
from quati_pool.commands.annotate.session import AnnotationSession
from tests.patience import PATIENCE

SCRIPT = Path(annotator_app.__file__).with_name("script") / "run.py"


@contextmanager
def as_person(session: AnnotationSession, token: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppTest]:
    """The app as whoever holds ``token`` sees it, before its first run. Presses count at once here: no
    person's haste is tested."""
    context.use(session)
    monkeypatch.setattr(context, "token", lambda: token)
    monkeypatch.setattr(grading, "SOONEST", 0.0)
    try:
        yield AppTest.from_file(str(SCRIPT), default_timeout=PATIENCE)
    finally:
        context.use(None)


def shown(app: AppTest) -> str:
    """All HTML that is on the page."""
    return "\n".join(element.proto.body for element in app.get("html"))


def press(app: AppTest, name: str) -> AppTest:
    """Presses the button whose label begins with ``name``."""
    found = [button for button in app.button if button.label.startswith(name)]
    assert len(found) == 1, f"{name!r} is one of {[button.label for button in app.button]}"
    return found[0].click().run()


Page = Callable[[], None]
