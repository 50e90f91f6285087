"""The page that leads to the explorer, without a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from annotator_app import context, words
from annotator_app.explorer import explorer, separate_explorers
from quati_pool.commands.annotate.session import AnnotationSession
from tests.annotator_app.explored import explored
from tests.annotator_app.opened import shown
from tests.annotator_app.test_lead_pages import page, pressed
from tests.commands.annotate.people_at_work import token
from tests.patience import PATIENCE

pytestmark = pytest.mark.slow


@pytest.fixture
def session(finished: Path, tmp_path: Path) -> Iterator[AnnotationSession]:
    config = explored(finished, tmp_path / "w")
    with AnnotationSession.open(config) as opened, separate_explorers(opened, config):
        context.use(opened)
        yield opened
        context.use(None)


def test_it_leads_to_the_explorer_and_says_what_is_hidden(
    session: AnnotationSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    lia = token(session, "lia", "lead")
    before = explorer(session, lia, PATIENCE).value
    app = page("explorer", lia, monkeypatch)
    assert f"All {len(session.pool_view)} pairs of 6 questions" in shown(app)
    # By hand, in tests/annotator_app/explored.py.
    assert "1 pair awaits a decision" in shown(app)
    assert 'href="/explore/#/"' in shown(app)
    pressed(app, "Update")
    after = explorer(session, lia, PATIENCE).value
    assert before is not None
    assert after is not None
    assert after.computed_at > before.computed_at
    for language in words.LANGUAGES:
        session.people.set("lia", "language", language)
        assert words.messages(language)["explorer.open"] in shown(page("explorer", lia, monkeypatch))


def test_an_assessor_and_a_lead_whose_session_was_revoked_see_nothing(
    session: AnnotationSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana, lia = token(session, "ana"), token(session, "lia", "lead")
    explorer(session, lia, PATIENCE)
    text = shown(page("explorer", ana, monkeypatch))
    assert "This page is not for your role." in text
    app = page("explorer", lia, monkeypatch)
    session.people.revoke("lia")
    revoked = shown(app.run())
    assert "Your session has ended" in revoked
    assert "/explore/" not in text + revoked


def test_what_failed_is_said(session: AnnotationSession, monkeypatch: pytest.MonkeyPatch) -> None:
    (session.config.folder / "pool.jsonl.gz").unlink()
    lia = token(session, "lia", "lead")
    explorer(session, lia, PATIENCE)
    assert "quati-pool build" in shown(page("explorer", lia, monkeypatch))
