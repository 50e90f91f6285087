"""Which reports, qrels and exports of a workspace there are, and which hold other labels or runs than there are now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from quati_pool.commands.export.labelers import choose_labelers
from quati_pool.commands.status.labelers import LabelStates
from quati_pool.errors import QuatiPoolError
from quati_pool.files.artifacts import file_digest, read_meta, unfinished
from quati_pool.files.qrels import read_qrels
from quati_pool.labels.labelers import Grading
from quati_pool.project.config import PoolConfig
from quati_pool.project.workspace import Workspace
from quati_pool.records import Qrels
from quati_pool.store.database import Store
from quati_pool.text.pluralize import counted

REPORTS = {
    "agree": "agreement.json", "evaluate": "evaluation.json", "estimate": "estimate.json", "report": "report.html",
}  # fmt: skip
"""The command that writes each of the workspace's reports, with the file that it always writes."""
OPTIONAL = ("estimate",)
"""Those that not every collection can have: people have to grade a random sample."""


@dataclass(frozen=True)
class OutputState:
    """A file or folder that a command wrote. ``command`` writes it again (without ``quati-pool``), ``why`` says in what
    it differs from what there is now, None if it does not."""

    path: Path
    command: tuple[str, ...]
    why: str | None

    @property
    def export(self) -> bool:
        return self.command[0] == "export"


class _Now:
    """The hashes of pool.yaml and the queries, and of the pool and the runs that are there."""

    def __init__(self, config: PoolConfig) -> None:
        self.filed = config.labels.files
        self.queries = file_digest(config.query_file) if config.query_file else None
        self.config = file_digest(config.path)
        self.workspace = Workspace(config.folder)
        self.pool = _digest(self.workspace.pool)
        self.runs = {tag: sha for tag in config.systems if (sha := _digest(self.workspace.run(tag)))}


def _digest(path: Path) -> str | None:
    return file_digest(path) if unfinished(path) is None else None


class Computed(NamedTuple):
    """A report or an explorer: what writes it again, and what its sidecar says it was computed from."""

    path: Path
    command: tuple[str, ...]
    settings: Mapping[str, Any]


def computed(config: PoolConfig) -> list[Computed]:
    """The workspace's reports and its exported explorer."""
    workspace = Workspace(config.folder)
    found = []
    for command, name in REPORTS.items():
        meta = read_meta(workspace.report(name))
        if meta is not None:
            settings = meta["key"].get("settings")
            settings = settings if isinstance(settings, dict) else {}
            # What was read from files that options named is not of this workspace's labels.
            if not settings.get("files"):
                found.append(Computed(workspace.report(name), (command,), settings))
    path = workspace.export("explorer")
    meta = read_meta(path) if path.is_dir() else None
    if meta is not None and "format" not in meta["key"]:
        named = [part for name in meta["key"].get("named", ()) for part in ("--labeler", name)]
        found.append(Computed(path, ("export", "explorer", *named), meta["key"]))
    return found


def seqs(found: Sequence[Computed]) -> list[int]:
    """The seqs of the last labels that they were computed from."""
    return [seq for one in found if isinstance(seq := one.settings.get("state"), int)]


def computed_states(config: PoolConfig, found: Sequence[Computed], labels: LabelStates) -> list[OutputState]:
    """The reports and the explorer, each compared with the labels, the pool and the runs that there are now. The
    explorer next to the report is part of it."""
    now = _Now(config)
    states = [OutputState(one.path, one.command, _older(one.settings, labels, now)) for one in found]
    path = now.workspace.report("explore")
    meta = read_meta(path)
    problem = unfinished(path) if meta is None else _older(meta["key"], labels, now)
    lacking = problem and f"its explorer: {problem}"
    return [replace(one, why=lacking) if one.command == ("report",) and one.why is None else one for one in states]


def _older(settings: Mapping[str, Any], labels: LabelStates, now: _Now) -> str | None:
    """In what the state that ``settings`` name differs from the present one; reports do not name all of it."""
    seq = settings.get("state")
    if not isinstance(seq, int):
        return "does not say which labels it is of"
    if labels.newer.get(seq):
        return counted(labels.newer[seq], "label is newer", "labels are newer")
    named = settings.get("named")
    versions = {
        one.name: one.version
        for one in labels.labelers
        if (one.name in named if named else one.graded or one.name in now.filed)
    }
    if settings.get("labelers") != versions:
        return "is of other labelers, or of other versions of them"
    if settings.get("pool") != now.pool:
        return "is of another pool"
    if any(runs != now.runs for runs in [*settings.get("runs", {}).values(), settings.get("rankings", now.runs)]):
        return "is of other runs"
    if settings.get("config", now.config) != now.config:
        return "pool.yaml was changed since"
    if settings.get("queries_file", now.queries) != now.queries:
        return "is of other queries"
    return None


def export_states(config: PoolConfig, store: Store | None) -> list[OutputState]:
    """The qrels and exports in the workspace, each compared with what would be written now."""
    now = _Now(config)
    found = [*_qrels(config, store, now), *_exports(config, store, now)]
    return sorted(found, key=lambda one: one.path)


def _qrels(config: PoolConfig, store: Store | None, now: _Now) -> Iterator[OutputState]:
    for path in now.workspace.qrels("x").parent.glob("*.qrels"):
        meta = read_meta(path)
        labeler = meta["key"].get("labeler") if meta else None
        if isinstance(labeler, str) and path == now.workspace.qrels(labeler):
            why = _other_grades(config, store, path, labeler)
            yield OutputState(path, ("export", "qrels", "--labeler", labeler), why)


def _other_grades(config: PoolConfig, store: Store | None, path: Path, labeler: str) -> str | None:
    if store is None:
        return "the labels it was written from are not there"
    try:
        chosen = choose_labelers(Grading(config, store), [labeler], needed=True, allow_missing=True).labelers[0]
        same = _rows(read_qrels(path)) == _rows(chosen.labelled.qrels)
    except QuatiPoolError as error:
        return str(error)
    return None if same else f"holds other grades than {labeler} has now"


def _rows(qrels: Qrels) -> set[tuple[str, str, int]]:
    query_ids, doc_ids = qrels.queries.decode(qrels.query), qrels.docs.decode(qrels.doc)
    return set(zip(query_ids.to_pylist(), doc_ids.to_pylist(), qrels.relevance.tolist(), strict=True))


def _exports(config: PoolConfig, store: Store | None, now: _Now) -> Iterator[OutputState]:
    for path in now.workspace.export("x").parent.glob("*"):
        meta = read_meta(path) if path.is_dir() else None
        if meta is not None and "format" in meta["key"]:
            key = meta["key"]
            labelers = [one["labeler"] for one in key["labelers"]]
            named = [part for name in labelers for part in ("--labeler", name)]
            yield OutputState(path, ("export", path.name, *named), _other_collection(config, store, key, now))


def _other_collection(config: PoolConfig, store: Store | None, key: Mapping[str, Any], now: _Now) -> str | None:
    if key["config"] != now.config:
        return "pool.yaml was changed since"
    if key["pool"] != now.pool or key["runs"] != now.runs:
        return "is of another pool or of other runs"
    if store is None:
        return "the labels it was written from are not there"
    names = [one["labeler"] for one in key["labelers"]]
    try:
        chosen = choose_labelers(Grading(config, store), names, needed=False, allow_missing=True) if names else None
    except QuatiPoolError as error:
        return str(error)
    labelers = [one.identity() for one in chosen.labelers] if chosen else []
    return None if labelers == key["labelers"] else "holds other grades than there are now"
