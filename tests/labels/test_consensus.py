"""Labelers computed from others' grades: no labeler of their own in ``agree``, ``report`` and the dashboard."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
import yaml

from quati_pool.commands.agree import AgreeReport, agree
from quati_pool.commands.annotate.review.dashboard import Dashboard, dashboard
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.evaluate import Settings, evaluate
from quati_pool.labels.consensus import Consensus
from quati_pool.labels.gathered import LabelFiles
from quati_pool.labels.labelers import Grading
from quati_pool.project.config import LabelFileConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.reporting.json_data.agree import as_data
from quati_pool.reporting.json_data.evaluate import as_data as evaluation_data
from quati_pool.reporting.page import report
from quati_pool.reporting.tables.agree import as_rows, tables
from quati_pool.reporting.tables.evaluate import ranking_tables
from quati_pool.store.database import Store
from quati_pool.store.records import ADJUDICATED
from tests.commands.annotate.disputes import disputed
from tests.labels.test_people import collection

TOGETHER = "over sample-gold and lexical; both is computed from others' grades and left out"


def with_panels(demo: Path, folder: Path, **panels: Any) -> Path:
    """A copy of the demo in which judges are computed from ``lexical`` and the file ``sample-gold``."""
    shutil.copytree(demo, folder, ignore=shutil.ignore_patterns("cache", "reports"))
    path = folder / "pool.yaml"
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    settings["judges"] |= panels
    path.write_text(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return path


@pytest.fixture
def demo(finished_demo: Path, tmp_path: Path) -> Path:
    return with_panels(finished_demo, tmp_path / "demo", both={"consensus": ["lexical", "sample-gold"]})


def ordinal(found: AgreeReport, labelers: list[str]) -> float:
    """Krippendorff's α of these labelers, by his package."""
    ratings = found.ratings
    grades = np.array([np.where(ratings.of(name) >= 0, ratings.of(name), np.nan) for name in labelers])
    return float(krippendorff.alpha(reliability_data=grades, level_of_measurement="ordinal"))


def test_the_demos_alpha_does_not_rise_with_a_consensus(demo: Path, finished_demo: Path) -> None:
    found, alone = agree(demo, draws=0), agree(finished_demo / "pool.yaml", draws=0)
    value = as_data(found)["overall"]["alpha_ordinal"]
    assert value == alone.overall.values["alpha_ordinal"]
    assert value == pytest.approx(ordinal(found, ["lexical", "sample-gold"]), abs=1e-12)
    # What it was while the panel counted as a third labeler.
    assert ordinal(found, ["lexical", "sample-gold", "both"]) > value + 0.05


def test_json_marks_what_is_derived_and_keeps_its_pairs(demo: Path) -> None:
    data = as_data(agree(demo, draws=0))
    assert {one["labeler"]: (one["derived"], one["members"]) for one in data["sources"]} == {
        "sample-gold": (False, []), "lexical": (False, []), "both": (True, ["lexical", "sample-gold"]),
    }  # fmt: skip
    assert (data["overall"]["labelers"], data["overall"]["left_out"]) == (["sample-gold", "lexical"], ["both"])
    assert {(pair["a"], pair["b"]): pair["shared_members"] for pair in data["pairs"]} == {
        ("sample-gold", "lexical"): [],
        ("sample-gold", "both"): ["sample-gold"],
        ("lexical", "both"): ["lexical"],
    }


def test_tables_leave_a_panel_and_its_members_out_and_say_so_once(demo: Path) -> None:
    found = agree(demo, draws=0)
    made = tables(found)
    (pairs,) = (table for table in made if table.title == "Agreement of two labelers")
    assert [row[:2] for row in pairs.rows] == [["sample-gold", "lexical"]]
    assert "2 pairs of labelers are left out that agree by construction" in (pairs.note or "")
    assert not [table.title for table in made if table.title.startswith("Grades of") and "both" in table.title]
    told = [table.title for table in made if TOGETHER in (table.note or "").lower()]
    assert told == ["All independent labelers together"]
    # Asked for by name, they are shown and marked.
    made = tables(agree(demo, ["lexical", "both"], draws=0))
    (pairs,) = (table for table in made if table.title == "Agreement of two labelers")
    assert (pairs.columns[-1].heading, pairs.rows[0][-1]) == ("Shared members", "lexical")
    rows = as_rows(found).splitlines()
    assert rows[0].endswith(",shared_members,weighted_by,unweighted")
    assert any(row.startswith("lexical,both,,kappa,") and row.endswith(",lexical,,") for row in rows)


def test_one_independent_labeler_has_no_coefficient_of_all(demo: Path) -> None:
    data = as_data(agree(demo, ["lexical", "both"], draws=0))
    reason = "there are no two independent labelers (over lexical; both is computed from others' grades and left out)"
    assert (data["overall"]["alpha_ordinal"], data["overall"]["undefined"]["alpha_ordinal"]) == (None, reason)
    assert data["pairs"][0]["kappa"] is not None


def test_a_file_of_the_command_line_is_independent(demo: Path) -> None:
    """Also one that has the name of a panel's member."""
    file = LabelFileConfig(path=str(demo.parent / "labels.tsv"))
    found = agree(demo, ["both", "lexical"], LabelFiles({"other": file}), draws=0)
    assert found.overall.labelers == ("lexical", "other")
    assert found.overall.values["alpha_ordinal"] == pytest.approx(ordinal(found, ["lexical", "other"]), abs=1e-12)
    found = agree(demo, ["both"], LabelFiles({"lexical": file}), draws=0)
    assert [pair.shared_members for pair in found.pairs] == [()]


def test_a_panel_of_panels_has_the_members_of_both(demo: Path) -> None:
    config = load_config(demo)
    with Store.open(None, demo.parent) as store:
        grading = Grading(config, store)
        both, lexical = grading.labeler("both"), grading.labeler("lexical")
        assert lexical.derived_from == frozenset()
        assert Consensus("outer", "consensus", None, [both, lexical], "mean").derived_from == {"lexical", "sample-gold"}


@pytest.mark.slow
def test_the_report_rests_on_the_independent_labelers(demo: Path) -> None:
    report(demo, Listener(), Settings(draws=0))
    markdown = (demo.parent / "reports" / "report.md").read_text(encoding="utf-8").replace("\\", "")
    value = agree(demo, draws=0).overall.values["alpha_ordinal"]
    assert f"α, ordinal | {value:.4f} |" in markdown
    assert markdown.lower().count(TOGETHER) == 1


def test_evaluate_compares_no_ranking_with_that_under_a_panel_of_the_same_labeler(demo: Path) -> None:
    found = evaluate(demo, settings=Settings(["nDCG@10"], draws=0))
    assert [(a.name, b.name) for a, b, _ in found.compared] == [("sample-gold", "lexical")]
    (table,) = (one for one in ranking_tables(found) if one.title == "Rankings of the systems under two qrels")
    assert [row[:2] for row in table.rows] == [["sample-gold", "lexical"]]
    assert "2 pairs of qrels are left out" in (table.note or "")
    assert {(one["a"], one["b"]): one["shared_members"] for one in evaluation_data(found)["rank_correlation"]} == {
        ("sample-gold", "lexical"): [],
        ("sample-gold", "both"): ["sample-gold"],
        ("lexical", "both"): ["lexical"],
    }
    named = evaluate(demo, ["both", "lexical"], settings=Settings(["nDCG@10"], draws=0))
    assert [(a.name, b.name) for a, b, _ in named.compared] == [("both", "lexical")]


def test_a_panel_of_people_and_decisions_are_no_further_people(tmp_path: Path) -> None:
    """ana, bia, caio; ``final`` is their panel, and a lead decided one pair."""
    path = collection(tmp_path)
    found = agree(path, draws=0)
    assert set(found.overall.left_out) == {"final", ADJUDICATED}
    assert set(found.overall.labelers) == {"ana", "bia", "caio"}
    alone = agree(path, ["ana", "bia", "caio"], draws=0)
    assert found.overall.values == alone.overall.values
    for name, layout in found.layouts.items():
        assert set(layout.people) == {"ana", "bia", "caio"} == set(layout.labelers)
        assert layout.human_mean == pytest.approx(alone.layouts[name].human_mean, nan_ok=True)
    panel = {(pair.a, pair.b): pair.shared_members for pair in found.pairs if {"final", ADJUDICATED} & {pair.a, pair.b}}
    assert all(panel.values())


def test_the_dashboard_compares_nobody_with_their_own_panel(tmp_path: Path) -> None:
    with disputed(tmp_path) as (session, tokens):
        alone = made(dashboard(session, tokens.lia, 60.0, refresh=True).value)
    path = tmp_path / "pool.yaml"
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    settings["judges"]["panel"] = {"people": "majority"}
    path.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    with AnnotationSession.open(path) as session:
        found = made(dashboard(session, tokens.lia, 60.0, refresh=True).value)
    assert "panel" in found.exports
    assert [(one.a, one.b) for one in found.agreement.judged] == [(one.a, one.b) for one in alone.agreement.judged]
    assert found.agreement.overall is not None
    assert alone.agreement.overall is not None
    assert found.agreement.overall.values == alone.agreement.overall.values


def made(board: Dashboard | None) -> Dashboard:
    assert board is not None
    return board
