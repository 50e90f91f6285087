"""What is read from existing data sets into the workspace: queries, and judgements as qrels."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from quati_pool.data_sets.base import About, DataSet
from quati_pool.errors import ConfigError
from quati_pool.files.artifacts import Counts
from quati_pool.files.lines import output
from quati_pool.files.pools import has_text
from quati_pool.project.artifact_builder import ArtifactBuilder
from quati_pool.project.config import PoolConfig, QueriesConfig
from quati_pool.project.config.data_sets import DataSetName, OfDataSet
from quati_pool.project.workspace import Workspace
from quati_pool.records import id_problem

# Incremented whenever the same data set would lead to different files.
_FORMAT = 2

_CORRECT = "correct it in the data set"


def read_data_sets(config: PoolConfig, builder: ArtifactBuilder, *, force: bool = False) -> None:
    """Brings the workspace's files of queries and qrels of data sets up to date, which other commands read.

    Raises QuatiPoolError for a data set that is not there, or cannot be read.
    """
    queries = config.queries
    if queries.data_set is not None:
        found = queries.data_set.open(config.folder)
        key = {
            **_key(queries.data_set, found, builder.workspace),
            "query": queries.query,
            "narrative": queries.narrative,
        }
        path = config.folder / str(queries.path)
        write = partial(_write_queries, found, queries)
        builder.ensure(f"queries of {queries.data_set.name}", path, key, write, force=force)
    for name, file in config.labels.files.items():
        if file.data_set is not None:
            found = file.data_set.open(config.folder)
            key = {**_key(file.data_set, found, builder.workspace), "split": file.split}
            write = partial(_write_qrels, found, file.split)
            builder.ensure(f"qrels {name}", config.folder / file.path, key, write, force=force)


def about_data_sets(config: PoolConfig) -> list[About]:
    """What the data sets that ``pool.yaml`` names say of themselves, each once. Raises QuatiPoolError where one is not
    there."""
    settings: list[OfDataSet] = [*config.corpora.values(), config.queries, *config.labels.files.values()]
    settings += [] if config.texts is None else [config.texts]
    named = dict.fromkeys(one.data_set for one in settings if one.data_set is not None)
    return [name.open(config.folder).about() for name in named]


def _key(name: DataSetName, found: DataSet, workspace: Workspace) -> dict[str, Any]:
    files = [workspace.input_digest(path) for path in found.files()]
    return {"data_set": [*name], "files": files, "format": _FORMAT}


def _write_queries(data_set: DataSet, settings: QueriesConfig, path: Path) -> Counts:
    fields = [settings.query] if isinstance(settings.query, str) else settings.query
    seen: set[str] = set()
    with output(path) as stream:
        for query in data_set.queries(fields, settings.narrative):
            _check_id(data_set, "query_id", query.query_id)
            if query.query_id in seen:
                raise ConfigError(f"{data_set.name}: query_id {query.query_id!r} occurs twice; {_CORRECT}")
            if not has_text(query.query):
                problem = f"query_id {query.query_id!r} has no text"
                raise ConfigError(f"{data_set.name}: {problem}; {_CORRECT}, or name its fields with query:")
            seen.add(query.query_id)
            row = {"query_id": query.query_id, "query": query.query, "narrative": query.narrative or ""}
            row |= {"cluster_id": query.cluster_id} if query.cluster_id else {}
            stream.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    if not seen:
        raise ConfigError(f"{data_set.name} holds no queries; name another data set")
    return {"queries": len(seen)}


def _write_qrels(data_set: DataSet, split: str | None, path: Path) -> Counts:
    grades: dict[tuple[str, str], int] = {}
    for query_id, doc_id, relevance in data_set.judgements(split):
        _check_id(data_set, "query_id", query_id)
        _check_id(data_set, "doc_id", doc_id)
        before = grades.setdefault((query_id, doc_id), relevance)
        if before != relevance:
            pair = f"query_id {query_id!r} and doc_id {doc_id!r}"
            raise ConfigError(f"{data_set.name}: {pair} are graded {before} and {relevance}; {_CORRECT}")
    if not grades:
        raise ConfigError(f"{data_set.name} holds no judgements; name another data set or split")
    with output(path) as stream:
        for (query_id, doc_id), relevance in grades.items():
            stream.write(f"{query_id} 0 {doc_id} {relevance}\n".encode())
    return {"pairs": len(grades)}


def _check_id(data_set: DataSet, name: str, value: str) -> None:
    problem = id_problem(value)
    if problem or value.startswith("#"):
        reason = problem or "begins with '#', which marks a comment in TREC files"
        raise ConfigError(f"{data_set.name}: {name} {value!r} {reason}; it cannot be read into a collection")
