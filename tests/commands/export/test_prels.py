"""Grades of a sample, with the probability with which each pair was drawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quati_pool.commands.annotate.assigning.assign import assign
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.grading.next_item import next_item
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.export.labels import export_labels
from quati_pool.commands.export.prels import export_prels
from quati_pool.errors import QuatiPoolError
from quati_pool.files.label_files import read_label_file
from tests.commands.annotate.people_at_work import answer, collection, item, pairs, token


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return collection(tmp_path / "workspace", pairs(2, 6))


def test_grades_of_a_design_with_their_probabilities(config: Path, tmp_path: Path) -> None:
    with AnnotationSession.open(config) as session:
        mine = token(session, "ana")
        first = assign(config, AssignOptions(random="0.5", to=("ana",)))
        selected = len(first.sample)
        assert 3 <= selected < 12
        for number in range(selected - 1):
            submit(session, mine, item(session, mine), answer(number, number % 4))
        submit(session, mine, item(session, mine), answer(99, None, status="unsure", reason="broken_text"))
    made = export_prels(config, "ana", tmp_path / "ana.prels")
    assert (made.design, made.method, made.selected, made.graded, made.other) == (
        1, "random", selected, selected - 1, 0,
    )  # fmt: skip
    read = read_label_file(tmp_path / "ana.prels")
    assert (read.format, read.inclusion) == ("prels", [0.5] * (selected - 1))
    assert sorted(read.relevance, key=str) == sorted((n % 4 for n in range(selected - 1)), key=str)
    assert all(row.split()[3] == "1" for row in (tmp_path / "ana.prels").read_text().splitlines())

    # A second design: its own pairs and probabilities, and the grades of the first are of other pairs.
    with AnnotationSession.open(config) as session:
        assign(config, AssignOptions(everything=True, to=("ana",)))
        submit(session, mine, item(session, mine), answer(100, 3))
    with pytest.raises(QuatiPoolError, match=r"there are several designs: 1 \(random\), 2 \(all\); name one with"):
        export_prels(config, "ana", tmp_path / "ana.prels")
    again = export_prels(config, "ana", tmp_path / "one.prels", design=1)
    assert (again.graded, again.other) == (selected - 1, 1)
    assert (tmp_path / "one.prels").read_bytes() == (tmp_path / "ana.prels").read_bytes()
    everything = export_prels(config, "ana", design=2)
    assert everything.path == config.parent / "qrels" / "ana.prels"
    assert set(read_label_file(everything.path).inclusion or ()) == {1.0}
    with pytest.raises(QuatiPoolError, match=r"--design 3: there is no such design of a sample; there are: 1 \(random"):
        export_prels(config, "ana", design=3)


def test_pairs_for_a_measure_have_their_own_probabilities_and_random_queries_that_of_their_stratum(
    workspace: Path, tmp_path: Path
) -> None:
    config = workspace / "pool.yaml"
    rows = (workspace / "queries.tsv").read_text("utf-8").splitlines()
    themed = [f"{row}\t{'law' if place < 2 else 'sea'}\n" for place, row in enumerate(rows)]
    (workspace / "queries.tsv").write_text("query_id\tquery\ttheme\n" + "".join(themed), "utf-8")
    assign(config, AssignOptions(pairs_for="nDCG@3", expect=12))
    assign(config, AssignOptions(random_queries=5, strata="theme"))
    with AnnotationSession.open(config) as session:
        active, whole = (
            {(one.query_id, one.doc_id): one.inclusion for one in session.designs.selections(number)}
            for number in (1, 2)
        )
        mine = token(session, "ana")
        number = 0
        while (shown := next_item(session, mine)) is not None:
            submit(session, mine, shown, answer(number))
            number += 1
    assert number == len(active.keys() | whole.keys())
    assert len({*active.values()}) > 3
    # Of the six queries two are of law, and of the other four three were drawn.
    assert {*whole.values()} == {1.0, 0.75}
    for design, inclusion in ((1, active), (2, whole)):
        made = export_prels(config, "ana", tmp_path / f"{design}.prels", design=design)
        assert (made.method, made.graded) == (("active", "random-queries")[design - 1], len(inclusion))
        read = read_label_file(tmp_path / f"{design}.prels")
        found = zip(read.query_id or (), read.doc_id or (), read.inclusion or (), strict=True)
        assert {(query_id, doc_id): probability for query_id, doc_id, probability in found} == inclusion

    export_labels(config, "ana", "jsonl", tmp_path / "ana.jsonl")
    exported = [json.loads(line) for line in (tmp_path / "ana.jsonl").read_text("utf-8").splitlines()]
    assert {row["design"] for row in exported} == {"1-active", "2-random-queries"}
    for row in exported:
        inclusion = active if row["design"] == "1-active" else whole
        assert row["inclusion"] == inclusion[row["query_id"], row["doc_id"]]
        assert row["stratum"] in (["all"] if inclusion is active else ["theme=law", "theme=sea"])


def test_without_a_design_or_a_grade(config: Path, tmp_path: Path) -> None:
    with pytest.raises(QuatiPoolError, match="no design says how pairs were drawn; run: quati-pool assign"):
        export_prels(config, "ana", tmp_path / "ana.prels")
    with AnnotationSession.open(config) as session:
        mine = token(session, "ana")
        assign(config, AssignOptions(everything=True, to=("ana",)))
        submit(session, mine, item(session, mine), answer(1, None, status="skipped"))
    with pytest.raises(QuatiPoolError, match="ana has graded no pair of the pool; run: quati-pool annotate"):
        export_prels(config, "ana", tmp_path / "ana.prels")
    assert not (tmp_path / "ana.prels").exists()
