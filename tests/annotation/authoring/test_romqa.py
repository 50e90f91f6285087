"""RoMQA's design: what an item wants and shows, what is released, and which clusters stay."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.annotation.authoring.base import Made, Source
from quati_pool.annotation.authoring.romqa import (
    BLOCK,
    CLUSTER,
    NOT_VERIFIED,
    QUERY,
    REFUSED_DRAFT,
    REFUSED_QUERY,
    REFUSED_QUESTION,
    SMALL_CLUSTER,
    Romqa,
    RomqaParameters,
    shown_ids,
)
from quati_pool.files.triples import EntityText
from quati_pool.store.authoring_records import Entry, EntryAction, Item, Wanted
from tests.commands.annotate.authoring.romqa_people import TEXTS, made_cluster

NAMES = {one["id"]: EntityText(one["label"], one["description"], tuple(one["aliases"])) for one in TEXTS}
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def design(seed: int = 0, **parameters: Any) -> Romqa:
    return Romqa(RomqaParameters(**parameters), ["en"], seed)


def source(number: int = 0, **changes: Any) -> Source:
    cluster = made_cluster(number, **changes)
    return Source(cluster["cluster_id"], cluster=cluster, names=NAMES)


def item(made: Made, item_id: int = 7, parent_id: int | None = 1) -> Item:
    return Item(
        item_id=item_id, kind=made.kind, source_id=made.source_id, parent_id=parent_id, content=made.content, place=0,
        state="open", reason=None, made_by=None, drafted_by=None, created_at=NOW,
    )  # fmt: skip


def query(place: int = 0) -> Item:
    return item(design().inner(source())[place])


class Written:
    """Entries on one item, in the order in which they are made."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def add(
        self,
        round_name: str,
        task_id: int,
        by: str,
        action: EntryAction = "given",
        reason: str | None = None,
        content: Mapping[str, Any] | None = None,
    ) -> Written:
        entry = Entry(
            seq=len(self.entries) + 1, item_id=7, task_id=task_id, round=round_name, step=0, by=by, action=action,
            content=content or {}, reason=reason, undoes=None, active_seconds=1.0, elapsed_seconds=2.0, nonce=None,
            created_at=NOW,
        )  # fmt: skip
        self.entries.append(entry)
        return self

    def asked(self, text: str = "Who plays?") -> Written:
        return self.add("write", 1, "ana", content={"question.en": text})


# What people write from


def test_a_cluster_becomes_an_item_and_its_queries_others() -> None:
    one = design()
    assert one.first(source()) == Made(CLUSTER, "c0", {"constraints": 3})
    first, second, third = one.inner(source())
    assert [made.source_id for made in (first, second, third)] == ["c0-1", "c0-2", "c0-3"]
    assert {made.kind for made in (first, second, third)} == {QUERY}
    occupation = {
        "property": {
            "id": "P106",
            "label": "occupation",
            "description": "what a person does",
            "aliases": ["profession", "job"],
        },
        "entity": {
            "id": "Q1",
            "label": "pianist",
            "description": "person who plays the piano",
            "aliases": ["piano player"],
        },
        "side": "subj",
        "negated": False,
    }
    assert second.content["constraints"][0] == occupation
    assert [(one["side"], one["negated"]) for one in second.content["constraints"]] == [("subj", False), ("subj", True)]
    assert one.in_short(item(second), []) == "occupation → pianist; place of birth ↛ Brazil"
    assert one.in_short(item(second), Written().asked("Who plays?").entries) == "Who plays?"
    # Two answers with a label and three that are called by their ids, of five.
    assert second.content["answers"] == ["Ana Lima", "Bia Reis", "B0.1.00", "B0.1.01", "B0.1.02"]
    assert second.content["count"] == 5
    # A text each of five answers and three others.
    assert second.content["evidence"] == 8
    assert second.content["cluster_id"] == "c0"


def test_texts_that_are_evidence_of_several_candidates_count_once_and_no_evidence_is_not_zero() -> None:
    cluster = made_cluster(0)
    for candidate in cluster["queries"][0]["candidates"]:
        candidate["evidence"] = [{**candidate["evidence"][0], "text": "The same."}]
    cluster["queries"][1]["candidates"] = [{**one, "evidence": []} for one in cluster["queries"][1]["candidates"]]
    contents = [made.content for made in design().inner(Source("c0", cluster=cluster, names=NAMES))]
    assert [content["evidence"] for content in contents] == [1, 0, 11]  # 3 wrong ones and 8 answers
    contents = [made.content for made in design().inner(source(evidence=False))]
    assert [content["evidence"] for content in contents] == [None] * 3


def test_at_most_ten_answers_are_shown_and_only_the_ids_on_pages_are_named() -> None:
    cluster = made_cluster(0, 4)
    last = design().inner(Source("c0", cluster=cluster, names={}))[3].content
    assert (len(last["answers"]), last["count"]) == (10, 11)
    assert last["constraints"][0]["entity"] == {"id": "Q3", "label": "Q3", "description": "", "aliases": []}
    hidden = {one for query in cluster["queries"] for one in query["answers"][10:]}
    assert hidden == {"B0.3.08"}
    wanted = {"P106", "P19", "P166", "Q1", "Q2", "Q3", *(x for query in cluster["queries"] for x in query["answers"])}
    assert shown_ids(cluster) == wanted - hidden


# What is wanted


def wanted(entries: Sequence[Entry], **parameters: Any) -> Wanted:
    return design(**parameters).wanted(query(), entries)


WRITE, BOTH = ("write", 1), {("verify", 1), ("verify", 2)}


def test_a_question_is_written_and_then_verified_by_two() -> None:
    written = Written()
    assert wanted(written.entries) == Wanted(frozenset({WRITE}))
    assert wanted(written.asked().entries) == Wanted(frozenset({WRITE, *BOTH}))
    assert wanted(written.add("verify", 2, "bia").entries).state == "open"
    assert wanted(written.add("verify", 3, "caio").entries) == Wanted(frozenset({WRITE, *BOTH}), "kept")
    # A third is asked if pool.yaml wants one by now.
    more = wanted(written.entries, verifiers=3)
    assert (more.state, ("verify", 3) in more.tasks) == ("open", True)


@pytest.mark.parametrize("refused", [{2}, {3}, {2, 3}])
def test_every_verifier_is_asked_and_one_refusal_is_enough(refused: set[int]) -> None:
    written = Written().asked()
    for task_id, by in ((2, "bia"), (3, "caio")):
        assert wanted(written.entries) == Wanted(frozenset({WRITE, *BOTH}))
        if task_id in refused:
            written.add("verify", task_id, by, "refused", "says_less")
        else:
            written.add("verify", task_id, by)
    assert wanted(written.entries) == Wanted(frozenset({WRITE, *BOTH}), "out", NOT_VERIFIED)


def test_a_query_that_makes_no_question_is_out_for_the_writers_reason() -> None:
    written = Written().add("write", 1, "ana", "refused", "unnatural")
    assert wanted(written.entries) == Wanted(frozenset({WRITE}), "out", "unnatural")


def test_a_cluster_wants_nothing_and_a_block_its_raters() -> None:
    assert design().wanted(item(design().first(source())), []) == Wanted(frozenset(), "kept")
    one, written = design(), Written()
    block = item(Made(BLOCK, "c0-1", {"questions": {"a": "A?", "b": "B?"}, "ours": "b", "other_id": "w1"}))
    tasks = frozenset(("rate", replicate) for replicate in (1, 2, 3))
    for task_id, by in ((4, "dora"), (5, "eva"), (6, "fabio")):
        assert one.wanted(block, written.entries) == Wanted(tasks)
        written.add("rate", task_id, by, content={"natural.a": 2, "natural.b": 5})
    assert one.wanted(block, written.entries) == Wanted(tasks, "kept")


STEPS = st.lists(
    st.tuples(
        st.sampled_from([("write", 1), ("verify", 2), ("verify", 3), ("verify", 4)]),
        st.sampled_from(["given", "refused"]),
    ),
    max_size=12,
)


@given(steps=STEPS, verifiers=st.integers(1, 3))
def test_what_is_wanted_after_any_entries(steps: list[tuple[tuple[str, int], EntryAction]], verifiers: int) -> None:
    written = Written()
    for (round_name, task_id), action in steps:
        reason = None if action == "given" else {"write": "unclear", "verify": "says_more"}[round_name]
        written.add(round_name, task_id, f"p{task_id}", action, reason, {"question.en": f"Q{len(written.entries)}?"})
    entries = written.entries
    found = wanted(entries, verifiers=verifiers)
    # A pure function of its arguments, which leaves them as they are.
    assert found == wanted(list(entries), verifiers=verifiers)
    assert (found.state == "out") is (found.reason is not None)
    assert WRITE in found.tasks
    last = {entry.task_id: entry.action for entry in entries}
    said = [last[task_id] for task_id in (2, 3, 4) if task_id in last]
    # By the rules in words: written and not refused; all have spoken; nobody refused.
    if last.get(1) == "refused":
        assert (found.state, found.reason, found.tasks) == ("out", "unclear", {WRITE})
    elif 1 not in last:
        assert (found.state, found.tasks) == ("open", {WRITE})
    else:
        assert found.tasks == {WRITE, *(("verify", number) for number in range(1, verifiers + 1))}
        state = "open" if len(said) < verifiers else "out" if "refused" in said else "kept"
        assert (found.state, found.reason) == (state, NOT_VERIFIED if state == "out" else None)
    # Nobody's task is lost as long as the item is not out: entries only add.
    if entries and found.state != "out":
        before = wanted(entries[:-1], verifiers=verifiers)
        assert entries[-1].round == "write" or before.tasks <= found.tasks


# Drafts


def drafted(place: int = 0) -> Item:
    one = query(place)
    return replace(one, content={**one.content, "draft": {"question.en": "Who drafts?"}}, drafted_by="m1")


DRAFT = ("draft", 1)


def test_a_draft_is_decided_on_and_written_only_if_it_is_refused() -> None:
    one, item = design(), drafted()
    assert one.wanted(item, []) == Wanted(frozenset({DRAFT}))
    accepted = Written().add("draft", 9, "ana", content={"question.en": "Who drafts it?"}).entries
    assert one.wanted(item, accepted) == Wanted(frozenset({DRAFT, *BOTH}))
    refused = Written().add("draft", 9, "ana", "refused", "says_less")
    assert one.wanted(item, refused.entries) == Wanted(frozenset({DRAFT, WRITE}))
    assert one.wanted(item, refused.asked().entries) == Wanted(frozenset({DRAFT, WRITE, *BOTH}))
    # A lead who restores it frees all refusals: what was written is verified again, and the draft is past.
    assert one.wanted(item, Written().asked().entries) == Wanted(frozenset({WRITE, *BOTH}))
    # A draft in another language than pool.yaml names by now is none.
    assert Romqa(RomqaParameters(), ["pt"], 0).wanted(item, []) == Wanted(frozenset({WRITE}))


DRAFT_STEPS = st.lists(
    st.tuples(
        st.sampled_from([("draft", 9), ("write", 1), ("verify", 2), ("verify", 3)]),
        st.sampled_from(["given", "refused"]),
    ),
    max_size=12,
)


@given(steps=DRAFT_STEPS)
def test_what_a_query_with_a_draft_wants_after_any_entries(steps: list[tuple[tuple[str, int], EntryAction]]) -> None:
    written, one, item = Written(), design(), drafted()
    reasons = {"draft": "says_less", "write": "unclear", "verify": "says_more"}
    for (round_name, task_id), action in steps:
        reason = None if action == "given" else reasons[round_name]
        written.add(round_name, task_id, f"p{task_id}", action, reason, {"question.en": f"{len(written.entries)}?"})
    found = one.wanted(item, written.entries)
    last = {entry.round: entry.action for entry in written.entries if entry.round != "verify"}
    # In words: without anything on the draft or a question of a person's own, the draft is to be decided on.
    if not last:
        assert found == Wanted(frozenset({DRAFT}))
        return
    assert (DRAFT in found.tasks) is ("draft" in last)
    assert (WRITE in found.tasks) is ("write" in last or last["draft"] == "refused")
    # From then on it goes its way as the same question that somebody wrote, wherever that came from.
    source = last.get("write", "given" if last.get("draft") == "given" else None)
    entries = [entry for entry in written.entries if entry.round == "verify"]
    if source is not None:
        own = replace(written.entries[0], round="write", action=source, reason="unclear", task_id=1)
        usual = one.wanted(query(), [own, *entries])
        assert (found.state, found.reason) == (usual.state, usual.reason)
        assert found.tasks - {DRAFT, WRITE} == usual.tasks - {WRITE}
    else:
        assert (found.state, found.tasks - {DRAFT}) == ("open", {WRITE})


def test_the_draft_is_shown_where_it_is_decided_on_and_nowhere_else() -> None:
    one, item = design(), drafted()
    steps = {step.name: step for each in one.rounds.values() for step in each.steps}
    shown = one.shown(steps["draft_query"], item, None, [])
    assert shown == {name: item.content[name] for name in ("constraints", "answers", "count")} | {
        "question": {"en": "Who drafts?"}
    }
    refused = Written().add("draft", 9, "ana", "refused", "unnatural")
    assert "drafts" not in repr(one.shown(steps["write"], item, None, refused.entries))
    asked = refused.asked().entries
    # Who verifies sees what they would see of a question that was never drafted.
    assert one.shown(steps["verify"], item, None, asked) == one.shown(steps["verify"], query(), None, asked[1:])
    accepted = Written().add("draft", 9, "ana", content={"question.en": "Who drafts?"}).entries
    as_written = Written().asked("Who drafts?").entries
    assert one.shown(steps["verify"], item, None, accepted) == one.shown(steps["verify"], query(), None, as_written)
    (field,) = steps["draft_query"].fields
    (usual,) = steps["write"].fields
    assert (field.prefilled, field._replace(prefilled=None)) == ("question.en", usual)


def test_the_record_names_the_drafter_of_what_comes_from_the_draft_alone() -> None:
    one, item = design(), drafted()

    def of(written: Written) -> tuple[Any, ...]:
        record = one.record(item, None, written.entries)
        assert record is not None
        assert record.keys() == (one.record(query(), None, []) or {}).keys()
        return record["question"], record["by"], record["drafted_by"]

    assert of(Written()) == (None, None, None)
    accepted = Written().add("draft", 9, "ana", content={"question.en": "Who drafts it?"})
    assert of(accepted) == ("Who drafts it?", "ana", "m1")
    refused = Written().add("draft", 9, "ana", "refused", "unnatural")
    assert of(refused) == (None, None, None)
    assert of(refused.add("write", 1, "bia", content={"question.en": "Who?"})) == ("Who?", "bia", None)


# What people see


def test_a_step_shows_its_names_alone() -> None:
    one, asked = design(), Written().asked().entries
    steps = {step.name: step for each in one.rounds.values() for step in each.steps}
    assert one.shown(steps["write"], query(), None, []).keys() == {"constraints", "answers", "count"}
    assert one.shown(steps["verify"], query(), None, asked)["question"] == {"en": "Who plays?"}
    content = {"questions": {"a": "A?", "b": "B?"}, "ours": "b", "other_id": "w1"}
    assert one.shown(steps["rate"], item(Made(BLOCK, "c0-1", content)), query(), []) == {
        "questions": {"a": "A?", "b": "B?"}
    }


def test_rounds_keep_people_apart_and_name_their_reasons() -> None:
    rules, rounds = design().rules, design().rounds
    # Drafts are decided on before others are written, since later rounds are served first.
    assert list(rounds) == ["write", "draft", "verify", "rate"]
    apart = {"write": "", "draft": "", "verify": "item", "rate": "parent"}
    assert {name: rules[name].apart for name in rounds} == apart
    assert not any(one.for_leads for one in rules.values())
    assert [rounds[name].refusals for name in rounds] == [REFUSED_QUERY, REFUSED_DRAFT, REFUSED_QUESTION, ()]
    assert set(REFUSED_DRAFT) == {*REFUSED_QUERY, *REFUSED_QUESTION}
    (field,) = rounds["write"].steps[0].fields
    assert (field.name, field.kind, field.most, field.unlike_others) == ("question.en", "line", 500, True)


# What is released


def test_the_record_of_a_query() -> None:
    one, made = design(), query(1)
    bare = one.record(made, None, [])
    assert bare is not None
    assert (bare["question"], bare["by"], bare["verifications"]) == (None, None, [])
    written = Written().asked("Who?").asked("Who plays?")
    written.add("verify", 3, "caio", "refused", "says_more").add("verify", 2, "bia")
    assert one.record(made, None, written.entries) == {
        "kind": QUERY,
        "item_id": 7,
        "query_id": "c0-2",
        "cluster_id": "c0",
        "language": "en",
        "question": "Who plays?",
        "constraints": made.content["constraints"],
        "answers": 5,
        "evidence": 8,
        "by": "ana",
        "verifications": [
            {"by": "bia", "task_id": 2, "exact": True, "reason": None},
            {"by": "caio", "task_id": 3, "exact": False, "reason": "says_more"},
        ],
        "drafted_by": None,
    }
    assert one.released_id(made, made) == "c0-2"


def test_the_records_of_a_cluster_and_of_a_block() -> None:
    one = design()
    assert one.record(item(one.first(source()), 1, None), None, []) == {
        "kind": CLUSTER,
        "item_id": 1,
        "cluster_id": "c0",
        "constraints": 3,
    }
    content = {"questions": {"a": "A?", "b": "B?"}, "ours": "b", "other_id": "w1"}
    written = Written().add("rate", 5, "eva", content={"natural.a": 1, "natural.b": 5})
    written.add("rate", 4, "dora", content={"natural.a": 2, "natural.b": 3})
    assert one.record(item(Made(BLOCK, "c0-1", content), 9, 7), None, written.entries) == {
        "kind": BLOCK,
        "item_id": 9,
        "parent_id": 7,
        **content,
        "ratings": [{"by": "dora", "task_id": 4, "a": 2, "b": 3}, {"by": "eva", "task_id": 5, "a": 1, "b": 5}],
    }


@given(
    clusters=st.lists(st.lists(st.sampled_from(["open", "kept"]), max_size=5), max_size=5),
    least=st.integers(1, 4),
    seed=st.integers(0, 9),
)
def test_small_clusters_go_as_soon_as_too_few_can_remain(clusters: list[list[str]], least: int, seed: int) -> None:
    units = [
        {"item_id": 10 * number + place, "cluster_id": f"c{number}", "state": state}
        for number, states in enumerate(clusters)
        for place, state in enumerate(states)
    ]
    random.Random(seed).shuffle(units)
    expected = {
        10 * number + place: SMALL_CLUSTER
        for number, states in enumerate(clusters)
        for place in range(len(states))
        if states.count("kept") + states.count("open") < least
    }
    assert design(least_questions=least).left_out(units) == expected
