"""Builds the pandas frames that the API returns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from quati_pool.agreement.estimates import Estimates
    from quati_pool.commands.labels import CurrentLabels
    from quati_pool.pooling.pool import Pool
    from quati_pool.records import Run


def frame(rows: Iterable[Sequence[Any]], columns: Mapping[str, str]) -> pd.DataFrame:
    """A frame of ``rows`` with the given column names and dtypes, also if there are no rows."""
    import pandas as pd

    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    return pd.DataFrame(
        {name: pd.Series(column, dtype=dtype) for (name, dtype), column in zip(columns.items(), values, strict=True)}
    )


def with_ends(names: Iterable[str]) -> dict[str, str]:
    """The columns of figures with their intervals: ``kappa``, ``kappa_low``, ``kappa_high``."""
    return {f"{name}{end}": "float64" for name in names for end in ("", "_low", "_high")}


def values_and_ends(found: Estimates, names: Iterable[str]) -> list[float | None]:
    """The values of the columns of ``with_ends``."""
    values: list[float | None] = []
    for name in names:
        ends = found.intervals.get(name)
        values += [found.values[name], ends and ends.low, ends and ends.high]
    return values


def run_frame(runs: Sequence[Run]) -> pd.DataFrame:
    """Runs as one frame: query_id, doc_id (str), rank (int64), score (float32), run_tag (str)."""
    import pandas as pd

    if not runs:
        return frame([], {"query_id": "str", "doc_id": "str", "rank": "int64", "score": "float32", "run_tag": "str"})
    frames = [run.to_frame().assign(run_tag=pd.Series(run.run_tag, index=range(len(run)), dtype="str")) for run in runs]
    return pd.concat(frames, ignore_index=True)


def pool_frame(pool: Pool) -> pd.DataFrame:
    """A pool as a frame: query_id, doc_id (str), and runs, each pair's {run_tag: rank}."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    pair, system = np.nonzero(pool.ranks)
    ends = np.r_[0, np.cumsum(np.bincount(pair, minlength=len(pool)))].astype(np.int32)
    tags = pa.array(pool.run_tags, type=pa.string()).take(pa.array(system))
    runs = pa.MapArray.from_arrays(pa.array(ends), tags, pa.array(pool.ranks[pair, system]))
    return pd.DataFrame(
        {
            "query_id": pool.queries.decode(pool.query).to_pandas(),
            "doc_id": pool.docs.decode(pool.doc).to_pandas(),
            "runs": runs.to_pandas(maps_as_pydicts="strict"),
        }
    )


def pool_file_frame(path: Path) -> pd.DataFrame:
    """A pool's file as a frame; the columns are those of the file."""
    from quati_pool.files.lines import read_lines

    columns = {
        "query_id": "str", "doc_id": "str", "query": "str", "text": "str", "runs": "object", "round": "int64",
        "reason": "str", "inclusion": "float64",
    }  # fmt: skip
    pairs = (json.loads(text) for _, text in read_lines(path))
    return frame(([pair[name] for name in columns] for pair in pairs), columns)


def label_frame(found: Sequence[CurrentLabels], rationales: bool) -> pd.DataFrame:
    """Labels as one frame; see ``Collection.labels``."""
    columns = {
        "query_id": "str", "doc_id": "str", "labeler": "str", "kind": "str", "relevance": "Int64", "status": "str",
        "cut": "bool", "revealed": "bool", **({"rationale": "str"} if rationales else {}),
    }  # fmt: skip
    rows = (
        (label.query_id, label.doc_id, one.labeler.name, one.labeler.kind, label.relevance, str(label.status),
         label.cut, label.revealed, *one.rationales[place : place + 1])
        for one in found
        for place, label in enumerate(one.labels)
    )  # fmt: skip
    return frame(rows, columns)
