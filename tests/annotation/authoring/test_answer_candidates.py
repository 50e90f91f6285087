"""Candidates are exactly those of the definition; answers are not found by their place; records say it all."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from quati_pool.annotation.authoring.answer_candidates import answer_candidates, hashed_entities
from quati_pool.annotation.authoring.cluster_records import cluster_record, evidence_triples
from quati_pool.annotation.authoring.constraints import ClusterSettings, clusters, index_constraints
from quati_pool.annotation.authoring.logical_queries import (
    ClusterAnswers,
    LogicalQuery,
    Signed,
    cluster_answers,
    logical_queries,
)
from quati_pool.files.triples import Triples, read_mentions, read_triples
from tests.annotation.authoring import constraints_oracle as oracle
from tests.annotation.authoring.constraints_oracle import Graph, Triple
from tests.annotation.authoring.made_graphs import brute_force, coded, in_memory


def drawn(triples: Triples, config: ClusterSettings) -> list[list[tuple[str, bool]]]:
    index = index_constraints(triples, config.min_shared)
    hashed, of_entities = index.hashes(config.seed), hashed_entities(index.ids.entities, config.seed)
    found = []
    for cluster in clusters(index, config):
        known = cluster_answers(index, cluster)
        for query in logical_queries(cluster, known, hashed, config):
            if isinstance(query, LogicalQuery):
                entities, is_answer = answer_candidates(query, known, of_entities, config)
                names = index.ids.entities.decode(entities).to_pylist()
                found.append(list(zip(names, is_answer.tolist(), strict=True)))
    return found


def expected(graph: Graph, config: ClusterSettings, found: list[oracle.Cluster]) -> list[list[tuple[str, bool]]]:
    return [
        oracle.candidates(graph, cluster, query, config.seed, config.candidates)
        for cluster in found
        for query in oracle.queries(graph, cluster, config.seed, negate=config.negate)
        if isinstance(query, oracle.Query)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("config", [ClusterSettings(), ClusterSettings(seed=5, negate=0.4, candidates=12)])
def test_candidates_of_20_000_triples_are_those_of_brute_force(tmp_path: Path, config: ClusterSettings) -> None:
    rows, graph, of_graph = brute_force(config.seed)
    found = drawn(coded(rows, tmp_path), config)
    assert found == expected(graph, config, of_graph)
    assert any(len(candidates) == config.candidates for candidates in found)
    if config.candidates == 12:
        assert any(len(candidates) == 12 and all(is_answer for _, is_answer in candidates) for candidates in found)


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]


def records(
    graph: Graph, found: list[oracle.Cluster], mentioned: dict[Triple, str], seed: int, negate: float, most: int
) -> list[dict[str, Any]]:
    """What the command writes of clusters with three questions or more."""
    expected = []
    for cluster in found:
        queries = []
        for query in oracle.queries(graph, cluster, seed, negate=negate):
            if isinstance(query, str):
                continue
            candidates = []
            for x, is_answer in oracle.candidates(graph, cluster, query, seed, most):
                links = [(x, p, e) if side == "subj" else (e, p, x) for e, p, side in query.signed]
                documents = sorted((mentioned[link], link) for link in links if link in mentioned)
                evidence = [{"doc_id": d, "start": 2, "end": 9, "text": " ".join(link)} for d, link in documents]
                candidates.append({"entity": x, "is_answer": is_answer, "evidence": evidence})
            signed = [{"constraint": cluster.constraints.index(c), "negated": no} for c, no in query.signed.items()]
            answers = sorted(query.answers, key=str.encode)
            queries.append(
                {"query_id": query.query_id, "constraints": signed, "answers": answers, "candidates": candidates}
            )
        if len(queries) >= 3:
            constraints = [
                {"entity": e, "property": p, "side": side, "answers": len(graph.answers[e, p, side])}
                for e, p, side in cluster.constraints
            ]
            expected.append({"cluster_id": cluster.cluster_id, "constraints": constraints, "queries": queries})
    return expected


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "negate", "most"), [(0, 0.1, 100), (5, 0.4, 12)])
def test_the_command_writes_those_of_brute_force(tmp_path: Path, seed: int, negate: float, most: int) -> None:
    rows, graph, of_graph = brute_force(seed)
    mentioned = {row: f"D{n % 70}" for n, row in enumerate(rows) if n % 3 == 0}
    names = ("subject", "property", "object", "doc_id", "start", "end", "evidence")
    # In two files of different formats, and every triple without evidence twice.
    (tmp_path / "with.jsonl").write_text(
        "".join(
            json.dumps(dict(zip(names, (*row, doc_id, 2, 9, " ".join(row)), strict=True))) + "\n"
            for row, doc_id in mentioned.items()
        )
    )
    plain = ["\t".join(row) + "\n" for row in rows if row not in mentioned]
    (tmp_path / "without.tsv").write_text("".join(plain + plain[::-1]))
    ids = sorted({x for row in rows for x in row})
    (tmp_path / "texts.jsonl").write_text(
        "".join(json.dumps({"id": x, "label": f"the {x}", "aliases": [x, x]}) + "\n" for x in ids[::2])
    )
    command = [sys.executable, "-m", "quati_pool", "questions", "constraints", "with.jsonl", "without.tsv"]
    options = ["--texts", "texts.jsonl", "--clusters", "0", "--negate", str(negate), "--candidates", str(most)]
    done = subprocess.run(
        [*command, *options, "--seed", str(seed), "--format", "json"], cwd=tmp_path, check=True, capture_output=True
    )
    expected = records(graph, of_graph, mentioned, seed, negate, most)
    assert lines(tmp_path / "authoring/clusters/clusters.jsonl.gz") == expected
    queries = [query for record in expected for query in record["queries"]]
    named = {c[part] for record in expected for c in record["constraints"] for part in ("entity", "property")}
    named |= {x for query in queries for x in query["answers"]}
    named |= {candidate["entity"] for query in queries for candidate in query["candidates"]}
    labelled = sorted(named & set(ids[::2]))
    assert lines(tmp_path / "authoring/clusters/entities.jsonl.gz") == [
        {"id": x, "label": f"the {x}", "aliases": [x, x]} for x in labelled
    ]
    said = json.loads(done.stdout)
    assert (said["triples"], said["clusters"], said["questions"]) == (20_000, len(expected), len(queries))
    assert said["skipped"] == len(of_graph) - len(expected)
    assert said["drawn"] - sum(said["discarded"].values()) == sum(
        isinstance(query, oracle.Query)
        for cluster in of_graph
        for query in oracle.queries(graph, cluster, seed, negate=negate)
    )
    texts = [len({m["text"] for x in query["candidates"] for m in x["evidence"]}) for query in queries]
    assert sum(texts) > 100
    for figure, counts in (
        ("cluster_constraints", [len(record["constraints"]) for record in expected]),
        ("question_constraints", [len(query["constraints"]) for query in queries]),
        ("answers", [len(query["answers"]) for query in queries]),
        ("evidence", texts),
    ):
        assert said[figure] == pytest.approx({"mean": np.mean(counts), "median": np.median(counts)})
    assert said["negated"] == sum(c["negated"] for query in queries for c in query["constraints"])
    assert said["constraints"] == sum(len(query["constraints"]) for query in queries)
    assert (said["ids"], said["unnamed"]) == (len(named), len(named) - len(labelled))
    assert said["all_answers"] == sum(all(x["is_answer"] for x in query["candidates"]) for query in queries)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("abcdef"), st.sampled_from("pq"), st.sampled_from("abcdef")), min_size=5, max_size=60
    ),
    st.integers(0, 3),
    st.integers(1, 8),
)
def test_small_graphs_as_by_brute_force(rows: list[Triple], seed: int, most: int) -> None:
    config = ClusterSettings(seed=seed, candidates=most)
    found = drawn(in_memory(rows), config)
    graph = Graph(rows)
    assert found == expected(graph, config, oracle.clusters(graph, seed))
    for candidates in found:
        assert len({name for name, _ in candidates}) == len(candidates) <= most


def made(answers: int, near: int, far: int) -> tuple[LogicalQuery, ClusterAnswers]:
    """A query of the constraints 0 and not 1, where 2 is another of its cluster: ``near`` entities fulfil 0 and 1, and
    ``far`` only 2."""
    entities = np.arange(answers + near + far, dtype=np.int32)
    fulfils = np.zeros((3, len(entities)), dtype=bool)
    fulfils[0, : answers + near] = True
    fulfils[1, answers : answers + near] = True
    fulfils[2, answers + near :] = True
    query = LogicalQuery("c-1", (Signed(0, False), Signed(1, True)), entities[:answers])
    return query, ClusterAnswers(entities, fulfils)


@pytest.mark.parametrize(
    ("answers", "near", "far", "counts"),
    [
        (30, 200, 50, (30, 70, 0)),
        (30, 20, 500, (30, 20, 50)),
        (30, 20, 5, (30, 20, 5)),
        (100, 20, 5, (100, 0, 0)),
        (4_000, 20, 5, (100, 0, 0)),
    ],
)
def test_who_is_taken(answers: int, near: int, far: int, counts: tuple[int, int, int]) -> None:
    query, known = made(answers, near, far)
    numbers = np.random.default_rng(0).integers(0, 2**63, answers + near + far).astype(np.uint64)
    entities, is_answer = answer_candidates(query, known, numbers, ClusterSettings())
    kinds = np.searchsorted([answers, answers + near], entities, side="right")
    assert tuple(np.bincount(kinds, minlength=3).tolist()) == counts
    assert ((kinds == 0) == is_answer).all()


def test_place_says_nothing_of_the_answer() -> None:
    # 20 answers and 80 of 2,000 wrong ones: with one number for choice and order, all of the wrong ones would come
    # among the first 5 percent.
    query, known = made(20, 2_000, 0)
    numbers = np.random.default_rng(1).integers(0, 2**63, 2_020).astype(np.uint64)
    places = []
    taken = np.zeros(2_020)
    for n in range(400):
        entities, is_answer = answer_candidates(query._replace(query_id=f"c-{n}"), known, numbers, ClusterSettings())
        places += np.flatnonzero(is_answer).tolist()
        taken[entities] += 1
    assert stats.chisquare(np.bincount(places, minlength=100)).pvalue > 1e-4
    # Wrong ones are chosen alike: each with 80 / 2,000 in 400 questions.
    low, high = stats.binom.interval(1 - 1e-7, 400, 0.04)
    assert low <= taken[20:].min()
    assert taken[20:].max() <= high


def test_a_record_holds_what_rounds_and_release_need(tmp_path: Path) -> None:
    rows = [(x, f"p{c}", f"h{c}") for c in range(3) for x in ("x", "y")] + [("z", "p0", "h0"), ("h1", "p1", "z")]
    path = tmp_path / "triples.jsonl"
    lines: list[dict[str, object]] = [dict(zip(("subject", "property", "object"), row, strict=True)) for row in rows]
    lines[0] |= {"doc_id": "D2", "start": 3, "end": 8, "evidence": "x at h0"}
    lines += [
        {**lines[0], "doc_id": "D1", "start": 9, "end": 20},
        {**lines[2], "doc_id": "D3", "start": 0, "end": 4, "evidence": "x at h1"},
        # Two triples with the same text: once for a candidate, where it comes first.
        {**lines[0], "doc_id": "D4", "start": 0, "end": 4, "evidence": "x at h0 and h1"},
        {**lines[2], "doc_id": "D0", "start": 0, "end": 4, "evidence": "x at h0 and h1"},
        # Of no candidate's triple.
        {**lines[-1], "doc_id": "D0", "start": 0, "end": 4, "evidence": "h1 at z"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    config = ClusterSettings(drop=0, negate=0)
    index = index_constraints(read_triples([path]))
    (cluster,) = clusters(index, config)
    known = cluster_answers(index, cluster)
    queries = [q for q in logical_queries(cluster, known, index.hashes(0), config) if isinstance(q, LogicalQuery)]
    of_entities = hashed_entities(index.ids.entities, 0)
    pairs = [(query, answer_candidates(query, known, of_entities, config)) for query in queries]
    mentions = read_mentions([path], index.ids, evidence_triples(index, cluster, pairs))
    record = json.loads(json.dumps(cluster_record(index, cluster, pairs, mentions)))
    assert record["cluster_id"] == cluster.cluster_id
    by_entity = {constraint["entity"]: constraint for constraint in record["constraints"]}
    assert by_entity == {
        f"h{c}": {"entity": f"h{c}", "property": f"p{c}", "side": "subj", "answers": 3 if c == 0 else 2}
        for c in range(3)
    }
    (query,) = record["queries"]
    assert query["query_id"] == f"{cluster.cluster_id}-1"
    assert query["answers"] == ["x", "y"]
    # h0 is the broadest and goes first; of h1 and h2, alike, the one with the lesser id.
    assert [record["constraints"][c["constraint"]]["entity"] for c in query["constraints"]] == ["h2"]
    assert {c["entity"]: c["is_answer"] for c in query["candidates"]} == {"x": True, "y": True, "z": False}
    assert all(c["evidence"] == [] for c in query["candidates"])
    # The same with all three constraints, as if none had been redundant.
    whole = LogicalQuery(queries[0].query_id, tuple(Signed(place, False) for place in range(3)), queries[0].answers)
    pairs = [(whole, pairs[0][1])]
    mentions = read_mentions([path], index.ids, evidence_triples(index, cluster, pairs))
    (query,) = cluster_record(index, cluster, pairs, mentions)["queries"]
    assert {c["entity"]: c["evidence"] for c in query["candidates"]} == {
        "x": [
            {"doc_id": "D0", "start": 0, "end": 4, "text": "x at h0 and h1"},
            {"doc_id": "D1", "start": 9, "end": 20, "text": "x at h0"},
            {"doc_id": "D3", "start": 0, "end": 4, "text": "x at h1"},
        ],
        "y": [],
        "z": [],
    }
    assert all("evidence" not in c for q in cluster_record(index, cluster, pairs)["queries"] for c in q["candidates"])
