"""A data set of questions on constraints in the form of RoMQA's released files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from quati_pool.annotation.authoring.base import Source
from quati_pool.commands.annotate.authoring.cluster_folder import CLUSTERS, read_clusters, read_names
from quati_pool.commands.annotate.authoring.data_set import DataSet, facts
from quati_pool.commands.annotate.authoring.records import Record, Records
from quati_pool.errors import QuatiPoolError
from quati_pool.files.artifacts import read_meta
from quati_pool.files.digests import digest
from quati_pool.files.problems import quoted
from quati_pool.project.config import PoolConfig
from quati_pool.qa_benchmarks.base import SPLITS
from quati_pool.qa_benchmarks.romqa_writing import write_split
from quati_pool.release.output import Output
from quati_pool.release.question_sets import card
from quati_pool.store.authoring_records import as_added
from quati_pool.text.pluralize import counted

Cluster = Mapping[str, Any]

_IDS = 200_000
"""Ids whose texts are held at a time, or those of one cluster."""


def clusters_digest(config: PoolConfig) -> str:
    """A digest of what is in the folders of the clusters, as far as they are as they were written."""
    metas = (read_meta(folder) for folder in _folders(config))
    return digest([None if meta is None else [meta["key"], meta["content"]] for meta in metas])


def write_romqa(data: DataSet, output: Output) -> dict[str, int]:
    """Writes the files of each split, and the card; returns how many questions have evidence of an answer. Raises
    QuatiPoolError for a question whose cluster is not in the folders any more, or is another there."""
    records = data.records
    with_evidence = 0
    for split in SPLITS:
        wanted = {one["query_id"]: one for one in records.units if data.splits.of(records, one["item_id"]) == split}
        texts: dict[str, Mapping[str, Any]] = {}
        written = write_split(output.folder, split, _questions(records, wanted, texts), texts)
        for name in written.files:
            output.wrote(name, written.questions)
        with_evidence += written.with_evidence
    output.text("README.md", card(records.config.release, records.config.name, facts(data)))
    return {"with_evidence": with_evidence}


def _questions(
    records: Records, wanted: Mapping[str, Record], texts: dict[str, Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """The ``wanted`` questions, by query_id, in the order of the clusters; ``texts`` then has those of the ids in the
    question at hand."""
    left = dict(wanted)
    changed: dict[str, Path] = {}
    for folder in _folders(records.config):
        if not left:
            return
        held = (one for one in read_clusters(folder) if any(query["query_id"] in left for query in one["queries"]))
        for clusters, ids in _batches(held):
            names = read_names(folder, ids)
            texts.clear()
            texts.update((name, text._asdict()) for name, text in names.items())
            for cluster in clusters:
                source = Source(cluster["cluster_id"], cluster=cluster, names=names)
                made = {one.source_id: one.content for one in records.design.inner(source)}
                for query in cluster["queries"]:
                    record = left.get(query["query_id"])
                    if record is None:
                        continue
                    if made[query["query_id"]] != as_added(records.items[record["item_id"]].content):
                        changed[query["query_id"]] = folder
                        continue
                    del left[query["query_id"]]
                    yield _question(records, record, cluster, query)
    if left:
        raise _not_there(records, left, changed)


def _question(records: Records, record: Record, cluster: Cluster, query: Mapping[str, Any]) -> dict[str, Any]:
    drafted_by = record["drafted_by"]
    return {
        "id": query["query_id"],
        "cluster_id": cluster["cluster_id"],
        "question": record["question"],
        "constraints": [
            {**cluster["constraints"][one["constraint"]], "negated": one["negated"]} for one in query["constraints"]
        ],
        "candidates": query["candidates"],
        "complete_answer": query["answers"],
        "drafted_by": None if drafted_by is None else records.drafters[drafted_by],
    }


def _batches(clusters: Iterable[Cluster]) -> Iterator[tuple[list[Cluster], set[str]]]:
    """Clusters with the ids in them, as many as have at most ``_IDS``, or one."""
    batch: list[Cluster] = []
    ids: set[str] = set()
    for cluster in clusters:
        of_cluster = _ids(cluster)
        if batch and len(ids) + len(of_cluster) > _IDS:
            yield batch, ids
            batch, ids = [], set()
        batch.append(cluster)
        ids |= of_cluster
    if batch:
        yield batch, ids


def _ids(cluster: Cluster) -> set[str]:
    found = {one[name] for one in cluster["constraints"] for name in ("entity", "property")}
    for query in cluster["queries"]:
        found.update(query["answers"])
        found.update(one["entity"] for one in query["candidates"])
    return found


def _not_there(records: Records, left: Mapping[str, Record], changed: Mapping[str, Path]) -> QuatiPoolError:
    """What is wrong with the first of the questions that are ``left``."""
    folders = ", ".join(str(folder) for folder in _folders(records.config))
    if changed:
        query_id, folder = next(iter(changed.items()))
        problem = f"{folder / CLUSTERS}: {quoted(query_id)} has other constraints, answers or names than people saw"
    else:
        questions = counted(len(left), "question", "questions")
        problem = f"{folders}: {questions} of the rounds not there any more, such as {quoted(next(iter(left)))}"
    return QuatiPoolError(f"{problem}; put the folder back that the questions were written from")


def _folders(config: PoolConfig) -> list[Path]:
    assert config.authoring is not None
    return [config.folder / path for path in config.authoring.source_paths]
