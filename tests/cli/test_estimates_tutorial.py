"""The story of docs/estimates-tutorial.md: its commands and what they print, with the people who grade in between."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from annotator_app import words
from quati_pool.commands.annotate.access import sign_in
from quati_pool.commands.annotate.grading.next_item import next_item
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.review.annotated_pairs import peoples_pairs
from quati_pool.commands.annotate.review.interval_width import IntervalWidth, interval_width
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.estimates.estimate import estimate
from quati_pool.commands.estimates.settings import EstimateSettings
from quati_pool.errors import MissingExtraError
from quati_pool.estimation.results import Estimate
from quati_pool.files.qrels import read_labels
from quati_pool.retrieval.bm25 import Bm25
from tests.cli.conftest import Cli, Done
from tests.commands.annotate.people_at_work import answer

Pair = tuple[str, str]

PAGE = Path(__file__).parents[2] / "docs" / "estimates-tutorial.md"
CODE = re.compile(r"[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}")
PANEL = "judges:\n  final: {people: majority}\n"
FIRST = 100
"""How many pairs are graded when the lead looks for the first time."""
OFF = {"ana": (0.05, 0.05), "bia": (0.15, 0.0), "caio": (0.0, 0.15)}
"""The people, and how often each gives a grade that is one too high, and one too low."""


def grade_of(name: str, pair: Pair, known: int) -> int:
    """What a person says of a pair whose grade is ``known``: the same whenever they are asked."""
    high, low = OFF[name]
    drawn = random.Random(" ".join((name, *pair))).random()
    if drawn < high:
        return min(known + 1, 3)
    return max(known - 1, 0) if drawn < high + low else known


def known_grades(demo: Path) -> dict[Pair, int]:
    """The grades that come with the sample."""
    found = read_labels(demo / "labels.tsv")
    query_ids, doc_ids = found.queries.decode(found.query).to_pylist(), found.docs.decode(found.doc).to_pylist()
    return dict(zip(zip(query_ids, doc_ids, strict=True), found.relevance.tolist(), strict=True))


def grade(demo: Path, codes: Mapping[str, str], most: int | None = None) -> int:
    """Lets people, by their names and access codes, grade one pair each in turn until nothing is left or ``most`` pairs
    are graded; returns how many were."""
    known, graded = known_grades(demo), 0
    with AnnotationSession.open(demo / "pool.yaml") as session:
        at_work = {name: sign_in(session, code, name)[0] for name, code in codes.items()}
        while at_work:
            for name, token in [*at_work.items()]:
                item = None if graded == most else next_item(session, token)
                if item is None:
                    del at_work[name]
                    continue
                pair = (item.query_id, item.doc_id)
                submit(session, token, item, answer(item.assignment_id or 0, grade_of(name, pair, known[pair])))
                graded += 1
    return graded


def with_panel(demo: Path) -> None:
    """Makes one labeler of the three people, as the page does."""
    config = demo / "pool.yaml"
    config.write_text(config.read_text(encoding="utf-8").replace("judges:\n", PANEL, 1), encoding="utf-8")


def width(demo: Path) -> IntervalWidth:
    """What the dashboard has on the intervals."""
    with AnnotationSession.open(demo / "pool.yaml") as session:
        found = interval_width(session, peoples_pairs(session))
    assert found is not None
    return found


class Story:
    """The commands of the page, and the people who do what happens between them."""

    def __init__(self, folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        self.demo = folder / "quati-pool-demo"
        self._cli = cli
        self._enter: Callable[[str], None] = monkeypatch.chdir
        self._codes: dict[str, str] = {}
        self._at_work = False
        # The app's pages are not needed to grade.
        monkeypatch.setitem(sys.modules, "annotator_app.server", SimpleNamespace(serve=self._serve))

    def run(self, command: str) -> Done:
        """Runs one of the page's commands, and then lets the people do what the page says next."""
        name, _, options = command.partition(" ")
        if name == "cd":
            self._enter(options)
            with_panel(self.demo)
            return Done(0, "", "")
        done = self._cli(*options.split())
        if options.startswith("assessors add"):
            self._codes[options.split()[2]] = CODE.findall(done.out)[0]
        if self._at_work and (done.status or options.startswith("assign")):
            grade(self.demo, self._codes)
        return done

    def _serve(self, config: Path, host: str, port: int, database: str | None, ready: Callable[[str], None]) -> None:
        """The app until it is stopped: people come and grade."""
        ready(f"http://{host}:{port}")
        self._at_work = grade(self.demo, self._codes, FIRST) == FIRST
        raise KeyboardInterrupt


@pytest.mark.slow
@pytest.mark.usefixtures("sketched")
def test_the_story_of_the_page(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise MissingExtraError("bm25", "lucene", "pyserini")

    # As it is installed without extras.
    monkeypatch.setattr(Bm25, "require", absent)
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text(encoding="utf-8")
    prose = " ".join(page.split())
    assert " ".join(PANEL.split()) in prose
    story = Story(tmp_path, cli, monkeypatch)
    shown = re.findall(r"(?m)^    \$ (.*)\n((?:    (?!\$).*\n)*)", page)
    assert len(shown) == 15
    for command, output in shown:
        done = story.run(command)
        asserts_shown(output, done.out + done.err, command)
        assert done.status == ("needs at least" in output), done.err
        if done.status:
            # Before and after the others are graded.
            assert said("dashboard.width.missing", count=2) in prose
            found = width(story.demo)
            now, later = f"{found.half_width:.3f}", f"{found.later:.3f}"
            sentences = (
                said("dashboard.width.queries", count=found.graded, measure=found.measure, width=now),
                said("dashboard.width.more_queries", count=found.more, now=now, later=later),
            )
            assert " ".join(sentences) in prose
        if command == "quati-pool report":
            _reported(story.demo)
    _explained(story, prose)


def said(key: str, **values: object) -> str:
    return words.message("en", key, **values)


def asserts_shown(shown: str, printed: str, command: str) -> None:
    """What the page shows is what was printed, but for white space, access codes, and what the page leaves out by …;
    decimals may differ a little, as the vectors of lsa do on another processor."""
    shown, printed = (" ".join(CODE.sub("CODE", text).split()) for text in (shown, printed))
    pattern = re.sub(r"\d+\\\.\d+", r"(\\d+\\.\\d+)", re.escape(shown)).replace("…", ".*?")
    found = re.search(pattern, printed)
    differs = f"{command} prints\n{printed}\nand not\n{shown}"
    assert found, differs
    numbers = [float(number) for number in re.findall(r"\d+\.\d+", shown)]
    assert [float(number) for number in found.groups()] == pytest.approx(numbers, abs=0.002), differs


def _reported(demo: Path) -> None:
    """The report has the estimates where the page says."""
    report = (demo / "reports" / "report.md").read_text(encoding="utf-8")
    short = report[report.index("## The result in short") : report.index("\n## Agreement")]
    systems = report[report.index("\n## Systems") :]
    leads = "lsa has the highest nDCG@10 under the grades of 3 people"
    assert leads in short
    assert "### Estimates under people's grades" in short
    assert leads in systems
    assert systems.index("People only") < systems.index("Leaderboard under final")
    files = {file.name for file in (demo / "reports").iterdir()}
    assert {"estimate.md", "estimate.tex", "estimate.json", "estimate-systems.csv"} <= files


def _explained(story: Story, prose: str) -> None:
    """What the page says of the figures is so."""
    first, again, pairs = (
        _estimated(story.demo, design=1),
        _estimated(story.demo, design=2, looks=2),
        _estimated(story.demo, design=3, measures=["DCG@10"]),
    )
    of_the_best = [one for one in first.differences if "lsa" in (one.a, one.b)]
    assert [one.b for one in of_the_best if one.verdict == "better"] == ["bm25s-words"]
    assert sorted(one.needed or 0 for one in of_the_best if one.verdict == "inconclusive") == [0, 0, 5, 8]
    assert sum(bool(one.reason) for one in of_the_best) == 2
    assert [one.b for one in again.differences if one.a == "lsa" and one.verdict == "better"] == ["bm25s"]
    assert max(first.systems, key=lambda one: one.judge_only).run_tag == "bm25s"
    story.run("quati-pool assign --random-queries 24 --seed 2")
    for measure, samples in (("nDCG@10", [first, again]), ("DCG@10", [pairs])):
        true = _estimated(story.demo, measures=[measure]).systems[0]
        assert true.run_tag == "lsa"
        assert f"{measure} of {true.estimate:.3f}" in prose
        assert all(one.systems[0].low <= true.estimate <= one.systems[0].high for one in samples)


def _estimated(demo: Path, **settings: Any) -> Estimate:
    return estimate(demo / "pool.yaml", EstimateSettings(**settings)).estimates[0]
