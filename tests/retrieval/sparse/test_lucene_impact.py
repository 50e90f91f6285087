"""Impact search by Lucene against the dot products, against Anserini's own indexer, and at its ties."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_stores import by_query

from quati_pool.errors import QuatiPoolError
from quati_pool.retrieval.lucene import Lucene, anserini_jar, java_environment
from quati_pool.retrieval.shards import Shards
from quati_pool.retrieval.sparse import impact_search
from quati_pool.retrieval.sparse.impact_search import search_lucene
from tests.retrieval.sparse.test_impacts import Sparse, append, dot, expected_hits, searched, vectors

pytestmark = pytest.mark.java

# Anserini's own way: vectors as JSON, IndexCollection, and its searcher of impacts.
ORACLE = """
import json, sys
import jnius_config
jnius_config.set_classpath(sys.argv[2])
from jnius import autoclass, find_javaclass
asked = json.load(open(sys.argv[1]))
arguments = ["-collection", "JsonVectorCollection", "-generator", "DefaultLuceneDocumentGenerator", "-impact",
             "-pretokenized", "-input", asked["input"], "-index", asked["folder"], "-threads", "1"]
autoclass("io.anserini.index.IndexCollection").main(arguments)
mapper = autoclass("com.fasterxml.jackson.databind.ObjectMapper")()
found = []
for index in (asked["folder"], asked["ours"]):
    searcher = autoclass("io.anserini.search.SimpleImpactSearcher")(index)
    for query in asked["queries"]:
        hits = searcher.search(mapper.readValue(json.dumps(query), find_javaclass("java.util.Map")), asked["depth"])
        found.append([(hit.docid, hit.score) for hit in hits])
json.dump(found, open(sys.argv[1] + ".found", "w"))
"""


@pytest.fixture(scope="module")
def lucene() -> Iterator[Lucene]:
    with Lucene() as lucene:
        yield lucene


def indexed(lucene: Lucene, folder: Path, passages: Sequence[Sparse]) -> Path:
    append(Shards(folder / "shards"), vectors(passages))
    (folder / "index").mkdir()
    lucene.index_impacts(folder / "shards", folder / "index", lambda done, total: None)
    return folder / "index"


def found(
    lucene: Lucene, index: Path, passages: Sequence[Sparse], queries: Sequence[Sparse], depth: int
) -> list[dict[int, float]]:
    hits = search_lucene(lucene, index, vectors(passages), vectors(queries), depth, lambda done, total: None)
    return by_query(hits, len(queries))


def random_rows(count: int, terms: int, most: int, seed: int) -> list[Sparse]:
    chance = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        some = chance.choice(terms, chance.integers(0, 8), replace=False)
        rows.append({int(term): int(chance.integers(1, most + 1)) for term in some})
    return rows


def test_the_index_holds_what_anserinis_own_would(lucene: Lucene, tmp_path: Path) -> None:
    """The same vectors through IndexCollection: Anserini's searcher of impacts, which is pyserini's, finds the
    same in both, and we find what it finds."""
    passages, queries = random_rows(300, 40, 20, 1), [row for row in random_rows(12, 45, 9, 2) if row]
    index = indexed(lucene, tmp_path, passages)
    (tmp_path / "vectors").mkdir()
    lines = [
        json.dumps({"id": str(row), "contents": "", "vector": {f"t{term}": weight for term, weight in vector.items()}})
        for row, vector in enumerate(passages)
    ]
    (tmp_path / "vectors" / "all.jsonl").write_text("\n".join(lines) + "\n")
    told = {"input": str(tmp_path / "vectors"), "folder": str(tmp_path / "theirs"), "ours": str(index), "depth": 300}
    asked = [{f"t{term}": weight for term, weight in query.items()} for query in queries]
    request = tmp_path / "asked.json"
    request.write_text(json.dumps({**told, "queries": asked}))
    done = subprocess.run(
        [sys.executable, "-c", ORACLE, str(request), str(anserini_jar())],
        env={**os.environ, **java_environment()},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads((tmp_path / "asked.json.found").read_text())
    theirs, in_ours = found[: len(queries)], found[len(queries) :]
    assert sum(map(len, theirs)) > 300
    assert theirs == in_ours
    hits = by_query(lucene.search_impacts(index, queries, 300), len(queries))  # type: ignore[arg-type]
    for ours, their in zip(hits, theirs, strict=True):
        # Anserini lowers a score by a millionth for each tie before it.
        assert ours == pytest.approx({int(doc_id): score for doc_id, score in their}, abs=1e-3)


def test_lucenes_scores_are_the_dot_products(lucene: Lucene, tmp_path: Path) -> None:
    """A term of all passages too, which pyserini would drop with min_idf=0."""
    passages = [{**row, 50: 3} for row in random_rows(200, 40, 300, 3)]
    queries = [{**row, 50: 7} for row in random_rows(5, 40, 300, 4)]
    hits = lucene.search_impacts(indexed(lucene, tmp_path, passages), queries, 1000)
    assert len(hits.query) == 5 * 200
    for query, row, score in zip(*(column.tolist() for column in hits), strict=True):
        assert score == dot(queries[query], passages[row])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.dictionaries(st.integers(0, 6), st.sampled_from([1, 2, 65535]), max_size=4), min_size=1, max_size=30),
    st.lists(st.dictionaries(st.integers(0, 8), st.sampled_from([1, 3, 65535]), max_size=4), max_size=4),
    st.integers(1, 12),
)
def test_lucene_and_inverted_lists_give_the_same_hits(
    lucene: Lucene,
    tmp_path_factory: pytest.TempPathFactory,
    passages: list[Sparse],
    queries: list[Sparse],
    depth: int,
) -> None:
    """Small impacts tie often; the largest give scores that float32 cannot tell apart."""
    folder = tmp_path_factory.mktemp("both")
    index = indexed(lucene, folder, passages)
    expected = [expected_hits(passages, query, depth) if query else {} for query in queries]
    assert searched(folder / "lists", passages, queries, depth) == expected
    assert found(lucene, index, passages, queries, depth) == expected


@pytest.mark.parametrize("depth", [1, 10, 99, 100, 101, 1000])
def test_ties_at_the_cut_off_stay_whole(lucene: Lucene, tmp_path: Path, depth: int) -> None:
    """400 passages tie below 100 others: Lucene alone would cut among them by the id."""
    passages = [{0: 2, 1: row + 1} if row < 100 else {0: 2} for row in range(500)]
    chance = np.random.default_rng(0)
    passages = [passages[row] for row in chance.permutation(500)]
    queries = [{0: 5, 1: 1}]
    index = indexed(lucene, tmp_path, passages)
    hits = found(lucene, index, passages, queries, depth)
    assert len(hits[0]) == (depth if depth <= 100 else 500)
    assert hits == [expected_hits(passages, queries[0], depth)] == searched(tmp_path / "i", passages, queries, depth)


def test_scores_beyond_float32_are_computed_again(lucene: Lucene, tmp_path: Path) -> None:
    """2²⁴ + 1 of Lucene's float32 is 2²⁴; ours is rounded once, from the whole number."""
    passages = [{0: 65535, 1: weight} for weight in range(1, 60)]
    query = {0: 65535, 1: 60000}
    index = indexed(lucene, tmp_path, passages)
    for depth in (1, 5, 58):
        assert found(lucene, index, passages, [query], depth) == [expected_hits(passages, query, depth)]


def test_lucene_is_asked_in_batches(lucene: Lucene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passages, queries = random_rows(100, 20, 5, 5), random_rows(7, 20, 5, 6)
    index = indexed(lucene, tmp_path, passages)
    whole = found(lucene, index, passages, queries, 10)
    monkeypatch.setattr(impact_search, "_LUCENE_HITS", 30)
    assert found(lucene, index, passages, queries, 10) == whole
    assert whole == [expected_hits(passages, query, 10) if query else {} for query in queries]


def test_vectors_without_a_term_are_never_found(lucene: Lucene, tmp_path: Path) -> None:
    index = indexed(lucene, tmp_path, [{}, {3: 1}, {}])
    assert found(lucene, index, [{}, {3: 1}, {}], [{3: 2}, {}, {4: 1}], 5) == [{1: 2.0}, {}, {}]


def test_a_corpus_without_a_term(lucene: Lucene, tmp_path: Path) -> None:
    index = indexed(lucene, tmp_path, [{}, {}])
    assert found(lucene, index, [{}, {}], [{3: 2}], 5) == [{}]


def test_a_vector_of_more_terms_than_lucene_takes_in_a_query_by_default(lucene: Lucene, tmp_path: Path) -> None:
    many = dict.fromkeys(range(3000), 65_535)
    index = indexed(lucene, tmp_path, [many, {2999: 1}])
    assert found(lucene, index, [many, {2999: 1}], [many], 5) == [expected_hits([many, {2999: 1}], many, 5)]


def test_progress_tells_of_passages(lucene: Lucene, tmp_path: Path) -> None:
    append(Shards(tmp_path / "shards"), vectors([{1: 1}] * 2500))
    calls: list[tuple[int, int]] = []
    (tmp_path / "index").mkdir()
    lucene.index_impacts(tmp_path / "shards", tmp_path / "index", lambda done, total: calls.append((done, total)))
    assert calls == [(1000, 2500), (2000, 2500), (2500, 2500)]


def test_an_index_that_is_not_there_is_one_line(lucene: Lucene, tmp_path: Path) -> None:
    with pytest.raises(QuatiPoolError, match=r"^Lucene could not search impacts: ") as told:
        lucene.search_impacts(tmp_path / "none", [{1: 1}], 5)
    assert "\n" not in str(told.value)
