"""The rows of a retrieval task against the run files themselves, read and counted by hand and by pytrec_eval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import pytest
import pytrec_eval

from quati_pool.commands.bench.collections import Source, write_workspace
from quati_pool.commands.bench.retrieval import Retrieved, retrieve
from quati_pool.commands.bench.systems_file import SystemsFile
from quati_pool.errors import ConfigError
from quati_pool.qa_benchmarks.base import AnswerTaskRun, Case, Collection, ReadingTask, Topic
from tests.commands.bench.small_benchmark import Small
from tests.commands.small_collection import QUERIES, Heard, passages, read_trec, sketch

CASE = Case("validation", "en")
CLUSTERS = {"q1": "c1", "q2": "c1", "007": "c2", "7": "c1", "q-é": ""}
JUDGED = list(CLUSTERS)
TEXTS = passages()
UNITS = {doc_id: f"text-{int(doc_id[1:]) // 4}" for doc_id in TEXTS}

SYSTEMS = """\
name: theirs
corpus: {path: nowhere.jsonl}
queries: {path: nowhere.tsv}
systems:
  bm25s: {retriever: bm25s, language: en}
  portuguese: {retriever: bm25s, language: pt, k1: 1.5}
  lsa: {retriever: lsa, dimensions: 8}
  fused: {fuse: [bm25s, lsa], method: combsum}
  one-query: {retriever: run, path: one-query.run}
  strangers: {retriever: run, path: strangers.run}
  unjudged: {retriever: run, path: unjudged.run}
run_depth: 30
"""


class Found(ReadingTask):
    name = "found"
    summary = "of the tests"
    measures: ClassVar[tuple[str, ...]] = ("nDCG@10", "R@20")
    curve = True
    readers = (2, 3)

    def cases(self, data: Path) -> list[Case]:
        return [CASE]

    def collection(self, data: Path, case: Case) -> Collection:
        # Of each topic's ten passages the first three are relevant, to grades 2, 1, 1; the fourth is judged 0.
        qrels = [
            (query_id, f"p{6 * row + topic:02}", grade)
            for topic, query_id in enumerate(QUERIES)
            for row, grade in enumerate((2, 1, 1, 0))
            if query_id in JUDGED
        ]
        queries = [Topic(query_id, query, CLUSTERS.get(query_id, "")) for query_id, query in QUERIES.items()]
        return Collection(list(TEXTS.items()), queries, [*qrels, ("q1", "gone", 1)], "en", UNITS)

    def reading(self, data: Path, case: Case, k: int, passages: Mapping[str, Sequence[str]]) -> AnswerTaskRun:
        raise AssertionError("retrieving asks nobody")


TASK = Found()
COLLECTION = TASK.collection(Path(), CASE)


@dataclass(frozen=True)
class Made:
    folder: Path
    found: Retrieved
    heard: Heard


def made(folder: Path, collection: Collection, settings: str, over: Sequence[str] | None = None) -> Made:
    for name, query_id in (("one-query", "q2"), ("strangers", "zz"), ("unjudged", "q6")):
        rows = [f"{query_id} Q0 p{n:02} {n} {-n} {name}\n" for n in range(20)]
        (folder / f"{name}.run").write_text("".join(rows), encoding="utf-8")
    (folder / "pool.yaml").write_text(settings, encoding="utf-8")
    systems = SystemsFile.read(folder / "pool.yaml")
    heard = Heard()
    path = write_workspace(folder / "ws", Source("small", Small), collection, systems, 0, heard)
    with mock.patch("quati_pool.reporting.figures.build.heat_map", sketch):
        return Made(path.parent, retrieve(path, collection, TASK, CASE, heard, over), heard)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return made(tmp_path_factory.mktemp("whole"), COLLECTION, SYSTEMS, [])


def rankings(folder: Path, run_tag: str) -> dict[str, list[str]]:
    rows = read_trec(folder / "runs" / f"{run_tag}.trec.gz")
    return {query_id: [doc_id for doc_id, _, _ in hits] for query_id, hits in rows.items()}


def grades() -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for query_id, doc_id, relevance in COLLECTION.qrels:
        found.setdefault(query_id, {})[doc_id] = relevance
    return found


def by_text(ranking: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(UNITS[doc_id] for doc_id in ranking))


def graded_texts() -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for query_id, judged in grades().items():
        for doc_id, relevance in judged.items():
            unit = UNITS.get(doc_id, doc_id)
            found.setdefault(query_id, {})[unit] = max(relevance, found.get(query_id, {}).get(unit, 0))
    return found


def success(ranked: Mapping[str, Sequence[str]], graded: Mapping[str, Mapping[str, int]], k: int) -> float:
    found = [any(judged.get(doc, 0) > 0 for doc in ranked.get(query, ())[:k]) for query, judged in graded.items()]
    return sum(found) / len(found)


def by_query(
    ranked: Mapping[str, Sequence[str]], graded: Mapping[str, Mapping[str, int]], measure: str
) -> dict[str, float]:
    """pytrec_eval's values; 0 for a query that the run lacks."""
    run = {query: {doc: float(-rank) for rank, doc in enumerate(docs)} for query, docs in ranked.items()}
    found = pytrec_eval.RelevanceEvaluator({q: dict(judged) for q, judged in graded.items()}, {measure}).evaluate(run)
    return {query: found.get(query, {}).get(measure, 0.0) for query in graded}


def mean(values: Mapping[str, float]) -> float:
    return sum(values.values()) / len(values)


TAGS = ["bm25s", "portuguese", "lsa", "fused", "one-query", "strangers", "unjudged"]


def rows(made: Made) -> Iterator[tuple[str, dict[str, Any]]]:
    for row in made.found.rows:
        yield row.system, dict(row.measures)


def test_there_is_a_row_for_every_system_over_the_judged_queries(whole: Made) -> None:
    assert [row.system for row in whole.found.rows] == TAGS
    assert {(row.case, row.n) for row in whole.found.rows} == {(CASE, 5)}


def test_the_measures_are_those_of_pytrec_eval(whole: Made) -> None:
    for run_tag, measures in rows(whole):
        ranked = rankings(whole.folder, run_tag)
        assert measures["nDCG@10"] == pytest.approx(mean(by_query(ranked, grades(), "ndcg_cut_10"))), run_tag
        assert measures["R@20"] == pytest.approx(mean(by_query(ranked, grades(), "recall_20"))), run_tag
    assert 0 < dict(rows(whole))["one-query"]["nDCG@10"] < dict(rows(whole))["bm25s"]["nDCG@10"]


def test_success_is_counted_to_every_depth(whole: Made) -> None:
    assert whole.found.curve is not None
    assert whole.found.curve.case == CASE
    for run_tag, measures in rows(whole):
        ranked = rankings(whole.folder, run_tag)
        counted = [success(ranked, grades(), k) for k in range(1, 31)]
        assert whole.found.curve.systems[run_tag].tolist() == pytest.approx(counted), run_tag
        assert [measures[f"success@{k}"] for k in (1, 5, 10)] == pytest.approx([counted[k - 1] for k in (1, 5, 10)])


def test_a_random_order_finds_one_of_three_relevant_of_sixty(whole: Made) -> None:
    # q1's fourth is not in the corpus and is never found. C(57, k) / C(60, k) miss all three.
    assert whole.found.curve is not None
    expected = [1 - math.comb(57, k) / math.comb(60, k) for k in range(1, 31)]
    assert whole.found.curve.random.tolist() == pytest.approx(expected)


def test_texts_stand_where_their_best_passage_stands(whole: Made) -> None:
    for run_tag, measures in rows(whole):
        ranked = {query_id: by_text(docs) for query_id, docs in rankings(whole.folder, run_tag).items()}
        for k in (1, 5, 10):
            assert measures[f"text success@{k}"] == pytest.approx(success(ranked, graded_texts(), k)), run_tag
        theirs = mean(by_query(ranked, graded_texts(), "ndcg_cut_10"))
        assert measures["text nDCG@10"] == pytest.approx(theirs), run_tag
    assert "texts rank in the order of their best passages among a run's first 30" in whole.found.notes


def test_the_worst_query_of_each_cluster(whole: Made) -> None:
    # c1 has q1, q2 and 7, c2 has 007 alone, and q-é is in no cluster.
    for run_tag, measures in rows(whole):
        values = by_query(rankings(whole.folder, run_tag), grades(), "ndcg_cut_10")
        expected = (min(values["q1"], values["q2"], values["7"]) + values["007"]) / 2
        assert measures["cluster_min nDCG@10"] == pytest.approx(expected), run_tag
    assert all(row.extra == {"clusters": 2, "single_query_clusters": 1} for row in whole.found.rows)


def test_a_system_that_finds_nothing_counts_0_and_says_so(whole: Made) -> None:
    by_tag = {row.system: row for row in whole.found.rows}
    for run_tag in ("strangers", "unjudged"):
        assert set(by_tag[run_tag].measures.values()) == {0.0}
        assert by_tag[run_tag].notes == ("found nothing for 5 of 5 queries, which count 0",)
    assert by_tag["one-query"].notes == ("found nothing for 4 of 5 queries, which count 0",)
    assert by_tag["lsa"].notes == ()


def test_another_language_is_run_as_written_and_noted(whole: Made) -> None:
    (row,) = (row for row in whole.found.rows if row.system == "portuguese")
    assert row.notes == ("reads the texts, which are in en, as pt",)


def test_what_counts_nowhere_is_noted(whole: Made) -> None:
    assert "1 of 6 queries have no judgement and count nowhere" in whole.found.notes
    assert "1 relevant passages are not in the corpus, where no system can find them" in whole.found.notes


def test_readers_get_the_texts_of_the_first_system_by_default(whole: Made) -> None:
    assert list(whole.found.passages) == ["bm25s"]
    ranked = rankings(whole.folder, "bm25s")
    expected = {query_id: [TEXTS[doc_id] for doc_id in ranked.get(query_id, [])[:3]] for query_id in QUERIES}
    assert dict(whole.found.passages["bm25s"]) == expected


def test_readers_get_those_of_the_systems_named_from_runs_that_are_there(whole: Made) -> None:
    heard = Heard()
    path = whole.folder / "pool.yaml"
    found = retrieve(path, COLLECTION, TASK, CASE, heard, ["one-query", "strangers", "one-query"])
    assert list(found.passages) == ["one-query", "strangers"]
    assert found.passages["one-query"] == {q: [TEXTS[f"p{n:02}"] for n in range(3)] * (q == "q2") for q in QUERIES}
    assert set(map(len, found.passages["strangers"].values())) == {0}
    assert heard.made() == {}


def test_nobody_reads_unless_asked_to(whole: Made) -> None:
    with mock.patch("quati_pool.reporting.figures.build.heat_map", sketch):
        assert retrieve(whole.folder / "pool.yaml", COLLECTION, TASK, CASE, Heard()).passages == {}


def test_a_reader_of_no_system_is_refused_before_anything_is_built(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--over bm25: no such system; did you mean 'bm25s'"):
        made(tmp_path, COLLECTION, SYSTEMS, ["bm25"])
    assert not (tmp_path / "ws" / "runs").exists()


def test_beyond_the_end_of_the_runs_nothing_is_claimed(tmp_path: Path) -> None:
    short = SYSTEMS.partition("  portuguese")[0] + "run_depth: 5\npool: {depth: 2}\n"
    found = made(tmp_path, replace(COLLECTION, units=None), short).found
    (row,) = found.rows
    lost = {"nDCG@10", "R@20", "success@10", "cluster_min nDCG@10"}
    assert {name for name, value in row.measures.items() if value is None} == lost
    assert row.undefined == dict.fromkeys(lost, "the runs end at rank 5")
    assert row.measures["success@5"] == pytest.approx(success(rankings(tmp_path / "ws", "bm25s"), grades(), 5))
    assert found.curve is not None
    assert len(found.curve.random) == len(found.curve.systems["bm25s"]) == 5


def test_without_clusters_units_and_gaps_nothing_is_said_of_them(tmp_path: Path) -> None:
    plain = replace(
        COLLECTION,
        queries=[Topic(query_id, QUERIES[query_id]) for query_id in JUDGED],
        qrels=COLLECTION.qrels[:-1],
        units=None,
    )
    found = made(tmp_path, plain, SYSTEMS.partition("  portuguese")[0]).found
    (row,) = found.rows
    assert list(row.measures) == ["nDCG@10", "R@20", "success@1", "success@5", "success@10"]
    assert (row.extra, row.undefined, row.notes, found.notes) == ({}, {}, (), [])
