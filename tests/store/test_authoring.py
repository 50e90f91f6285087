"""Who gets which task, what of what people do is stored, and what is refused and why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from quati_pool.store.authoring import Authoring
from quati_pool.store.authoring_records import (
    Entry,
    Item,
    NewEntry,
    NewItem,
    RoundProgress,
    RoundRules,
    Wanted,
    as_added,
)
from quati_pool.store.database import Store
from quati_pool.store.errors import ConflictError, StoreError
from quati_pool.store.questions import Questions
from quati_pool.store.records import QuestionEvent
from quati_pool.store.schema import authoring_entries
from tests.store.authoring import LEASE, Rounds, drafts, give, nonce, rounds, run_out, source, taken


def written(store: Store) -> int:
    with store.reading() as connection:
        return int(connection.execute(select(func.count()).select_from(authoring_entries)).scalar_one())


def refused(store: Store, reason: str, do: Any, *arguments: Any, **values: Any) -> str:
    """What is said of a conflict, in one line; nothing was written."""
    before = written(store)
    with pytest.raises(ConflictError) as caught:
        do(*arguments, **values)
    assert caught.value.reason == reason
    assert written(store) == before
    said = str(caught.value)
    assert "\n" not in said
    return said


def asked(authoring: Authoring, author: str = "ana", questions: int = 1) -> list[Item]:
    """Questions that somebody writes from the first text."""
    assert authoring.next(author, lead=False, lease_seconds=LEASE, rounds=["write"])
    for _ in range(1 + questions):
        give(authoring, author)
    return authoring.items("question")


def states(authoring: Authoring) -> list[tuple[str, int, str, str | None, int]]:
    return [(one.round, one.replicate, one.state, one.holder, one.step) for one in authoring.tasks()]


# Items


def test_items_are_added_once_and_stay_as_people_saw_them(store: Store) -> None:
    authoring = rounds(store, texts=2)
    before = authoring.items()
    assert authoring.add([source(1), source(2, "changed"), source(3), source(3), source(3, "else")]) == (1, 2, 2)
    assert authoring.items()[:2] == before
    assert [(one.source_id, one.content["text"]) for one in authoring.items()] == [
        ("t1", "Um texto."), ("t2", "Um texto."), ("t3", "Um texto.")
    ]  # fmt: skip
    assert authoring.add([]) == (0, 0, 0)
    # The same source_id of another kind is another item.
    assert authoring.add([NewItem("question", "t1", {}, 0, parent_id=1)]) == (1, 0, 0)
    assert [one.source_id for one in authoring.items("question")] == ["t1"]


def test_collections_and_designs_are_kept_apart(store: Store) -> None:
    authoring, elsewhere = rounds(store), rounds(store, collection="quati")
    other = Authoring(store, "pira", "tests/other", Rounds())
    seq = give(authoring, "ana")
    task = taken(authoring, "ana")
    for one in (elsewhere, other):
        assert one.entries() == {}
        assert one.last("ana") is None
        assert one.task(task.task_id) is one.item(task.item_id) is None
        assert "it is not there" in refused(store, "gone", one.end, "ana", task.task_id, nonce())
        refused(store, "gone", one.undo, "ana", seq, nonce(), LEASE)
        refused(store, "gone", one.give_back, task.task_id, "lea", nonce())
        refused(store, "gone", one.restore, task.item_id, "lea", nonce())
    assert other.next("bia", lead=False, lease_seconds=LEASE) is None
    assert other.add([source(1)]) == (1, 0, 0)
    assert other.progress()[0] == RoundProgress("write", 1, 0, 0)
    with pytest.raises(StoreError, match="item 1: there is no such item"):
        other.add([NewItem("question", "q1", {}, 0, parent_id=task.item_id)])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"text": "a\x00b"}, "it holds the character U+0000, which databases cannot store; remove it"),
        ({"text": {"pt": ["ok", "\ud800"]}}, "it holds the character U+D800"),
        ({"\udfff": 1}, "it holds the character U+DFFF"),
        ({"spans": [(0, float("nan"))]}, "it holds the number nan, which JSON has not"),
    ],
)
def test_content_that_no_database_holds_is_refused_in_one_line(store: Store, content: Any, said: str) -> None:
    authoring = rounds(store)
    task = taken(authoring, "ana")
    before = written(store)
    for send in (
        lambda: authoring.add([NewItem("text", "t2", content, 0)]),
        lambda: authoring.submit("ana", task.task_id, 0, NewEntry(content, nonce())),
    ):
        with pytest.raises(StoreError, match=said.replace("+", r"\+")) as caught:
            send()
        assert "\n" not in str(caught.value)
    for value in ("a\x00b", "\ud800"):
        with pytest.raises(StoreError, match="ana's entry: it holds the character"):
            authoring.refuse("ana", task.task_id, 0, "other", value, nonce())
        with pytest.raises(StoreError, match="ana's entry: it holds the character"):
            authoring.skip("ana", task.task_id, value)
        with pytest.raises(StoreError, match="it holds the character"):
            authoring.add([NewItem("text", value, {}, 0)])
    assert written(store) == before
    assert len(authoring.items()) == 1


def test_any_other_text_is_stored_as_it_is(store: Store) -> None:
    content = {"text": "\x01\x1a\x7f\u2028 ação 🦀 <script>\\u0000 \"'\n", "n": [1, 1.5, True, None], "": {}}
    authoring = rounds(store)
    authoring.add([NewItem("text", "t\x1a2", content, 0)])
    task = taken(authoring, "ana")
    authoring.refuse("ana", task.task_id, 0, "\x1a0000", content["text"], nonce())
    assert authoring.items()[1].content == content
    assert authoring.items()[1].source_id == "t\x1a2"
    last = authoring.last("ana")
    assert last is not None
    assert (last.reason, last.content) == ("\x1a0000", {"comment": content["text"]})


def test_a_drafter_is_registered_first(store: Store) -> None:
    authoring = rounds(store)
    drafted = source(2)._replace(drafted_by="draft-1")
    with pytest.raises(StoreError, match="draft-1: no version of this name is registered"):
        authoring.add([drafted])
    store.register("draft-1", "judge", {"model": "m"})
    assert authoring.add([drafted]) == (1, 0, 0)
    assert authoring.items()[1].drafted_by == "draft-1"
    assert store.labelers("pira") == []


# Drafts


def test_an_item_that_nobody_has_opened_takes_one_draft(store: Store) -> None:
    authoring = drafts(store, 4)
    items = authoring.items()
    seen, free, held, late = (item.item_id for item in items)
    give(authoring, "ana", task=taken(authoring, "ana"))
    assert [task.item_id for task in authoring.tasks() if task.state == "done"] == [seen]
    sent = {item.item_id: {"question.en": f"Draft {item.item_id}?"} for item in items}
    assert authoring.draft({free: sent[free]}, "m1") == {free}
    # One that was seen, also if that was all, and one that has a draft stay as they are.
    opened = taken(authoring, "ana")
    assert (opened.item_id, opened.round) == (free, "draft")
    authoring.skip("ana", opened.task_id, nonce())
    assert taken(authoring, "ana").item_id == held
    before = authoring.items()
    assert authoring.draft({one: {"question.en": "Another?"} for one in (seen, free, held)}, "m1") == set()
    assert authoring.items() == before
    assert authoring.draft(sent, "m1") == {late}
    assert authoring.draft(sent, "m1") == authoring.draft({}, "m1") == authoring.draft({999: {"a": "b"}}, "m1") == set()
    assert [(item.content.get("draft"), item.drafted_by) for item in authoring.items()] == [
        (None, None), (sent[free], "m1"), (None, None), (sent[late], "m1")
    ]  # fmt: skip
    assert [(task.round, task.state) for task in authoring.tasks() if task.item_id == late] == [
        ("write", "withdrawn"), ("draft", "open")
    ]  # fmt: skip


def test_an_item_that_was_only_seen_takes_no_draft_though_it_is_nobodys_again(store: Store) -> None:
    authoring = drafts(store)
    task = taken(authoring, "ana")
    authoring.skip("ana", task.task_id, nonce())
    authoring.skip("ana", task.task_id, nonce())
    assert authoring.tasks()[0].holder is None
    assert authoring.draft({task.item_id: {"question.en": "Who?"}}, "m1") == set()


def test_a_drafted_item_is_the_same_item_when_it_is_added_again(store: Store) -> None:
    authoring = drafts(store)
    [item] = authoring.items()
    authoring.draft({item.item_id: {"question.en": "Who?"}}, "m1")
    assert authoring.add([source(1)]) == (0, 1, 0)
    assert authoring.add([source(1, "changed")]) == (0, 0, 1)
    authoring.reconcile_all()
    [after] = authoring.items()
    assert after.content == {**item.content, "draft": {"question.en": "Who?"}}
    assert as_added(after.content) == item.content


def test_a_draft_that_cannot_be_stored_changes_nothing(store: Store) -> None:
    authoring = drafts(store, 2)
    one, other = (item.item_id for item in authoring.items())
    with pytest.raises(StoreError, match="m2: no version of this name is registered"):
        authoring.draft({one: {"question.en": "Who?"}}, "m2")
    with pytest.raises(StoreError, match=r"the draft of item \d+: it holds the character U\+0000"):
        authoring.draft({one: {"question.en": "Who?"}, other: {"question.en": "W\0?"}}, "m1")
    assert all("draft" not in item.content for item in authoring.items())
    text = "Quem? 'é\x1a0 \U0001f433\n"
    assert authoring.draft({one: {"question.en": text}}, "m1") == {one}
    assert authoring.items()[0].content["draft"] == {"question.en": text}


def test_drafts_of_many_items_and_of_other_collections(store: Store) -> None:
    authoring = drafts(store, 1_200)
    other = Authoring(store, "other", "tests/drafts", authoring._plan)
    other.add([source(1)])
    ids = [item.item_id for item in (*authoring.items(), *other.items())]
    assert authoring.draft({one: {"question.en": f"Who is {one}?"} for one in ids}, "m1") == set(ids[:-1])
    assert {item.item_id: item.content["draft"]["question.en"] for item in authoring.items()} == {
        one: f"Who is {one}?" for one in ids[:-1]
    }
    assert {(row.round, row.open) for row in authoring.progress()} == {("write", 0), ("draft", 1_200), ("check", 0)}


def test_a_refused_draft_is_not_taken_up_again_once_somebody_has_gone_on(store: Store) -> None:
    authoring = drafts(store)
    [item] = authoring.items()
    authoring.draft({item.item_id: {"question.en": "Who?"}}, "m1")
    task = taken(authoring, "ana")
    seq = authoring.refuse("ana", task.task_id, 0, "unclear", None, nonce()).seq
    authoring.undo("ana", seq, nonce(), LEASE)
    seq = authoring.refuse("ana", task.task_id, 0, "unclear", None, nonce()).seq
    own = taken(authoring, "bia")
    assert own.round == "write"
    refused(store, "used", authoring.undo, "ana", seq, nonce(), LEASE)
    written_by_bia = give(authoring, "bia", task=own)
    refused(store, "used", authoring.undo, "ana", seq, nonce(), LEASE)
    authoring.undo("bia", written_by_bia, nonce(), LEASE)
    give(authoring, "bia")
    assert [(task.round, task.state) for task in authoring.tasks()] == [
        ("write", "done"), ("draft", "done"), ("check", "open")
    ]  # fmt: skip
    assert authoring.next("ana", lead=False, lease_seconds=LEASE) is None


def test_a_version_that_is_renamed_takes_what_it_drafted_with_it(store: Store) -> None:
    authoring = drafts(store)
    authoring.draft({authoring.items()[0].item_id: {"question.en": "Who?"}}, "m1")
    questions = Questions(store, "pira")
    questions.add_event(QuestionEvent(by="", action="proposed", query="Who?", nonce="n", drafted_by="m1"))
    store.register("m2", "judge", {"name": "the same model"})
    store.rename_version("m1", "m2")
    assert store.definition("m1") is None
    assert authoring.items()[0].drafted_by == "m2"
    assert [one.last.drafted_by for one in questions.current()] == ["m2"]


# Who gets what


def test_a_person_goes_on_with_what_they_hold_and_others_get_the_next_in_line(store: Store) -> None:
    authoring = rounds(store, texts=3)
    authoring.add([NewItem("text", "first", {}, -(2**63))])
    assert [taken(authoring, name).item_id for name in ("ana", "ana", "bia", "caio", "lea")] == [4, 4, 1, 2, 3]
    assert authoring.next("dora", lead=False, lease_seconds=LEASE) is None
    assert [len(entries) for entries in authoring.entries().values()] == [1, 1, 1, 1]


def test_later_rounds_come_first(store: Store) -> None:
    authoring = rounds(store, texts=5)
    asked(authoring, "ana")
    assert taken(authoring, "bia").round == "assess"
    for _ in range(2):
        give(authoring, "bia")
    assert [taken(authoring, name).round for name in ("bia", "lea", "leo")] == ["write", "curate", "write"]
    # Only in these rounds.
    for wanted in ([], ["assess"], ["curate"], ["nothing"]):
        assert authoring.next("caio", lead=False, lease_seconds=LEASE, rounds=wanted) is None
    assert authoring.next("caio", lead=False, lease_seconds=LEASE, rounds=["write", "curate"])


def test_nobody_assesses_what_they_wrote_or_assessed_and_leads_assess_nothing(store: Store) -> None:
    authoring = rounds(store, assessors=2)
    [question] = asked(authoring, "ana")
    authoring.end("ana", 1, nonce())
    for name in ("ana", "lea"):
        assert authoring.next(name, lead=name == "lea", lease_seconds=LEASE) is None
    first = taken(authoring, "bia")
    for _ in range(2):
        give(authoring, "bia")
    assert authoring.next("bia", lead=False, lease_seconds=LEASE) is None
    second = taken(authoring, "caio")
    assert (first.item_id, second.item_id) == (question.item_id, question.item_id)
    assert first.replicate != second.replicate
    assert authoring.unassignable({"ana": False, "caio": False}) == {}
    assert authoring.unassignable({"ana": False, "bia": False, "lea": True}) == {"assess": 1}
    assert authoring.unassignable({"ana": False, "bia": False, "dora": False}) == {}
    assert authoring.unassignable({}) == {"assess": 1}


def test_who_has_only_seen_an_item_gets_it_back_and_no_other_task_of_it(store: Store) -> None:
    authoring = rounds(store, assessors=2)
    [question] = asked(authoring, "ana")
    first = taken(authoring, "bia")
    run_out(store, "bia")
    assert taken(authoring, "caio").task_id == first.task_id  # the first in line, over which bia's lease is
    assert authoring.next("bia", lead=False, lease_seconds=LEASE) is None  # who has seen the question
    run_out(store, "caio")
    again = taken(authoring, "bia")
    assert (again.task_id, again.holder) == (first.task_id, "bia")
    entries = authoring.entries([question.item_id])[question.item_id]
    assert [(entry.by, entry.action) for entry in entries] == [(name, "opened") for name in ("bia", "caio", "bia")]


class ApartFromTheParent(Rounds):
    @property
    def rules(self) -> dict[str, RoundRules]:
        rules = super().rules
        return {**rules, "assess": rules["assess"]._replace(apart="parent")}


def test_a_round_may_be_apart_from_the_parent_too(store: Store) -> None:
    authoring = Authoring(store, "pira", "tests/rounds", ApartFromTheParent(assessors=1))
    authoring.add([source(1)])
    taken(authoring, "bia")
    run_out(store, "bia")
    asked(authoring, "ana")
    assert authoring.next("bia", lead=False, lease_seconds=LEASE) is None  # who has seen the text
    assert authoring.unassignable({"ana": False, "bia": False}) == {"assess": 1}
    assert authoring.unassignable({"ana": False, "bia": False, "caio": False}) == {}
    assert taken(authoring, "caio").round == "assess"


def test_who_worked_on_what_came_of_an_item_does_not_assess_it(store: Store) -> None:
    """They may have seen there what the round keeps from them."""
    authoring = rounds(store)
    [question] = asked(authoring, "ana")
    authoring.add([NewItem("derived", "d1", {}, -1, question.item_id)])
    assert taken(authoring, "bia").item_id != question.item_id
    give(authoring, "bia")
    give(authoring, "bia")
    assert authoring.next("bia", lead=False, lease_seconds=LEASE) is None
    assert authoring.unassignable({"ana": False, "bia": False, "lea": True}) == {"assess": 1}
    assert authoring.unassignable({"ana": False, "bia": False, "caio": False, "lea": True}) == {}
    assert taken(authoring, "caio").item_id == question.item_id


def test_a_lease_ends_and_is_renewed_only_by_its_holder(store: Store) -> None:
    authoring = rounds(store)
    task = taken(authoring, "ana")
    assert task.leased_until is not None
    assert taken(authoring, "ana") == task  # more than half is left
    longer = taken(authoring, "ana", lease=4 * LEASE)
    assert longer.leased_until is not None
    assert longer.leased_until - task.leased_until == pytest.approx(3 * LEASE, abs=60)
    run_out(store, "ana")
    again = taken(authoring, "ana")  # nobody else has claimed it
    assert again.leased_until is not None
    assert again.leased_until == pytest.approx(task.leased_until, abs=60)
    run_out(store, "ana")
    assert taken(authoring, "bia").task_id == task.task_id
    assert "task 1: it is somebody else's now; nothing was written" in refused(
        store, "taken", give, authoring, "ana", "yes", task
    )


def test_what_is_stored_in_a_task_keeps_it_with_its_holder(store: Store) -> None:
    authoring = rounds(store)
    give(authoring, "ana")
    run_out(store, "ana")
    assert authoring.next("bia", lead=False, lease_seconds=LEASE) is None
    kept = taken(authoring, "ana")
    assert (kept.holder, kept.leased_until, kept.step) == ("ana", None, 1)
    assert authoring.unassignable({"ana": False}) == {}
    assert authoring.unassignable({"bia": False, "lea": True}) == {"write": 1}  # until a lead frees it


def test_a_skipped_task_comes_after_the_others_and_is_given_back_when_skipped_again(store: Store) -> None:
    authoring = rounds(store, texts=2)
    first = taken(authoring, "ana")
    assert authoring.skip("ana", first.task_id, "s1") == authoring.skip("ana", first.task_id, "s1")._replace(
        again=False
    )
    second = taken(authoring, "ana")
    assert (first.item_id, second.item_id) == (1, 2)
    authoring.skip("ana", second.task_id, nonce())
    again = taken(authoring, "ana")
    assert (again.task_id, again.holder, again.skips) == (first.task_id, "ana", 1)
    authoring.skip("ana", first.task_id, nonce())
    given_back = authoring.task(first.task_id)
    assert given_back is not None
    assert (given_back.holder, given_back.leased_until, given_back.skips) == (None, None, 2)
    assert taken(authoring, "ana").task_id == second.task_id
    # Others get it after all that was not skipped twice.
    authoring.add([source(9)])
    assert [taken(authoring, name).item_id for name in ("bia", "caio")] == [3, 1]


def test_a_skipped_task_in_which_something_is_stored_is_not_given_back(store: Store) -> None:
    authoring = rounds(store)
    give(authoring, "ana")
    for count in (1, 2, 3):
        task = taken(authoring, "ana")
        authoring.skip("ana", task.task_id, nonce())
        assert (taken(authoring, "ana").skips, taken(authoring, "ana").leased_until) == (count, None)
    give(authoring, "ana")
    assert taken(authoring, "ana").skips == 0


# What is stored, and what is refused


def test_an_item_goes_through_its_rounds(store: Store) -> None:
    authoring = rounds(store)
    [question] = asked(authoring, "ana")
    made = authoring.last("ana")
    assert made is not None
    assert (question.parent_id, question.made_by, question.state) == (1, made.seq, "open")
    assert authoring.progress() == [("write", 0, 1, 0), ("assess", 1, 0, 0), ("curate", 0, 0, 0)]
    authoring.end("ana", 1, nonce())
    give(authoring, "bia")
    assert states(authoring)[1] == ("assess", 1, "open", "bia", 1)
    give(authoring, "bia")
    give(authoring, "lea")
    assert [item.state for item in authoring.items()] == ["kept", "kept"]
    assert states(authoring) == [
        ("write", 1, "done", "ana", 1), ("assess", 1, "done", "bia", 2), ("curate", 1, "done", "lea", 1)
    ]  # fmt: skip
    assert authoring.items(state="open") == []
    assert authoring.items("text", "kept") == authoring.items()[:1]
    assert [(entry.by, entry.action) for entry in authoring.entries([question.item_id, 99])[question.item_id]] == [
        ("bia", "opened"), ("bia", "given"), ("bia", "given"), ("lea", "opened"), ("lea", "given")
    ]  # fmt: skip


def test_an_entry_is_written_once_by_its_nonce(store: Store) -> None:
    authoring = rounds(store)
    task = taken(authoring, "ana")
    entry = NewEntry({"related": "yes"}, "n1", 1.5, None)
    seq, again = authoring.submit("ana", task.task_id, 0, entry)
    assert (again, authoring.submit("ana", task.task_id, 0, entry)) == (False, (seq, True))
    made = NewItem("question", "q1", {"question": "?"}, 0)
    first = authoring.submit("ana", task.task_id, 1, NewEntry({"question": "?"}, "n2"), makes=made)
    # The times of a page that sends again may differ.
    assert authoring.submit("ana", task.task_id, 1, NewEntry({"question": "?"}, "n2", 9.0), makes=made) == (
        first.seq,
        True,
    )
    ended = authoring.end("ana", task.task_id, "n3")
    assert authoring.end("ana", task.task_id, "n3") == (ended.seq, True)
    undone = authoring.undo("ana", ended.seq, "n4", LEASE)
    assert authoring.undo("ana", ended.seq, "n4", LEASE) == undone
    # Also after it was undone.
    assert authoring.end("ana", task.task_id, "n3") == (ended.seq, True)
    assert written(store) == 5
    for send in (
        lambda: authoring.submit("ana", task.task_id, 0, entry._replace(content={"related": "no"})),
        lambda: authoring.submit("ana", task.task_id, 1, entry),
        lambda: authoring.submit("bia", task.task_id, 0, entry),
        lambda: authoring.submit("ana", 99, 0, entry),
        lambda: authoring.end("ana", task.task_id, "n1"),
        lambda: authoring.skip("ana", task.task_id, "n1"),
        lambda: authoring.refuse("ana", task.task_id, 0, "unclear", None, "n1"),
        lambda: authoring.undo("ana", seq, "n4", LEASE),
        lambda: authoring.give_back(task.task_id, "lea", "n1"),
        lambda: authoring.restore(task.item_id, "lea", "n1"),
        lambda: rounds(store, collection="quati").end("ana", task.task_id, "n3"),
    ):
        with pytest.raises(StoreError, match="this nonce was already used for another entry; reload the page"):
            send()
    assert written(store) == 5


def test_what_a_round_does_not_have_is_refused(store: Store) -> None:
    authoring = rounds(store)
    task = taken(authoring, "ana")
    made = NewItem("question", "q1", {}, 0)
    with pytest.raises(StoreError, match="write: step 0 makes no item; send the entry alone"):
        authoring.submit("ana", task.task_id, 0, NewEntry({}, nonce()), makes=made)
    assert "it has changed since" in refused(store, "changed", authoring.end, "ana", task.task_id, nonce())
    give(authoring, "ana")
    with pytest.raises(StoreError, match="write: step 1 makes an item; send the item"):
        authoring.submit("ana", task.task_id, 1, NewEntry({}, nonce()))
    authoring.submit("ana", task.task_id, 1, NewEntry({}, nonce()), makes=made)
    before = written(store)
    with pytest.raises(StoreError, match="question 'q1': there is such an item already"):
        authoring.submit("ana", task.task_id, 1, NewEntry({}, nonce()), makes=made)
    assert written(store) == before
    other = taken(authoring, "bia")
    with pytest.raises(StoreError, match="assess: this round ends with its last step"):
        authoring.end("bia", other.task_id, nonce())


def test_a_task_that_is_not_ones_own_or_is_done_takes_no_entry(store: Store) -> None:
    authoring = rounds(store, texts=2)
    asked(authoring, "ana")
    task = taken(authoring, "bia")
    refused(store, "changed", authoring.submit, "bia", task.task_id, 1, NewEntry({}, nonce()))
    refused(store, "taken", authoring.submit, "caio", task.task_id, 0, NewEntry({}, nonce()))
    refused(store, "taken", authoring.refuse, "caio", task.task_id, 0, "unclear", None, nonce())
    refused(store, "taken", authoring.skip, "caio", task.task_id, nonce())
    refused(store, "taken", authoring.submit, "bia", 2, 0, NewEntry({}, nonce()))  # nobody's
    refused(store, "gone", authoring.submit, "bia", 99, 0, NewEntry({}, nonce()))
    for _ in range(2):
        give(authoring, "bia")
    assert "it is done already" in refused(store, "done", authoring.skip, "bia", task.task_id, nonce())
    refused(store, "done", authoring.give_back, task.task_id, "lea", nonce())


def test_a_refusal_puts_an_item_out_and_withdraws_what_others_do_with_it(store: Store) -> None:
    authoring = rounds(store, assessors=3)
    [question] = asked(authoring, "ana")
    first, second = taken(authoring, "bia"), taken(authoring, "caio")
    give(authoring, "caio")
    seq = authoring.refuse("bia", first.task_id, 0, "unclear", "Why?", nonce()).seq
    entry = authoring.entry(seq=seq)
    assert entry is not None
    assert (entry.action, entry.reason, entry.content, entry.step) == ("refused", "unclear", {"comment": "Why?"}, 0)
    out = authoring.item(question.item_id)
    assert out is not None
    assert (out.state, out.reason) == ("out", "unclear")
    # What caio has stored stays caio's, for the case that the refusal is undone.
    assert states(authoring)[1:] == [
        ("assess", 1, "done", "bia", 0), ("assess", 2, "withdrawn", "caio", 1), ("assess", 3, "withdrawn", None, 0)
    ]  # fmt: skip
    assert "no longer wanted" in refused(store, "withdrawn", authoring.skip, "caio", second.task_id, nonce())
    refused(store, "withdrawn", authoring.give_back, second.task_id, "lea", nonce())
    authoring.undo("bia", seq, nonce(), LEASE)
    assert states(authoring)[1:] == [
        ("assess", 1, "open", "bia", 0), ("assess", 2, "open", "caio", 1), ("assess", 3, "open", None, 0)
    ]  # fmt: skip
    bias, caios = authoring.task(first.task_id), authoring.task(second.task_id)
    assert bias is not None
    assert bias.leased_until is not None  # nothing is stored in it
    assert caios is not None
    assert caios.leased_until is None
    give(authoring, "caio")


def test_a_person_does_again_what_they_took_back_in_a_round_that_is_apart(store: Store) -> None:
    authoring = rounds(store)
    [question] = asked(authoring, "ana")
    task = taken(authoring, "bia")
    seq = authoring.refuse("bia", task.task_id, 0, "unclear", None, nonce()).seq
    authoring.undo("bia", seq, nonce(), LEASE)
    assert taken(authoring, "bia") == authoring.task(task.task_id)
    # Also once their lease is over, or a lead has freed the task; what was not taken back counts.
    authoring.give_back(task.task_id, "lea", nonce())
    assert authoring.unassignable({"ana": False, "bia": False}) == {}
    assert taken(authoring, "bia").task_id == task.task_id
    authoring.refuse("bia", task.task_id, 0, "unclear", None, nonce())
    authoring.restore(question.item_id, "lea", nonce())
    assert authoring.unassignable({"ana": False, "bia": False}) == {"assess": 1}
    assert authoring.next("bia", lead=False, lease_seconds=LEASE) is None


def test_what_a_person_said_since_a_moment_is_counted_without_what_they_took_back(store: Store) -> None:
    authoring = rounds(store)
    start = datetime.now(UTC)
    asked(authoring, "ana", questions=2)
    last = authoring.last("ana")
    assert last is not None
    assert [authoring.said_since(name, start) for name in ("ana", "bia")] == [3, 0]
    assert authoring.said_since("ana", last.created_at) == 1
    assert authoring.said_since("ana", last.created_at + timedelta(microseconds=1)) == 0
    authoring.undo("ana", last.seq, nonce(), LEASE)
    assert authoring.said_since("ana", start) == 2
    assert authoring.entry(nonce=last.nonce) == authoring.entry(seq=last.seq) == last
    assert authoring.entry(nonce="unknown") is authoring.entry(seq=999) is None
    assert rounds(store, collection="quati").entry(seq=last.seq) is None


def test_what_has_changed_since_an_entry_and_an_item(store: Store) -> None:
    authoring = rounds(store, texts=3)
    every = authoring.changes_since(0, 0)
    assert (every.seq, every.newest, list(every.items)) == (0, 3, authoring.items())
    [question] = asked(authoring, "ana")
    taken(authoring, "bia")
    rounds(store, texts=9, collection="quati")
    give(rounds(store, collection="quati"), "ana")
    since = authoring.changes_since(every.seq, every.newest)
    assert sorted(item.item_id for item in since.items) == [1, question.item_id]
    assert since.newest == question.item_id
    assert since.seq == max(entry.seq for some in authoring.entries().values() for entry in some)
    assert authoring.changes_since(since.seq, since.newest) == (since.seq, since.newest, [])
    assert question.made_by is not None
    # What was made of it is out, with an entry on the text alone.
    run_out(store, "bia")
    seq = give(authoring, "ana")
    authoring.undo("ana", seq, nonce(), LEASE)
    later = authoring.changes_since(since.seq, since.newest)
    assert {item.item_id: item.state for item in later.items} == {
        1: "open", question.item_id: "open", later.newest: "out"
    }  # fmt: skip


def test_a_skipped_task_whose_lease_is_over_stays_behind_the_others(store: Store) -> None:
    authoring = rounds(store, texts=2)
    first = taken(authoring, "ana")
    authoring.skip("ana", first.task_id, nonce())
    run_out(store, "ana")
    assert taken(authoring, "ana").item_id == 2
    task = authoring.task(first.task_id)
    assert task is not None
    assert (task.holder, task.skips) == ("ana", 1)


# Undo


def test_undo_goes_back_one_entry_at_a_time(store: Store) -> None:
    authoring = rounds(store)
    first = give(authoring, "ana")
    second = give(authoring, "ana")
    ended = authoring.end("ana", 1, nonce()).seq
    assert authoring.items()[0].state == "kept"
    refused(store, "changed", authoring.undo, "ana", first, nonce(), LEASE)
    assert authoring.undo("ana", ended, nonce(), LEASE) > ended
    assert authoring.items()[0].state == "open"
    assert states(authoring)[0] == ("write", 1, "open", "ana", 1)
    assert taken(authoring, "ana").leased_until is None
    refused(store, "changed", authoring.undo, "ana", ended, nonce(), LEASE)  # undone already
    last = authoring.last("ana")
    assert last is not None
    assert last.seq == second
    authoring.undo("ana", second, nonce(), LEASE)
    assert (taken(authoring, "ana").step, taken(authoring, "ana").leased_until) == (1, None)
    authoring.undo("ana", first, nonce(), LEASE)
    assert authoring.last("ana") is None
    assert taken(authoring, "ana").step == 0
    assert taken(authoring, "ana").leased_until is not None  # so others get it when the lease is over
    run_out(store, "ana")
    assert taken(authoring, "bia").task_id == 1
    refused(store, "gone", authoring.undo, "bia", ended, nonce(), LEASE)
    refused(store, "gone", authoring.undo, "ana", 999, nonce(), LEASE)
    refused(store, "gone", authoring.undo, "ana", 1, nonce(), LEASE)  # that the task was opened


def test_any_item_that_one_made_may_be_taken_back_until_somebody_has_seen_it(store: Store) -> None:
    authoring = rounds(store)
    first, second, third = asked(authoring, "ana", questions=3)
    authoring.end("ana", 1, nonce())
    assert first.made_by is not None
    authoring.undo("ana", first.made_by, nonce(), LEASE)
    back = authoring.item(first.item_id)
    assert back is not None
    assert (back.state, back.reason) == ("out", "withdrawn_by_author")
    # The text stays as it was ended.
    assert states(authoring) == [
        ("write", 1, "done", "ana", 1), ("assess", 1, "withdrawn", None, 0), ("assess", 1, "open", None, 0),
        ("assess", 1, "open", None, 0),
    ]  # fmt: skip
    seen = taken(authoring, "bia").item_id
    assert seen == second.item_id
    assert "somebody has worked on what came of it" in refused(
        store, "used", authoring.undo, "ana", second.made_by, nonce(), LEASE
    )
    run_out(store, "bia")  # who has seen it
    refused(store, "used", authoring.undo, "ana", second.made_by, nonce(), LEASE)
    authoring.add([NewItem("derived", "d1", {}, 0, parent_id=third.item_id)])
    refused(store, "used", authoring.undo, "ana", third.made_by, nonce(), LEASE)
    # Nobody else puts it back.
    assert "it is out for what it is" in refused(store, "used", authoring.restore, first.item_id, "lea", nonce())


def test_what_was_given_before_something_was_shown_cannot_be_undone(store: Store) -> None:
    authoring = rounds(store)
    asked(authoring, "ana")
    first = give(authoring, "bia")
    assert "what was hidden has been shown since" in refused(
        store, "revealed", authoring.undo, "bia", first, nonce(), LEASE
    )
    second = give(authoring, "bia")
    refused(store, "revealed", authoring.undo, "bia", first, nonce(), LEASE)
    authoring.undo("bia", second, nonce(), LEASE)
    refused(store, "revealed", authoring.undo, "bia", first, nonce(), LEASE)
    task = taken(authoring, "bia")
    assert (task.step, task.leased_until) == (1, None)
    # A refusal after it says nothing that was hidden.
    authoring.undo("bia", authoring.refuse("bia", task.task_id, 1, "unclear", None, nonce()).seq, nonce(), LEASE)
    assert taken(authoring, "bia").step == 1


def test_what_a_later_round_has_begun_from_cannot_be_undone(store: Store) -> None:
    authoring = rounds(store)
    asked(authoring, "ana")
    for _ in range(2):
        last = give(authoring, "bia")
    authoring.undo("bia", last, nonce(), LEASE)
    assert states(authoring)[2] == ("curate", 1, "withdrawn", None, 0)
    last = give(authoring, "bia")
    assert taken(authoring, "lea").round == "curate"
    refused(store, "used", authoring.undo, "bia", last, nonce(), LEASE)
    run_out(store, "lea")  # who has seen it
    refused(store, "used", authoring.undo, "bia", last, nonce(), LEASE)
    give(authoring, "lea")
    refused(store, "used", authoring.undo, "bia", last, nonce(), LEASE)


def test_who_has_seen_meanwhile_what_a_round_hides_is_not_served_the_task_that_they_hold(store: Store) -> None:
    authoring = rounds(store)
    [question] = asked(authoring, "ana")
    held = taken(authoring, "bia")
    authoring.add([NewItem("derived", "d1", {}, -1, question.item_id)])
    authoring.skip("bia", held.task_id, nonce())
    for _ in range(2):
        give(authoring, "bia")  # of the derived item
    assert authoring.next("bia", lead=False, lease_seconds=LEASE) is None
    run_out(store, "bia")
    assert authoring.next("bia", lead=False, lease_seconds=LEASE) is None
    assert taken(authoring, "caio").task_id == held.task_id


def test_what_a_lead_has_put_aside_is_not_the_last_entry(store: Store) -> None:
    authoring = rounds(store, texts=2)
    first = give(authoring, "ana")
    task = taken(authoring, "ana")
    authoring.give_back(task.task_id, "lea", nonce())
    assert authoring.last("ana") is None
    authoring.next("ana", lead=False, lease_seconds=LEASE)
    again = give(authoring, "ana")
    last = authoring.last("ana")
    assert last is not None
    assert (first < again, last.seq) == (True, again)


class CuratedAtAnyTime(Rounds):
    def wanted(self, item: Item, entries: Sequence[Entry]) -> Wanted:
        found = super().wanted(item, entries)
        return found if item.kind == "text" else found._replace(tasks=found.tasks | {("curate", 1)})


def test_what_a_later_round_has_said_something_about_cannot_be_undone_though_it_stays_wanted(store: Store) -> None:
    authoring = Authoring(store, "pira", "tests/rounds", CuratedAtAnyTime(assessors=1))
    authoring.add([source(1)])
    asked(authoring, "ana")
    for _ in range(2):
        last = give(authoring, "bia")
    curation = give(authoring, "lea")
    refused(store, "used", authoring.undo, "bia", last, nonce(), LEASE)
    authoring.undo("lea", curation, nonce(), LEASE)
    authoring.undo("bia", last, nonce(), LEASE)


# Leads


def test_a_lead_frees_a_kept_task_whose_entries_count_no_longer(store: Store) -> None:
    authoring = rounds(store)
    [question] = asked(authoring, "ana")
    first = give(authoring, "bia")
    for _ in range(2):
        authoring.give_back(2, "lea", "freed")
    task = authoring.task(2)
    assert task is not None
    assert (task.state, task.holder, task.leased_until, task.step, task.skips) == ("open", None, None, 0, 0)
    refused(store, "changed", authoring.give_back, 2, "lea", nonce())  # nobody's
    refused(store, "taken", authoring.undo, "bia", first, nonce(), LEASE)
    assert authoring.next("bia", lead=False, lease_seconds=LEASE) is None  # who has seen the answer
    assert taken(authoring, "caio").task_id == 2
    for _ in range(2):
        give(authoring, "caio")
    entries = authoring.entries([question.item_id])[question.item_id]
    assert [(entry.by, entry.action, entry.reason) for entry in entries] == [
        ("bia", "opened", None), ("bia", "given", None), ("lea", "released", "given_back"), ("caio", "opened", None),
        ("caio", "given", None), ("caio", "given", None),
    ]  # fmt: skip
    assert authoring.progress()[2] == ("curate", 1, 0, 0)


def test_the_questions_of_a_text_stay_when_the_text_is_given_back(store: Store) -> None:
    authoring = rounds(store)
    [question] = asked(authoring, "ana")
    authoring.give_back(1, "lea", nonce())
    assert authoring.item(question.item_id) == question
    assert taken(authoring, "bia").round == "assess"
    again = taken(authoring, "ana")  # a round that is not apart
    assert (again.round, again.step) == ("write", 0)


def test_an_item_is_restored_by_freeing_what_put_it_out(store: Store) -> None:
    authoring = rounds(store)
    give(authoring, "ana", "no")
    assert [(item.state, item.reason) for item in authoring.items()] == [("out", "unrelated")]
    assert states(authoring) == [("write", 1, "withdrawn", "ana", 1)]
    for _ in range(2):
        authoring.restore(1, "lea", "restored")
    assert [(item.state, item.reason) for item in authoring.items()] == [("open", None)]
    assert states(authoring) == [("write", 1, "open", None, 0)]
    assert "it has changed since" in refused(store, "changed", authoring.restore, 1, "lea", nonce())
    [question] = asked(authoring, "bia")
    for _ in range(2):
        give(authoring, "caio")
    task = taken(authoring, "lea")
    authoring.refuse("lea", task.task_id, 0, "repeated", None, nonce())
    authoring.restore(question.item_id, "leo", nonce())
    # What the assessor said stays; only the refusal is history.
    assert states(authoring)[1:] == [("assess", 1, "done", "caio", 2), ("curate", 1, "open", None, 0)]
    last = authoring.entries([question.item_id])[question.item_id][-1]
    assert (last.by, last.action, last.reason, last.task_id) == ("leo", "released", "restored", task.task_id)


class Majority(Rounds):
    """A question is out if two refuse it, and each is asked whatever the others say."""

    def wanted(self, item: Item, entries: Sequence[Entry]) -> Wanted:
        refusals = [entry for entry in entries if entry.action == "refused"]
        if item.kind == "question" and len(refusals) < self.assessors:
            return Wanted(frozenset(("assess", replicate) for replicate in (1, 2, 3)))
        return super().wanted(item, entries)


def test_every_refusal_is_freed_and_of_the_rest_as_much_as_is_needed(store: Store) -> None:
    plan = Majority(assessors=3)
    authoring = Authoring(store, "pira", "tests/rounds", plan)
    authoring.add([source(1)])
    [question] = asked(authoring, "ana")
    for name in ("bia", "caio"):
        authoring.refuse(name, taken(authoring, name).task_id, 0, "unclear", None, nonce())
    give(authoring, "dora")
    plan.assessors = 1
    authoring.reconcile_all()
    assert authoring.items()[1].state == "out"
    authoring.restore(question.item_id, "lea", "restored")
    authoring.restore(question.item_id, "lea", "restored")
    # dora's assessment is newer than both refusals, and stays; one nonce serves for both entries.
    released = [entry for entry in authoring.entries()[question.item_id] if entry.action == "released"]
    assert [(entry.task_id, entry.nonce) for entry in released] == [(3, "restored"), (2, None)]
    assert authoring.items()[1].state == "open"


# A design that changes


def test_other_parameters_take_effect_and_what_people_did_stays(store: Store) -> None:
    plan = Rounds(assessors=3)
    authoring = Authoring(store, "pira", "tests/rounds", plan)
    authoring.add([source(1)])
    asked(authoring, "ana")
    for name in ("bia", "caio"):
        give(authoring, name)
    taken(authoring, "dora")
    plan.assessors = 1
    authoring.reconcile_all()
    # caio's answer is stored and stays; dora had only seen the question.
    assert states(authoring)[1:] == [
        ("assess", 1, "open", "bia", 1), ("assess", 2, "open", "caio", 1), ("assess", 3, "withdrawn", None, 0)
    ]  # fmt: skip
    give(authoring, "caio")
    assert states(authoring)[2:] == [
        ("assess", 2, "done", "caio", 2), ("assess", 3, "withdrawn", None, 0), ("curate", 1, "open", None, 0)
    ]  # fmt: skip
    plan.assessors = 3
    authoring.reconcile_all()
    assert [state for _, _, state, _, _ in states(authoring)[1:]] == ["open", "done", "open", "withdrawn"]
    before = states(authoring)
    authoring.reconcile_all()
    assert states(authoring) == before


class OneStep(Rounds):
    @property
    def rules(self) -> dict[str, RoundRules]:
        return {"write": RoundRules(order=0, steps=1, several=True)}

    def wanted(self, item: Item, entries: Sequence[Entry]) -> Wanted:
        return Wanted(frozenset({("write", 1)} if item.kind == "text" else ()))


def test_rounds_and_steps_that_a_design_no_longer_has(store: Store) -> None:
    asked(rounds(store, texts=2), "ana")
    former = rounds(store, texts=2)
    assessing = taken(former, "bia")
    authoring = Authoring(store, "pira", "tests/rounds", OneStep())
    authoring.reconcile_all()
    assert taken(authoring, "ana").step == 0
    assert authoring.progress() == [("write", 1, 1, 0)]
    refused(store, "withdrawn", authoring.skip, "bia", assessing.task_id, nonce())
    assert taken(authoring, "bia").round == "write"
