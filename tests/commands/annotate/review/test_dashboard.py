"""The dashboard: the figures of ``quati-pool agree``, made beside the work, for leads alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from quati_pool.commands.agree import agree
from quati_pool.commands.annotate.errors import ForbiddenError, SignedOutError
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.review import dashboard as boards
from quati_pool.commands.annotate.review.dashboard import DRAWS, Dashboard, dashboard
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import QuatiPoolError, TranslatableText
from quati_pool.records import State
from quati_pool.store.errors import StoreError
from tests.commands.annotate.disputes import Tokens, add_label, disputed
from tests.commands.annotate.people_at_work import answer, assigned, collection, item, pairs, token
from tests.commands.judged import repool
from tests.patience import PATIENCE

Here = tuple[AnnotationSession, Tokens]


@pytest.fixture
def here(tmp_path: Path, made_url: str) -> Iterator[Here]:
    with disputed(tmp_path, made_url) as opened:
        yield opened


def made(session: AnnotationSession, mine: str) -> Dashboard:
    latest = dashboard(session, mine, PATIENCE, refresh=True)
    assert latest.problem is None
    assert latest.value is not None
    return latest.value


def test_agreement_is_what_agree_says(tmp_path: Path) -> None:
    with disputed(tmp_path) as (session, tokens):
        found = made(session, tokens.lia).agreement
    config = tmp_path / "pool.yaml"
    names = ["ana", "bia", "gpt"]
    everybody, people = agree(config, names, draws=DRAWS), agree(config, names[:2], draws=DRAWS)
    ours, theirs = [*found.pairs, *found.judged], everybody.pairs
    assert [(pair.a, pair.b) for pair in ours] == [("ana", "bia"), ("ana", "gpt"), ("bia", "gpt")]
    for pair, same in zip(ours, theirs, strict=True):
        assert (pair.a, pair.b, pair.n, pair.confusion.tolist()) == (same.a, same.b, same.n, same.confusion.tolist())
        assert (pair.values, pair.intervals, pair.undefined) == (same.values, same.intervals, same.undefined)
    assert found.overall is not None
    assert (found.overall.values, found.overall.intervals) == (people.overall.values, people.overall.intervals)


def test_kappa_by_hand(here: Here) -> None:
    session, tokens = here
    (pair,) = made(session, tokens.lia).agreement.pairs
    # ana 0 1 2 0, bia 0 2 2 3 (q1 d1 has no grade by ana): equal in 2 of 4; by chance ana 0:2 1:1 2:1 3:0,
    # bia 0:1 1:0 2:2 3:1: (2·1 + 1·0 + 1·2 + 0·1) / 16 = 1/4; κ = (1/2 - 1/4) / (3/4).
    assert (pair.n, pair.values["kappa"]) == (4, pytest.approx(1 / 3))


def test_progress_by_person_and_query(here: Here) -> None:
    session, tokens = here
    assigned(session, ("ana", "bia", None))
    mine = item(session, tokens.ana)
    submit(session, tokens.ana, mine, answer(1, status="skipped", relevance=None))
    mine = item(session, tokens.ana)
    submit(session, tokens.ana, mine, answer(2, 1, active_seconds=30.0))
    found = made(session, tokens.lia)
    by_name = {one.name: one for one in found.people}
    ana = by_name["ana"]
    assert (ana.role, ana.open, ana.done, ana.skipped) == ("assessor", 5, 1, 1)
    # Five labels of 4 s from before, of which one pair may be graded again with 30 s: the median stays.
    assert ana.seconds == 4.0
    assert ana.graded + ana.cannot == ana.timed
    assert (by_name["lia"].role, by_name["lia"].open, by_name["lia"].seconds) == ("lead", 0, None)
    assert {one.query_id: (one.open + one.done, one.free) for one in found.queries} == {"q0": (9, 3), "q1": (9, 3)}
    assert sum(one.done for one in found.queries) == 1
    assert sum(one.skipped for one in found.queries) == 1
    assert found.queries[0].query == "pergunta q0"


def test_labels_are_counted_by_what_they_say(here: Here) -> None:
    session, tokens = here
    add_label(session, "adjudicated", "q1", "d0", 2, "final")
    add_label(session, "ana", "q0", "d0", None, status=State.retracted)
    found = made(session, tokens.lia)
    counts = {one.name: (one.graded, one.cannot) for one in found.people}
    assert counts == {"ana": (3, 1), "bia": (6, 0), "lia": (0, 0)}
    assert found.decisions == 1
    assert found.exports == ("ana", "bia", "adjudicated", "gpt")
    assert {one.query_id: one.labels for one in found.queries} == {"q0": 5, "q1": 5}
    # A lead's decision is no third person's label.
    assert [frozenset((pair.a, pair.b)) for pair in found.agreement.pairs] == [{"ana", "bia"}]


def test_ties_are_counted_until_a_lead_decides_them(tmp_path: Path) -> None:
    with disputed(tmp_path, judges={"final": {"people": "majority"}}) as (session, tokens):
        # ana and bia give q0 d1 1 and 2, and q1 d0 0 and 3; q1 d1 ana cannot judge, so that bia's grade counts.
        assert made(session, tokens.lia).tied == {"final": 2}
        add_label(session, "adjudicated", "q1", "d0", 2, "final")
        assert made(session, tokens.lia).tied == {"final": 1}
        add_label(session, "adjudicated", "q0", "d1", 1, "final")
        assert made(session, tokens.lia).tied == {}


def test_labels_of_pairs_gone_or_changed_count_nowhere_and_are_told(here: Here, tmp_path: Path) -> None:
    session, tokens = here
    rows = pairs()
    rows[0]["text"] = "another text"
    repool(tmp_path, [row for row in rows if (row["query_id"], row["doc_id"]) != ("q1", "d0")])
    found = made(session, tokens.lia)
    assert {one.name: (one.graded + one.cannot, one.history) for one in found.people} == {
        "ana": (3, 2),
        "bia": (4, 2),
        "lia": (0, 0),
    }


def test_somebody_who_gives_one_grade_only_is_found(tmp_path: Path, made_url: str) -> None:
    with disputed(tmp_path, made_url, rows=pairs(4, 10)) as (session, tokens):
        for query in range(4):
            for doc in range(10):
                add_label(session, "caio", f"q{query}", f"d{doc}", 0)
        found = made(session, tokens.lia).findings
    assert [(one.labeler_id, one.pattern, one.figure, one.labels) for one in found if one.pattern == "one_grade"] == [
        ("caio", "one_grade", 1.0, 40)
    ]


def test_nothing_to_compare_is_said_and_the_rest_is_there(tmp_path: Path, made_url: str) -> None:
    with AnnotationSession.open(collection(tmp_path), made_url) as session:
        found = made(session, token(session, "lia", "lead"))
        assert found.agreement.why is not None
        assert "nobody has graded anything" in found.agreement.why
        assert isinstance(found.agreement.why, TranslatableText)
        assert found.agreement.why.keyword == "nobody_graded"
        assert (found.agreement.pairs, found.agreement.overall, found.exports) == ((), None, ())
        assert [one.name for one in found.people] == ["lia"]


def test_one_computation_at_a_time_and_nobody_waits_for_it(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    assigned(session, ("ana",))
    first = made(session, tokens.lia)
    begun, go_on, count = threading.Event(), threading.Event(), []
    real = boards.compute

    def slow(session: AnnotationSession) -> Dashboard:
        count.append(1)
        begun.set()
        assert go_on.wait(PATIENCE)
        return real(session)

    monkeypatch.setattr(boards, "compute", slow)
    latest = dashboard(session, tokens.lia, refresh=True)
    assert begun.wait(PATIENCE)
    assert (latest.value, latest.running) == (first, True)
    # Another page, and one that insists: still the one thread, and what there was.
    again = dashboard(session, tokens.lia, refresh=True)
    assert (again.value, again.running, len(count)) == (first, True, 1)
    # Meanwhile a label goes in.
    submit(session, tokens.ana, item(session, tokens.ana), answer(1, 2))
    go_on.set()
    done = dashboard(session, tokens.lia, PATIENCE)
    assert done.value is not None
    assert done.value.computed_at > first.computed_at
    assert (done.running, len(count)) == (False, 1)
    # Fresh enough: nothing is begun.
    assert dashboard(session, tokens.lia).running is False


def test_what_fails_is_told_and_the_last_dashboard_stays(
    here: Here, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    session, tokens = here
    first = made(session, tokens.lia)

    def refuses(_: AnnotationSession) -> Dashboard:
        raise QuatiPoolError("/secret/pool.jsonl.gz: not there yet; run: quati-pool build")

    def breaks(_: AnnotationSession) -> Dashboard:
        raise ZeroDivisionError("a fault of ours")

    def loses(_: AnnotationSession) -> Dashboard:
        raise StoreError("/secret/labels.db cannot be read; free some space")

    for compute, said in (
        (refuses, "files or settings"),
        (breaks, "the server's log"),
        (loses, "the label database cannot be reached"),
    ):
        monkeypatch.setattr(boards, "compute", compute)
        latest = dashboard(session, tokens.lia, PATIENCE, refresh=True)
        assert latest.problem is not None
        assert said in latest.problem
        assert "secret" not in latest.problem
        assert (latest.value, latest.running) == (first, False)
    assert "a fault of ours" in caplog.text
    assert "/secret/pool.jsonl.gz" in caplog.text


def test_only_a_lead_who_is_signed_in_sees_it(here: Here) -> None:
    session, tokens = here
    made(session, tokens.lia)
    with pytest.raises(ForbiddenError):
        dashboard(session, tokens.ana)
    with pytest.raises(SignedOutError):
        dashboard(session, None)
    session.people.revoke("lia")
    # What was computed for lia is not shown to her any more.
    with pytest.raises(SignedOutError):
        dashboard(session, tokens.lia)
