"""Translates keys into the form they had before components had identities, so that existing results stay usable.

Until then a key named a component by the module and class of its code and a version, which was 1 for all. The names
here are those of that time: nothing should be added, even if components are renamed or moved later. A component that
has been revised since has no former name, and its results are computed again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quati_pool.files.digests import digest

_COMPONENTS = {
    "retriever/bm25@1": "quati_pool.retrieval.bm25:Bm25",
    "retriever/bm25s@1": "quati_pool.retrieval.bm25s:Bm25s",
    "retriever/lsa@1": "quati_pool.retrieval.lsa:Lsa",
    "retriever/dense@1": "quati_pool.retrieval.bi_encoder.dense:Dense",
    "retriever/splade@1": "quati_pool.retrieval.sparse.splade:Splade",
    "retriever/colbert@1": "quati_pool.retrieval.late_interaction.colbert:Colbert",
    "retriever/openai-embedding@1": "quati_pool.retrieval.remote.openai_embedding:OpenaiEmbedding",
    "retriever/run@1": "quati_pool.retrieval.run_file:RunFile",
    "reranker/lsa@1": "quati_pool.retrieval.lsa:LsaReranker",
    "reranker/dense@1": "quati_pool.retrieval.bi_encoder.dense:DenseReranker",
    "reranker/colbert@1": "quati_pool.retrieval.late_interaction.colbert:ColbertReranker",
    "reranker/cross-encoder@1": "quati_pool.retrieval.pairwise.cross_encoder:CrossEncoder",
    "reranker/monot5@1": "quati_pool.retrieval.pairwise.monot5:MonoT5",
    "fusion/rrf@1": "quati_pool.retrieval.fusion:Rrf",
    "fusion/combsum@1": "quati_pool.retrieval.fusion:CombSum",
    "fusion/combmnz@1": "quati_pool.retrieval.fusion:CombMnz",
}
_INDEXES = {
    "index/bm25@1": "quati_pool.retrieval.bm25",
    "index/bm25s@1": "quati_pool.retrieval.bm25s",
    "index/lsa@1": "quati_pool.retrieval.lsa",
    "index/dense@1": "quati_pool.retrieval.bi_encoder.dense",
    "index/splade@1": "quati_pool.retrieval.sparse.splade",
    "index/colbert@1": "quati_pool.retrieval.late_interaction.colbert",
    "index/openai-embedding@1": "quati_pool.retrieval.remote.openai_embedding",
}
_STEPS = {
    "preparation/read@1": "quati_pool.preparation.read:Read",
    "preparation/url@1": "quati_pool.preparation.url:Url",
    "preparation/language@1": "quati_pool.preparation.language:Language",
    "preparation/variety@1": "quati_pool.preparation.variety:Variety",
    "preparation/segment@1": "quati_pool.preparation.segment:Segment",
    "preparation/line-breaks@1": "quati_pool.preparation.line_breaks:LineBreaks",
    "preparation/quality@1": "quati_pool.preparation.quality:Quality",
    "preparation/duplicates@1": "quati_pool.preparation.duplicates:Duplicates",
    "preparation/near-duplicates@1": "quati_pool.preparation.near_duplicates:NearDuplicates",
    "preparation/sample@1": "quati_pool.preparation.sample:Sample",
    "preparation/write@1": "quati_pool.preparation.write:Write",
}
_NAMES = {"component": _COMPONENTS, "engine": _INDEXES, "step": _STEPS}
_REPEATED_IDS = {"step": "preparation/repeated-ids@1"}


def former_key(key: Mapping[str, Any]) -> dict[str, Any]:
    """A key (of a run, an index, the pool or a preparation step) in its former form; unchanged if it names no component
    with a former name."""
    if key == _REPEATED_IDS:
        return {"version": 1}
    former = {name: former_key(value) if isinstance(value, Mapping) else value for name, value in key.items()}
    for field, names in _NAMES.items():
        if (name := names.get(str(key.get(field)))) is not None:
            former |= {field: name, "version": 1}
    if key.get("format") == 2 and isinstance(key.get("run"), Mapping):
        # The pool's key contained a digest of each run's key.
        former |= {"format": 1, "run": {tag: digest(ranking) for tag, ranking in former["run"].items()}}
    return former
