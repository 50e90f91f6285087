"""Collections that people graded, for replays: Vaswani with twelve lexical systems, and TREC DL 2021."""

from __future__ import annotations

import shutil
from pathlib import Path

from quati_pool.files.qrels import read_qrels
from quati_pool.pooling.replay.collection import JudgedCollection, judged_collection
from quati_pool.pooling.replay.running import Method, PoolReplayPlan
from quati_pool.project.runs import run_sets
from quati_pool.registry import POOL_METHODS
from tests.shared_data import shared

_VASWANI = """\
name: vaswani
corpus: {path: doc-text.trec}
queries: {path: query-text.trec}
systems:
  bm25-low: {retriever: bm25s, k1: 0.4, b: 0.2, family: bm25}
  bm25: {retriever: bm25s, k1: 0.9, b: 0.4, family: bm25}
  bm25-high: {retriever: bm25s, k1: 2.0, b: 0.8, family: bm25}
  bm25-flat: {retriever: bm25s, k1: 1.2, b: 0.0, family: bm25}
  words: {retriever: bm25s, stemming: false, family: words}
  words-high: {retriever: bm25s, stemming: false, k1: 2.0, b: 0.8, family: words}
  all-words: {retriever: bm25s, stemming: false, stop_words: false, family: words}
  lsa-32: {retriever: lsa, dimensions: 32, family: lsa}
  lsa-128: {retriever: lsa, dimensions: 128, family: lsa}
  lsa-400: {retriever: lsa, dimensions: 400, family: lsa}
  lsa-words: {retriever: lsa, dimensions: 200, stemming: false, family: lsa}
  rrf: {fuse: [bm25, words, lsa-400], method: rrf, k: 60}
run_depth: 100
"""


def vaswani(folder: Path) -> Path:
    """The pool.yaml of a workspace on Vaswani in ``folder``, with the grades in gold.qrels; to be built."""
    for name in ("doc-text.trec", "query-text.trec"):
        shutil.copyfile(shared(f"vaswani/{name}"), folder / name)
    shutil.copyfile(shared("vaswani/qrels"), folder / "gold.qrels")
    (folder / "pool.yaml").write_text(_VASWANI, encoding="utf-8")
    return folder / "pool.yaml"


def dl_2021() -> JudgedCollection:
    """The 63 runs of TREC DL 2021, with people's grades and GPT-4o's."""
    (runs,) = run_sets([str(shared("trec-dl-2021/dl21-runs-top20-judged53.txt.gz"))])
    people, judge = (read_qrels(shared(f"trec-dl-2021/{name}.qrels.gz")) for name in ("nist", "gpt-4o"))
    return judged_collection(runs.runs, people, judge, 10)


def method(name: str, **parameters: object) -> Method:
    cls = POOL_METHODS.get(name)
    return Method(name, cls, cls.Parameters(**parameters))


def plan_of(*names: str, **settings: object) -> PoolReplayPlan:
    """A plan with the methods of these names."""
    usual: dict[str, object] = {
        "depth": 10, "shares": (0.2,), "steered_by": ("people",), "relevant": 2, "judge_relevant": 2, "families": None,
    }  # fmt: skip
    return PoolReplayPlan(methods=[method(name) for name in names], **{**usual, **settings})  # type: ignore[arg-type]
