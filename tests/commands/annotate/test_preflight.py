"""What is checked, said and put right before the app is served."""

from __future__ import annotations

from pathlib import Path

import pytest

from quati_pool.commands.annotate.grading.next_item import next_item
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.preflight import check
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import QuatiPoolError
from quati_pool.records import State
from tests.commands.annotate.people_at_work import answer, assigned, collection, text, token
from tests.commands.judged import pair, repool

NOBODY = "nobody has an access code yet; run: quati-pool annotate --lead NAME"


def graded(path: Path, first: int) -> int:
    """How many pairs ana is given, and grades; ``first`` numbers her answers."""
    with AnnotationSession.open(path) as session:
        done = 0
        while (item := next_item(session, "token-of-ana")) is not None:
            submit(session, "token-of-ana", item, answer(first + done))
            done += 1
    return done


def test_without_people_only_this_machine_is_served(tmp_path: Path) -> None:
    path = collection(tmp_path)
    assert check(path, "127.0.0.1") == check(path, "::1") == check(path, "localhost") == [NOBODY]
    for host in ("0.0.0.0", "::", "example.org"):
        with pytest.raises(QuatiPoolError, match=r"nobody has an access code, so .* is not served; run: quati-pool"):
            check(path, host)


def test_without_a_pool_people_can_write_questions(tmp_path: Path) -> None:
    path = collection(tmp_path)
    (tmp_path / "pool.jsonl.gz").unlink()
    without = "there is no pool yet, so people can only write questions; run: quati-pool build"
    assert check(path, "localhost") == [NOBODY, without]


def test_pairs_whose_labels_are_history_are_asked_again(tmp_path: Path) -> None:
    path = collection(tmp_path, [pair("q0", f"d{n}", text(n)) for n in range(4)])
    with AnnotationSession.open(path) as session:
        assigned(session)
        token(session, "ana")
    assert graded(path, 0) == 4
    assert check(path, "localhost") == []
    assert graded(path, 10) == 0
    # One of them has another text now.
    repool(tmp_path, [pair("q0", f"d{n}", text(9 if n == 1 else n)) for n in range(4)])
    told = "labels are of another annotation.version or of other texts: their pairs are asked again"
    assert check(path, "localhost") == [f"1 {told}"]
    assert graded(path, 20) == 1
    path.write_text(path.read_text(encoding="utf-8") + "annotation: {version: 2}\n", encoding="utf-8")
    assert graded(path, 30) == 0
    assert check(path, "localhost") == [f"4 {told}"]
    assert graded(path, 40) == 4
    assert check(path, "localhost") == []
    with AnnotationSession.open(path) as session:
        ana = session.grading.labeler("ana")
        found = [one for chunk in session.grading.pairs() for one in ana.graded(chunk)]
        assert [one.status for one in found] == [State.ok] * 4
