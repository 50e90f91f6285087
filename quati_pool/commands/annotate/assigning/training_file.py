"""``quati-pool assign --training`` and ``--gold``: pairs with a known grade, which people grade first and learn from,
or which come unannounced among the others and show how well they grade."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import InputError, QuatiPoolError, TranslatableText, message_of
from quati_pool.files.formats import data_suffix
from quati_pool.files.label_files.grades import Grader
from quati_pool.files.label_files.records import read_records
from quati_pool.files.problems import RowError, check_id, quoted
from quati_pool.files.tables import Field, read_table
from quati_pool.project.events import Listener
from quati_pool.store.listing import slots as all_slots

_FIELDS = ("query_id", "doc_id", "relevance", "explanation")


@dataclass(frozen=True)
class TrainingReport:
    """Counts of pairs: ``pairs`` in the file, of which ``added`` are new or changed; ``total`` training pairs (or, with
    ``gold``, gold pairs) afterwards; ``assigned`` pairs of the file that also have slots."""

    pairs: int
    added: int
    total: int
    assigned: int = 0
    gold: bool = False


def add_training(
    config_path: Path,
    path: Path,
    *,
    gold: bool = False,
    by: str = "assign",
    dry_run: bool = False,
    database: str | None = None,
    listener: Listener | None = None,
) -> TrainingReport:
    """``add_pairs`` in the workspace of a pool.yaml."""
    say = (listener or Listener()).say
    with AnnotationSession.open(config_path, database, say) as session:
        return add_pairs(session, path, gold=gold, by=by, dry_run=dry_run, say=say)


def add_pairs(
    session: AnnotationSession,
    path: Path,
    *,
    gold: bool,
    by: str,
    dry_run: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> TrainingReport:
    """Adds a file's pairs (TSV, CSV or JSON lines: query_id, doc_id, relevance, explanation) to the training, or to the
    gold pairs, which need no explanation. A pair that is there already gets the file's grade and explanation, and is of
    this kind then.

    Raises InputError, and adds nothing, if a pair is not in the pool, occurs twice, has a grade that is not on the
    scale, or has no explanation, and for gold pairs where the others reveal a judge's grade.
    """
    if gold and session.config.annotation.reveal:
        text = (
            "people would know gold pairs by what annotation.reveal shows after every other pair; remove it from "
            "pool.yaml, or add the pairs with --training"
        )
        raise QuatiPoolError(TranslatableText(text, "gold_known"))
    with session.store.lock(f"{session.config.name} assign", say):
        given: dict[tuple[str, str], tuple[int, str]] = {}
        grader = Grader(session.config.grades)
        for line, query_id, doc_id, relevance, explanation in _rows(path, gold):
            pair = (query_id, doc_id)
            try:
                grade = grader.grade(relevance)
            except RowError as fault:
                raise InputError(path, line, message_of(fault)) from None
            if grade is None or grade not in session.config.grades:
                raise InputError(path, line, _off_scale(grade, sorted(session.config.grades)))
            if not gold and not explanation.strip():
                text = "the explanation is empty; say why the pair has its grade"
                raise InputError(path, line, TranslatableText(text, "no_explanation"))
            shown = f"{quoted(query_id)} {quoted(doc_id)}"
            if pair not in session.pool_view:
                text = f"{shown} is not in the pool; take a pair that is"
                raise InputError(path, line, TranslatableText(text, "not_in_pool", pair=shown))
            if pair in given:
                text = f"{shown} occurs twice; keep one"
                raise InputError(path, line, TranslatableText(text, "pair_twice", pair=shown))
            given[pair] = (grade, explanation)
        if not given:
            text = f"holds no pairs; expected rows of {', '.join(_FIELDS)}"
            raise InputError(path, None, TranslatableText(text, "no_pairs"))
        known = session.training.all()
        there = {(one.query_id, one.doc_id): (one.relevance, one.explanation) for one in known if one.gold == gold}
        new = {pair: values for pair, values in given.items() if there.get(pair) != values}
        if not dry_run:
            for (query_id, doc_id), (grade, explanation) in new.items():
                session.training.add(query_id, doc_id, grade, explanation, by, gold=gold)
        slots = {(slot.query_id, slot.doc_id) for slot in all_slots(session.store, session.config.name)}
        total = len(there.keys() | given.keys())
        return TrainingReport(len(given), len(new), total, len(given.keys() & slots), gold)


def _off_scale(grade: int | None, grades: Sequence[int]) -> TranslatableText:
    scale = ", ".join(map(str, grades))
    if grade is None:
        return TranslatableText(f"there is no grade; give one of {scale}", "no_grade", scale=scale)
    text = f"the grade {grade} is not on the scale; give one of {scale}"
    return TranslatableText(text, "off_scale", grade=grade, scale=scale)


def _rows(path: Path, gold: bool) -> Iterator[tuple[int, str, str, object, str]]:
    suffix = data_suffix(path)
    required = _FIELDS[:-1] if gold else _FIELDS
    if suffix in (".jsonl", ".ndjson", ".json"):
        for line, record in read_records(path):
            missing = [name for name in required if name not in record]
            if missing:
                raise InputError(path, line, f"no field {missing[0]!r}; expected {', '.join(required)}")
            query_id, doc_id, relevance, explanation = (record.get(name, "") for name in _FIELDS)
            for name, value in (("query_id", query_id), ("doc_id", doc_id), ("explanation", explanation)):
                if not isinstance(value, str):
                    raise InputError(path, line, f"{name} is not a string; write it in quotes")
                try:
                    value.encode()
                    if name != "explanation":
                        check_id(name, value)
                except UnicodeEncodeError:
                    raise InputError(path, line, f"{name} holds half a surrogate pair; write it whole") from None
                except RowError as fault:
                    raise InputError(path, line, str(fault)) from None
            yield line, str(query_id), str(doc_id), relevance, str(explanation)
    elif suffix in (".tsv", ".csv"):
        fields = [Field(name, name, name in required) for name in _FIELDS]
        for line, (query_id, doc_id, relevance, explanation) in read_table(
            path, "csv" if suffix == ".csv" else "tsv", fields, headerless=suffix == ".tsv"
        ):
            yield line, query_id, doc_id, relevance, explanation
    else:
        kind = "gold" if gold else "training"
        raise QuatiPoolError(f"{path}: {kind} files must be .tsv, .csv or .jsonl; rename the file")
