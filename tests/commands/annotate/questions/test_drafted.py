"""What people may do with a question that a model drafted, without rounds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from quati_pool.commands.annotate.errors import ForbiddenError
from quati_pool.commands.annotate.questions import writing as questions
from quati_pool.commands.annotate.questions.rules import QuestionError
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.records import QuestionEvent
from tests.commands.annotate.writers import DRAFT, accepted, nonce, proposed, seen, sign_in, workspace

MODEL = "canary-7b"
QUERY = "Que navio encalhou na barra?"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[AnnotationSession]:
    with AnnotationSession.open(workspace(tmp_path / "small")) as opened:
        yield opened


def drafted(session: AnnotationSession, query: str = QUERY, **fields: str) -> int:
    """A question that a model drafted from a passage."""
    version = f"version-of-{MODEL}"
    session.store.register(version, "judge", {"name": MODEL})
    event = QuestionEvent(by="", action="proposed", query=query, drafted_by=version, nonce=uuid4().hex, **fields)
    return session.questions.add_event(event)


def may(session: AnnotationSession, token: str, question_id: int) -> set[str]:
    return {*next(one.may for one in questions.listed(session, token) if one.question.question_id == question_id)}


def revise(session: AnnotationSession, token: str, question_id: int, query: str, **axes: str | None) -> None:
    draft = replace(DRAFT, query=query, **{"theme": "", "scope": "", "type": "", **axes})
    questions.revise(session, token, question_id, seen(session, question_id), draft, nonce())


def test_anybody_decides_on_a_draft_and_nobody_sends_it_back(session: AnnotationSession) -> None:
    ana, lea = sign_in(session, "ana"), sign_in(session, "lea", "lead")
    question = drafted(session)
    for token in (ana, lea):
        assert may(session, token, question) == {"accepted", "revised", "withdrawn"}
    with pytest.raises(ForbiddenError, match="cannot be sent back"):
        questions.send_back(session, ana, question, seen(session, question), nonce(), "Which ship?")
    assert accepted(session, ana, question) == "q0001"
    (one,) = session.questions.current()
    assert (one.author, one.last.by, one.last.theme, one.last.drafted_by) == ("", "ana", None, f"version-of-{MODEL}")
    assert may(session, ana, question) == set()
    assert may(session, lea, question) == {"withdrawn"}
    questions.withdraw(session, lea, question, seen(session, question), nonce())
    assert may(session, lea, question) == set()


def test_whoever_revises_a_draft_does_not_accept_it(session: AnnotationSession) -> None:
    ana, bia = sign_in(session, "ana"), sign_in(session, "bia")
    question = drafted(session)
    revise(session, ana, question, "Que navio encalhou na barra em 1913?")
    assert may(session, ana, question) == {"revised", "withdrawn"}
    with pytest.raises(ForbiddenError, match="own question"):
        accepted(session, ana, question)
    assert may(session, bia, question) == {"accepted", "revised", "withdrawn"}
    revise(session, bia, question, "Que barco encalhou na barra?", theme="history")
    assert may(session, bia, question) == {"revised", "withdrawn"}
    assert accepted(session, ana, question) == "q0001"
    events = questions.events(session, ana, question)
    assert [(one.by, one.action) for one in events] == [
        ("", "proposed"), ("ana", "revised"), ("bia", "revised"), ("ana", "accepted"),
    ]  # fmt: skip
    assert {one.drafted_by for one in events} == {f"version-of-{MODEL}"}
    assert [one.theme for one in events] == [None, None, "history", "history"]


def test_a_draft_is_withdrawn_with_a_comment_and_may_come_back(session: AnnotationSession) -> None:
    ana, bia, lea = sign_in(session, "ana"), sign_in(session, "bia"), sign_in(session, "lea", "lead")
    question = drafted(session)
    for token in (ana, lea):
        with pytest.raises(QuestionError) as found:
            questions.withdraw(session, token, question, seen(session, question), nonce(), "  ")
        assert found.value.reason == "no_reason"
    questions.withdraw(session, ana, question, seen(session, question), nonce(), "Ninguém pergunta isso.")
    assert may(session, ana, question) == {"revised"} == may(session, lea, question)
    assert may(session, bia, question) == set()
    revise(session, lea, question, "Que navio encalhou?")
    assert may(session, lea, question) == {"revised", "withdrawn"}
    assert "accepted" in may(session, bia, question)


def test_a_revision_of_a_draft_may_set_what_it_lacks_and_no_other_value(session: AnnotationSession) -> None:
    ana = sign_in(session, "ana")
    question = drafted(session)
    with pytest.raises(QuestionError, match="theme"):
        revise(session, ana, question, QUERY, theme="gossip")
    revise(session, ana, question, QUERY, theme="history", scope="local", type="fact")
    found = questions.coverage(session, ana)
    assert [(one.theme, one.scope, one.type) for one in found.cells if one.proposed] == [("history", "local", "fact")]
    # A question of a person keeps needing all three.
    own = proposed(session, ana, "Quem cuida do porto?")
    with pytest.raises(QuestionError, match="theme"):
        revise(session, ana, own, "Quem cuida do cais?")


def test_drafts_without_a_theme_are_counted_outside(session: AnnotationSession) -> None:
    ana = sign_in(session, "ana")
    drafted(session)
    drafted(session, "Quem mora no morro?", theme="history", scope="local", type="fact")
    found = questions.coverage(session, ana)
    assert (sum(one.proposed for one in found.cells), found.outside) == (1, 1)


def test_a_leads_download_does_not_say_whose_draft_it_is(session: AnnotationSession) -> None:
    ana, lea = sign_in(session, "ana"), sign_in(session, "lea", "lead")
    accepted(session, ana, drafted(session))
    for form in ("tsv", "jsonl"):
        _, data = questions.questions_file(session, lea, form)
        assert QUERY in data.decode()
        assert MODEL not in data.decode()
        assert "drafted" not in data.decode()
    assert json.loads(data)["query_id"] == "q0001"


class DecidingOnDrafts(RuleBasedStateMachine):
    """Three people, one of them a lead, do whatever is offered to them on a draft. Oracle: who wrote the text as it is
    now, kept next to it."""

    folder: Path

    @initialize()
    def begin(self) -> None:
        self.session = AnnotationSession.open(workspace(self.folder / uuid4().hex, read=False))
        self.tokens = {
            "ana": sign_in(self.session, "ana"), "bia": sign_in(self.session, "bia"),
            "lea": sign_in(self.session, "lea", "lead"),
        }  # fmt: skip
        self.question = drafted(self.session)
        self.writer, self.state, self.number = "", "proposed", 0

    @rule(name=st.sampled_from(["ana", "bia", "lea"]), action=st.sampled_from(["accept", "revise", "withdraw"]))
    def act(self, name: str, action: str) -> None:
        token, at = self.tokens[name], seen(self.session, self.question)
        self.number += 1
        try:
            if action == "accept":
                questions.accept(self.session, token, self.question, at, nonce())
            elif action == "withdraw":
                questions.withdraw(self.session, token, self.question, at, nonce(), "because")
            else:
                revise(self.session, token, self.question, f"{QUERY} {self.number}")
        except ForbiddenError:
            return
        if action == "accept":
            assert (self.writer != name, self.state) == (True, "proposed")
            self.state = "accepted"
        elif action == "withdraw":
            assert self.state == "proposed" or name == "lea"
            self.state = "withdrawn"
        else:
            assert self.state in ("proposed", "withdrawn")
            self.writer, self.state = name, "proposed"

    @invariant()
    def somebody_can_go_on(self) -> None:
        if hasattr(self, "question") and self.state == "proposed":
            offers = {name: may(self.session, token, self.question) for name, token in self.tokens.items()}
            able = [name for name, offered in offers.items() if "accepted" in offered]
            assert able == [name for name in self.tokens if name != self.writer]

    def teardown(self) -> None:
        if hasattr(self, "session"):
            self.session.close()


def test_nobody_accepts_their_own_wording_whatever_happens(tmp_path: Path) -> None:
    DecidingOnDrafts.folder = tmp_path
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        DecidingOnDrafts, settings=settings(max_examples=12, stateful_step_count=12, deadline=None)
    )
