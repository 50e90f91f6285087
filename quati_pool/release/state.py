"""The state of a collection that a format writes."""

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
    """One labeler's grades, and the numbers of pairs of the pool without a grade, by state (``left_out``). ``outside``
    of the grades are of pairs outside the pool, as a label file may hold; ``kind`` "file" is a label file that
    does not name its labeler.

    ``version`` and ``definition`` (model, prompt, parameters: JSON) are None where there is none, as for a consensus
    or a person; ``labels`` are all labels that count, with the columns of ``store.rows.TABLE`` and the rationale
    where one is kept.
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

    ``passages`` returns at each call an iterator over every (doc_id, text) of the corpus, each doc_id once. ``pool``
    is the file that ``files.pools`` writes, ``runs`` TREC files by run_tag, ``grades`` the scale.
    ``provenance`` (JSON) is written to the manifest and the card: it must not hold a time, or two exports of one
    state would differ.
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
