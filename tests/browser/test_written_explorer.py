"""What ``report`` writes of a collection full of hostile texts and ids, opened in a real browser: all of it is text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Browser, Page, expect

from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.evaluate import Settings
from quati_pool.project.events import Listener
from quati_pool.records import id_problem
from quati_pool.reporting.explorer import links
from quati_pool.reporting.page import report
from tests.browser.explorer_pages import asserts_own, go
from tests.browser.pages import opened
from tests.commands.annotate.disputes import add_label
from tests.commands.small_collection import built
from tests.reporting.hostile import HOSTILE

pytestmark = pytest.mark.browser

OWN = "globalThis.owned=document.title='owned'"
TEXTS = [
    *HOSTILE,
    f"</script><script>{OWN}</script>",
    f"<img src=x onerror=\"{OWN}\">",
    f"explorerData.query(0, {{}});{OWN}//",
    f"`);{OWN}//${{{OWN}}}",
    f"\u2028{OWN}//\u2029*/{OWN}",
    f"<details open ontoggle={OWN}>",
]  # fmt: skip
IDS = [
    f"</script><script>{OWN}</script>",
    f"<img/src=x/onerror={OWN}>",
    f"javascript:{OWN}",
    f"'\"`;{OWN}//",
    "__proto__",
    "constructor",
    "toString",
    ".",
    "..",
    "../../index.html",
    "/",
    "\\",
    "%2F",
    "%",
    "%E0%A4%A",
    "x#",
    "x#/query/x",
    "?by=x&show=all",
    "a/b?c=d&e#f+g",
    "&lt;b&gt;&amp;",
    "{{document}}",
    "|a|",
    "https://outside.example/",
    "//outside.example",
    "\u202eout",
    "\u2066in\u200e",
]


LABELERS = ("<svg/onload=alert(3)>", "__proto__", "gpt")


def saying(labeler: str, doc: int) -> str:
    """A note or a reason: neither the passage nor what another says of it."""
    return TEXTS[(doc + 5 * LABELERS.index(labeler) + 5) % len(TEXTS)]


def readable(text: str) -> str:
    """What input files may hold: they are refused with half a character."""
    return text.replace("\ud800", "")


def shown(text: str) -> str:
    """The text as the explorer shows it, with marks for what would act on its surroundings or be invisible."""
    acting = r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
    return re.sub(acting, lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


@dataclass(frozen=True)
class Written:
    """The report's folder, and the pairs of each query in the pool."""

    folder: Path
    pairs: dict[str, list[str]]

    @property
    def index(self) -> Path:
        return self.folder / "explore" / "index.html"


def of_query(number: int) -> list[int]:
    """The numbers of the passages of a query."""
    return [(number + step) % len(IDS) for step in range(3)]


def write_inputs(folder: Path) -> Path:
    folder.mkdir()
    corpus = [{"doc_id": doc_id, "text": readable(text)} for doc_id, text in zip(IDS, TEXTS, strict=True)]
    queries = [
        {"query_id": query_id, "query": readable(text), "narrative": readable(other)}
        for query_id, text, other in zip(IDS, TEXTS, reversed(TEXTS), strict=True)
    ]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for name, step in (("ahead", 1), ("back", -1)):
        ranked = [
            f"{query_id} Q0 {IDS[doc]} {rank} {9 - rank} {name}\n"
            for number, query_id in enumerate(IDS)
            for rank, doc in enumerate(of_query(number)[::step][:2], 1)
        ]
        (folder / f"{name}.run").write_text("".join(ranked), encoding="utf-8")
    config = {
        "name": "hostile",
        "corpus": {"path": "corpus.jsonl"},
        "queries": {"path": "queries.jsonl"},
        "systems": {name: {"retriever": "run", "path": f"{name}.run"} for name in ("ahead", "back")},
        "pool": {"depth": 2},
        "release": {"title": f"Hostile </title><script>{OWN}</script>"},
    }
    path = folder / "pool.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    assert not any(map(id_problem, IDS))
    assert min(len(TEXTS), len({*TEXTS}), len({*IDS})) >= 26
    config = write_inputs(tmp_path_factory.mktemp("hostile") / "w")
    built(config)
    with AnnotationSession.open(config) as session:
        pool = session.pool_view
        pairs = {query_id: list(pool.doc_ids(query_id)) for query_id in pool.query_ids}
        for query_id, doc_ids in pairs.items():
            # The report names queries without a relevant passage, and those on which labelers differ.
            relevant = IDS.index(query_id) % 3 > 0
            for place, doc_id in enumerate(doc_ids):
                for grade, name in enumerate(LABELERS, place):
                    said = saying(name, IDS.index(doc_id))
                    add_label(session, name, query_id, doc_id, grade % 4 * relevant, rationale=said)
    return Written(report(config, Listener(), Settings(draws=20)).parent, pairs)


@pytest.fixture
def page(browser: Browser, written: Written) -> Iterator[Page]:
    with opened(browser, written.index) as record:
        yield record.page
        asserts_own(record, written.index)
        asserts_nothing_ran(record.page)


def asserts_nothing_ran(page: Page) -> None:
    assert page.evaluate("typeof globalThis.owned") == "undefined"
    assert page.title() != "owned"


def test_every_question_passage_note_and_reason_is_text(page: Page, written: Written) -> None:
    assert written.pairs.keys() == {*IDS}
    for number, (query_id, text) in enumerate(zip(IDS, TEXTS, strict=True)):
        go(page, links.query(query_id))
        assert page.locator(".kicker").inner_text().removeprefix("Query ") == shown(query_id)
        assert page.locator("h1").inner_text() == shown(readable(text))
        assert page.locator("p.subtitle").inner_text() == shown(readable(TEXTS[-1 - number]))
        for summary in page.locator("article.passage summary").all():
            summary.click()
        docs = of_query(number)
        for selector, expected in (
            (".doc", [shown(IDS[doc]) for doc in docs]),
            (".text", [shown(readable(TEXTS[doc])) for doc in docs]),
            ("dd", [
                ("" if name == "gpt" else "Note: ") + shown(saying(name, doc)) for doc in docs for name in LABELERS
            ]),
        ):  # fmt: skip
            assert sorted(page.locator(f"article.passage {selector}").all_inner_texts()) == sorted(expected), query_id
        assert page.locator("#root :is(script, style, img, iframe, link, meta, base)").count() == 0
        asserts_nothing_ran(page)


def test_every_other_page_and_every_link_of_the_report_is_found(browser: Browser, page: Page, written: Written) -> None:
    with opened(browser, written.folder / "report.html") as record:
        record.asserts_nothing_outside()
        asserts_nothing_ran(record.page)
        addresses = record.page.locator("a[href*='explore/']").evaluate_all(
            "all => Array.from(new Set(all.map(one => one.getAttribute('href').replace(/^\\.\\//, ''))))"
        )
        text = record.page.locator("body").evaluate("body => body.textContent")
    assert {links.query(query_id) for query_id in IDS} <= {address.partition("?")[0] for address in addresses}
    assert [query_id for query_id in IDS if query_id not in text] == []
    visited = [
        *addresses,
        *(links.system(one, against=other) for one, other in (("ahead", "back"), ("back", "ahead"))),
        *(links.labeler(one, against=other) for one in LABELERS for other in LABELERS if one != other),
        links.pairs(LABELERS[0], "gpt"),
        *(links.pairs(LABELERS[0], query_id=query_id) for query_id in IDS),
        links.alone("ahead", by=LABELERS[0]),
        *(links.query(IDS[number], doc_id=IDS[of_query(number)[1]]) for number in range(len(IDS))),
        links.START,
    ]
    for link in visited:
        go(page, link)
        expect(page.locator("h1")).not_to_have_text(re.compile("^Not found|^This page cannot"))
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        asserts_nothing_ran(page)
