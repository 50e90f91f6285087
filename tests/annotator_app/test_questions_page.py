"""The page where people write questions and decide on each other's, without a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from annotator_app import context
from quati_pool.commands.annotate.questions import writing as questions
from quati_pool.commands.annotate.questions.passages import drawn_passages
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.records import QuestionEvent
from tests.commands.annotate.writers import DRAFT, accepted, nonce, proposed, seen, sign_in, workspace
from tests.patience import PATIENCE

Visit = Callable[[str], AppTest]


def _script() -> None:
    from annotator_app import context
    from annotator_app.pages import questions

    context.enter()
    questions.page()


@pytest.fixture
def session(tmp_path: Path) -> Iterator[AnnotationSession]:
    with AnnotationSession.open(workspace(tmp_path / "small", annotation={"language": "en"})) as opened:
        context.use(opened)
        yield opened
        context.use(None)


@pytest.fixture
def visit(session: AnnotationSession, monkeypatch: pytest.MonkeyPatch) -> Visit:
    """The page as whoever has the token sees it, whatever pages others have open."""

    def opened(token: str) -> AppTest:
        monkeypatch.setattr(context, "token", lambda: token)
        return AppTest.from_function(_script, default_timeout=PATIENCE).run()

    return opened


def shown(page: AppTest) -> str:
    """All HTML on the page."""
    assert not page.exception
    return "\n".join(element.proto.body for element in page.get("html"))


def drafted(session: AnnotationSession, doc_id: str | None = None) -> int:
    """A model's draft, of which nothing but its text is on a page."""
    session.store.register("version-canary", "judge", {"name": "canary-7b"})
    event = QuestionEvent(
        by="", action="proposed", query="Que navio <b>encalhou</b>?", drafted_by="version-canary", doc_id=doc_id
    )
    return session.questions.add_event(event)


def filled(page: AppTest, query: str = DRAFT.query, form: str = "q.form0") -> AppTest:
    page.text_input(key=f"{form}.query").set_value(query)
    for axis in ("theme", "scope", "type"):
        page.selectbox(key=f"{form}.{axis}").set_value(getattr(DRAFT, axis))
    return page.run()


def test_a_question_is_stored_and_the_form_is_empty_again(session: AnnotationSession, visit: Visit) -> None:
    page = filled(visit(sign_in(session, "ana")))
    page.text_area(key="q.form0.narrative").set_value("De hoje.")
    page.button(key="q.form0.propose").click().run()
    assert f"Proposed: {DRAFT.query}" in shown(page)
    assert page.text_input(key="q.form1.query").value == ""
    (one,) = session.questions.current()
    assert (one.author, one.last.query, one.last.narrative) == ("ana", DRAFT.query, "De hoje.")
    assert (one.last.theme, one.last.scope, one.last.type) == (DRAFT.theme, DRAFT.scope, DRAFT.type)


def test_an_incomplete_question_is_refused_in_words_and_stays_on_the_page(
    session: AnnotationSession, visit: Visit
) -> None:
    page = visit(sign_in(session, "ana"))
    page.text_input(key="q.form0.query").set_value("Quem?").run()
    page.button(key="q.form0.propose").click().run()
    assert "Choose a theme." in shown(page)
    assert page.text_input(key="q.form0.query").value == "Quem?"
    assert not session.questions.current()


def test_near_duplicates_are_pointed_out_while_writing(session: AnnotationSession, visit: Visit) -> None:
    proposed(session, sign_in(session, "bia"), "Where do sailors find the old lighthouse?")
    page = visit(sign_in(session, "ana"))
    assert "Similar questions" not in shown(page)
    page.text_input(key="q.form0.query").set_value("Where does a sailor find an old lighthouse?").run()
    assert "Similar questions are there already:" in shown(page)
    assert "Where do sailors find the old lighthouse?" in shown(page)
    page.button(key="q.form0.propose")
    filled(page, "Where does a sailor find an old lighthouse?").button(key="q.form0.propose").click().run()
    assert len(session.questions.current()) == 2


def test_an_equal_question_is_stored_only_when_confirmed(session: AnnotationSession, visit: Visit) -> None:
    proposed(session, sign_in(session, "bia"))
    page = filled(visit(sign_in(session, "ana")))
    assert "The same question is there already:" in shown(page)
    page.button(key="q.form0.propose").click().run()
    assert "or confirm that you want it all the same" in shown(page)
    assert len(session.questions.current()) == 1
    page.checkbox(key="q.form0.confirm").check().run()
    page.button(key="q.form0.propose").click().run()
    assert len(session.questions.current()) == 2


def test_a_question_from_a_passage_keeps_its_doc_id(session: AnnotationSession, visit: Visit) -> None:
    ana = sign_in(session, "ana")
    page = visit(ana)
    page.segmented_control(key="q.way").set_value("passage").run()
    first = questions.sampled_passage(session, ana)
    assert first.text in shown(page)
    page.button(key="q.another").click().run()
    second = questions.sampled_passage(session, ana)
    assert second.doc_id != first.doc_id
    assert second.text in shown(page)
    filled(page).button(key="q.form0.propose").click().run()
    assert session.questions.current()[0].last.doc_id == second.doc_id


def test_without_a_corpus_the_page_says_what_to_run(tmp_path: Path, visit: Visit) -> None:
    with AnnotationSession.open(workspace(tmp_path / "bare", read=False, annotation={"language": "en"})) as bare:
        context.use(bare)
        page = visit(sign_in(bare, "ana"))
        page.segmented_control(key="q.way").set_value("passage").run()
        assert "A lead has to build the collection first (quati-pool build)." in shown(page)


def test_without_a_corpus_drafts_are_decided_on_without_their_passage(tmp_path: Path, visit: Visit) -> None:
    with AnnotationSession.open(workspace(tmp_path / "bare", read=False, annotation={"language": "en"})) as bare:
        context.use(bare)
        question = drafted(bare, "d1")
        page = visit(sign_in(bare, "ana"))
        page.button(key=f"q.{question}.{question}.accept").click().run()
        assert "Accepted as q0001." in shown(page)


def test_a_second_person_accepts_and_the_author_cannot(session: AnnotationSession, visit: Visit) -> None:
    ana = sign_in(session, "ana")
    question = proposed(session, ana)
    key = f"q.{question}.{question}"
    assert f"{key}.accept" not in [button.key for button in visit(ana).button]
    page = visit(sign_in(session, "bia"))
    page.text_area(key=f"{key}.comment").set_value("Boa.").run()
    page.button(key=f"{key}.accept").click().run()
    assert "Accepted as q0001." in shown(page)
    last = session.questions.current()[0].last
    assert (last.action, last.by, last.query_id, last.comment) == ("accepted", "bia", "q0001", "Boa.")


def test_a_question_goes_back_with_a_comment_which_its_author_sees_and_answers(
    session: AnnotationSession, visit: Visit
) -> None:
    ana = sign_in(session, "ana")
    question = proposed(session, ana)
    page = visit(sign_in(session, "bia"))
    page.button(key=f"q.{question}.{question}.send_back").click().run()
    assert "Say in a comment what is to be changed." in shown(page)
    page.text_area(key=f"q.{question}.{question}.comment").set_value("Qual <b>ilha</b>?").run()
    page.button(key=f"q.{question}.{question}.send_back").click().run()
    assert session.questions.current()[0].last.action == "sent_back"
    page = visit(ana)
    assert "Qual &lt;b&gt;ilha&lt;/b&gt;?" in shown(page)
    form = f"q.{question}.{seen(session, question)}"
    assert page.text_input(key=f"{form}.query").value == DRAFT.query
    page.text_input(key=f"{form}.query").set_value("Quem cuida do farol da Ilha do Mel?").run()
    page.button(key=f"{form}.revise").click().run()
    last = session.questions.current()[0].last
    assert (last.action, last.query) == ("revised", "Quem cuida do farol da Ilha do Mel?")


def test_a_decision_on_a_text_that_changed_meanwhile_is_refused(session: AnnotationSession, visit: Visit) -> None:
    ana = sign_in(session, "ana")
    question = proposed(session, ana)
    page = visit(sign_in(session, "bia"))
    questions.revise(session, ana, question, question, DRAFT, nonce())
    page.button(key=f"q.{question}.{question}.accept").click().run()
    assert session.questions.current()[0].last.action == "revised"
    # The old card is gone with its button: the new text is there to be read.
    assert f"q.{question}.{seen(session, question)}.accept" in [button.key for button in page.button]


def test_an_author_withdraws(session: AnnotationSession, visit: Visit) -> None:
    ana = sign_in(session, "ana")
    question = proposed(session, ana)
    page = visit(ana)
    page.button(key=f"q.{question}.{question}.withdraw").click().run()
    assert "The question is withdrawn." in shown(page)
    assert session.questions.current()[0].last.action == "withdrawn"


def test_the_coverage_table_shows_empty_cells(session: AnnotationSession, visit: Visit) -> None:
    ana, bia = sign_in(session, "ana"), sign_in(session, "bia")
    accepted(session, bia, proposed(session, ana))
    proposed(session, ana, "Outra?")
    html = shown(visit(ana))
    # 11 themes × 3 scopes × 6 types, one of them filled.
    assert html.count('<td class="empty">') == 197
    assert 'aria-label="accepted: 1, proposed: 1"' in html


def test_hostile_texts_are_shown_as_text(session: AnnotationSession, visit: Visit) -> None:
    ana = sign_in(session, "ana")
    evil = '<script>alert(1)</script> [x](javascript:alert(1)) <img src=x onerror="alert(1)">'
    proposed(session, ana, evil, narrative=f"{evil}\n{evil}")
    page = visit(sign_in(session, "bia"))
    page.text_input(key="q.form0.query").set_value(evil).run()
    html = shown(page)
    assert html.count("&lt;script&gt;alert(1)") >= 4  # card, narrative twice, near-duplicate
    assert "<script" not in html
    assert "<img" not in html


def test_many_questions_come_in_pages(session: AnnotationSession, visit: Visit) -> None:
    ana = sign_in(session, "ana")
    for word in [
        "alfa",
        "bravo",
        "charlie",
        "delta",
        "eco",
        "foxtrote",
        "golfe",
        "hotel",
        "índia",
        "julieta",
        "quilo",
        "lima",
    ]:
        proposed(session, ana, f"{word}?")
    page = visit(sign_in(session, "bia"))
    assert shown(page).count('<article class="question">') == 10
    page.number_input(key="q.page").set_value(2).run()
    assert shown(page).count('<article class="question">') == 2


def test_a_lead_finds_the_downloads_and_an_assessor_does_not(session: AnnotationSession, visit: Visit) -> None:
    ana = sign_in(session, "ana")
    accepted(session, sign_in(session, "bia"), proposed(session, ana))
    assert "/download/questions" in shown(visit(sign_in(session, "lia", "lead")))
    assert "/download/" not in shown(visit(ana))


@pytest.mark.parametrize("language", ["pt", "es"])
def test_the_page_speaks_the_persons_language(session: AnnotationSession, visit: Visit, language: str) -> None:
    ana = sign_in(session, "ana")
    session.people.set("ana", "language", language)
    page = visit(ana)
    theme = page.selectbox(key="q.form0.theme")
    assert theme.options[:2] == (["Geografia", "História"] if language == "pt" else ["Geografía", "Historia"])


def test_a_draft_is_a_models_and_nobody_reads_which(session: AnnotationSession, visit: Visit) -> None:
    (source,) = drawn_passages(session.config, "drafts", 1)
    question = drafted(session, source.doc_id)
    bia = sign_in(session, "bia")
    page = visit(bia)
    assert "Que navio &lt;b&gt;encalhou&lt;/b&gt;?" in shown(page)
    assert "proposed by</bdi>" not in shown(page)
    assert "proposed by a model" in shown(page)
    assert " ·  · " not in shown(page)
    assert " ".join(source.text.split()[:5]) in " ".join(shown(page).split())
    key = f"q.{question}.{question}"
    offered = {button.key for button in page.button}
    assert {f"{key}.accept", f"{key}.withdraw", f"{key}.revise"} <= offered
    assert f"{key}.send_back" not in offered
    page.button(key=f"{key}.withdraw").click().run()
    assert "Say in the comment why." in shown(page)
    # Revised without a theme, it is bia's text, which she does not accept.
    page.text_input(key=f"{key}.query").set_value("Que navio encalhou na barra?").run()
    page.button(key=f"{key}.revise").click().run()
    (one,) = session.questions.current()
    assert (one.last.action, one.last.by, one.last.theme, one.last.doc_id) == ("revised", "bia", None, source.doc_id)
    key = f"q.{question}.{one.last.seq}"
    assert f"{key}.accept" not in {button.key for button in page.button}
    ana = visit(sign_in(session, "ana"))
    ana.button(key=f"{key}.accept").click().run()
    assert "Accepted as q0001." in shown(ana)
    ana.segmented_control(key="q.filter").set_value("all").run()
    for found in (page.run(), ana):
        sent = shown(found) + "".join(str(one.proto) for one in found.main if hasattr(one, "proto"))
        assert "canary" not in sent
        assert "drafted" not in sent


def test_the_table_of_the_taxonomy_is_there_with_a_draft_that_has_no_theme(
    session: AnnotationSession, visit: Visit
) -> None:
    drafted(session)
    page = visit(sign_in(session, "ana"))
    assert "1 question belongs to none of them." in shown(page)
    page.text_input(key="q.form0.query").set_value("Que navio encalhou?").run()
    assert "by a model" in shown(page)
