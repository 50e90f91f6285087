"""A Hugging Face dataset folder: Parquet files, and a data card from which ``datasets`` reads their layout."""

from __future__ import annotations

from typing import Annotated, Any

import pyarrow as pa
from pydantic import Field

from quati_pool.release import base
from quati_pool.release.card import Part, card, configuration, header
from quati_pool.release.checks import holding_all_graded
from quati_pool.release.names import file_stems
from quati_pool.release.output import Output
from quati_pool.release.parquet import PASSAGES, passage_batches, qrels_table, write_shards, write_table
from quati_pool.release.state import Release


class HfParameters(base.Parameters):
    shard_bytes: Annotated[
        int, Field(ge=1, description="unpacked bytes that one Parquet file of the corpus may hold")
    ] = 256_000_000


class Hf(base.Format):
    """Writes the configurations ``corpus`` and ``queries``, each with a split of the same name, and
    ``qrels-<labeler>`` for each labeler, with the split test."""

    id = "export/hf"
    revision = 2
    name = "hf"
    summary = "a Hugging Face dataset: Parquet files and a data card"
    Parameters = HfParameters
    parameters: HfParameters

    def fill(self, release: Release, output: Output) -> dict[str, Any]:
        passages = holding_all_graded(release, release.passages())
        most = self.parameters.shard_bytes
        parts = [Part("corpus", "corpus", write_shards(output, "corpus", PASSAGES, passage_batches(passages), most))]
        parts.append(Part("queries", "queries", write_table(output, "queries/00000.parquet", _queries(release))))
        stems = file_stems([labelled.labeler for labelled in release.labelers])
        for labelled in release.labelers:
            stem = stems[labelled.labeler]
            rows = write_table(output, f"qrels/{stem}/00000.parquet", qrels_table(labelled.qrels))
            parts.append(Part(f"qrels-{stem}", "test", rows, f"qrels/{stem}", labelled.labeler))
        configs = [
            configuration(output, part.name, {str(part.split): f"{part.folder or part.name}/*.parquet"})
            for part in parts
        ]
        output.text("README.md", header(release, parts[0].rows, configs) + card(release, parts))
        return {
            "passages": parts[0].rows,
            "queries": parts[1].rows,
            "pairs": {part.labeler: part.rows for part in parts if part.labeler is not None},
            "configurations": {part.name: part.labeler for part in parts if part.labeler is not None},
        }


def _queries(release: Release) -> pa.Table:
    columns = {
        "query_id": pa.array([query.query_id for query in release.queries], pa.string()),
        "query": pa.array([query.query for query in release.queries], pa.string()),
    }
    if any(query.narrative is not None for query in release.queries):
        columns["narrative"] = pa.array([query.narrative for query in release.queries], pa.string())
    if any(query.cluster_id is not None for query in release.queries):
        columns["cluster_id"] = pa.array([query.cluster_id for query in release.queries], pa.string())
    return pa.table(columns)
