"""What a lead does not see of pairs that await a decision, and that a look at it marks what is decided afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quati_pool.annotation.codes import token_sha
from quati_pool.commands.annotate.errors import ForbiddenError, SignedOutError
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.review.blinding import blinded, reveal, shown
from quati_pool.commands.annotate.review.decisions import decide, take_back
from quati_pool.commands.annotate.review.disagreements import DisputedPair, Filter, disagreements
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.labels.gathered import LabelFiles
from quati_pool.labels.sources import gather
from quati_pool.store.errors import ConflictError
from tests.commands.annotate.disputes import Tokens, disputed
from tests.commands.annotate.people_at_work import answer, assigned, item, labels

Here = tuple[AnnotationSession, Tokens]
DISPUTED = {("q1", "d0"), ("q0", "d1"), ("q1", "d1")}
"""By hand, of the grades in disputes.py: gaps of 3 and 1, and one that only bia could judge."""


@pytest.fixture
def here(tmp_path: Path, made_url: str) -> Iterator[Here]:
    with disputed(tmp_path, made_url) as opened:
        yield opened


def shown_pair(session: AnnotationSession, token: str, query_id: str, doc_id: str, **filters: Any) -> DisputedPair:
    found = disagreements(session, token, Filter(**filters), (query_id, doc_id)).pair
    assert found is not None
    assert found.ids == (query_id, doc_id)
    return found


def decided(session: AnnotationSession, token: str, query_id: str, doc_id: str, relevance: int, nonce: str) -> int:
    pair = shown_pair(session, token, query_id, doc_id)
    return decide(
        session, token, query_id, doc_id, pair.content_sha, relevance, None, nonce, pair.last_seq
    ).seq  # fmt: skip


def marks(session: AnnotationSession, query_id: str, doc_id: str) -> list[bool]:
    return [label.extra.get("revealed", False) for label in labels(session, "adjudicated", query_id, doc_id)]


def test_disputed_pairs_are_blinded_until_they_are_decided(here: Here) -> None:
    session, tokens = here
    assert blinded(session, tokens.lia) == DISPUTED
    seq = decided(session, tokens.lia, "q1", "d0", 2, "n1")
    assert blinded(session, tokens.lia) == DISPUTED - {("q1", "d0")}
    pair = shown_pair(session, tokens.lia, "q1", "d0")
    take_back(session, tokens.lia, "q1", "d0", pair.content_sha, "n2", seq)
    assert blinded(session, tokens.lia) == DISPUTED


def test_pairs_that_somebody_is_still_to_grade_are_blinded_too(here: Here) -> None:
    session, tokens = here
    assigned(session, ("caio",))
    assert blinded(session, tokens.lia) == {(query_id, f"d{n}") for query_id in ("q0", "q1") for n in range(3)}


def test_a_reveal_is_one_leads_and_marks_their_decisions_alone(here: Here) -> None:
    session, tokens = here
    session.people.add("eva", "lead", "H-eva", "none")
    session.people.sign_in("eva", token_sha("token-of-eva"), 3600)
    reveal(session, tokens.lia, "q1", "d0")
    assert blinded(session, tokens.lia) == DISPUTED - {("q1", "d0")}
    assert blinded(session, "token-of-eva") == DISPUTED
    decided(session, tokens.lia, "q1", "d0", 2, "n1")
    decided(session, tokens.lia, "q0", "d1", 2, "n2")
    decided(session, "token-of-eva", "q1", "d0", 3, "n3")
    assert (marks(session, "q1", "d0"), marks(session, "q0", "d1")) == ([True, False], [False])


def test_what_is_shown_without_having_been_blinded_marks_later_decisions(here: Here) -> None:
    session, tokens = here
    shown(session, tokens.lia, "q0", ["d0", "d2"])
    shown(session, tokens.lia, "q0", ["d0"])
    decided(session, tokens.lia, "q0", "d0", 1, "n1")
    assert marks(session, "q0", "d0") == [True]
    assert blinded(session, tokens.lia) == DISPUTED


def test_counting_judges_reveals_the_pairs_that_are_looked_at(here: Here) -> None:
    session, tokens = here
    assert {shown_pair(session, tokens.lia, *ids).judges for ids in DISPUTED} == {None}
    for doc_id in ("d0", "d1"):
        judges = shown_pair(session, tokens.lia, "q0", doc_id, judges=True).judges
        assert [judge.name for judge in judges or ()] == ["gpt"]
    assert blinded(session, tokens.lia) == DISPUTED - {("q0", "d1")}
    decided(session, tokens.lia, "q0", "d1", 2, "n1")
    assert marks(session, "q0", "d1") == [True]


def test_marked_decisions_are_counted_by_labeler(here: Here) -> None:
    session, tokens = here
    reveal(session, tokens.lia, "q1", "d0")
    for nonce, (query_id, doc_id) in enumerate(sorted(DISPUTED)):
        decided(session, tokens.lia, query_id, doc_id, 2, f"n{nonce}")
    gathered = gather(session.config, (), LabelFiles(), (), store=session.store)
    sources = {source.name: source for source in gathered.sources}
    assert (sources["adjudicated"].revealed, len(sources["adjudicated"].qrels)) == (1, 3)


def test_a_leads_own_label_is_marked_too(here: Here) -> None:
    session, tokens = here
    assigned(session, ("lia",))
    for number in (1, 2):
        given = item(session, tokens.lia)
        if number == 1:
            reveal(session, tokens.lia, given.query_id, given.doc_id)
        submit(session, tokens.lia, given, answer(number))
        (label,) = labels(session, "lia", given.query_id, given.doc_id)
        assert label.extra.get("revealed", False) is (number == 1)


def test_only_leads_see_and_reveal_and_only_what_is_in_the_pool(here: Here) -> None:
    session, tokens = here
    for token, error in ((tokens.ana, ForbiddenError), (None, SignedOutError)):
        with pytest.raises(error):
            blinded(session, token)
        with pytest.raises(error):
            reveal(session, token, "q1", "d0")
        with pytest.raises(error):
            shown(session, token, "q1", ["d0"])
    with pytest.raises(ConflictError):
        reveal(session, tokens.lia, "q1", "no such")
    assert session.reveals.of("lia") == session.reveals.of("ana") == frozenset()
