"""Estimates in Python: the command's figures as frames, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import quati_pool as qp
from quati_pool.text.display_width import columns
from tests.cli.conftest import Cli
from tests.estimated_workspace import JUDGE, PERSON

pytestmark = pytest.mark.filterwarnings("ignore::quati_pool.QuatiPoolWarning")

BOTH: Any = ("these-queries", "queries-like-these")


@pytest.fixture
def c(finished_estimates: Path) -> qp.Collection:
    return qp.open(finished_estimates, progress=False)


@pytest.mark.usefixtures("sketched")
@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], {}),
        (
            ["--target", BOTH[0], "--target", BOTH[1], "--measures", "P(rel=2)@5 nDCG@5", "--baseline", "bm25",
             "--alpha", "0.1", "--delta", "0.05", "--looks", "2", "--design", "1", "--aggregate", "mean", "--people",
             PERSON, "--judge", JUDGE, "--seed", "5", "--revealed"],
            {"target": BOTH, "measures": ["P(rel=2)@5", "nDCG@5"], "baseline": "bm25", "alpha": 0.1, "delta": 0.05,
             "looks": 2, "design": 1, "aggregate": "mean", "people": PERSON, "judge": JUDGE, "seed": 5,
             "revealed": True},
        ),
    ],
)  # fmt: skip
def test_the_results_are_those_of_the_command(
    c: qp.Collection, cli: Cli, tmp_path: Path, arguments: list[str], options: dict[str, Any]
) -> None:
    found = c.estimate(**options)
    command = ("estimate", "-c", str(c.path), "-o", str(tmp_path), *arguments)
    assert json.loads(cli(*command, "--format", "json").out) == found.to_dict()
    assert cli(*command, "--format", "latex").out == found.to_latex()


def test_frames_have_one_block_of_rows_per_measure_and_target(c: qp.Collection) -> None:
    found = c.estimate(measures=["nDCG@5", "P(rel=2)@5"], target=BOTH)
    assert (found.measures, found.targets) == (("nDCG@5", "P(rel=2)@5"), BOTH)
    data = found.to_dict()
    assert len(found.systems) == len(data["systems"]) * 4 == 16
    assert len(found.differences) == len(data["differences"]) * 4 == 24
    for place, one in enumerate(data["systems"]):
        row = found.systems.iloc[place]
        assert (row.measure, row.target, row.run_tag) == ("nDCG@5", "these-queries", one["run_tag"])
        assert (row.estimate, row.low, row.high) == (one["estimate"], one["low"], one["high"])
        assert (row.people_only, row.judge_only) == (one["people_only"]["mean"], one["judge_only"]["mean"])
        assert (row["lambda"], row.effective_queries) == (one["lambda"], one["effective_queries"])
        assert pd.isna(row.lowest)
    for place, one in enumerate(data["differences"]):
        row = found.differences.iloc[place]
        assert (row.a, row.b, row.verdict, row.p_adjusted) == (one["a"], one["b"], one["verdict"], one["p_adjusted"])
        assert (None if pd.isna(row.needed) else row.needed) == one["queries_needed"]
    assert found.to_frame().equals(found.systems)
    dtypes = found.differences.dtypes
    assert [str(dtypes[name]) for name in ("measure", "estimate", "needed")] == ["str", "float64", "Int64"]


def test_one_system_the_statement_and_a_figure(c: qp.Collection) -> None:
    found = c.estimate(target=BOTH)
    one = found.system("bm25")
    [row] = found.systems.query("run_tag == 'bm25' and target == 'these-queries'").itertuples()
    assert (one.value, one.low, one.high, one.n) == (row.estimate, row.low, row.high, 9)
    wider = found.system("bm25", target="queries-like-these")
    assert float(wider.low or 1) < float(one.low or 0)
    assert found.statement() == found.to_dict()["statement"]
    assert "queries like these" in found.statement(target="queries-like-these")
    assert found.plot()._repr_png_()  # type: ignore[attr-defined]
    with pytest.raises(qp.QuatiPoolError, match="there is no system 'bm52' here; did you mean 'bm25'"):
        found.system("bm52")
    with pytest.raises(qp.QuatiPoolError, match="there is no measure 'AP' here; "):
        found.statement("AP")


def test_the_answer_prints_within_a_screen_and_is_saved_where_asked(c: qp.Collection, tmp_path: Path) -> None:
    found = c.estimate()
    lines = str(found).splitlines()
    assert 3 < len(lines) <= 40
    assert max(map(columns, lines)) <= 80
    assert "Judge alone" in found._repr_html_()
    assert not (c.folder / "reports" / "estimate.json").exists()
    found.save(tmp_path)
    assert json.loads((tmp_path / "estimate.json").read_text("utf-8")) == found.to_dict()


def test_labels_of_people_that_the_caller_has(c: qp.Collection) -> None:
    people = c.labels(PERSON)
    drawn = people[people.relevance.notna()][["query_id", "doc_id", "relevance"]]
    found = c.estimate(people="theirs", labels={"theirs": drawn}, sampled="queries")
    assert found.systems.estimate.tolist() == pytest.approx(c.estimate().systems.estimate.tolist())
    with pytest.raises(qp.QuatiPoolError, match="theirs does not say how its queries or pairs were chosen"):
        c.estimate(people="theirs", labels={"theirs": drawn})


def test_what_is_in_doubt_is_a_warning(c: qp.Collection) -> None:
    said = "in the first 10 ranks are outside the pool, and count as not relevant"
    with pytest.warns(qp.QuatiPoolWarning, match=said):
        c.estimate(measures=["nDCG@10"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "all"}, "target is 'all'; there are: "),
        ({"sampled": "documents"}, "sampled is 'documents'; there are: "),
        ({"aggregate": "median"}, "aggregate is 'median'; did you mean 'mean'"),
        ({"alpha": 0}, "alpha is 0; expected a level of significance between 0 and 1"),
        ({"delta": -0.1}, "delta is -0.1; expected 0 or more"),
        ({"looks": 0}, "looks is 0; expected the planned number of looks, 1 or more"),
        ({"design": 7}, "there is no such design; there are: 1"),
    ],
)
def test_bad_arguments_are_refused(c: qp.Collection, options: dict[str, Any], message: str) -> None:
    with pytest.raises(qp.QuatiPoolError, match=message):
        c.estimate(**options)


def test_without_a_random_design_there_is_no_estimate(demo: qp.Collection) -> None:
    with pytest.raises(qp.QuatiPoolError, match="assign --random-queries"):
        demo.estimate()
