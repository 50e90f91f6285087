"""What people grade is what they were given: other pairs of the pool are not missing, but counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from quati_pool.commands.annotate.annotation_pair import label_sha
from quati_pool.commands.annotate.grading.submission import submit, undo
from quati_pool.commands.annotate.review.decisions import decide
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.export.qrels import export_qrels
from quati_pool.errors import QuatiPoolError
from quati_pool.labels.coverage import LabelCoverage
from quati_pool.labels.labelers import Grading
from quati_pool.project.config import load_config
from quati_pool.store.database import Store
from quati_pool.store.listing import pairs_given
from quati_pool.store.listing import slots as all_slots
from quati_pool.store.records import Design, NewSlot, Selection
from tests.commands.annotate.people_at_work import answer, collection, item, token

JUDGES = {"final": {"people": "majority"}, "lexical": {"judge": "lexical"}}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Two queries of three documents. Of q0, ana and bia are to grade d0 and d1, ana also d2, and one more slot of q1
    d0 waits for anybody; nobody was given q1 d1 and d2. ana grades d0 2 and d1 1, bia d0 2 and takes d1 back."""
    made = collection(tmp_path, judges=JUDGES)
    with AnnotationSession.open(made) as session:
        tokens = {name: token(session, name) for name in ("ana", "bia")}
        slots = [("d0", "ana"), ("d1", "ana"), ("d2", "ana"), ("d0", "bia"), ("d1", "bia")]
        given = [
            NewSlot("q0", doc_id, 1 + (holder == "bia"), 1, holder, turn=turn)
            for turn, (doc_id, holder) in enumerate(slots)
        ]
        selected = [Selection("q0", doc_id, "q0", 1.0, 2) for doc_id in ("d0", "d1", "d2")]
        selected.append(Selection("q1", "d0", "q1", 1 / 3, 1))
        design = Design(method="stratified", seed=7, frame_sha=session.pool_view.sha, frame_pairs=6)
        session.designs.create(design, selected, [*given, NewSlot("q1", "d0", 1, 2)])
        for number, (name, relevance) in enumerate([("ana", 2), ("ana", 1), ("bia", 2), ("bia", 3)]):
            submit(session, tokens[name], item(session, tokens[name]), answer(number, relevance))
        assert undo(session, tokens["bia"])
    return made


def covered(path: Path, name: str) -> LabelCoverage:
    config = load_config(path)
    found = LabelCoverage()
    with Store.open(None, path.parent) as store:
        grading = Grading(config, store)
        for chunk in grading.pairs():
            for graded in grading.labeler(name).graded(chunk):
                found.add(graded)
    return found


def test_each_person_and_the_panel_lack_only_what_they_were_given(config: Path) -> None:
    assert covered(config, "ana").lacks == {"never asked": 1, "not given": 3}
    assert covered(config, "bia").lacks == {"retracted": 1, "not given": 4}
    # d0 2 and 2, d1 1 of ana alone; d2 waits for ana, q1 d0 for anybody.
    found = covered(config, "final")
    assert (found.grades, found.lacks) == ({2: 1, 1: 1}, {"never asked": 2, "not given": 2})
    # A judge is given every pair.
    assert covered(config, "lexical").lacks == {"never asked": 6}


def test_qrels_are_refused_for_what_waits_alone(config: Path) -> None:
    with pytest.raises(QuatiPoolError, match=r"^1 of the 3 pairs given to ana have no grade by ana \(1 never asked\)"):
        export_qrels(config, "ana")
    with pytest.raises(QuatiPoolError, match=r"^2 of the 4 pairs given to people have no grade by final \(2 never"):
        export_qrels(config, "final")
    with AnnotationSession.open(config) as session:
        mine = session.assignments
        slots = {(slot.query_id, slot.doc_id, slot.holder): slot for slot in all_slots(session.store, "test")}
        mine.withdraw([slots["q0", "d2", "ana"].assignment_id, slots["q1", "d0", None].assignment_id])
        mine.withdraw([slots["q0", "d1", "bia"].assignment_id])
    # What was withdrawn is nobody's to grade any more, nor is what bia took back.
    for name, pairs in (("ana", 2), ("bia", 1), ("final", 2)):
        made = export_qrels(config, name)
        assert (made.coverage.pending, made.coverage.not_given) == (0, 6 - pairs)
        assert len(made.path.read_text("utf-8").splitlines()) == pairs


def test_leads_decide_what_they_like(config: Path) -> None:
    with AnnotationSession.open(config) as session:
        lia = token(session, "lia", "lead")
        shown = session.pair("q0", "d0")
        assert shown is not None
        decide(session, lia, "q0", "d0", label_sha(shown), 3, None, "nonce-of-the-lead")
    made = export_qrels(config, "adjudicated")
    assert made.path.read_text("utf-8") == "q0 0 d0 3\n"
    assert made.coverage.lacks == {"not given": 5}


def test_given_pairs_are_by_holder_without_withdrawn_and_repeated_ones(config: Path) -> None:
    with AnnotationSession.open(config) as session:
        slots = {(slot.query_id, slot.doc_id, slot.holder): slot for slot in all_slots(session.store, "test")}
        session.assignments.withdraw([slots["q0", "d2", "ana"].assignment_id])
        again = session.designs.of_repeats(0, 0.5)
        assert session.assignments.add_repeat("bia", again, 1, slots["q0", "d0", "bia"])
        assert pairs_given(session.store, "test") == {
            "ana": {("q0", "d0"), ("q0", "d1")},
            "bia": {("q0", "d0"), ("q0", "d1")},
            None: {("q1", "d0")},
        }
        assert pairs_given(session.store, "another") == {}
