"""The report's estimates under people's grades, and the marks of leaderboards that rest on a judge alone."""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from quati_pool.commands.estimates.estimate import estimate
from quati_pool.commands.estimates.settings import EstimateSettings
from quati_pool.commands.evaluate import Settings
from quati_pool.commands.report import State, opened
from quati_pool.project.events import Listener
from quati_pool.reporting.answers.findings import sampled, without_majority
from quati_pool.reporting.formats.document import Paragraph, plain
from quati_pool.reporting.formats.tables import Column
from quati_pool.reporting.page import report
from quati_pool.reporting.sections import estimates
from tests.estimated_workspace import JUDGE, NOISE, draw, grade, judged_workspace, label, relevance
from tests.reporting.explorer.parts import collection

pytestmark = pytest.mark.slow

FEW = Settings(draws=20)
PARTLY = "No estimate under people's grades is possible yet: "


def read(config_path: Path, settings: Settings = FEW, names: Sequence[str] = ()) -> State:
    with opened(config_path, settings, names=names) as state:
        return state


@pytest.fixture(scope="module")
def made(finished_estimates: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace with its report."""
    folder = Path(shutil.copytree(finished_estimates, tmp_path_factory.mktemp("report") / "workspace"))
    report(folder / "pool.yaml", Listener(), FEW)
    return folder


@pytest.fixture(scope="module")
def written(made: Path) -> tuple[str, str]:
    """The HTML without entities, and the Markdown without backslashes."""
    reports = made / "reports"
    markup, text = ((reports / name).read_text(encoding="utf-8") for name in ("report.html", "report.md"))
    return html.unescape(markup), text.replace("\\", "")


def test_both_files_have_the_estimates_with_what_they_hold_for(made: Path, written: tuple[str, str]) -> None:
    found = estimate(made / "pool.yaml", EstimateSettings())
    statement = found.statement(found.estimates[0])
    for text in written:
        assert statement in text
        assert "Judge alone: under the grades of gpt-4o, which is no estimate of people's." in text
    _, text = written
    show = Column("", 3).show
    for one in found.estimates[0].systems:
        assert f"| {one.run_tag} | {show(one.estimate)} | {show((one.low, one.high))} | " in text
    [board] = re.findall(r"### Estimates under the grades of ana for these 14 queries\n\n(.*)\n", text)
    for heading in ("System", "nDCG@5", "95 % interval", "People only", "Judge alone", "vs first"):
        assert f" {heading} " in board
    assert "| hybrid | 0.825 | 0.789 to 0.860 | inconclusive | 0.864 | 0.842 | 0.826 to 0.901 |" in text
    # The first screen leads with them, and the appendix has all differences.
    first, _, rest = text.partition("## Agreement")
    assert "all 5 remaining queries would decide" in first
    assert "### Estimates under people's grades" in first
    assert "### Differences in nDCG@5 under the grades of ana" in rest
    assert re.search(r"!\[nDCG@5 under the grades of ana.*\]\(figures/estimate--nDCG-5-.*\.svg\)", text)


def test_leaderboards_of_a_judge_alone_say_so(written: tuple[str, str]) -> None:
    for text in written:
        assert f"Leaderboard under {JUDGE}'s grades alone, " in text
        assert f"nDCG@5 under {JUDGE}'s grades alone, means with" in text
        assert f"Leaderboard under {JUDGE}," not in text
        assert "Leaderboard under ana, " in text


def test_while_too_few_queries_are_graded_one_line_says_so(tmp_path: Path) -> None:
    config = judged_workspace(tmp_path / "workspace")
    before = read(config)
    assert before.estimates is None
    assert not before.sampled
    assert estimates.body(before) == []
    draw(config)
    grade(config, queries=3)
    state = read(config)
    assert state.estimates is None
    [line] = estimates.body(state)
    assert isinstance(line, Paragraph)
    assert str(line.text).startswith(f"{PARTLY}design 1 (random queries, seed 0): 3 queries ")
    assert estimates.appendix(state) == []
    [doubt] = sampled(state)
    assert str(doubt).startswith("The leaderboard takes all pairs that people did not grade as not relevant")
    assert list(sampled(before)) == []
    report(config, Listener(), Settings(draws=20, labeler=JUDGE))
    text = (tmp_path / "workspace" / "reports" / "report.md").read_text(encoding="utf-8").replace("\\", "")
    assert text.count(PARTLY) == 1
    assert f"Leaderboard under {JUDGE}'s grades alone, " in text
    assert f"Under the grades of {JUDGE} alone." in text.partition("## Agreement")[0]


def test_pairs_without_a_majority_are_to_be_distrusted(tmp_path: Path) -> None:
    config = judged_workspace(tmp_path / "workspace")
    draw(config, 9, overlap=2)
    grade(config, "ana", queries=9)
    assert list(without_majority(read(config))) == []
    grade(config, "bia", queries=9, relevance_of=lambda pair: min(relevance(pair), 2))
    state = read(config)
    assert state.estimates is not None
    said = state.estimates.drawn.without_majority
    assert [plain(one) for one in without_majority(state)] == [f"In the estimates, {said}."]


def test_without_a_random_design_nothing_is_said_or_marked(tmp_path: Path) -> None:
    config = judged_workspace(tmp_path / "workspace")
    label(config, "ana", queries=["q00", "q01"])
    report(config, Listener(), FEW)
    text = (tmp_path / "workspace" / "reports" / "report.md").read_text(encoding="utf-8").replace("\\", "")
    assert not re.search(r"Estimates? |No estimate", text)
    assert "alone, " not in text
    assert f"Leaderboard under {JUDGE}, " in text


def test_the_state_names_its_design_which_is_drawn_without_a_label(tmp_path: Path) -> None:
    config = judged_workspace(tmp_path / "workspace")
    label(config, "ana")
    before = read(config)
    draw(config)
    after = read(config)
    assert before.seq == after.seq
    assert before.key != after.key
    assert "design 1" in after.key["estimates"]


def test_a_report_of_some_labelers_has_no_estimates_of_all_people(finished_estimates: Path) -> None:
    state = read(finished_estimates / "pool.yaml", names=[JUDGE])
    assert (state.estimates, state.sampled) == (None, False)


def test_the_baseline_and_the_level_are_those_of_the_report(finished_estimates: Path) -> None:
    state = read(finished_estimates / "pool.yaml", Settings(["P(rel=2)@5"], "bm25", alpha=0.1, draws=0))
    assert state.estimates is not None
    [found] = state.estimates.estimates
    assert (found.measure, found.baseline, found.alpha) == ("P(rel=2)@5", "bm25", 0.1)
    assert [one.b for one in found.differences] == ["bm25"] * (len(NOISE) - 1)


def test_the_explorer_next_to_it_has_the_estimates_of_each_system(made: Path) -> None:
    written = collection(made / "reports" / "explore")
    found = estimate(made / "pool.yaml", EstimateSettings())
    [first] = found.estimates
    by_tag = {one.run_tag: one for one in first.systems}
    assert [one["name"] for one in written["systems"]] == list(NOISE)
    assert written["estimates"] == {
        "measure": "nDCG@5",
        "interval": "95 % interval",
        "statement": found.statement(first),
        "systems": [
            [pytest.approx(value, abs=1e-6) for value in (by_tag[tag].estimate, by_tag[tag].low, by_tag[tag].high)]
            for tag in NOISE
        ],
    }
    alone = {one["name"]: board["alone"] for one, board in zip(written["labelers"], written["boards"], strict=True)}
    assert alone == {"ana": False, JUDGE: True}
