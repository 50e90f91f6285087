"""Clusters of related queries, read from the ``cluster_id`` of a file of queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from quati_pool.errors import ConfigError, InputError
from quati_pool.files.artifacts import file_digest
from quati_pool.files.problems import quoted
from quati_pool.files.queries import CLUSTER_ID, read_queries
from quati_pool.project.config import PoolConfig


@dataclass(frozen=True, eq=False)
class Clusters:
    """The cluster_id of every query in a file, read from its ``column``; None for a query without a cluster."""

    path: Path
    column: str
    sha256: str
    of: Mapping[str, str | None]

    def none_judged(self, judged: Iterable[str]) -> InputError:
        """The error to raise where none of the judged queries is in a cluster."""
        judged = set(judged)
        if judged.isdisjoint(self.of):
            problem = f"holds none of the {len(judged):,} judged queries; name the file of these with --queries"
        else:
            column = quoted(self.column)
            problem = f"no judged query has a cluster_id in the column {column}; add some, or leave out --robust"
        return InputError(self.path, None, problem)


def read_clusters(path: Path | None, config: PoolConfig | None) -> Clusters:
    """The clusters of all queries in the file ``path`` or, where that is None, in the workspace's file of queries.

    Raises ConfigError where there is neither, and InputError where no query has a cluster_id.
    """
    column = CLUSTER_ID
    if path is not None:
        queries = read_queries(path)
    elif config is not None and config.queries.path is not None:
        path, fields, column = config.folder / config.queries.path, config.queries, config.queries.cluster_id
        if fields.data_set is None:
            queries = read_queries(path, fields.query_id, fields.query, fields.narrative, column)
        else:
            queries = read_queries(path)
    else:
        raise ConfigError("--robust asks for clusters of queries; name their file with --queries, or a workspace by -c")
    if all(query.cluster_id is None for query in queries):
        expected = f"no query has a cluster_id, and --robust asks for some; add a column {quoted(column)}"
        raise InputError(path, None, f"{expected}, or name another file with --queries")
    return Clusters(path, column, file_digest(path), {query.query_id: query.cluster_id for query in queries})
