"""A collection at one moment, as a step gives it to a format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from quati_pool.records import Qrels, Query
from quati_pool.release.about import ReleaseConfig


@dataclass(frozen=True, kw_only=True, eq=False)
class Labelled:
    """One labeler's part: its grades, and how many pairs of the pool have none, by state. ``outside`` of the
    grades are of pairs that are not of the pool, as a label file may hold; ``kind`` "file" is a label file
    that does not say who gave its grades.

    ``version`` and ``definition`` (model, prompt, parameters: JSON) are None where there are none, as of
    a consensus or a person; ``labels`` are all labels that count, with the columns of ``store.rows.TABLE``
    and a rationale where one is kept.
    """

    labeler: str
    kind: Literal["judge", "assessor", "consensus", "file"]
    qrels: Qrels
    outside: int = 0
    version: str | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    definition: Mapping[str, Any] | None = None
    labels: pa.Table | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Release:
    """A collection at one moment.

    ``passages`` gives every (doc_id, text) of the corpus anew at each call, each doc_id once. ``pool`` is
    the file that ``files.pools`` writes, ``runs`` TREC files by run_tag, ``grades`` the scale.
    ``provenance`` (JSON) goes into the manifest and the card as it is: it must not hold a time, or two
    exports of one state would differ.
    """

    name: str
    about: ReleaseConfig
    grades: Mapping[int, str]
    queries: Sequence[Query]
    passages: Callable[[], Iterable[tuple[str, str]]]
    labelers: Sequence[Labelled]
    pool: Path
    runs: Mapping[str, Path] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    config: Path
