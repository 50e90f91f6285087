"""Questions on constraints in Chromium: four people write, verify and rate those of planted clusters, in the light and
in the dark, on a telephone too."""

from __future__ import annotations

import gzip
import html
import json
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import yaml
from playwright.sync_api import Browser, expect

from quati_pool.annotation.authoring.romqa import BLOCK, NOT_VERIFIED, QUERY
from quati_pool.commands.annotate.authoring.cluster_folder import CLUSTERS
from quati_pool.files.triples import COLUMNS, EVIDENCE_COLUMNS
from tests.annotation.authoring.made_graphs import planted
from tests.browser.pages import Scheme, too_wide
from tests.browser.served import question, served, visitor
from tests.browser.test_annotate import clean
from tests.browser.test_appearance import asserts_legible
from tests.browser.test_authoring import Writer, send, stored
from tests.browser.test_authoring_pira import NEXT
from tests.commands.annotate.authoring.people_writing import WRITERS
from tests.commands.annotate.authoring.romqa_people import made_cluster, romqa_workspace
from tests.commands.small_collection import run_cli

pytestmark = pytest.mark.browser

EVIL = '<img src=x onerror="window.__pwned=1"><script>window.__pwned=1</script>'


class Person(Writer):
    """Answers what the page asks, by keyboard, or sends what its script would."""

    @property
    def says(self) -> list[str]:
        """The constraints as the page says them."""
        return [" ".join(one.split()) for one in self.page.locator(".constraint .says").all_inner_texts()]

    def write(self, texts: Mapping[str, Any] | None = None) -> None:
        super().write(texts or {"question.en": worded(self.says)})
        before = question(self.page)
        send(self.page)
        self.page.wait_for_function(NEXT, arg=before, polling=30)
        # Its words may be like those of another question of the cluster.
        if self.page.locator("[data-do=go].doubtful").count():
            self.press("g")

    def rate(self, keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
        expect(self.page.locator("[aria-checked=true]")).to_have_count(len(keys))
        self.press("g")

    def look(self) -> None:
        self.page.goto(self.app.address)
        expect(self.page.locator(".step-title, .end h1")).to_be_visible()

    def by_request(self) -> str | None:
        """Does one thing, if there is one; its step."""
        view = self._ask("open", {})
        if view["stage"] != "write":
            return None
        task = {name: view[name] for name in ("item", "number", "sha", "nonce")}
        fields = re.findall(r'data-field="([^"]+)" data-kind="([^"]+)"', view["pair"])
        says = [
            " ".join(html.unescape(re.sub("<[^>]*>", " ", one)).split())
            for one in re.findall(r'<p class="says">(.*?)</p>', view["pair"])
        ]
        content = {name: worded(says) if kind == "line" else 3 for name, kind in fields}
        form = {**task, "content": content, "confirmed": ["similar"], "active": 3.0, "elapsed": 4.0}
        view = self._ask("send", form)
        assert view["stored"] == "given", view
        return "rate" if not says else "write" if fields else "verify"

    def _ask(self, step: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        headers = {"Origin": self.app.address}
        response = self.page.request.post(f"{self.app.address}/authoring/{step}", data=dict(fields), headers=headers)
        assert response.ok, response.text()
        found = response.json()
        assert isinstance(found, dict)
        return found


def by_request(*people: Person) -> Counter[str]:
    """Everybody in turn does one thing until there is nothing to do; how many there were of each step."""
    done: Counter[str] = Counter()
    before = -1
    while done.total() > before:
        before = done.total()
        done += Counter(step for one in people if (step := one.by_request()) is not None)
    return done


def worded(says: list[str]) -> str:
    """A question of these constraints, as hostile as their labels are together."""
    words = f"What is X so that {' and '.join(says)}?"
    return words.replace(EVIL, "") + (EVIL if EVIL in words else "")


def graph(folder: Path) -> Path:
    """Planted clusters among 800 triples, each with the sentence of a document that says it; the texts of all ids,
    another set of questions, and a pool.yaml."""
    folder.mkdir()
    rows = planted(800, plants=10)
    lines = ["\t".join((*COLUMNS, *EVIDENCE_COLUMNS))]
    for number, (subject, prop, obj) in enumerate(rows):
        text = f"{subject} has {prop} {obj}."
        lines.append("\t".join((subject, prop, obj, f"D{number}", "0", str(len(text)), text)))
    (folder / "triples.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    texts = [
        {
            "id": one,
            "label": f"the {one} {EVIL}",
            "description": f"what {one} is {EVIL}",
            "aliases": [f"also {one} {EVIL}"],
        }
        for one in sorted({one for row in rows for one in row})
    ]
    (folder / "texts.jsonl").write_text("".join(json.dumps(one) + "\n" for one in texts), encoding="utf-8")
    others = ["query_id\tquery", *(f"o{number}\twhich other thing is number {number} {EVIL}" for number in range(5))]
    (folder / "other.tsv").write_text("\n".join(others) + "\n", encoding="utf-8")
    settings = {
        "design": "romqa",
        "languages": ["en"],
        "sources": {"path": "authoring/clusters"},
        "split": {"shares": [100, 0, 0]},
        "raters": 1,
        "compare": {"path": "other.tsv", "name": "Others"},
    }
    path = folder / "pool.yaml"
    path.write_text(yaml.safe_dump({"name": "planted", "authoring": settings}), encoding="utf-8")
    return path


def cli(folder: Path, *arguments: str | Path) -> dict[str, Any]:
    """What a command prints as JSON."""
    done = run_cli(*arguments, "--format", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def test_four_people_write_verify_and_rate_the_questions_of_planted_clusters(browser: Browser, tmp_path: Path) -> None:
    config = graph(tmp_path / "planted")
    drawn = cli(config.parent, "questions", "constraints", "triples.tsv", "--texts", "texts.jsonl", "--clusters", "3")
    assert drawn["clusters"] == 3
    with served(config) as app, ExitStack() as open_pages:
        ana, bia, caio, davi = people = [
            Person(open_pages.enter_context(visitor(browser))[1], app, name) for name in WRITERS
        ]
        for one in (ana, bia):
            assert one.title == one.titled("write")
            assert len(one.says) > 1
            one.write()
        # Who has the page open has a question to write, and puts it off for what others wrote.
        for one, key in ((caio, "g"), (davi, "x")):
            one.look_again("verify")
            expect(one.page.locator("[data-shown=question]")).to_contain_text("What is X so that")
            if key == "g":
                one.press("g")
            else:
                one.page.keyboard.press("x")
                one.press("2")  # it says less
        forms = by_request(*people)
        questions = drawn["questions"]
        assert forms == {"write": questions - 2, "verify": 2 * questions - 2}
        items, entries = stored(config)
        states = Counter((one.state, one.reason) for one in items if one.kind == QUERY)
        assert states == {("kept", None): questions - 1, ("out", NOT_VERIFIED): 1}
        for of_query in (one.item_id for one in items if one.kind == QUERY):
            by = [one.by for one in entries if one.item_id == of_query and one.action in ("given", "refused")]
            assert len(set(by)) == len(by) == 3

        assert cli(config.parent, "questions", "derive")["added"] == 5
        rated = 0
        for one in people:
            one.look()
            if one.title == one.titled("rate") and rated < 2:
                assert one.page.locator("[data-shown=questions] .part").count() == 2
                one.rate("25")
                rated += 1
        assert rated == 2
        forms = by_request(*people)
        blocks = [one for one in stored(config)[0] if one.kind == BLOCK]
        assert {one.state for one in blocks} == {"kept"}
        assert forms == {"rate": len(blocks) - 2}
        assert len(blocks) == 5
        lea = Writer(open_pages.enter_context(visitor(browser))[1], app, "lea", "lead")
        lea.page.goto(f"{app.address}/rounds")
        expect(lea.page.get_by_text("What is X so that").first).to_be_visible()
        for one in people:
            one.look()
            expect(one.page.locator(".end")).to_be_visible()
        for one in (lea, *people):
            assert one.page.evaluate("() => window.__pwned === undefined")
            clean(one.record, app)
    reads_what_came_of_it(config.parent, questions)


def reads_what_came_of_it(folder: Path, questions: int) -> None:
    """The figures of the report, of the benchmark on the release, and of its collection, against the clusters."""
    with gzip.open(folder / "authoring" / "clusters" / CLUSTERS, "rt", encoding="utf-8") as file:
        drawn = {one["query_id"]: one for line in file for one in json.loads(line)["queries"]}
    items, _ = stored(folder / "pool.yaml")
    kept = [one for one in items if one.kind == QUERY and one.state == "kept"]
    of_cluster = Counter(one.content["cluster_id"] for one in kept)
    released = [one.source_id for one in kept if of_cluster[one.content["cluster_id"]] >= 3]
    report = cli(folder, "questions", "report")
    verification = report["verification"]
    assert (verification["judged"], verification["exact"], verification["refusals"]) == (
        questions,
        questions - 1,
        {"says_less": 1},
    )
    assert report["clusters"]["stay"] == sum(count >= 3 for count in of_cluster.values())
    assert report["naturalness"]["pairs"] == 5
    assert cli(folder, "questions", "release", "--as", "romqa", "-o", "data")["units"]["train"] == len(released)
    # A system that says yes to all candidates has all answers, among the wrong ones: F1 is 2a / (a + c).
    sizes = [(len(drawn[one]["answers"]), len(drawn[one]["candidates"])) for one in released]
    assert all(answers <= candidates <= 100 for answers, candidates in sizes)
    for task in ("closed", "open"):
        [row] = cli(folder, "bench", "romqa", task, "--data", "data")["rows"]
        assert (row["system"], row["n"], row["measures"]["recall"]) == ("predict-all", len(released), 100)
        assert row["measures"]["F1"] == pytest.approx(fmean(200 * a / (a + c) for a, c in sizes))
        assert row["measures"]["precision"] == pytest.approx(fmean(100 * a / c for a, c in sizes))
    cli(folder, "bench", "romqa", "evidence", "--data", "data", "--to", "collection")
    cli(folder, "build", "-c", "collection/pool.yaml")
    robust = cli(folder, "evaluate", "--robust", "-c", "collection/pool.yaml")["qrels"][0]["robust"]
    assert (robust["clusters"], robust["queries"]) == (report["clusters"]["stay"], len(released))
    assert all(one["clusters_of_several"]["nDCG@10"]["minimum"]["value"] > 0 for one in robust["runs"])


@pytest.mark.parametrize(("language", "scheme", "width"), [("en", "light", 1280), ("pt-BR", "dark", 390)])
def test_the_steps_can_be_read(browser: Browser, tmp_path: Path, language: str, scheme: Scheme, width: int) -> None:
    # The first query has a line of each side, the second one with not; with more answers than are shown.
    config = romqa_workspace(tmp_path / "logic", [made_cluster(0, 4)], least_questions=1)
    looked_at: list[str] = []
    with served(config) as app, ExitStack() as open_pages:

        def person(name: str) -> Person:
            look: dict[str, Any] = {"scheme": scheme, "language": language, "width": width}
            return Person(open_pages.enter_context(visitor(browser, **look))[1], app, name, language=language)

        def look_at(one: Person, name: str) -> None:
            looked_at.append(name)
            question(one.page)
            assert too_wide(one.page) <= 0
            asserts_legible(one.page)
            one.record.screenshot(tmp_path / f"{len(looked_at)}-{name}-{language}-{scheme}-{width}.png")

        ana = person("ana")
        sides = set()
        for _ in range(4):
            sides |= {one.split()[0] for one in ana.says}
            negated = ana.page.locator(".constraint.negated .not")
            assert negated.count() == sum(one.lower().startswith(f"{ana.say['authoring.not']} ") for one in ana.says)
            if ana.page.locator(".constraint").count() == 3 or negated.count():
                ana.page.locator("details summary").first.click()
                look_at(ana, "write")
            ana.write({"question.en": f"Who is number {len(looked_at)}{len(ana.says)}{''.join(ana.says)[-3:]}?"})
        assert "X" in sides
        bia = person("bia")
        bia.look()
        assert bia.title == bia.titled("verify")
        expect(bia.page.get_by_role("button", name=bia.say["authoring.accepts.verify"])).to_be_visible()
        look_at(bia, "verify")
        bia.page.keyboard.press("x")
        asserts_legible(bia.page)
        bia.record.screenshot(tmp_path / f"refuse-{language}-{scheme}-{width}.png")
        bia.page.keyboard.press("x")
        by_request(bia, person("caio"))
        assert run_cli("questions", "derive", cwd=config.parent).returncode == 0
        davi = person("davi")
        davi.look()
        assert davi.title == davi.titled("rate")
        look_at(davi, "rate")
        davi.rate("14")
        lea = Writer(
            open_pages.enter_context(visitor(browser, width, scheme, language))[1], app, "lea", "lead", language
        )
        lea.page.goto(f"{app.address}/rounds")
        expect(lea.page.locator("table.figures").first).to_be_visible()
        assert too_wide(lea.page) <= 0
        asserts_legible(lea.page)
        lea.record.screenshot(tmp_path / f"rounds-{language}-{scheme}-{width}.png")
