"""BEIR's layout: corpus.jsonl, queries.jsonl and qrels/<split>.tsv."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from quati_pool.records import Qrels, Query
from quati_pool.release import base
from quati_pool.release.checks import graded, holding_all_graded
from quati_pool.release.names import file_stems
from quati_pool.release.output import Output
from quati_pool.release.state import Release

_HEADER = ("query-id", "corpus-id", "score")


class BeirParameters(base.Parameters):
    split: Annotated[
        str,
        Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_-]*$", description="the split that holds the first labeler's grades"),
    ] = "test"


class Beir(base.Format):
    """Writes the first labeler's grades to qrels/<split>.tsv, and those of the others to qrels/<labeler>.tsv."""

    id = "export/beir"
    name = "beir"
    summary = "BEIR's layout: corpus.jsonl, queries.jsonl, qrels/*.tsv"
    Parameters = BeirParameters
    parameters: BeirParameters

    def fill(self, release: Release, output: Output) -> dict[str, Any]:
        passages = holding_all_graded(release, release.passages())
        documents = ({"_id": doc_id, "title": "", "text": text} for doc_id, text in passages)
        counts: dict[str, Any] = {"passages": output.records("corpus.jsonl", documents)}
        counts["queries"] = output.records("queries.jsonl", map(_query, release.queries))
        first, *further = release.labelers
        split = self.parameters.split
        stems = {first.labeler: split, **file_stems([labelled.labeler for labelled in further], reserved=[split])}
        counts["pairs"] = {}
        for labelled in release.labelers:
            name = f"qrels/{stems[labelled.labeler]}.tsv"
            counts["pairs"][labelled.labeler] = _write_qrels(output, name, labelled.qrels)
        counts["splits"] = {stem: labeler for labeler, stem in stems.items()}
        return counts


def _query(query: Query) -> Mapping[str, Any]:
    known = {"narrative": query.narrative, "cluster_id": query.cluster_id}
    metadata = {name: value for name, value in known.items() if value is not None}
    return {"_id": query.query_id, "text": query.query, "metadata": metadata}


def _write_qrels(output: Output, name: str, qrels: Qrels) -> int:
    """Writes one qrels file and returns its number of rows.

    BEIR reads these files with csv.reader, which treats a field that begins with ``"`` as quoted; csv.writer
    quotes such ids and doubles the quotes in them.
    """
    with output.place(name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_MINIMAL, lineterminator="\n")
        writer.writerow(_HEADER)
        writer.writerows((*pair, relevance) for pair, relevance in graded(qrels).items())
    output.wrote(name, len(qrels))
    return len(qrels)
