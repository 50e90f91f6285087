"""Pairs of known grade: a lead marks them, assessors meet them first, and nobody else may."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.annotate.errors import AnswerError, ForbiddenError, SignedOutError
from quati_pool.commands.annotate.grading.next_item import next_item
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.review.training_pairs import drop_training, mark_training
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.errors import ConflictError
from tests.commands.annotate.disputes import Tokens, disputed
from tests.commands.annotate.people_at_work import answer, item

Here = tuple[AnnotationSession, Tokens]


@pytest.fixture
def here(tmp_path: Path, made_url: str) -> Iterator[Here]:
    with disputed(tmp_path, made_url) as opened:
        yield opened


def test_an_assessor_does_it_first_and_sees_the_explanation(here: Here) -> None:
    session, tokens = here
    made = mark_training(session, tokens.lia, "q1", "d2", 3, "  It names the year. ")
    first = item(session, tokens.ana)
    assert (first.kind, first.training_id, first.query_id, first.doc_id) == ("training", made, "q1", "d2")
    feedback = submit(session, tokens.ana, first, answer(1, 0)).feedback
    assert feedback is not None
    assert (feedback.relevance, feedback.explanation, feedback.by) == (3, "It names the year.", "lia")


def test_what_is_dropped_is_practised_on_no_more(here: Here) -> None:
    session, tokens = here
    made = mark_training(session, tokens.lia, "q1", "d2", 3, "It names the year.")
    assert [one.training_id for one in session.training.all()] == [made]
    assert drop_training(session, tokens.lia, made)
    assert not drop_training(session, tokens.lia, made)
    assert session.training.all() == []
    assert next_item(session, tokens.ana) is None


@pytest.mark.parametrize(
    ("relevance", "explanation"), [(4, "x"), (True, "x"), ("2", "x"), (2, " \n"), (2, "x" * 10_001)]
)
def test_a_grade_off_the_scale_or_no_explanation_is_refused(here: Here, relevance: Any, explanation: str) -> None:
    session, tokens = here
    with pytest.raises(AnswerError):
        mark_training(session, tokens.lia, "q1", "d2", relevance, explanation)
    assert session.training.all() == []


def test_a_pair_outside_the_pool_is_refused(here: Here) -> None:
    session, tokens = here
    with pytest.raises(ConflictError) as conflict:
        mark_training(session, tokens.lia, "q1", "d9", 2, "x")
    assert conflict.value.reason == "gone"


STEPS: dict[str, Callable[[AnnotationSession, str | None], object]] = {
    "mark": lambda session, mine: mark_training(session, mine, "q1", "d2", 2, "x"),
    "drop": lambda session, mine: drop_training(session, mine, 1),
}


@pytest.mark.parametrize("step", STEPS)
def test_only_a_lead_who_is_signed_in_marks_and_drops(here: Here, step: str) -> None:
    session, tokens = here
    made = mark_training(session, tokens.lia, "q0", "d0", 0, "x")
    with pytest.raises(ForbiddenError):
        STEPS[step](session, tokens.bia)
    with pytest.raises(SignedOutError):
        STEPS[step](session, "token-of-nobody")
    session.people.revoke("lia")
    with pytest.raises(SignedOutError):
        STEPS[step](session, tokens.lia)
    assert [one.training_id for one in session.training.all()] == [made]
