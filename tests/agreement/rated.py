"""Ratings for tests: from grades by hand, from a confusion table, at random, and from the Quati files."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from quati_pool.agreement.ratings import Ratings
from quati_pool.records import Ids, Qrels
from tests.shared_data import shared

Pair = tuple[str, str]
Grades = dict[Pair, int]

# From the Quati paper's confusion matrices and its released annotations.
HA1_HA2 = [[41, 6, 4, 1], [13, 25, 28, 2], [4, 11, 42, 8], [1, 5, 18, 31]]
HA1_LLM = [[25, 13, 12, 2], [12, 24, 18, 14], [4, 11, 23, 27], [1, 5, 3, 46]]
HA3_LLM = [[29, 13, 10, 1], [7, 21, 11, 13], [6, 12, 19, 19], [0, 7, 16, 56]]


def qrels(grades: Grades) -> Qrels:
    """Grades over vocabularies of their own, in order of first appearance."""
    queries = Ids(list(dict.fromkeys(query_id for query_id, _ in grades)))
    docs = Ids(list(dict.fromkeys(doc_id for _, doc_id in grades)))
    query, doc = queries.encode([query_id for query_id, _ in grades]), docs.encode([doc_id for _, doc_id in grades])
    return Qrels(queries, docs, query, doc, np.array(list(grades.values()), dtype=np.int64))


def rated(graded: Mapping[str, Grades], scale: Sequence[int] = (0, 1, 2, 3), people: Collection[str] = ()) -> Ratings:
    return Ratings.join({name: qrels(grades) for name, grades in graded.items()}, scale, people)


def columns(graded: Mapping[str, Mapping[str, str]], people: Collection[str] = ()) -> Ratings:
    """Ratings from strings of grades: ``{"q1": {"HA1": "03-", "HA2": "01-"}}``, a character a document of
    the query, ``-`` no grade."""
    labelers = list(dict.fromkeys(name for row in graded.values() for name in row))
    return rated(
        {
            name: {
                (query_id, f"{query_id}-{i}"): int(grade)
                for query_id, row in graded.items()
                for i, grade in enumerate(row.get(name, ""))
                if grade != "-"
            }
            for name in labelers
        },
        people=people,
    )


def rows_of(table: npt.ArrayLike, scale: Sequence[int]) -> tuple[list[int], list[int]]:
    """The two columns of grades that a confusion table counts."""
    cells = [
        (a, b, int(n)) for a, row in zip(scale, np.asarray(table), strict=True) for b, n in zip(scale, row, strict=True)
    ]
    return [a for a, _, n in cells for _ in range(n)], [b for _, b, n in cells for _ in range(n)]


def annotations() -> dict[str, Qrels]:
    """Annotators 1 and 2 of the Quati paper; the query's text is its id."""
    found = {}
    for number in (1, 2):
        path = shared(f"quati/annotator_0{number}_240_annotations_with_questions.tsv")
        with path.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream, delimiter="\t"))
        found[f"HA{number}"] = qrels({(row["query"], row["passage_id"]): int(row["score"]) for row in rows})
        assert len(found[f"HA{number}"]) == len(rows) == 240
    return found


def grade_tables(grades: int = 4, most: int = 5) -> st.SearchStrategy[npt.NDArray[np.int64]]:
    """Confusion tables, often of one cell, one row or nothing."""
    row = st.lists(st.integers(0, most) | st.just(0), min_size=grades, max_size=grades)
    full = st.lists(row | st.just([0] * grades), min_size=grades, max_size=grades)
    return full.map(lambda rows: np.array(rows, dtype=np.int64))


query_ids = st.sampled_from(["q1", "q2", "10", "9", "é", "\U0001f600"])
doc_ids = st.sampled_from(["a", "B", "10", "9", "é", "e\u0301"])


def grade_sets(scale: Sequence[int] = (0, 1, 2, 3), max_size: int = 30) -> st.SearchStrategy[Grades]:
    return st.dictionaries(st.tuples(query_ids, doc_ids), st.sampled_from(scale), max_size=max_size)


def random_ratings(
    seed: int,
    labelers: int = 4,
    queries: int = 12,
    each: int = 9,
    scale: Sequence[int] = (0, 1, 2, 3),
    missing: float = 0.3,
) -> Ratings:
    """Labelers who often agree, a share of whose grades is missing; the first two are people."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, len(scale), queries * each)
    graded: dict[str, Grades] = {}
    for labeler in range(labelers):
        theirs = np.where(generator.random(len(truth)) < 0.5, truth, generator.integers(0, len(scale), len(truth)))
        kept = np.flatnonzero(generator.random(len(truth)) >= missing)
        graded[f"L{labeler + 1}"] = {(f"q{i // each}", f"d{i % each}"): scale[theirs[i]] for i in kept}
    return rated(graded, scale, ["L1", "L2"])
