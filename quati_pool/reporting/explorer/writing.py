"""Writes the explorer: static pages that open from the disk and from any web server."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from quati_pool.commands.evaluate import Settings
from quati_pool.commands.explorer import pairs_by_query
from quati_pool.commands.report import opened
from quati_pool.errors import QuatiPoolError
from quati_pool.files.artifacts import (
    added_files,
    clear_partials,
    digest,
    file_digest,
    locked_output,
    stale,
    write_folder,
)
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.project.submissions import refuse_withheld
from quati_pool.project.workspace import Workspace
from quati_pool.reporting.explorer.data import ExplorerData
from quati_pool.reporting.explorer.scripts import script
from quati_pool.text.pluralize import counted

_REPORTING = Path(__file__).parents[1]
_SITE, _LIBRARIES = _REPORTING / "explorer" / "site", _REPORTING / "libraries"
_STYLE = _REPORTING / "base.css"
# A file that no other folder has, by which one that was written here is recognised even without its sidecar.
_MARK = "data/collection.js"


def export_explorer(
    config_path: Path,
    listener: Listener,
    names: Sequence[str] = (),
    output: Path | None = None,
    settings: Settings | None = None,
) -> Path:
    """Writes the explorer with the grades of the labelers ``names``, or of all, into ``output`` or, without it, into
    the workspace's exports; returns the path of its first page.

    Raises QuatiPoolError while the qrels of a shared task are withheld."""
    refuse_withheld(load_config(config_path))
    with opened(config_path, settings or Settings(), listener=listener, names=names) as state:
        folder = output or Workspace(state.config.folder).export("explorer")
        save_explorer(ExplorerData(state, state.config.release.texts, report=False), folder, listener)
    return folder / "index.html"


def explorer_key(data: ExplorerData) -> dict[str, Any]:
    """What an explorer's files depend on, for its sidecar."""
    state, config = data.state, data.state.config
    return {
        **state.key,
        # Where all labelers are files, or nobody graded, the results do not depend on pool and runs, but pages do.
        "pool": file_digest(state.grading.pool),
        "rankings": dict(state.runs.digests) if state.runs else {},
        "texts": data.texts,
        "report": data.report,
        "settings": {**asdict(state.settings), "measures": list(data.measures)},
        "named": list(state.gathered.named),
        "order": data.labelers,
        "config": file_digest(config.path),
        "queries_file": file_digest(config.query_file) if config.query_file else None,
        "site": _site_digest(),
    }


def save_explorer(data: ExplorerData, folder: Path, listener: Listener) -> bool:
    """Writes the explorer into ``folder``, completely or not at all, unless it is there already; returns whether it
    was written.

    Raises QuatiPoolError for a folder that holds something else, since all of it would be replaced.
    """
    config, key = data.state.config, explorer_key(data)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked_output(folder, listener.say):
        clear_partials(folder)
        if folder.exists() and any(folder.iterdir()) and not (folder / _MARK).is_file():
            raise QuatiPoolError(f"{folder} holds something else; move it away, or name another folder with -o")
        if added := added_files(folder):
            raise QuatiPoolError(
                f"{folder} would be replaced, and {added[0]} in it was not written with it; move it away, or name "
                "another folder with -o"
            )
        if stale(folder, key) is None:
            listener.say(f"explorer: {folder} is up to date")
            return False
        provenance = {"collection": config.name, "config": file_digest(config.path)}
        write_folder(folder, key, provenance, lambda partial: _fill(data, partial, listener))
    listener.say(f"explorer: wrote {counted(len(data.query_ids), 'query', 'queries')} to {folder}")
    return True


def _site_digest() -> str:
    files = sorted([*_SITE.rglob("*"), *_LIBRARIES.iterdir(), _STYLE])
    return digest({str(file.relative_to(_REPORTING)): file_digest(file) for file in files if file.is_file()})


def copy_site(folder: Path) -> None:
    """Copies the pages without their data into ``folder``, which is empty or is not there yet."""
    shutil.copytree(_SITE, folder, dirs_exist_ok=True)
    shutil.copytree(_LIBRARIES, folder / _LIBRARIES.name)
    shutil.copy(_STYLE, folder)


def _fill(data: ExplorerData, folder: Path, listener: Listener) -> dict[str, Any]:
    """Writes the pages and their data into an empty folder; returns counts."""
    copy_site(folder)
    parts = folder / "data"
    parts.mkdir()
    ungraded = _write_queries(data, parts, listener)
    for labeler in range(len(data.sources)):
        for measure in range(len(data.measures)):
            scores = data.scores(labeler, measure)
            if scores is not None:
                (parts / f"scores-{labeler}-{measure}.js").write_bytes(script("scores", labeler, measure, scores))
    (parts / "collection.js").write_bytes(script("collection", data.collection(ungraded)))
    return {"queries": len(data.query_ids), "pairs": len(data.state.pool.pool)}


def _write_queries(data: ExplorerData, parts: Path, listener: Listener) -> list[set[int]]:
    """Writes a part per query; returns the numbers of the pairs with a label but no grade, by labeler."""
    ungraded: list[set[int]] = [set() for _ in data.sources]
    pooled = pairs_by_query(data.state)
    first = 0
    for number, query_id in enumerate(data.query_ids):
        listener.progress("explorer: writing queries", number, len(data.query_ids), query_id, unit="queries")
        # Queries without pairs come last.
        found = next(pooled, None)
        (parts / f"query-{number}.js").write_bytes(script("query", number, data.query(query_id, found)))
        if found is None:
            continue
        for labeler, details in enumerate(found.details):
            ungraded[labeler].update(first + place for place, one in enumerate(details) if one and one.state)
        first += len(found.pairs)
    return ungraded
