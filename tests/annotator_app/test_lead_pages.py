"""The lead's pages without a browser: what they draw, what a press does, and what an assessor gets of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import TextArea

from annotator_app import context, words
from quati_pool.annotation.codes import token_sha
from quati_pool.annotation.quality_control import Finding
from quati_pool.commands.annotate.review import dashboard as boards
from quati_pool.commands.annotate.review import decisions, disagreements
from quati_pool.commands.annotate.review.dashboard import dashboard
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.records import State
from quati_pool.store.errors import StoreError
from quati_pool.store.records import Attempt
from tests.annotator_app.opened import shown
from tests.commands.annotate.disputes import Tokens, add_label, disputed
from tests.commands.annotate.people_at_work import labels
from tests.patience import PATIENCE

Here = tuple[AnnotationSession, Tokens]
PAGES = ("review", "dashboard")
REVEAL = "Show judges' grades"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Here]:
    with disputed(tmp_path) as opened:
        context.use(opened[0])
        yield opened
        context.use(None)


def page(name: str, token: str, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """The page alone, as whoever holds the token gets it: not even the navigation asks for a role."""
    monkeypatch.setattr(context, "token", lambda: token)
    script = f"from annotator_app import context, error_notices\nfrom annotator_app.pages import {name}\n"
    script += f"with error_notices.guarded():\n    context.enter()\n    {name}.page()\n"
    return AppTest.from_string(script, default_timeout=PATIENCE).run()


def comment(app: AppTest) -> TextArea:
    """The comment's field of the first pair."""
    return next(area for area in app.text_area if area.label.startswith("Comment"))


def pressed(app: AppTest, label: str, place: int = 0) -> AppTest:
    found = [button for button in app.button if button.label == label]
    return found[place].click().run()


def test_a_lead_sees_everybodys_labels_and_the_judges_reason(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    add_label(session, "ana", "q0", "d1", None, extra={"active_seconds": 2.0, "reason": "broken_text"})
    app = page("review", tokens.lia, monkeypatch)
    for part in ("bia of d1", "3 apart", "Broken text", "3 Perfectly relevant"):
        assert part in shown(app)
    assert "gpt" not in shown(app)
    text = shown(pressed(app, REVEAL))
    assert "gpt of d0" in text
    assert "gpt of d1" not in text
    assert "a decision from now on is marked so" in text


def test_a_decision_after_judges_grades_were_seen_is_marked(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    app = page("review", tokens.lia, monkeypatch)
    pressed(app, "3 Perfectly relevant")
    assert "lia decided: 3" in shown(app)
    pressed(app, REVEAL)
    pressed(app, "1 Relevant")
    assert "lia decided, having seen judges' grades: 1" in shown(app).replace("&#39;", "'")
    made = labels(session, "adjudicated", "q1", "d0")
    assert [label.extra for label in made] == [{"by": "lia"}, {"by": "lia", "revealed": True}]


def test_what_a_judge_thought_is_folded_away_and_escaped(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    answer = '<think><script>x</script> 3?</think>{"Pontuação": 3}'
    add_label(session, "gpt", "q0", "d1", 3, attempts=(Attempt(number=1, status=State.ok, answer=answer),))
    app = page("review", tokens.lia, monkeypatch)
    while any(button.label == REVEAL for button in app.button):
        app = pressed(app, REVEAL)
    text = shown(app)
    assert "<summary>Thoughts before the answer</summary>" in text
    assert text.count("Thoughts before the answer") == 1
    assert "&lt;script&gt;x&lt;/script&gt; 3?" in text
    assert "<script>" not in text


@pytest.mark.parametrize("name", PAGES)
def test_an_assessor_and_a_session_that_was_revoked_see_nothing(
    here: Here, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    session, tokens = here
    dashboard(session, tokens.lia, 60)
    text = shown(page(name, tokens.ana, monkeypatch))
    assert "This page is not for your role." in text
    app = page(name, tokens.lia, monkeypatch)
    assert "bia" in shown(app)
    session.people.revoke("lia")
    revoked = shown(app.run())
    assert "Your session has ended" in revoked
    for drawn in (text, revoked):
        assert not any(secret in drawn for secret in ("bia", "gpt", "espelho", "qrels"))


def test_a_decision_and_its_comment_are_stored_once(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    app = page("review", tokens.lia, monkeypatch)
    comment(app).set_value("as bia says")
    pressed(app, "3 Perfectly relevant")
    assert "Stored: 3 Perfectly relevant" in shown(app)
    assert "lia decided: 3 Perfectly relevant" in shown(app)
    (label,) = labels(session, "adjudicated", "q1", "d0")
    assert (label.relevance, label.rationale, label.extra) == (3, "as bia says", {"by": "lia"})
    pressed(app, "Take the decision back")
    assert "lia decided" not in shown(app)


def test_a_decision_that_cannot_be_stored_is_told_and_the_comment_stays(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, tokens = here
    app = page("review", tokens.lia, monkeypatch)
    comment(app).set_value("a long thought")

    def refused(*_: object, **__: object) -> None:
        raise StoreError("the database is gone; start it")

    with monkeypatch.context() as broken:
        broken.setattr(decisions, "append_once", refused)
        pressed(app, "3 Perfectly relevant")
    assert "Nothing was stored; try again." in shown(app)
    assert comment(app).value == "a long thought"
    assert labels(session, "adjudicated", "q1", "d0") == []
    pressed(app, "3 Perfectly relevant")
    assert [label.rationale for label in labels(session, "adjudicated", "q1", "d0")] == ["a long thought"]


def test_what_another_lead_decided_meanwhile_is_told(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    session.people.add("eva", "lead", "H-eva", "none")
    session.people.sign_in("eva", token_sha("token-of-eva"), 3600)
    app = page("review", tokens.lia, monkeypatch)
    first = disagreements.disagreements(session, "token-of-eva").pairs[0]
    decisions.decide(session, "token-of-eva", "q1", "d0", first.content_sha, 2, None, "n1")
    pressed(app, "3 Perfectly relevant")
    assert "decided meanwhile" in shown(app)
    assert "eva decided: 2 Highly relevant" in shown(app)
    assert [label.relevance for label in labels(session, "adjudicated", "q1", "d0")] == [2]


def test_filters_choose_what_is_shown(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    _, tokens = here
    app = page("review", tokens.lia, monkeypatch)
    assert "3 pairs, 3 not decided." in shown(app)
    app.selectbox(key="review.gap").set_value(0).run()
    assert "5 pairs, 5 not decided." in shown(app)
    app.selectbox(key="review.query").set_value("q0").run()
    assert "3 pairs, 3 not decided." in shown(app)
    app.selectbox(key="review.gap").set_value(3).run()
    # The query stays chosen, though it has no such pair.
    assert "No pair of this kind." in shown(app)


def test_a_pair_is_marked_for_practice_with_grade_and_explanation(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    app = page("review", tokens.lia, monkeypatch)
    pressed(app, "Mark for practice")
    assert "A practice pair needs a grade and an explanation." in shown(app)
    next(box for box in app.selectbox if box.label == "Known grade").set_value(2)
    next(area for area in app.text_area if area.label.startswith("Explanation")).set_value("It says so.")
    pressed(app, "Mark for practice")
    (made,) = session.training.all()
    assert (made.query_id, made.doc_id, made.relevance, made.explanation) == ("q1", "d0", 2, "It says so.")
    pressed(app, "No longer for practice")
    assert session.training.all() == []


def test_the_dashboard_draws_findings_agreement_and_links(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    _, tokens = here
    found = [
        Finding("ana", "one_grade", 0.97, 0.95, 120, 0),
        Finding("ana", "too_fast", 1.25, 6.0, 120),
        Finding("bia", "long_run", 31, 25, 120, 2),
        Finding("bia", "disagreement", 1.5, 0.75, 90),
    ]
    monkeypatch.setattr(boards, "suspicious", lambda _: found)
    text = shown(page("dashboard", tokens.lia, monkeypatch))
    for part in ("97 % of 120 grades are 0", "median 1.2 s", "31 times the grade 2", "1.50 grades away"):
        assert part in text
    # κ of ana and bia by hand: 1/3 (tests/commands/annotate/review/test_dashboard.py).
    assert '<td class="number">0.33' in text
    assert 'href="/download/qrels?labeler=ana"' in text


def test_a_dashboard_that_failed_says_why(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    (session.config.folder / "pool.jsonl.gz").unlink()
    with AnnotationSession.open(session.config.path) as bare:
        context.use(bare)
        assert "quati-pool build" in shown(page("dashboard", tokens.lia, monkeypatch))


@pytest.mark.parametrize("language", words.LANGUAGES)
def test_both_pages_speak_every_language(here: Here, monkeypatch: pytest.MonkeyPatch, language: str) -> None:
    session, tokens = here
    session.people.set("lia", "language", language)
    for name in PAGES:
        app = page(name, tokens.lia, monkeypatch)
        assert not app.exception
        assert words.messages(language)[f"app.{name}"] in shown(app)
