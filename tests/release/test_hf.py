"""Hugging Face's ``datasets`` reads back what was written, offline, whatever the ids."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from quati_pool.release.about import ReleaseConfig
from quati_pool.release.hf import Hf, HfParameters
from quati_pool.release.manifest import verify
from quati_pool.release.parquet import ROWS
from quati_pool.release.state import Release
from tests.release.small_release import HARD_IDS, HOSTILE, IDS, contents, graded_pairs, labelled, pairs_of, release_of


def exported(release: Release, folder: Path, **parameters: Any) -> dict[str, Any]:
    folder.mkdir()
    return Hf(HfParameters(**parameters)).write(release, folder)


def loaded(folder: Path, name: str, split: str) -> list[dict[str, Any]]:
    from datasets import load_dataset

    rows = load_dataset(str(folder), name, split=split, cache_dir=str(folder.with_name("cache")))
    return [dict(row) for row in rows]


def grades_of(rows: list[dict[str, Any]]) -> dict[tuple[str, str], int]:
    assert all(list(row) == ["query_id", "doc_id", "relevance"] for row in rows)
    return {(row["query_id"], row["doc_id"]): row["relevance"] for row in rows}


def test_hard_ids_and_hostile_passages_read_back_equal(tmp_path: Path) -> None:
    ids = [*HARD_IDS, "#1"]
    first = {(query_id, doc_id): (i + j) % 4 for i, query_id in enumerate(ids) for j, doc_id in enumerate(ids)}
    second = {(query_id, "d"): 1 for query_id in ids}
    release = release_of(
        tmp_path, {"gpt": first, "../__x [*]": second}, dict(zip(ids, HOSTILE, strict=False)), narratives={"é": "---\n"}
    )
    counts = exported(release, tmp_path / "out")
    names = {labeler: config for config, labeler in counts["configurations"].items()}
    assert grades_of(loaded(tmp_path / "out", names["gpt"], "test")) == first
    assert names["gpt"] == "qrels-gpt"
    assert grades_of(loaded(tmp_path / "out", names["../__x [*]"], "test")) == second
    corpus = loaded(tmp_path / "out", "corpus", "corpus")
    assert corpus == [{"doc_id": doc_id, "text": text} for doc_id, text in release.passages()]
    queries = loaded(tmp_path / "out", "queries", "queries")
    assert queries == [
        {"query_id": query.query_id, "query": query.query, "narrative": query.narrative} for query in release.queries
    ]
    assert verify(tmp_path / "out") == []


def test_clusters_of_queries_are_a_column_where_there_are_any(tmp_path: Path) -> None:
    grades = {"gpt": {("q1", "d1"): 3, ("q2", "d1"): 0}}
    for name, clusters, expected in (("none", {}, None), ("some", {"q1": "far north"}, ["far north", None])):
        exported(release_of(tmp_path / name, grades, clusters=clusters), tmp_path / name / "out")
        (path,) = (tmp_path / name / "out" / "queries").glob("*.parquet")
        columns = pq.read_table(path).to_pydict()
        assert columns.get("cluster_id") == expected


@pytest.mark.parametrize("labeler", ["__x", "a+b", "josé", "7", "test", "corpus"])
def test_a_labelers_name_is_its_configuration(tmp_path: Path, labeler: str) -> None:
    exported(
        release_of(tmp_path, {labeler: {("q1", "d1"): 3}, labeler.upper() + "!": {("q1", "d1"): 0}}), tmp_path / "out"
    )
    assert grades_of(loaded(tmp_path / "out", f"qrels-{labeler}", "test")) == {("q1", "d1"): 3}


@settings(max_examples=8, deadline=None)
@given(graded_pairs(IDS))
def test_any_ids_read_back_equal(tmp_path_factory: pytest.TempPathFactory, grades: dict[tuple[str, str], int]) -> None:
    folder = tmp_path_factory.mktemp("hf")
    exported(release_of(folder, {"gpt": grades}), folder / "out")
    assert grades_of(loaded(folder / "out", "qrels-gpt", "test")) == grades


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_in_the_card_keeps_it_from_being_loaded(tmp_path: Path, text: str) -> None:
    about = ReleaseConfig(title=text, license=text or None, citation=text, languages=[text], url=text)
    gpt = labelled("gpt", {("q1", "d1"): 3}, definition={"model": text, "prompt": {"user": text + "\n"}})
    exported(release_of(tmp_path, [gpt], about=about), tmp_path / "out")
    assert grades_of(loaded(tmp_path / "out", "qrels-gpt", "test")) == {("q1", "d1"): 3}


def test_only_the_parts_that_were_written_are_there_to_load(tmp_path: Path) -> None:
    from datasets import get_dataset_config_names, get_dataset_split_names

    exported(release_of(tmp_path, {"gpt": {("q1", "d1"): 3}, "ana": {("q1", "d1"): 0}}), tmp_path / "out")
    names = get_dataset_config_names(str(tmp_path / "out"))
    assert names == ["corpus", "queries", "qrels-gpt", "qrels-ana"]
    splits = [get_dataset_split_names(str(tmp_path / "out"), name) for name in names]
    assert splits == [["corpus"], ["queries"], ["test"], ["test"]]


def test_the_corpus_is_cut_into_files_of_bounded_size_and_reads_back_whole(tmp_path: Path) -> None:
    texts = {f"d{number}": f"passage {number} " * 20 for number in range(3 * ROWS + 5)}
    release = release_of(tmp_path, {"gpt": {("q1", "d1"): 3}}, texts)
    exported(release, tmp_path / "out", shard_bytes=6_000_000)
    shards = sorted((tmp_path / "out" / "corpus").iterdir())
    assert [shard.name for shard in shards] == ["00000.parquet", "00001.parquet", "00002.parquet"]
    for shard in shards:
        meta = pq.read_metadata(shard)
        assert sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups)) <= 6_000_000
    manifest = json.loads((tmp_path / "out" / "MANIFEST.json").read_bytes())
    assert [manifest["files"][f"corpus/{shard.name}"]["rows"] for shard in shards] == [ROWS, ROWS, ROWS + 5]
    rows = loaded(tmp_path / "out", "corpus", "corpus")
    assert rows == [{"doc_id": doc_id, "text": text} for doc_id, text in release.passages()]


def test_an_ungraded_pair_has_no_row(tmp_path: Path) -> None:
    release = release_of(tmp_path, {"gpt": {("q1", "d1"): 0}}, extra_pairs=[("q1", "d2"), ("q2", "d1")])
    exported(release, tmp_path / "out")
    assert (
        grades_of(loaded(tmp_path / "out", "qrels-gpt", "test"))
        == {("q1", "d1"): 0}
        == pairs_of(release.labelers[0].qrels)
    )


def test_two_exports_of_one_state_are_byte_identical(tmp_path: Path) -> None:
    about = ReleaseConfig(title="A", license="mit", languages=["pt"])
    release = release_of(tmp_path, {"gpt": {(q, d): 1 for q in HARD_IDS for d in HARD_IDS}}, about=about)
    exported(release, tmp_path / "one")
    exported(release, tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_another_export_to_the_same_folder_is_not_read_from_the_cache(tmp_path: Path) -> None:
    for grade, text in ((3, "one"), (0, "one"), (0, "two")):
        release = release_of(tmp_path, {"gpt": {("q1", "d1"): grade}}, {"d1": text})
        exported(release, tmp_path / "out")
        assert grades_of(loaded(tmp_path / "out", "qrels-gpt", "test")) == {("q1", "d1"): grade}
        assert loaded(tmp_path / "out", "corpus", "corpus") == [{"doc_id": "d1", "text": text}]
        shutil.rmtree(tmp_path / "out")
