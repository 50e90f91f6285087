"""``quati-pool report``: everything known about a collection, as one HTML page and one Markdown file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from quati_pool.commands.evaluate import Settings
from quati_pool.commands.report import State, opened
from quati_pool.files.readable_json import readable_json
from quati_pool.project.events import Listener
from quati_pool.reporting.answers.findings import AUDITS
from quati_pool.reporting.answers.report import opening
from quati_pool.reporting.explorer.data import ExplorerData
from quati_pool.reporting.explorer.links import FOLDER
from quati_pool.reporting.explorer.writing import save_explorer
from quati_pool.reporting.formats.document import Block, Details, Document, Figure, Row, Section
from quati_pool.reporting.formats.html import page
from quati_pool.reporting.formats.markdown import markdown
from quati_pool.reporting.formats.tables import csv_file
from quati_pool.reporting.json_data.completeness import as_data
from quati_pool.reporting.saved_files import report_folder, save
from quati_pool.reporting.sections import agreement, audits, methods, pool, systems, trust
from quati_pool.reporting.tables import completeness as completeness_tables


def report(
    config_path: Path,
    listener: Listener,
    settings: Settings | None = None,
    people: Sequence[str] = (),
    output: Path | None = None,
) -> Path:
    """Writes ``report.html``, ``report.md``, their figures, ``completeness.json`` and ``.csv`` and the explorer into
    ``output`` or, without it, into the workspace's reports; returns the path of the HTML page.

    Raises QuatiPoolError if the pool was not built.
    """
    with opened(config_path, settings or Settings(), people, listener) as state:
        folder = report_folder(state.config, output)
        assert folder is not None
        save_explorer(ExplorerData(state, state.config.release.texts, report=True), folder / FOLDER, listener)
        listener.progress("report: drawing", 0, 0)
        document = _document(state)
        completeness = _completeness(state)
    content: dict[str, str | bytes] = {
        "report.html": page(document),
        "report.md": markdown(document),
        **completeness,
        **{figure.file: figure.content for section in document.sections for figure in _figures(section.blocks)},
    }
    save(state.config, folder, content, state.key, listener, "report")
    return folder / "report.html"


def _completeness(state: State) -> dict[str, str]:
    """The files of what the pool lacks; none where nothing is graded."""
    found = completeness_tables.tables(state.completeness)
    if not found:
        return {}
    return {"completeness.json": readable_json(as_data(state.completeness)), "completeness.csv": csv_file(found[:1])}


def _figures(blocks: Sequence[Block]) -> Iterator[Figure]:
    for block in blocks:
        if isinstance(block, Figure):
            yield block
        elif isinstance(block, (Details, Row)):
            yield from _figures(block.blocks)


def _document(state: State) -> Document:
    config = state.config
    title = config.release.title or config.name
    said = f"The test collection {config.name}: {len(state.pool.pool):,} pooled pairs of "
    said += f"{state.pool.diversity.queries:,} queries, {len(state.gathered.sources):,} labelers."
    everything_else = [
        *agreement.appendix(state),
        *systems.appendix(state),
        *pool.pool_appendix(state),
        *pool.labels_appendix(state),
        *trust.appendix(state),
        *audits.appendix(state),
        *methods.appendix(state),
    ]
    audited = audits.body(state)
    sections = [
        Section("agreement", "Agreement", agreement.body(state)),
        Section("systems", "Systems", systems.body(state)),
        Section("pool", "The pool", pool.pool(state)),
        Section("labels", "Labels", pool.labels(state)),
        Section("quality", "Trust in the pool and in the qrels", trust.body(state)),
        *([Section(AUDITS, "Audits of judges", audited)] if audited else []),
        Section("methods", "Methods", methods.body(state)),
        Section("appendix", "Appendix", everything_else),
    ]
    return Document(title, said, sections, opening=opening(state, "systems", "agreement"))
