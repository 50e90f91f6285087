"""``quati-pool questions constraints``: clusters of a graph's constraints, with the logical queries that people write
questions from.

A folder keeps the draw that it holds: people may have written from it. What decides a draw is in the sidecar's key.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

import numpy as np

from quati_pool.annotation.authoring.answer_candidates import answer_candidates, hashed_entities
from quati_pool.annotation.authoring.cluster_records import Drawn, cluster_record, evidence_texts, evidence_triples
from quati_pool.annotation.authoring.constraints import (
    Cluster,
    ClusterSettings,
    ConstraintIndex,
    clusters,
    index_constraints,
)
from quati_pool.annotation.authoring.logical_queries import LogicalQuery, cluster_answers, logical_queries
from quati_pool.commands.annotate.authoring.cluster_folder import CLUSTERS, ENTITIES
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.files.artifacts import (
    check_folder,
    clear_partials,
    digest,
    file_digest,
    locked_output,
    read_counts,
    sidecar,
    stale,
    unfinished,
    write_folder,
)
from quati_pool.files.lines import output
from quati_pool.files.triples import EntityText, Mention, read_mentions, read_texts, read_triples
from quati_pool.project.events import Listener
from quati_pool.text.pluralize import counted

MOST = 1_000
"""The clusters that are drawn by default."""

_REVISION = 1  # raised when the same triples and settings give other clusters
_ANOTHER = "name another folder with -o"


class Typical(NamedTuple):
    """The mean and median of counts."""

    mean: float
    median: float


@dataclass(frozen=True)
class ClusterDraw:
    """The clusters in a folder; ``made`` is False if it held the same draw already.

    ``skipped`` clusters gave fewer questions than ``min_questions``; ``drawn`` counts the draws of all clusters, these
    too, and ``discarded`` those that gave no question, by reason. ``usable`` counts constraints with enough answers,
    ``negated`` the constraints of all questions that are, and ``all_answers`` the questions whose candidates are all
    answers. ``evidence`` is None if the triples have no columns of evidence. ``ids`` are all that the clusters name,
    ``unnamed`` those of them without a text.
    """

    path: Path
    made: bool
    triples: int
    usable: int
    clusters: int
    questions: int
    min_questions: int
    skipped: int
    drawn: int
    discarded: Mapping[str, int]
    cluster_constraints: Typical
    question_constraints: Typical
    answers: Typical
    evidence: Typical | None
    constraints: int
    negated: int
    all_answers: int
    ids: int
    unnamed: int


def draw_constraints(
    triples: Sequence[Path],
    texts: Sequence[Path],
    folder: Path,
    settings: ClusterSettings,
    most: int | None = MOST,
    listener: Listener | None = None,
) -> ClusterDraw:
    """Draws at most ``most`` clusters, all if None, and writes them with the ``texts`` of the ids that they name.

    Raises QuatiPoolError, and writes nothing, for a faulty input, a folder that holds something else or another draw,
    and a graph without a cluster.
    """
    if settings.min_questions > settings.draws:
        raise ConfigError(
            f"--min-questions {settings.min_questions}: each cluster has {settings.draws} draws; raise --draws"
        )
    check_folder(folder)
    listener = listener or Listener()
    with listener.stage("constraints"):
        listener.progress("check files", 0, 0)
        key = {
            "form": f"clusters@{_REVISION}",
            # Neither the order of rows nor files and their names change a draw.
            "triples": digest(sorted(map(_digest, triples))),
            "texts": digest(sorted(map(_digest, texts))),
            "settings": asdict(settings),
            "clusters": most or 0,
        }
        with locked_output(folder, listener.say):
            _refuse_others(folder, key)
            clear_partials(folder)
            made = stale(folder, key) is not None
            if made:
                provenance = {"files": [path.name for path in (*triples, *texts)]}
                draw = _Draw(settings, most, triples, texts, listener)

                def fill(partial: Path) -> dict[str, Any]:
                    counts = draw.write(partial)
                    _refuse_other_clusters(folder, partial)
                    return counts

                write_folder(folder, key, provenance, fill)
            counts = read_counts(folder)
    typical = {name: Typical(**value) for name, value in counts.items() if isinstance(value, dict) and "mean" in value}
    return ClusterDraw(**{**counts, **typical, "path": folder, "made": made})


def _digest(path: Path) -> str:
    if path.is_dir():
        raise InputError(path, None, "is a folder; name the files in it")
    if not path.exists():
        raise InputError(path, None, "there is no such file; check the path")
    return file_digest(path)


def _refuse_others(folder: Path, key: Mapping[str, Any]) -> None:
    """Raises QuatiPoolError unless the folder is new, empty, left unfinished, or holds the draw of the key."""
    if not folder.exists() or not any(folder.iterdir()):
        return
    if any(file.name not in (CLUSTERS, ENTITIES) for file in folder.iterdir()) or not (folder / CLUSTERS).exists():
        raise QuatiPoolError(f"{folder} is not empty and holds no clusters alone; {_ANOTHER}")
    if not sidecar(folder).exists():
        return
    if (why := unfinished(folder)) is not None:
        raise QuatiPoolError(f"{folder} holds a draw that {why}; restore it, or {_ANOTHER}")
    if (why := stale(folder, key)) is not None:
        why = why.removeprefix("settings.")
        raise QuatiPoolError(f"{folder} holds another draw ({why}), which people may write from; {_ANOTHER}")


def _refuse_other_clusters(folder: Path, partial: Path) -> None:
    """Raises QuatiPoolError if the folder, whose sidecar is missing, has other clusters or names than were drawn into
    ``partial``: it may be a draw that was moved, not one that a killed process left."""
    if not (folder / CLUSTERS).exists():
        return
    there, drawn = (
        [file_digest(one / name) if (one / name).exists() else None for name in (CLUSTERS, ENTITIES)]
        for one in (folder, partial)
    )
    if there != drawn:
        problem = f"{folder} holds another draw, without {sidecar(folder).name}, and people may write from it"
        raise QuatiPoolError(f"{problem}; {_ANOTHER}, or move it away")


class _Kept(NamedTuple):
    """A cluster that is written, and its queries."""

    cluster: Cluster
    queries: Drawn


@dataclass
class _Draw:
    """One draw, from reading to writing."""

    settings: ClusterSettings
    most: int | None
    triples: Sequence[Path]
    texts: Sequence[Path]
    listener: Listener
    skipped: int = 0
    discarded: Counter[str] = field(default_factory=Counter)

    def write(self, folder: Path) -> dict[str, Any]:
        """Writes the files, and returns what ``ClusterDraw`` counts."""
        self.listener.progress("read triples", 0, 0)
        rows = read_triples(self.triples)
        index = index_constraints(rows, self.settings.min_shared)
        del rows
        kept = list(self._kept(index))
        if not kept:
            raise QuatiPoolError(self._none(index))
        self.listener.progress("read texts", 0, 0)
        ids = _named(index, kept)
        found = read_texts(self.texts, ids) if self.texts else {}
        if found:
            _write_texts(folder / ENTITIES, found)
        self.listener.progress("read evidence", 0, 0)
        wanted = np.unique(np.concatenate([evidence_triples(index, *one) for one in kept]))
        mentions = read_mentions(self.triples, index.ids, wanted)
        counts = self._write_clusters(folder / CLUSTERS, index, kept, mentions)
        return {
            "triples": index.triples,
            "usable": len(index),
            "clusters": len(kept),
            "min_questions": self.settings.min_questions,
            "skipped": self.skipped,
            "drawn": self.settings.draws * (len(kept) + self.skipped),
            "discarded": dict(self.discarded.most_common()),
            **counts,
            "ids": len(ids),
            "unnamed": len(ids) - len(found),
        }

    def _kept(self, index: ConstraintIndex) -> Iterator[_Kept]:
        """The clusters that give enough queries, at most ``most``; the others are counted."""
        hashed = index.hashes(self.settings.seed)
        of_entities = hashed_entities(index.ids.entities, self.settings.seed)
        found = 0

        def progress(tried: int, of: int) -> None:
            self.listener.progress("constraints tried", tried, of, counted(found, "cluster", "clusters"))

        for cluster in clusters(index, self.settings, progress):
            known = cluster_answers(index, cluster)
            queries = []
            for query in logical_queries(cluster, known, hashed, self.settings):
                if isinstance(query, LogicalQuery):
                    queries.append((query, answer_candidates(query, known, of_entities, self.settings)))
                else:
                    self.discarded[query.reason] += 1
            if len(queries) < self.settings.min_questions:
                self.skipped += 1
                continue
            yield _Kept(cluster, queries)
            found += 1
            if found == self.most:
                return

    def _none(self, index: ConstraintIndex) -> str:
        of = counted(index.triples, "triple", "triples")
        settings = self.settings
        if self.skipped:
            problem = f"no cluster of {self.skipped:,} gives {settings.min_questions} different questions"
            most = "raise --max-answers, " if self.discarded["too_many_answers"] else ""
            return f"{of}: {problem}; {most}lower --min-questions, raise --draws, or add triples"
        problem = f"no {settings.min_constraints} constraints share {settings.min_shared} answers"
        return f"{of}: {problem}; lower --min-constraints or --min-shared, or add triples"

    def _write_clusters(
        self,
        path: Path,
        index: ConstraintIndex,
        kept: Sequence[_Kept],
        mentions: Mapping[int, Sequence[Mention]] | None,
    ) -> dict[str, Any]:
        evidence: list[int | None] = []
        with output(path) as stream:
            for done, one in enumerate(kept):
                self.listener.progress("write clusters", done, len(kept), unit="clusters")
                record = cluster_record(index, *one, mentions)
                stream.write(_line(record))
                evidence += map(evidence_texts, record["queries"])
        queries = [query for one in kept for query, _ in one.queries]
        return {
            "questions": len(queries),
            "cluster_constraints": _typical([len(one.cluster.constraints) for one in kept]),
            "question_constraints": _typical([len(query.constraints) for query in queries]),
            "answers": _typical([len(query.answers) for query in queries]),
            "evidence": None if mentions is None else _typical([count for count in evidence if count is not None]),
            "constraints": sum(len(query.constraints) for query in queries),
            "negated": sum(negated for query in queries for _, negated in query.constraints),
            "all_answers": sum(bool(found.is_answer.all()) for one in kept for _, found in one.queries),
        }


def _typical(counts: Sequence[int]) -> dict[str, float]:
    return Typical(fmean(counts), float(median(counts)))._asdict()


def _named(index: ConstraintIndex, kept: Collection[_Kept]) -> set[str]:
    """All ids in the records of clusters."""
    entities = np.zeros(len(index.ids.entities), dtype=np.bool_)
    properties = np.zeros(len(index.ids.properties), dtype=np.bool_)
    for cluster, queries in kept:
        constraints = list(cluster.constraints)
        entities[index.entity[constraints]] = True
        properties[index.property[constraints]] = True
        for query, candidates in queries:
            entities[query.answers] = True
            entities[candidates.entities] = True
    of_entities = index.ids.entities.decode(np.flatnonzero(entities)).to_pylist()
    return {*of_entities, *index.ids.properties.decode(np.flatnonzero(properties)).to_pylist()}


def _write_texts(path: Path, texts: Mapping[str, EntityText]) -> None:
    with output(path) as stream:
        for identity, text in sorted(texts.items()):
            record = {name: value for name, value in text._asdict().items() if value}
            stream.write(_line({"id": identity, **record}))


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"
