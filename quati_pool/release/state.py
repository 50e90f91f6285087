"""The state of a collection, from which formats write a release."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from quati_pool.data_sets.base import About
from quati_pool.records import LabelerKind, Qrels, Query
from quati_pool.release.about import ReleaseConfig
from quati_pool.store.records import Design, Selection


@dataclass(frozen=True, kw_only=True, eq=False)
class Labelled:
    """One labeler's grades.

    ``outside`` counts the grades of pairs outside the pool, which a label file may hold; ``left_out`` counts the pairs
    of the pool without a grade, by state. The ``kind`` "file" is a label file that does not name its labeler.

    ``version`` and ``definition`` (model, prompt and parameters, as JSON; for a hybrid, where its grades come from)
    are None if there is none, as for a consensus or a person. ``labels`` holds all labels that count, with the
    columns of ``store.rows.TABLE``, the rationale if one is kept, and for people's labels ``design``, ``stratum``
    and ``inclusion``.
    """

    labeler: str
    kind: LabelerKind
    qrels: Qrels
    outside: int = 0
    version: str | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    definition: Mapping[str, Any] | None = None
    labels: pa.Table | None = None


class ReleasedDesign(NamedTuple):
    """A design by which pairs were chosen for people to grade, and the pairs that it selected, by query_id, then
    doc_id."""

    design: Design
    selections: Sequence[Selection]


class EstimatedSystem(NamedTuple):
    """A system's estimate under people's grades with its 95 % interval; the same from people's grades alone; and the
    mean under the judge's alone."""

    run_tag: str
    estimate: float
    low: float
    high: float
    people_only: float
    judge_only: float


class ReleasedEstimates(NamedTuple):
    """Estimates of a measure under people's grades, best first. ``statement`` says what they hold for,
    ``without_majority`` what pairs count as of whose grades no majority agrees; None where there are none."""

    measure: str
    judge: str
    statement: str
    systems: Sequence[EstimatedSystem]
    without_majority: str | None = None


class ReleasedAudit(NamedTuple):
    """The verdicts of an audit on a judge, in one or two sentences."""

    judge: str
    verdicts: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Release:
    """A collection at one moment.

    Each call of ``passages`` returns a new iterator over every (doc_id, text) of the corpus, each doc_id once.
    ``drafted_by`` counts the queries that a program drafted, by its name. ``sources`` are the existing data sets that
    it was built from; ``designs`` are in the order of their numbers;
    ``estimates`` is None if there are none; ``audits`` are those of judges among the labelers.
    ``pool`` is the file that ``files.pools`` writes, ``runs`` maps run_tags to TREC files, ``grades`` is the scale.
    ``provenance`` (JSON) is written to the manifest and the card; it must not contain a time, or two exports of the
    same state would differ.
    """

    name: str
    about: ReleaseConfig
    grades: Mapping[int, str]
    queries: Sequence[Query]
    passages: Callable[[], Iterable[tuple[str, str]]]
    labelers: Sequence[Labelled]
    pool: Path
    runs: Mapping[str, Path] = field(default_factory=dict)
    drafted_by: Mapping[str, int] = field(default_factory=dict)
    sources: Sequence[About] = ()
    designs: Sequence[ReleasedDesign] = ()
    estimates: ReleasedEstimates | None = None
    audits: Sequence[ReleasedAudit] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    config: Path
