"""Questions to the leads about a pair, and answers: who may ask, answer and see what, and that each is stored once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.annotate.errors import AnswerError, ForbiddenError, SignedOutError
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.remarks import (
    LONGEST_REMARK,
    Conversation,
    Message,
    answer_remark,
    ask,
    close,
    mark_read,
    my_remarks,
    open_remarks,
    remarks_on,
)
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.errors import ConflictError, StoreError
from tests.commands.annotate.people_at_work import answer, assigned, collection, item, pairs, text, token
from tests.commands.judged import repool

HOSTILE = "<script>alert(1)</script> ' OR 1=1 -- \x00 \u202e \ud800 ${x} {{y}}\n# título\n[a](javascript:b)"


@pytest.fixture
def session(tmp_path: Path, made_url: str) -> Iterator[AnnotationSession]:
    """Two queries of three passages each; ana has slots of q0, bia of q1; on both engines."""
    with AnnotationSession.open(collection(tmp_path), made_url) as opened:
        assigned(opened, ("ana",), queries=["q0"])
        assigned(opened, ("bia",), queries=["q1"])
        yield opened


def nonce(number: int) -> str:
    return f"nonce-{number:012d}"


def said(conversation: Conversation) -> list[tuple[str | None, bool, str]]:
    return [(message.by, message.answer, message.text) for message in conversation.messages]


def test_a_question_is_answered_read_and_asked_again(session: AnnotationSession) -> None:
    ana, lia = token(session, "ana"), token(session, "lia", "lead")
    first = ask(session, ana, "q0", "d1", "É isto?", nonce(1))
    [waiting] = open_remarks(session, lia)
    assert said(waiting) == [("ana", False, "É isto?")]
    assert (waiting.thread, waiting.query_id, waiting.doc_id, waiting.last_seq) == ("ana", "q0", "d1", first)
    assert (waiting.query, waiting.narrative, waiting.text) == ("pergunta q0", None, text(1))
    assert (waiting.waiting, waiting.unread) == (True, False)
    second = answer_remark(session, lia, "ana", "q0", "d1", "Sim.", nonce(2))
    assert open_remarks(session, lia) == []
    [mine] = my_remarks(session, ana)
    # Leads speak with one voice.
    assert said(mine) == [("ana", False, "É isto?"), (None, True, "Sim.")]
    assert (mine.waiting, mine.unread, mine.last_seq) == (False, True, second)
    assert mark_read(session, ana, "q0", "d1", mine.last_seq)
    assert not mark_read(session, ana, "q0", "d1", mine.last_seq)
    [mine] = my_remarks(session, ana)
    assert (mine.unread, mine.last_seq) == (False, second)
    ask(session, ana, "q0", "d1", "E agora?", nonce(3))
    [waiting] = open_remarks(session, lia)
    assert said(waiting) == [("ana", False, "É isto?"), ("lia", True, "Sim."), ("ana", False, "E agora?")]


def test_unread_answers_come_first_and_the_longest_waiting_questions(session: AnnotationSession) -> None:
    ana, bia, lia = token(session, "ana"), token(session, "bia"), token(session, "lia", "lead")
    for number, (mine, query_id, doc_id) in enumerate(
        [(ana, "q0", "d0"), (bia, "q1", "d0"), (ana, "q0", "d1"), (ana, "q0", "d2")]
    ):
        ask(session, mine, query_id, doc_id, "?", nonce(number))
    assert [(one.thread, one.doc_id) for one in open_remarks(session, lia)] == [
        ("ana", "d0"), ("bia", "d0"), ("ana", "d1"), ("ana", "d2"),
    ]  # fmt: skip
    answer_remark(session, lia, "ana", "q0", "d0", "!", nonce(9))
    assert [(one.doc_id, one.unread) for one in my_remarks(session, ana)] == [
        ("d0", True), ("d2", False), ("d1", False),
    ]  # fmt: skip


def test_a_closed_question_waits_no_longer_unless_something_was_asked_since(session: AnnotationSession) -> None:
    ana, lia = token(session, "ana"), token(session, "lia", "lead")
    first = ask(session, ana, "q0", "d1", "É isto?", nonce(1))
    second = ask(session, ana, "q0", "d1", "Ou não?", nonce(2))
    with pytest.raises(ConflictError) as caught:
        close(session, lia, "ana", "q0", "d1", first, nonce(3))
    assert caught.value.reason == "changed"
    closed = close(session, lia, "ana", "q0", "d1", second, nonce(3))
    assert close(session, lia, "ana", "q0", "d1", second, nonce(3)) == closed
    assert open_remarks(session, lia) == []
    [mine] = my_remarks(session, ana)
    assert (mine.waiting, mine.unread, len(mine.messages)) == (False, False, 2)
    ask(session, ana, "q0", "d1", "De novo", nonce(4))
    # Sent again, it closes nothing that came later.
    close(session, lia, "ana", "q0", "d1", second, nonce(3))
    assert len(open_remarks(session, lia)) == 1


def test_an_answer_that_came_after_the_page_was_drawn_stays_unread(session: AnnotationSession) -> None:
    ana, lia = token(session, "ana"), token(session, "lia", "lead")
    ask(session, ana, "q0", "d1", "É isto?", nonce(1))
    seen = answer_remark(session, lia, "ana", "q0", "d1", "Sim.", nonce(2))
    later = answer_remark(session, lia, "ana", "q0", "d1", "Quer dizer, não.", nonce(3))
    assert not mark_read(session, ana, "q0", "d1", seen)
    assert my_remarks(session, ana)[0].unread
    assert mark_read(session, ana, "q0", "d1", later)


def test_what_is_sent_twice_is_stored_once(session: AnnotationSession) -> None:
    ana, lia = token(session, "ana"), token(session, "lia", "lead")
    seq = ask(session, ana, "q0", "d1", "É isto?", nonce(1))
    assert ask(session, ana, "q0", "d1", "É isto?", nonce(1)) == seq
    with pytest.raises(StoreError, match="nonce"):
        ask(session, ana, "q0", "d1", "Outra coisa", nonce(1))
    assert answer_remark(session, lia, "ana", "q0", "d1", "Sim.", nonce(1)) == answer_remark(
        session, lia, "ana", "q0", "d1", "Sim.", nonce(1)
    )
    # It is confirmed even if the pair has left the pool since; the conversation stays, without texts.
    repool(session.config.folder, [row for row in pairs() if (row["query_id"], row["doc_id"]) != ("q0", "d1")])
    assert ask(session, ana, "q0", "d1", "É isto?", nonce(1)) == seq
    [mine] = my_remarks(session, ana)
    assert (len(mine.messages), mine.query, mine.text) == (2, None, None)


def test_a_person_asks_about_pairs_held_done_or_practised_on_only(session: AnnotationSession) -> None:
    ana, lia = token(session, "ana"), token(session, "lia", "lead")
    session.training.add("q1", "d0", 1, "porque", "lia")
    session.training.add("q1", "d1", 1, "porque", "lia", gold=True)
    shown = item(session, ana)
    assert shown.kind == "training"
    submit(session, ana, shown, answer(1))
    done = item(session, ana)
    submit(session, ana, done, answer(2))
    for number, ids in enumerate([("q1", "d0"), ("q1", "d1"), ("q0", "d0"), ("q0", "d1"), ("q0", "d2")]):
        ask(session, ana, *ids, "?", nonce(number))
    for mine, ids in ((ana, ("q1", "d2")), (lia, ("q0", "d0")), (lia, ("q1", "d0"))):
        with pytest.raises(ForbiddenError):
            ask(session, mine, *ids, "?", nonce(9))
    assert len(my_remarks(session, ana)) == 5


def test_nobody_sees_or_answers_for_others(session: AnnotationSession) -> None:
    ana, bia, lia = token(session, "ana"), token(session, "bia"), token(session, "lia", "lead")
    seq = ask(session, ana, "q0", "d1", "É isto?", nonce(1))
    answer_remark(session, lia, "ana", "q0", "d1", "Sim.", nonce(2))
    assert my_remarks(session, bia) == my_remarks(session, lia) == []
    assert not mark_read(session, bia, "q0", "d1", 10**9)
    for_leads: list[Callable[[str | None], object]] = [
        lambda mine: open_remarks(session, mine),
        lambda mine: remarks_on(session, mine, "q0", "d1"),
        lambda mine: answer_remark(session, mine, "ana", "q0", "d1", "Não.", nonce(3)),
        lambda mine: close(session, mine, "ana", "q0", "d1", seq, nonce(3)),
    ]
    for call in for_leads:
        with pytest.raises(ForbiddenError):
            call(bia)
    for_all: list[Callable[[str | None], object]] = [
        lambda mine: ask(session, mine, "q0", "d1", "?", nonce(4)),
        lambda mine: my_remarks(session, mine),
        lambda mine: mark_read(session, mine, "q0", "d1", 1),
    ]
    for call in (*for_leads, *for_all):
        for nobody in (None, "", "another"):
            with pytest.raises(SignedOutError):
                call(nobody)
    [mine] = my_remarks(session, ana)
    assert (len(mine.messages), mine.unread) == (2, True)
    assert remarks_on(session, lia, "q0", "d2") == remarks_on(session, lia, "q9", "\ud800") == []


def test_nothing_but_texts_names_and_times_is_part_of_a_conversation() -> None:
    assert {field.name for field in dataclasses.fields(Conversation)} == {
        "thread", "query_id", "doc_id", "query", "narrative", "text", "messages", "last_seq", "waiting", "unread",
    }  # fmt: skip
    assert set(Message._fields) == {"by", "answer", "text", "created_at"}


@pytest.mark.parametrize(
    ("thread", "query_id", "doc_id"),
    [("ana", "q0", "d2"), ("bia", "q0", "d1"), ("ana", "q9", "d9"), ("nobody", "q0", "d1")],
)
def test_what_was_never_asked_is_not_answered(
    session: AnnotationSession, thread: str, query_id: str, doc_id: str
) -> None:
    ana, lia = token(session, "ana"), token(session, "lia", "lead")
    ask(session, ana, "q0", "d1", "É isto?", nonce(1))
    with pytest.raises(ConflictError) as caught:
        answer_remark(session, lia, thread, query_id, doc_id, "Sim.", nonce(2))
    assert caught.value.reason == "gone"
    with pytest.raises(ConflictError):
        close(session, lia, thread, query_id, doc_id, 1, nonce(2))


@pytest.mark.parametrize("wrong", ["", "\ud800", "q\x00", "a b", None, 7, ["q0"]])
def test_forged_ids_are_refused_in_one_line(session: AnnotationSession, wrong: Any) -> None:
    ana, lia = token(session, "ana"), token(session, "lia", "lead")
    calls: list[Callable[[], object]] = [
        lambda: ask(session, ana, wrong, "d1", "?", nonce(1)),
        lambda: ask(session, ana, "q0", wrong, "?", nonce(1)),
        lambda: answer_remark(session, lia, wrong, "q0", "d1", "!", nonce(1)),
        lambda: close(session, lia, "ana", "q0", wrong, 1, nonce(1)),
    ]
    for call in calls:
        with pytest.raises(AnswerError) as caught:
            call()
        assert "\n" not in str(caught.value)
    assert not mark_read(session, ana, wrong, wrong, 1)
    assert not mark_read(session, ana, "q0", "d1", wrong)


@pytest.mark.parametrize(
    ("remark", "reason"),
    [
        ("", "remark_empty"), (" \n\t", "remark_empty"), (None, "remark_empty"), (b"x", "remark_empty"),
        ("x" * (LONGEST_REMARK + 1), "remark_long"),
    ],
)  # fmt: skip
def test_a_text_must_say_something_and_not_too_much(session: AnnotationSession, remark: Any, reason: str) -> None:
    ana, lia = token(session, "ana"), token(session, "lia", "lead")
    ask(session, ana, "q0", "d1", "x" * LONGEST_REMARK, nonce(1))
    for call in (
        lambda: ask(session, ana, "q0", "d1", remark, nonce(2)),
        lambda: answer_remark(session, lia, "ana", "q0", "d1", remark, nonce(2)),
    ):
        with pytest.raises(AnswerError) as caught:
            call()
        assert caught.value.reason == reason
    for forged in (None, "short", "x" * 65, 7):
        with pytest.raises(AnswerError):
            ask(session, ana, "q0", "d1", "?", forged)  # type: ignore[arg-type]
    assert len(my_remarks(session, ana)[0].messages) == 1


def test_hostile_texts_stay_text(session: AnnotationSession) -> None:
    ana, lia = token(session, "ana"), token(session, "lia", "lead")
    ask(session, ana, "q0", "d1", HOSTILE, nonce(1))
    answer_remark(session, lia, "ana", "q0", "d1", HOSTILE, nonce(2))
    written = HOSTILE.replace("\ud800", "\ufffd")  # half a surrogate pair is no character
    assert [message.text for message in my_remarks(session, ana)[0].messages] == [written, written]
    [found] = remarks_on(session, lia, "q0", "d1")
    assert said(found) == [("ana", False, written), ("lia", True, written)]
