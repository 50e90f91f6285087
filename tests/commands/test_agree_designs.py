"""``agree`` where people got their pairs by designs with unequal probabilities."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from quati_pool.commands.agree import agree
from quati_pool.commands.annotate.assigning.assign import assign
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.grading.next_item import next_item
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.labels.gathered import LabelFiles
from quati_pool.project.config import LabelFileConfig
from quati_pool.reporting.answers.agree import answer as answered
from quati_pool.reporting.json_data.agree import as_data
from quati_pool.reporting.tables.agree import as_rows, tables
from tests.cli.conftest import Cli, cli
from tests.commands.annotate.people_at_work import answer, collection, pairs, token

__all__ = ["cli"]

Pair = tuple[str, str]

# 12 passages of q0 and 3 of q1.
POOL = [row for row in pairs(2, 12) if row["query_id"] == "q0" or row["doc_id"] in ("d0", "d1", "d2")]
IDS = [(row["query_id"], row["doc_id"]) for row in POOL]
LLM = {pair: place % 4 for place, pair in enumerate(IDS)}
PEOPLE = {
    pair: (grade + (pair[0] == "q1")) % 4 if place % 3 else (grade + 1) % 4
    for place, (pair, grade) in enumerate(LLM.items())
}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pool, the judge's grades in ``llm.qrels``, and "ana" and "bia", who may grade."""
    monkeypatch.chdir(tmp_path)
    Path("llm.qrels").write_text("".join(f"{query} 0 {doc} {grade}\n" for (query, doc), grade in LLM.items()))
    config = collection(tmp_path, POOL)
    with AnnotationSession.open(config) as session:
        for name in ("ana", "bia"):
            token(session, name)
    return config


def grade(config: Path, name: str = "ana") -> dict[Pair, int]:
    """Grades everything that waits for somebody, by ``PEOPLE``."""
    graded = {}
    with AnnotationSession.open(config) as session:
        mine = f"token-of-{name}"
        while (item := next_item(session, mine)) is not None:
            pair = (item.query_id, item.doc_id)
            submit(session, mine, item, answer(IDS.index(pair) + 100 * (name == "bia"), PEOPLE[pair]))
            graded[pair] = PEOPLE[pair]
    return graded


def compared(config: Path, *names: str, **options: Any) -> Any:
    files = LabelFiles({"llm": LabelFileConfig(path="llm.qrels")})
    return agree(config, names or ("ana",), files, **{"draws": 50, **options})


def kappa(graded: Mapping[Pair, int], weight: Mapping[Pair, float] | None = None) -> float:
    rows = [(grade, LLM[pair], 1 if weight is None else weight[pair]) for pair, grade in graded.items()]
    a, b, weights = zip(*rows, strict=True)
    return float(cohen_kappa_score(a, b, sample_weight=weights))


def test_a_stratified_design_weights_the_main_figures_and_the_plain_ones_are_shown_too(workspace: Path) -> None:
    assign(workspace, AssignOptions(stratified=8, by=("query",), minimum=3, to=("ana",)))
    graded = grade(workspace)
    report = compared(workspace)
    (pair,) = as_data(report)["pairs"]
    # 5 of the 12 pairs of q0, and all 3 of q1.
    weight = {one: 12 / 5 if one[0] == "q0" else 1.0 for one in graded}
    assert len(graded) == pair["n"] == 8
    assert pair["kappa"] == pytest.approx(kappa(graded, weight))
    assert pair["unweighted"]["kappa"] == pytest.approx(kappa(graded))
    assert pair["kappa"] != pytest.approx(pair["unweighted"]["kappa"], abs=0.01)
    assert pair["weighted"] == {"designs": ["design 1, stratified"], "n": 8, "queries": 2, "left_out": 0}
    assert np.sum(pair["confusion"]) == 8
    assert np.sum(pair["confusion_weighted"]) == pytest.approx(1)
    assert pair["intervals"]["kappa"][0] < pair["kappa"] < pair["intervals"]["kappa"][1]
    assert pair["unweighted"]["intervals"].keys() == pair["intervals"].keys()
    assert pair["binarized"].keys() == pair["unweighted"]["binarized"].keys()
    json.dumps(as_data(report))


def test_what_is_printed_says_so_once(workspace: Path) -> None:
    assign(workspace, AssignOptions(stratified=8, by=("query",), minimum=3, to=("ana",)))
    graded = grade(workspace)
    report = compared(workspace)
    said = answered(report)
    weights = [sentence for sentence in said.sentences if "1/π" in sentence]
    plain = f"{kappa(graded):.2f}".replace("-", "−")
    assert len(weights) == 1
    assert weights[0].startswith(
        "The figures of ana and llm are weighted by 1/π (design 1, stratified); without weights κ is "
    )
    assert plain.lstrip("−") in weights[0]
    assert said.table is not None
    assert "κ unweighted" in [column.heading for column in said.table.columns]
    titles = [table.title for table in tables(report)]
    assert "Grades of ana (rows) and llm (columns)" in titles
    assert "Weighted shares of the grades of ana (rows) and llm (columns)" in titles
    first = next(row for row in as_rows(report).splitlines() if row.startswith("ana,llm,,kappa,"))
    assert first.split(",", 9)[9].startswith('"design 1, stratified",')


def test_the_command_prints_both(workspace: Path, cli: Cli) -> None:
    assign(workspace, AssignOptions(stratified=8, by=("query",), minimum=3, to=("ana",)))
    grade(workspace)
    printed = json.loads(cli("agree", "ana", "--labels", "llm=llm.qrels", "--draws", "20", "--format", "json").out)
    assert {"weighted", "unweighted", "confusion_weighted"} < printed["pairs"][0].keys()
    shown = " ".join(cli("agree", "ana", "--labels", "llm=llm.qrels", "--draws", "20").out.split())
    assert "weighted by 1/π (design 1, stratified)" in shown
    assert "κ unweighted" in shown


@pytest.mark.parametrize("options", [{"random": "6"}, {"random": "0.5"}, {"everything": True}])
def test_equal_probabilities_change_nothing(workspace: Path, options: dict[str, Any]) -> None:
    assign(workspace, AssignOptions(**options, to=("ana",)))
    graded = grade(workspace)
    (pair,) = as_data(compared(workspace))["pairs"]
    assert not {"weighted", "unweighted", "confusion_weighted", "not_weighted"} & pair.keys()
    assert pair["kappa"] == pytest.approx(kappa(graded))


def test_pairs_of_queries_chosen_by_hand_are_left_out_and_counted(workspace: Path) -> None:
    assign(workspace, AssignOptions(stratified=8, by=("query",), minimum=3, to=("ana",)))
    drawn = grade(workspace)
    assign(workspace, AssignOptions(queries=("q0",), to=("ana",)))
    grade(workspace)
    report = compared(workspace)
    (pair,) = as_data(report)["pairs"]
    weight = {one: 12 / 5 if one[0] == "q0" else 1.0 for one in drawn}
    assert pair["n"] == 15
    assert pair["weighted"]["left_out"] == 7
    assert pair["kappa"] == pytest.approx(kappa(drawn, weight))
    assert any("7 of 15 pairs of ana and llm" in sentence for sentence in answered(report).sentences)


def test_two_designs_count_each_pair_by_all_its_probabilities(workspace: Path) -> None:
    assign(workspace, AssignOptions(stratified=8, by=("query",), minimum=3, to=("ana",)))
    grade(workspace)
    assign(workspace, AssignOptions(random="5", to=("ana",), seed=7))
    grade(workspace)
    with AnnotationSession.open(workspace) as session:
        first, second = (
            {(one.query_id, one.doc_id) for one in session.designs.selections(design_id)} for design_id in (1, 2)
        )
    report = compared(workspace)
    (pair,) = as_data(report)["pairs"]
    weight = {
        one: ((one in first) + (one in second)) / ((5 / 12 if one[0] == "q0" else 1) + 5 / 15) for one in first | second
    }
    assert pair["weighted"]["designs"] == ["design 1, stratified", "design 2, random"]
    assert pair["kappa"] == pytest.approx(kappa({one: PEOPLE[one] for one in first | second}, weight))
    assert any("1/(sum of π)" in sentence for sentence in answered(report).sentences)


def test_two_people_are_weighted_by_the_design_that_they_share(workspace: Path) -> None:
    assign(workspace, AssignOptions(stratified=8, by=("query",), minimum=3, overlap=2))
    graded = grade(workspace)
    assert grade(workspace, "bia") == graded
    report = compared(workspace, "ana", "bia")
    by_names = {(pair["a"], pair["b"]): pair for pair in as_data(report)["pairs"]}
    assert all(pair["weighted"]["n"] == 8 for pair in by_names.values())
    assert by_names["ana", "bia"]["kappa"] == 1
    assert any("3 pairs of labelers are weighted by 1/π" in sentence for sentence in answered(report).sentences)


def test_a_file_of_probabilities_is_weighted_too(workspace: Path) -> None:
    graded = {pair: PEOPLE[pair] for pair in IDS[:4] + IDS[12:]}
    inclusion = {pair: 1 / 3 if pair[0] == "q0" else 1.0 for pair in graded}
    Path("ana.prels").write_text(
        "".join(f"{query} {doc} {grade} 1 {inclusion[query, doc]}\n" for (query, doc), grade in graded.items())
    )
    files = LabelFiles({"ana": LabelFileConfig(path="ana.prels"), "llm": LabelFileConfig(path="llm.qrels")})
    (pair,) = as_data(agree(workspace, (), files, draws=50))["pairs"]
    assert pair["weighted"]["designs"] == ["the sample of ana"]
    assert pair["kappa"] == pytest.approx(kappa(graded, {one: 1 / chance for one, chance in inclusion.items()}))


def test_a_file_of_strata_is_weighted_too(workspace: Path) -> None:
    graded = {pair: PEOPLE[pair] for pair in IDS[:4] + IDS[12:]}
    Path("ana.qrels").write_text("".join(f"{q} 0 {d} 1 {graded.get((q, d), -1)}\n" for q, d in IDS))
    files = LabelFiles({"ana": LabelFileConfig(path="ana.qrels"), "llm": LabelFileConfig(path="llm.qrels")})
    (pair,) = as_data(agree(workspace, (), files, draws=50))["pairs"]
    weight = {pair: 3.0 if pair[0] == "q0" else 1.0 for pair in graded}
    assert pair["kappa"] == pytest.approx(kappa(graded, weight))
