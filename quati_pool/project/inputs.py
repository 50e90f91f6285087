"""Reads and checks a collection's queries, corpora and extra pairs; keeps each corpus in a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xxhash

from quati_pool.corpus.store import CorpusStore, DuplicateDocIdError
from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files.artifacts import Counts, digest
from quati_pool.files.corpus import expand_paths, locate_doc_ids, read_passages
from quati_pool.files.formats import data_suffix
from quati_pool.files.lines import read_lines
from quati_pool.files.queries import read_queries
from quati_pool.project.artifact_builder import ArtifactBuilder
from quati_pool.project.config import CorpusConfig, PoolConfig
from quati_pool.project.workspace import Workspace
from quati_pool.records import Ids, Query
from quati_pool.registry import nearest
from quati_pool.text.pluralize import counted

# Incremented whenever the same files would lead to a different store.
_STORE_FORMAT = 1


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
    """The queries that ``pool.yaml`` asks for: all, those listed, or a seeded sample.

    A sample of n holds the queries with the n lowest hashes of seed and query_id, in file order, so
    a larger sample of the same seed contains a smaller one.
    """
    settings = config.queries
    path = config.folder / settings.path
    queries = read_queries(path, settings.query_id, settings.query, settings.narrative, settings.cluster_id)
    if settings.ids is not None:
        known = {query.query_id for query in queries}
        for query_id in settings.ids:
            if query_id not in known:
                raise InputError(
                    config.path, None, f"queries.ids: {path.name} has no query {query_id!r}; {nearest(query_id, known)}"
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


def sample_too_large(sample: int, queries: int) -> str:
    """What is wrong with a ``sample`` of more queries than there are."""
    return f"{sample}, but only {counted(queries, 'query', 'queries')}; ask for fewer"


def _sampling_key(seed: int, query_id: str) -> tuple[int, str]:
    return xxhash.xxh3_64_intdigest(f"{seed}\t{query_id}".encode()), query_id


def corpus_key(config: PoolConfig, name: str, workspace: Workspace) -> dict[str, Any]:
    """The key of a corpus's store; its digest is the corpus's fingerprint."""
    settings = config.corpora[name]
    paths = expand_paths(config.folder, settings.path, workspace.is_output)
    return {
        # Only the suffix matters, as it selects the format; the rest of a file's name changes nothing.
        "files": [[data_suffix(path), workspace.input_digest(path)] for path in paths],
        "doc_id": settings.doc_id,
        "text": settings.text,
        "format": _STORE_FORMAT,
    }


def open_corpus(config: PoolConfig, name: str, builder: ArtifactBuilder, force: bool) -> Corpus:
    """Opens a corpus of the collection; writes its store first if that is missing or out of date."""
    settings = config.corpora[name]
    paths = expand_paths(config.folder, settings.path, builder.workspace.is_output)
    key = corpus_key(config, name, builder.workspace)
    fingerprint = digest(key)
    folder = builder.workspace.corpus(fingerprint)
    label = name if name == "corpus" else f"corpus {name}"
    builder.ensure(
        label, folder, key, lambda to: _write_store(to, settings, paths, label, builder), folder=True, force=force
    )
    return Corpus(name, fingerprint, CorpusStore(folder))


def _write_store(
    folder: Path, settings: CorpusConfig, paths: list[Path], label: str, builder: ArtifactBuilder
) -> Counts:
    def batches() -> Iterator[tuple[list[str], list[str]]]:
        done = 0
        for batch in read_passages(paths, settings.doc_id, settings.text):
            yield batch.doc_ids, batch.texts
            done += len(batch.doc_ids)
            builder.listener.progress(f"{label}: reading", done, 0, unit="passages")

    try:
        passages = CorpusStore.write(folder, batches())
    except DuplicateDocIdError as error:
        doc_id = next(iter(error.ordinals))
        places = locate_doc_ids(paths, {doc_id}, settings.doc_id, settings.text)[doc_id]
        (first_path, first_line), (path, line) = places[0], places[1]
        more = f" ({len(error.ordinals)} doc_ids occur more than once)" if len(error.ordinals) > 1 else ""
        raise InputError(
            path,
            line,
            f"doc_id {doc_id!r} occurs again, first at {first_path}:{first_line}{more}; give each passage its own id",
        ) from None
    if passages == 0:
        raise InputError(paths[0], None, "holds no passages; expected at least one")
    return {"passages": passages}


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
    """The pairs of ``pool.extra``; raises InputError for one whose query or passage is not in the collection."""
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
        if not any(column[row] for column in found):
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
