"""``build --plan`` against what a build makes: disk of every kind of system, shared vectors, measured times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.build import build
from quati_pool.commands.plan.parts import PlannedSystem
from quati_pool.commands.plan.plan import Plan, plan
from quati_pool.files.artifacts import sidecar
from quati_pool.project.artifact_builder import ArtifactBuilder
from quati_pool.project.events import Listener
from quati_pool.project.workspace import Workspace
from quati_pool.reporting.json_data.plan import as_data
from quati_pool.reporting.tables.plan import tables
from quati_pool.retrieval.bi_encoder.dense import Dense, DenseParameters
from quati_pool.retrieval.planning import Workload
from tests.benchmarks import bench_plan

pytestmark = [pytest.mark.neural, pytest.mark.java]

PASSAGES = 1500
NOT_RERUN = ("static", "static-hnsw", "static-ivf-pq")  # the same kinds with other vectors: for the benchmark


def _system(found: Plan, run_tag: str) -> PlannedSystem:
    return next(system for system in found.systems if system.run_tag == run_tag)


def _size(folder: Path) -> int:
    return sum(
        file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.name.endswith("meta.json")
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Plan]:
    """A workspace with every kind of system that runs here, planned and then built."""
    kinds = {tag: settings for tag, settings in bench_plan.SYSTEMS.items() if tag not in NOT_RERUN}
    path = bench_plan.make_workspace(tmp_path_factory.mktemp("planned"), PASSAGES, kinds)
    before = plan(path)
    build(path, Listener())
    return path, before


def _folder(path: Path, stage: str, part: dict[str, Any]) -> Path:
    """The one artifact of a stage whose key holds ``part``."""
    places = path.parent / "cache" / {"index": "indexes", "encoding": "encodings"}[stage]
    found = [
        meta.with_name(meta.name.removesuffix(".meta.json"))
        for meta in places.glob("*.meta.json")
        if _holds(json.loads(meta.read_text())["key"], part)
    ]
    (folder,) = found
    return folder


def _holds(key: dict[str, Any], part: dict[str, Any]) -> bool:
    return "ordinals" not in key and all(name in key and value in (..., key[name]) for name, value in part.items())


KINDS: dict[str, dict[str, dict[str, Any]]] = {
    "bm25": {"index": {"language": "en", "anserini": ...}},
    "bm25s": {"index": {"k1": 0.9, "b": 0.4}},
    "lsa": {"index": {"dimensions": 128}},
    "dense": {"encoding": {"name": "dense", "precision": "fp32"}},
    "dense-fp16": {"encoding": {"name": "dense", "precision": "fp16"}},
    "dense-int8": {"encoding": {"name": "dense", "precision": "int8"}},
    "dense-hnsw": {"index": {"index": "hnsw"}},
    "dense-ivf-pq": {"index": {"index": "ivf-pq"}},
    "splade": {"encoding": {"name": "splade"}, "index": {"search": "csr"}},
    "splade-lucene": {"index": {"search": "lucene"}},
    "colbert": {"encoding": {"name": "colbert"}},
    "colbert-ivf": {"index": {"index": "ivf"}},
    "cross-encoder": {"encoding": {"name": "cross-encoder"}},
}


@pytest.mark.parametrize("run_tag", KINDS)
def test_the_disk_planned_is_that_of_what_is_built(made: tuple[Path, Plan], run_tag: str) -> None:
    path, before = made
    for stage, part in KINDS[run_tag].items():
        planned = next(some.disk for some in _system(before, run_tag).parts if some.stage == stage)
        real = _size(_folder(path, stage, part))
        assert real / 1.5 < planned < 1.5 * real, (stage, planned, real)


def test_the_disk_of_the_corpus_store_is_planned(made: tuple[Path, Plan]) -> None:
    path, before = made
    (store,) = before.stores
    assert store is not None
    assert not store.there
    assert store.disk == pytest.approx(_size(path.parent / "cache" / "corpus"), rel=0.05)
    assert before.total.disk > store.disk
    (store,) = plan(path).stores
    assert store is not None
    assert store.there
    assert store.disk == pytest.approx(_size(path.parent / "cache" / "corpus"), rel=0.05)


def test_runs_and_pool_are_planned(made: tuple[Path, Plan]) -> None:
    path, before = made
    run = next(part.disk for part in _system(before, "dense").parts if part.stage == "run")
    real = (path.parent / "runs" / "dense.trec.gz").stat().st_size
    assert real / 1.5 < run < 1.5 * real
    assert before.pool is not None
    pool = Workspace(path.parent).pool.stat().st_size
    # Systems find the same passages: the pool is smaller than all of their best ones together, never larger.
    assert pool < before.pool.disk
    assert before.pool.disk < 23 * pool


def test_vectors_that_several_indexes_share_are_counted_once(made: tuple[Path, Plan]) -> None:
    _, before = made
    flat = _system(before, "dense")
    for run_tag in ("dense-hnsw", "dense-ivf-pq", "dense-rerank"):
        shared = {part.stage: part.shared for part in _system(before, run_tag).parts}
        assert (_system(before, run_tag).shares, shared["encoding"]) == ("dense", True)
        assert not shared["index"]
    assert not any(part.shared for part in flat.parts)
    # Vectors of another precision are vectors of their own.
    assert _system(before, "dense-fp16").shares is None
    parts = [part for system in before.systems for part in system.parts if not part.shared]
    stores = [before.stores[0], before.pool]
    assert before.total.disk == sum(round(part.disk) for part in parts) + sum(store.disk for store in stores if store)
    assert before.total.encode == sum(part.encode for part in parts)


def test_vectors_of_a_model_that_is_not_here_are_counted_once(tmp_path: Path) -> None:
    (tmp_path / "pool.yaml").write_text(
        "name: x\ncorpus: {path: none.jsonl}\nqueries: {path: none.tsv}\n"
        "systems:\n  flat: {retriever: dense, model: intfloat/multilingual-e5-large}\n"
        "  hnsw: {retriever: dense, model: intfloat/multilingual-e5-large, index: hnsw}\n"
        "plan: {queries: 50, corpora: {corpus: {passages: 1000000, characters: 400}}}\n"
    )
    found = plan(tmp_path / "pool.yaml")
    flat, hnsw = found.systems
    assert hnsw.shares == "flat"
    assert found.total.encode == 1_000_000
    assert found.total.gpu_hours == flat.gpu_hours
    # Vectors of 1,024 float32 once; a graph of 1,025 half-precision numbers, 64 + 32/31 links of 4 bytes, 12 bytes of
    # their places and 16 of the passages of each vector; two runs of 50 queries · 100 rows of 12 bytes; a store of
    # passages of 400 characters (1.03 bytes each), ids of 12 bytes and 24.3 bytes to find them; and the pool, of
    # 50 · 2 · 10 pairs of 60 bytes and the packed text (0.45 of 424).
    graph = 2 * 1025 + 4 * (64 + 32 / 31) + 28
    store = 1.03 * 400 + 12 + 24.3
    by_hand = 1e6 * (4096 + graph + store) + 2 * 5000 * 12 + 1000 * (60 + 0.45 * 424)
    assert found.total.disk == pytest.approx(by_hand, abs=10)


def test_an_index_of_a_hundred_million_vectors_needs_the_memory_of_its_graph() -> None:
    work = Workload(passages=100_000_000, characters=400.0, queries=50, depth=100)
    model = "intfloat/multilingual-e5-large"
    flat = Dense(DenseParameters(model=model)).estimate(work)
    hnsw = Dense(DenseParameters(model=model, index="hnsw")).estimate(work)
    assert flat.memory is not None
    assert hnsw.memory is not None
    # 2 · 1,025 + 4 · (64 + 32/31) + 28 = 2,338 bytes a vector: 218 GiB, and half as much again while it grows.
    graph = 100e6 * (2050 + 4 * (64 + 32 / 31) + 28)
    assert graph / 2**30 == pytest.approx(217.8, rel=0.001)
    assert hnsw.memory - flat.memory == pytest.approx(1.5 * graph + 100e6 * 56, rel=0.001)
    assert hnsw.index.disk == pytest.approx(graph)
    # 27 doublings · 100 candidates · (6e-8 + 1,024 · 2.6e-9) s for each: 727,000 s.
    assert hnsw.index.seconds == pytest.approx(100e6 * 26.575 * 100 * (6e-8 + 1024 * 2.6e-9), rel=0.001)
    assert hnsw.disk == flat.disk + round(graph) if flat.disk else False


def _timed(path: Path, pattern: str, seconds: float) -> None:
    for meta in (path.parent / "cache").glob(pattern):
        told = json.loads(meta.read_text())
        told["seconds"] = seconds
        meta.write_text(json.dumps(told))


POOL = """\
name: timed
corpus: {path: corpus.jsonl}
queries: {path: queries.tsv}
systems:
  bm25s: {retriever: bm25s}
  other: {retriever: bm25s, k1: 1.5}
"""


def _tiny(folder: Path, passages: int = 40) -> Path:
    rows = [json.dumps({"doc_id": f"d{i}", "text": f"the ferry number {i} leaves at noon"}) for i in range(passages)]
    (folder / "corpus.jsonl").write_text("\n".join(rows) + "\n")
    (folder / "queries.tsv").write_text("q1\twhen does the ferry leave\n")
    (folder / "pool.yaml").write_text(POOL)
    return folder / "pool.yaml"


def test_a_sidecar_says_how_long_its_artifact_took_without_those_it_is_made_from(tmp_path: Path) -> None:
    import time

    builder = ArtifactBuilder(Workspace(tmp_path), {"collection": "x"}, Listener())
    inner, outer = tmp_path / "inner", tmp_path / "outer"

    def within(path: Path) -> dict[str, int]:
        time.sleep(0.4)
        path.write_text("1")
        return {}

    def around(path: Path) -> dict[str, int]:
        builder.ensure("inner", inner, {"a": 1}, within)
        path.write_text("2")
        return {}

    builder.ensure("outer", outer, {"b": 1}, around)
    told = {path.name: json.loads(sidecar(path).read_text()) for path in (inner, outer)}
    assert told["inner"]["seconds"] >= 0.4
    assert 0 <= told["outer"]["seconds"] < told["inner"]["seconds"]
    assert told["outer"]["key"] == {"b": 1}


def test_work_that_was_gone_on_with_tells_no_time(tmp_path: Path) -> None:
    builder = ArtifactBuilder(Workspace(tmp_path), {}, Listener())
    (tmp_path / "half").mkdir()
    builder.ensure("half", tmp_path / "half", {"a": 1}, lambda path: {}, resumable=True)
    builder.ensure("whole", tmp_path / "whole", {"a": 1}, lambda path: {}, resumable=True)
    assert "seconds" not in json.loads(sidecar(tmp_path / "half").read_text())
    assert "seconds" in json.loads(sidecar(tmp_path / "whole").read_text())


def test_times_follow_what_stages_of_this_workspace_took(tmp_path: Path) -> None:
    path = _tiny(tmp_path)

    def index(found: Plan, run_tag: str) -> tuple[float, float, float]:
        part = next(part for part in _system(found, run_tag).parts if part.stage == "index")
        assert part.seconds is not None
        return part.seconds

    low, middle, high = index(plan(path), "bm25s")
    # Nothing measured: three and a half times less or more.
    assert (middle / low, high / middle) == (pytest.approx(3.5), pytest.approx(3.5))
    build(path, Listener(), only=["bm25s"])
    _timed(path, "indexes/*.meta.json", 100.0)
    found = plan(path)
    low, middle, high = index(found, "bm25s")
    # The index of the same passages took 100 s: it would take so long again, 1.5 times less or more.
    assert middle == pytest.approx(100)
    assert (low, high) == (pytest.approx(100 / 1.5), pytest.approx(150))
    # One of other settings is like it: 2.5 times less or more.
    low, middle, high = index(found, "other")
    assert 30 < middle < 300
    assert (middle / low, high / middle) == (pytest.approx(2.5), pytest.approx(2.5))
    assert found.measured >= 2
    # Of ten times as many passages about ten times as long, though the corpus is another one.
    _tiny(tmp_path, 400)
    low, middle, high = index(plan(path), "bm25s")
    assert 500 < middle < 2000


def test_the_report_shows_ranges_and_the_data_both_ends(tmp_path: Path) -> None:
    path = _tiny(tmp_path)
    build(path, Listener(), only=["bm25s"])
    _timed(path, "indexes/*.meta.json", 100.0)
    (tmp_path / "runs" / "bm25s.trec.gz").unlink()
    found = plan(path, only=["bm25s"])
    data = as_data(found)
    (system,) = data["systems"]
    assert system["seconds_low"] < system["seconds"] < system["seconds_high"]
    assert {"seconds", "seconds_low", "seconds_high"} <= set(data["total"]) & set(data["corpora"][0])
    row = next(row for row in tables(found)[0].rows if row[0] == "bm25s")
    assert row[5] == "66.7 s to 2.5 min"


def test_the_run_of_a_fusion_is_planned(made: tuple[Path, Plan]) -> None:
    path, before = made
    (part,) = (part for part in _system(before, "rrf").parts if part.disk)
    real = (path.parent / "runs" / "rrf.trec.gz").stat().st_size
    assert real / 1.5 < part.disk < 1.5 * real
