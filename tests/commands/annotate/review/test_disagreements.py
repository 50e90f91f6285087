"""What a lead sees of disagreements, and that a decision is one label of its own, however it is sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from quati_pool.annotation.codes import token_sha
from quati_pool.commands.agree import agree
from quati_pool.commands.annotate.errors import AnswerError, ForbiddenError, SignedOutError
from quati_pool.commands.annotate.review.blinding import reveal
from quati_pool.commands.annotate.review.decisions import LONGEST_COMMENT, change_comment, decide, take_back
from quati_pool.commands.annotate.review.disagreements import DisputedPair, Filter, disagreements
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.records import State
from quati_pool.store.errors import ConflictError
from quati_pool.store.records import Attempt
from tests.cli.conftest import Cli, cli
from tests.commands.annotate.disputes import Tokens, add_label, disputed
from tests.commands.annotate.people_at_work import everything, labels, pairs
from tests.commands.judged import repool

__all__ = ["cli"]

Here = tuple[AnnotationSession, Tokens]


@pytest.fixture
def here(tmp_path: Path, made_url: str) -> Iterator[Here]:
    with disputed(tmp_path, made_url) as opened:
        yield opened


def seen(session: AnnotationSession, mine: str, **filters: Any) -> list[str]:
    return [" ".join(ids) for ids in disagreements(session, mine, Filter(**filters)).ids]


def row(session: AnnotationSession, mine: str, query_id: str, doc_id: str) -> DisputedPair:
    found = disagreements(session, mine, at=(query_id, doc_id)).pair
    assert found is not None
    assert found.ids == (query_id, doc_id)
    return found


def revealed(session: AnnotationSession, mine: str, query_id: str, doc_id: str) -> DisputedPair:
    reveal(session, mine, query_id, doc_id)
    return row(session, mine, query_id, doc_id)


def decided(
    session: AnnotationSession,
    mine: str,
    at: DisputedPair,
    relevance: int | None,
    nonce: str,
    comment: str | None = None,
) -> int:
    return decide(
        session, mine, at.query_id, at.doc_id, at.content_sha, relevance, comment, nonce, at.last_seq
    ).seq  # fmt: skip


def test_queries_come_by_their_widest_gap_and_pairs_by_theirs(here: Here) -> None:
    session, tokens = here
    # By hand: q1 has the gap 3 (d0) and a pair that only bia could judge (d1), q0 the gap 1 (d1).
    assert seen(session, tokens.lia) == ["q1 d0", "q1 d1", "q0 d1"]
    assert seen(session, tokens.lia, gap=0) == ["q1 d0", "q1 d1", "q0 d1", "q0 d0", "q0 d2"]


def test_filters_by_query_assessor_gap_judges_and_decision(here: Here) -> None:
    session, tokens = here
    assert seen(session, tokens.lia, query_id="q0") == ["q0 d1"]
    assert seen(session, tokens.lia, gap=2) == ["q1 d0"]
    assert seen(session, tokens.lia, assessor="ana", gap=0) == ["q1 d0", "q1 d1", "q0 d1", "q0 d0", "q0 d2"]
    # With gpt's grades: q0 d0 is 0, 0, 3; q1 d2 is bia's 1 and gpt's 0. q0 comes after q1: one pair of gap 3
    # each, but q1 has three in dispute, q0 two.
    assert seen(session, tokens.lia, judges=True) == ["q1 d0", "q1 d2", "q1 d1", "q0 d0", "q0 d1"]
    # ana labelled no q1 d2, so each query has a gap of 3 and two pairs: the query_id decides.
    assert seen(session, tokens.lia, judges=True, assessor="ana") == ["q0 d0", "q0 d1", "q1 d0", "q1 d1"]
    decided(session, tokens.lia, row(session, tokens.lia, "q1", "d0"), 2, "n1")
    # In the same order: what is left of q1 comes first, though it has no width.
    assert seen(session, tokens.lia, undecided=True) == ["q1 d1", "q0 d1"]
    review = disagreements(session, tokens.lia)
    assert [(one.query_id, one.pairs, one.undecided, one.gap) for one in review.queries] == [
        ("q1", 2, 1, 3),
        ("q0", 1, 1, 1),
    ]
    assert (len(review.ids), review.undecided, review.assessors) == (3, 2, ("ana", "bia"))


def test_a_pair_comes_with_everybodys_labels_notes_and_the_judges_reason(here: Here) -> None:
    session, tokens = here
    add_label(session, "ana", "q0", "d1", 2, "revealed", rationale="now I see")
    found = row(session, tokens.lia, "q0", "d1")
    ana, bia = found.people
    assert (ana.name, ana.relevance, ana.note, ana.seconds) == ("ana", 1, "ana of d1", 4.0)
    assert (bia.name, bia.relevance, bia.second) == ("bia", 2, None)
    # ana gave the second label in sight of gpt's grade, so it would say what that is.
    assert (found.judges, ana.second) == (None, None)
    shown = revealed(session, tokens.lia, "q0", "d1")
    (gpt,) = shown.judges or ()
    assert (gpt.name, gpt.relevance, gpt.rationales) == ("gpt", 2, ("gpt of d1",))
    assert shown.people[0].second is not None
    assert (shown.people[0].second.relevance, shown.people[0].second.note) == (2, "now I see")
    # The second label is not what the gap is of: it is of the blind ones.
    assert found.gap == 1
    split = row(session, tokens.lia, "q1", "d1")
    assert (split.gap, split.split, split.people[0].status) == (0, True, State.unsure)


def test_what_a_judge_thought_comes_apart_from_its_reason(here: Here) -> None:
    session, tokens = here
    answer = '<think>hm\n<b>3</b>?</think>{"Pontuação": 3}'
    attempt = Attempt(number=1, status=State.ok, answer=answer, thoughts="first")
    add_label(session, "gpt", "q0", "d1", 3, attempts=(attempt,))
    (gpt,) = revealed(session, tokens.lia, "q0", "d1").judges or ()
    assert (gpt.relevance, gpt.rationales, gpt.thoughts) == (3, ("gpt of d1",), ("first\n\nhm\n<b>3</b>?",))
    (gpt,) = revealed(session, tokens.lia, "q0", "d2").judges or ()
    assert (gpt.rationales, gpt.thoughts) == (("gpt of d2",), ())


def test_a_label_taken_back_is_no_opinion(here: Here) -> None:
    session, tokens = here
    add_label(session, "bia", "q1", "d0", None, status=State.retracted)
    assert seen(session, tokens.lia) == ["q0 d1", "q1 d1"]


def test_labels_of_a_text_that_changed_are_counted_and_not_shown(here: Here, tmp_path: Path) -> None:
    session, tokens = here
    assert disagreements(session, tokens.lia).history == 0
    rows = pairs()
    rows[1]["text"] = "another text"  # q0 d1
    repool(tmp_path, [one for one in rows if (one["query_id"], one["doc_id"]) != ("q1", "d0")])
    assert seen(session, tokens.lia) == ["q1 d1"]
    assert disagreements(session, tokens.lia).history == 4


def test_a_decision_becomes_a_label_of_adjudicated_and_changes_nobodys(here: Here) -> None:
    session, tokens = here
    before = everything(session)
    decided(session, tokens.lia, row(session, tokens.lia, "q1", "d0"), 2, "n1", "  both have a point ")
    (label,) = labels(session, "adjudicated", "q1", "d0")
    assert (label.kind, label.phase, label.relevance, label.version) == ("assessor", "final", 2, session.version)
    assert (label.extra, label.rationale) == ({"by": "lia"}, "both have a point")
    found = row(session, tokens.lia, "q1", "d0")
    assert found.decision is not None
    assert (found.decision.relevance, found.decision.by, found.decision.comment) == (2, "lia", "both have a point")
    assert everything(session) == before + 1
    assert [one.relevance for one in found.people] == [0, 3]


def test_a_decision_can_be_changed_and_taken_back(here: Here) -> None:
    session, tokens = here
    decided(session, tokens.lia, row(session, tokens.lia, "q1", "d0"), 2, "n1")
    last = decided(session, tokens.lia, row(session, tokens.lia, "q1", "d0"), None, "n2")
    at = row(session, tokens.lia, "q1", "d0")
    assert at.decision is not None
    assert (at.decision.relevance, at.last_seq) == (None, last)
    take_back(session, tokens.lia, "q1", "d0", at.content_sha, "n3", last)
    assert row(session, tokens.lia, "q1", "d0").decision is None
    assert [label.status for label in labels(session, "adjudicated", "q1", "d0")] == [
        State.ok,
        State.unsure,
        State.retracted,
    ]
    decided(session, tokens.lia, row(session, tokens.lia, "q1", "d0"), 1, "n4")
    found = row(session, tokens.lia, "q1", "d0").decision
    assert found is not None
    assert found.relevance == 1


def test_a_press_that_is_sent_twice_is_written_once(here: Here) -> None:
    session, tokens = here
    at = row(session, tokens.lia, "q1", "d0")
    assert decided(session, tokens.lia, at, 2, "n1") == decided(session, tokens.lia, at, 2, "n1")
    assert len(labels(session, "adjudicated", "q1", "d0")) == 1


def test_who_decides_what_another_lead_decided_meanwhile_is_told(here: Here) -> None:
    session, tokens = here
    at = row(session, tokens.lia, "q1", "d0")
    decided(session, tokens.lia, at, 2, "n1")
    with pytest.raises(ConflictError, match="look at it again") as conflict:
        decided(session, tokens.lia, at, 0, "n2")
    assert conflict.value.reason == "changed"
    assert len(labels(session, "adjudicated", "q1", "d0")) == 1


def test_a_pair_that_changed_or_left_the_pool_is_not_decided(here: Here, tmp_path: Path) -> None:
    session, tokens = here
    changed, gone = row(session, tokens.lia, "q0", "d1"), row(session, tokens.lia, "q1", "d0")
    rows = pairs()
    rows[1]["text"] = "another text"
    repool(tmp_path, [one for one in rows if (one["query_id"], one["doc_id"]) != ("q1", "d0")])
    for at, reason in ((changed, "changed"), (gone, "gone")):
        with pytest.raises(ConflictError) as conflict:
            decided(session, tokens.lia, at, 2, f"n {reason}")
        assert conflict.value.reason == reason
    assert labels(session, "adjudicated", "q0", "d1") == labels(session, "adjudicated", "q1", "d0") == []


@pytest.mark.parametrize("relevance", [4, -1, True, "2", 2.0])
def test_a_grade_off_the_scale_is_refused(here: Here, relevance: Any) -> None:
    session, tokens = here
    before = everything(session)
    with pytest.raises(AnswerError, match="not on the scale 0, 1, 2, 3"):
        decided(session, tokens.lia, row(session, tokens.lia, "q1", "d0"), relevance, "n1")
    assert everything(session) == before


@pytest.mark.parametrize(("nonce", "comment"), [("", None), ("n" * 65, None), ("n1", "x" * (LONGEST_COMMENT + 1))])
def test_a_decision_without_a_nonce_or_with_a_book_for_a_comment_is_refused(
    here: Here, nonce: str, comment: str | None
) -> None:
    session, tokens = here
    before = everything(session)
    with pytest.raises(AnswerError):
        decided(session, tokens.lia, row(session, tokens.lia, "q1", "d0"), 1, nonce, comment)
    assert everything(session) == before


STEPS: dict[str, Callable[[AnnotationSession, str | None], object]] = {
    "look": disagreements,
    "decide": lambda session, mine: decide(session, mine, "q1", "d0", "sha", 1, None, "n1"),
    "comment": lambda session, mine: change_comment(session, mine, "q1", "d0", "sha", "x", "n1", 1),
    "take back": lambda session, mine: take_back(session, mine, "q1", "d0", "sha", "n1", 1),
}


@pytest.mark.parametrize("step", STEPS)
def test_only_a_lead_who_is_signed_in_reviews(here: Here, step: str) -> None:
    session, tokens = here
    before = everything(session)
    with pytest.raises(ForbiddenError):
        STEPS[step](session, tokens.ana)
    with pytest.raises(SignedOutError):
        STEPS[step](session, None)
    session.people.revoke("lia")
    with pytest.raises(SignedOutError):
        STEPS[step](session, tokens.lia)
    assert everything(session) == before


def test_the_undecided_pairs_come_one_after_the_other_and_around_the_end(here: Here) -> None:
    session, tokens = here

    def place(at: tuple[str, str] | None, advance: bool = False, **filters: Any) -> list[Any]:
        found = disagreements(session, tokens.lia, Filter(**filters), at, advance=advance)
        return [found.pair and found.pair.ids, found.place, found.before, found.next]

    # The order is q1 d0, q1 d1, q0 d1 (the first test of this file).
    first, second, third = ("q1", "d0"), ("q1", "d1"), ("q0", "d1")
    assert place(None) == [first, 1, None, second]
    assert place(third) == [third, 3, second, None]
    assert place(first, advance=True) == [second, 2, first, third]
    assert place(third, advance=True) == [first, 1, None, second]
    decided(session, tokens.lia, row(session, tokens.lia, *second), 1, "n1")
    assert place(first, advance=True) == [third, 3, second, None]
    # A decided pair is still shown where only undecided ones are listed, between its neighbours.
    assert place(second, undecided=True) == [second, None, first, third]
    assert place(("q0", "d0")) == [("q0", "d0"), None, None, first]
    assert place(("q9", "d9")) == place(None) == [first, 1, None, second]
    assert place(second, advance=True, query_id="q1") == [first, 1, None, second]
    decided(session, tokens.lia, row(session, tokens.lia, *first), 1, "n2")
    decided(session, tokens.lia, row(session, tokens.lia, *third), 1, "n3")
    assert place(third, advance=True) == [third, 3, second, None]
    assert place(None) == [first, 1, None, second]
    assert place(None, undecided=True) == [None, None, None, None]


def test_a_changed_comment_is_a_new_label_with_the_same_grade(here: Here) -> None:
    session, tokens = here

    def commented(comment: str | None, nonce: str) -> list[tuple[Any, ...]]:
        at = row(session, tokens.lia, "q1", "d0")
        assert at.last_seq is not None
        change_comment(session, tokens.lia, *at.ids, at.content_sha, comment, nonce, at.last_seq)
        return [(one.status, one.relevance, one.rationale) for one in labels(session, "adjudicated", "q1", "d0")]

    decided(session, tokens.lia, row(session, tokens.lia, "q1", "d0"), 2, "n1", "first")
    assert commented(" first ", "n2") == [(State.ok, 2, "first")]
    assert commented("better", "n3")[1:] == [(State.ok, 2, "better")]
    assert commented("", "n4")[2:] == [(State.ok, 2, None)]
    decided(session, tokens.lia, row(session, tokens.lia, "q1", "d0"), None, "n5", "broken")
    assert commented("no text", "n6")[4:] == [(State.unsure, None, "no text")]
    at = row(session, tokens.lia, "q1", "d0")
    assert at.last_seq is not None
    with pytest.raises(ConflictError, match="look at it again"):
        change_comment(session, tokens.lia, *at.ids, at.content_sha, "x", "n7", at.last_seq - 1)
    take_back(session, tokens.lia, *at.ids, at.content_sha, "n8", at.last_seq)
    with pytest.raises(ConflictError):
        commented("on no decision", "n9")


def test_a_comment_on_a_marked_decision_leaves_the_mark(here: Here) -> None:
    session, tokens = here
    session.people.add("eva", "lead", "H-eva", "none")
    session.people.sign_in("eva", token_sha("token-of-eva"), 3600)
    decided(session, tokens.lia, revealed(session, tokens.lia, "q1", "d0"), 2, "n1")
    at = row(session, "token-of-eva", "q1", "d0")
    assert at.last_seq is not None
    change_comment(session, "token-of-eva", *at.ids, at.content_sha, "I agree", "n2", at.last_seq)
    extras = [one.extra for one in labels(session, "adjudicated", "q1", "d0")]
    assert extras == [{"by": "lia", "revealed": True}, {"by": "eva", "revealed": True}]


def test_evidence_comes_as_spans_of_the_passage(here: Here) -> None:
    session, tokens = here
    text = row(session, tokens.lia, "q1", "d0").text
    words = [{"start": 0, "end": 3, "text": text[:3]}, {"start": 4, "end": 6, "text": "not there"}]
    add_label(session, "ana", "q1", "d0", 0, extra={"evidence": words})
    assert [one.evidence for one in row(session, tokens.lia, "q1", "d0").people] == [((0, 3),), ()]


def test_what_was_read_is_read_again_as_soon_as_somebody_grades(here: Here) -> None:
    session, tokens = here
    assert seen(session, tokens.lia, gap=2) == ["q1 d0"]
    add_label(session, "ana", "q1", "d2", 3)
    assert seen(session, tokens.lia, gap=2) == ["q1 d0", "q1 d2"]


def test_the_command_line_knows_adjudicated_as_decisions_on_peoples_labels(tmp_path: Path, cli: Cli) -> None:
    with disputed(tmp_path) as (session, tokens):
        for doc_id, grade in (("d0", 2), ("d1", 1)):
            decided(session, tokens.lia, row(session, tokens.lia, "q1", doc_id), grade, f"n {doc_id}")
    config = tmp_path / "pool.yaml"
    listed = json.loads(cli("labels", "adjudicated", "-c", config, "--format", "json").out)["labelers"]
    assert [(one["labeler"], one["kind"]) for one in listed] == [("adjudicated", "assessor")]
    done = cli(
        "export", "qrels", "--labeler", "adjudicated", "--allow-missing", "-c", config, "-o", tmp_path / "a.qrels"
    )
    assert done.status == 0, done.err
    assert (tmp_path / "a.qrels").read_text(encoding="utf-8") == "q1 0 d0 2\nq1 0 d1 1\n"
    report = agree(config, ["adjudicated", "bia"], draws=0)
    # A decision is made in sight of people's labels, and is no further person's.
    assert report.gathered.people == ["bia"]
    assert {source.name: source.members for source in report.gathered.sources}["adjudicated"] == {"ana", "bia"}
    # bia gave 3 and 1 where 2 and 1 was decided: one of two alike.
    assert report.pairs[0].values["agreement"] == 0.5
