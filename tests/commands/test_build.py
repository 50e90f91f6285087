"""The command build from end to end: what it writes, what it reuses, what it builds again and why."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from quati_pool import __version__
from quati_pool.errors import QuatiPoolError
from quati_pool.project.config import load_config
from quati_pool.project.inputs import load_queries
from quati_pool.reporting.json_data.build import as_data
from tests.commands.small_collection import (
    POOL_DEPTH,
    QUERIES,
    RUN_DEPTH,
    SYSTEMS,
    built,
    changed_system,
    config,
    drawn,
    environment,
    leftovers,
    make_collection,
    passages,
    products,
    read_pool,
    read_trec,
    run_cli,
    sidecar,
    write_corpus,
    write_queries,
    write_settings,
)

REPORTS = ["diversity.json", "diversity.md", "diversity.tex", "overlap.png", "overlap.svg"]
ALL_REPORTS = {f"report {name}" for name in REPORTS}
POOL = {"pool", *ALL_REPORTS}
FED = {tag: system.get("pool_depth", POOL_DEPTH) for tag, system in SYSTEMS.items() if tag != "theirs"}


def runs_of(folder: Path) -> dict[str, dict[str, list[tuple[str, int, float]]]]:
    return {tag: read_trec(folder / "runs" / f"{tag}.trec.gz") for tag in SYSTEMS}


# ---- what a build writes


def test_every_file_and_sidecar(finished: Path) -> None:
    runs = [f"runs/{tag}.trec.gz" for tag in SYSTEMS]
    deep = [f"cache/candidates/{tag}.trec.gz" for tag in ("bm25s", "combmnz", "rrf")]
    reports = [f"reports/{name}" for name in REPORTS]
    assert sorted(products(finished)) == sorted([*runs, *deep, "pool.jsonl.gz", *reports])
    folders = [*finished.glob("cache/corpus/*"), *finished.glob("cache/indexes/*")]
    assert sorted(path.name.split("-")[0] for path in folders if path.is_dir() and "corpus" not in path.parts) == [
        "bm25s",
        "bm25s",
        "lsa",
    ]
    assert not leftovers(finished)
    for name in products(finished):
        meta = sidecar(finished / name)
        assert meta["tool"] == f"quati-pool {__version__}"
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", meta["created"])
        assert (meta["collection"], meta["seed"]) == ("small", 0)
        assert meta["config"] == hashlib.sha256((finished / "pool.yaml").read_bytes()).hexdigest()
        assert meta["content"] == {"sha256": hashlib.sha256((finished / name).read_bytes()).hexdigest()}
        assert meta["key"]


def test_counts_in_sidecars(finished: Path) -> None:
    for tag, run in runs_of(finished).items():
        counts = {"documents": sum(map(len, run.values())), "queries": len(run)}
        # Ranks can contradict scores only in a file of the user.
        given = {"rank_contradictions": {"queries": 0, "rows": 0}} if tag == "theirs" else {}
        assert sidecar(finished / "runs" / f"{tag}.trec.gz")["counts"] == counts | given
    pool = read_pool(finished)
    assert sidecar(finished / "pool.jsonl.gz")["counts"] == {
        "pairs": len(pool), "queries": len(QUERIES), "without_text": 0,
    }  # fmt: skip
    (store,) = (path for path in finished.glob("cache/corpus/*") if path.is_dir())
    meta = sidecar(store)
    assert meta["counts"] == {"passages": 60}
    assert meta["content"] == {"files": {path.name: path.stat().st_size for path in store.iterdir()}}


def test_a_folder_has_a_sidecar_of_its_inputs(finished: Path) -> None:
    (store,) = (path for path in finished.glob("cache/corpus/*") if path.is_dir())
    corpus = hashlib.sha256((finished / "corpus.jsonl").read_bytes()).hexdigest()
    assert sidecar(store)["key"]["files"] == [[".jsonl", corpus]]


def test_gzip_files_hold_no_time_and_no_name(finished: Path) -> None:
    packed = [data for name, data in products(finished).items() if name.endswith(".gz")]
    assert {data[3:8] for data in packed} == {b"\0\0\0\0\0"}


def test_the_pool_is_what_the_runs_say(finished: Path) -> None:
    runs = runs_of(finished)
    texts = passages()
    extra = [("q1", "p59"), ("007", "p00")]
    expected = []
    for query_id, query in QUERIES.items():
        wanted = {
            doc_id for tag, depth in FED.items() for doc_id, rank, _ in runs[tag].get(query_id, []) if rank <= depth
        }
        added = {doc_id for asked, doc_id in extra if asked == query_id} - wanted
        for doc_id in sorted(wanted | added):
            # Every rank there is: deeper than the pool, and of systems that do not feed it.
            ranks = {tag: rank for tag in SYSTEMS for other, rank, _ in runs[tag].get(query_id, []) if other == doc_id}
            expected.append(
                {
                    "query_id": query_id,
                    "doc_id": doc_id,
                    "query": query,
                    "text": texts[doc_id],
                    "runs": ranks,
                    "round": 1,
                    "reason": "extra" if doc_id in added else "depth",
                    "inclusion": 1.0,
                }
            )
    found = read_pool(finished)
    assert found == expected
    assert [list(pair) for pair in found] == [list(pair) for pair in expected]
    # The collection is such that all of this says something.
    assert any("theirs" in pair["runs"] for pair in found)
    assert any(rank > POOL_DEPTH for pair in found for rank in pair["runs"].values())
    assert {pair["reason"] for pair in found} == {"depth", "extra"}


def test_runs_hold_at_most_run_depth_in_trec_order(finished: Path) -> None:
    for tag, run in runs_of(finished).items():
        assert list(run) == [query_id for query_id in QUERIES if query_id in run], tag
        for rows in run.values():
            assert [rank for _, rank, _ in rows] == list(range(1, len(rows) + 1))
            assert len(rows) <= RUN_DEPTH
            assert rows == sorted(rows, key=lambda row: (row[2], row[0]), reverse=True)
    assert max(map(len, runs_of(finished)["bm25s"].values())) == RUN_DEPTH


def test_candidates_go_as_deep_as_their_reader_and_begin_as_the_run_does(finished: Path) -> None:
    for tag, depth in {"bm25s": 30, "rrf": 12, "combmnz": 12}.items():
        deep = read_trec(finished / "cache" / "candidates" / f"{tag}.trec.gz")
        assert RUN_DEPTH < max(map(len, deep.values())) <= depth
        assert {query_id: rows[:RUN_DEPTH] for query_id, rows in deep.items()} == runs_of(finished)[tag]


def test_a_two_stage_system_ranks_documents_of_its_first_stage(finished: Path) -> None:
    deep = read_trec(finished / "cache" / "candidates" / "bm25s.trec.gz")
    reranked = runs_of(finished)["bm25s-lsa"]
    beyond = 0
    for query_id, rows in reranked.items():
        first = [doc_id for doc_id, _, _ in deep[query_id]]
        assert {doc_id for doc_id, _, _ in rows} <= set(first)
        beyond += sum(first.index(doc_id) >= RUN_DEPTH for doc_id, _, _ in rows)
    assert beyond, "no document from beyond run_depth came up"


def test_json_of_build(finished: Path) -> None:
    result, _ = built(finished / "pool.yaml")
    assert result is not None
    data = json.loads((finished / "reports" / "diversity.json").read_text(encoding="utf-8"))
    assert data == json.loads(json.dumps(as_data(result)))
    assert {"systems", "pool"} <= data.keys()
    runs, pool = runs_of(finished), read_pool(finished)
    pairs = {
        tag: {(q, doc) for q, rows in runs[tag].items() for doc, rank, _ in rows if rank <= depth}
        for tag, depth in FED.items()
    }
    assert [system["run_tag"] for system in data["systems"]] == list(FED)
    for system in data["systems"]:
        ours = pairs[system["run_tag"]]
        alone = ours.difference(*(other for tag, other in pairs.items() if tag != system["run_tag"]))
        assert (system["returned"], system["unique"]) == (len(ours), len(alone))
        assert system["unique_share"] == pytest.approx(len(alone) / len(ours))
    union = set().union(*pairs.values())
    unique = sum(system["unique"] for system in data["systems"])
    shares = [system["unique_share"] for system in data["systems"]]
    assert data["pool"]["pairs"] == len(pool)
    assert data["pool"]["queries"] == len(QUERIES)
    assert data["pool"]["unique_pairs"] == unique
    assert data["pool"]["unique_share"] == pytest.approx(unique / len(union))
    assert data["pool"]["mean_unique_share"] == pytest.approx(sum(shares) / len(shares))
    assert data["pool"]["extra_pairs"] == len(pool) - len(union)
    assert data["undefined"] == {}


# ---- what a second build makes


def test_a_second_build_reuses_everything(workspace: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in workspace.rglob("*") if path.suffix != ".lock"}
    _, heard = built(workspace / "pool.yaml")
    runs = {f"run {tag}" for tag in SYSTEMS}
    deep = {f"candidates {tag}" for tag in ("bm25s", "rrf", "combmnz")}
    assert heard.reused() == {"corpus", *runs, *deep, "pool", "reports"}
    assert not heard.made()
    after = {path: path.stat().st_mtime_ns for path in workspace.rglob("*") if path.suffix != ".lock"}
    changed = {path.name for path in before if before[path] != after.get(path)}
    assert after.keys() == before.keys()
    assert changed <= {"locks", "workspace"}


def edit_passage(folder: Path) -> None:
    write_corpus(folder / "corpus.jsonl", passages() | {"p05": "A sailor bakes bread."})


def edit_query(folder: Path) -> None:
    write_queries(folder / "queries.tsv", QUERIES | {"q6": "tuning a violin"})


def edit_run_file(folder: Path) -> None:
    path = folder / "theirs.run"
    path.write_text(path.read_text(encoding="utf-8").replace(" 30.0 ", " 31.0 "), encoding="utf-8")


def edit_extra(folder: Path) -> None:
    (folder / "extra.tsv").write_text("q1\tp58\n", encoding="utf-8")


def comment(folder: Path) -> None:
    with (folder / "pool.yaml").open("a", encoding="utf-8") as file:
        file.write("# a comment\n")


def touch_all(folder: Path) -> None:
    for path in (*folder.glob("*.jsonl"), *folder.glob("*.tsv"), *folder.glob("*.run"), folder / "pool.yaml"):
        os.utime(path)


def settings(**changes: Any) -> Callable[[Path], object]:
    return lambda folder: write_settings(folder, config(**changes))


def without(run_tag: str) -> dict[str, Any]:
    return {tag: system for tag, system in SYSTEMS.items() if tag != run_tag}


RUNS_OF_BM25S = {"candidates bm25s", "run bm25s", "run bm25s-lsa", "candidates rrf", "run rrf", "run nested"}
RUNS_OF_COMBMNZ = {"candidates combmnz", "run combmnz", "run nested"}
RUNS_OF_LSA = {"run lsa", "run bm25s-lsa", "candidates rrf", "run rrf", *RUNS_OF_COMBMNZ}
EVERY_RUN = {"run words", "run theirs", *RUNS_OF_BM25S, *RUNS_OF_LSA}
INDEXES = {"index bm25s", "index lsa"}

CHANGES: dict[str, tuple[Callable[[Path], object], set[str], dict[str, str]]] = {
    "nothing but file times": (touch_all, set(), {}),
    "nothing but a comment in pool.yaml": (comment, set(), {}),
    "k1 of one system": (
        settings(systems=changed_system("bm25s", k1=1.2)),
        {"index bm25s", *RUNS_OF_BM25S, *POOL},
        {
            "candidates bm25s": "index.k1 was 0.9, is 1.2",
            "run bm25s": "candidates.index.k1 was 0.9, is 1.2",
            "candidates rrf": "input.bm25s.index.k1 was 0.9, is 1.2",
            "pool": "run.bm25s-lsa.input.bm25s.index.k1 was 0.9, is 1.2",
        },
    ),
    "dimensions of a reranker": (
        settings(systems=changed_system("bm25s-lsa", rerank={"with": "lsa", "dimensions": 9, "depth": 30})),
        {"index lsa", "run bm25s-lsa", *POOL},
        {"run bm25s-lsa": "index.dimensions was 8, is 9"},
    ),
    "depth of a reranker": (
        settings(systems=changed_system("bm25s-lsa", rerank={"with": "lsa", "dimensions": 8, "depth": 10})),
        # The fusions read no more of bm25s than before.
        {"candidates bm25s", "run bm25s", "run bm25s-lsa", *POOL},
        {"candidates bm25s": "depth was 30, is 10", "run bm25s-lsa": "input_depth was 30, is 10"},
    ),
    "k of a fusion": (
        settings(systems=changed_system("rrf", k=10)),
        {"candidates rrf", "run rrf", "run nested", *POOL},
        {"candidates rrf": "parameters.k was 60.0, is 10.0"},
    ),
    "text of one passage": (
        edit_passage,
        {"corpus", *INDEXES, *EVERY_RUN, *POOL},
        {"corpus": "not there yet", "run words": "corpus changed", "pool": "corpus.corpus changed"},
    ),
    "text of one query": (
        edit_query,
        EVERY_RUN | POOL,
        {"run lsa": "queries changed", "pool": "queries changed"},
    ),
    "a run file": (edit_run_file, {"run theirs", *POOL}, {"run theirs": "files changed"}),
    "the extra pairs": (edit_extra, POOL, {"pool": "extra changed"}),
    "pool depth": (
        settings(pool={"depth": 3, "extra": "extra.tsv"}),
        POOL,
        {"pool": "depth.bm25s was 4, is 3"},
    ),
    "pool_depth of one system": (
        settings(systems=changed_system("words", pool_depth=1)),
        POOL,
        {"pool": "depth.words was 2, is 1"},
    ),
    "pool: true": (
        settings(systems=changed_system("theirs", pool=True)),
        POOL,
        {"pool": "depth.theirs was 0, is 4"},
    ),
    "seed": (settings(seed=1), {"index lsa", *RUNS_OF_LSA, *POOL}, {"run lsa": "index.seed was 0, is 1"}),
    "run_depth": (
        settings(run_depth=7),
        # The candidates of bm25s stay: their depth is their reranker's.
        (EVERY_RUN | POOL) - {"candidates bm25s"},
        {
            "run words": "depth was 8, is 7",
            "run bm25s": "run_depth was 8, is 7",
            "run rrf": "candidates.input_depth was 8, is 7",
        },
    ),
    "a system less": (
        settings(systems=without("nested")),
        {"run rrf", "run combmnz", *POOL},
        {"pool": "depth.nested was 4, is absent"},
    ),
    "order of the systems": (settings(systems=dict(reversed(SYSTEMS.items()))), POOL, {}),
    "family of a system": (settings(systems=changed_system("lsa", family="latent")), ALL_REPORTS, {}),
    "name of the collection": (settings(name="renamed"), ALL_REPORTS, {}),
    "name of the file of extra pairs": (
        lambda folder: (
            shutil.copy(folder / "extra.tsv", folder / "more.tsv"),
            write_settings(folder, config(pool={"depth": POOL_DEPTH, "extra": "more.tsv"})),
        ),
        ALL_REPORTS,
        {},
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_remakes_what_depends_on_it_and_says_why(workspace: Path, tmp_path: Path, change: str) -> None:
    apply, expected, reasons = CHANGES[change]
    apply(workspace)
    _, heard = built(workspace / "pool.yaml")
    made = heard.made()
    assert made.keys() == expected, "\n".join(heard.lines)
    assert {what: made[what] for what in reasons} == reasons
    # The result is that of a workspace that never knew anything else.
    new = tmp_path / "new"
    new.mkdir()
    for path in workspace.iterdir():
        if path.is_file() and not path.name.startswith("pool.jsonl"):
            shutil.copy(path, new)
    built(new / "pool.yaml")
    found, expected_products = products(workspace), products(new)
    # Files of a system that is no more, or is read less deep, stay.
    assert change == "a system less" or found.keys() == expected_products.keys()
    assert {name: found[name] for name in expected_products} == expected_products
    _, heard = built(workspace / "pool.yaml")
    assert not heard.made()


def test_old_indexes_are_used_again(workspace: Path) -> None:
    write_settings(workspace, config(systems=changed_system("bm25s", k1=1.2)))
    built(workspace / "pool.yaml")
    write_settings(workspace, config())
    _, heard = built(workspace / "pool.yaml")
    assert heard.made().keys() == RUNS_OF_BM25S | POOL
    assert "index bm25s" in heard.reused()


UNREADABLE = "lsa.trec.gz.meta.json cannot be read"
CHANGED = "was changed since it was written"
DAMAGES: dict[str, tuple[str, str, set[str], str]] = {
    # file, what is done to it, what is built again, the reason given
    "run without sidecar": ("runs/lsa.trec.gz.meta.json", "delete", {"run lsa"}, "was not finished"),
    "sidecar cut off": (
        "runs/lsa.trec.gz.meta.json",
        "cut",
        {"run lsa"},
        "lsa.trec.gz.meta.json cannot be read",
    ),
    "sidecar of nothing": (
        "runs/lsa.trec.gz.meta.json",
        "null",
        {"run lsa"},
        "lsa.trec.gz.meta.json cannot be read",
    ),
    "sidecar without run": ("runs/lsa.trec.gz", "delete", {"run lsa"}, "not there yet"),
    "edited run": ("runs/lsa.trec.gz", "append", {"run lsa"}, CHANGED),
    "edited candidates": (
        "cache/candidates/rrf.trec.gz",
        "append",
        {"candidates rrf"},
        CHANGED,
    ),
    "edited pool": ("pool.jsonl.gz", "append", {"pool"}, CHANGED),
    "pool without sidecar": ("pool.jsonl.gz.meta.json", "delete", {"pool"}, "was not finished"),
    "report deleted": ("reports/diversity.md", "delete", {"report diversity.md"}, ""),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_built_again_and_nothing_else(finished: Path, workspace: Path, damage: str) -> None:
    name, deed, expected, reason = DAMAGES[damage]
    path = workspace / name
    if deed == "delete":
        path.unlink()
    elif deed == "cut":
        path.write_bytes(path.read_bytes()[:40])
    elif deed == "null":
        path.write_text("null", encoding="utf-8")
    else:
        path.write_bytes(path.read_bytes() + gzip.compress(b"q1 Q0 p00 9 0.5 lsa\n", mtime=0))
    _, heard = built(workspace / "pool.yaml")
    assert heard.made() == dict.fromkeys(expected, reason)
    assert products(workspace) == products(finished)


def test_a_damaged_store_or_index_is_built_again(finished: Path, workspace: Path) -> None:
    (store,) = workspace.glob("cache/corpus/*/passages.arrow")
    store.unlink()
    _, heard = built(workspace / "pool.yaml")
    assert heard.made() == {"corpus": CHANGED}
    (index,) = workspace.glob("cache/indexes/lsa-*/passages.npy")
    index.write_bytes(index.read_bytes()[:100])
    (workspace / "runs" / "lsa.trec.gz").unlink()
    _, heard = built(workspace / "pool.yaml")
    assert heard.made() == {"index lsa": CHANGED, "run lsa": "not there yet"}
    assert products(workspace) == products(finished)


def test_a_deleted_cache_is_built_again(finished: Path, workspace: Path) -> None:
    shutil.rmtree(workspace / "cache")
    _, heard = built(workspace / "pool.yaml")
    assert {"run lsa", "pool", "reports"} <= heard.reused()
    assert products(workspace) == products(finished)


def test_force_builds_everything_again(finished: Path, workspace: Path) -> None:
    _, heard = built(workspace / "pool.yaml", force=True)
    made = heard.made()
    assert made.keys() == {"corpus", *INDEXES, *EVERY_RUN, *POOL}
    assert {made[what] for what in made if not what.startswith("report")} == {"--force"}
    assert products(workspace) == products(finished)


def test_force_with_only(finished: Path, workspace: Path) -> None:
    _, heard = built(workspace / "pool.yaml", force=True, only=["lsa"])
    assert heard.made() == {"index lsa": "--force", "run lsa": "--force"}
    assert products(workspace) == products(finished)


# ---- --only


def test_only_leaves_the_pool_while_others_are_missing(fresh: Path) -> None:
    result, heard = built(fresh / "pool.yaml", only=["rrf"])
    assert result is None
    runs = {"candidates bm25s", "run bm25s", "run lsa", "candidates rrf", "run rrf"}
    assert heard.made().keys() == {"corpus", *INDEXES, *runs}
    assert heard.lines[-1] == ("pool: left as it was; still to build: words, bm25s-lsa, combmnz, nested, theirs")
    assert not (fresh / "pool.jsonl.gz").exists()
    assert not (fresh / "reports").exists()


def test_only_makes_the_pool_once_all_others_are_current(finished: Path, fresh: Path) -> None:
    built(fresh / "pool.yaml", only=["nested", "bm25s-lsa"])
    result, heard = built(fresh / "pool.yaml", only=["theirs"])
    assert result is not None
    assert heard.made().keys() == {"run theirs", *POOL}
    assert products(fresh) == products(finished)


def test_only_sees_that_another_system_is_stale(workspace: Path) -> None:
    write_settings(workspace, config(systems=changed_system("words", k1=2.0)))
    before = products(workspace)
    result, heard = built(workspace / "pool.yaml", only=["lsa"])
    assert result is None
    assert heard.lines[-1] == "pool: left as it was; still to build: words, combmnz, nested"
    assert products(workspace) == before


# ---- qrels


def test_table_by_relevance(workspace: Path) -> None:
    pool = [pair for pair in read_pool(workspace) if pair["reason"] == "depth"]
    grade = {(pair["query_id"], pair["doc_id"]): row % 3 for row, pair in enumerate(pool) if row % 5}
    qrels = "".join(f"{query_id} 0 {doc_id} {g}\n" for (query_id, doc_id), g in grade.items())
    (workspace / "gold.qrels").write_text(qrels, encoding="utf-8")
    result, heard = built(workspace / "pool.yaml", qrels=workspace / "gold.qrels")
    assert result is not None
    assert heard.made().keys() == ALL_REPORTS
    data = as_data(result)

    def row(name: str, chosen: Callable[[int], bool]) -> dict[str, Any]:
        some = [pair for pair in pool if chosen(grade.get((pair["query_id"], pair["doc_id"]), -1))]
        fed_by = [sum(rank <= FED.get(tag, 0) for tag, rank in pair["runs"].items()) for pair in some]
        unique = fed_by.count(1)
        return {"grade": name, "pairs": len(some), "unique": unique, "unique_share": unique / len(some)}

    exact = [row(str(g), lambda found, g=g: found == g) for g in range(3)]
    assert data["grades"] == [*exact, row("≥ 1", lambda found: found >= 1)]
    assert data["ungraded"] == len(pool) - len(grade) > 0
    assert "by relevance" in (workspace / "reports" / "diversity.md").read_text(encoding="utf-8")
    # Without grades the reports say again what they said.
    _, heard = built(workspace / "pool.yaml")
    assert heard.made().keys() == ALL_REPORTS


def test_labels_as_tsv_grade_as_well(workspace: Path) -> None:
    rows = [f"{pair['doc_id']}\t{pair['query_id']}\t3\n" for pair in read_pool(workspace)]
    (workspace / "labels.tsv").write_text("doc_id\tquery_id\trelevance\n" + "".join(rows), encoding="utf-8")
    result, _ = built(workspace / "pool.yaml", qrels=workspace / "labels.tsv")
    assert result is not None
    assert as_data(result)["ungraded"] == 0


# ---- several corpora


def two_corpora(folder: Path, small: dict[str, str]) -> Path:
    make_collection(folder)
    write_corpus(folder / "small.jsonl", small)
    systems = {
        "large": {"retriever": "bm25s", "corpus": "10M"},
        "small": {"retriever": "bm25s", "corpus": "1M"},
        "small-lsa": {"first": "small", "rerank": {"with": "lsa", "dimensions": 8, "depth": 8}},
        "both": {"fuse": ["large", "small"]},
    }
    corpora = {"10M": {"path": "corpus.jsonl"}, "1M": {"path": "small.jsonl"}}
    with_corpora = {key: value for key, value in config(systems=systems).items() if key != "corpus"}
    return write_settings(folder, with_corpora | {"corpora": corpora})


def test_two_corpora_share_their_ids(tmp_path: Path) -> None:
    small = {doc_id: text for doc_id, text in passages().items() if int(doc_id[1:]) % 4 == 0}
    path = two_corpora(tmp_path, small)
    _, heard = built(path)
    assert {"corpus 10M", "corpus 1M"} <= heard.made().keys()
    tags = ("large", "small", "small-lsa", "both")
    runs = {tag: read_trec(tmp_path / "runs" / f"{tag}.trec.gz") for tag in tags}
    assert {doc for rows in runs["small"].values() for doc, _, _ in rows} <= small.keys()
    pool = read_pool(tmp_path)
    assert [(pair["query_id"], pair["doc_id"]) for pair in pool] == sorted(
        {(pair["query_id"], pair["doc_id"]) for pair in pool},
        key=lambda pair: (list(QUERIES).index(pair[0]), pair[1]),
    )
    shared = [pair for pair in pool if {"large", "small"} <= pair["runs"].keys()]
    assert shared
    for pair in pool:
        assert pair["text"] == passages()[pair["doc_id"]]
        for tag, rank in pair["runs"].items():
            assert runs[tag][pair["query_id"]][rank - 1][0] == pair["doc_id"]


def test_two_texts_under_one_id_are_refused(tmp_path: Path) -> None:
    path = two_corpora(tmp_path, passages() | {"p59": "Something else."})
    with pytest.raises(QuatiPoolError) as error:
        built(path)
    assert str(error.value) == (
        "doc_id 'p59' has one text in corpus 10M and another in corpus 1M; a pool needs one text per doc_id: "
        "rename it in one of them"
    )
    assert not (tmp_path / "pool.jsonl.gz").exists()


def test_a_reranker_over_two_corpora_is_refused(tmp_path: Path) -> None:
    path = two_corpora(tmp_path, passages())
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("first: small", "first: both"), encoding="utf-8")
    with pytest.raises(QuatiPoolError, match="rerank the systems of one corpus before fusing them"):
        built(path)


# ---- queries


def asked(folder: Path, seed: int = 0, **queries: Any) -> list[str]:
    path = write_settings(folder, config(queries={"path": "queries.tsv", **queries}, seed=seed))
    return [query.query_id for query in load_queries(load_config(path)).queries]


def test_samples_of_one_seed_are_nested(fresh: Path) -> None:
    many = {f"n{number}": "bread" for number in range(200)}
    write_queries(fresh / "queries.tsv", many)
    draws = [asked(fresh, sample=size) for size in (1, 5, 50, 199, 200)]
    assert [len(draw) for draw in draws] == [1, 5, 50, 199, 200]
    for small, large in pairwise(draws):
        assert set(small) < set(large)
        # In the order of the file.
        assert large == [query_id for query_id in many if query_id in set(large)]
    assert asked(fresh, seed=1, sample=50) != draws[2]


def test_a_sample_does_not_depend_on_the_order_of_the_file(fresh: Path) -> None:
    many = {f"n{number}": "bread" for number in range(50)}
    write_queries(fresh / "queries.tsv", many)
    before = asked(fresh, sample=10)
    write_queries(fresh / "queries.tsv", dict(reversed(many.items())))
    assert asked(fresh, sample=10) == before[::-1]


def test_queries_by_id(fresh: Path) -> None:
    path = write_settings(fresh, config(queries={"path": "queries.tsv", "ids": ["7", "q1"]}, pool={"depth": 2}))
    _, heard = built(path)
    # In the order of the file; 007 is another query than 7.
    assert list(dict.fromkeys(pair["query_id"] for pair in read_pool(fresh))) == ["q1", "7"]
    # The run file holds the other queries too.
    strangers = f"4 queries are not of this collection and left out ({fresh / 'theirs.run'})"
    assert f"theirs: {strangers}" in heard.lines


def test_queries_that_nothing_answers_are_reported(fresh: Path) -> None:
    write_queries(fresh / "queries.tsv", {**QUERIES, "empty": "", "strange": "xylotomy"})
    result, _ = built(fresh / "pool.yaml")
    assert result is not None
    assert result.queries_without_pairs == ("empty", "strange")
    data = as_data(result)
    assert data["pool"]["queries_without_pairs"] == ["empty", "strange"]
    assert data["pool"]["queries"] == len(QUERIES)
    assert "2 queries have no pair (empty, strange)" in (fresh / "reports" / "diversity.md").read_text(encoding="utf-8")
    for tag in SYSTEMS:
        assert not {"empty", "strange"} & read_trec(fresh / "runs" / f"{tag}.trec.gz").keys()
    _, heard = built(fresh / "pool.yaml")
    assert not heard.made()


def test_a_system_that_returns_nothing(fresh: Path) -> None:
    write_queries(fresh / "queries.tsv", {"q1": "often", "strange": "xylotomy"})
    (fresh / "theirs.run").write_text("other Q0 p00 1 1.0 theirs\n", encoding="utf-8")
    systems = {
        "lsa": {"retriever": "lsa", "dimensions": 8},
        "theirs": {"retriever": "run", "path": "theirs.run"},
        "fused": {"fuse": ["theirs", "lsa"]},
        "nothing": {"fuse": ["theirs"]},
        "reranked": {"first": "theirs", "rerank": {"with": "lsa", "dimensions": 8}},
    }
    path = write_settings(fresh, config(systems=systems, pool={"depth": 2}))
    result, _ = built(path)
    assert result is not None
    data = as_data(result)
    shares = {system["run_tag"]: system["unique_share"] for system in data["systems"]}
    assert shares == {"lsa": 0, "theirs": None, "fused": 0, "nothing": None, "reranked": None}
    assert set(data["undefined"]) == {f"systems.{tag}.unique_share" for tag in ("theirs", "nothing", "reranked")}
    before = products(fresh)
    _, heard = built(path)
    assert not heard.made()
    assert products(fresh) == before
    # Read back from files, they are as they were in memory.
    built(path, force=True)
    assert products(fresh) == before


# ---- the same bytes


@pytest.mark.slow
def test_two_fresh_workspaces_have_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    found = []
    for threads in ("1", "2"):
        path = make_collection(tmp_path / threads)
        limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), threads)
        done = run_cli("build", "-c", path, env=environment(**limits, PYTHONHASHSEED=threads))
        assert done.returncode == 0, done.stderr
        found.append(products(path.parent))
    unpacked = [{name: gzip.decompress(data) for name, data in each.items() if name.endswith(".gz")} for each in found]
    assert unpacked[0] == unpacked[1]
    assert found[0] == found[1]
    # Built in this process among other builds, the same but for the figures, which were sketched.
    assert {name: data for name, data in found[0].items() if not drawn(name)} == {
        name: data for name, data in products(finished).items() if not drawn(name)
    }


def test_a_copied_workspace_is_current(finished: Path, tmp_path: Path) -> None:
    moved = Path(shutil.copytree(finished, tmp_path / "moved elsewhere"))
    _, heard = built(moved / "pool.yaml")
    assert not heard.made()


def test_blanks_and_accents_in_the_path(finished: Path, tmp_path: Path) -> None:
    path = make_collection(tmp_path / "coleção de São João [1]" / "meu trabalho")
    built(path)
    assert products(path.parent) == products(finished)


def test_from_another_folder(finished: Path, fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    built(Path("..") / fresh.name / "pool.yaml")
    assert products(fresh) == products(finished)
    assert not list(elsewhere.iterdir())
    monkeypatch.chdir(fresh)
    _, heard = built(Path("pool.yaml"))
    assert not heard.made()


def test_symlinked_inputs(finished: Path, fresh: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("corpus.jsonl", "queries.tsv", "theirs.run", "extra.tsv"):
        (fresh / name).rename(elsewhere / f"real-{name}")
        (fresh / name).symlink_to(elsewhere / f"real-{name}")
    built(fresh / "pool.yaml")
    assert products(fresh) == products(finished)
    write_corpus(elsewhere / "other.jsonl", passages() | {"p05": "A sailor bakes bread."})
    (fresh / "corpus.jsonl").unlink()
    (fresh / "corpus.jsonl").symlink_to(elsewhere / "other.jsonl")
    _, heard = built(fresh / "pool.yaml")
    assert "corpus" in heard.made()


def test_a_corpus_in_pieces_is_the_same_corpus(finished: Path, fresh: Path) -> None:
    lines = (fresh / "corpus.jsonl").read_bytes().splitlines(keepends=True)
    (fresh / "part-1.jsonl").write_bytes(b"".join(lines[:25]))
    (fresh / "part-2.jsonl.gz").write_bytes(gzip.compress(b"".join(lines[25:])))
    built(write_settings(fresh, config(corpus={"path": "part-*"})))
    mine = {name: data for name, data in products(fresh).items() if not name.startswith("reports/")}
    assert mine == {name: data for name, data in products(finished).items() if not name.startswith("reports/")}


# ---- on the command line


@pytest.mark.slow
def test_build_on_the_command_line(fresh: Path) -> None:
    done = run_cli("build", "--format", "json", cwd=fresh)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads((fresh / "reports" / "diversity.json").read_text(encoding="utf-8"))
    lines = done.stderr.splitlines()
    assert lines[0].startswith("corpus: built in ")
    assert lines[0].endswith(" s: 60 passages")
    assert lines[-1].startswith("reports: built ")
    assert sorted(lines[-1].removeprefix("reports: built ").split(", ")) == REPORTS
    again = run_cli("build", "--full", cwd=fresh)
    assert again.returncode == 0
    assert again.stdout.startswith("Pairs that only one system returned\n")
    assert all(line.endswith(": reused") for line in again.stderr.splitlines())
