"""The explorer's size, how long it takes to write, and how long its pages take to draw in Chromium.

    python -m tests.benchmarks.bench_explorer FOLDER [--queries 50] [--pairs 100]

Makes the workspace of ``report_collection`` in FOLDER unless it is there. The peer of the pages is one page of the same
size without scripts: the same passages and rankings as plain HTML, loaded and laid out by the same browser.
"""

from __future__ import annotations

import argparse
import html
import json
import shutil
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quati_pool.project.events import Listener
from quati_pool.reporting.explorer.writing import export_explorer
from tests.benchmarks.report_collection import make

if TYPE_CHECKING:
    from playwright.sync_api import Page

REPEATS = 7
ROUTES = {
    "start": "#/",
    "query": "#/query/q3",
    "system": "#/system/system-01?against=system-02",
    "labeler": "#/labeler/gpt-4o?against=ana",
    "pairs": "#/pairs?a=gpt-4o&b=ana",
}
# Until the browser has drawn the page: the second frame begins when the first one is on the screen.
_DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--pairs", type=int, default=100)
    given = parser.parse_args()
    config = given.folder / "pool.yaml"
    if not config.exists():
        make(given.folder, queries=given.queries, pairs=given.pairs)
    output = given.folder / "explorer"
    shutil.rmtree(output, ignore_errors=True)
    start = time.perf_counter()
    page = export_explorer(config, Listener(), output=output)
    print(f"written in {time.perf_counter() - start:.1f} s, statistics included")
    files = [file for file in output.rglob("*") if file.is_file()]
    print(f"{sum(file.stat().st_size for file in files) / 1e6:.1f} MB in {len(files):,} files")
    print(f"collection.js: {(output / 'data' / 'collection.js').stat().st_size / 1e6:.2f} MB")
    peer = _plain(output, given.folder / "plain.html")
    _measure({**{name: page.as_uri() + route for name, route in ROUTES.items()}, "plain query": peer.as_uri()})


def _plain(output: Path, path: Path) -> Path:
    text = (output / "data" / "query-3.js").read_text(encoding="utf-8")
    _, found = json.loads(f"[{text.partition('(')[2].strip()[:-2]}]")
    docs = [html.escape(doc_id) for doc_id in found["docs"]]
    rows = "".join("<tr>" + "".join(f"<td>{docs[doc]}" for doc in some[:10]) for some in found["rankings"])
    texts = zip(docs, found["texts"], strict=False)
    passages = "".join(f"<h3>{doc_id}</h3><p>{html.escape(text)}" for doc_id, text in texts)
    path.write_text(f"<!doctype html><meta charset=utf-8><h1>q3</h1><table>{rows}</table>{passages}", encoding="utf-8")
    return path


def _measure(addresses: dict[str, str]) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
        times: dict[str, list[float]] = {name: [] for name in addresses}
        for _ in range(REPEATS):
            for name, address in addresses.items():
                times[name].append(_drawn(page, address))
        for name, some in times.items():
            print(f"{name}: {statistics.median(some):.0f} ms (from {min(some):.0f} to {max(some):.0f})")


def _drawn(page: Page, address: str) -> Any:
    """Milliseconds from opening the address until it is drawn, scripts and data included."""
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("main h1, body > h1")
    return page.evaluate(_DRAWN)


if __name__ == "__main__":
    main()
