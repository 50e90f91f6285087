"""Evidence comes with an answer: it is checked, put in order, cut from the passage, and stored with the label."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.annotate.errors import AnswerError
from quati_pool.commands.annotate.grading.answer import MOST_SPANS, Answer
from quati_pool.commands.annotate.grading.submission import second_label, submit
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.text.sentences import Span
from tests.commands.annotate.people_at_work import answer, assigned, collection, everything, item, labels, token
from tests.commands.annotate.revealing import revealing
from tests.commands.judged import pair

TEXT = "É 😀 <b>bom</b>\r\n &  certo."
"""By hand, in code points: É=0, blank, the emoji=2, blank, <b>=4–7, bom=7–10, </b>=10–14, CR=14, LF=15, blank=16, &=17,
two blanks, certo=20–25, the dot=25; 26 in all."""


@contextmanager
def opened(folder: Path, url: str | None = None, **settings: Any) -> Iterator[tuple[AnnotationSession, str]]:
    """A collection of one pair, and ana's token."""
    path = collection(folder, [pair("q0", "d0", TEXT)], annotation=settings)
    with AnnotationSession.open(path, url) as session:
        ana = token(session, "ana")
        assigned(session)
        yield session, ana


def test_evidence_is_stored_in_order_with_words_cut_from_the_passage(tmp_path: Path, made_url: str) -> None:
    with opened(tmp_path, made_url) as (session, ana):
        spans = [Span(20, 25), Span(4, 8), Span(6, 10), Span(2, 3)]
        submit(session, ana, item(session, ana), answer(1, evidence=spans))
        [label] = labels(session, "ana", "q0", "d0")
        assert label.extra["evidence"] == [
            {"start": 2, "end": 3, "text": "😀"},
            {"start": 4, "end": 10, "text": "<b>bom"},
            {"start": 20, "end": 25, "text": "certo"},
        ]


def test_an_answer_without_evidence_stores_none(tmp_path: Path) -> None:
    with opened(tmp_path) as (session, ana):
        submit(session, ana, item(session, ana), answer(1))
        [label] = labels(session, "ana", "q0", "d0")
        assert "evidence" not in label.extra


@pytest.mark.parametrize(
    ("evidence", "told"),
    [
        (None, "a list of spans"),
        ("ab", "a list of spans"),
        ({(0, 1)}, "a list of spans"),
        ([0, 1], "start and end"),
        (["ab"], "start and end"),
        ([(0, 1, 2)], "start and end"),
        ([(False, True)], "start and end"),
        ([(0, 1.0)], "start and end"),
        ([(0, "1")], "start and end"),
        ([(0, None)], "start and end"),
        ([{"start": 0, "end": 1}], "start and end"),
        ([(-1, 2)], "start at 0"),
        ([(2, 2)], "before its end"),
        ([(3, 2)], "before its end"),
        ([(0, 1), (20, 27)], "within the passage's 26 characters"),
        ([(10**400, 10**401)], "within the passage's 26 characters"),
    ],
)
def test_forged_evidence_is_refused_in_one_line_and_nothing_is_written(
    tmp_path: Path, evidence: Any, told: str
) -> None:
    with opened(tmp_path) as (session, ana):
        with pytest.raises(AnswerError, match=told) as caught:
            submit(session, ana, item(session, ana), dataclasses.replace(answer(1), evidence=evidence))
        assert "\n" not in str(caught.value)
        assert caught.value.reason is None
        assert everything(session) == 0


def refused(session: AnnotationSession, ana: str, given: Answer) -> str | None:
    with pytest.raises(AnswerError) as caught:
        submit(session, ana, item(session, ana), given)
    assert everything(session) == 0
    return caught.value.reason


def test_more_evidence_than_anybody_marks_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as (session, ana):
        many = [Span(0, 1)] * (MOST_SPANS + 1)
        assert refused(session, ana, answer(1, evidence=many)) == "evidence_many"
        submit(session, ana, item(session, ana), answer(1, evidence=many[1:]))


def test_white_space_alone_is_no_evidence(tmp_path: Path) -> None:
    with opened(tmp_path) as (session, ana):
        assert refused(session, ana, answer(1, evidence=[Span(14, 17)])) == "evidence_blank"


def test_where_there_is_no_evidence_it_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path, evidence="off") as (session, ana):
        assert refused(session, ana, answer(1, evidence=[Span(0, 1)])) == "evidence_off"
        submit(session, ana, item(session, ana), answer(1))


@pytest.mark.parametrize("status", ["skipped", "unsure", "lowest", "with evidence"])
def test_where_evidence_is_required_only_grades_above_the_lowest_need_it(tmp_path: Path, status: str) -> None:
    enough = {
        "skipped": answer(2, None, status="skipped"),
        "unsure": answer(2, None, status="unsure", reason="broken_text"),
        "lowest": answer(2, 0),
        "with evidence": answer(2, 1, evidence=[Span(0, 1)]),
    }
    with opened(tmp_path, evidence="required") as (session, ana):
        assert refused(session, ana, answer(1, 1)) == "evidence_needed"
        assert refused(session, ana, answer(1, 3)) == "evidence_needed"
        submit(session, ana, item(session, ana), enough[status])
        assert everything(session) == 1


def test_answers_in_training_and_second_labels_have_evidence_too(tmp_path: Path) -> None:
    with opened(tmp_path) as (session, ana):
        session.training.add("q0", "d0", 1, "porque", "lia")
        submit(session, ana, item(session, ana), answer(1, evidence=[Span(7, 10)]))
        [label] = labels(session, "ana", "q0", "d0")
        assert (label.phase, label.extra["evidence"][0]["text"]) == ("training", "bom")
    with revealing(tmp_path / "revealing") as session:
        ana = token(session, "ana")
        shown = item(session, ana)
        submit(session, ana, shown, answer(1))
        second_label(session, ana, shown, answer(2, evidence=[Span(0, 2)]))
        _, label = labels(session, "ana", shown.query_id, shown.doc_id)
        assert (label.phase, label.extra["evidence"][0]["text"]) == ("revealed", shown.text[:2])
