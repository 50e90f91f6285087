"""``quati-pool export labels``: one labeler's labels of the pool's pairs, in the format of another tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quati_pool.annotation.evidence import EVIDENCE, evidence_in
from quati_pool.errors import QuatiPoolError
from quati_pool.files.artifacts import clear_partials, file_digest, locked_output, write_file
from quati_pool.files.label_files.writing import (
    EvidenceSpan,
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
from quati_pool.labels.consensus import Panel
from quati_pool.labels.coverage import LabelCoverage
from quati_pool.labels.labelers import Grading
from quati_pool.labels.qrels import nothing_graded
from quati_pool.labels.rereading import thoughts_behind
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.project.submissions import withheld
from quati_pool.project.workspace import Workspace
from quati_pool.records import State
from quati_pool.store.database import Store
from quati_pool.store.drawn_labels import Drawn, drawn_labels
from quati_pool.store.label_queries import rationales_of
from quati_pool.store.records import CurrentLabel
from quati_pool.text.fencing import sendable

_WRITTEN = (State.ok, State.unsure)


@dataclass(frozen=True)
class ExportedLabels:
    """A file of labels: their number, how many have a grade, how many pairs of the pool are without a label, and why
    they may not be published, if so. Of the labels without a grade, ``tied`` are pairs that a lead is to decide; of
    the pairs without a label, people were not given ``not_given``."""

    path: Path
    labels: int
    graded: int
    left_out: int
    withheld: str | None = None
    tied: int = 0
    not_given: int = 0


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
        rows, coverage = label_rows(grading, reader)
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
    return ExportedLabels(
        path,
        written.labels,
        written.graded,
        coverage.pairs - written.labels,
        withheld(config),
        coverage.tied,
        coverage.not_given,
    )


def label_rows(grading: Grading, reader: Labeler) -> tuple[list[LabelRow], LabelCoverage]:
    """A labeler's grades, and the pairs that could not be judged or are tied, in the pool's order, with its coverage
    of the pairs.

    A person's rows have reasons, notes, times, evidence, and how the pair was drawn; a judge's have all answers; those
    of a panel of people have what a lead noted with the decision, and how the pair was drawn if people's labels of it
    come from one design.
    """
    panel = reader if isinstance(reader, Panel) else None
    people = [person.name for person in (panel.members if panel else [reader]) if person.kind == "assessor"]
    drawn = drawn_labels(grading.store, grading.config.name, people) if people else {}
    coverage = LabelCoverage(0)
    rows = []
    for chunk in grading.pairs():
        noted = reader.behind(chunk) if panel is None else _decided(panel, chunk)
        given = [noted] if panel is None else [person.behind(chunk) for person in panel.members]
        labels = [label for of_pair in noted for label in of_pair.values()]
        notes = rationales_of(grading.store, [label.seq for label in labels])
        thoughts = thoughts_behind(grading.store, labels, reader.reading)
        for at, (pair, graded) in enumerate(zip(chunk, reader.graded(chunk), strict=True)):
            coverage.add(graded)
            if graded.status not in _WRITTEN:
                continue
            row = _row(pair, graded)
            if reader.kind == "judge":
                answers = (_answer(one, notes.get(one.seq), thoughts.get(one.seq)) for one in noted[at].values())
                row = row._replace(answers=tuple(filter(None, answers)))
            else:
                for label in noted[at].values():
                    row = _noted(row, label, sendable(notes.get(label.seq) or "") or None)
                row = _drawn(row, [label for column in given for label in column[at].values()], drawn)
            rows.append(row)
    return rows, coverage


def _decided(panel: Panel, pairs: Sequence[Pair]) -> list[dict[int, CurrentLabel]]:
    """The lead's decision on each pair, if there is one, by sample."""
    if panel.decisions is None:
        return [{} for _ in pairs]
    return [
        {sample: label for sample, label in of_pair.items() if label.status in _WRITTEN}
        for of_pair in panel.decisions.behind(pairs)
    ]


def _drawn(row: LabelRow, labels: Sequence[CurrentLabel], drawn: Mapping[int, Drawn]) -> LabelRow:
    """The row with the phase of these people's labels of its pair, if they share one and nobody decided it, and how the
    pair was drawn, if they come from one design."""
    phases = {label.phase for label in labels if label.status in _WRITTEN}
    if row.phase is None and len(phases) == 1:
        row = row._replace(phase=phases.pop())
    found = {drawn.get(label.seq) for label in labels if label.status in _WRITTEN}
    one = found.pop() if len(found) == 1 else None
    return row if one is None else row._replace(design=one.design, stratum=one.stratum, inclusion=one.inclusion)


def _row(pair: Pair, graded: Graded) -> LabelRow:
    ids = (pair.query_id, pair.doc_id)
    return LabelRow(*ids, pair.query, pair.text, graded.relevance, graded.state_name, pair.narrative)


def _noted(row: LabelRow, label: CurrentLabel, note: str | None) -> LabelRow:
    """The row with what a person noted with their label."""
    spans = evidence_in(row.text, label.extra.get(EVIDENCE))
    return row._replace(
        reason=label.extra.get("reason"),
        phase=label.phase,
        note=note,
        seconds=label.extra.get("active_seconds"),
        evidence=tuple(EvidenceSpan(*span, row.text[span.start : span.end]) for span in spans),
    )


def _answer(label: CurrentLabel, rationale: str | None, thoughts: str | None) -> JudgesAnswer | None:
    if label.relevance is None:
        return None
    # A model's thoughts, and notes of former versions, can contain half a surrogate pair, which UTF-8 cannot encode.
    details = {"rationale": rationale, "thoughts": thoughts and sendable(thoughts), "reading": label.reading}
    known = {name: value for name, value in details.items() if value is not None}
    return JudgesAnswer(label.sample, label.relevance, {**label.extra, **known})
