"""Whole queries at random: which are drawn, in which order people get them, and how a larger design continues."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quati_pool.annotation.sampling import random_query_order
from quati_pool.commands.annotate.assigning.assign import AssignReport, assign
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.grading.next_item import next_item
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import QuatiPoolError
from quati_pool.reporting.answers.annotation import assigned as answered
from quati_pool.reporting.json_data.annotate import as_data
from quati_pool.reporting.tables.assign import tables
from quati_pool.store.records import FramePair
from tests.commands.annotate.people_at_work import answer, collection, item, pairs, token

THEMES = ["history"] * 5 + ["law"] * 4 + [""]
HISTORY, LAW, NONE = (frozenset(f"q{n}" for n in some) for some in (range(5), range(5, 9), [9]))


@pytest.fixture
def config(tmp_path: Path, made_url: str) -> Path:
    """Ten queries of two passages, and their themes; on both engines."""
    return with_themes(collection(tmp_path / "workspace", pairs(10, 2), labels={"url": made_url}))


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """The same on SQLite alone, where the engine is no part of what is tested."""
    return with_themes(collection(tmp_path / "alone", pairs(10, 2)))


def with_themes(config: Path) -> Path:
    rows = [f"q{n}\tpergunta q{n}\t{theme}\n" for n, theme in enumerate(THEMES)]
    (config.parent / "queries.tsv").write_text("query_id\tquery\ttheme\n" + "".join(rows), encoding="utf-8")
    return config


def drawn(report: AssignReport, config: Path) -> set[str]:
    """The queries of a report's pairs."""
    with AnnotationSession.open(config) as session:
        query_ids = session.pool_view.table["query_id"].to_pylist()
    return {query_ids[row] for row in report.sample.rows.tolist()}


def served(session: AnnotationSession, name: str) -> Iterator[str]:
    """The queries that somebody gets, each once, as they grade all."""
    mine, last = f"token-of-{name}", None
    number = 0
    while (shown := next_item(session, mine)) is not None:
        submit(session, mine, shown, answer(number))
        number += 1
        if shown.query_id != last:
            last = shown.query_id
            yield last


def frame_order(session: AnnotationSession, design_id: int) -> list[str]:
    """The order of all queries of a design's frame, from what is stored alone."""
    frame = session.designs.frame(design_id)
    assert frame is not None
    [seed] = [one.seed for one in session.designs.all() if one.design_id == design_id]
    return random_query_order({one.query_id: one.stratum for one in frame}, seed)


def test_all_pairs_of_the_first_queries_are_chosen_and_served_in_the_random_order(config: Path) -> None:
    report = assign(config, AssignOptions(random_queries=4, seed=3))
    order = random_query_order({f"q{n}": "all" for n in range(10)}, 3)
    assert (report.method, len(report.sample), drawn(report, config)) == ("random-queries", 8, {*order[:4]})
    with AnnotationSession.open(config) as session:
        [design] = session.designs.all()
        assert (design.is_random, design.poisson) == (True, False)
        assert design.parameters == {
            "overlap": 1, "load": None, "to": [], "n": 4, "strata": None, "query_counts": {"all": [10, 4]},
        }  # fmt: skip
        assert design.strata == {"all": [20, 8, 0.4]}
        assert {one.inclusion for one in session.designs.selections(1)} == {0.4}
        assert session.designs.frame(1) == [
            FramePair(f"q{n}", f"d{d}", "all", 0.4) for n in range(10) for d in range(2)
        ]
        assert frame_order(session, 1) == order
        assert session.designs.query_order(1) == {query_id: place for place, query_id in enumerate(order[:4], 1)}
        token(session, "ana")
        assert list(served(session, "ana")) == order[:4]


def test_a_larger_design_adds_queries_that_come_after_the_earlier_ones(config: Path) -> None:
    options: dict[str, Any] = {"seed": 5, "overlap": 2}
    first = assign(config, AssignOptions(random_queries=3, **options))
    again = assign(config, AssignOptions(random_queries=3, **options))
    larger = assign(config, AssignOptions(random_queries=8, **options))
    assert (first.design_id, again.known, larger.design_id) == (1, 1, 2)
    assert (larger.added_pairs, larger.added_slots) == (10, 20)
    assert drawn(first, config) < drawn(larger, config)
    order = random_query_order({f"q{n}": "all" for n in range(10)}, 5)
    with AnnotationSession.open(config) as session:
        assert frame_order(session, 2) == frame_order(session, 1) == order
        # Earlier queries have their slots in the earlier design.
        assert list(session.designs.query_order(2).items()) == list(zip(order[3:8], range(4, 9), strict=True))
        assert len({(one.query_id, one.doc_id) for one in session.designs.selections(2)}) == 16
        for name in ("ana", "bia"):
            token(session, name)
            assert list(served(session, name)) == order[:8]


@pytest.mark.parametrize("strata", [None, "theme"])
def test_people_who_are_named_get_their_queries_in_the_random_order(alone: Path, strata: str | None) -> None:
    with AnnotationSession.open(alone) as session:
        for name in ("ana", "bia", "caio"):
            token(session, name)
    assign(alone, AssignOptions(random_queries=9, strata=strata, overlap=2, to=("ana", "bia", "caio")))
    with AnnotationSession.open(alone) as session:
        order = frame_order(session, 1)
        for name in ("ana", "bia", "caio"):
            mine = list(served(session, name))
            assert mine == [query_id for query_id in order if query_id in mine]
            assert len(mine) == 6


def test_strata_come_from_a_column_of_the_queries_file(alone: Path) -> None:
    report = assign(alone, AssignOptions(random_queries=8, strata="theme"))
    # Three of history, three of law and the one without a theme first; the next by 5 / 7 against 4 / 7.
    assert report.queries == {"theme=history": (5, 4), "theme=law": (4, 3), "theme=none": (1, 1)}
    chosen = drawn(report, alone)
    assert [len(chosen & theme) for theme in (HISTORY, LAW, NONE)] == [4, 3, 1]
    assert report.notes == ["1 query has no theme and forms a separate stratum"]
    assert as_data(report)["queries"] == [
        {"stratum": "theme=history", "N": 5, "n": 4},
        {"stratum": "theme=law", "N": 4, "n": 3},
        {"stratum": "theme=none", "N": 1, "n": 1},
    ]
    assert as_data(report)["strata"][0] == {"stratum": "theme=history", "N": 10, "n": 8, "inclusion": 0.8}
    assert str(answered(report).sentences[0]).startswith(
        "8 of 10 queries are drawn: 16 of 20 pairs are chosen (random queries, seed 0), for 1 person each."
    )
    shown = tables(report)[1]
    assert shown.rows[1] == ["theme=law", 4, 3, 8, 6, 0.75]
    with AnnotationSession.open(alone) as session:
        [design] = session.designs.all()
        assert design.parameters["query_counts"] == {"theme=history": [5, 4], "theme=law": [4, 3], "theme=none": [1, 1]}
        frame = session.designs.frame(1)
        assert frame is not None
        assert {one.query_id: (one.stratum, one.inclusion) for one in frame} == {
            **dict.fromkeys(HISTORY, ("theme=history", 0.8)),
            **dict.fromkeys(LAW, ("theme=law", 0.75)),
            **dict.fromkeys(NONE, ("theme=none", 1.0)),
        }
    larger = assign(alone, AssignOptions(random_queries=9, strata="theme"))
    assert chosen < drawn(larger, alone)


def test_too_few_queries_for_an_estimate_are_noted(alone: Path) -> None:
    note = "estimates need 8 queries that people have graded: ask for more later, with the same seed"
    assert assign(alone, AssignOptions(random_queries=7, dry_run=True)).notes == [note]
    assert assign(alone, AssignOptions(random_queries=8, dry_run=True)).notes == []


def test_pairs_that_wait_in_a_design_without_an_order_are_noted(alone: Path) -> None:
    assign(alone, AssignOptions(everything=True))
    report = assign(alone, AssignOptions(random_queries=8))
    assert report.notes == ["16 chosen pairs wait in earlier designs, and may come late"]
    assert assign(alone, AssignOptions(random_queries=9, dry_run=True)).notes == [
        "18 chosen pairs wait in earlier designs, and may come late"
    ]


def test_queries_completed_at_any_time_are_the_first_of_the_order(alone: Path) -> None:
    """Three people share the work and stop after 9 of 20 answers."""
    assign(alone, AssignOptions(random_queries=10, seed=8))
    with AnnotationSession.open(alone) as session:
        tokens = [token(session, name) for name in ("ana", "bia", "caio")]
        done: list[str] = []
        for number in range(9):
            shown = item(session, tokens[number % 3])
            submit(session, tokens[number % 3], shown, answer(number))
            done.append(shown.query_id)
        completed = {query_id for query_id in done if done.count(query_id) == 2}
        assert completed == {*frame_order(session, 1)[: len(completed)]}
        assert len(completed) >= 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"random_queries": 11}, "the pool has 10 queries to choose from, not 11; ask for at most 10"),
        ({"random_queries": 6, "strata": "theme"},
         "3 strata with at least 3 queries each (all of a smaller one) need 7 queries, not 6; ask for more queries, or "
         "stratify by a column with fewer values"),
        ({"random_queries": 8, "strata": "topic"},
         "queries.tsv: has no column 'topic' to form strata; its columns are theme"),
        ({"random_queries": 10, "strata": "query"},
         "--strata query: no two queries share a value; name a column with fewer values"),
        ({"random": "3", "strata": "theme"}, "--strata stratifies whole queries; ask for --random-queries N"),
        ({"random_queries": 3, "everything": True}, "choose the pairs in exactly one way: "),
        ({"random_queries": 3, "judge": "gold"},
         "--judge says whose grades to choose by; ask for --stratified N, --pairs-for MEASURE or --queue NAME"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused_in_one_line(alone: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(QuatiPoolError) as refused:
        assign(alone, AssignOptions(**options))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    with AnnotationSession.open(alone) as session:
        assert session.designs.all() == []


def test_a_file_without_columns_or_no_file_forms_no_strata(alone: Path) -> None:
    path = alone.parent / "queries.tsv"
    path.write_text("".join(f"q{n}\tpergunta q{n}\n" for n in range(10)), encoding="utf-8")
    with pytest.raises(
        QuatiPoolError, match="has no column 'theme' to form strata; it has no columns but ids and texts"
    ):
        assign(alone, AssignOptions(random_queries=8, strata="theme"))
    path.unlink()
    with pytest.raises(QuatiPoolError, match=r"no file of queries has a column 'theme'; name one under queries:"):
        assign(alone, AssignOptions(random_queries=8, strata="theme"))
