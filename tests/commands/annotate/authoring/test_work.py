"""The rounds as people do them: who gets what, what their page may know, and what is stored once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quati_pool.annotation.authoring.base import with_origin
from quati_pool.annotation.authoring.forms import WritingError, at_path
from quati_pool.commands.annotate.authoring import overview, work
from quati_pool.commands.annotate.authoring.sources import open_rounds
from quati_pool.commands.annotate.authoring.step import WritingStep
from quati_pool.commands.annotate.authoring.written_texts import WrittenTexts
from quati_pool.commands.annotate.errors import SignedOutError
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.authoring_records import Item, NewItem
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

CONFIRMED = frozenset({"similar", "decontextualised"})


@pytest.fixture
def session(tmp_path: Path) -> Iterator[AnnotationSession]:
    """One text in two languages, so that what a person gets is never in doubt."""
    with opened(workspace(tmp_path, TEXTS[:1])) as found:
        yield found


@pytest.fixture
def in_store(tmp_path: Path, made_url: str) -> Iterator[AnnotationSession]:
    """The same, in SQLite and in PostgreSQL."""
    with opened(workspace(tmp_path, TEXTS[:1]), made_url) as found:
        yield found


def people(session: AnnotationSession) -> tuple[str, str, str]:
    """A lead and two others."""
    return sign_in(session, "lea", "lead"), sign_in(session, "ana"), sign_in(session, "rui")


def all_of(session: AnnotationSession, kind: str) -> list[Item]:
    return rounds(session).items(kind)


def conflict(call: Any, *args: Any) -> str:
    with pytest.raises(ConflictError) as caught:
        call(*args)
    return caught.value.reason


def refused(call: Any, *args: Any) -> tuple[str | None, str | None]:
    with pytest.raises(WritingError) as caught:
        call(*args)
    return caught.value.reason, caught.value.field


def at(session: AnnotationSession, token: str) -> str:
    """The step that a person is at."""
    found = work.next_step(session, token)
    return "nothing" if found is None else found.step.name


def test_two_people_and_a_lead_take_a_set_through_all_rounds(in_store: AnnotationSession) -> None:
    session = in_store
    lea, ana, rui = people(session)
    assert at(session, ana) == "set"
    give(session, ana, 0)
    end(session, ana)
    # Nobody assesses what they wrote; a lead gets no round that is apart.
    assert at(session, ana) == at(session, rui) == "nothing"
    assert at(session, lea) == "edit"
    give(session, lea, 1)
    assert at(session, ana) == at(session, lea) == "nothing"
    for name in ("validation", "evaluation", "paraphrase"):
        assert at(session, rui) == name
        give(session, rui, 2)
    assert at(session, rui) == at(session, ana) == "nothing"
    assert at(session, lea) == "curate"
    give(session, lea, 3)
    assert [at(session, who) for who in (lea, ana, rui)] == ["nothing"] * 3
    [question] = all_of(session, "question")
    [text] = all_of(session, "text")
    assert (question.state, text.state) == ("kept", "kept")
    assert session.design is not None
    record = session.design.record(question, text, with_origin(question, rounds(session).entries()))
    assert record is not None
    assert (record["by"], record["edited"], record["curated"]) == ("ana", True, True)
    # Each of the four forms had texts of its own: as edited by the lead, and as curated by her.
    assert record["question"]["pt"] == "coral question pt coralcoral"
    [one] = record["assessments"]
    assert (one["by"], one["validation"]["en"]) == ("rui", "whale validation en whalewhale")
    assert [version["by"] for version in record["versions"]["validation.1.en"]] == ["rui", "lea"]


def test_what_is_shown_is_what_the_step_says(tmp_path: Path) -> None:
    """Every step of every round, on both kinds of derived items too."""
    seen = set()
    with opened(workspace(tmp_path, TEXTS[:1], subject="the ocean")) as session:
        lea, ana, rui = people(session)
        for who in (ana, ana, "end", lea, rui, rui, rui, lea):
            if who == "end":
                end(session, ana)
                continue
            shown = step(session, who)
            assert list(shown.shown) == list(shown.step.shows), shown.step.name
            json.dumps([shown.shown, shown.step])  # what a page gets is JSON
            seen.add(shown.step.name)
            give(session, who, len(seen))
        _derive(session)
        _draft(session)
        for _ in range(3):
            shown = step(session, ana)
            assert list(shown.shown) == list(shown.step.shows)
            seen.add(shown.step.name)
            give(session, ana, 12)
        steps = [one.name for each in session.design.rounds.values() for one in each.steps] if session.design else []
    assert seen == set(steps)


def _draft(session: AnnotationSession) -> None:
    """A question that a model wrote from the text."""
    [text] = all_of(session, "text")
    session.store.register("v1", "judge", {"name": "model"})
    form = {"question.pt": "Onde?", "answer.pt": "Lá.", "question.en": "Where?", "answer.en": "There."}
    rounds(session).add([NewItem("question", "draft", form, 0, text.item_id, "v1")])


def _derive(session: AnnotationSession) -> None:
    [question] = all_of(session, "question")
    derived = {
        "field": "paraphrase.1.en", "language": "en", "original": "What?", "text": "Which one?",
        "question": "What?", "answer": "This.",
    }  # fmt: skip
    choices = {
        "languages": ["en"], "question": {"en": "What?"}, "answer": {"en": "This."},
        "choices": {"en": ["This.", "That."]}, "correct": 0, "digest": "d",
    }  # fmt: skip
    new = [
        NewItem("derived", "d", derived, 1, question.item_id),
        NewItem("choices", "c", choices, 2, question.item_id),
    ]
    rounds(session).add(new)


CANARY = "albatross"


def test_nothing_of_the_answer_is_sent_before_it_was_answered(session: AnnotationSession) -> None:
    lea, ana, rui = people(session)
    own = {"answer.pt": f"{CANARY} pt", "answer.en": f"{CANARY} en"}
    give(session, ana, **own, evidence=[{"language": "en", "start": 4, "end": 8}])
    assert CANARY in repr(step(session, lea))
    give(session, lea, **{f"question.{language}": f"Edited {language}?" for language in ("pt", "en")}, **own)
    blind = step(session, rui)
    assert blind.step.name == "validation"
    assert "Edited pt?" in repr(blind)
    # Nor who wrote it, where the evidence is, what it was before, or which text and set it is.
    for hidden in (CANARY, "ana", "lea", "evidence", "tide question", "A1", "source_id", "item_id"):
        assert hidden not in repr(blind), hidden
    give(session, rui)
    assert CANARY in repr(step(session, rui))
    # Revealed: the answer can no longer be taken back.
    assert work.undoable(session, rui) is None
    assert conflict(work.undo, session, rui, nonce()) == "revealed"


def test_an_assessor_sees_nothing_of_the_other(tmp_path: Path) -> None:
    with opened(workspace(tmp_path, TEXTS[:1], assessors=2, edited=0.0)) as session:
        lea, ana, rui = people(session)
        eva = sign_in(session, "eva")
        give(session, ana)
        give(session, rui, **{"validation.pt": f"{CANARY} um", "validation.en": f"{CANARY} one"})
        give(session, eva, 5)
        assert CANARY not in repr(step(session, eva))
        assert step(session, eva).shown["validation"]["pt"] == "wind validation pt windwind"
        for who in (eva, eva, rui, rui):
            give(session, who, 6)
        curate = step(session, lea)
        assert curate.step.name == "curate"
        assert sorted(one["pt"] for one in curate.shown["validation"].values())[0] == f"{CANARY} um"
        assert len(curate.step.fields) == 2 * 2 * 2


def test_a_form_that_is_sent_again_is_stored_once(session: AnnotationSession) -> None:
    _, ana, _ = people(session)
    form = sent(shown := step(session, ana), filled(shown))
    first = work.submit(session, ana, form)
    assert (first.again, first.seq is not None) == (False, True)
    assert work.submit(session, ana, form) == first._replace(again=True)
    assert len(all_of(session, "question")) == 1
    # After more was stored, too, and after the text is done.
    give(session, ana, 1)
    key = nonce()
    shown = step(session, ana)
    seq = work.end(session, ana, shown.item, shown.sha, key)
    assert work.end(session, ana, shown.item, shown.sha, key) == seq
    assert work.submit(session, ana, form) == first._replace(again=True)
    assert len(all_of(session, "question")) == 2
    entry = rounds(session).entry(seq=int(first.seq or 0))
    assert entry is not None
    assert (entry.active_seconds, entry.elapsed_seconds) == (2.5, 4.0)


def test_another_form_under_the_same_nonce_is_not_taken_for_stored(session: AnnotationSession) -> None:
    lea, ana, _ = people(session)
    form = sent(shown := step(session, ana), filled(shown))
    work.submit(session, ana, form)
    for other in (filled(shown, 1), {}, None, {**filled(shown), "odd": 1}):
        assert conflict(work.submit, session, ana, form._replace(content=other)) == "changed"
    assert conflict(work.submit, session, ana, form._replace(number=1)) == "changed"
    assert len(all_of(session, "question")) == 1
    shown, key = step(session, lea), nonce()
    work.refuse(session, lea, shown.item, 0, shown.sha, "language", None, key)
    assert conflict(work.refuse, session, lea, shown.item, 0, shown.sha, "repeated", None, key) == "changed"
    # Of another person it is another nonce.
    form = form._replace(nonce=key)
    shown = step(session, ana)
    again = sent(shown, filled(shown, 2), nonce=key)
    assert work.submit(session, ana, again).again is False


def test_the_sets_of_a_text_are_listed_and_taken_back(session: AnnotationSession) -> None:
    _, ana, _ = people(session)
    for number in range(3):
        give(session, ana, number)
    own = step(session, ana).own
    assert [one.text.split()[0] for one in own] == ["tide", "coral", "gas"]
    key = nonce()
    undone = work.undo(session, ana, key, own[1].seq)
    assert undone is not None
    assert undone.content["question.pt"] == "coral question pt coralcoral"
    assert undone.item == step(session, ana).item
    assert work.undo(session, ana, key, own[1].seq) == undone
    assert [one.text.split()[0] for one in step(session, ana).own] == ["tide", "gas"]
    assert [one.state for one in all_of(session, "question")] == ["open", "out", "open"]
    # Without a seq it is the last one, once for each nonce.
    key = nonce()
    for _ in range(2):
        undone = work.undo(session, ana, key)
        assert undone is not None
        assert undone.content["question.pt"].startswith("gas")
    assert [one.text.split()[0] for one in step(session, ana).own] == ["tide"]
    end(session, ana)
    undone = work.undo(session, ana, nonce())
    assert undone is not None
    assert undone.content == {}
    assert at(session, ana) == "set"


def test_nothing_to_take_back(session: AnnotationSession) -> None:
    lea, ana, rui = people(session)
    assert work.undoable(session, ana) is work.undo(session, ana, nonce()) is None
    give(session, ana)
    seq = work.undoable(session, ana)
    assert conflict(work.undo, session, rui, nonce(), seq) == "gone"
    for bad in (0, -1, 1 << 70, True, "1", 1.0, [1]):
        assert conflict(work.undo, session, ana, nonce(), bad) == "gone"
    step(session, lea)
    assert conflict(work.undo, session, ana, nonce(), seq) == "used"


def test_what_was_assessed_or_curated_since_is_not_taken_back(in_store: AnnotationSession) -> None:
    session = in_store
    lea, ana, rui = people(session)
    give(session, ana, 0)
    end(session, ana)
    give(session, lea, 1)
    give(session, rui, 2)
    # The edited question was answered.
    assert conflict(work.undo, session, lea, nonce()) == "used"
    give(session, rui, 2)
    give(session, rui, 2)
    give(session, lea, 3)
    # The paraphrase was curated.
    assert conflict(work.undo, session, rui, nonce()) == "used"
    [question] = all_of(session, "question")
    assert question.state == "kept"
    # The other way round it goes: first the curation, then what it was of.
    assert work.undo(session, lea, nonce()) is not None
    assert conflict(work.undo, session, rui, nonce()) == "used"  # the lead has it open again


def test_nobody_assesses_what_they_accepted_something_of(tmp_path: Path) -> None:
    """Who sees what was derived from a set sees its answer."""
    path = workspace(tmp_path, TEXTS[:1])
    with opened(path) as session:
        lea, ana, rui = people(session)
        eva = sign_in(session, "eva")
        for who in (ana, "end", lea, rui, rui, rui, lea):
            end(session, ana) if who == "end" else give(session, who)
        _derive(session)
        give(session, eva)
        give(session, eva)
    workspace(tmp_path, TEXTS[:1], assessors=2)
    with opened(path) as session:
        mia = sign_in(session, "mia")
        assert work.next_step(session, eva) is None
        assert rounds(session).unassignable({"lea": True, "ana": False, "rui": False, "eva": False}) == {"assess": 1}
        assert at(session, mia) == "validation"


def test_a_text_has_at_most_so_many_sets(tmp_path: Path) -> None:
    with opened(workspace(tmp_path, TEXTS[:1], per_text=2)) as session:
        ana = sign_in(session, "ana")
        give(session, ana, 0)
        give(session, ana, 1)
        shown = step(session, ana)
        assert refused(work.submit, session, ana, sent(shown, filled(shown, 2))) == ("per_text", None)
        work.undo(session, ana, nonce())
        give(session, ana, 2)


def test_what_is_doubted_is_stored_only_when_confirmed(session: AnnotationSession) -> None:
    _, ana, _ = people(session)
    give(session, ana, 0)
    shown = step(session, ana)
    repeated = {**filled(shown, 1), "question.pt": "tide QUESTION pt tidetide?", "question.en": "What is the paper?"}
    outcome = work.submit(session, ana, sent(shown, repeated))
    assert outcome.seq is None
    assert [(one.reason, one.field) for one in outcome.doubts] == [
        ("decontextualised", "question.en"),
        ("similar", "question.pt"),
    ]
    assert outcome.doubts[1].values == {"question": "tide question pt tidetide", "similarity": 1.0, "exact": True}
    assert len(all_of(session, "question")) == 1
    partly = sent(shown, repeated, confirmed=frozenset({"similar"}))
    assert [one.reason for one in work.submit(session, ana, partly).doubts] == ["decontextualised"]
    assert work.submit(session, ana, sent(shown, repeated, confirmed=CONFIRMED)).seq is not None
    mia = sign_in(session, "mia", "lead")
    edit = step(session, mia)
    assert edit.shown["similar"]["pt"][0].casefold().startswith("tide question")
    # The lead has seen it: what she leaves as it is is not doubted, and what she changes is.
    as_it_was = {field.name: at_path(edit.shown, field.prefilled or "") for field in edit.step.fields}
    doubts = work.submit(session, mia, sent(edit, {**as_it_was, "question.pt": "Tide question pt, tidetide!"})).doubts
    assert [one.field for one in doubts if one.reason == "similar"] == ["question.pt"]
    left = work.submit(session, mia, sent(edit, as_it_was, confirmed=frozenset({"decontextualised"})))
    assert left.seq is not None


def test_texts_to_compare_with_are_those_of_now(in_store: AnnotationSession) -> None:
    """After everything that changes them, what is kept of them is what a first reading gives."""
    session = in_store
    lea, ana, rui = people(session)
    kept = WrittenTexts(session)

    def now() -> list[str]:
        found = [kept.others(f"question.{language}", 0) for language in ("pt", "en")]
        assert found == [WrittenTexts(session).others(f"question.{language}", 0) for language in ("pt", "en")]
        return [text.split()[0] for text in found[1]]

    assert now() == []
    for number in range(3):
        give(session, ana, number)
    assert now() == ["tide", "coral", "gas"]
    work.undo(session, ana, nonce(), step(session, ana).own[1].seq)
    assert now() == ["tide", "gas"]
    end(session, ana)
    give(session, lea, 5)
    before = now()
    assert sorted(before) in (["gas", "wind"], ["tide", "wind"])
    work.undo(session, lea, nonce())
    assert now() == ["tide", "gas"]
    give(session, lea, 5)
    assert now() == before
    shown = step(session, lea)
    work.refuse(session, lea, shown.item, shown.number, shown.sha, "repeated", None, nonce())
    assert now() == ["wind"]
    [out] = [one for one in overview.rounds_overview(session, lea).out if one.restorable]
    overview.restore(session, lea, out.item_id, nonce())
    assert sorted(now()) == sorted(before)
    for _ in range(3):
        give(session, rui, 7)
    give(session, lea, 8)
    assert len(now()) == 2
    # Not its own.
    [first, *_] = [one for one in all_of(session, "question") if one.state != "out"]
    assert len(kept.others("question.pt", first.item_id)) == 1
    assert kept.others("answer.pt", 0) == []


def test_a_form_for_other_content_than_is_shown_is_refused(session: AnnotationSession) -> None:
    lea, ana, rui = people(session)
    shown = step(session, ana)
    form = sent(shown, filled(shown))
    assert conflict(work.submit, session, ana, form._replace(number=1)) == "changed"
    assert conflict(work.submit, session, ana, form._replace(sha="0" * 64)) == "gone"
    # The reference is the person's own, and their task's.
    assert conflict(work.submit, session, rui, form) == "gone"
    give(session, ana)
    edit = step(session, lea)
    assert conflict(work.submit, session, ana, sent(edit, filled(edit))) == "gone"
    end(session, ana)
    assert conflict(work.submit, session, ana, form) == "done"


def test_a_form_for_what_is_asked_otherwise_by_now_is_refused(tmp_path: Path) -> None:
    path = workspace(tmp_path, TEXTS[:1], subject="the ocean")
    with opened(path) as session:
        ana = sign_in(session, "ana")
        form = sent(shown := step(session, ana), filled(shown))
    workspace(tmp_path, TEXTS[:1], subject="the law")
    with opened(path) as session:
        assert conflict(work.submit, session, ana, form) == "changed"
        assert step(session, ana).shown["subject"] == "the law"
        give(session, ana)


def test_a_task_that_went_to_another_is_taken(tmp_path: Path) -> None:
    with opened(workspace(tmp_path, TEXTS[:1], edited=0.0)) as session:
        _, ana, rui = people(session)
        eva = sign_in(session, "eva")
        give(session, ana)
        held = step(session, rui)
        [task] = [one for one in rounds(session).tasks() if one.round == "assess"]
        rounds(session).give_back(task.task_id, "lea", nonce())
        assert at(session, eva) == "validation"
        assert conflict(work.submit, session, rui, sent(held, filled(held))) == "taken"


def test_a_refusal_has_one_of_the_reasons(session: AnnotationSession) -> None:
    lea, ana, _ = people(session)
    give(session, ana)
    shown = step(session, lea)
    where = (session, lea, shown.item, shown.number, shown.sha)
    assert refused(work.refuse, *where, "dull", None, nonce()) == ("refusal", None)
    assert refused(work.refuse, *where, ["other"], None, nonce()) == ("refusal", None)
    assert refused(work.refuse, *where, "other", "  ", nonce()) == ("no_comment", "comment")
    assert refused(work.refuse, *where, "other", "a\0b", nonce()) == ("comment_control", "comment")
    assert refused(work.refuse, *where, "other", "x" * 2_001, nonce()) == ("comment_long", "comment")
    assert refused(work.refuse, *where, "other", 3, nonce()) == (None, "comment")
    key = nonce()
    seq = work.refuse(*where, "other", " says\r\nmore ", key)
    assert work.refuse(*where, "other", "says\nmore", key) == seq
    entry = rounds(session).entry(seq=seq)
    assert entry is not None
    assert (entry.action, entry.reason, entry.content) == ("refused", "other", {"comment": "says\nmore"})
    [question] = all_of(session, "question")
    assert (question.state, question.reason) == ("out", "other")
    undone = work.undo(session, lea, nonce())
    assert (undone and undone.content, at(session, lea)) == ({}, "edit")
    mine = step(session, ana)
    assert refused(work.refuse, session, ana, mine.item, 0, mine.sha, "other", "x", nonce()) == ("refusal", None)


def test_a_task_that_is_put_off_comes_last(tmp_path: Path) -> None:
    with opened(workspace(tmp_path, TEXTS)) as session:
        ana = sign_in(session, "ana")
        texts = []
        for _ in range(4):
            shown = step(session, ana)
            texts.append(shown.shown["text"]["en"])
            work.skip(session, ana, shown.item, shown.sha, nonce())
        assert len(set(texts[:3])) == 3


def test_how_much_was_done_today(in_store: AnnotationSession) -> None:
    session = in_store
    lea, ana, _ = people(session)
    assert work.today(session, ana) == 0
    give(session, ana, 0)
    give(session, ana, 1)
    end(session, ana)
    give(session, lea, 2)
    assert (work.today(session, ana, -120), work.today(session, lea)) == (3, 1)
    work.undo(session, ana, nonce())
    assert work.today(session, ana) == 2


def test_an_unrelated_text_leaves(tmp_path: Path) -> None:
    with opened(workspace(tmp_path, TEXTS, subject="the ocean", subject_when={"corpus": "1"})) as session:
        ana = sign_in(session, "ana")
        # What is begun is finished first: B1 needs no subject, so its task is in a later round.
        assert step(session, ana).shown == {"text": {"en": TEXTS[2]["en"]}}
        end(session, ana)
        shown = step(session, ana)
        assert (shown.step.name, shown.shown["subject"]) == ("subject", "the ocean")
        give(session, ana, related=False)
        give(session, ana, related=True)
        assert at(session, ana) == "set"
        states = {one.source_id: (one.state, one.reason) for one in all_of(session, "text")}
    assert sorted(states.values(), key=str) == sorted([("kept", None), ("open", None), ("out", "unrelated")], key=str)
    assert states["B1"] == ("kept", None)


def test_what_a_program_has_written_from_a_text_keeps_it_in(tmp_path: Path) -> None:
    with opened(workspace(tmp_path / "w", TEXTS[:1], subject="the sea")) as session:
        ana = sign_in(session, "ana")
        give(session, ana, related=True)
        work.undo(session, ana, nonce())
        give(session, ana, related=True)
        [text] = rounds(session).items("text")
        content = {f"{name}.{language}": "tide" for name in ("question", "answer") for language in ("pt", "en")}
        rounds(session).add([NewItem("question", "draft", content, 0, text.item_id)])
        with pytest.raises(ConflictError) as caught:
            work.undo(session, ana, nonce())
        assert caught.value.reason == "used"


def test_changed_parameters_take_effect_when_the_rounds_are_opened(tmp_path: Path) -> None:
    path = workspace(tmp_path, TEXTS[:1])
    with opened(path) as session:
        lea, ana, rui = people(session)
        give(session, ana)
        end(session, ana)
        for who in (lea, rui, rui, rui, lea):
            give(session, who, 1)
        assert [at(session, who) for who in (lea, ana, rui)] == ["nothing"] * 3
    workspace(tmp_path, TEXTS[:1], assessors=2)
    with opened(path) as session:
        eva = sign_in(session, "eva")
        # Not who wrote it, nor who has assessed it.
        assert [at(session, who) for who in (lea, ana, rui)] == ["nothing"] * 3
        for _ in range(3):
            give(session, eva, 2)
        # It was curated, by the only lead.
        assert [at(session, who) for who in (lea, ana, rui, eva)] == ["nothing"] * 4
        [question] = all_of(session, "question")
        assert question.state == "kept"
    workspace(tmp_path, TEXTS, assessors=2, subject="the ocean")
    with opened(path) as session:
        steps = {step(session, ana).step.name}
        assert steps == {"subject"}
        assert {one.state for one in all_of(session, "question")} == {"kept"}


UNCHECKED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[AnnotationSession, str, WritingStep]]:
    with opened(workspace(tmp_path_factory.mktemp("w"), TEXTS[:1])) as session:
        ana = sign_in(session, "ana")
        yield session, ana, step(session, ana)


@settings(deadline=None)
@given(value=UNCHECKED, where=st.sampled_from(["item", "number", "sha", "nonce", "content", "question.pt", "evidence"]))
def test_whatever_a_page_sends_is_a_refusal_in_one_line(
    crowded: tuple[AnnotationSession, str, WritingStep], value: Any, where: str
) -> None:
    session, ana, shown = crowded
    content = filled(shown) | ({where: value} if where in filled(shown) else {})
    changes = {} if where in content else {where: value}
    form = sent(shown, content)._replace(**changes)
    before = len(all_of(session, "question"))
    try:
        outcome = work.submit(session, ana, form)
    except (WritingError, ConflictError) as error:
        assert "\n" not in str(error)  # noqa: PT017  # either error, or none
        assert len(all_of(session, "question")) == before
    else:
        assert outcome.seq is not None or outcome.doubts
        assert where in ("question.pt", "evidence", "content", "number")
        if outcome.seq is not None:
            work.undo(session, ana, nonce(), outcome.seq)
    for call in (work.end, work.skip):
        if where != "content":
            odd = {"item": shown.item, "sha": shown.sha, "nonce": nonce()} | {
                name: value for name in [where] if name in ("item", "sha", "nonce")
            }
            if value not in odd.values():
                continue
            with pytest.raises((WritingError, ConflictError)):
                call(session, ana, odd["item"], odd["sha"], odd["nonce"])


def test_times_that_are_none_are_left_out(session: AnnotationSession) -> None:
    _, ana, _ = people(session)
    for number, seconds in enumerate([float("nan"), -1, "3", True, None, 1e12, [1]]):
        shown = step(session, ana)
        outcome = work.submit(session, ana, sent(shown, filled(shown, number), active_seconds=seconds))
        entry = rounds(session).entry(seq=int(outcome.seq or 0))
        assert entry is not None
        assert (entry.active_seconds, entry.elapsed_seconds) == (None, 4.0)


def test_without_a_sign_in_there_is_nothing(session: AnnotationSession) -> None:
    people(session)
    for call in (work.next_step, work.today, work.undoable):
        with pytest.raises(SignedOutError):
            call(session, "stolen")
    with pytest.raises(SignedOutError):
        work.undo(session, None, nonce())


def test_the_texts_that_were_added_are_written_from_next(session: AnnotationSession) -> None:
    _, ana, _ = people(session)
    end(session, ana)
    assert at(session, ana) == "nothing"
    workspace(session.config.folder, TEXTS)
    open_rounds(session)
    assert at(session, ana) == "set"
