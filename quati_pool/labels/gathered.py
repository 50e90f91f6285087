"""The grades that a command works on: those of labelers, wherever they were read from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quati_pool.agreement.matching import Duplicate
from quati_pool.agreement.pair_designs import PairDesign
from quati_pool.agreement.pool_join import UnmatchedRow
from quati_pool.errors import InputError
from quati_pool.evaluation.expected_gains import ExpectedGrades
from quati_pool.files.label_files import LabelFile
from quati_pool.files.pools import read_pool
from quati_pool.judging.origin import Origin
from quati_pool.labels.base import Grader
from quati_pool.labels.hybrid import HybridParts
from quati_pool.labels.main_labeler import Candidate, MainLabeler, main_labeler
from quati_pool.project.config import LabelFileConfig, PoolConfig
from quati_pool.records import LabelerKind, Qrels


@dataclass(frozen=True, eq=False)
class LabelSource:
    """A labeler with its grades. ``lacking`` counts the pairs it has no grade for, by state. ``origin`` is the path of
    its file as given, None if its labels are in the store or computed from it. ``revealed`` counts the grades given
    after seeing a judge's. ``members`` are the labelers from whose grades a derived labeler's are computed;
    ``grader`` says who gave them; ``designs`` are the random designs by which the people behind them got their pairs,
    as far as these give pairs different probabilities."""

    name: str
    kind: LabelerKind
    qrels: Qrels
    version: str | None
    origin: Path | None = None
    lacking: Mapping[str, int] = field(default_factory=dict)
    revealed: int = 0
    members: frozenset[str] = frozenset()
    grader: Grader = "file"
    designs: tuple[PairDesign, ...] = ()
    hybrid: HybridParts | None = None
    """Where the grades of a hybrid come from; None for all other labelers."""
    expected: ExpectedGrades | None = None
    """What is known of a hybrid's grades beyond ``qrels``, which have the likeliest ones."""
    origins: tuple[Origin, ...] = ()
    """What the judges behind the grades were distilled from; empty where none was."""
    note: str | None = None
    """What a reader must know of how the grades were found."""

    @property
    def ungraded(self) -> int:
        return sum(self.lacking.values())


@dataclass(frozen=True)
class LabelFiles:
    """Label files by labeler, from a command's options, or labels already read, and how to read files: ``scale`` is
    the scale in use, ``queries`` a file that maps query texts to ids."""

    files: Mapping[str, LabelFileConfig | LabelFile] = field(default_factory=dict)
    queries: Path | None = None
    scale: Mapping[int, str] | None = None


@dataclass(frozen=True, eq=False)
class Gathered:
    """All labelers of a command, in order. ``scale`` is the declared scale, or else all grades that occur. ``queries``
    are the known query texts by query_id. ``matched_by`` says how pairs of different files were matched, such as
    "query_id and doc_id"; ``problems`` says why a labeler was left out."""

    config: PoolConfig | None
    scale: Mapping[int, str]
    declared: bool
    sources: list[LabelSource]
    duplicates: list[Duplicate]
    queries: Mapping[str, str]
    matched_by: str
    problems: Mapping[str, str]
    revealed: bool = False
    """Whether people's second labels count."""
    named: tuple[str, ...] = ()
    """The labelers of the workspace that were requested by name."""
    pool: Path | None = None
    """The pool given instead of the workspace's, or None."""
    warnings: Sequence[str] = ()
    """Oddities in label files that are not errors."""
    on_samples: Sequence[str] = ()
    """Those of ``warnings`` that say how measures read sampled qrels."""
    unmatched: Sequence[UnmatchedRow] = ()
    """Rows of files without ids whose texts match no pair of the pool, or several."""
    state: Mapping[str, Any] = field(default_factory=dict)
    """What of the workspace was read, where its store was: the seq of the last label and the SHA-256 of the pool."""

    @property
    def versions(self) -> dict[str, str | None]:
        """The version of each labeler's grades: a judge's version, a file's SHA-256."""
        return {source.name: source.version for source in self.sources}

    @property
    def main(self) -> MainLabeler | None:
        """The main labeler if all labelers of a workspace were read; None if labelers were named."""
        if self.config is None or self.named or not self.sources:
            return None
        return main_labeler([Candidate(one.name, one.grader, len(one.qrels), one.members) for one in self.sources])

    @property
    def people(self) -> list[str]:
        """The labelers that are persons, without leads' decisions, which derive from other labels."""
        return [source.name for source in self.sources if source.kind == "assessor" and not source.members]


def coverage(gathered: Gathered) -> dict[str, tuple[int, int]]:
    """By labeler, the number of the pool's pairs it has graded, and the number of all pairs. Leaves out files of the
    command line, and the workspace's files if its pool is not built."""
    config = gathered.config
    if config is None:
        return {}
    stored = [source for source in gathered.sources if source.origin is None]
    found = {source.name: (len(source.qrels), len(source.qrels) + source.ungraded) for source in stored}
    filed = {one.name: set(_pairs_of(one.qrels)) for one in gathered.sources if one.name in config.labels.files}
    if not filed:
        return found
    try:
        from quati_pool.labels.labelers import workspace_pool

        path = gathered.pool or workspace_pool(config)
    except InputError:
        return found
    pairs = [(pair.query_id, pair.doc_id) for block in read_pool(path) for pair in block]
    return found | {name: (sum(pair in graded for pair in pairs), len(pairs)) for name, graded in filed.items()}


def shared_members(a: LabelSource, b: LabelSource) -> tuple[str, ...]:
    """The names of the labelers whose grades both sources contain, as a panel contains those of its members."""
    return tuple(sorted((a.members or {a.name}) & (b.members or {b.name})))


def _pairs_of(qrels: Qrels) -> Iterator[tuple[str, str]]:
    query_ids, doc_ids = qrels.queries.decode(qrels.query), qrels.docs.decode(qrels.doc)
    return zip(query_ids.to_pylist(), doc_ids.to_pylist(), strict=True)
