"""Reads and checks a collection's queries, corpora and extra pairs; keeps each corpus in a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from quati_pool.corpus.store import CorpusStore, DuplicateDocIdError
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.files.artifacts import Counts, digest
from quati_pool.files.lines import read_lines
from quati_pool.files.qrels import read_judgements
from quati_pool.files.queries import DRAFTED_BY, query_columns, read_queries, read_query_column
from quati_pool.pooling.candidates import Candidates
from quati_pool.pooling.pool import Pool
from quati_pool.project.artifact_builder import ArtifactBuilder
from quati_pool.project.config import PoolConfig, RetrieverSystem
from quati_pool.project.passages import Passages, passages_of
from quati_pool.project.workspace import Workspace
from quati_pool.records import Ids, Query
from quati_pool.registry import nearest
from quati_pool.retrieval.run_file import RunFileParameters
from quati_pool.text.pluralize import counted


@dataclass(frozen=True)
class Corpus:
    """A corpus of the collection, its store, and the fingerprint of the files and settings behind it."""

    name: str
    fingerprint: str
    store: CorpusStore


@dataclass(frozen=True)
class Queries:
    """The collection's queries in file order, with their vocabulary and fingerprint."""

    queries: list[Query]
    ids: Ids
    fingerprint: str


def load_queries(config: PoolConfig) -> Queries:
    """The queries that ``pool.yaml`` asks for: all, those listed, those of some qrels, or a seeded sample.

    Without a file of queries they are those of the qrels or the run files, with empty texts.

    A sample of n holds the queries with the n lowest hashes of seed and query_id, in file order, so
    a larger sample of the same seed contains a smaller one.
    """
    settings = config.queries
    queries, source = all_queries(config), Path(settings.source).name
    if settings.only is not None:
        judged = set(judged_queries(config.folder / settings.only))
        queries = [query for query in queries if query.query_id in judged]
        if not queries:
            raise InputError(config.path, None, f"queries.only: {source} has no query of {settings.only}; check both")
    if settings.ids is not None:
        known = {query.query_id for query in queries}
        for query_id in settings.ids:
            if query_id not in known:
                raise InputError(
                    config.path, None, f"queries.ids: {source} has no query {query_id!r}; {nearest(query_id, known)}"
                )
        queries = [query for query in queries if query.query_id in set(settings.ids)]
    if settings.sample is not None:
        if settings.sample > len(queries):
            raise InputError(config.path, None, f"queries.sample: {sample_too_large(settings.sample, len(queries))}")
        ordered = sorted(queries, key=lambda query: _sampling_key(config.seed, query.query_id))
        chosen = {query.query_id for query in ordered[: settings.sample]}
        queries = [query for query in queries if query.query_id in chosen]
    fingerprint = digest([[query.query_id, query.query] for query in queries])
    return Queries(queries, Ids([query.query_id for query in queries]), fingerprint)


def all_queries(config: PoolConfig) -> list[Query]:
    """All queries to choose from: those of the file of queries, else of the qrels of ``queries.only``, else of the run
    files, in the order of these files."""
    settings = config.queries
    if settings.path is not None:
        path = config.folder / settings.path
        if settings.data_set is not None:
            if not path.exists():
                problem = f"queries: {settings.source} was not read yet"
                raise InputError(config.path, None, f"{problem}; run: quati-pool build -c {config.path}")
            return read_queries(path)
        return read_queries(path, settings.query_id, settings.query, settings.narrative, settings.cluster_id)
    if settings.only is not None:
        return [Query(query_id, "") for query_id in judged_queries(config.folder / settings.only)]
    found: dict[str, None] = {}
    given = run_files(config).values()
    by_file = Workspace(config.folder).run_queries(config.folder / parameters.path for parameters in given)
    for parameters in given:
        by_run = by_file[config.folder / parameters.path]
        chosen = by_run if parameters.run_tag is None else {parameters.run_tag: by_run.get(parameters.run_tag, [])}
        for query_ids in chosen.values():
            found |= dict.fromkeys(query_ids)
    return [Query(query_id, "") for query_id in found]


def judged_queries(path: Path) -> list[str]:
    """The query_ids in a file of qrels, in the order of the file."""
    query_ids: list[str] = read_judgements(path).queries.values.to_pylist()
    return query_ids


def run_files(config: PoolConfig) -> dict[str, RunFileParameters]:
    """The file of each system that is a run made elsewhere, by run tag."""
    return {
        run_tag: system.parameters
        for run_tag, system in config.systems.items()
        if isinstance(system, RetrieverSystem) and isinstance(system.parameters, RunFileParameters)
    }


def query_texts(config: PoolConfig) -> dict[str, str]:
    """The text of each query; empty without a file of queries."""
    return {} if config.query_file is None else {query.query_id: query.query for query in load_queries(config).queries}


def query_drafters(config: PoolConfig) -> dict[str, str]:
    """The programs that drafted queries, by query_id: the values of the column ``drafted_by`` of the queries' file, of
    all queries that have one."""
    path = config.query_file
    if path is None or DRAFTED_BY not in query_columns(path, _id_column(config)):
        return {}
    found = read_query_column(path, DRAFTED_BY, _id_column(config))
    return {query_id: drafter for query_id, value in found.items() if (drafter := " ".join(value.split()))}


def strata_columns(config: PoolConfig) -> list[str]:
    """The columns of the queries' file that can form strata of queries: all but ids, texts and narratives."""
    settings, path = config.queries, config.query_file
    if path is None:
        return []
    query = ["query"] if settings.query is None else settings.query
    texts = {_id_column(config), settings.narrative, *([query] if isinstance(query, str) else query)}
    return [column for column in query_columns(path, _id_column(config)) if column not in texts]


def query_strata(config: PoolConfig, column: str) -> dict[str, str]:
    """The value of each query in a column of the queries' file, by query_id; an empty text where it has none.

    Raises ConfigError where there is no file of queries, InputError where it has no such column.
    """
    path = config.query_file
    if path is None:
        raise ConfigError(
            f"{config.path}: no file of queries has a column {column!r}; name one under queries:, or do without strata"
        )
    if column not in query_columns(path, _id_column(config)):
        there = ", ".join(strata_columns(config))
        remedy = f"its columns are {there}" if there else "it has no columns but ids and texts; add it, under a header"
        raise InputError(path, None, f"has no column {column!r} to form strata; {remedy}")
    return read_query_column(path, column, _id_column(config))


def _id_column(config: PoolConfig) -> str:
    # The file of a data set is written by build, with columns of its own.
    return "query_id" if config.queries.data_set is not None else config.queries.query_id


def sample_too_large(sample: int, queries: int) -> str:
    """What is wrong with a ``sample`` of more queries than there are."""
    return f"{sample}, but only {counted(queries, 'query', 'queries')}; ask for fewer"


def _sampling_key(seed: int, query_id: str) -> tuple[int, str]:
    return xxhash.xxh3_64_intdigest(f"{seed}\t{query_id}".encode()), query_id


def corpus_key(config: PoolConfig, name: str, workspace: Workspace) -> dict[str, Any]:
    """The key of a corpus's store; its digest is the corpus's fingerprint."""
    return passages_of(config.folder, config.corpora[name], workspace).key()


def texts_key(config: PoolConfig, workspace: Workspace) -> dict[str, Any] | None:
    """The key of the files of ``texts:``; None where there are none."""
    return None if config.texts is None else passages_of(config.folder, config.texts, workspace).key()


def open_corpus(config: PoolConfig, name: str, builder: ArtifactBuilder, force: bool) -> Corpus:
    """Opens a corpus of the collection; writes its store first if that is missing or out of date."""
    passages = passages_of(config.folder, config.corpora[name], builder.workspace)
    key = passages.key()
    fingerprint = digest(key)
    folder = builder.workspace.corpus(fingerprint)
    label = name if name == "corpus" else f"corpus {name}"
    builder.ensure(label, folder, key, partial(_write_store, passages, label, builder), folder=True, force=force)
    return Corpus(name, fingerprint, CorpusStore(folder))


def open_texts(
    config: PoolConfig, pool: Pool | Candidates, corpora: Sequence[Corpus], builder: ArtifactBuilder, force: bool
) -> Corpus | None:
    """The passages in the files of ``texts:`` of those documents of a pool, or candidates for one, that no corpus has,
    as a corpus; None where there are no such files or documents. The files are scanned once for one pool, and no other
    passage is kept.

    Raises InputError where the files have none of the passages.
    """
    wanted = [] if config.texts is None else _unknown_docs(pool, corpora)
    if config.texts is None or not wanted:
        return None
    passages = passages_of(config.folder, config.texts, builder.workspace)
    key = {"texts": passages.key(), "wanted": digest(sorted(wanted))}
    fingerprint = digest(key)
    folder = builder.workspace.corpus(fingerprint)
    write = partial(_write_store, passages, "texts", builder, wanted=frozenset(wanted))
    builder.ensure("texts", folder, key, write, folder=True, force=force)
    return Corpus("texts", fingerprint, CorpusStore(folder))


def _unknown_docs(pool: Pool | Candidates, corpora: Sequence[Corpus]) -> list[str]:
    """The doc_ids in the pool that no corpus has."""
    doc_ids = pool.docs.decode(np.unique(pool.doc))
    for corpus in corpora:
        doc_ids = doc_ids.filter(pa.array(corpus.store.ids.encode(doc_ids) < 0))
    unknown: list[str] = doc_ids.to_pylist()
    return unknown


def _write_store(
    passages: Passages, label: str, builder: ArtifactBuilder, folder: Path, wanted: frozenset[str] | None = None
) -> Counts:
    """Writes all passages, or the ``wanted`` ones, into a store."""

    def batches() -> Iterator[tuple[list[str], list[str]]]:
        done = 0
        for doc_ids, texts in passages.batches():
            if wanted is None:
                yield doc_ids, texts
            else:
                kept = [row for row in zip(doc_ids, texts, strict=True) if row[0] in wanted]
                yield [doc_id for doc_id, _ in kept], [text for _, text in kept]
            done += len(doc_ids)
            builder.listener.progress(f"{label}: reading", done, 0, unit="passages")

    try:
        count = CorpusStore.write(folder, batches())
    except DuplicateDocIdError as error:
        raise passages.repeated(error) from None
    if count == 0:
        some = "at least one" if wanted is None else f"some of the {len(wanted):,} that no corpus has; check doc_id"
        raise passages.without(some)
    return {"passages": count}


def read_extra(config: PoolConfig) -> dict[tuple[str, str], int]:
    """The pairs (query_id, doc_id) of the file ``pool.extra``, each with its line; empty where none is configured."""
    if config.pool.extra is None:
        return {}
    path = config.folder / config.pool.extra
    pairs: dict[tuple[str, str], int] = {}
    for line, text in read_lines(path):
        if not text.strip() or text.startswith("#"):
            continue
        columns = text.split("\t")
        if len(columns) != 2:
            raise InputError(path, line, f"has {len(columns)} columns; expected query_id <tab> doc_id")
        pairs.setdefault((columns[0], columns[1]), line)
    return pairs


def load_extra(config: PoolConfig, queries: Queries, corpora: list[Corpus]) -> list[tuple[str, str]]:
    """The pairs of ``pool.extra``; raises InputError for one whose query or, if there is a corpus and nothing else has
    texts, whose passage is not in the collection."""
    pairs = read_extra(config)
    if not pairs:
        return []
    path = config.folder / str(config.pool.extra)
    known = queries.ids.encode([query_id for query_id, _ in pairs]) >= 0
    doc_ids = [doc_id for _, doc_id in pairs]
    found = [corpus.store.ids.encode(doc_ids) >= 0 for corpus in corpora]
    for row, ((query_id, doc_id), line) in enumerate(pairs.items()):
        if not known[row]:
            raise InputError(path, line, f"there is no query {query_id!r} in the collection; drop the pair")
        if found and config.texts is None and not any(column[row] for column in found):
            raise InputError(path, line, f"there is no passage {doc_id!r} in the corpus; drop the pair")
    return list(pairs)


def passage_texts(doc_ids: Sequence[str], corpora: Sequence[Corpus]) -> dict[str, str]:
    """The text of each of ``doc_ids`` that is in a corpus.

    Raises QuatiPoolError where two corpora have different texts under one id.
    """
    texts: dict[str, str] = {}
    corpus_of: dict[str, str] = {}
    for corpus in corpora:
        ordinals = corpus.store.ids.encode(doc_ids)
        known = ordinals >= 0
        held = [doc_id for doc_id, here in zip(doc_ids, known, strict=True) if here]
        for doc_id, text in zip(held, corpus.store.texts(ordinals[known]), strict=True):
            if texts.setdefault(doc_id, text) != text:
                raise QuatiPoolError(
                    f"doc_id {doc_id!r} has one text in corpus {corpus_of[doc_id]} and another in corpus "
                    f"{corpus.name}; a pool needs one text per doc_id: rename it in one of them"
                )
            corpus_of.setdefault(doc_id, corpus.name)
    return texts
