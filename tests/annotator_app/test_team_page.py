"""The team page without a browser: what it says where something is refused, missing or not to be known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from annotator_app import context
from quati_pool.commands.annotate import team
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.judge.judge import judge
from quati_pool.project.events import Listener
from quati_pool.store.errors import StoreError
from tests.annotator_app.opened import as_person, shown
from tests.commands.annotate.disputes import Tokens, disputed
from tests.commands.annotate.people_at_work import collection, token
from tests.patience import PATIENCE

Here = tuple[AnnotationSession, Tokens]
SCRIPT = """
from annotator_app import context, error_notices
from annotator_app.pages import team
with error_notices.guarded():
    context.enter()
    team.page()
"""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Here]:
    """Six pairs; the lead lia."""
    with disputed(tmp_path) as opened:
        context.use(opened[0])
        yield opened
        context.use(None)


def page(token: str, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setattr(context, "token", lambda: token)
    return AppTest.from_string(SCRIPT, default_timeout=PATIENCE).run()


def pressed(app: AppTest, label: str) -> AppTest:
    (found,) = [button for button in app.button if button.label == label]
    return found.click().run()


def test_an_assessor_is_shown_nothing(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    app = page(here[1].ana, monkeypatch)
    assert not app.exception
    assert shown(app).count("This page is not for your role.") == 3
    assert "lia" not in shown(app)
    assert not app.button
    assert not app.selectbox


def test_a_press_after_the_role_was_lost_does_nothing(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    app = page(tokens.lia, monkeypatch)
    pressed(app, "Preview")
    session.people.revoke("lia")
    pressed(app, "Create")
    assert not app.exception
    assert "Your session has ended" in shown(app)
    assert session.designs.all() == []


def test_a_database_that_does_not_answer_is_no_place_for_a_machines_path(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise StoreError("/secret/labels.db cannot be written; free some space")

    app = page(here[1].lia, monkeypatch)
    pressed(app, "Preview")
    monkeypatch.setattr(team, "create_design", refused)
    pressed(app, "Create")
    assert "Nothing was stored; try again." in shown(app)
    assert "secret" not in shown(app)
    monkeypatch.undo()
    monkeypatch.setattr(context, "token", lambda: here[1].lia)
    # What was refused is not yet done, and may be tried again.
    assert "Design 1 is created, with 6 pairs. 6 new assignments." in shown(pressed(app, "Create"))


def test_a_preview_of_other_options_is_not_shown(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    app = page(here[1].lia, monkeypatch)
    assert "6 of 6 pairs, each for 1 person. 6 new assignments." in shown(pressed(app, "Preview"))
    app.number_input(key="team.overlap").set_value(2).run()
    assert "6 of 6 pairs" not in shown(app)
    assert "Create" not in [button.label for button in app.button]


def test_strata_by_a_judges_grade_are_counts_over_all_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: the judge gives d0 0, d1 1 and d2 2 in both queries, so that there are two pairs of each grade, and each
    stratum by query and grade has one pair: its grade could be read off."""
    grades = "".join(f"q{q} 0 d{d} {d}\n" for q in range(2) for d in range(3))
    (tmp_path / "gold.qrels").write_text(grades, encoding="utf-8")
    config = collection(tmp_path, judges={"gold": {"judge": "replay", "path": "gold.qrels"}})
    judge(config, "gold", Listener())
    with AnnotationSession.open(config) as session:
        context.use(session)
        app = page(token(session, "lia", "lead"), monkeypatch)
        app.radio(key="team.method").set_value("stratified").run()
        app.selectbox(key="team.judge").set_value("gold").run()
        app.multiselect(key="team.by-True").set_value(["query"]).run()
        text = shown(pressed(app, "Preview"))
        context.use(None)
    assert "6 of 6 pairs" in text
    rows = [re.findall(r"<td.*?>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", text)]
    strata = [[re.sub("<.*?>", "", cell) for cell in row] for row in rows if row and "grade=" in row[0]]
    assert strata == [[f"grade={grade}", "2", "2", "1.0000"] for grade in range(3)]
    assert "query=" not in text


def test_a_code_is_not_kept_while_another_page_is_open(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    with as_person(session, tokens.lia, monkeypatch) as app:
        app.session_state[context.NEW_CODE] = ("ana", "0000-0000-0000-0000")
        app.run()  # the page for grading
        assert not app.exception
        assert context.NEW_CODE not in app.session_state


def test_people_are_added_without_a_pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = collection(tmp_path)
    (tmp_path / "pool.jsonl.gz").unlink()
    with AnnotationSession.open(config) as session:
        context.use(session)
        app = page(token(session, "lia", "lead"), monkeypatch)
        app.text_input(key="team.name0").set_value("ana")
        text = shown(pressed(app, "Give a code"))
        context.use(None)
        assert "The access code of ana:" in text
        assert "run: quati-pool build" in text
        assert [one.name for one in session.people.all()] == ["ana", "lia"]
