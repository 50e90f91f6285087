"""Pairs for a measure, drawn by what they weigh times the uncertainty of a judge or the disagreement of several."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quati_pool.annotation.sampling import hash_unit
from quati_pool.commands.annotate.assigning.assign import AssignReport, assign
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.estimates.estimate import estimate
from quati_pool.commands.estimates.settings import EstimateSettings
from quati_pool.errors import QuatiPoolError
from quati_pool.reporting.answers.annotation import assigned
from quati_pool.reporting.json_data.annotate import as_data
from quati_pool.store.records import Design
from tests.estimated_workspace import JUDGE, Pair, grade, judged, judged_workspace, label, relevance

OTHER = "mistral"
SETTINGS: dict[str, Any] = {
    "judges": {
        JUDGE: {"model": "gpt-4o-2024-11-20", "prompt": "quati-en"},
        OTHER: {"model": "mistral-7b", "prompt": "quati-en"},
        "lexical": {"judge": "lexical"},
    }
}


def others(pair: Pair) -> int | None:
    """The second judge's grade: the first one's, or 0 in every third query; one query has none."""
    query = int(pair[0][1:])
    return None if query == 5 else 0 if query % 3 == 0 else judged(pair)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two judges have graded, and nobody else; not to be changed."""
    config = judged_workspace(tmp_path_factory.mktemp("weighted") / "workspace", **SETTINGS)
    with AnnotationSession.open(config) as session:
        version = session.grading.labeler(OTHER).version
    queries = [f"q{number:02}" for number in range(14) if number != 5]
    label(config, OTHER, others, queries, kind="judge", version=version)
    return config.parent


@pytest.fixture
def config(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "workspace")) / "pool.yaml"


def drawn(config: Path, **options: Any) -> AssignReport:
    return assign(config, AssignOptions(**{"pairs_for": "nDCG@5", "expect": 40, **options}))


def probabilities(report: AssignReport) -> np.ndarray:
    assert report.sample.probabilities is not None
    return report.sample.probabilities


def pool(config: Path) -> list[Pair]:
    with AnnotationSession.open(config) as session:
        columns = [session.pool_view.table[name].to_pylist() for name in ("query_id", "doc_id")]
    return list(zip(*columns, strict=True))


def designs(config: Path) -> list[Design]:
    with AnnotationSession.open(config) as session:
        return session.designs.all()


def factor(report: AssignReport, plain: AssignReport) -> np.ndarray:
    """What weights were multiplied by, up to a constant, where no probability is 1: without the uniform part."""
    uniform = 0.2 * 40 / len(probabilities(plain))
    free = (probabilities(report) < 1) & (probabilities(plain) < 1)
    found: np.ndarray = np.where(free, (probabilities(report) - uniform) / (probabilities(plain) - uniform), np.nan)
    return found


def of_pairs(config: Path, values: Mapping[Pair, float]) -> np.ndarray:
    return np.array([values[pair] for pair in pool(config)])


def proportional(found: np.ndarray, wanted: np.ndarray) -> None:
    ratio = (found / wanted)[~np.isnan(found)]
    assert len(ratio) > 20
    np.testing.assert_allclose(ratio, ratio[0])


def test_discount_is_the_default_and_changes_nothing_that_is_stored(config: Path) -> None:
    plain = drawn(config)
    named = drawn(config, by=("discount",))
    assert named.known == plain.design_id
    assert set(designs(config)[0].parameters) == {
        "overlap", "load", "to", "judge", "judge_version", "measure", "expected", "uniform", "for",
    }  # fmt: skip
    assert plain.by is None


def test_disagreement_multiplies_by_how_far_all_models_differ(config: Path) -> None:
    plain, report = drawn(config, dry_run=True), drawn(config, by=("disagreement",))
    variance = {}
    for pair in pool(config):
        grades = [judged(pair), others(pair)]
        variance[pair] = np.var([one for one in grades if one is not None], ddof=1) if None not in grades else np.nan
    values = of_pairs(config, variance)
    values = np.where(np.isnan(values), np.nanmean(values), values)
    proportional(factor(report, plain), np.sqrt((values + values.mean()) / 2))
    [design] = designs(config)
    assert design.parameters["by"] == "disagreement"
    assert list(design.parameters["judges"]) == [JUDGE, OTHER]
    assert all(design.parameters["judges"].values())
    assert (report.method, report.by) == ("active", "disagreement")
    assert f"weights are multiplied by how far the grades of {JUDGE} and {OTHER} differ" in report.notes
    assert "pairs for nDCG@5 by disagreement, Poisson" in assigned(report).sentences[0]
    assert as_data(report)["by"] == "disagreement"
    # Who is named first weighs the ideal ranking too.
    named = drawn(config, by=("disagreement",), judge=OTHER, further_judges=(JUDGE,), dry_run=True)
    assert not np.allclose(probabilities(named), probabilities(report))
    assert drawn(config, by=("disagreement",), judge=JUDGE, further_judges=(OTHER,)).known == design.design_id


def test_uncertainty_before_labels_is_assumed(config: Path) -> None:
    plain, report = drawn(config, dry_run=True), drawn(config, by=("uncertainty",))
    gain = of_pairs(config, {pair: judged(pair) for pair in pool(config)})
    variance = 0.4 * (gain.var() + 0.6 * (gain - gain.mean()) ** 2)
    proportional(factor(report, plain), np.sqrt((variance + variance.mean()) / 2))
    assert designs(config)[0].parameters["spread"] == {"from": "assumption"}
    assert any("follows from an assumed correlation of 0.6" in note for note in report.notes)


def test_uncertainty_is_learned_from_labels_that_other_random_numbers_drew(config: Path) -> None:
    pairs = pool(config)
    assign(config, AssignOptions(random="110", seed=8))
    grade(config, queries=14)
    plain, report = drawn(config, dry_run=True), drawn(config, by=("uncertainty",))
    with AnnotationSession.open(config) as session:
        sample = {(one.query_id, one.doc_id) for one in session.designs.selections(1)}
    by_grade = {}
    squares = {one: [relevance(p) for p in sample if judged(p) == one] for one in {judged(p) for p in sample}}
    within = sum(np.var(values) * len(values) for values in squares.values()) / (110 - len(squares))
    for one, values in squares.items():
        by_grade[one] = ((np.var(values) * len(values) + within) / len(values)) ** 0.5
    proportional(factor(report, plain), np.array([by_grade[judged(pair)] for pair in pairs]))
    spread = designs(config)[1].parameters["spread"]
    assert (spread["from"], spread["labels"]) == ("labels", 110)
    assert spread["by_grade"] == pytest.approx({str(one): value for one, value in by_grade.items()})

    # Labels that come later change neither probabilities nor what a larger sample contains.
    label(config, "bia", lambda pair: 3 - relevance(pair))
    larger = drawn(config, by=("uncertainty",), expect=70)
    assert {*report.sample.rows.tolist()} < {*larger.sample.rows.tolist()}
    assert designs(config)[2].parameters["spread"] == spread
    assert any("as design 2 knew them" in note for note in larger.notes)
    # Another seed learns from all of them.
    assert drawn(config, by=("uncertainty",), seed=3, dry_run=True).notes != larger.notes


def test_labels_that_the_same_random_numbers_drew_say_nothing(config: Path) -> None:
    assign(config, AssignOptions(random="110"))
    grade(config, queries=14)
    report = drawn(config, by=("uncertainty",))
    assert designs(config)[1].parameters["spread"] == {"from": "assumption"}
    said = "110 labels by people cannot say how uncertain gpt-4o is, as seed 0 drew their pairs too"
    assert any(note.startswith(said) for note in report.notes)
    drawn(config, by=("uncertainty",), seed=1)
    assert designs(config)[2].parameters["spread"]["labels"] == 110


@pytest.mark.parametrize("by", ["uncertainty", "disagreement", "discount"])
def test_samples_are_nested_and_reproducible(config: Path, by: str) -> None:
    before: set[int] = set()
    numbers = hash_unit(0, *map(list, zip(*pool(config), strict=True)))
    for size in (30, 45, 80, 110):
        report = drawn(config, by=(by,), expect=size)
        rows = {*report.sample.rows.tolist()}
        assert rows >= before
        assert rows == {*np.flatnonzero(numbers <= probabilities(report)).tolist()}
        assert probabilities(report).sum() == pytest.approx(size)
        before = rows
        assert drawn(config, by=(by,), expect=size).known == report.design_id


def test_estimates_use_such_a_design(config: Path) -> None:
    report = drawn(config, by=("disagreement",), expect=110)
    grade(config, queries=14)
    found = estimate(config, EstimateSettings(judge=JUDGE))
    assert found.drawn.design == "design 1 (pairs for nDCG@5 by disagreement of gpt-4o and mistral, seed 0)"
    assert (found.drawn.unit, found.drawn.labels) == ("pairs", len(report.sample))
    # The truth is known without error once all pairs are graded.
    everything = assign(config, AssignOptions(everything=True)).design_id
    grade(config, "bia", queries=14)
    truth = estimate(config, EstimateSettings(judge=JUDGE, design=everything)).estimates[0].systems
    exact = {one.run_tag: one.estimate for one in truth}
    for one in found.estimates[0].systems:
        assert one.low < exact[one.run_tag] < one.high
        assert 0 < one.high - one.low < 0.3


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown weighting": (
        {"by": ("entropy",)},
        "--by entropy: pairs for a measure are drawn by one of discount, uncertainty and disagreement",
    ),
    "two weightings": ({"by": ("uncertainty", "disagreement")}, "--by uncertainty,disagreement: pairs for a measure"),
    "one judge": (
        {"by": ("disagreement",), "judge": "lexical"},
        "lexical has graded no pair of the pool",
    ),
    "the same judge twice": (
        {"by": ("disagreement",), "judge": JUDGE, "further_judges": (JUDGE,)},
        "--judge gpt-4o is given twice; name different judges",
    ),
    "several judges for nothing": (
        {"judge": JUDGE, "further_judges": (OTHER,)},
        "several judges are compared by --by disagreement and --queue contradictions only; name one --judge",
    ),
    "all uniform": (
        {"by": ("uncertainty",), "uniform": 1.0},
        "with --uniform 1 all pairs are equally probable; leave out --by uncertainty",
    ),
    "a weighting of strata": (
        {"pairs_for": None, "expect": None, "stratified": 20, "by": ("uncertainty",)},
        "there are no strata by 'uncertainty'",
    ),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_what_cannot_be_weighed_is_refused_in_one_line(config: Path, fault: str) -> None:
    options, message = REFUSED[fault]
    with pytest.raises(QuatiPoolError) as refused:
        drawn(config, **options)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    assert designs(config) == []


def test_judges_that_are_too_few_are_refused(tmp_path: Path) -> None:
    alone = judged_workspace(tmp_path / "alone", queries=9)
    with pytest.raises(QuatiPoolError, match=r"compares two judges or more .* and there is only gpt-4o; name them"):
        drawn(alone, by=("disagreement",))
