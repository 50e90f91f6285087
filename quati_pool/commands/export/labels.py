"""``quati-pool export labels``: one labeler's labels of the pool's pairs, in the format of another tool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from quati_pool.errors import QuatiPoolError
from quati_pool.files.artifacts import clear_partials, file_digest, locked_output, write_file
from quati_pool.files.label_files.writing import (
    JudgesAnswer,
    LabelRow,
    Written,
    file_name,
    format_of_name,
    write_labels,
)
from quati_pool.files.lines import output
from quati_pool.judging.pair import Pair
from quati_pool.labels.base import Graded, Labeler
from quati_pool.labels.labelers import Grading
from quati_pool.labels.qrels import nothing_graded
from quati_pool.labels.rereading import thoughts_behind
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.project.submissions import withheld
from quati_pool.project.workspace import Workspace
from quati_pool.records import State
from quati_pool.store.database import Store
from quati_pool.store.label_queries import rationales_of
from quati_pool.store.records import CurrentLabel
from quati_pool.text.fencing import sendable


@dataclass(frozen=True)
class ExportedLabels:
    """A file of labels: their number, how many have a grade, how many pairs of the pool are without a label, and why
    they may not be published, if so."""

    path: Path
    labels: int
    graded: int
    left_out: int
    withheld: str | None = None


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
    """Writes a labeler's labels of the pool's pairs, in the pool's order: grades, and pairs that a person could not
    judge. If ``path`` is None the file is ``exports/LABELER.tsv``, or has another format's suffix; a path ending in
    .gz is gzipped. If ``label_format`` is None, it is that of the path's suffix, or TSV.

    Raises QuatiPoolError, and writes nothing, where the labeler or the format does not exist, there are no labels, or
    the format cannot hold them or does not match the suffix.
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
    left_out = sum(map(len, grading.pairs())) - written.labels
    return ExportedLabels(path, written.labels, written.graded, left_out, withheld(config))


def label_rows(grading: Grading, reader: Labeler) -> Iterator[LabelRow]:
    """A labeler's grades, and the pairs that could not be judged, in the pool's order; a person's rows have reasons,
    notes and times, a judge's have all answers."""
    for chunk in grading.pairs():
        labels_behind = reader.behind(chunk)
        labels = [label for of_pair in labels_behind for label in of_pair.values()]
        reasons = rationales_of(grading.store, [label.seq for label in labels])
        thoughts = thoughts_behind(grading.store, labels, reader.reading)
        for pair, graded, of_pair in zip(chunk, reader.graded(chunk), labels_behind, strict=True):
            if graded.status not in (State.ok, State.unsure):
                continue
            row = _row(pair, graded)
            if reader.kind == "judge":
                answers = (
                    _answer(label, reasons.get(label.seq), thoughts.get(label.seq)) for label in of_pair.values()
                )
                row = row._replace(answers=tuple(filter(None, answers)))
            for label in of_pair.values() if reader.kind == "assessor" else ():
                reason, seconds = label.extra.get("reason"), label.extra.get("active_seconds")
                row = row._replace(reason=reason, note=reasons.get(label.seq), seconds=seconds)
            yield row


def _row(pair: Pair, graded: Graded) -> LabelRow:
    ids = (pair.query_id, pair.doc_id)
    return LabelRow(*ids, pair.query, pair.text, graded.relevance, str(graded.status), pair.narrative)


def _answer(label: CurrentLabel, rationale: str | None, thoughts: str | None) -> JudgesAnswer | None:
    if label.relevance is None:
        return None
    # A model's thoughts can contain half a surrogate pair, which UTF-8 cannot encode.
    details = {"rationale": rationale, "thoughts": thoughts and sendable(thoughts), "reading": label.reading}
    known = {name: value for name, value in details.items() if value is not None}
    return JudgesAnswer(label.sample, label.relevance, {**label.extra, **known})
