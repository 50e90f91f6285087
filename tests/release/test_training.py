"""Training data: what is positive, what is a hard negative, and that nothing leaks from split to split."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from quati_pool.files.pools import write_pool
from quati_pool.files.runs import write_run
from quati_pool.records import Ids, Query, Run
from quati_pool.release.errors import ReleaseError
from quati_pool.release.ltr import Ltr
from quati_pool.release.query_splits import SplitParameters, split_queries
from quati_pool.release.state import Release
from quati_pool.release.training import Training, TrainingParameters
from tests.release.small_release import Grades, contents, release_of

# Three queries apart, and q4 with a relevant passage of q3.
GRADES = {
    ("q1", "a"): 3, ("q1", "b"): 0, ("q1", "c"): 1, ("q1", "d"): 0, ("q1", "e"): 2, ("q1", "f"): 0,
    ("q2", "g"): 2, ("q2", "a"): 0,
    ("q3", "h"): 3, ("q3", "i"): 0,
    ("q4", "h"): 2, ("q4", "j"): 0,
}  # fmt: skip
TWO = {"train": 0.5, "test": 0.5}


def with_ranks(release: Release, ranks: dict[tuple[str, str], dict[str, int]]) -> Release:
    """The release with other ranks in its pool's ledger."""
    lines = [json.loads(line) for line in _lines(release)]
    write_pool(release.pool, [{**pair, "runs": ranks.get((pair["query_id"], pair["doc_id"]), {})} for pair in lines])
    return release


def _lines(release: Release) -> list[str]:
    import gzip

    return gzip.decompress(release.pool.read_bytes()).decode().splitlines()


def exported(release: Release, folder: Path, **parameters: Any) -> dict[str, Any]:
    folder.mkdir()
    return Training(TrainingParameters(**parameters)).write(release, folder)


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        row for path in folder.glob(f"{name}/*.parquet") for row in pq.read_table(path).to_pylist()
    ]
    return found


def test_triplets_and_pairs_and_their_keys(tmp_path: Path) -> None:
    release = release_of(tmp_path, {"ana": GRADES, "ignored": {("q1", "b"): 3}})
    counts = exported(release, tmp_path / "out", splits=TWO)
    triplets, keys = rows(tmp_path / "out", "triplets"), rows(tmp_path / "out", "keys/triplets")
    assert [list(row) for row in triplets[:1]] == [["query", "positive", "negative"]]
    for row, key in zip(triplets, keys, strict=True):
        assert row["query"] == f"what is {key['query_id']}?"
        assert row["positive"] == f"the text of {key['positive_id']}"
        assert row["negative"] == f"the text of {key['negative_id']}"
        assert GRADES[key["query_id"], key["positive_id"]] == key["positive_relevance"] >= 2
        assert GRADES[key["query_id"], key["negative_id"]] == key["negative_relevance"] == 0
    found = {(key["query_id"], key["positive_id"], key["negative_id"]) for key in keys}
    assert found == {
        *(("q1", positive, negative) for positive in "ae" for negative in "bdf"),
        ("q2", "g", "a"), ("q3", "h", "i"), ("q4", "h", "j"),
    }  # fmt: skip
    scores = {
        (key["query_id"], key["doc_id"]): (row["score"], key["relevance"], row["passage"])
        for row, key in zip(rows(tmp_path / "out", "pairs"), rows(tmp_path / "out", "keys/pairs"), strict=True)
    }
    assert {pair: score for pair, (score, *_) in scores.items()} == {pair: grade / 3 for pair, grade in GRADES.items()}
    assert counts["train_triplets"] + counts["test_triplets"] == len(triplets) == 9
    splits = dict(line.split("\t") for line in (tmp_path / "out" / "splits.tsv").read_text().splitlines())
    assert list(splits) == ["query_id", "q1", "q2", "q3", "q4"]
    assert splits["q3"] == splits["q4"], "a relevant passage of both would leak"
    assert "By the grades of ana: positives are graded 2 or more" in (tmp_path / "out" / "README.md").read_text()


def test_the_hardest_negatives_by_rule(tmp_path: Path) -> None:
    grades = {("q1", "a"): 3, **{("q1", doc_id): 0 for doc_id in "bcde"}}
    # 1/(60 + 9) · 3 > 1/61: c is high in three runs together, b in one; d is in none, e deep.
    ranks = {("q1", "b"): {"x": 1}, ("q1", "c"): {"x": 9, "y": 9, "z": 9}, ("q1", "e"): {"x": 50}}
    release = with_ranks(release_of(tmp_path, {"ana": grades}), ranks)

    def negatives(rule: str, seed: int = 0, negatives: int = 9) -> str:
        folder = tmp_path / f"{rule}-{seed}-{negatives}"
        exported(release, folder, splits={"train": 1}, rule=rule, seed=seed, negatives=negatives)
        return "".join(key["negative_id"] for key in rows(folder, "keys/triplets"))

    assert (negatives("fused"), negatives("best"), negatives("fused", negatives=2)) == ("cbed", "bced", "cb")
    drawn = {negatives("random", seed) for seed in range(8)}
    assert len(drawn) > 1
    assert all(sorted(order) == list("bcde") for order in drawn)


def test_a_negative_with_the_text_of_a_positive_is_none(tmp_path: Path) -> None:
    grades = {("q1", "a"): 3, ("q1", "b"): 0, ("q1", "c"): 0, ("q1", "d"): 2, ("q1", "e"): 0}
    texts = {"b": "the text of a", "e": " \n"}
    exported(release_of(tmp_path, {"ana": grades}, texts=texts), tmp_path / "out", splits={"train": 1})
    assert {key["negative_id"] for key in rows(tmp_path / "out", "keys/triplets")} == {"c"}


def test_the_same_export_has_the_same_bytes(tmp_path: Path) -> None:
    release = release_of(tmp_path, {"ana": GRADES})
    for name in ("one", "two"):
        exported(release, tmp_path / name, splits=TWO)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({}, "the split 'dev' would have no query: 4 graded queries form 3 groups of related ones, the largest of 2"),
        ({"positive": 4, "splits": TWO}, "no pair is graded 4 or more"),
        ({"positive": 1, "negative": 1, "splits": TWO}, "--set negative is not below --set positive"),
        ({"negative": -5, "splits": TWO}, "no pair is graded -5 or less; name .* with --set negative=0"),
    ],
)
def test_what_cannot_be_trained_on_is_refused(tmp_path: Path, parameters: dict[str, Any], problem: str) -> None:
    if not parameters:
        parameters = {"splits": {"train": 0.9, "test": 0.05, "dev": 0.05, "more": 0.05}}
        problem = problem.replace("'dev'", "'more'")
    with pytest.raises(ReleaseError, match=problem):
        exported(release_of(tmp_path, {"ana": GRADES}), tmp_path / "out", **parameters)


@pytest.mark.parametrize(
    ("grades", "problem"),
    [
        ({("q1", "a"): 1, ("q2", "b"): 1}, "no pair is graded 0 or less; grade passages that are not relevant, too"),
        ({("q1", "a"): 1, ("q2", "b"): 0}, "no query has a passage graded 1 or more and another graded 0 or less"),
        ({("q1", "a"): 1, ("q1", "empty"): 0, ("q2", "b"): 1}, "no query has a passage .*, both with text; "),
    ],
)
def test_no_triplet_at_all_is_refused(tmp_path: Path, grades: Grades, problem: str) -> None:
    release = release_of(tmp_path, {"ana": grades}, texts={"empty": ""} if ("q1", "empty") in grades else {})
    with pytest.raises(ReleaseError, match=problem):
        exported(release, tmp_path / "out", positive=1, splits=TWO)


def test_a_split_without_triplets_is_counted(tmp_path: Path) -> None:
    # q2 has no negative.
    release = release_of(tmp_path, {"ana": {("q1", "a"): 2, ("q1", "b"): 0, ("q2", "c"): 2}})
    counts = exported(release, tmp_path / "out", splits=TWO)
    assert sorted(counts[f"{split}_triplets"] for split in TWO) == [0, 1]
    card = (tmp_path / "out" / "README.md").read_text()
    assert "A score is the grade's place between 0 and 3, the ends of the scale." in " ".join(card.split())


def test_another_export_to_the_same_folder_is_not_read_from_the_cache(tmp_path: Path) -> None:
    from datasets import load_dataset

    for grade in (3, 2):
        release = release_of(tmp_path, {"ana": {("q1", "a"): grade, ("q1", "b"): 0}})
        exported(release, tmp_path / "out", splits={"train": 1})
        data = load_dataset(str(tmp_path / "out"), "pairs", split="train", cache_dir=str(tmp_path / "cache"))
        assert data["score"][:] == [grade / 3, 0]
        shutil.rmtree(tmp_path / "out")


def test_queries_without_text_are_refused(tmp_path: Path) -> None:
    release = release_of(tmp_path, {"ana": GRADES}, queries=[Query("q1", ""), Query("q2", "two")])
    with pytest.raises(ReleaseError):
        exported(release, tmp_path / "out", splits=TWO)


queries = st.lists(
    st.builds(
        Query, st.sampled_from([f"q{n}" for n in range(12)]), st.sampled_from(["One", " one", "two", "three", "four"]),
        st.none(), st.sampled_from([None, None, "c1", "c2"]),
    ),
    min_size=1, unique_by=lambda query: query.query_id,
)  # fmt: skip


@given(queries, st.data(), st.integers(0, 3), st.sampled_from(["passages", "queries"]))
def test_nothing_leaks(queries: list[Query], data: st.DataObject, seed: int, together: Any) -> None:
    pairs = st.tuples(st.sampled_from([query.query_id for query in queries]), st.sampled_from("abcdef"))
    grades: Grades = data.draw(st.dictionaries(pairs, st.integers(0, 3), min_size=1))
    parameters = SplitParameters(splits=TWO, seed=seed, together=together, positive=0)
    try:
        split = split_queries(queries, grades, {}, parameters, "x")
    except ReleaseError:
        return
    assert set(split) == {query_id for query_id, _ in grades}
    assert set(split.values()) == set(TWO)
    assert split == split_queries(queries, grades, {}, parameters, "x")
    seen: dict[Any, set[str]] = defaultdict(set)
    for query in queries:
        if query.query_id in split:
            seen["text", query.query.strip().casefold()].add(split[query.query_id])
            seen["cluster", query.cluster_id or query.query_id].add(split[query.query_id])
    if together == "passages":
        for query_id, doc_id in grades:
            seen["passage", doc_id].add(split[query_id])
    assert all(len(splits) == 1 for splits in seen.values())


def test_documents_of_one_text_are_one_passage(tmp_path: Path) -> None:
    """The relevant passages of q0 to q3, r0 to r3, have one text but for case and white space; those of q4 to q7 have
    no text, so that only their doc_ids count."""
    grades = {(f"q{n}", doc_id): grade for n in range(8) for doc_id, grade in ((f"r{n}", 3), (f"n{n}", 0))}
    texts = {f"r{n}": ("One text", " one\n TEXT")[n % 2] if n < 4 else " " for n in range(8)}
    scores = Run.ranked("one", Ids(["q0"]), Ids(["r0"]), np.array([0]), np.array([0]), np.array([1.0]))
    write_run(scores, tmp_path / "one.trec.gz")
    release = release_of(tmp_path, {"ana": grades}, texts=texts, runs={"one": tmp_path / "one.trec.gz"})
    for seed in range(4):
        one, two = tmp_path / f"training-{seed}", tmp_path / f"ltr-{seed}"
        exported(release, one, splits=TWO, seed=seed)
        two.mkdir()
        Ltr(SplitParameters(splits=TWO, seed=seed)).write(release, two)
        split = dict(line.split("\t") for line in (one / "splits.tsv").read_text().splitlines())
        assert len({split[f"q{n}"] for n in range(4)}) == 1
        rows = (line.split("\t") for line in (two / "queries.tsv").read_text().splitlines()[1:])
        assert {"query_id": "split", **{query_id: name for _, query_id, name in rows}} == split
    # q0 to q3 are one group, and each of the other 4 is its own.
    with pytest.raises(ReleaseError, match="8 graded queries form 5 groups of related ones, the largest of 4"):
        exported(release, tmp_path / "none", splits=dict.fromkeys("abcdef", 1))


def test_splits_are_as_large_as_asked_for() -> None:
    many = [Query(f"q{n}", f"text {n}") for n in range(200)]
    grades = {(query.query_id, query.query_id): 3 for query in many}
    parameters = SplitParameters(splits={"train": 8, "dev": 1, "test": 1})
    split = list(split_queries(many, grades, {}, parameters, "x").values())
    assert [split.count(name) for name in ("train", "dev", "test")] == [160, 20, 20]


def test_ltr_is_read_by_scikit_learn(tmp_path: Path) -> None:
    runs = {
        "one": {("q1", "a"): 2.5, ("q1", "z"): -1.0, ("q2", "g"): 7.25, ("q2", "a"): 7.25},
        "two": {("q1", "b"): 1.0, ("q1", "a"): 0.125, ("q3", "h"): 3.0},
        "none": {},
    }
    paths = {}
    for run_tag, scores in runs.items():
        paths[run_tag] = tmp_path / f"{run_tag}.trec.gz"
        query_ids, doc_ids = Ids(["q1", "q2", "q3"]), Ids(["a", "b", "g", "h", "z"])
        columns = query_ids.encode([pair[0] for pair in scores]), doc_ids.encode([pair[1] for pair in scores])
        write_run(Run.ranked(run_tag, query_ids, doc_ids, *columns, np.array(list(scores.values()))), paths[run_tag])
    release = release_of(tmp_path, {"ana": GRADES}, runs=paths)
    (tmp_path / "out").mkdir()
    counts = Ltr(SplitParameters(splits=TWO)).write(release, tmp_path / "out")
    assert (counts["features"], counts["train_pairs"] + counts["test_pairs"]) == (3, len(GRADES))
    assert (tmp_path / "out" / "features.tsv").read_text() == "feature\trun_tag\n1\tone\n2\ttwo\n3\tnone\n"
    numbers = {}
    for line in (tmp_path / "out" / "queries.tsv").read_text().splitlines()[1:]:
        number, query_id, _ = line.split("\t")
        numbers[int(number)] = query_id
    found = {}
    for split in TWO:
        path = tmp_path / "out" / f"{split}.txt"
        features, relevance, qid = load_svmlight_file(str(path), query_id=True, n_features=3)
        names = [line.split("# ")[1].split() for line in path.read_text().splitlines()]
        for row, (query_id, doc_id) in enumerate(names):
            assert numbers[int(qid[row])] == query_id
            assert relevance[row] == GRADES[query_id, doc_id]
            found[query_id, doc_id] = features[row].toarray()[0].tolist()
    # Where a run did not return a document: the lowest score that it has for the query, 0 if it has none.
    assert found["q1", "a"] == [2.5, 0.125, 0]
    assert found["q1", "b"] == [-1.0, 1.0, 0]
    assert found["q1", "c"] == [-1.0, 0.125, 0]
    assert found["q2", "g"] == [7.25, 0, 0]
    assert found["q4", "h"] == [0, 0, 0]
    assert len(found) == len(GRADES)
    with pytest.raises(ReleaseError, match="there are no runs to take scores from"):
        Ltr(SplitParameters(splits=TWO)).write(release_of(tmp_path / "no", {"ana": GRADES}), tmp_path / "out")
