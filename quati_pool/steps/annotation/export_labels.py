"""``quati-pool export labels``: what one labeler said of the pool's pairs, in the format of another tool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quati_pool.config import load_config
from quati_pool.errors import QuatiPoolError
from quati_pool.files.artefacts import clear_partials, file_digest, locked_output, write_file
from quati_pool.files.label_files.writing import LabelRow, Written, file_name, format_of_name, write_labels
from quati_pool.files.lines import output
from quati_pool.judging.base import Pair
from quati_pool.records import State
from quati_pool.steps.export import nothing_graded
from quati_pool.steps.labelers import Graded, Grading, Labeler
from quati_pool.steps.listener import Listener
from quati_pool.store.database import Store
from quati_pool.store.records import CurrentLabel
from quati_pool.workspace import Workspace


@dataclass(frozen=True)
class ExportedLabels:
    """What was written; ``left_out`` pairs of the pool have no label by this labeler yet."""

    path: Path
    labels: int
    graded: int
    left_out: int


def export_labels(
    config_path: Path,
    labeler: str,
    label_format: str | None = None,
    path: Path | None = None,
    *,
    database: str | None = None,
    pool: Path | None = None,
    listener: Listener | None = None,
) -> ExportedLabels:
    """Writes a labeler's labels of the pool's pairs, in the pool's order: grades, and pairs that a person could
    not judge. ``path`` is written as it is named, packed if it ends in .gz; ``exports/LABELER.tsv`` and so on
    where it is None. The format is that of the path's suffix where none is given, or TSV.

    Raises QuatiPoolError, and writes nothing, where there is no such labeler or format, no label, or where the
    format cannot hold them or is not that of the suffix.
    """
    label_format = format_of_name(path or Path(), label_format)
    config = load_config(config_path)
    with Store.open(database or config.labels.url, config.folder) as store, store.snapshot():
        grading = Grading(config, store, pool)
        reader = grading.labeler(labeler)
        rows = list(label_rows(grading, reader))
        source = grading.pool
    if not rows:
        raise nothing_graded(labeler, reader.kind)
    path = path or Workspace(config.folder).export(file_name(labeler, label_format))
    if not path.name or path.is_dir():
        raise QuatiPoolError(f"{path} is a folder; name a file with -o")
    written = Written(0, 0)

    def fill(partial: Path) -> dict[str, int]:
        nonlocal written
        with output(partial) as stream:
            written = write_labels(rows, label_format, stream, config.grades, labeler)
        return {"labels": written.labels, "graded": written.graded}

    key = {"labeler": labeler, "version": reader.version, "format": label_format, "pool": file_digest(source)}
    with locked_output(path, (listener or Listener()).say):
        clear_partials(path)
        write_file(path, key, {"collection": config.name, "config": file_digest(config.path)}, fill)
    return ExportedLabels(path, written.labels, written.graded, sum(map(len, grading.pairs())) - written.labels)


def label_rows(grading: Grading, reader: Labeler) -> Iterator[LabelRow]:
    """A labeler's labels that say something, in the pool's order; of a person with what the person noted."""
    is_person = reader.kind == "assessor" and reader.name not in grading.config.labels.files
    notes: dict[int, str] = {}
    if is_person and reader.version is not None:
        notes = grading.store.rationales(grading.config.name, reader.name, reader.version)
    for chunk in grading.pairs():
        said = _said(grading, reader, chunk) if is_person else {}
        for pair, graded in zip(chunk, reader.graded(chunk), strict=True):
            if graded.status in (State.ok, State.unsure):
                yield _row(pair, graded, said.get((pair.query_id, pair.doc_id)), notes)


def _said(grading: Grading, reader: Labeler, pairs: list[Pair]) -> dict[tuple[str, str], CurrentLabel]:
    """A person's last word on each pair."""
    query_ids = list(dict.fromkeys(pair.query_id for pair in pairs))
    rows = grading.current(reader.name, reader.kind, str(reader.version), query_ids)
    return {(row.query_id, row.doc_id): row for row in sorted(rows, key=lambda row: row.seq)}


def _row(pair: Pair, graded: Graded, said: CurrentLabel | None, notes: Mapping[int, str]) -> LabelRow:
    told = (graded.status, graded.relevance)
    # A label of a text that has changed since says nothing of this one.
    last = said if said is not None and (said.status, said.relevance) == told else None
    extra: Mapping[str, Any] = {} if last is None else last.extra
    return LabelRow(
        pair.query_id,
        pair.doc_id,
        pair.query,
        pair.text,
        graded.relevance,
        str(graded.status),
        pair.narrative,
        extra.get("reason"),
        None if last is None else notes.get(last.seq),
        extra.get("active_seconds"),
    )
