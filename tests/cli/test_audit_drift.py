"""``audit --anchors`` and ``--drift``, and ``judge --check-anchors``: what they print, and how they end."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from quati_pool.judging.pair import Pair
from quati_pool.reporting.formats.answers import LINES, PIPE
from quati_pool.text.display_width import columns
from tests.cli.conftest import Cli
from tests.commands.audit.planted import Planted, pairs, planted, right_grade
from tests.commands.judged import repool, rows

pytestmark = pytest.mark.slow


def milder(pair: Pair) -> int:
    """Takes what is no answer for something."""
    return max(right_grade(pair), 1)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace, as the current folder, whose pool a program and people graded."""
    gold = "".join(f"{pair['query_id']} 0 {pair['doc_id']} {place % 3}\n" for place, pair in enumerate(pairs(12, 5)))
    tmp_path.joinpath("gold.qrels").write_text(gold, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    labels = {"files": {"gold": {"path": "gold.qrels", "person": True}}}
    return planted(tmp_path, monkeypatch, right_grade, 12, 5, labels=labels)


def words(text: str) -> str:
    return " ".join(text.split())


def fits(out: str) -> bool:
    lines = out.splitlines()
    return len(lines) <= LINES and max(map(columns, lines)) <= PIPE


def test_anchors_are_fixed_and_a_judge_that_is_the_same_ends_well(config: Path, cli: Cli) -> None:
    done = cli("audit", "--anchors", "40")
    assert (done.status, done.err) == (0, "")
    said = words(done.out)
    assert said.startswith("planted has 40 anchors: a check finds one grade more on 10 % of the pairs with ")
    assert "Nothing was asked." in said
    assert "They are in audits/planted/anchors.jsonl.gz." in said
    more = cli("audit", "planted", "--anchors", "100")
    assert words(more.out).startswith(
        "planted has 60 anchors, 20 of them new (100 were wanted; people and planted graded no more pairs): a check"
    )
    as_data = json.loads(cli("audit", "planted", "--anchors", "60", "--format", "json").out)
    assert {**as_data, "power": None, "undefined": None} == {
        "judge": "planted", "added": 0, "wanted": 60, "anchors": 60, "noise": None, "power": None, "undefined": None,
    }  # fmt: skip
    plan = cli("audit", "--drift", "--dry-run")
    assert words(plan.out).startswith("planted would be asked about 60 of 60 texts, at no cost; nothing was asked.")
    assert "probe" not in plan.out
    drift = cli("audit", "--drift")
    assert drift.status == 0
    assert words(drift.out).startswith(
        "planted was not seen to move: on 60 anchors its mean grade is +0.00 (0.00 to 0.00) from what it was "
        "(0 higher, 0 lower; p = 1, alarm at 0.01). With these anchors a check finds one grade more on 10 %"
    )
    assert "This run asked about 60 anchors, at no cost." in drift.out
    again = cli("audit", "--drift")
    assert "This run asked nothing: the last check is shown; --max-age 0 begins another." in words(again.out)
    assert all(fits(one.out) for one in (done, more, plan, drift, again))


def test_a_judge_that_has_moved_ends_with_1(config: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("audit", "--anchors", "60")
    monkeypatch.setattr(Planted, "rule", staticmethod(milder))
    # Passages of even numbers, 36 of the 60, are no answer, and get 1 now.
    done = cli("audit", "--drift")
    assert (done.status, done.err) == (1, "")
    said = words(done.out)
    assert said.startswith("planted has moved: on 60 anchors its mean grade is +0.60 (")
    assert "(36 higher, 0 lower; p < 0.0001, alarm at 0.01): do not mix its new grades with the old ones." in said
    assert fits(done.out)
    full = cli("audit", "--drift", "--full")
    assert full.status == 1
    assert len(re.findall(r"^q\d+ ", full.out, re.MULTILINE)) == 36
    data = json.loads(cli("audit", "--drift", "--format", "json").out)
    drift = data["drift"]
    assert (drift["verdict"], drift["n"], drift["up"], drift["down"]) == ("moved", 60, 36, 0)
    assert (data["asked"], data["left"], data["gone"], data["cost"]) == (0, 0, 0, 0)
    # One pair of grades: McNemar's, (36 - 0)² / 36, and two of 2³⁶ swaps.
    assert drift["stuart_maxwell"]["statistic"] == pytest.approx(36)
    assert drift["p"] == pytest.approx(2 / 2**36)
    assert drift["table"] == [[0, 36, 0, 0], [0, 0, 0, 0], [0, 0, 24, 0], [0, 0, 0, 0]]
    assert drift["mean_shift"]["value"] == pytest.approx(0.6)
    # A day's check is the same one; when it is asked again it has not moved.
    monkeypatch.setattr(Planted, "rule", staticmethod(right_grade))
    assert cli("audit", "--drift").status == 1
    assert cli("audit", "--drift", "--max-age", "0").status == 0


def test_the_card_names_the_last_check(config: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    probes = ("audit", "--pairs", "20", "--probe", "question", "--probe", "repeat")
    none = json.loads(cli(*probes, "--format", "json").out)
    assert none["drift"] is None
    assert none["undefined"]["drift"] == "planted has no anchors; fix some: quati-pool audit planted --anchors 200"
    cli("audit", "--anchors", "60")
    assert "Drift: not checked; 60 anchors are there (audit --drift)." in words(cli(*probes).out)
    monkeypatch.setattr(Planted, "rule", staticmethod(milder))
    cli("audit", "--drift")
    card = cli("audit", "--pairs", "20")
    assert card.status == 0
    assert words(card.out).startswith(
        "planted has moved since its anchors were fixed: do not mix its new grades with the old ones."
    )
    assert re.search(r"Drift: moved on \S+ \(36 of 60 anchors higher, 0 lower; p < 0.0001\)\.", words(card.out))
    assert fits(card.out)
    data = json.loads(cli(*probes, "--format", "json").out)["drift"]
    assert (data["verdict"], data["check"], data["servers"]["changed"]) == ("moved", 1, False)
    assert "Anchors that planted grades otherwise now" in cli(*probes, "--full").out


def test_nothing_is_judged_by_a_judge_that_has_moved(config: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = cli("judge", "planted", "--check-anchors")
    assert (refused.status, refused.out) == (1, "")
    assert "planted has no anchors; fix some: quati-pool audit planted --anchors 200" in refused.err
    cli("audit", "--anchors", "60")
    repool(config.parent, pairs(13, 5))
    count = "SELECT count(*) FROM labels WHERE phase = 'blind'"
    monkeypatch.setattr(Planted, "rule", staticmethod(milder))
    moved = cli("judge", "planted", "--check-anchors")
    assert (moved.status, moved.out) == (1, "")
    assert "planted has moved since its anchors were fixed (36 of 60 grades higher, 0 lower" in moved.err
    assert "so nothing was judged" in moved.err
    assert len(moved.err.strip().splitlines()) == 1
    assert rows(config.parent, count) == [(60,)]
    monkeypatch.setattr(Planted, "rule", staticmethod(right_grade))
    cli("audit", "--drift", "--max-age", "0")
    done = cli("judge", "planted", "--check-anchors")
    assert done.status == 0, done.err
    assert "planted: Drift: not moved on " in done.err
    assert rows(config.parent, count) == [(65,)]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--pool", "none.jsonl"), "none.jsonl"),
        (("--budget", "0"), "--budget must be more than 0"),
        (("--anchors-budget", "0"), "--anchors-budget must be more than 0"),
    ],
)
def test_what_judge_cannot_do_fails_before_anchors_are_asked_about(
    config: Path, cli: Cli, arguments: tuple[str, ...], reason: str
) -> None:
    cli("audit", "--anchors", "60")
    done = cli("judge", "planted", "--check-anchors", *arguments)
    assert done.status != 0
    assert reason in done.err
    assert rows(config.parent, "SELECT count(*) FROM labels WHERE phase = 'repeat'") == [(0,)]


def test_a_judge_without_grades_is_to_judge_first(config: Path, cli: Cli) -> None:
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("  planted:\n", "  other: {judge: planted, language: en}\n  planted:\n"), "utf-8")
    done = cli("audit", "other", "--anchors", "30")
    assert (done.status, done.out) == (1, "")
    assert "other has graded no pair of the pool; judge first: quati-pool judge other" in done.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("audit", "--anchors", "10", "--drift"), "asks, and --anchors does not"),
        (("audit", "--anchors", "10", "--budget", "1"), "asks, and --anchors does not"),
        (("audit", "--anchors", "0"), "greater than or equal to 1"),
        (("audit", "--drift", "--probe", "question"), "--anchors and --drift are about anchors alone"),
        (("audit", "planted", "other", "--drift", "--compare"), "--anchors and --drift are about anchors alone"),
        (("audit", "--max-age", "1"), "goes with --drift"),
        (("audit", "--labels", "a.qrels", "--drift"), "is about changed passages"),
        (("judge", "--check-anchors", "--dry-run"), "asks, which --dry-run and --reread do not"),
        (("judge", "--anchors-budget", "1"), "goes with --check-anchors"),
        (("judge", "--pairs", "a.jsonl", "--check-anchors"), "names a workspace"),
    ],
)
def test_bad_usage_says_why(config: Path, cli: Cli, arguments: tuple[str, ...], reason: str) -> None:
    done = cli(*arguments)
    assert (done.status, done.out) == (2, "")
    assert reason in words(re.sub("[│╭╮╰╯─]", " ", done.err))


def test_several_judges_have_a_line_each(config: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("  planted:\n", "  other: {judge: planted, language: en}\n  planted:\n"), "utf-8")
    cli("judge", "other")
    assert cli("audit", "planted", "other", "--anchors", "30").status == 0
    done = cli("audit", "planted", "other", "--drift")
    assert done.status == 0, done.err
    assert "Which judges have moved" in done.out
    data = json.loads(cli("audit", "planted", "other", "--drift", "--format", "json").out)
    assert [one["judge"] for one in data["audits"]] == ["planted", "other"]
