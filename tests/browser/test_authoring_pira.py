"""Ten texts of Pirá go through all rounds in Chromium, with a lead and four people; the benchmark's commands read what
comes out."""

from __future__ import annotations

import json
import re
import string
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.pages import Record
from tests.browser.served import Served, question, served, visitor
from tests.browser.test_authoring import Writer, field, stored
from tests.commands.annotate.authoring.people_writing import LEAD, WRITERS, pira_rows, pira_workspace
from tests.commands.small_collection import run_cli

pytestmark = pytest.mark.browser

TEXTS = 10
NEXT = """before => {
  const { item, stage } = document.querySelector(".desk").dataset;
  const doubtful = document.querySelector("[data-do=go].doubtful") !== null;
  return doubtful || stage === "end" || (stage === "write" && item !== before);
}"""


class PiraPerson(Writer):
    """Writes what Pirá's people wrote."""

    def __init__(self, record: Record, app: Served, name: str, rows: Rows, lead: bool = False) -> None:
        super().__init__(record, app, name, "lead" if lead else "assessor")
        self._rows = rows
        self._steps = {self.titled(step): step for step in STEPS}

    def turn(self) -> bool:
        """Does one thing; whether there was one to do."""
        page = self.page
        if page.locator(".end").count():
            page.evaluate("() => { window.seen = document.querySelector('.end'); }")
            page.get_by_role("button", name="Look again").click()
            page.wait_for_function("() => !window.seen.isConnected")
        if page.locator(".end").count():
            return False
        before = question(page)
        if self._filled(self._steps[self.title]):
            page.keyboard.press("Escape")
            page.keyboard.press("g")
            page.wait_for_function(NEXT, arg=before, polling=30)
            if page.locator("[data-do=go].doubtful").count():
                self.press("g")
        else:
            self.ends(page.locator("[data-do=end]").click)
        return True

    def _filled(self, step: str) -> bool:
        """Fills the form of a step; whether there was anything to write."""
        page = self.page
        if step == "subject":
            page.keyboard.press("y")
        elif step == "set":
            text = page.locator(".source[data-language=en] .passage").text_content() or ""
            row = self._rows.next_of(text)
            if row is None:
                return False
            for what in ("question", "answer"):
                for language in ("pt", "en"):
                    field(page, f"{what}.{language}").fill(row[f"{what}_{language}_origin"])
        elif step in ("validation", "evaluation", "paraphrase"):
            row = self._rows.of(page.locator("[data-shown=question] .part[lang=en] .shown-text").text_content() or "")
            if step == "evaluation":
                self._evaluate(row)
            else:
                column = "answer_{}_validate" if step == "validation" else "question_{}_paraphase"
                for language in ("pt", "en"):
                    field(page, f"{step}.{language}").fill(row[column.format(language)])
        return True

    def _evaluate(self, row: Mapping[str, str]) -> None:
        kinds = ["Who", "What", "Where", "When", "Why", "How", "None of the above"]
        yes_no = ["y" if row[name] == "1.0" else "n" for name in ("question_generic", "answer_in_text")]
        scales = ("question_meaningful", "answer_difficulty", "answer_equivalent")
        numbers = [row[name].partition(".")[0] for name in scales]
        kind = [one.lower() for one in kinds].index(row["question_type"].lower()) + 1
        for key in [*yes_no, *numbers, str(kind)]:
            self.page.keyboard.press(key)


STEPS = ("subject", "set", "edit", "validation", "evaluation", "paraphrase", "curate", "accept", "choices")


class Rows:
    """Rows of Pirá by text and by question; each is written once."""

    def __init__(self, rows: Sequence[Mapping[str, str]]) -> None:
        self._left: dict[str, list[Mapping[str, str]]] = defaultdict(list)
        for row in rows:
            self._left[plain(row["abstract"])].append(row)
        self._known = {plain(row["question_en_origin"]): row for row in rows}

    def next_of(self, text: str) -> Mapping[str, str] | None:
        left = self._left[plain(text)]
        return left.pop(0) if left else None

    def of(self, asked: str) -> Mapping[str, str]:
        return self._known[plain(asked)]


def plain(text: str) -> str:
    return " ".join(text.split())


def f1(one: str, other: str) -> float:
    """SQuAD's token F1 (Rajpurkar et al. 2016), with articles, written out once more."""

    def tokens(text: str) -> list[str]:
        return "".join(one for one in text.lower() if one not in PUNCTUATION).split()

    mine, theirs = tokens(one), tokens(other)
    same = sum((Counter(mine) & Counter(theirs)).values())
    return 2 * same / (len(mine) + len(theirs)) if same else 0.0


PUNCTUATION = set(string.punctuation)


def bench(task: str, data: Path, folder: Path, *options: str) -> list[dict[str, Any]]:
    """The rows of a task of Pirá on a release."""
    found = cli("bench", "pira", task, "--data", data, "-o", folder / task, "--format", "json", *options)
    rows = json.loads(found)["rows"]
    assert isinstance(rows, list)
    return rows


def cli(*arguments: str | Path) -> str:
    """What a command prints."""
    done = run_cli(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def everybody(people: Sequence[PiraPerson]) -> int:
    """Everybody in turn does what is on their page, until nobody has anything; how many things were done."""
    done = idle = 0
    while idle < len(people):
        for one in people:
            if one.turn():
                done, idle = done + 1, 0
            else:
                idle += 1
    return done


def test_ten_texts_go_through_all_rounds_and_the_benchmark_runs_on_the_release(
    browser: Browser, tmp_path: Path
) -> None:
    rows = pira_rows(TEXTS, 2)
    assert len({row["abstract"] for row in rows}) == TEXTS
    written = Rows(rows)
    subject = {"subject": "o oceano e a costa brasileira", "subject_when": {"corpus": "1"}}
    split = {"by": "sets", "shares": [100, 0, 0]}
    config = pira_workspace(tmp_path / "pira", rows, split=split, **subject)
    with served(config) as app, ExitStack() as open_pages:
        people = []
        for name in (LEAD, *WRITERS):
            record = open_pages.enter_context(visitor(browser))[1]
            people.append(PiraPerson(record, app, name, written, lead=name == LEAD))
        everybody(people)
        for one in people:
            expect(one.page.locator(".end")).to_be_visible()
            assert not one.record.console
            assert not one.record.errors
        items, entries = stored(config)
        assert [one.state for one in items if one.kind == "question"] == ["kept"] * len(rows)
        assert len({one.by for one in entries if one.round == "assess"}) > 1
        cli("questions", "derive", "-c", config)
        assert everybody(people[1:])
        people[1].page.goto(f"{app.address}/labels")
    items, _ = stored(config)
    choices = [one for one in items if one.kind == "choices"]
    assert choices
    assert {one.state for one in choices} == {"kept"}
    # The figures: of the report, of the benchmark on the release, and written out once more.
    data = tmp_path / "release"
    cli("questions", "release", "--as", "pira", "-c", config, "-o", data)
    told = json.loads(cli("questions", "report", "-c", config, "--format", "json"))
    human = {one["language"]: one for one in told["human"]}
    read = bench("mrc", data, tmp_path / "bench")
    for language in ("pt", "en"):
        pairs = [(plain(row[f"answer_{language}_validate"]), plain(row[f"answer_{language}_origin"])) for row in rows]
        by_hand = 100 * sum(f1(*pair) for pair in pairs) / len(pairs)
        assert human[language]["n"] == len(rows)
        assert human[language]["F1"] == pytest.approx(by_hand)
        (row,) = [one for one in read if (one["language"], one["setting"], one["system"]) == (language, None, "human")]
        assert (row["n"], row["measures"]["F1"]) == (len(rows), pytest.approx(by_hand))
    assert {row["n"] for row in bench("ir", data, tmp_path / "bench")} == {len(rows)}
    labelled = sum(float(row["question_meaningful"]) != 3 for row in rows)
    assert {row["n"] for row in bench("at", data, tmp_path / "bench")} == {labelled}
    released = [row for row in bench("mcqa", data, tmp_path / "bench") if row["setting"] == "released"]
    assert {(row["language"], row["n"]) for row in released} == {("en", len(choices))}
    # As in Pirá's own file, but for white space.
    train = (data / "train.csv").read_text(encoding="utf-8")
    assert all(re.sub(r"\s+", " ", row["question_pt_origin"]).strip() in re.sub(r"\s+", " ", train) for row in rows)
