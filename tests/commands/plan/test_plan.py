"""``build --plan``: what it knows, where from, and that it makes nothing."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_stores import contents

from quati_pool.commands.build import build
from quati_pool.commands.plan import corpora
from quati_pool.commands.plan.parts import PlannedSystem
from quati_pool.commands.plan.plan import Plan, plan
from quati_pool.errors import ConfigError, InputError
from quati_pool.files.artifacts import digest
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.project.inputs import corpus_key
from quati_pool.project.workspace import Workspace
from quati_pool.reporting.json_data.plan import as_data
from quati_pool.reporting.tables.plan import tables
from quati_pool.retrieval.bm25s import Bm25s
from quati_pool.retrieval.planning import Estimate
from quati_pool.retrieval.shards import Shards
from tests.shared_data import shared

POOL = """\
name: tiny
corpus: {path: corpus.jsonl}
queries: {path: queries.tsv}
systems:
  bm25s: {retriever: bm25s}
  lsa: {retriever: lsa, dimensions: 2}
  bm25s-lsa: {first: bm25s, rerank: {with: lsa, dimensions: 2, depth: 3}}
  rrf: {fuse: [bm25s, lsa], depth: 5}
"""
TEXTS = ["The ferry leaves the harbour at noon.", "Rye bread needs time.", "A comet passed at night."]


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    _corpus(tmp_path, TEXTS)
    (tmp_path / "queries.tsv").write_text("q1\twhen does the ferry leave\nq2\tbaking bread\n", encoding="utf-8")
    (tmp_path / "pool.yaml").write_text(POOL, encoding="utf-8")
    return tmp_path


def _corpus(folder: Path, texts: list[str]) -> Path:
    rows = [json.dumps({"doc_id": f"d{i}", "text": text}) + "\n" for i, text in enumerate(texts)]
    path = folder / "corpus.jsonl"
    path.write_text("".join(rows), encoding="utf-8")
    return path


def _with(folder: Path, text: str) -> Path:
    path = folder / "pool.yaml"
    path.write_text(POOL + text, encoding="utf-8")
    return path


def _system(found: Plan, run_tag: str) -> PlannedSystem:
    return next(system for system in found.systems if system.run_tag == run_tag)


def test_a_plan_makes_and_writes_nothing(tiny: Path) -> None:
    before = contents(tiny)
    found = plan(tiny / "pool.yaml")
    assert [system.run_tag for system in found.systems] == ["bm25s", "lsa", "bm25s-lsa", "rrf"]
    assert contents(tiny) == before
    build(tiny / "pool.yaml", Listener())
    before = contents(tiny)
    plan(tiny / "pool.yaml")
    assert contents(tiny) == before


def test_a_small_corpus_is_counted(tiny: Path) -> None:
    found = plan(tiny / "pool.yaml")
    (size,) = found.corpora
    # 37, 21 and 24 characters.
    assert (size.passages, size.characters, size.source, size.exact) == (3, 82 / 3, "counted", True)
    assert (found.queries, found.queries_from) == (2, "queries.tsv")
    # LSA: at most 3 vectors of 2 dimensions and terms; the fusion reads 2 queries · 5 documents · 2 runs.
    # Its run has 2 queries · 100 rows of 7 bytes at most; reading runs loads 100 MiB of libraries.
    assert _system(found, "rrf").estimate == Estimate(
        disk=1400,
        memory=100 * 2**20 + 20 * 200,
        seconds=20 * 0.5e-6,
        arithmetic=("rrf: at most 20 documents of 2 runs",),
    )


def test_what_was_built_is_seen_and_nothing_is_left(tiny: Path) -> None:
    path = tiny / "pool.yaml"
    assert all(system.left == 1 and system.there == () for system in plan(path).systems)
    build(path, Listener())
    found = plan(path)
    assert found.corpora[0].source == "its store"
    assert found.corpora[0].passages == 3
    assert found.corpora[0].characters == pytest.approx(82 / 3)
    assert {system.there for system in found.systems} == {("run current",)}
    assert (found.left.disk, found.left.seconds, found.left.encode) == (0, (0, 0, 0), 0)
    assert found.total.disk > 0
    for run in (tiny / "runs").glob("lsa*"):
        run.unlink()
    found = plan(path)
    assert _system(found, "lsa").there == ("index current",)
    assert _system(found, "bm25s").there == ("run current",)


def test_a_changed_parameter_makes_a_run_stale_in_the_plan(tiny: Path) -> None:
    path = tiny / "pool.yaml"
    build(path, Listener())
    path.write_text(POOL.replace("{retriever: bm25s}", "{retriever: bm25s, k1: 1.2}"), encoding="utf-8")
    found = plan(path)
    assert _system(found, "bm25s").there == ()
    assert _system(found, "rrf").there == ()
    assert _system(found, "lsa").there == ("run current",)


@pytest.mark.neural
def test_a_model_too_large_to_be_hashed_in_passing_is_planned(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A local model of more than some hundred megabytes, before the first build."""
    from tests.tiny_models import cross_encoder, dense

    dense.bert_folder(tiny / "model")
    cross_encoder.cross_encoder(tiny / "pairs")
    monkeypatch.setattr(corpora, "_HASHED", 1000)
    systems = "  dense: {retriever: dense, model: model}\n"
    systems += "  ce: {first: bm25s, rerank: {with: cross-encoder, model: pairs, depth: 3}}\n"
    found = plan(_with(tiny, systems))
    for run_tag, texts in (("dense", 3), ("ce", 6)):
        system = _system(found, run_tag)
        assert system.problem is None
        assert system.estimate is not None
        assert system.estimate.encode == texts
        assert system.estimate.flops is not None
        assert "model here" in system.there


@pytest.mark.neural
def test_two_models_are_each_said_to_be_here_or_not_and_passages_encoded_once(tiny: Path) -> None:
    from tests.tiny_models import dense

    dense.dpr(tiny / "question", "Question")
    dense.dpr(tiny / "context", "Context")
    systems = "  dpr: {retriever: dense, query_model: question, passage_model: context}\n"
    systems += "  other: {retriever: dense, query_model: ./gone, passage_model: context}\n"
    systems += "  yours: {retriever: dense, query_model: <yours>, passage_model: ./gone}\n"
    found = plan(_with(tiny, systems))
    assert _system(found, "dpr").there == ("query model here", "passage model here")
    assert _system(found, "other").there == ("query model not here", "passage model here")
    assert _system(found, "yours").there == ("query model: <yours>", "passage model not here")
    assert (_system(found, "dpr").shares, _system(found, "other").shares) == (None, "dpr")
    assert _system(found, "dpr").what == "dense question and context"


def test_what_two_systems_share_is_counted_once(tiny: Path) -> None:
    found = plan(tiny / "pool.yaml")
    assert _system(found, "bm25s-lsa").shares == "lsa"
    made = [part for tag in ("bm25s", "lsa") for part in _system(found, tag).parts]
    # Two runs more of 2 queries · 100 rows · 12 and (fused) 7 bytes, the store and the pool; but LSA's index only once.
    (store,) = found.stores
    assert store is not None
    assert found.pool is not None
    more = 2 * 100 * (12 + 7) + store.disk + found.pool.disk
    assert found.total.disk == sum(round(part.disk) for part in made) + more


def test_files_that_are_not_here_are_planned_by_the_config(tiny: Path) -> None:
    (tiny / "corpus.jsonl").unlink()
    (tiny / "queries.tsv").unlink()
    path = _with(tiny, "plan: {queries: 50, corpora: {corpus: {passages: 1000000, characters: 660}}}\n")
    found = plan(path)
    assert (found.queries, found.queries_from) == (50, "plan: in pool.yaml")
    assert (found.corpora[0].passages, found.corpora[0].characters) == (1_000_000, 660)
    estimate = _system(found, "lsa").estimate
    assert estimate is not None
    # Two dimensions of 4 bytes for a million passages and for some 400,000 terms, which are kept as text too.
    assert estimate.disk is not None
    assert 8_000_000 < estimate.disk < 20_000_000
    assert found.total.unknown == ()


def test_without_files_and_config_the_plan_says_what_is_missing(tiny: Path) -> None:
    (tiny / "corpus.jsonl").unlink()
    (tiny / "queries.tsv").unlink()
    data = as_data(plan(tiny / "pool.yaml"))
    assert data["queries"] is None
    assert data["corpora"][0]["passages"] is None
    assert data["undefined"]["corpora.corpus"] == (
        f"{tiny / 'corpus.jsonl'}: there is no such file; check the path; or give its size as  "
        "plan: {corpora: {corpus: {passages: 1000000, characters: 600}}}"
    )
    assert data["undefined"]["systems.bm25s"] == "the size of the corpus is not known"
    assert data["total"]["unknown"] == ["bm25s", "lsa", "bm25s-lsa", "rrf"]
    assert all(system["disk"] is None for system in data["systems"])


def test_a_sample_tells_how_many_queries_there_are(tiny: Path) -> None:
    (tiny / "queries.tsv").unlink()
    path = tiny / "pool.yaml"
    path.write_text(POOL.replace("queries.tsv", "queries.tsv, sample: 7"), encoding="utf-8")
    assert plan(path).queries == 7


LONG = [
    f"Passage number {i} tells of ferries, bread and comets, {'again and ' * (i % 9)}at length." for i in range(900)
]


def _jsonl(folder: Path) -> str:
    _corpus(folder, LONG)
    return "corpus.jsonl"


def _gzipped(folder: Path) -> str:
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(_corpus(folder, LONG).read_bytes()))
    return "corpus.jsonl.gz"


def _tsv(folder: Path) -> str:
    (folder / "corpus.tsv").write_text("".join(f"d{i}\t{text}\n" for i, text in enumerate(LONG)), encoding="utf-8")
    return "corpus.tsv"


def _parquet(folder: Path) -> str:
    table = pa.table({"doc_id": [f"d{i}" for i in range(len(LONG))], "text": LONG})
    pq.write_table(table, folder / "corpus.parquet")
    return "corpus.parquet"


def _trec(folder: Path) -> str:
    documents = [f"<DOC>\n<DOCNO>d{i}</DOCNO>\n<TEXT>\n{text}\n</TEXT>\n</DOC>\n" for i, text in enumerate(LONG)]
    (folder / "corpus.trec").write_text("".join(documents), encoding="utf-8")
    return "corpus.trec"


@pytest.mark.parametrize(
    "write", [_jsonl, _gzipped, _tsv, _parquet, _trec], ids=["jsonl", "gz", "tsv", "parquet", "trec"]
)
def test_a_large_corpus_is_estimated_from_its_beginning(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], str]
) -> None:
    monkeypatch.setattr(corpora, "_HEAD", 4000)
    name = write(tiny)
    path = tiny / "pool.yaml"
    path.write_text(POOL.replace("corpus.jsonl", name), encoding="utf-8")
    (size,) = plan(path).corpora
    assert size.source == f"estimated from the size of {name}"
    assert not size.exact
    assert size.passages is not None
    # The reader of gzip files takes more than it unpacks: of a file this small, much of it.
    assert size.passages == pytest.approx(len(LONG), rel=0.9 if name.endswith("gz") else 0.15)
    assert size.characters == pytest.approx(sum(map(len, LONG)) / len(LONG), rel=0.05)


def test_a_file_too_large_to_hash_in_passing_is_not_hashed(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "_HASHED", 10)
    found = plan(tiny / "pool.yaml")
    assert found.corpora[0].fingerprint is None
    assert found.corpora[0].passages == 3
    assert _system(found, "bm25s").estimate is not None


def test_a_broken_estimate_ends_its_own_row_only(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Any, work: Any) -> Estimate:
        raise ZeroDivisionError("of\nno use")

    monkeypatch.setattr(Bm25s, "estimate", broken)
    found = plan(tiny / "pool.yaml")
    assert _system(found, "bm25s").problem == "cannot be planned (ZeroDivisionError: of no use)"
    assert _system(found, "lsa").problem is None
    assert found.total.unknown == ("bm25s",)
    assert "cannot be planned (ZeroDivisionError: of no use)" in str(tables(found)[0].rows)


def test_encoded_passages_are_counted_and_the_rest_is_left(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = {"model": "mine"}
    monkeypatch.setattr(Bm25s, "encodings", lambda self: [("dense", key)], raising=False)
    monkeypatch.setattr(Bm25s, "estimate", lambda self, work: Estimate(encode=3, seconds=30.0, disk=300, memory=7))
    config, workspace = load_config(tiny / "pool.yaml"), Workspace(tiny)
    fingerprint = digest(corpus_key(config, "corpus", workspace))
    folder = workspace.encodings("dense", digest({"name": "dense", "corpus": fingerprint, **key}))
    Shards(folder).append(1, vectors=np.zeros((1, 4), dtype=np.float32))
    found = plan(tiny / "pool.yaml", only=["bm25s"])
    (system,) = found.systems
    assert system.there == ("1 of 3 encoded",)
    assert system.left == pytest.approx(2 / 3)
    # Two of three passages are left; the run of 2 queries · 100 rows · 12 bytes, and the corpus store, are all to do.
    (store,) = found.stores
    assert store is not None
    more = 2400 + store.disk
    assert (found.total.encode, found.total.disk) == (3, 300 + more)
    assert (found.left.encode, found.left.disk) == (2, 200 + more)
    assert system.seconds is not None
    assert system.seconds.middle == 30
    assert found.total.seconds.middle - found.left.seconds.middle == pytest.approx(10)


def test_only_plans_what_is_named_and_what_it_needs(tiny: Path) -> None:
    assert [system.run_tag for system in plan(tiny / "pool.yaml", only=["rrf"]).systems] == ["bm25s", "lsa", "rrf"]
    with pytest.raises(ConfigError, match=r"--only lsx: no such system; did you mean 'lsa'\?"):
        plan(tiny / "pool.yaml", only=["lsx"])


def test_a_planned_corpus_must_be_one_of_the_collection(tiny: Path) -> None:
    path = _with(tiny, "plan:\n  corpora: {corpsu: {passages: 5, characters: 10}}\n")
    with pytest.raises(
        InputError, match=r"pool.yaml:10: plan.corpora.corpsu: there is no corpus 'corpsu'; did you mean"
    ):
        load_config(path)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("plan: {queries: 0}", "expected at least 1, not 0"),
        ("plan: {query: 5}", "did you mean 'queries'"),
        ("plan: {corpora: {corpus: {passages: 5}}}", "characters"),
        ("plan: 7", "expected keys and their values"),
    ],
    ids=["no-query", "typo", "half", "number"],
)
def test_a_plan_section_is_checked(tiny: Path, given: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_config(_with(tiny, given + "\n"))


def test_data_has_a_reason_for_every_null(tiny: Path) -> None:
    found = plan(tiny / "pool.yaml")
    bare = replace(found.systems[0], estimate=Estimate(), seconds=None)
    data = as_data(replace(found, systems=(bare,)))
    (system,) = data["systems"]
    nulls = {name for name in ("disk", "memory", "seconds", "gpu_hours", "cost") if system[name] is None}
    assert nulls == {"disk", "memory", "seconds", "gpu_hours", "cost"}
    assert {f"systems.bm25s.{name}" for name in nulls} <= set(data["undefined"])


def test_every_null_has_its_reason(tiny: Path) -> None:
    more = "  ours: {retriever: dense, model: no/body}\n  sent: {retriever: openai-embedding, model: nobodys}\n"
    (tiny / "pool.yaml").write_text(POOL + more, encoding="utf-8")
    _all_reasoned(as_data(plan(tiny / "pool.yaml")))
    _all_reasoned(as_data(plan(tiny / "pool.yaml", only=["lsa"])))
    (tiny / "queries.tsv").unlink()
    (tiny / "corpus.jsonl").unlink()
    _all_reasoned(as_data(plan(tiny / "pool.yaml")))


def _all_reasoned(data: dict[str, Any]) -> None:
    reasons = data["undefined"]
    for system in data["systems"]:
        place = f"systems.{system['run_tag']}"
        for name in set(system) - {"shares", "problem", "seconds_low", "seconds_high"}:
            assert system[name] is not None or place in reasons or f"{place}.{name}" in reasons, (place, name)
    assert data["pool"]["disk"] is not None or "pool" in reasons
    assert all(size["disk"] is not None or f"corpora.{size['name']}" in reasons for size in data["corpora"])


def test_a_model_still_to_be_named_takes_the_time_of_index_and_search_too(tiny: Path) -> None:
    more = "  sp: {retriever: splade, model: <yours>}\n  co: {retriever: colbert, model: <yours>, index: ivf}\n"
    more += "  jar: {retriever: splade, model: <yours>, search: lucene}\n"
    (tiny / "pool.yaml").write_text(POOL + more, encoding="utf-8")
    systems = {system.run_tag: system for system in plan(tiny / "pool.yaml").systems}
    for run_tag in ("sp", "co", "jar"):
        # Every part is a range, none of it negative: before, index and search were taken from the encoding.
        for part in systems[run_tag].parts:
            assert part.seconds is not None
            assert 0 <= part.seconds.low <= part.seconds.middle <= part.seconds.high
    inverted, lucene = systems["sp"].seconds, systems["jar"].seconds
    assert inverted is not None
    assert lucene is not None
    assert lucene.middle - inverted.middle > 2.9  # Java's start, 3 s


def test_a_run_from_a_file_is_read_whole(tiny: Path) -> None:
    (tiny / "pool.yaml").write_text(POOL + "  theirs: {retriever: run, path: theirs.trec}\n", encoding="utf-8")
    absent = next(system for system in plan(tiny / "pool.yaml").systems if system.run_tag == "theirs")
    assert absent.there == ("no file theirs.trec",)
    (tiny / "theirs.trec").write_text("q1 Q0 d1 1 2.5 theirs\n" * 1000, encoding="utf-8")
    here = next(system for system in plan(tiny / "pool.yaml").systems if system.run_tag == "theirs")
    assert here.there == ()
    assert here.estimate is not None
    # 1,000,000 rows of 24.4 MiB took 239 MiB and 1.6 s, however few are kept.
    assert here.estimate.memory == pytest.approx(22_000 * 239 / 24.4, rel=0.1)


def test_an_empty_file_of_a_large_corpus_is_passed_over(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "_HEAD", 100)
    (tiny / "empty.jsonl").write_text("")
    text = POOL.replace("path: corpus.jsonl", "path: [empty.jsonl, corpus.jsonl]")
    (tiny / "pool.yaml").write_text(text, encoding="utf-8")
    (size,) = plan(tiny / "pool.yaml").corpora
    assert size.passages == 3


# ---- the paper's systems


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    from quati_pool.commands.init import init

    path = init(tmp_path_factory.mktemp("paper"), paper=True)[-1]
    before = contents(path.parent)
    found = plan(path)
    assert contents(path.parent) == before
    return found


ISSUE = (
    *("bm25", "bm25-mt5-xl", "bm25-e5-large", "e5-large", "e5-base", "colbert-x", "splade-v2", "splade-v2-mt5-xl"),
    *("rrf-e5-large-colbert-x", "rrf-e5-large-splade-v2", "rrf-e5-large-bm25-mt5-xl"),
    *("ada-002", "3-small", "3-small-half", "3-large"),
)


def test_all_systems_of_the_paper_are_planned_on_both_corpora(paper: Plan) -> None:
    assert [system.run_tag for system in paper.systems] == [
        f"{name}-{size}" for size in ("1M", "10M") for name in ISSUE
    ]
    assert [(size.name, size.passages, size.characters) for size in paper.corpora] == [
        ("1M", 1_000_000, 1143),
        ("10M", 10_000_000, 1143),
    ]
    assert paper.queries == 50
    assert [system.problem for system in paper.systems] == [None] * 30
    assert all(system.estimate is not None and system.estimate.arithmetic for system in paper.systems)


def test_models_that_the_paper_does_not_name_are_for_the_user_to_name(paper: Plan) -> None:
    unnamed = {system.run_tag for system in paper.systems if "model: <yours>" in system.there}
    assert unnamed == {"colbert-x-1M", "splade-v2-1M", "colbert-x-10M", "splade-v2-10M"}


def test_figures_of_the_paper_by_hand(paper: Plan) -> None:
    def needs(run_tag: str) -> Estimate:
        estimate = _system(paper, run_tag).estimate
        assert estimate is not None
        return estimate

    # 1,143 characters ÷ 4 = 285.75 tokens a passage, at $0.02, 0.13 and 0.10 a million tokens.
    assert needs("3-small-1M").cost == pytest.approx(5.715, rel=0.01)
    assert needs("3-large-10M").cost == pytest.approx(371.475, rel=0.01)
    assert needs("ada-002-1M").cost == pytest.approx(28.575, rel=0.01)
    # 768 and 1,536 dimensions of 4 bytes.
    assert needs("3-small-half-1M").disk == pytest.approx(1e6 * 768 * 4, rel=0.02)
    assert needs("3-small-1M").disk == pytest.approx(1e6 * 1536 * 4, rel=0.02)
    assert needs("e5-large-1M").disk == pytest.approx(1e6 * 1024 * 4, rel=0.02)
    # E5-large: 2 · 302.0 M weights + 4 · 286 · 1024 · 24 = 632 MFLOP a token; with `passage: ` some tokens more.
    assert needs("e5-large-1M").flops == pytest.approx(1e6 * 285.75 * 632.1e6, rel=0.05)
    # 1.81e17 FLOP ÷ 156 TFLOP/s = 1,158 s.
    assert _system(paper, "e5-large-1M").gpu_hours == pytest.approx(1158 / 3600, rel=0.05)
    # 50 queries · 1,000 pairs.
    assert needs("bm25-mt5-xl-10M").encode == needs("bm25-mt5-xl-1M").encode == 50_000
    # 48 numbers of 2 bytes for each of 286 tokens of a million passages: 27 GB, and what an index adds.
    assert 27e9 < (needs("colbert-x-1M").disk or 0) < 60e9


def test_the_mean_length_in_the_papers_config_is_that_of_the_released_annotations() -> None:
    lines = shared("quati/annotator_01_240_annotations_with_questions.tsv").read_text("utf-8").splitlines()[1:]
    passages = {columns[3]: columns[2] for columns in (line.split("\t") for line in lines)}
    assert len(passages) == 239
    assert round(sum(map(len, passages.values())) / 239) == 1143
