"""Takes existing TREC runs into the pool as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from quati_pool.files.runs import RunFileReader, chosen_run
from quati_pool.records import Ids, Run
from quati_pool.retrieval import base
from quati_pool.retrieval.planning import Estimate, Workload
from quati_pool.text.pluralize import counted

# Seconds per byte of the file, bytes of memory per byte of the file, and the compression ratio of .gz files.
_READ, _HELD, _PACKED = 5e-8, 9.5, 3.5
# Bytes of memory per row while reading, for the estimate of a file that does not exist yet.
_ROW = 230


class RunFileParameters(base.Parameters):
    path: Annotated[str, Field(description="the run file (TREC, plain or .gz), relative to pool.yaml")]
    run_tag: Annotated[
        str | None, Field(description="the run to take from a file of several; runs: takes them all")
    ] = None


class RunFile(base.RunSource):
    """Returns the scores of the file, ranked as trec_eval does; the file's rank column is ignored.

    Queries that are not in the collection are left out, with a note."""

    id = "retriever/run"
    summary = "TREC runs made elsewhere"
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

    def search_key(self) -> dict[str, str]:
        run_tag = self.parameters.run_tag
        return {} if run_tag is None else {"run_tag": run_tag}

    def run(self, run_tag: str, queries: Ids, depth: int, context: base.Context) -> Run:
        path = self.environment.folder / self.parameters.path
        runs = context.engine(RunFileReader).read(path)
        rows = chosen_run(path, runs, self.parameters.run_tag)
        query = queries.encode(rows.queries.values)[rows.query]
        ours = query >= 0
        strangers = len(np.unique(rows.query[~ours]))
        if strangers:
            verb = counted(strangers, "query is", "queries are")
            context.note(f"{run_tag}: {verb} not of this collection and left out ({path})")
        return Run.ranked(run_tag, queries, rows.docs, query[ours], rows.doc[ours], rows.score[ours], depth)


def _size(path: Path) -> int:
    """The size of a file in bytes; 0 if it does not exist, which the build will report."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
