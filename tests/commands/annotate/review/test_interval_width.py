"""The dashboard's line on estimates: how wide their intervals are, and what further grades bring."""

from __future__ import annotations

import shutil
from pathlib import Path
from unittest.mock import ANY

import pytest

from quati_pool.annotation.sampling import random_query_order
from quati_pool.commands.annotate.assigning.assign import assign
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.review.dashboard import compute
from quati_pool.commands.annotate.review.interval_width import IntervalWidth
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.estimates.estimate import estimate
from quati_pool.commands.estimates.settings import EstimateSettings
from quati_pool.errors import TranslatableText
from quati_pool.estimation.planning import projected_half_width
from tests.estimated_workspace import QUERIES, draw, grade, judged_workspace, label


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace that nobody but the judge has graded; not to be changed."""
    return judged_workspace(tmp_path_factory.mktemp("judged") / "workspace").parent


@pytest.fixture
def config(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(made, tmp_path / "workspace")) / "pool.yaml"


def width(config: Path, database: str | None = None) -> IntervalWidth | None:
    with AnnotationSession.open(config, database) as session:
        return compute(session).width


def test_the_width_and_what_the_drawn_queries_that_are_left_bring(finished_estimates: Path) -> None:
    config = finished_estimates / "pool.yaml"
    found = width(config)
    report = estimate(config, EstimateSettings())
    half_widths = [(one.high - one.low) / 2 for one in report.estimates[0].systems]
    assert found == IntervalWidth(
        "queries",
        "nDCG@5",
        9,
        pytest.approx(sum(half_widths) / 4),  # type: ignore[arg-type]
        2,
        projected_half_width(report.estimates[0], report.drawn, 2),
    )
    assert found.later is not None
    assert 0 < found.later < sum(half_widths) / 4


def test_once_all_that_was_drawn_is_graded_the_outlook_is_a_quarter_more_until_all_are(config: Path) -> None:
    order = draw(config, 9)
    label(config, "ana", queries=order)
    found = width(config)
    assert found is not None
    assert (found.graded, found.more) == (9, 3)
    label(config, "ana", queries=draw(config, QUERIES))
    found = width(config)
    assert found == IntervalWidth("queries", "nDCG@5", QUERIES, 0.0)


@pytest.mark.parametrize(("complete", "missing"), [(0, 8), (1, 7), (7, 1)])
def test_before_the_first_interval_it_counts_the_queries_that_are_missing(
    config: Path, complete: int, missing: int
) -> None:
    order = draw(config)
    # Of the last query drawn nothing counts yet: it is ahead of its turn.
    label(config, "ana", queries=[*order[:complete], order[-1]])
    assert width(config) == IntervalWidth("queries", graded=complete, missing=missing)


@pytest.mark.parametrize(
    ("options", "queries", "lacking"),
    [
        (AssignOptions(pairs_for="nDCG@5", expect=60), 0, ("nobody_graded", {})),
        (AssignOptions(pairs_for="nDCG@5", expect=60), 4, ("few_queries", {"count": ANY, "least": 8})),
        (AssignOptions(random="40"), QUERIES, ("few_pairs", {"count": 40, "least": 50})),
    ],
)
def test_a_design_of_pairs_says_what_is_lacking(
    config: Path, options: AssignOptions, queries: int, lacking: tuple[str, dict[str, object]]
) -> None:
    assign(config, options)
    grade(config, queries=queries)
    found = width(config)
    assert found is not None
    assert (found.unit, found.half_width, found.missing) == ("pairs", None, 0)
    assert isinstance(found.problem, TranslatableText)
    assert (found.problem.keyword, found.problem.values) == lacking


def test_where_the_server_keeps_missing_runs_is_in_its_log_only(config: Path, caplog: pytest.LogCaptureFixture) -> None:
    label(config, "ana", queries=draw(config, 9))
    runs = config.parent / "runs"
    shutil.rmtree(runs)
    found = width(config)
    assert found is not None
    assert isinstance(found.problem, TranslatableText)
    assert (found.problem.keyword, str(runs) in found.problem) == ("not_in_order", False)
    assert f"{runs}/" in caplog.text


def test_a_design_of_pairs_that_is_graded(config: Path) -> None:
    assign(config, AssignOptions(pairs_for="nDCG@5", expect=120))
    grade(config, queries=QUERIES)
    found = width(config)
    assert found is not None
    assert found.half_width is not None
    assert found.later is not None
    assert 0 <= found.later < found.half_width
    assert (found.unit, found.more) == ("pairs", -(-found.graded // 4))


def test_without_a_random_design_there_is_no_line(config: Path) -> None:
    label(config, "ana")
    assert width(config) is None
    assign(config, AssignOptions(queries=["q00"]))
    assign(config, AssignOptions(everything=True))
    assert width(config) is None


def test_of_several_designs_the_latest_that_was_begun_counts(config: Path) -> None:
    first = draw(config, 9)
    label(config, "ana", queries=first[:2])
    others = dict.fromkeys((f"q{number:02}" for number in range(QUERIES)), "all")
    seed = next(seed for seed in range(100) if {*random_query_order(others, seed)[:1]}.isdisjoint(first[:2]))
    draw(config, 1, seed=seed)
    assert width(config) == IntervalWidth("queries", graded=2, missing=6)


def test_another_database_is_read_where_it_was_named(config: Path, tmp_path: Path) -> None:
    label(config, "ana", queries=draw(config, 9))
    found = width(config)
    other = tmp_path / "other.db"
    (config.parent / "labels.db").rename(other)
    assert width(config, f"sqlite:///{other}") == found
