"""Exports accepted questions to a file of queries: a new file, or the rows that an existing one lacks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quati_pool.commands.annotate.drafter_names import drafter_names
from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files.artifacts import clear_partials, digest, file_digest, locked_output, write_file
from quati_pool.files.formats import data_suffix
from quati_pool.files.lines import output, read_bytes
from quati_pool.files.problems import quoted
from quati_pool.files.queries import DRAFTED_BY, read_queries
from quati_pool.project.config import PoolConfig, QueriesConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.records import Query
from quati_pool.store.database import Store
from quati_pool.store.questions import Questions
from quati_pool.store.records import Question, QuestionEvent

FORMS = ("tsv", "jsonl")

_PLAIN = ("query_id", "query")
# The fields of a question in JSONL, and in a table if its header names them. Not doc_id: with query_id and doc_id
# columns, the file could be mistaken for labels or a run.
_COLUMNS = ("query_id", "query", "narrative", "theme", "scope", "type", "source_doc_id")


@dataclass(frozen=True)
class ExportedQuestions:
    """A file with ``queries`` queries, of which ``added`` are new; ``narratives`` counts narratives, and ``drafters``
    names of programs that drafted a question, that are in the store but not in the file."""

    path: Path
    queries: int
    added: int
    narratives: int
    drafters: int = 0


def accepted(questions: Sequence[Question]) -> list[QuestionEvent]:
    """The last events of the accepted questions, in order of query_id."""
    found = [question.last for question in questions if question.last.action == "accepted"]
    return sorted(found, key=lambda question: (len(str(question.query_id)), str(question.query_id)))


def export_questions(
    config_path: Path, path: Path, *, merge: bool = False, database: str | None = None, listener: Listener | None = None
) -> ExportedQuestions:
    """Writes the accepted questions to ``path``, as TSV or JSONL by its suffix, optionally with ``.gz``.

    ``merge`` keeps every row of an existing file and appends the questions that it lacks. Raises QuatiPoolError, and
    writes nothing, if no question is accepted, if the file has other queries and ``merge`` is False, or if it has
    another text under one of the query_ids.
    """
    config = load_config(config_path, writing=True)
    form = _form(path)
    with Store.open(database or config.labels.url, config.folder) as store:
        questions = accepted(Questions(store, config.name).current())
        names = drafter_names(store, {one.drafted_by for one in questions if one.drafted_by is not None})
    if not questions:
        remedy = "write and accept some: run quati-pool annotate"
        if config.authoring is not None:
            remedy = "those written in rounds are released: run quati-pool questions release"
        raise QuatiPoolError(f"{config.name}: no question is accepted yet; {remedy}")
    with locked_output(path, (listener or Listener()).say):
        clear_partials(path)
        there = _there(config, path)
        texts = {query.query_id: query.query for query in there}
        if not merge:
            _refuse_loss(path, texts, questions)
        new = _lacking(path, texts, questions)
        columns: Sequence[str] = _PLAIN if form == "tsv" else (*_COLUMNS, DRAFTED_BY)
        if merge and there:
            columns = _table_columns(config, path) if form == "tsv" else columns
            data = _appended(config, path, form, new, columns, names)
        else:
            data = as_bytes(questions, form, names)

        def fill(partial: Path) -> dict[str, int]:
            with output(partial) as stream:
                stream.write(data)
            return {"queries": len(questions) + len(texts.keys() - {question.query_id for question in questions})}

        key = {"collection": config.name, "questions": digest([[one.query_id, one.seq] for one in questions])}
        counts = write_file(path, key, {"collection": config.name, "config": file_digest(config.path)}, fill)
    narratives, drafters = (
        sum(getattr(one, name) is not None for one in new) if name not in columns else 0
        for name in ("narrative", DRAFTED_BY)
    )
    return ExportedQuestions(path, counts["queries"], len(new), narratives, drafters)


def as_bytes(questions: Sequence[QuestionEvent], form: str, drafters: Mapping[str, str] | None = None) -> bytes:
    """The questions as rows of query_id <tab> query, or as JSON lines with all fields of a question; ``drafters`` are
    the names, by version, of the programs that drafted some of them, which are not given without."""
    return "".join(_row(question, form, _PLAIN, drafters=drafters) for question in questions).encode()


def queries_there(config: PoolConfig) -> list[Query]:
    """All queries in the collection's file, including those that pool.yaml does not select; empty if there is no
    file yet. Raises InputError if it cannot be read."""
    return [] if config.queries.path is None else _there(config, config.folder / config.queries.path)


def _there(config: PoolConfig, path: Path) -> list[Query]:
    if not path.exists() or (path.is_file() and not path.stat().st_size):
        return []
    settings = _settings(config, path)
    return read_queries(path, settings.query_id, settings.query, settings.narrative, settings.cluster_id)


def _settings(config: PoolConfig, path: Path) -> QueriesConfig:
    """The column names of a file: pool.yaml's for the collection's own file, the default ones for others."""
    own = config.queries.path
    same = own is not None and path.resolve() == (config.folder / own).resolve()
    return config.queries if same else QueriesConfig(path=str(path))


def _form(path: Path) -> str:
    if not path.name or path.is_dir():
        raise QuatiPoolError(f"{path} is a folder; name a file with -o")
    form = data_suffix(path).removeprefix(".")
    if form not in FORMS:
        raise QuatiPoolError(f"{path.name}: files of questions must be .tsv or .jsonl (.gz too); rename the file")
    return form


def _refuse_loss(path: Path, texts: dict[str, str], questions: Sequence[QuestionEvent]) -> None:
    ours = {question.query_id for question in questions}
    others = [query_id for query_id in texts if query_id not in ours]
    if others:
        raise QuatiPoolError(
            f"{path} holds {len(others):,} queries that are not among the accepted questions, such as "
            f"{quoted(others[0])}; keep them with --merge, or name another file"
        )


def _lacking(path: Path, texts: dict[str, str], questions: Sequence[QuestionEvent]) -> list[QuestionEvent]:
    """The questions that a file does not contain yet.

    Raises QuatiPoolError if it has another text under the same id, because labels may refer to either.
    """
    for question in questions:
        text = texts.get(str(question.query_id))
        if text is not None and text != question.query:
            raise QuatiPoolError(
                f"{path} has another text under query_id {quoted(str(question.query_id))}: {quoted(text)}; "
                "give that one another id, or name another file"
            )
    return [question for question in questions if question.query_id not in texts]


def _appended(
    config: PoolConfig,
    path: Path,
    form: str,
    new: Sequence[QuestionEvent],
    columns: Sequence[str],
    drafters: Mapping[str, str],
) -> bytes:
    """The bytes of the file followed by a row for each new question; ``columns`` are those of a table."""
    data = read_bytes(path)
    if data and not data.endswith(b"\n"):
        data += b"\n"
    named = _named(config, path)
    return data + "".join(_row(question, form, columns, named, drafters) for question in new).encode()


def _table_columns(config: PoolConfig, path: Path) -> Sequence[str]:
    """The field of a question in each column of a table; empty where a question has none."""
    named = _named(config, path)
    first = next(line for line in read_bytes(path).decode().replace("\r\n", "\n").split("\n") if line).split("\t")
    if not {named["query_id"], named["query"]} <= set(first):
        return _PLAIN
    usual = {name: name for name in (*_COLUMNS, DRAFTED_BY)}
    fields = {name: field for field, name in {**usual, **named}.items()}
    return [fields.get(name, "") for name in first]


def _named(config: PoolConfig, path: Path) -> dict[str, str]:
    """What the columns of the file are called that pool.yaml names."""
    settings = _settings(config, path)
    if isinstance(settings.query, list):
        raise InputError(path, None, "joins several fields into a query; name another file")
    return {"query_id": settings.query_id, "query": settings.query or "query", "narrative": settings.narrative}


def _row(
    question: QuestionEvent,
    form: str,
    columns: Sequence[str],
    named: Mapping[str, str] | None = None,
    drafters: Mapping[str, str] | None = None,
) -> str:
    values = {name: getattr(question, name.removeprefix("source_")) for name in _COLUMNS}
    if question.drafted_by is not None and drafters is not None:
        values[DRAFTED_BY] = drafters[question.drafted_by]
    if form == "jsonl":
        record = {(named or {}).get(name, name): value for name, value in values.items()}
        return json.dumps(record, ensure_ascii=False) + "\n"
    # A narrative may have several lines; a table row cannot.
    return "\t".join(" ".join((values.get(name) or "").split()) for name in columns) + "\n"
