"""The texts or clusters that people write from: read from what ``authoring.sources`` names, and added to the rounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from quati_pool.annotation.authoring.base import Design, Made, Source
from quati_pool.annotation.authoring.romqa import shown_ids
from quati_pool.commands.annotate.authoring.cluster_folder import read_clusters, read_names
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
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


class Opened(NamedTuple):
    """What opening the rounds added: of sources, and of the items that sources hold, such as the queries of
    clusters."""

    sources: Added
    inner: Added


def read_sources(config: PoolConfig) -> Iterator[Source]:
    """The texts in the files of ``authoring.sources``, or the clusters in its folders, in order. Texts are as in the
    files; one of white space alone counts as missing.

    Raises InputError, with the line at fault, for a text without an id, an id that occurs twice, a text in no language,
    a null character, and columns that are missing: in JSONL, those that no row has. Raises QuatiPoolError as
    ``read_clusters`` does, and for a cluster that is in two folders.
    """
    settings = _settings(config)
    return _clusters(config, settings) if settings.component.cls.sources == "clusters" else _texts(config, settings)


def _clusters(config: PoolConfig, settings: AuthoringConfig) -> Iterator[Source]:
    folders: dict[str, Path] = {}
    for path in settings.source_paths:
        folder = config.folder / path
        names = read_names(folder, set().union(*map(shown_ids, read_clusters(folder))))
        for cluster in read_clusters(folder):
            cluster_id = cluster["cluster_id"]
            if cluster_id in folders:
                raise QuatiPoolError(
                    f"{folder}: the cluster {cluster_id} is in {folders[cluster_id]} too; name each draw once in "
                    "authoring: sources: path:"
                )
            folders[cluster_id] = folder
            wanted = shown_ids(cluster) & names.keys()
            yield Source(cluster_id, cluster=cluster, names={identity: names[identity] for identity in wanted})


def repeated_constraints(config: PoolConfig) -> int:
    """How many constraints are in clusters of several folders, so that splits by cluster may share them. Those of one
    folder are in one cluster each."""
    found: Counter[tuple[str, str, str]] = Counter()
    paths = _settings(config).source_paths
    for path in paths if len(paths) > 1 else ():
        found.update(
            {
                (one["entity"], one["property"], one["side"])
                for cluster in read_clusters(config.folder / path)
                for one in cluster["constraints"]
            }
        )
    return sum(count > 1 for count in found.values())


def _texts(config: PoolConfig, settings: AuthoringConfig) -> Iterator[Source]:
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


def open_rounds(session: AnnotationSession) -> Opened:
    """Adds the sources that are new in the files to the rounds, with what they hold, and brings all items to what the
    design wants now.

    Nothing is added if a file is faulty. What is in the rounds with another content, such as a text with other words
    or other columns to keep, stays as it is there.
    """
    design, authoring = rounds_of(session)
    for _ in read_sources(session.config):
        pass
    # Sources, such as clusters with all their candidates, are larger than the items that they become.
    made = ((design.first(source), design.inner(source)) for source in read_sources(session.config))
    found = Opened(_NONE, _NONE)
    known: dict[str, int] = {}
    while block := list(islice(made, _BLOCK)):
        added = authoring.add([_item(design, one, one) for one, _ in block])
        inner = _NONE
        if any(held for _, held in block):
            if added.new or not known:
                kinds = {one.kind for one, _ in block}
                known = {item.source_id: item.item_id for kind in kinds for item in authoring.items(kind)}
            items = [_item(design, one, source, known[source.source_id]) for source, held in block for one in held]
            inner = authoring.add(items)
        found = Opened(_sum(found.sources, added), _sum(found.inner, inner))
    authoring.reconcile_all()
    return found


_NONE = Added(0, 0, 0)


def _sum(one: Added, other: Added) -> Added:
    return Added(*map(sum, zip(one, other, strict=True)))


def _item(design: Design[Any], made: Made, source: Made, parent_id: int | None = None) -> NewItem:
    """An item at its source's place in the order of work: what one source holds is worked on together."""
    return NewItem(made.kind, made.source_id, made.content, design.place(source.source_id), parent_id)


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
