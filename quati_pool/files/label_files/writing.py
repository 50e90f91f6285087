"""Writes one labeler's labels in the usual exchange formats; the reader of each format reads them back.

- ``tsv``: query_id, doc_id, relevance, status (no texts of pairs), then what any label has: a person's reason and
  note, phase, design, stratum and inclusion, evidence as JSON, and a judge's further numbers (``_numbers``)
- ``csv``: the same, separated by commas; in both, ``cells.escaped`` keeps a note on one line
- ``jsonl``: one object per label, with all its fields; several answers are a list, ``samples``
- ``quati``: the layout of the annotations released with Quati, which has no query_ids
- ``doccano``: the export of a text classification project (JSONL), with ``text`` as in ``release.doccano``; evidence
  is in ``entities``, as in projects that also label spans, with its offsets in that text
- ``label-studio``: the JSON export of a project with choices named ``relevance`` and labels named ``evidence``

A label without a grade ("cannot judge") is written as an empty relevance, without a label in doccano, and as a
cancelled annotation in Label Studio.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from quati_pool.errors import QuatiPoolError
from quati_pool.files.formats import data_suffix
from quati_pool.files.label_files.cells import escaped
from quati_pool.files.label_files.grades import Grader
from quati_pool.files.label_files.quati import COLUMNS
from quati_pool.files.problems import RowError, quoted
from quati_pool.registry import nearest

EVIDENCE = "evidence"
"""The name of evidence as a label of spans, in doccano and Label Studio."""


class JudgesAnswer(NamedTuple):
    """One of a judge's answers: the number of its sample, its grade, and further fields as JSON: ``aspects``,
    ``expected_grade``, ``distribution``, ``off_scale``, ``rationale``, ``thoughts``, ``reading``."""

    sample: int
    relevance: int
    details: Mapping[str, Any]


class EvidenceSpan(NamedTuple):
    """Words of a passage that justify its grade: ``text`` is ``passage[start:end]``, in Unicode code points."""

    start: int
    end: int
    text: str


class LabelRow(NamedTuple):
    """A label to write, with its texts. ``relevance`` is None if ``status`` is not ``ok``; ``reason`` says why a pair
    could not be judged; ``seconds`` is the active time spent on it; ``answers`` are the judge's answers from which the
    grade was computed. ``phase`` is that of a person's label (blind, final, revealed); ``design`` names the design that
    gave the pair to people, ``stratum`` and ``inclusion`` (a probability) say how it was drawn there."""

    query_id: str
    doc_id: str
    query: str
    text: str
    relevance: int | None
    status: str = "ok"
    narrative: str | None = None
    reason: str | None = None
    note: str | None = None
    seconds: float | None = None
    answers: tuple[JudgesAnswer, ...] = ()
    phase: str | None = None
    design: str | None = None
    stratum: str | None = None
    inclusion: float | None = None
    evidence: tuple[EvidenceSpan, ...] = ()


class Written(NamedTuple):
    """The number of labels written, and the number of those with a grade."""

    labels: int
    graded: int


def write_labels(
    rows: Sequence[LabelRow], label_format: str, stream: BinaryIO, grades: Mapping[int, str], labeler: str
) -> Written:
    """Writes rows in the order given; ``grades`` is the scale, whose names some formats write instead of the grades.

    Raises QuatiPoolError for an unknown format, and for rows that the format cannot represent: in ``quati``, two
    query_ids with the same text, or an empty query.
    """
    if label_format not in _WRITERS:
        raise QuatiPoolError(f"there is no label format {label_format!r}; {nearest(label_format, WRITTEN_FORMATS)}")
    for line in _WRITERS[label_format](rows, grade_names(grades), labeler):
        stream.write(line.encode())
    return Written(len(rows), sum(row.relevance is not None for row in rows))


def grade_names(grades: Mapping[int, str]) -> dict[int, str]:
    """The text of each grade in a file: its name, or its number if the name would not be read back as this grade."""
    grader = Grader(grades)

    def read(name: str) -> int | None:
        try:
            return grader.grade(name)
        except RowError:
            return None

    return {grade: name if read(name) == grade else str(grade) for grade, name in grades.items()}


def _tsv(rows: Sequence[LabelRow], names: Mapping[int, str], labeler: str) -> Iterator[str]:
    for cells in _table(rows):
        yield "\t".join(cells) + "\n"


def _csv(rows: Sequence[LabelRow], names: Mapping[int, str], labeler: str) -> Iterator[str]:
    for cells in _table(rows):
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(cells)
        yield line.getvalue()


def _table(rows: Sequence[LabelRow]) -> Iterator[list[str]]:
    """The header and then the rows, with a column for each further value that any row has."""
    kept = [name for name, cell in _CELLS.items() if any(cell(row) for row in rows)]
    columns = sorted({column for row in rows for column in _numbers(row)})
    yield ["query_id", "doc_id", "relevance", "status", *kept, *("_".join(map(str, column)) for column in columns)]
    for row in rows:
        numbers = _numbers(row)
        more = (str(numbers.get(column, "")) for column in columns)
        yield [row.query_id, row.doc_id, _number(row), row.status, *(_CELLS[name](row) for name in kept), *more]


_CELLS: Mapping[str, Callable[[LabelRow], str]] = {
    "reason": lambda row: escaped(row.reason or ""),
    "note": lambda row: escaped(row.note or ""),
    "phase": lambda row: row.phase or "",
    "design": lambda row: row.design or "",
    "stratum": lambda row: escaped(row.stratum or ""),
    "inclusion": lambda row: "" if row.inclusion is None else str(row.inclusion),
    # JSON escapes tabs and line ends itself.
    "evidence": lambda row: _json(_spans(row), compact=True) if row.evidence else "",
}
"""The further cells of a row, empty for what it does not have."""


def _spans(row: LabelRow) -> list[dict[str, Any]]:
    return [span._asdict() for span in row.evidence]


def _numbers(row: LabelRow) -> dict[tuple[str | int, ...], float]:
    """The numbers of a judge's answers by column: for several answers their grades, ``sample_1``, ``sample_2`` …; for a
    single answer ``expected_grade``, ``probability_0`` …, ``off_scale`` and ``aspect_NAME``."""
    if len(row.answers) != 1:
        return {("sample", answer.sample): answer.relevance for answer in row.answers}
    details = row.answers[0].details
    numbers: dict[tuple[str | int, ...], float] = {
        **{("aspect", name): value for name, value in details.get("aspects", {}).items()},
        **{("probability", int(grade)): share for grade, share in details.get("distribution", {}).items()},
    }
    return numbers | {(name,): details[name] for name in ("expected_grade", "off_scale") if name in details}


def _jsonl(rows: Sequence[LabelRow], names: Mapping[int, str], labeler: str) -> Iterator[str]:
    for row in rows:
        known = {key: value for key, value in row._asdict().items() if value is not None or key == "relevance"}
        answers: Sequence[JudgesAnswer] = known.pop("answers")
        del known["evidence"]
        known |= {"evidence": _spans(row)} if row.evidence else {}
        if len(answers) == 1:
            known |= answers[0].details
        elif answers:
            known["samples"] = [{"sample": at, "relevance": grade, **details} for at, grade, details in answers]
        yield _json(known) + "\n"


# A Windows line end inside a cell would end the row on reading, so it is replaced by \n.
_WINDOWS = re.compile(r"\r+\n")
_QUOTED = re.compile(r'[\t\n\r"]')


def _quati(rows: Sequence[LabelRow], names: Mapping[int, str], labeler: str) -> Iterator[str]:
    yield "\t".join(["doccano_id", *COLUMNS]) + "\n"
    owners: dict[str, str] = {}
    for number, row in enumerate(rows, 1):
        if not row.query.strip():
            raise QuatiPoolError(
                f"query_id {quoted(row.query_id)} has no text, and this format holds no query_id; use jsonl or tsv"
            )
        owner = owners.setdefault(row.query, row.query_id)
        if owner != row.query_id:
            both = f"query_id {quoted(owner)} and {quoted(row.query_id)}"
            raise QuatiPoolError(f"{both} share one text, and this format holds no query_id; use jsonl or tsv")
        name = "" if row.relevance is None else names.get(row.relevance, str(row.relevance))
        cells = [str(number), row.query, row.text, row.doc_id, name, _number(row)]
        yield "\t".join(map(_cell, cells)) + "\n"


def _cell(text: str) -> str:
    text = _WINDOWS.sub("\n", text)
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


def _doccano(rows: Sequence[LabelRow], names: Mapping[int, str], labeler: str) -> Iterator[str]:
    for number, row in enumerate(rows, 1):
        record: dict[str, Any] = {
            "id": number,
            "text": "\n\n".join([row.query, *([row.narrative] if row.narrative else []), row.text]),
            "label": [] if row.relevance is None else [names.get(row.relevance, str(row.relevance))],
            "query_id": row.query_id,
            "doc_id": row.doc_id,
            "query": row.query,
            "passage": row.text,
            "Comments": [] if row.note is None else [row.note],
        }
        if row.evidence:
            start = len(record["text"]) - len(row.text)
            record["entities"] = [[start + span.start, start + span.end, EVIDENCE] for span in row.evidence]
        yield _json(record | _drawn(row)) + "\n"


def _label_studio(rows: Sequence[LabelRow], names: Mapping[int, str], labeler: str) -> Iterator[str]:
    before = "[\n"
    for number, row in enumerate(rows, 1):
        yield before + _json(_task(number, row, names, labeler))
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def _task(number: int, row: LabelRow, names: Mapping[int, str], labeler: str) -> dict[str, Any]:
    result = []
    if row.relevance is not None:
        choices = {"choices": [names.get(row.relevance, str(row.relevance))]}
        result.append({"from_name": "relevance", "to_name": "text", "type": "choices", "value": choices})
    for span in row.evidence:
        # Label Studio counts code points too: https://github.com/HumanSignal/label-studio-frontend/pull/308
        value = {**span._asdict(), "labels": [EVIDENCE]}
        result.append({"from_name": EVIDENCE, "to_name": "text", "type": "labels", "value": value})
    annotation: dict[str, Any] = {
        "id": number,
        # Label Studio identifies people by e-mail address; an unknown one counts as the importing user.
        "completed_by": {"email": labeler},
        "result": result,
        "was_cancelled": row.relevance is None,
    }
    if row.seconds is not None:
        annotation["lead_time"] = row.seconds
    data = {"query_id": row.query_id, "doc_id": row.doc_id, "query": row.query, "text": row.text, **_drawn(row)}
    if row.narrative:
        data["narrative"] = row.narrative
    return {"id": number, "data": data, "annotations": [annotation], "predictions": []}


def _drawn(row: LabelRow) -> dict[str, str | float]:
    """The phase, design, stratum and inclusion probability of a label, as far as it has them."""
    drawn = {"phase": row.phase, "design": row.design, "stratum": row.stratum, "inclusion": row.inclusion}
    return {name: value for name, value in drawn.items() if value is not None}


def _number(row: LabelRow) -> str:
    return "" if row.relevance is None else str(row.relevance)


def _json(value: Any, *, compact: bool = False) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":") if compact else None)


_WRITERS: dict[str, Callable[[Sequence[LabelRow], Mapping[int, str], str], Iterator[str]]] = {
    "tsv": _tsv,
    "csv": _csv,
    "jsonl": _jsonl,
    "quati": _quati,
    "doccano": _doccano,
    "label-studio": _label_studio,
}

WRITTEN_FORMATS = tuple(_WRITERS)

_SUFFIXES = {
    "tsv": ".tsv",
    "csv": ".csv",
    "jsonl": ".jsonl",
    "quati": ".tsv",
    "doccano": ".jsonl",
    "label-studio": ".json",
}

# The formats that a suffix may stand for, the usual one first.
_MEANINGS = {
    ".tsv": ("tsv", "quati"),
    ".csv": ("csv",),
    ".jsonl": ("jsonl", "doccano"),
    ".ndjson": ("jsonl", "doccano"),
    ".json": ("label-studio", "jsonl", "doccano"),
    ".qrels": (),
    ".parquet": (),
}


def file_name(labeler: str, label_format: str) -> str:
    """The default file name for a labeler's labels: ``ana.tsv``, ``ana.quati.tsv``."""
    suffix = _SUFFIXES[label_format]
    return f"{labeler}{suffix}" if suffix == f".{label_format}" else f"{labeler}.{label_format}{suffix}"


def format_of_name(path: Path, label_format: str | None = None) -> str:
    """The format to write to ``path``: ``label_format``, or else that of the suffix, or ``tsv`` for an unknown suffix.

    Raises QuatiPoolError for an unknown format, and if the suffix stands for a different format.
    """
    if label_format is not None and label_format not in _WRITERS:
        raise QuatiPoolError(f"there is no label format {label_format!r}; {nearest(label_format, WRITTEN_FORMATS)}")
    suffix = data_suffix(path)
    meant = _MEANINGS.get(suffix)
    if meant is None:
        return label_format or "tsv"
    if not meant:
        raise QuatiPoolError(
            f"{path.name}: labels are not written as {suffix}; name the file .tsv, .csv, .jsonl or .json"
            f"{', or run quati-pool export qrels' if suffix == '.qrels' else ''}"
        )
    if label_format is None:
        return meant[0]
    if label_format not in meant:
        raise QuatiPoolError(
            f"{path.name}: {suffix} is not the suffix of {label_format}; name the file {_SUFFIXES[label_format]}, or "
            "leave out --as"
        )
    return label_format
