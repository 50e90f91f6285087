"""Agreement of people with themselves and with gold pairs, against scikit-learn and values by hand."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from quati_pool.commands.annotate.grading.item import Item
from quati_pool.commands.annotate.grading.next_item import next_item
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.review.consistency import gold_results, self_agreement
from quati_pool.commands.annotate.review.dashboard import compute
from quati_pool.commands.annotate.session import AnnotationSession
from tests.commands.annotate.disputes import add_label
from tests.commands.annotate.people_at_work import answer, assigned, collection, pairs, text, token
from tests.commands.judged import pair

Ids = tuple[str, str]


@pytest.fixture
def session(tmp_path: Path, made_url: str) -> Iterator[AnnotationSession]:
    """60 pairs, and as gold pairs g0 to g5 of the known grade 1; on both engines."""
    rows = [*pairs(6, 10), *[pair(f"g{number}", "d0", text(1000 + number)) for number in range(6)]]
    config = collection(tmp_path, rows, annotation={"repeats": 0.3, "gold": 0.2})
    with AnnotationSession.open(config, made_url) as made:
        assigned(made, (None, None, None), queries=[f"q{q}" for q in range(6)])
        yield made


def grade_all(session: AnnotationSession, name: str, grade: Callable[[Item], int]) -> list[tuple[Item, int]]:
    """What a person was shown, with what they gave it."""
    mine = token(session, name)
    seen: list[tuple[Item, int]] = []
    while (shown := next_item(session, mine)) is not None:
        given = grade(shown)
        submit(session, mine, shown, answer(len(seen), given))
        seen.append((shown, given))
    return seen


def compared(seen: list[tuple[Item, int]]) -> tuple[list[int], list[int]]:
    """The grades of what came again, first and second."""
    first: dict[Ids, int] = {}
    both: list[tuple[int, int]] = []
    for shown, given in seen:
        ids = (shown.query_id, shown.doc_id)
        if shown.kind == "repeat":
            both.append((first[ids], given))
        first[ids] = given
    return [one for one, _ in both], [two for _, two in both]


def test_self_agreement_is_that_of_scikit_learn(session: AnnotationSession) -> None:
    chance = random.Random(7)
    people = {name: compared(grade_all(session, name, lambda _: chance.randrange(4))) for name in ("ana", "bia")}
    constant = compared(grade_all(session, "caio", lambda _: 2))
    found = self_agreement(session)
    assert [one.name for one in found] == ["ana", "bia", "caio", None]
    pooled = tuple(np.concatenate(sides) for sides in zip(*people.values(), constant, strict=True))
    for one, (first, second) in zip(found, [people["ana"], people["bia"], constant, pooled], strict=True):
        assert one.n == len(first) > 10
        assert one.values["agreement"] == pytest.approx(np.mean(np.array(first) == np.array(second)))
        if one.name == "caio":
            assert (one.values["kappa"], one.values["kappa_quadratic"]) == (None, None)
            assert set(one.undefined.values()) == {"both gave every pair the grade 2"}
            continue
        assert one.values["kappa"] == pytest.approx(cohen_kappa_score(first, second))
        assert one.values["kappa_quadratic"] == pytest.approx(cohen_kappa_score(first, second, weights="quadratic"))
        assert one.undefined == {}


def test_a_repeat_compares_with_the_label_that_counted_when_it_was_given(session: AnnotationSession) -> None:
    seen = grade_all(session, "ana", lambda _: 1)
    repeats = [(shown.query_id, shown.doc_id) for shown, _ in seen if shown.kind == "repeat"]
    for ids in repeats:
        add_label(session, "ana", *ids, 3)
    [ana, pooled] = self_agreement(session)
    assert (ana.n, ana.values["agreement"], pooled.n) == (len(repeats), 1.0, len(repeats))


def test_no_repeat_is_no_agreement(session: AnnotationSession) -> None:
    assert self_agreement(session) == ()
    mine = token(session, "ana")
    # Labels of the phase repeat that belong to no slot, such as a judge's, are nobody's self-agreement.
    add_label(session, "ana", "q0", "d0", 1)
    add_label(session, "ana", "q0", "d0", 1, "repeat")
    assert next_item(session, mine) is not None
    assert self_agreement(session) == ()


def test_gold_results_by_hand_and_a_warning_where_they_are_poor(session: AnnotationSession) -> None:
    for number in range(6):
        session.training.add(f"g{number}", "d0", 1, "", "assign", gold=True)
    # Ana gives two of six the known grade 1, and four of them 3: 2 / 6 equal, 4 · 2 / 6 = 4 / 3 above it.
    ana = {f"g{number}": 1 if number < 2 else 3 for number in range(6)}
    # Bia gives four of them 1, one 0 and one 2: 4 / 6 equal, 0 above on average, 2 / 6 away.
    bia = {"g0": 0, "g1": 2}
    grade_all(session, "ana", lambda shown: ana.get(shown.query_id, 0))
    grade_all(session, "bia", lambda shown: bia.get(shown.query_id, 1))
    poor, fine = gold_results(session, ["bia", "ana", "nobody"])
    assert (poor.name, poor.n, poor.cannot) == ("ana", 6, 0)
    assert (poor.equal, poor.difference, poor.distance) == pytest.approx((1 / 3, 4 / 3, 4 / 3))
    assert (fine.name, fine.n) == ("bia", 6)
    assert (fine.equal, fine.difference, fine.distance) == pytest.approx((2 / 3, 0.0, 1 / 3))
    board = compute(session)
    assert board.gold == (poor, fine)
    assert [(one.labeler_id, one.pattern, one.labels) for one in board.findings if "gold" in one.pattern] == [
        ("ana", "gold_equal", 6)
    ]


def test_a_changed_gold_grade_is_the_one_that_counts_and_dropped_pairs_do_not(session: AnnotationSession) -> None:
    for number in range(2):
        session.training.add(f"g{number}", "d0", 1, "", "assign", gold=True)
    grade_all(session, "ana", lambda shown: 1)
    [before] = gold_results(session, ["ana"])
    assert (before.n, before.equal) == (2, 1.0)
    session.training.add("g0", "d0", 3, "", "assign", gold=True)
    [after] = gold_results(session, ["ana"])
    assert (after.n, after.equal, after.difference) == (2, 0.5, -1.0)
    for one in session.training.all():
        session.training.drop(one.training_id)
    assert gold_results(session, ["ana"]) == ()


def test_practice_is_no_gold_result(session: AnnotationSession) -> None:
    session.training.add("g0", "d0", 1, "why", "assign")
    grade_all(session, "ana", lambda shown: 0)
    session.training.add("g0", "d0", 1, "why", "assign", gold=True)
    assert gold_results(session, ["ana"]) == ()


def test_counts_of_labels_and_agreement_are_without_repeats_and_gold_pairs(session: AnnotationSession) -> None:
    """Everybody gives everything the grade 1 the first time, and 0 when it comes again."""
    session.training.add("g0", "d0", 1, "", "assign", gold=True)
    for name in ("ana", "bia"):
        grade_all(session, name, lambda shown: 1 if shown.kind == "blind" else 0)
    board = compute(session)
    assert [(one.name, one.graded, one.done, one.timed) for one in board.people] == [
        ("ana", 60, 60, 60), ("bia", 60, 60, 60)
    ]  # fmt: skip
    assert all((one.done, one.labels) == (20, 20) for one in board.queries)
    assert {one.query_id for one in board.queries} == {f"q{q}" for q in range(6)}
    [among] = board.agreement.pairs
    assert (among.n, among.values["agreement"]) == (60, 1.0)
    assert {one.name: one.values["agreement"] for one in board.repeats} == {"ana": 0.0, "bia": 0.0, None: 0.0}
