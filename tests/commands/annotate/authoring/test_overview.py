"""How far the rounds are, for leads, and what a lead can put right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from quati_pool.commands.annotate.authoring import overview, work
from quati_pool.commands.annotate.authoring.overview import ItemCount, PersonRound
from quati_pool.commands.annotate.errors import ForbiddenError
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.authoring_records import NewItem, RoundProgress
from quati_pool.store.errors import ConflictError
from tests.commands.annotate.authoring.rounds import (
    TEXTS,
    end,
    filled,
    give,
    nonce,
    opened,
    rounds,
    sent,
    step,
    workspace,
)
from tests.commands.annotate.writers import sign_in


@pytest.fixture
def session(tmp_path: Path) -> Iterator[AnnotationSession]:
    with opened(workspace(tmp_path, TEXTS[:1])) as found:
        yield found


def refuse(session: AnnotationSession, token: str, reason: str, comment: str | None = None) -> None:
    shown = step(session, token)
    work.refuse(session, token, shown.item, shown.number, shown.sha, reason, comment, nonce())


def test_what_is_done_held_and_out(session: AnnotationSession) -> None:
    lea, ana, rui = sign_in(session, "lea", "lead"), sign_in(session, "ana"), sign_in(session, "rui")
    for number in range(4):
        give(session, ana, number)
    undone = step(session, ana).own[3].seq
    work.undo(session, ana, nonce(), undone)
    end(session, ana)
    give(session, lea, 5)
    give(session, lea, 6)
    refuse(session, lea, "other", "not about the tide")
    give(session, rui)
    shown = step(session, rui)
    work.submit(session, rui, sent(shown, filled(shown), active_seconds=None))
    found = overview.rounds_overview(session, lea)
    assert found.items == (ItemCount("text", 0, 1, 0), ItemCount("question", 2, 0, 2))
    assert found.rounds == (
        RoundProgress("subject", 0, 0, 0),
        RoundProgress("create", 0, 0, 1),
        RoundProgress("draft", 0, 0, 0),
        RoundProgress("edit", 0, 0, 3),
        RoundProgress("assess", 1, 1, 0),
        RoundProgress("curate", 0, 0, 0),
        RoundProgress("accept", 0, 0, 0),
        RoundProgress("choices", 0, 0, 0),
    )
    assert found.for_leads == frozenset({"edit", "curate"})
    # Rui may take the other one, and is no author.
    assert found.unassignable == {}
    assert found.people == (
        # Three sets and the end, whose time nobody measures; the fourth was taken back.
        PersonRound("ana", "create", 4, 7.5),
        PersonRound("lea", "edit", 3, 5.0),
        PersonRound("rui", "assess", 2, 2.5),
    )
    refused, withdrawn = found.out
    assert (refused.reason, refused.by, refused.comment, refused.restorable) == (
        "other",
        "lea",
        "not about the tide",
        True,
    )
    assert (withdrawn.reason, withdrawn.by, withdrawn.restorable) == ("withdrawn_by_author", None, False)
    assert withdrawn.text.startswith("whale")
    [held] = found.held
    assert (held.holder, held.round, held.kept) == ("rui", "assess", True)


def test_a_lead_restores_what_was_refused_and_frees_what_is_kept(session: AnnotationSession) -> None:
    lea, ana, rui = sign_in(session, "lea", "lead"), sign_in(session, "ana"), sign_in(session, "rui")
    eva = sign_in(session, "eva")
    give(session, ana)
    refuse(session, lea, "language")
    [out] = overview.rounds_overview(session, lea).out
    key = nonce()
    for _ in range(2):
        overview.restore(session, lea, out.item_id, key)
    with pytest.raises(ConflictError) as caught:
        overview.restore(session, lea, out.item_id, nonce())
    assert caught.value.reason == "changed"
    assert overview.rounds_overview(session, lea).out == ()
    give(session, lea)
    give(session, rui)
    [held] = [one for one in overview.rounds_overview(session, lea).held if one.round == "assess"]
    key = nonce()
    for _ in range(2):
        overview.give_back(session, lea, held.task_id, key)
    # Rui has seen the author's answer; somebody else begins again.
    assert work.next_step(session, rui) is None
    assert (step(session, eva).step.name, step(session, eva).number) == ("validation", 0)
    [again] = [one for one in overview.rounds_overview(session, lea).held if one.round == "assess"]
    assert (again.holder, again.kept) == ("eva", False)


def test_tasks_that_nobody_here_may_take(session: AnnotationSession) -> None:
    lea, ana = sign_in(session, "lea", "lead"), sign_in(session, "ana")
    give(session, ana)
    end(session, ana)
    give(session, lea)
    # One of them wrote it, the other is a lead.
    assert overview.rounds_overview(session, lea).unassignable == {"assess": 1}
    session.people.add("rui", "assessor", "H-rui", "none")
    assert overview.rounds_overview(session, lea).unassignable == {}
    session.people.revoke("rui")
    assert overview.rounds_overview(session, lea).unassignable == {"assess": 1}


def test_a_person_s_own_work(session: AnnotationSession) -> None:
    ana, rui = sign_in(session, "ana"), sign_in(session, "rui")
    for number in range(3):
        give(session, ana, number)
    work.undo(session, ana, nonce(), step(session, ana).own[1].seq)
    assert [one.text.split()[0] for one in overview.own_work(session, ana)] == ["gas", "tide"]
    assert overview.own_work(session, rui) == []


def test_what_is_derived_is_named_by_its_text(session: AnnotationSession) -> None:
    lea, ana = sign_in(session, "lea", "lead"), sign_in(session, "ana")
    derived = {"field": "paraphrase.1.en", "language": "en", "original": "What?", "text": "Which one?"}
    choices = {"languages": ["en"], "question": {"en": "Why?"}, "choices": {"en": ["a", "b"]}, "correct": 0}
    new = [NewItem("derived", "d", derived, 1, 1), NewItem("choices", "c", choices, 2, 1)]
    rounds(session).add(new)
    for reason in ("wrong", "not_distinct"):
        refuse(session, ana, reason)
    assert [one.text for one in overview.rounds_overview(session, lea).out] == ["Which one?", "Why?"]


def test_only_leads_see_it(session: AnnotationSession) -> None:
    ana = sign_in(session, "ana")
    with pytest.raises(ForbiddenError):
        overview.rounds_overview(session, ana)
    for call in (overview.restore, overview.give_back):
        with pytest.raises(ForbiddenError):
            call(session, ana, 1, nonce())
