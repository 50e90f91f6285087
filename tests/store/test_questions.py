"""A question is what happened to it, and every event is written once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from quati_pool.store.database import Store
from quati_pool.store.errors import ConflictError, StoreError
from quati_pool.store.questions import Questions
from quati_pool.store.records import QuestionEvent

PROPOSED = QuestionEvent(
    by="ana", action="proposed", query="Por quê? <b>\x00", narrative="Causas.", theme="mar", scope="Brasil",
    type="causa", doc_id="d1", comment="primeira", nonce="n1",
)  # fmt: skip


def test_an_event_that_names_no_text_keeps_what_the_question_was(store: Store) -> None:
    questions = Questions(store, "pira")
    asked = questions.add_event(PROPOSED)
    other = questions.add_event(QuestionEvent(by="bia", action="proposed", query="Onde?"))
    accepted = questions.add_event(QuestionEvent(by="bia", action="accepted", question_id=asked, query_id="q10"))
    first, second = questions.current()
    assert (first.question_id, first.author, second.question_id, second.author) == (asked, "ana", other, "bia")
    assert replace(first.last, created_at=None) == replace(
        PROPOSED, by="bia", action="accepted", question_id=asked, seq=accepted, query_id="q10", comment=None, nonce=None
    )
    assert [event.action for event in questions.events(asked)] == ["proposed", "accepted"]
    questions.add_event(QuestionEvent(by="ana", action="revised", question_id=asked, query="Por que?"))
    last = questions.current()[0].last
    assert (last.query, last.theme, last.query_id) == (
        "Por que?",
        None,
        None,
    )  # a new text brings all that goes with it


def test_who_drafted_a_question_stays_with_it_for_ever(store: Store) -> None:
    questions = Questions(store, "pira")
    asked = questions.add_event(QuestionEvent(by="", action="proposed", query="Onde?", nonce="d1", drafted_by="v1"))
    questions.add_event(QuestionEvent(by="ana", action="proposed", query="Quem?", nonce="n1"))
    questions.add_event(QuestionEvent(by="ana", action="revised", question_id=asked, query="Aonde?", nonce="n2"))
    # Neither a text of its own nor another name takes the mark away.
    questions.add_event(
        QuestionEvent(by="bia", action="accepted", question_id=asked, query_id="q1", drafted_by="v2", nonce="n3")
    )
    assert [event.drafted_by for event in questions.events(asked)] == ["v1", "v1", "v1"]
    drafted, written = questions.current()
    assert (drafted.author, drafted.last.drafted_by, written.last.drafted_by) == ("", "v1", None)
    assert questions.drafted() == {"d1": asked}
    assert Questions(store, "other").drafted() == {}


def test_a_question_is_its_collections(store: Store) -> None:
    asked = Questions(store, "pira").add_event(PROPOSED)
    other = Questions(store, "other")
    assert other.current() == other.events(asked) == []
    with pytest.raises(ConflictError) as caught:
        other.add_event(QuestionEvent(by="bia", action="accepted", question_id=asked))
    assert caught.value.reason == "gone"


def test_an_event_is_written_once_by_its_nonce(store: Store) -> None:
    questions = Questions(store, "pira")
    asked = questions.add_event(PROPOSED)
    assert questions.add_event(PROPOSED) == asked
    accepted = QuestionEvent(by="bia", action="accepted", question_id=asked, nonce="n2")
    assert questions.add_event(accepted, after=asked) == questions.add_event(accepted, after=asked)
    assert len(questions.events(asked)) == 2
    for another in (replace(PROPOSED, query="Onde?"), replace(accepted, by="ana"), replace(accepted, question_id=None)):
        with pytest.raises(StoreError, match="this nonce was already used for another event"):
            questions.add_event(another)
    assert len(questions.current()) == 1


def test_what_somebody_else_changed_meanwhile_is_not_decided_on(store: Store) -> None:
    questions = Questions(store, "pira")
    asked = questions.add_event(PROPOSED)
    questions.add_event(QuestionEvent(by="ana", action="withdrawn", question_id=asked), after=asked)
    with pytest.raises(ConflictError) as caught:
        questions.add_event(QuestionEvent(by="bia", action="accepted", question_id=asked), after=asked)
    assert caught.value.reason == "changed"
    assert [event.action for event in questions.events(asked)] == ["proposed", "withdrawn"]


@pytest.mark.parametrize(
    "event", [QuestionEvent(by="ana", action="proposed"), QuestionEvent(by="ana", action="accepted", query="Onde?")]
)
def test_a_new_question_is_proposed_with_its_text(store: Store, event: QuestionEvent) -> None:
    with pytest.raises(StoreError, match="a new question is proposed with its text"):
        Questions(store, "pira").add_event(event)
    assert Questions(store, "pira").current() == []
