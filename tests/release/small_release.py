"""Releases made for the tests: whatever ids, texts and grades a test asks for."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from quati_pool.files.pools import PoolPair, write_pool
from quati_pool.records import GRADES, Qrels, Query, code_ids
from quati_pool.release.about import ReleaseConfig
from quati_pool.release.ir_datasets import IrDatasets
from quati_pool.release.state import Labelled, Release

Grades = Mapping[tuple[str, str], int]

HOSTILE = (
    "</script><script>alert(1)</script>",
    "---\nlicense: mit\n---\n# Not the title",
    "```\n````\n| a | b |\n|---|---|\n",
    "a\ttab, a \r carriage return, \x00 and \x1b[31m, \u2028, \ufeff and \U0001f600",
    '{"_id": "d1"}\n"quoted", \\ and \\n',
    "",
)
"""Passages that would break a careless card or a careless line of JSON."""

HARD_IDS = (
    '"', '""', '"d"', 'a"b', '"a"b"', "a,b", "é", "e\u0301", "'", "q#1", "<a>", "a|b", "\\", "\\t", "\U0001f600",
    "NA", "null", "007", "7", "1e5", "=1+1", "-1", "a/b", "../x", "." * 3, "é" * 200, '",é' * 66 + "xy", "[*]", "%2F",
)  # fmt: skip
"""Sound ids that a careless reader or writer of tables gets wrong; two of them of 200 characters."""

_SOUND = st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"], exclude_characters="\u200b\u2060\ufeff")
IDS = st.text(st.one_of(st.sampled_from("\",é'#\U0001f600|\\<&/."), _SOUND), min_size=1, max_size=200)
"""Any id that ``records.id_problem`` accepts."""
QRELS_IDS = IDS.filter(lambda text: not text.startswith("#"))
"""The same but for a leading ``#``, which TREC files take for a comment."""


def graded_pairs(query_ids: st.SearchStrategy[str] = QRELS_IDS) -> st.SearchStrategy[dict[tuple[str, str], int]]:
    return st.dictionaries(st.tuples(query_ids, IDS), st.integers(0, 3), min_size=1, max_size=12)


def grid(query_ids: Sequence[str] = HARD_IDS) -> dict[tuple[str, str], int]:
    """A grade for each query_id with each of HARD_IDS."""
    return {
        (query_id, doc_id): (i + j) % 4 for i, query_id in enumerate(query_ids) for j, doc_id in enumerate(HARD_IDS)
    }


def qrels_of(grades: Grades) -> Qrels:
    queries, (query,) = code_ids([pa.array([pair[0] for pair in grades], type=pa.string())])
    docs, (doc,) = code_ids([pa.array([pair[1] for pair in grades], type=pa.string())])
    return Qrels(queries, docs, query, doc, np.array(list(grades.values()), dtype=np.int64))


def labelled(labeler: str, grades: Grades, **changes: Any) -> Labelled:
    return Labelled(**{"labeler": labeler, "kind": "judge", "qrels": qrels_of(grades), **changes})


def release_of(
    folder: Path,
    labelers: Mapping[str, Grades] | Sequence[Labelled],
    texts: Mapping[str, str] | None = None,
    extra_pairs: Sequence[tuple[str, str]] = (),
    narratives: Mapping[str, str] | None = None,
    clusters: Mapping[str, str] | None = None,
    **changes: Any,
) -> Release:
    """A release whose corpus and pool hold every graded document, with the texts given or made up."""
    folder.mkdir(parents=True, exist_ok=True)
    made = (
        [labelled(name, grades) for name, grades in labelers.items()]
        if isinstance(labelers, Mapping)
        else list(labelers)
    )
    pairs = list(dict.fromkeys([*(pair for one in made for pair in pairs_of(one.qrels)), *extra_pairs]))
    query_ids = list(dict.fromkeys(pair[0] for pair in pairs))
    doc_ids = dict.fromkeys(pair[1] for pair in pairs)
    passages = {**{doc_id: f"the text of {doc_id}" for doc_id in doc_ids}, **(texts or {})}
    queries = [
        Query(query_id, f"what is {query_id}?", (narratives or {}).get(query_id), (clusters or {}).get(query_id))
        for query_id in query_ids
    ]
    told = {query.query_id: query.query for query in queries}
    rows: list[PoolPair] = [
        {
            "query_id": query_id, "doc_id": doc_id, "query": told[query_id], "text": passages[doc_id],
            "runs": {"bm25": 1}, "round": 1, "reason": "depth", "inclusion": 1.0,
        }
        for query_id in query_ids
        for _, doc_id in [pair for pair in pairs if pair[0] == query_id]
    ]  # fmt: skip
    write_pool(folder / "pool.jsonl.gz", rows)
    config = folder / "pool.yaml"
    if not config.exists():
        config.write_text("name: small\n", encoding="utf-8")
    usual = {
        "name": "small",
        "about": ReleaseConfig(),
        "grades": GRADES,
        "queries": queries,
        "passages": lambda: iter(passages.items()),
        "labelers": made,
        "pool": folder / "pool.jsonl.gz",
        "provenance": {"tool": "quati-pool 0.0", "config": "c0ffee", "seed": 0},
        "config": config,
    }
    return Release(**{**usual, **changes})


def pairs_of(qrels: Qrels) -> dict[tuple[str, str], int]:
    """Each pair's grade."""
    columns = qrels.queries.decode(qrels.query).to_pylist(), qrels.docs.decode(qrels.doc).to_pylist()
    return dict(zip(zip(*columns, strict=True), qrels.relevance.tolist(), strict=True))


def by_query(grades: Grades) -> dict[str, dict[str, int]]:
    """The same as BEIR holds it."""
    nested: dict[str, dict[str, int]] = {}
    for (query_id, doc_id), relevance in grades.items():
        nested.setdefault(query_id, {})[doc_id] = relevance
    return nested


def contents(folder: Path) -> dict[str, bytes]:
    """Every file's bytes."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def ir_datasets_export(folder: Path, text: str) -> Path:
    """An export of the collection small with one document for ir_datasets; one that is there is replaced."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    release = release_of(folder.with_suffix(".made"), {"ana": {("q1", "d1"): 1}}, texts={"d1": text})
    IrDatasets(IrDatasets.Parameters()).write(release, folder)
    return folder
