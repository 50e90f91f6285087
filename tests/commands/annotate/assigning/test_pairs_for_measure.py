"""Pairs drawn for a measure: each with a probability of its own, which is stored for every pair of the pool."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from quati_pool.annotation.sampling import hash_unit
from quati_pool.commands.annotate.assigning.assign import assign
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.judge.judge import judge
from quati_pool.errors import QuatiPoolError
from quati_pool.estimation.pair_frame import NO_GRADE, PairFrame
from quati_pool.estimation.pair_measures import parse_pair_measure
from quati_pool.estimation.pair_probabilities import probabilities
from quati_pool.project.events import Listener
from quati_pool.reporting.json_data.annotate import as_data
from quati_pool.reporting.tables.assign import tables
from quati_pool.store.records import FramePair

Rows = list[dict[str, Any]]


@pytest.fixture
def built(workspace: Path) -> Path:
    """The small collection, built, with a judge that knows grades of its pairs."""
    config = workspace / "pool.yaml"
    settings = yaml.safe_load(config.read_text("utf-8"))
    settings["judges"] = {"gold": {"judge": "replay", "path": "gold.qrels"}, "lexical": {"judge": "lexical"}}
    config.write_text(yaml.safe_dump(settings, allow_unicode=True, sort_keys=False), "utf-8")
    return config


def rows_of(config: Path) -> Rows:
    with gzip.open(config.parent / "pool.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def graded(config: Path, grades: list[int | None]) -> None:
    """The judge grades the pool's pairs so, in its order, but those with None."""
    lines = [
        f"{row['query_id']} 0 {row['doc_id']} {grade}\n"
        for row, grade in zip(rows_of(config), grades, strict=True)
        if grade is not None
    ]
    (config.parent / "gold.qrels").write_text("".join(lines), "utf-8")
    judge(config, "gold", Listener())


def expected(rows: Rows, grades: list[int | None], measure: str, size: float, **options: Any) -> list[float]:
    """The probabilities of the pool's pairs, from a frame that is put together here."""
    queries = sorted({row["query_id"] for row in rows})
    systems = sorted({tag for row in rows for tag in row["runs"]})
    entries = [(pair, systems.index(tag), rank) for pair, row in enumerate(rows) for tag, rank in row["runs"].items()]
    pair, system, rank = np.array(entries, dtype=np.int64).T
    frame = PairFrame(
        np.array([queries.index(row["query_id"]) for row in rows]),
        len(queries),
        np.array([NO_GRADE if grade is None else grade for grade in grades], dtype=np.int64),
        len(systems),
        pair,
        system,
        rank,
    )
    important = options.pop("important", None)
    weights = None if important is None else np.array([tag in important for tag in systems], dtype=np.float64)
    found: list[float] = probabilities(frame, parse_pair_measure(measure), size, weights=weights, **options).tolist()
    return found


def stored(config: Path, design_id: int = 1) -> dict[tuple[str, str], float]:
    with AnnotationSession.open(config) as session:
        frame = session.designs.frame(design_id)
    assert frame is not None
    assert {one.stratum for one in frame} == {"all"}
    return {(one.query_id, one.doc_id): one.inclusion for one in frame}


def ids(rows: Rows) -> list[tuple[str, str]]:
    return [(row["query_id"], row["doc_id"]) for row in rows]


def test_each_pair_enters_by_its_own_probability_which_is_stored_for_all_of_them(built: Path) -> None:
    rows = rows_of(built)
    report = assign(built, AssignOptions(pairs_for="nDCG@3", expect=30, seed=4))
    wanted = expected(rows, [None] * len(rows), "nDCG@3", 30)
    assert report.method == "active"
    assert sum(wanted) == pytest.approx(30)
    assert list(stored(built).values()) == pytest.approx(
        list(dict(sorted(zip(ids(rows), wanted, strict=True))).values())
    )
    numbers = hash_unit(4, *map(list, zip(*ids(rows), strict=True)))
    entered = {pair for pair, number, one in zip(ids(rows), numbers, wanted, strict=True) if number <= one}
    assert 15 < len(entered) < 45
    with AnnotationSession.open(built) as session:
        [design] = session.designs.all()
        selections = session.designs.selections(1)
    assert {(one.query_id, one.doc_id) for one in selections} == entered
    probability = dict(zip(ids(rows), wanted, strict=True))
    for one in selections:
        assert one.inclusion == pytest.approx(probability[one.query_id, one.doc_id])
    assert len({one.inclusion for one in selections}) > 5
    assert (design.is_random, design.poisson) == (True, True)
    assert design.parameters == {
        "overlap": 1, "load": None, "to": [], "measure": "nDCG@3", "expected": 30.0, "uniform": 0.2, "for": None,
    }  # fmt: skip
    [(name, (pairs, selected, mean))] = design.strata.items()
    assert (name, pairs, selected) == ("all", len(rows), len(entered))
    assert mean == pytest.approx(30 / len(rows))
    least, most = min(wanted), max(wanted)
    certain = sum(one == 1 for one in wanted)
    assert report.notes[-1].startswith(f"inclusion probabilities go from {least:.4f} to {most:.4f}; {certain} pair")
    assert tables(report)[1].columns[-1].heading == "Mean inclusion probability"
    assert as_data(report)["strata"] == [
        {"stratum": "all", "N": len(rows), "n": len(entered), "inclusion": pytest.approx(30 / len(rows))}
    ]


def test_a_rate_is_a_share_of_the_pool_and_a_larger_one_only_adds_pairs(built: Path) -> None:
    rows = rows_of(built)
    first = assign(built, AssignOptions(pairs_for="DCG@3", rate="20%"))
    again = assign(built, AssignOptions(pairs_for="DCG@3", expect=round(len(rows) / 5), rate=None))
    larger = assign(built, AssignOptions(pairs_for="DCG@3", rate="0.4"))
    assert sum(stored(built).values()) == pytest.approx(len(rows) / 5)
    assert sum(stored(built, larger.design_id or 0).values()) == pytest.approx(len(rows) * 0.4)
    assert {*first.sample.rows.tolist()} <= {*larger.sample.rows.tolist()}
    assert larger.added_pairs <= len(larger.sample) - len(first.sample)
    assert again.added_pairs <= 2
    assert assign(built, AssignOptions(pairs_for="DCG@3", rate="0.4")).known == larger.design_id


def test_named_systems_have_all_the_weight_and_every_pair_keeps_a_probability(built: Path) -> None:
    rows = rows_of(built)
    assign(built, AssignOptions(pairs_for="DCG@3", expect=20, important=("lsa",), uniform=0.5))
    found = stored(built)
    assert list(found.values()) == pytest.approx(
        [p for _, p in sorted(zip(ids(rows), expected(rows, [None] * len(rows), "DCG@3", 20, important=("lsa",),
                                                      uniform=0.5), strict=True))]
    )  # fmt: skip
    elsewhere = [found[pair] for pair, row in zip(ids(rows), rows, strict=True) if row["runs"].get("lsa", 99) > 3]
    assert {*np.round(elsewhere, 12)} == {round(0.5 * 20 / len(rows), 12)}
    with AnnotationSession.open(built) as session:
        assert session.designs.all()[0].parameters["for"] == ["lsa"]


def test_a_judges_grades_weigh(built: Path) -> None:
    rows = rows_of(built)
    grades: list[int | None] = [None if place % 7 == 3 else place % 4 for place in range(len(rows))]
    graded(built, grades)
    options: dict[str, Any] = {"pairs_for": "nDCG@3", "expect": 30, "judge": "gold"}
    report = assign(built, AssignOptions(**options))
    assert list(stored(built).values()) == pytest.approx(
        [p for _, p in sorted(zip(ids(rows), expected(rows, grades, "nDCG@3", 30), strict=True))]
    )
    missing = grades.count(None)
    assert f"{missing} pairs have no grade by gold: they count as average ones of their query" in report.notes
    with AnnotationSession.open(built) as session:
        parameters = session.designs.all()[0].parameters
    assert parameters["judge"] == "gold"
    assert parameters["judge_version"]
    assert assign(built, AssignOptions(**options)).known == 1


def test_ranks_that_were_not_pooled_are_noted(built: Path) -> None:
    report = assign(built, AssignOptions(pairs_for="nDCG@4", expect=20, dry_run=True))
    assert report.notes[0] == (
        "nDCG@4 reads 4 ranks, but fewer of words and theirs were pooled: what is outside the pool is in no sample"
    )


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no size": ({}, "--pairs-for needs the number of pairs, given once: --rate 0.1, or --expect 1500"),
    "two sizes": ({"rate": "0.1", "expect": 9}, "--pairs-for needs the number of pairs, given once"),
    "a rate above 1": ({"rate": "1.5"}, "--rate 1.5 is no share of the pool; give one such as 0.1 or 10%"),
    "a rate of 0": ({"rate": "0%"}, "--rate 0% is no share of the pool"),
    "no pair": ({"expect": 0}, "--expect 0: a sample of no pairs is empty; ask for at least 1"),
    "too many": ({"expect": 100_000}, "not 100,000; ask for at most"),
    "a uniform share of 0": ({"expect": 9, "uniform": 0.0}, "--uniform 0 is no share of the pairs; give one above 0"),
    "no number": ({"expect": 9, "uniform": float("nan")}, "--uniform nan is no share of the pairs"),
    "a measure of whole queries": (
        {"pairs_for": "AP", "expect": 9}, "'AP' cannot be estimated from a sample of pairs: ",
    ),
    "an unknown system": (
        {"expect": 9, "important": ("bm25",)}, "--for: the pool has no system 'bm25'; did you mean 'bm25s'?",
    ),
    "an unknown judge": ({"expect": 9, "judge": "silver"}, "there is no labeler 'silver' in small; "),
    "a judge without a grade": ({"expect": 9, "judge": "lexical"}, "lexical has graded no pair of the pool"),
    "options of pairs without a measure": (
        {"pairs_for": None, "random": "3", "rate": "0.1"},
        "--rate, --expect, --for and --uniform say which pairs to draw for a measure; name it with --pairs-for",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", REFUSED)
def test_what_cannot_be_drawn_is_refused_in_one_line(built: Path, fault: str) -> None:
    options, message = REFUSED[fault]
    with pytest.raises(QuatiPoolError) as refused:
        assign(built, AssignOptions(**{"pairs_for": "nDCG@3", **options}))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    with AnnotationSession.open(built) as session:
        assert session.designs.all() == []


def test_the_frames_of_designs_with_and_without_strata(built: Path) -> None:
    rows = rows_of(built)
    assign(built, AssignOptions(everything=True))
    assign(built, AssignOptions(random="10"))
    assign(built, AssignOptions(random="0.5"))
    assign(built, AssignOptions(stratified=20, by=("query",)))
    assign(built, AssignOptions(queries=("q1",)))
    with AnnotationSession.open(built) as session:
        frames = [session.designs.frame(number) for number in range(1, 7)]
        designs = session.designs.all()
        strata = designs[3].strata
    everything = [FramePair(*pair, "all", 1.0) for pair in sorted(ids(rows))]
    assert frames[0] == everything
    assert frames[1] == [one._replace(inclusion=10 / len(rows)) for one in everything]
    assert frames[2] == [one._replace(inclusion=0.5) for one in everything]
    assert frames[3] is not None
    assert [(one.query_id, one.doc_id) for one in frames[3]] == sorted(ids(rows))
    assert {(one.stratum, one.inclusion) for one in frames[3]} == {(name, row[2]) for name, row in strata.items()}
    # Chosen by hand: no sample of the others.
    assert frames[4:] == [None, None]
    assert [one.is_random for one in designs] == [True, True, True, True, False]
    assert [one.poisson for one in designs] == [False, False, True, False, False]
