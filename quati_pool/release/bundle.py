"""The complete collection in one folder: passages, queries, pool, runs, grades, labels, judges and settings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import Field

from quati_pool.files.label_files.writing import EVIDENCE
from quati_pool.files.lines import read_lines
from quati_pool.files.qrels import write_qrels
from quati_pool.records import Query
from quati_pool.release import base
from quati_pool.release.card import Part, card, header
from quati_pool.release.checks import holding_all_graded
from quati_pool.release.designs import NOTES, write_designs
from quati_pool.release.names import file_stems
from quati_pool.release.output import Output
from quati_pool.release.parquet import write_table
from quati_pool.release.pool_records import pooled_passages
from quati_pool.release.settings import publishable
from quati_pool.release.state import Labelled, Release

_ORDER = ("query_id", "doc_id", "phase", "sample", "seq")
_RATIONALE, _EXTRA = "rationale", "extra"


class BundleParameters(base.Parameters):
    corpus: Annotated[
        Literal["full", "pooled", "none"],
        Field(description="which passages to include: all, those pooled or graded, or none, and no text quoting any"),
    ] = "full"


class Bundle(base.Format):
    """Writes everything, in formats that other programs can read; ``corpus: none`` is for passages whose licence
    forbids redistribution. The address of the label database is never included."""

    id = "export/bundle"
    revision = 2
    name = "bundle"
    summary = "everything in one folder: passages, pool, runs, grades, labels, judges, settings"
    Parameters = BundleParameters
    parameters: BundleParameters

    @property
    def publishes_texts(self) -> bool:
        return self.parameters.corpus != "none"

    def fill(self, release: Release, output: Output) -> dict[str, Any]:
        parts = [Part("queries.jsonl", None, output.records("queries.jsonl", map(_query, release.queries)))]
        passages = self._passages(release)
        if passages is not None:
            documents = ({"doc_id": doc_id, "text": text} for doc_id, text in passages)
            parts.append(Part("corpus.jsonl.gz", None, output.records("corpus.jsonl.gz", documents)))
        written = parts[-1].rows if passages is not None else 0
        pool = output.lines("pool.jsonl.gz", self._pool(release))
        parts.append(Part("pool.jsonl.gz", None, pool))
        pairs = self._write_labelers(release, output, parts)
        for run_tag, stem in file_stems(release.runs).items():
            name = f"runs/{stem}.trec.gz"
            parts.append(Part(name, None, output.lines(name, _lines(release, run_tag))))
        parts += write_designs(release.designs, output)
        output.text("pool.yaml", publishable(release.config))
        output.text("README.md", header(release, written or pool) + card(release, parts, self._notes(release)))
        return {"queries": parts[0].rows, "passages": written, "pairs": pairs, "runs": len(release.runs)}

    def _passages(self, release: Release) -> Iterable[tuple[str, str]] | None:
        which = self.parameters.corpus
        if which == "full":
            return holding_all_graded(release, release.passages())
        return holding_all_graded(release, pooled_passages(release)) if which == "pooled" else None

    def _pool(self, release: Release) -> Iterator[str]:
        for _, line in read_lines(release.pool):
            if not line or line.isspace():
                continue
            if self.parameters.corpus == "none":
                pair = json.loads(line)
                del pair["text"]
                line = json.dumps(pair, ensure_ascii=False)
            yield line

    def _notes(self, release: Release) -> list[str]:
        outside = any(labelled.outside for labelled in release.labelers)
        pooled = "the pool and of graded pairs outside it" if outside else "the pool"
        left = {
            "full": [],
            "pooled": [f"Of the corpus, only the passages of {pooled} are part of this bundle."],
            "none": ["The passages are not part of this bundle; doc_id names them in the corpus.", *_unquoted(release)],
        }[self.parameters.corpus]
        designs = NOTES if release.designs else []
        return [*left, *designs, "MANIFEST.json lists every file with its size, SHA-256 and rows."]

    def _write_labelers(self, release: Release, output: Output, parts: list[Part]) -> dict[str, int]:
        pairs = {}
        stems = file_stems([labelled.labeler for labelled in release.labelers])
        for labelled in release.labelers:
            stem, who = stems[labelled.labeler], labelled.labeler
            name = f"qrels/{stem}.qrels"
            write_qrels(labelled.qrels, output.place(name))
            pairs[who] = len(labelled.qrels)
            output.wrote(name, pairs[who])
            parts.append(Part(name, None, pairs[who], labeler=who))
            if labelled.labels is not None:
                name = f"labels/{stem}.parquet"
                labels = _labels(labelled, labelled.labels, quotes=self.parameters.corpus != "none")
                parts.append(Part(name, None, write_table(output, name, labels), labeler=who))
            if labelled.definition is not None and labelled.kind != "hybrid":
                definition = {"judge": who, "version": labelled.version, "definition": dict(labelled.definition)}
                output.json(f"judges/{stem}.json", definition)
        return pairs


def _query(query: Query) -> dict[str, str]:
    narrative = {} if query.narrative is None else {"narrative": query.narrative}
    cluster = {} if query.cluster_id is None else {"cluster_id": query.cluster_id}
    return {"query_id": query.query_id, "query": query.query, **narrative, **cluster}


def _unquoted(release: Release) -> list[str]:
    if all(labelled.labels is None or _RATIONALE not in labelled.labels.column_names for labelled in release.labelers):
        return []
    return [
        "The reasons that came with labels are not part of it either, for they may quote the passages; of evidence, "
        "only the places are."
    ]


def _labels(labelled: Labelled, labels: pa.Table, *, quotes: bool) -> pa.Table:
    """All labels, sorted, each with its labeler and version; ``quotes`` says whether to keep rationales, which may
    quote passages, and the words of evidence."""
    if not quotes and _RATIONALE in labels.column_names:
        labels = labels.drop_columns([_RATIONALE])
    if not quotes and _EXTRA in labels.column_names:
        extra = pa.array(map(_unquoted_evidence, labels[_EXTRA].to_pylist()), pa.string())
        labels = labels.set_column(labels.column_names.index(_EXTRA), _EXTRA, extra)
    for name, value in (("version", labelled.version), ("labeler", labelled.labeler)):
        if name not in labels.column_names:
            labels = labels.add_column(0, name, pa.array([value] * len(labels), pa.string()))
    keys = [(name, "ascending") for name in _ORDER if name in labels.column_names]
    # Schema metadata, such as that of pandas, could differ between equal tables.
    return labels.sort_by(keys).replace_schema_metadata(None)


def _unquoted_evidence(extra: str | None) -> str | None:
    """A label's ``extra`` with the places of its evidence alone; unchanged if it has none."""
    known = json.loads(extra or "{}")
    if EVIDENCE not in known:
        return extra
    spans = [{name: value for name, value in span.items() if name != "text"} for span in known[EVIDENCE]]
    return json.dumps(known | {EVIDENCE: spans}, ensure_ascii=False)


def _lines(release: Release, run_tag: str) -> Iterator[str]:
    """A run's rows, uncompressed: they are compressed again because the original gzip file may contain a timestamp."""
    return (line for _, line in read_lines(release.runs[run_tag]) if line.strip())
