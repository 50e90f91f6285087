"""Takes existing TREC runs into the pool as they are."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Annotated, Self

import numpy as np
from pydantic import Field

from quati_pool.files.runs import RankContradictions, RunRows, chosen_run, rank_contradictions, read_runs
from quati_pool.processes.threads import in_threads
from quati_pool.records import Ids, Run
from quati_pool.retrieval import base
from quati_pool.retrieval.planning import Estimate, Workload
from quati_pool.text.pluralize import counted

# Seconds per byte of the file, bytes of memory per byte of the file, and the compression ratio of .gz files.
_READ, _HELD, _PACKED = 5e-8, 9.5, 3.5
# Bytes of memory per row while reading, for the estimate of a file that does not exist yet.
_ROW = 230


class RunFileReader:
    """Reads run files, and keeps the runs of the last one, so that a file of many runs is read once for all of them."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._runs: dict[str, RunRows] = {}
        self._ahead: deque[Path] = deque()
        self._read_ahead: Iterator[dict[str, RunRows]] = iter(())

    def expect(self, paths: Sequence[Path]) -> None:
        """Reads the next of these files in threads while one is worked on, if they are asked for in this order."""
        self._ahead, self._read_ahead = deque(paths), in_threads(read_runs, paths)

    def read(self, path: Path) -> dict[str, RunRows]:
        """As ``read_runs``."""
        if path != self._path:
            self._path, self._runs = None, {}
            if self._ahead and self._ahead[0] == path:
                self._ahead.popleft()
                self._runs = next(self._read_ahead)
            else:
                self._runs = read_runs(path)
            self._path = path
        return self._runs

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__init__()  # type: ignore[misc]


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

    def run(self, run_tag: str, queries: Ids, depth: int, context: base.Context) -> tuple[Run, RankContradictions]:
        path = self.environment.folder / self.parameters.path
        runs = context.engine(RunFileReader).read(path)
        rows = chosen_run(path, runs, self.parameters.run_tag)
        query = queries.encode(rows.queries.values)[rows.query]
        ours = query >= 0
        strangers = int(np.count_nonzero(np.bincount(rows.query[~ours])))
        if strangers:
            verb = counted(strangers, "query is", "queries are")
            context.note(f"{run_tag}: {verb} not of this collection and left out ({path})")
        run = Run.ranked(run_tag, queries, rows.docs, query[ours], rows.doc[ours], rows.score[ours], depth)
        return run.without_unused_docs(), rank_contradictions(rows)


def _size(path: Path) -> int:
    """The size of a file in bytes; 0 if it does not exist, which the build will report."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
