"""Agreement of two labelers on 500,000 pairs (1,000,000 labels) of 5,000 queries, 2,000 resamples by query.

The peer is the loop one would write: for each resample, the rows of the drawn queries, then scikit-learn's
cohen_kappa_score. It is timed on a few of the same resamples, whose kappas must be equal, and scaled to
2,000. Coding the ids of both labelers and joining them (``Ratings.join``), from vocabularies of strings, is
a figure of its own.

Run from the checkout: python -m tests.benchmarks.bench_agreement
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import cohen_kappa_score

from quati_pool.agreement.coefficients import coefficients
from quati_pool.agreement.confusion import confusion_by_query
from quati_pool.agreement.estimates import resample
from quati_pool.agreement.overall import overall
from quati_pool.agreement.pairwise import pairwise, per_query
from quati_pool.agreement.ratings import Ratings
from quati_pool.records import Ids, Qrels
from quati_pool.stats.bootstrap import interval, multiplicities

QUERIES = 5_000
EACH = 100
DRAWS = 2_000
PEER_DRAWS = 5
REPEAT = 5
SCALE = (0, 1, 2, 3)


def graded() -> dict[str, Qrels]:
    """Two labelers who often agree, each with rows in an order and vocabularies of its own."""
    generator = np.random.default_rng(0)
    first = generator.integers(0, len(SCALE), QUERIES * EACH)
    second = np.where(generator.random(len(first)) < 0.5, first, generator.integers(0, len(SCALE), len(first)))
    query_ids = np.array([f"q{i:05d}" for i in range(QUERIES)])
    doc_ids = np.array([f"clueweb22-pt{i:09d}" for i in range(QUERIES * EACH)])
    made = {}
    for name, relevance in (("HA1", first), ("LLM", second)):
        rows = generator.permutation(len(first))
        docs = generator.permutation(len(first))
        doc = np.argsort(docs)[rows]
        made[name] = Qrels(Ids(query_ids.tolist()), Ids(doc_ids[docs].tolist()), rows // EACH, doc, relevance[rows])
    return made


def kappa_alone(ratings: Ratings) -> Any:
    tables = confusion_by_query(ratings, "HA1", "LLM")
    (drawn,) = resample([tables], DRAWS, 0)
    return interval(coefficients(drawn, SCALE, ["kappa"])["kappa"])


def peer(ratings: Ratings, draws: int) -> list[float]:
    """Kappa of the first ``draws`` of the same resamples, from rows."""
    first, second = ratings.of("HA1"), ratings.of("LLM")
    rows = np.split(np.arange(len(ratings)), np.flatnonzero(np.diff(ratings.query)) + 1)
    kappas = []
    for times in next(multiplicities(QUERIES, DRAWS, 0))[:draws]:
        chosen = np.concatenate([rows[query] for query in np.repeat(np.arange(QUERIES), times.astype(int))])
        kappas.append(cohen_kappa_score(first[chosen], second[chosen]))
    return kappas


def seconds(function: Callable[[], object]) -> float:
    taken = []
    for _ in range(REPEAT):
        started = time.perf_counter()
        function()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def main() -> None:
    labels = graded()
    ratings = Ratings.join(labels, SCALE, ["HA1"])
    started = time.perf_counter()
    theirs = peer(ratings, PEER_DRAWS)
    loop = (time.perf_counter() - started) / PEER_DRAWS * DRAWS
    tables = confusion_by_query(ratings, "HA1", "LLM")
    (drawn,) = resample([tables], DRAWS, 0)
    ours = coefficients(drawn, SCALE, ["kappa"])["kappa"]
    np.testing.assert_allclose(ours[:PEER_DRAWS], theirs, rtol=0, atol=1e-12)
    kappa = seconds(lambda: kappa_alone(ratings))
    print(
        f"| kappa, {DRAWS:,} resamples | {kappa:.2f} s "
        f"| {loop:.0f} s, scaled from {PEER_DRAWS} | {loop / kappa:.0f} × |"
    )
    print(
        f"eight coefficients, binarised at 3 grades too (pairwise): {seconds(lambda: pairwise(ratings, DRAWS)):.2f} s"
    )
    print(f"alpha, Fleiss, AC1, AC2 (overall): {seconds(lambda: overall(ratings, DRAWS)):.2f} s")
    print(f"eight coefficients for each query (per_query): {seconds(lambda: per_query(ratings)):.2f} s")
    print(f"coding and joining the ids (Ratings.join): {seconds(lambda: Ratings.join(labels, SCALE)):.2f} s")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:.0f} MB")


if __name__ == "__main__":
    main()
