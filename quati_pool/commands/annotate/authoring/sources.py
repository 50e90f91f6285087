"""The texts that people write from: read from the files of ``authoring.sources``, and added to the rounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from quati_pool.annotation.authoring.base import Design, Source
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import ConfigError, InputError
from quati_pool.files.corpus import expand_paths, read_parquet
from quati_pool.files.formats import format_of
from quati_pool.files.problems import quoted
from quati_pool.files.tables import Field, read_table
from quati_pool.project.config import PoolConfig
from quati_pool.project.config.authoring import AuthoringConfig
from quati_pool.project.workspace import Workspace
from quati_pool.store.authoring import Authoring
from quati_pool.store.authoring_records import Added, NewItem

_BLOCK = 2_000


def rounds_of(session: AnnotationSession) -> tuple[Design[Any], Authoring]:
    """The design of a session's rounds, and their store. Raises ConfigError without ``authoring:``."""
    if session.design is None or session.authoring is None:
        raise _without(session.config)
    return session.design, session.authoring


def design_of(config: PoolConfig) -> Design[Any]:
    """The design of a collection's rounds. Raises ConfigError without ``authoring:``."""
    return _settings(config).make_design(config.seed)


def read_sources(config: PoolConfig) -> Iterator[Source]:
    """The texts in the files of ``authoring.sources``, in order. Texts are as in the files; one of white space alone
    counts as missing.

    Raises InputError, with the line at fault, for a text without an id, an id that occurs twice, a text in no language,
    a null character, and columns that are missing: in JSONL, those that no row has.
    """
    settings = _settings(config)
    keep, columns = settings.sources.keep, settings.text_columns
    unseen = {*keep, *columns.values()}
    places: dict[str, tuple[Path, int]] = {}
    for path in expand_paths(config.folder, settings.sources.path, Workspace(config.folder).is_output):
        begun = len(places)
        if format_of(path) != "jsonl":
            unseen.clear()  # its reader checks the columns
        for line, (source_id, *values) in _rows(path, settings):
            if source_id in places:
                first_path, first_line = places[source_id]
                again = f"{settings.sources.id} {quoted(source_id)} occurs again, first at {first_path}:{first_line}"
                raise InputError(path, line, f"{again}; give each text its own id")
            places[source_id] = path, line
            if any("\0" in value for value in values):
                raise InputError(path, line, "holds a null character, which databases cannot hold; remove it")
            kept = dict(zip(keep, values, strict=False))
            texts = dict(zip(columns, values[len(keep) :], strict=True))
            texts = {language: text for language, text in texts.items() if text.strip()}
            if not texts:
                named = " or ".join(quoted(column) for column in columns.values())
                raise InputError(path, line, f"has no text in {named}; add it, or leave the row out")
            unseen -= {columns[language] for language in texts} | {name for name, value in kept.items() if value}
            yield Source(source_id, texts, kept)
        if len(places) == begun:
            raise InputError(path, None, "holds no texts; expected at least one")
    if unseen:
        problem = f"no row of {settings.sources.path} has a value in {quoted(min(unseen))}"
        raise InputError(config.path, None, f"authoring.sources: {problem}; check the name")


def open_rounds(session: AnnotationSession) -> Added:
    """Adds the texts that are new in the files to the rounds, and brings all items to what the design wants now.

    Nothing is added if a file is faulty. A text that is in the rounds with other words, or with other columns to keep,
    stays as it is there.
    """
    design, authoring = rounds_of(session)
    for _ in read_sources(session.config):
        pass
    sources = read_sources(session.config)
    added = Added(0, 0, 0)
    while block := list(islice(sources, _BLOCK)):
        some = authoring.add(_items(design, block))
        added = Added(*(one + other for one, other in zip(added, some, strict=True)))
    authoring.reconcile_all()
    return added


def _items(design: Design[Any], sources: Sequence[Source]) -> list[NewItem]:
    made = [design.first(source) for source in sources]
    return [NewItem(one.kind, one.source_id, one.content, design.place(one.source_id)) for one in made]


def _settings(config: PoolConfig) -> AuthoringConfig:
    if config.authoring is None:
        raise _without(config)
    return config.authoring


def _without(config: PoolConfig) -> ConfigError:
    example = "authoring: {design: pira, languages: [pt, en], sources: {path: texts.csv}}"
    return ConfigError(f"{config.path}: no questions are written in rounds here; add, such as  {example}")


def _rows(path: Path, settings: AuthoringConfig) -> Iterator[tuple[int, Sequence[str]]]:
    """The line of each row, with its id, the columns to keep, and its texts in the order of the languages."""
    found = format_of(path)
    if found == "documents" or found == "topics":  # mypy narrows by this form only
        raise InputError(path, None, "is in a TREC format; expected texts as .jsonl, .tsv, .csv or .parquet")
    named = [*settings.sources.keep, *settings.text_columns.values()]
    # A row of JSON or Parquet may lack a value; the header of the others must have every column.
    required = found in ("csv", "tsv")
    # Called doc_id here so that the readers check it as an id.
    fields = [Field("doc_id", settings.sources.id), *(Field(name, name, required) for name in named)]
    if found == "parquet":
        return read_parquet(path, fields)
    return read_table(path, found, fields)
