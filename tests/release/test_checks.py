"""A release that contradicts itself is refused, in words that say what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quati_pool.records import Qrels, Query
from quati_pool.release.checks import check
from quati_pool.release.errors import ReleaseError
from quati_pool.release.state import Labelled, Release
from tests.release.small_release import labelled, qrels_of, release_of

ONE = {("q1", "d1"): 3}


def twice() -> Labelled:
    qrels = qrels_of({("q1", "d1"): 3, ("q2", "d2"): 1})
    again = np.array([0, 1, 0])
    return Labelled(
        labeler="gpt", kind="judge", qrels=Qrels(qrels.queries, qrels.docs, again, again, np.array([3, 1, 0]))
    )


REFUSED: list[tuple[Callable[[Path], Release], str]] = [
    (
        lambda folder: release_of(folder, [labelled("gpt", {})]),
        "labeler 'gpt' has graded no pair; run: quati-pool judge gpt, or leave it out",
    ),
    (
        lambda folder: release_of(folder, [labelled("ana", {}, kind="assessor")]),
        "labeler 'ana' has graded no pair; leave it out",
    ),
    (lambda folder: release_of(folder, {}), "small: there are no grades to release; name at least one labeler"),
    (
        lambda folder: release_of(folder, {"gpt": {("q1", "d1"): 4}}),
        "labeler 'gpt' gives the grade 4, which is not on the scale (0, 1, 2, 3); "
        "add it under grades: in pool.yaml, or leave this labeler out",
    ),
    (
        lambda folder: release_of(folder, [labelled("gpt", ONE), labelled("gpt", ONE)]),
        "small: labeler 'gpt' occurs 2 times; name it once",
    ),
    (
        lambda folder: release_of(folder, {"gpt": ONE}, queries=[Query("q1", "a"), Query("q1", "b")]),
        "small: query_id 'q1' occurs 2 times; name it once",
    ),
    (
        lambda folder: release_of(folder, {"gpt": ONE}, queries=[Query("q1", "a"), Query("q 2", "b")]),
        "small: query_id 'q 2' holds white space (U+0020); rename this query",
    ),
    (
        lambda folder: release_of(folder, {"gpt": ONE}, queries=[Query("q2", "a")]),
        "labeler 'gpt' grades query_id 'q1', which is not among the queries; "
        "add it to the queries' file, or drop its grades",
    ),
    (
        lambda folder: release_of(folder, [labelled("gold", {("q1", "rye bread"): 1}, kind="file")]),
        "labeler 'gold' grades doc_id 'rye bread', which holds white space (U+0020); "
        "name the passages by their doc_id in its file",
    ),
    (
        lambda folder: release_of(folder, [labelled("gold", {}, kind="file")]),
        "labeler 'gold' has graded no pair; leave it out",
    ),
    (lambda folder: release_of(folder, [twice()]), "labeler 'gpt' grades 'q1' 'd1' twice; keep one of its grades"),
]


@pytest.mark.parametrize(("made", "message"), REFUSED)
def test_refused(tmp_path: Path, made: Callable[[Path], Release], message: str) -> None:
    with pytest.raises(ReleaseError) as caught:
        check(made(tmp_path))
    assert str(caught.value) == message


@pytest.mark.parametrize("changes", [{}, {"queries": [Query("q1", "a"), Query("q2", "never graded")]}])
def test_accepted(tmp_path: Path, changes: dict[str, Any]) -> None:
    check(release_of(tmp_path, {"gpt": ONE, "ana": {("q1", "d1"): 0}}, **changes))


def test_a_format_for_grading_needs_no_grades(tmp_path: Path) -> None:
    check(release_of(tmp_path, {}), needs_grades=False)
