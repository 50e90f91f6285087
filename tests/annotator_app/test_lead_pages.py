"""The lead's pages without a browser: what they draw, what a press does, and what an assessor gets of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import TextArea

from annotator_app import context, words
from quati_pool.agreement.coefficients import why_undefined
from quati_pool.agreement.pairwise import grade_words
from quati_pool.annotation.codes import token_sha
from quati_pool.annotation.quality_control import Finding
from quati_pool.commands.annotate import remarks
from quati_pool.commands.annotate.errors import ForbiddenError
from quati_pool.commands.annotate.review import dashboard as boards
from quati_pool.commands.annotate.review import decisions, disagreements, drafts
from quati_pool.commands.annotate.review.annotated_pairs import PeoplesPairs
from quati_pool.commands.annotate.review.consistency import GoldResult, SelfAgreement
from quati_pool.commands.annotate.review.dashboard import dashboard
from quati_pool.commands.annotate.review.interval_width import IntervalWidth
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import TranslatableText
from quati_pool.records import State
from quati_pool.store.database import Store
from quati_pool.store.errors import StoreError
from quati_pool.store.records import Attempt
from tests.annotator_app.opened import shown
from tests.commands.annotate.disputes import Tokens, add_label, disputed
from tests.commands.annotate.people_at_work import assigned, labels
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
    """The comment's field."""
    return next(area for area in app.text_area if area.label.startswith("Comment"))


def decision(app: AppTest) -> str:
    """The line that says what was decided on the pair; '' if nothing was."""
    found = re.search(r'<p class="decided">(.*?)</p>', shown(app))
    return re.sub("<[^>]*>", "", found[1]).replace("&#39;", "'").strip() if found else ""


def place(app: AppTest) -> str:
    """The pair on the page, by its ids, and its place."""
    ids = re.search(
        r'<p class="quiet ids".*?</span> <bdi class="theirs">(\w+)</bdi> · <bdi class="theirs">(\w+)<', shown(app)
    )
    where = re.search(r'<p class="place" role="status"><b>(.*?)</b>', shown(app))
    assert where is not None
    return f"{' '.join(ids.groups()) if ids else 'nothing'}: {where[1]}"


def stored(session: AnnotationSession, query_id: str, doc_id: str) -> list[tuple[State, int | None, str | None]]:
    return [(one.status, one.relevance, one.rationale) for one in labels(session, "adjudicated", query_id, doc_id)]


def refused(*_: object, **__: object) -> None:
    raise StoreError("the database is gone; start it")


def pressed(app: AppTest, label: str) -> AppTest:
    (found,) = [button for button in app.button if button.label == label]
    return found.click().run()


def test_a_lead_sees_everybodys_labels_and_the_judges_reason(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    add_label(session, "ana", "q1", "d1", None, extra={"active_seconds": 2.0, "reason": "broken_text"})
    app = page("review", tokens.lia, monkeypatch)
    for part in ("bia of d0", "3 apart", "3 Perfectly relevant"):
        assert part in shown(app)
    assert "of d1" not in shown(app)
    assert "gpt" not in shown(app)
    pressed(app, "Next")
    assert "bia of d1" in shown(app)
    assert "Broken text" in shown(app)
    pressed(app, "Previous")
    text = shown(pressed(app, REVEAL))
    assert "gpt of d0" in text
    assert "a decision from now on is marked so" in text
    assert "gpt" not in shown(pressed(app, "Next"))


def test_a_decision_after_judges_grades_were_seen_is_marked(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    app = page("review", tokens.lia, monkeypatch)
    pressed(app, "3 Perfectly relevant")
    assert "gpt" not in shown(pressed(app, "Back to it"))
    assert decision(app) == "lia decided: 3 Perfectly relevant"
    assert "gpt of d0" in shown(pressed(app, REVEAL))
    pressed(app, "1 Relevant")
    pressed(app, "Back to it")
    assert decision(app) == "lia decided, having seen judges' grades: 1 Relevant"
    made = labels(session, "adjudicated", "q1", "d0")
    assert [label.extra for label in made] == [{"by": "lia"}, {"by": "lia", "revealed": True}]


def test_what_a_judge_thought_is_folded_away_and_escaped(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    answer = '<think><script>x</script> 3?</think>{"Pontuação": 3}'
    add_label(session, "gpt", "q1", "d0", 3, attempts=(Attempt(number=1, status=State.ok, answer=answer),))
    text = shown(pressed(page("review", tokens.lia, monkeypatch), REVEAL))
    assert "<summary>Thoughts before the answer</summary>" in text
    assert text.count("Thoughts before the answer") == 1
    assert "&lt;script&gt;x&lt;/script&gt; 3?" in text
    assert "<script>" not in text


def test_a_judge_that_cannot_be_read_has_no_name_before_its_grades_may_be_seen(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, tokens = here
    add_label(session, "ana", "q1", "d0", 3, "revealed", rationale="now I see")
    monkeypatch.setattr(PeoplesPairs, "judges", property(lambda pairs: ([pairs.labeler("gpt")], {"broken": "gone"})))
    app = page("review", tokens.lia, monkeypatch)
    assert not any(secret in shown(app) for secret in ("broken", "now I see", "Second grade"))
    text = shown(pressed(app, REVEAL))
    assert all(part in text for part in ("broken cannot be read: gone", "now I see", "Second grade"))


def test_evidence_is_marked_in_the_passage_and_quoted(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    pair = session.pair("q1", "d0")
    assert pair is not None
    for name, grade, start, end in (("ana", 0, 2, 6), ("bia", 3, 4, 9)):
        words = {"start": start, "end": end, "text": pair.text[start:end]}
        add_label(session, name, "q1", "d0", grade, extra={"evidence": [words]})
    text = shown(page("review", tokens.lia, monkeypatch))
    # What both marked is marked once; each one's own words are quoted with their grade.
    assert f"<mark>{pair.text[2:9]}</mark>" in text
    assert f"<q>{pair.text[2:6]}</q>" in text
    assert f"<q>{pair.text[4:9]}</q>" in text


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


def test_a_decision_and_its_comment_are_stored_once_and_the_next_pair_comes(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, tokens = here
    app = page("review", tokens.lia, monkeypatch)
    assert place(app) == "q1 d0: 1 of 3, 3 not decided"
    comment(app).set_value("as bia says")
    pressed(app, "3 Perfectly relevant")
    assert place(app) == "q1 d1: 2 of 3, 2 not decided"
    assert "Stored: 3 Perfectly relevant — as bia says" in shown(app)
    assert (comment(app).value, decision(app)) == ("", "")
    (label,) = labels(session, "adjudicated", "q1", "d0")
    assert (label.relevance, label.rationale, label.extra) == (3, "as bia says", {"by": "lia"})
    pressed(app, "Back to it")
    assert decision(app) == "lia decided: 3 Perfectly relevant as bia says"
    pressed(app, "Take the decision back")
    assert place(app) == "q1 d0: 1 of 3, 3 not decided"
    # The comment is the next decision's.
    assert (comment(app).value, decision(app)) == ("as bia says", "")
    pressed(app, "Cannot be judged")
    assert stored(session, "q1", "d0")[1:] == [(State.retracted, None, None), (State.unsure, None, "as bia says")]


def test_the_last_decision_is_taken_back_from_the_next_pair(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    app = page("review", tokens.lia, monkeypatch)
    comment(app).set_value("why")
    pressed(app, "3 Perfectly relevant")
    pressed(app, "Take it back")
    assert (place(app), comment(app).value) == ("q1 d0: 1 of 3, 3 not decided", "why")
    assert stored(session, "q1", "d0")[1:] == [(State.retracted, None, None)]
    assert not any(button.label in ("Take it back", "Take the decision back") for button in app.button)


def test_after_the_last_dispute_its_page_stays(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    _, tokens = here
    app = page("review", tokens.lia, monkeypatch)
    for name in ("3 Perfectly relevant", "Cannot be judged", "0 Irrelevant"):
        pressed(app, name)
    assert place(app) == "q0 d1: 3 of 3, all decided"
    assert decision(app) == "lia decided: 0 Irrelevant"


def test_a_comment_on_an_undecided_pair_waits_for_its_decision(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    app = page("review", tokens.lia, monkeypatch)
    comment(app).set_value("for q1 d0").run()
    pressed(app, "Next")
    assert comment(app).value == ""
    comment(app).set_value("for q1 d1").run()
    app.selectbox(key="review.query").set_value("q0").run()
    assert (place(app), comment(app).value) == ("q0 d1: 1 of 1, 1 not decided", "")
    pressed(app, "2 Highly relevant")
    app.selectbox(key="review.query").set_value(None).run()
    assert (place(app), comment(app).value) == ("q1 d0: 1 of 3, 2 not decided", "for q1 d0")
    pressed(app, "1 Relevant")
    assert (place(app), comment(app).value) == ("q1 d1: 2 of 3, 1 not decided", "for q1 d1")
    # A reload ends everything that Streamlit knows of the page.
    app = page("review", tokens.lia, monkeypatch)
    assert (place(app), comment(app).value) == ("q1 d1: 2 of 3, 1 not decided", "for q1 d1")
    pressed(app, "0 Irrelevant")
    assert stored(session, "q0", "d1") == [(State.ok, 2, None)]
    assert stored(session, "q1", "d0") == [(State.ok, 1, "for q1 d0")]
    assert stored(session, "q1", "d1") == [(State.ok, 0, "for q1 d1")]


def test_a_draft_is_its_leads_alone(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    session.people.add("eva", "lead", "H-eva", "none")
    session.people.sign_in("eva", token_sha("token-of-eva"), 3600)
    comment(page("review", tokens.lia, monkeypatch)).set_value("lia's draft").run()
    assert comment(page("review", "token-of-eva", monkeypatch)).value == ""
    assert comment(page("review", tokens.lia, monkeypatch)).value == "lia's draft"


def test_a_draft_outlives_a_restart_and_ends_with_its_decision(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    comment(page("review", tokens.lia, monkeypatch)).set_value("for q1 d0").run()
    # Nothing but the database is left of the server.
    with AnnotationSession.open(session.config.path) as restarted:
        assert drafts.drafts(restarted, tokens.lia) == {("q1", "d0"): "for q1 d0"}
        for number in range(drafts.MOST):
            drafts.keep_draft(restarted, tokens.lia, ("q", str(number)), "x")
        assert ("q1", "d0") not in drafts.drafts(restarted, tokens.lia)  # the oldest one of more than are kept
        for number in range(drafts.MOST):
            drafts.keep_draft(restarted, tokens.lia, ("q", str(number)), " ")
        assert drafts.drafts(restarted, tokens.lia) == {}
        with pytest.raises(ForbiddenError):
            drafts.keep_draft(restarted, tokens.ana, ("q1", "d0"), "mine")
    app = page("review", tokens.lia, monkeypatch)
    comment(app).set_value("again").run()
    pressed(app, "1 Relevant")
    assert drafts.drafts(session, tokens.lia) == {}
    assert stored(session, "q1", "d0") == [(State.ok, 1, "again")]


def test_a_comment_on_a_decided_pair_is_stored_when_the_field_is_left(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, tokens = here
    app = page("review", tokens.lia, monkeypatch)
    pressed(app, "3 Perfectly relevant")
    pressed(app, "Back to it")
    comment(app).set_value("  on second thought ").run()
    assert "Stored: 3 Perfectly relevant — on second thought" in shown(app)
    assert stored(session, "q1", "d0") == [(State.ok, 3, None), (State.ok, 3, "on second thought")]
    comment(app).set_value("on second thought").run()
    assert len(stored(session, "q1", "d0")) == 2
    # A press that leaves the field is a decision with the new comment, whichever of the two is stored first.
    comment(app).set_value("no: less")
    pressed(app, "1 Relevant")
    assert stored(session, "q1", "d0")[-1] == (State.ok, 1, "no: less")
    assert (place(app), comment(app).value) == ("q1 d1: 2 of 3, 2 not decided", "")
    assert "decided meanwhile" not in shown(app)


def test_a_decision_that_cannot_be_stored_is_told_and_the_comment_stays(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, tokens = here
    app = page("review", tokens.lia, monkeypatch)
    comment(app).set_value("a long thought")

    with monkeypatch.context() as broken:
        broken.setattr(decisions, "append_once", refused)
        pressed(app, "3 Perfectly relevant")
    assert "Nothing was stored; try again." in shown(app)
    assert (place(app), comment(app).value) == ("q1 d0: 1 of 3, 3 not decided", "a long thought")
    assert labels(session, "adjudicated", "q1", "d0") == []
    pressed(app, "3 Perfectly relevant")
    assert [label.rationale for label in labels(session, "adjudicated", "q1", "d0")] == ["a long thought"]


def test_a_comment_that_cannot_be_stored_is_kept_and_named_so(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    app = page("review", tokens.lia, monkeypatch)
    pressed(app, "3 Perfectly relevant")
    pressed(app, "Back to it")

    with monkeypatch.context() as broken:
        broken.setattr(decisions, "append_once", refused)
        comment(app).set_value("kept").run()
    assert "Nothing was stored; try again." in shown(app)
    pressed(app, "Next")
    pressed(app, "Previous")
    assert (comment(app).label.partition(";")[0], comment(app).value) == ("Comment, not stored yet", "kept")
    pressed(app, "3 Perfectly relevant")
    assert stored(session, "q1", "d0")[1:] == [(State.ok, 3, "kept")]


def test_what_another_lead_decided_meanwhile_is_told(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    session.people.add("eva", "lead", "H-eva", "none")
    session.people.sign_in("eva", token_sha("token-of-eva"), 3600)
    app = page("review", tokens.lia, monkeypatch)
    first = disagreements.disagreements(session, "token-of-eva").pair
    assert first is not None
    decisions.decide(session, "token-of-eva", "q1", "d0", first.content_sha, 2, "eva's", "n1")
    comment(app).set_value("mine")
    pressed(app, "3 Perfectly relevant")
    assert "decided meanwhile" in shown(app)
    assert decision(app) == "eva decided: 2 Highly relevant eva's"
    assert comment(app).value == "mine"
    assert [label.relevance for label in labels(session, "adjudicated", "q1", "d0")] == [2]
    # Who presses again knows what they replace.
    pressed(app, "3 Perfectly relevant")
    assert stored(session, "q1", "d0")[1:] == [(State.ok, 3, "mine")]


def test_a_press_on_a_pair_that_is_decided_already_does_not_count(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    app = page("review", tokens.lia, monkeypatch)
    late = [button for button in app.button if button.label in ("1 Relevant", "3 Perfectly relevant")]
    for button in late:
        button.click()
    app.run()
    assert len(stored(session, "q1", "d0")) == 1
    assert "was not counted" in shown(app)
    assert place(app) == "q1 d1: 2 of 3, 2 not decided"


def test_filters_choose_what_is_shown(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    _, tokens = here
    app = page("review", tokens.lia, monkeypatch)
    assert place(app) == "q1 d0: 1 of 3, 3 not decided"
    app.selectbox(key="review.gap").set_value(0).run()
    assert place(app) == "q1 d0: 1 of 5, 5 not decided"
    app.selectbox(key="review.query").set_value("q0").run()
    assert place(app) == "q0 d1: 1 of 3, 3 not decided"
    pressed(app, "2 Highly relevant")
    app.toggle(key="review.undecided").set_value(True).run()
    assert place(app) == "q0 d0: 1 of 2, 2 not decided"
    app.selectbox(key="review.gap").set_value(3).run()
    # The query stays chosen, though it has no such pair.
    assert place(app) == "nothing: No pair of this kind."
    assert "q0" in shown(app)


def test_only_the_pair_on_the_page_is_read(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    asked: list[str] = []
    current = type(session.store).current

    def recorded(store: Store, collection: str, name: str, version: str, query_ids: Sequence[str], *more: Any) -> Any:
        asked.extend(query_ids)
        return current(store, collection, name, version, query_ids, *more)

    monkeypatch.setattr(type(session.store), "current", recorded)
    pressed(page("review", tokens.lia, monkeypatch), REVEAL)
    assert set(asked) == {"q1"}


def test_a_question_from_people_is_answered_or_closed(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    assigned(session, ("ana", "bia"))
    for token, doc_id in ((tokens.ana, "d0"), (tokens.bia, "d1")):
        remarks.ask(session, token, "q0", doc_id, f"<b>What</b> of {doc_id}?", f"nonce{doc_id}" * 5)
    app = page("review", tokens.lia, monkeypatch)
    assert "Questions from people (2)" in [box.label for box in app.expander]
    assert "&lt;b&gt;What&lt;/b&gt; of d0?" in shown(app)

    def send() -> str:
        return shown(next(button for button in app.button if button.label == "Send the answer").click().run())

    assert "Write an answer first." in send()
    next(area for area in app.text_area if area.label == "Answer").set_value("It is 2.")
    with monkeypatch.context() as broken:
        broken.setattr(remarks, "answer_remark", refused)
        assert "Nothing was stored; try again." in send()
    assert "The answer is sent." in send()
    assert [message.text for message in remarks.my_remarks(session, tokens.ana)[0].messages][1:] == ["It is 2."]
    pressed(app, "Close without an answer")
    assert remarks.open_remarks(session, tokens.lia) == []
    assert [box.label for box in app.expander if box.label.startswith("Questions")] == []


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
    for part in ("97 % of the 120 grades are 0", "median 1.2 s", "31 times the grade 2", "1.50 grades away"):
        assert part in text
    # κ of ana and bia by hand: 1/3 (tests/commands/annotate/review/test_dashboard.py).
    assert '<td class="number">0.33' in text
    assert 'href="/download/qrels?labeler=ana"' in text


def test_the_dashboard_draws_repeats_and_gold_pairs(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    _, tokens = here
    table = np.zeros((4, 4), dtype=np.int64)
    table[2, 2] = 2
    undefined = why_undefined(table, grade_words(range(4)), "one", "two")
    agreed = {"kappa": 0.25, "kappa_quadratic": 0.5, "agreement": 0.75}
    repeats = (
        SelfAgreement("ana", 4, agreed, {}),
        SelfAgreement("<i>", 2, {"kappa": None, "kappa_quadratic": None, "agreement": 1.0},
                      {"kappa": undefined, "kappa_quadratic": undefined}),
        SelfAgreement(None, 6, agreed, {}),
    )  # fmt: skip
    gold = (GoldResult("ana", 5, 0.4, -0.25, 1.25, 3),)
    monkeypatch.setattr(boards, "self_agreement", lambda _: repeats)
    monkeypatch.setattr(boards, "gold_results", lambda *_: gold)
    text = shown(page("dashboard", tokens.lia, monkeypatch))
    for name, numbers in (
        ("ana", ["4", "0.25", "0.50", "0.75"]),
        ("&lt;i&gt;", ["2", "–", "–", "1.00"]),
        ("Everybody", ["6", "0.25", "0.50", "0.75"]),
        ("ana", ["5", "0.40", "-0.25", "1.25", "3"]),
    ):
        cells = "".join(f'<td class="number">{number}</td>' for number in numbers)
        assert re.search(rf"<tr><td class=.word.>[^/]*{name}.{{0,6}}</td>{re.escape(cells)}</tr>", text), name
    assert "&lt;i&gt;, κ: the grade 2 for every pair on both sides." in text
    assert "40 % of the 5 gold pairs graded as known (below 60 %)" in text


@pytest.mark.parametrize(
    ("width", "said"),
    [
        (
            IntervalWidth("queries", "nDCG@10", 15, 0.07714, 6, 0.0608),
            "15 questions are graded in full: the intervals of nDCG@10 have a half-width of 0.077 on average. With 6 "
            "more questions the half-width falls from 0.077 to 0.061.",
        ),
        (
            IntervalWidth("pairs", "nDCG@10", 1500, 0.0451, 1, 0.045),
            "1,500 pairs are graded: the intervals of nDCG@10 have a half-width of 0.045 on average. With 1 more pair "
            "the half-width falls from 0.045 to 0.045.",
        ),
        (
            IntervalWidth("queries", "<i>", 53, 0.0),
            "53 questions are graded in full: the intervals of &lt;i&gt; have a half-width of 0.000 on average.",
        ),
        (
            IntervalWidth("queries", graded=5, missing=3),
            "The first interval needs 3 more questions, graded in full in the order in which they are given out.",
        ),
        (IntervalWidth("pairs", problem="no judge <b>"), "No interval yet: no judge &lt;b&gt;."),
        (
            IntervalWidth("pairs", problem=TranslatableText("of the command line", "not_from_pairs", measure="<i>")),
            "No interval yet: &lt;i&gt; cannot be estimated from drawn pairs, only from drawn questions.",
        ),
    ],
)
def test_the_dashboard_says_how_wide_intervals_are_and_what_more_grades_bring(
    here: Here, monkeypatch: pytest.MonkeyPatch, width: IntervalWidth, said: str
) -> None:
    _, tokens = here
    monkeypatch.setattr(boards, "interval_width", lambda *_: width)
    text = re.sub(r"</?bdi[^>]*>", "", shown(page("dashboard", tokens.lia, monkeypatch)))
    assert f"<b>Estimates under people&#39;s grades</b>: {said}</p>" in text


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "the person who runs the server finds the reason in its log."),
        ("pt", "quem administra o servidor encontra o motivo no log."),
        ("es", "quien administra el servidor encuentra el motivo en su registro."),
    ],
)
def test_why_a_dashboard_failed_is_in_the_servers_log_where_it_names_a_file(
    here: Here, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, language: str, said: str
) -> None:
    session, tokens = here
    (session.config.folder / "pool.jsonl.gz").unlink()
    with AnnotationSession.open(session.config.path) as bare:
        context.use(bare)
        monkeypatch.setattr(context, "language", lambda: language)
        text = shown(page("dashboard", tokens.lia, monkeypatch))
    assert said in text
    assert "pool.jsonl.gz" not in text
    assert "pool.jsonl.gz: not there yet; run: quati-pool build" in caplog.text


GRADE_0 = TranslatableText("the grade 0", "grade", grade=0)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (why_undefined(np.diag([1, 0]), [GRADE_0, "?"], "ana", "bia"), {
            "en": "only one pair in common", "pt": "só um par em comum", "es": "solo un par en común",
        }),
        (why_undefined(np.array([[1, 0], [2, 0]]), [GRADE_0, "?"], "ana", "{bia}"), {
            "en": "the grade 0 for every pair ({bia})",
            "pt": "a nota 0 em todos os pares ({bia})",
            "es": "la nota 0 en todos los pares ({bia})",
        }),
        (TranslatableText("", "few_pairs", count=1, least=1500), {
            "en": "1 pair is graded, and an interval needs 1,500",
            "pt": "1 par foi avaliado, e um intervalo exige 1.500",
            "es": "1 par está evaluado, y un intervalo exige 1\N{NO-BREAK SPACE}500",
        }),
        ("pool.yaml:3: no such key", dict.fromkeys(words.LANGUAGES, "pool.yaml:3: no such key")),
    ],
)  # fmt: skip
def test_what_commands_say_is_said_in_the_pages_language(
    monkeypatch: pytest.MonkeyPatch, said: str, expected: dict[str, str]
) -> None:
    for language, translated in expected.items():
        monkeypatch.setattr(context, "language", lambda language=language: language)
        assert context.translated(said) == translated


@pytest.mark.parametrize("language", words.LANGUAGES)
def test_both_pages_speak_every_language(here: Here, monkeypatch: pytest.MonkeyPatch, language: str) -> None:
    session, tokens = here
    session.people.set("lia", "language", language)
    for name in PAGES:
        app = page(name, tokens.lia, monkeypatch)
        assert not app.exception
        assert words.messages(language)[f"app.{name}"] in shown(app)
