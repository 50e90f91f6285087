"""What the card and the tables say of near-duplicates that are graded apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from quati_pool.audit.base import PairTexts
from quati_pool.audit.near_duplicates import DuplicatePair, GradedApart, NearDuplicates
from quati_pool.commands.audit.audit import AuditReport
from quati_pool.commands.audit.near_duplicates import DuplicateAudit
from quati_pool.registry import PROBES
from quati_pool.reporting.answers.audit import answer
from quati_pool.reporting.answers.audit_grades import grade_sentences
from quati_pool.reporting.formats.answers import LINES, PIPE, answer_text
from quati_pool.reporting.tables.audit import tables
from quati_pool.stats.shares import Share
from quati_pool.text.display_width import columns
from tests.reporting.audit_reports import probed, report, way
from tests.reporting.grade_audits import all_beyond, grades

APART = DuplicatePair("q1", "d1", 3, "d2", 0, 0.91, None, 2)


def duplicates(ends: tuple[float, float] = (0.2, 0.41), people: bool = True, pairs: int = 1) -> DuplicateAudit:
    """30 of 100 pairs are graded apart; people graded both of 40 pairs, 4 of them apart, and the judge 10 of them."""
    found = NearDuplicates(
        judge=GradedApart(Share(100, 30, *ends), 12),
        there=GradedApart(Share(40, 10, 0.14, 0.4), 4) if people else None,
        people=GradedApart(Share(40, 4, 0.04, 0.23), 1) if people else None,
        apart=(APART,) * pairs,
    )
    texts = {("q1", doc_id): PairTexts("where is it", f"passage {doc_id}") for doc_id in ("d1", "d2")}
    path = Path("audits/gpt/near-duplicates.tsv")
    return DuplicateAudit(found, "nist" if people else None, 2, texts, path)


def row(made: AuditReport) -> list[str]:
    table = answer([made]).table
    assert table is not None
    return next(row for row in table.shown() if row[0] == "near-duplicates")


@pytest.mark.parametrize("of_grades", [grades(), None])
def test_the_line_the_sentence_and_where_they_are_listed(of_grades: Any) -> None:
    made = report(probed("length"), grades=of_grades, near_duplicates=duplicates())
    assert row(made) == ["near-duplicates", "beyond", "30 %", "20 to 41 %", "≤ 10 %", "100 pairs"]
    (said,) = [one for one in grade_sentences(made, 2) if one.startswith("Beyond")]
    assert said.endswith(
        "near-duplicates (30 % of the pairs are graded apart): do not compare systems that return different copies of "
        "a passage."
    )
    assert (
        "It grades 30 of 100 pairs of near-duplicates apart, 12 across grade 2 (25 % of those that people graded too, "
        "people 10 %)."
    ) in answer([made]).sentences
    assert (
        "--full prints all figures and the worst examples; the changed texts are in audits/gpt/, near-duplicates for "
        "people to look at in near-duplicates.tsv there."
    ) in answer([made]).rest.splitlines()


@pytest.mark.parametrize(
    ("ends", "position", "shown"),
    [
        ((0.02, 0.0999), "within", "2 to 10 %"),
        ((0.05, 0.1004), "undecided", "5 to 10.04 %"),
        ((0.1004, 0.2), "beyond", "10.04 to 20 %"),
    ],
)
def test_an_interval_is_seen_on_its_side_of_the_bound(ends: tuple[float, float], position: str, shown: str) -> None:
    assert row(report(near_duplicates=duplicates(ends)))[1:4:2] == [position, shown]


def test_without_people_there_is_nothing_of_them() -> None:
    made = report(probed("length"), near_duplicates=duplicates(people=False))
    assert "It grades 30 of 100 pairs of near-duplicates apart, 12 across grade 2." in answer([made]).sentences
    (shares,) = [table for table in tables([made], 80) if table.title == "Near-duplicates that gpt graded apart"]
    assert shares.shown() == [["gpt", "gpt graded", "100", "30", "30.0", "20.0 to 41.0", "12"]]


def test_all_figures_and_examples() -> None:
    made = report(near_duplicates=duplicates(pairs=25))
    found = {table.title: table for table in tables([made], 80)}
    assert found["Near-duplicates that gpt graded apart"].shown() == [
        ["gpt", "gpt graded", "100", "30", "30.0", "20.0 to 41.0", "12"],
        ["gpt", "nist graded too", "40", "10", "25.0", "14.0 to 40.0", "4"],
        ["nist", "nist graded too", "40", "4", "10.0", "4.0 to 23.0", "1"],
    ]
    listed = found["Near-duplicates of gpt for people to look at"]
    assert len(listed.rows) == 20
    assert listed.note.startswith("The first 20 of 25. ")
    assert listed.shown()[0] == ["q1", "d1", "3", "d2", "0", "0.91", "–", "2"]
    example = found["Near-duplicates: query q1; gpt graded passage d1 3, passage d2 0"]
    assert example.shown() == [
        ["Query", "where is it"],
        ["Passage", "passage d1"],
        ["Other passage", "passage d2"],
    ]
    (together,) = [table for table in tables([made]) if table.title.startswith("Examples of near-duplicates")]
    assert together.shown()[0][-1] == "passage d2"


def test_several_judges_have_it_in_their_table() -> None:
    made = [report(judge=judge, near_duplicates=duplicates()) for judge in ("gpt", "claude")]
    table = answer(made).table
    assert table is not None
    assert ["near-duplicates", "beyond (30 %)", "beyond (30 %)"] in table.shown()


def test_the_fullest_card_fits() -> None:
    variant = way("shuffled words", 26, 26, (0.87, 1.0))
    fooled = [
        probed(name, "fooled", 60, control=20, excess=(0.3, 0.5), fooled_by=[variant], controls_move=True, ungraded=1)
        for name in PROBES.names()
    ]
    for of_grades in (all_beyond(), None):
        made = report(*fooled, grades=of_grades, judge="gpt-4o-mini-2024-07-18-batch", near_duplicates=duplicates())
        text = answer_text(answer([made]))
        assert len(text.splitlines()) <= LINES
        assert max(map(columns, text.splitlines())) <= PIPE
        assert "Not shown here" not in text
        assert "near-duplicates" in text
