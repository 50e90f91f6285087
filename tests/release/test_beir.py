"""BEIR's own loader reads back what was written, whatever the ids."""

from __future__ import annotations

import gc
import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from quati_pool.errors import QuatiPoolError
from quati_pool.release.beir import Beir, BeirParameters
from quati_pool.release.manifest import verify
from quati_pool.release.state import Release
from tests.release.small_release import (
    HARD_IDS,
    HOSTILE,
    IDS,
    by_query,
    contents,
    graded_pairs,
    grid,
    pairs_of,
    release_of,
)


def exported(release: Release, folder: Path, **parameters: Any) -> dict[str, Any]:
    folder.mkdir()
    return Beir(BeirParameters(**parameters)).write(release, folder)


def loaded(
    folder: Path, split: str = "test"
) -> tuple[dict[str, dict[str, str]], dict[str, str], dict[str, dict[str, int]]]:
    """What BEIR's loader reads; it asks for a notebook's progress bar, and leaves its files to be collected.
    beir brings torch."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Using `tqdm.autonotebook.tqdm`")
        warnings.filterwarnings("ignore", "unclosed file", ResourceWarning)
        from beir.datasets.data_loader import GenericDataLoader

        read = GenericDataLoader(str(folder)).load(split=split)
        gc.collect()
    corpus, queries, qrels = read
    return corpus, queries, qrels


@pytest.mark.neural
def test_hard_ids_and_hostile_passages_read_back_equal(tmp_path: Path) -> None:
    grades = grid()
    texts = dict(zip(HARD_IDS, HOSTILE, strict=False))
    release = release_of(tmp_path, {"gpt": grades}, texts)
    counts = exported(release, tmp_path / "out")
    corpus, queries, qrels = loaded(tmp_path / "out")
    assert qrels == by_query(grades)
    assert queries == {query_id: f"what is {query_id}?" for query_id in HARD_IDS}
    assert corpus == {doc_id: {"text": text, "title": ""} for doc_id, text in release.passages()}
    assert (counts["passages"], counts["queries"], counts["pairs"]) == (
        len(HARD_IDS),
        len(HARD_IDS),
        {"gpt": len(grades)},
    )
    assert verify(tmp_path / "out") == []


@pytest.mark.neural
@settings(max_examples=15, deadline=None)
@given(graded_pairs(IDS), graded_pairs(IDS))
def test_any_ids_read_back_equal(
    tmp_path_factory: pytest.TempPathFactory, first: dict[tuple[str, str], int], second: dict[tuple[str, str], int]
) -> None:
    folder = tmp_path_factory.mktemp("beir")
    exported(release_of(folder, {"gpt": first, "ana": second}), folder / "out")
    assert loaded(folder / "out")[2] == by_query(first)
    assert loaded(folder / "out", "ana")[2] == by_query(second)


def test_the_layout_is_beirs(tmp_path: Path) -> None:
    release = release_of(tmp_path, {"gpt": {("q1", "d1"): 3}, "ana": {("q1", "d2"): 0}}, narratives={"q1": "why"})
    exported(release, tmp_path / "out")
    files = contents(tmp_path / "out")
    assert sorted(files) == ["MANIFEST.json", "corpus.jsonl", "qrels/ana.tsv", "qrels/test.tsv", "queries.jsonl"]
    assert files["qrels/test.tsv"] == b"query-id\tcorpus-id\tscore\nq1\td1\t3\n"
    assert files["qrels/ana.tsv"] == b"query-id\tcorpus-id\tscore\nq1\td2\t0\n"
    assert files["queries.jsonl"] == b'{"_id": "q1", "text": "what is q1?", "metadata": {"narrative": "why"}}\n'
    assert files["corpus.jsonl"].startswith(b'{"_id": "d1", "title": "", "text": "the text of d1"}\n')


def test_a_querys_cluster_is_metadata(tmp_path: Path) -> None:
    release = release_of(tmp_path, {"gpt": {("q1", "d1"): 3, ("q2", "d1"): 0}}, clusters={"q1": "far north"})
    exported(release, tmp_path / "out")
    rows = (tmp_path / "out" / "queries.jsonl").read_bytes().splitlines()
    assert [json.loads(row)["metadata"] for row in rows] == [{"cluster_id": "far north"}, {}]


@pytest.mark.neural
def test_an_ungraded_pair_has_no_row_and_a_passage_stays(tmp_path: Path) -> None:
    release = release_of(tmp_path, {"gpt": {("q1", "d1"): 0}}, extra_pairs=[("q1", "d2"), ("q2", "d1")])
    exported(release, tmp_path / "out")
    corpus, _, qrels = loaded(tmp_path / "out")
    assert qrels == {"q1": {"d1": 0}}
    assert set(corpus) == {"d1", "d2"}


@pytest.mark.neural
def test_a_further_labeler_named_as_the_split_gets_another_file(tmp_path: Path) -> None:
    release = release_of(tmp_path, {"gpt": {("q1", "d1"): 3}, "Dev": {("q1", "d1"): 1}, "../x": {("q1", "d1"): 2}})
    counts = exported(release, tmp_path / "out", split="dev")
    assert counts["splits"]["dev"] == "gpt"
    named = {labeler: split for split, labeler in counts["splits"].items()}
    assert loaded(tmp_path / "out", named["gpt"])[2] == {"q1": {"d1": 3}}
    assert loaded(tmp_path / "out", named["Dev"])[2] == {"q1": {"d1": 1}}
    assert loaded(tmp_path / "out", named["../x"])[2] == {"q1": {"d1": 2}}
    assert len({split.lower() for split in named.values()}) == 3
    assert not (tmp_path / "x.tsv").exists()


def test_a_graded_document_that_the_corpus_lacks_is_named(tmp_path: Path) -> None:
    release = release_of(tmp_path, {"gpt": {("q1", "d1"): 3, ("q1", "d2"): 1}}, passages=lambda: [("d1", "text")])
    with pytest.raises(QuatiPoolError) as caught:
        exported(release, tmp_path / "out")
    assert str(caught.value) == (
        "labeler 'gpt' grades doc_id 'd2', which the corpus does not hold (1 such documents); "
        "name the corpus that was graded in pool.yaml, or drop these grades"
    )


def test_passages_are_streamed(tmp_path: Path) -> None:
    """Each passage is on its way to the file before many more are asked for."""
    path = tmp_path / "out" / "corpus.jsonl"
    behind = []

    def passages() -> Any:
        for number in range(20_000):
            if number % 5_000 == 4_999:
                behind.append(number - path.read_bytes().count(b"\n"))
            yield f"d{number}", "x" * 100

    exported(release_of(tmp_path, {"gpt": {("q1", "d1"): 3}}, passages=passages), tmp_path / "out")
    assert behind
    assert max(behind) < 1_000
    assert len(path.read_bytes().splitlines()) == 20_000


def test_the_qrels_of_the_release_and_of_the_file_agree(tmp_path: Path) -> None:
    release = release_of(tmp_path, {"gpt": {("q1", "d1"): 3, ("q2", "d1"): 0}})
    exported(release, tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "MANIFEST.json").read_text(encoding="utf-8"))
    assert manifest["files"]["qrels/test.tsv"]["rows"] == len(pairs_of(release.labelers[0].qrels)) == 2
