"""Writes Parquet with fixed settings, so that equal rows give equal bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from quati_pool.records import Qrels
from quati_pool.release.output import Output

# A row group ends when either limit is reached.
ROWS = 16_384
CHARACTERS = 16_000_000

PASSAGES = pa.schema([("doc_id", pa.string()), ("text", pa.string())])


def passage_batches(passages: Iterable[tuple[str, str]]) -> Iterator[pa.RecordBatch]:
    """Passages in batches of bounded size."""
    doc_ids: list[str] = []
    texts: list[str] = []
    characters = 0
    for doc_id, text in passages:
        doc_ids.append(doc_id)
        texts.append(text)
        characters += len(text)
        if len(doc_ids) >= ROWS or characters >= CHARACTERS:
            yield _passage_batch(doc_ids, texts)
            doc_ids, texts, characters = [], [], 0
    if doc_ids:
        yield _passage_batch(doc_ids, texts)


def _passage_batch(doc_ids: list[str], texts: list[str]) -> pa.RecordBatch:
    return pa.record_batch([pa.array(doc_ids, pa.string()), pa.array(texts, pa.string())], schema=PASSAGES)


def qrels_table(qrels: Qrels) -> pa.Table:
    """A table with the columns query_id, doc_id and relevance, in the order of the pairs."""
    return pa.table(
        {
            "query_id": qrels.queries.decode(qrels.query).cast(pa.string()),
            "doc_id": qrels.docs.decode(qrels.doc).cast(pa.string()),
            "relevance": pa.array(qrels.relevance, pa.int64()),
        }
    )


def write_shards(
    output: Output, folder: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch], most_bytes: int
) -> int:
    """Writes batches as ``folder/00000.parquet`` and so on, one row group each, and returns the number of rows.

    A new file begins before a batch that would exceed ``most_bytes`` of uncompressed data. There is always at least
    one file, so that the columns are known even without rows.
    """
    total, shard, size, rows, name = 0, 0, 0, 0, ""
    writer = None
    try:
        for batch in batches:
            if writer is None or size + batch.nbytes > most_bytes:
                if writer is not None:
                    writer.close()
                    output.wrote(name, rows)
                name, size, rows = f"{folder}/{shard:05}.parquet", 0, 0
                writer = _writer(output, name, schema)
                shard += 1
            writer.write_batch(batch)
            size += batch.nbytes
            rows += len(batch)
            total += len(batch)
        if writer is None:
            name = f"{folder}/{shard:05}.parquet"
            writer = _writer(output, name, schema)
    finally:
        if writer is not None:
            writer.close()
    output.wrote(name, rows)
    return total


def write_table(output: Output, name: str, table: pa.Table) -> int:
    """Writes a table as one file and returns its number of rows."""
    with _writer(output, name, table.schema) as writer:
        writer.write_table(table, row_group_size=ROWS)
    output.wrote(name, len(table))
    return len(table)


def _writer(output: Output, name: str, schema: pa.Schema) -> pa.parquet.ParquetWriter:
    import pyarrow.parquet as pq

    # The values of these columns repeat; a dictionary of texts or doc_ids would only cost time.
    recurring = {"query_id", "relevance", "phase", "status", "version", "sample", "labeler"}
    return pq.ParquetWriter(
        output.place(name),
        schema,
        version="2.6",
        compression="zstd",
        compression_level=3,
        use_dictionary=[field.name for field in schema if field.name in recurring] or False,
        write_page_index=True,
    )
