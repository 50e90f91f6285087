"""Takes an existing TREC run file into the pool as it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import InputError
from quati_pool.files.runs import line_of, read_run
from quati_pool.records import Ids, Query
from quati_pool.retrieval import base
from quati_pool.retrieval.planning import Estimate, Workload

# Seconds per byte of the file, bytes of memory per byte of the file, and the compression ratio of .gz files.
_READ, _HELD, _PACKED = 5e-8, 9.5, 3.5
# Bytes of memory per row while reading, for the estimate of a file that does not exist yet.
_ROW = 230


class RunFileParameters(base.Parameters):
    path: Annotated[str, Field(description="the run file (TREC, plain or .gz), relative to pool.yaml")]


class RunFile(base.Retriever):
    """Returns the scores of the file, ranked as trec_eval does; the file's rank column is ignored.

    Queries that are not in the collection are left out, with a note. Raises InputError for a doc_id that is not in the
    corpus."""

    id = "retriever/run"
    summary = "a TREC run file made elsewhere"
    example = "path: theirs.run"
    Parameters = RunFileParameters
    parameters: RunFileParameters

    def inputs(self) -> list[str]:
        return [self.parameters.path]

    def estimate(self, work: Workload) -> Estimate:
        rows = work.queries * work.depth
        path = self.environment.folder / self.parameters.path
        size = _size(path) * (_PACKED if path.suffix == ".gz" else 1)
        memory = round(size * _HELD or rows * _ROW)
        line = f"{self.parameters.path}: read, and at most {rows:,} rows kept"
        return Estimate(disk=0, memory=memory, seconds=size * _READ, arithmetic=(line,))

    def search(
        self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], depth: int, context: base.Context
    ) -> base.Hits:
        path = self.environment.folder / self.parameters.path
        run = read_run(path, depth=depth)
        asked = Ids([query.query_id for query in queries]).encode(run.queries.values)[run.query]
        ours = asked >= 0
        strangers = len(np.unique(run.query[~ours]))
        if strangers:
            context.note(f"{path}: {strangers} queries are not of this collection and are left out")
        ordinals = corpus.ids.encode(run.docs.decode(run.doc[ours]))
        unknown = np.flatnonzero(ordinals < 0)
        if len(unknown):
            row = np.flatnonzero(ours)[unknown[0]]
            query_id = run.queries.decode(run.query[[row]])[0].as_py()
            doc_id = run.docs.decode(run.doc[[row]])[0].as_py()
            raise InputError(
                path,
                line_of(path, query_id, doc_id),
                f"doc_id {doc_id!r} is not in the corpus ({len(unknown)} such rows); "
                "name the corpus the run was made from, or drop these rows",
            )
        return base.Hits(asked[ours], ordinals, run.score[ours])


def _size(path: Path) -> int:
    """The size of a file in bytes; 0 if it does not exist, which the build will report."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
