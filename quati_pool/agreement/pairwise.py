"""Agreement between each pair of labelers: over all queries, with intervals, and per query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from quati_pool.agreement.coefficients import COEFFICIENTS, coefficients, why_undefined
from quati_pool.agreement.confusion import binarize, confusion_by_query
from quati_pool.agreement.estimates import Estimates, estimate, resample
from quati_pool.agreement.ratings import Ratings
from quati_pool.errors import TranslatableText
from quati_pool.records import Int
from quati_pool.stats.bootstrap import DRAWS, Values


@dataclass(frozen=True, eq=False, kw_only=True)
class Weighting:
    """How figures are weighted: the names of the ``designs``, and the ``n`` pairs, of ``queries`` queries, that these
    drew and both labelers graded. ``left_out`` counts the pairs that both graded but none of the designs drew.
    ``shares``, shape (grades, grades): the estimated share of each cell of the confusion matrix, with the sum 1."""

    designs: tuple[str, ...]
    n: int
    queries: int
    left_out: int
    shares: Values


@dataclass(frozen=True, eq=False, kw_only=True)
class PairAgreement(Estimates):
    """Agreement of two labelers over the ``n`` pairs that both graded, in ``queries`` queries. If they have
    ``shared_members``, as a panel and one of its members do, they agree by construction.

    ``confusion``, shape (grades, grades): rows are ``a``'s grades, columns ``b``'s. ``binarized`` maps each grade but
    the lowest to the same coefficients with that grade as threshold: it and higher grades are relevant (1), lower
    ones are not (0).

    With a ``weighting``, coefficients and intervals are those of the pairs' population under the design by which they
    were drawn, and ``unweighted`` has those of the graded pairs; ``n``, ``queries`` and ``confusion`` count graded
    pairs. ``not_weighted`` says why figures have no weights although they should.
    """

    a: str
    b: str
    n: int
    queries: int
    confusion: Int
    binarized: dict[int, Estimates]
    shared_members: tuple[str, ...] = ()
    weighting: Weighting | None = None
    unweighted: PairAgreement | None = None
    not_weighted: str | None = None


def pairwise(
    ratings: Ratings,
    draws: int = DRAWS,
    seed: int = 0,
    *,
    binarized: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[PairAgreement]:
    """All coefficients for all pairs of labelers, in the labelers' order.

    Intervals resample the queries in which the two have a common pair, independently of the order of the input.
    draws=0 leaves out the intervals, and ``binarized=False`` the binarised coefficients, which take most of the time.
    ``progress`` is called with the number of finished pairs and of all.
    """
    thresholds = ratings.scale[1:] if binarized else ()
    order = queries_by_id(ratings)
    names = list(combinations(ratings.labelers, 2))
    tables = [confusion_by_query(ratings, a, b)[order] for a, b in names]
    tables = [table[table.any(axis=(1, 2))] for table in tables]
    drawn = resample(tables, draws, seed)
    found: list[PairAgreement] = []
    for (a, b), table, totals in zip(names, tables, drawn, strict=True):
        progress(len(found), len(names))
        found.append(_agreement(a, b, table, totals, ratings.scale, thresholds, draws, ratings.shared_members(a, b)))
    return found


def _agreement(
    a: str,
    b: str,
    tables: Int,
    drawn: Values,
    scale: Sequence[int],
    thresholds: Sequence[int],
    draws: int,
    shared_members: tuple[str, ...],
) -> PairAgreement:
    total: Int = tables.sum(axis=0)

    def estimated(table: Int, drawn: Values, values: Sequence[int], words: Sequence[str]) -> Estimates:
        return estimate(
            coefficients(table, values),
            coefficients(drawn, values),
            lambda name: why_undefined(table, words, a, b),
            draws,
            dict.fromkeys(COEFFICIENTS, len(tables)),
        )

    estimates = estimated(total, drawn, scale, grade_words(scale))
    return PairAgreement(
        a=a,
        b=b,
        n=int(total.sum()),
        queries=len(tables),
        confusion=total,
        values=estimates.values,
        intervals=estimates.intervals,
        undefined=estimates.undefined,
        binarized={
            grade: estimated(
                binarize(total, scale, grade),
                binarize(drawn, scale, grade),
                (0, 1),
                threshold_words(grade),
            )
            for grade in thresholds
        },
        shared_members=shared_members,
    )


@dataclass(frozen=True)
class QueryPair:
    """Agreement of two labelers over the ``n`` pairs of one query that both graded; values are None where
    undefined."""

    a: str
    b: str
    n: int
    values: dict[str, float | None]
    undefined: dict[str, str]


@dataclass(frozen=True)
class QueryAgreement:
    """Agreement within one query, for each pair of labelers with a common pair in it."""

    query_id: str
    pairs: tuple[QueryPair, ...]


def per_query(ratings: Ratings, names: Sequence[str] = tuple(COEFFICIENTS)) -> list[QueryAgreement]:
    """The named coefficients for each pair of labelers per query, for the queries with a common pair, in the order
    of ``ratings.queries``."""
    words = grade_words(ratings.scale)
    pairs: list[list[QueryPair]] = [[] for _ in range(len(ratings.queries))]
    for a, b in combinations(ratings.labelers, 2):
        tables = confusion_by_query(ratings, a, b)
        n = tables.sum(axis=(1, 2))
        shared = np.flatnonzero(n)
        tables = tables[shared]
        found = coefficients(tables, ratings.scale, names)
        columns = [found[name].tolist() for name in names]
        for query, table, count, *row in zip(shared.tolist(), tables, n[shared].tolist(), *columns, strict=True):
            values = {name: None if value != value else value for name, value in zip(names, row, strict=True)}
            missing = [name for name, value in values.items() if value is None]
            undefined = dict.fromkeys(missing, why_undefined(table, words, a, b)) if missing else {}
            pairs[query].append(QueryPair(a, b, count, values, undefined))
    query_ids = ratings.queries.values.to_pylist()
    return [QueryAgreement(query_id, tuple(row)) for query_id, row in zip(query_ids, pairs, strict=True) if row]


def grade_words(scale: Sequence[int]) -> list[TranslatableText]:
    return [TranslatableText(f"the grade {grade}", "grade", grade=grade) for grade in scale]


def threshold_words(grade: int) -> list[str]:
    return [f"a grade below {grade}", f"a grade of {grade} or more"]


def queries_by_id(ratings: Ratings) -> Int:
    """The codes of all queries sorted by id, so that the order of the input does not matter."""
    order: Int = np.argsort(ratings.queries.lexicographic_rank(np.arange(len(ratings.queries))))
    return order
