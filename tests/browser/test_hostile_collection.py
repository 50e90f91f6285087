"""A collection whose passages, queries, narratives, notes, reasons, ids and names would act in a page, through all that
reads and writes it, into the report and the explorer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.evaluate import Settings
from quati_pool.project.events import Listener
from quati_pool.reporting.explorer import links
from quati_pool.reporting.page import report
from tests.browser.explorer_pages import asserts_own, go
from tests.browser.pages import opened
from tests.commands.annotate.disputes import add_label
from tests.commands.small_collection import built, write_settings
from tests.reporting.hostile import HOSTILE

pytestmark = pytest.mark.browser

# A file in UTF-8 holds no half of a character.
TEXTS = [text for text in HOSTILE if "\ud800" not in text]
IDS = ["<img/src=x/onerror=alert(1)>", "__proto__", "'onfocus=alert(2)", "%2F..%2F", "a/b?c=d&e#f"]
SYSTEMS = ["constructor", "toString"]
PEOPLE = ["<svg/onload=alert(3)>", "__proto__"]


@pytest.fixture(scope="module")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a collection of five queries and a passage for each text."""
    folder = tmp_path_factory.mktemp("hostile")
    docs = [f"{IDS[number % len(IDS)]}{number}" for number in range(len(TEXTS))]
    rows = [{"doc_id": doc_id, "text": text} for doc_id, text in zip(docs, TEXTS, strict=True)]
    asked = [
        {"query_id": query_id, "query": TEXTS[number], "narrative": " ".join(TEXTS[number::5])}
        for number, query_id in enumerate(IDS)
    ]
    for name, some in (("corpus", rows), ("queries", asked)):
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in some)
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    for number in range(len(SYSTEMS)):
        ranked = docs[:: 1 - 2 * number]
        run = [f"{query_id} Q0 {doc_id} {rank} {-rank} x\n" for query_id in IDS for rank, doc_id in enumerate(ranked)]
        (folder / f"{number}.run").write_text("".join(run), encoding="utf-8")
    systems = {tag: {"retriever": "run", "path": f"{number}.run"} for number, tag in enumerate(SYSTEMS)}
    config = write_settings(
        folder,
        {
            "name": "hostile",
            "corpus": {"path": "corpus.jsonl"},
            "queries": {"path": "queries.jsonl"},
            "systems": systems,
            "pool": {"depth": len(docs)},
            "release": {"title": TEXTS[0]},
        },
    )
    built(config)
    with AnnotationSession.open(config) as session:
        for query_id in IDS:
            for number, doc_id in enumerate(docs):
                note = HOSTILE[number % len(HOSTILE)]
                for place, name in enumerate(["gpt", *PEOPLE]):
                    add_label(session, name, query_id, doc_id, (number + place) % 4, rationale=f"{name} {note}")
    return report(config, Listener(), Settings(draws=20))


def test_the_report_runs_and_asks_for_nothing(browser: Browser, page_of: Path) -> None:
    with opened(browser, page_of) as record:
        page = record.page
        expect(page.locator("h1")).to_contain_text(TEXTS[0])
        for folded in page.locator("summary").all():
            folded.evaluate("summary => summary.parentNode.open = true")
        assert page.locator("script").count() == 2  # its own, allowed by their hashes
        assert page.locator("iframe, base, meta[http-equiv=refresh], link:not([href^='data:'])").count() == 0
        record.asserts_nothing_outside()


def test_the_explorer_runs_and_asks_for_nothing_and_shows_every_text(browser: Browser, page_of: Path) -> None:
    index = page_of.parent / "explore" / "index.html"
    with opened(browser, index) as record:
        page = record.page
        expect(page.locator("h1")).to_have_text(TEXTS[0])
        for number, query_id in enumerate(IDS):
            go(page, links.query(query_id, by=PEOPLE[0], systems=(SYSTEMS[1],)))
            expect(page.locator("h1")).to_have_text(" ".join(TEXTS[number].split()))
            expect(page.locator("article.passage")).to_have_count(len(TEXTS))
            for folded in page.locator("article summary").all():
                folded.evaluate("summary => summary.parentNode.open = true")
            shown = page.locator("#root").text_content() or ""
            for text in TEXTS:
                seen = text.replace("\u202e", "⟨U+202E⟩")
                assert shown.count(seen) >= 1, text
        for link in [
            links.system(SYSTEMS[0], against=SYSTEMS[1]),
            links.labeler(PEOPLE[0], against=PEOPLE[1]),
            links.pairs(PEOPLE[0], "gpt"),
            links.alone(SYSTEMS[1]),
            links.START,
        ]:
            go(page, link)
            expect(page.locator("h1")).to_be_visible()
        assert page.locator("#root :is(script, style, img, iframe, link, meta, base, svg)").count() == 0
        asserts_own(record, index)
