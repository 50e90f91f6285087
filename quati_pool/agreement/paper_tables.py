"""Agreement arranged as in the Quati paper (arXiv 2404.06976, Tables 3–5, 14–15 and Figure 2).

Undefined values are left out of every mean, and counted; standard deviations are population standard deviations.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.agreement.coefficients import coefficients
from quati_pool.agreement.confusion import confusion_by_query
from quati_pool.agreement.pairwise import PairAgreement
from quati_pool.agreement.ratings import Ratings
from quati_pool.records import Int
from quati_pool.stats.bootstrap import Values
from quati_pool.stats.ratio import ratio


@dataclass(frozen=True, eq=False)
class Layout:
    """One coefficient between every labeler and every person (Tables 3–5); NaN means undefined.

    ``value``, shape (labelers, people): NaN for a person with themself. ``mean`` and ``std``, shape
    (labelers,), are over the people (for a person, over the other people) and leave out undefined values, which
    ``undefined`` counts. ``human_mean`` and ``human_std``: mean and standard deviation of the means of the people.
    ``difference``, shape (labelers,): a judge's mean minus ``human_mean``, NaN for people.
    """

    labelers: tuple[str, ...]
    people: tuple[str, ...]
    value: Values
    mean: Values
    std: Values
    undefined: Int
    human_mean: float
    human_std: float
    difference: Values


def matrix(pairs: Sequence[PairAgreement], labelers: Sequence[str], name: str, threshold: int | None = None) -> Values:
    """One coefficient between the labeler of the row and that of the column, shape (labelers, labelers).

    NaN where undefined and on the diagonal. With ``threshold``, the coefficient of the grades binarised there.
    """
    place = {labeler: position for position, labeler in enumerate(labelers)}
    values = np.full((len(labelers), len(labelers)), np.nan)
    for pair in pairs:
        value = (pair if threshold is None else pair.binarized[threshold]).values[name]
        if value is not None and pair.a in place and pair.b in place:
            a, b = place[pair.a], place[pair.b]
            values[a, b] = value
            values[b, a] = -value if name == "difference" else value
    return values


def layout(values: Values, labelers: Sequence[str], people: Collection[str]) -> Layout:
    """Arranges the values of ``matrix``, shape (labelers, labelers), by labeler and person."""
    is_person = np.array([labeler in people for labeler in labelers], dtype=bool)
    value = values[:, is_person].copy()
    itself = np.eye(len(labelers), dtype=bool)[:, is_person]
    value[itself] = np.nan
    mean, std = _mean_std(value)
    human_mean, human_std = _mean_std(mean[is_person])
    return Layout(
        labelers=tuple(labelers),
        people=tuple(labeler for labeler in labelers if labeler in people),
        value=value,
        mean=mean,
        std=std,
        undefined=(np.isnan(value) & ~itself).sum(axis=1),
        human_mean=float(human_mean),
        human_std=float(human_std),
        difference=np.where(is_person, np.nan, mean - human_mean),
    )


@dataclass(frozen=True, eq=False)
class QueryLayout:
    """One coefficient per query: among people, and between each judge and the people (Tables 14–15 and
    Figure 2); NaN means undefined.

    ``human_mean`` and ``human_std``, shape (queries,), are over all pairs of people except the ``human_undefined``
    ones, which include two people without a common pair. ``judge_mean``, ``judge_std`` and ``judge_undefined``,
    shape (queries, judges), are the same for a judge with each of the people. ``overall_mean``, ``overall_std`` and
    ``overall_undefined``, shape (1 + judges,), summarize ``human_mean`` and then each judge's mean over the queries.
    """

    query_ids: tuple[str, ...]
    judges: tuple[str, ...]
    human_mean: Values
    human_std: Values
    human_undefined: Int
    judge_mean: Values
    judge_std: Values
    judge_undefined: Int
    overall_mean: Values
    overall_std: Values
    overall_undefined: Int


def query_layout(ratings: Ratings, name: str = "kappa") -> QueryLayout:
    """The named coefficient for each query in which a person has a common pair with another labeler, in the
    order of ``ratings.queries``. A panel is not compared with its own members."""
    people = [labeler for labeler in ratings.labelers if labeler in ratings.people]
    compared = {
        judge: [(judge, person) for person in people if not ratings.shared_members(judge, person)]
        for judge in ratings.labelers
        if judge not in ratings.people
    }
    judges = [judge for judge, pairs in compared.items() if pairs or not people]
    shared = np.zeros(len(ratings.queries), dtype=bool)

    def values(pairs: list[tuple[str, str]]) -> Values:
        columns = np.full((len(ratings.queries), len(pairs)), np.nan)
        for column, (a, b) in enumerate(pairs):
            tables = confusion_by_query(ratings, a, b)
            np.logical_or(shared, tables.any(axis=(1, 2)), out=shared)
            columns[:, column] = coefficients(tables, ratings.scale, [name])[name]
        return columns

    groups = [values(list(combinations(people, 2))), *(values(compared[judge]) for judge in judges)]
    groups = [group[shared] for group in groups]
    mean, std = (np.stack(columns, axis=1) for columns in zip(*map(_mean_std, groups), strict=True))
    undefined = np.stack([np.isnan(group).sum(axis=1) for group in groups], axis=1)
    overall_mean, overall_std = _mean_std(mean.T)
    return QueryLayout(
        query_ids=tuple(ratings.queries.decode(np.flatnonzero(shared)).to_pylist()),
        judges=tuple(judges),
        human_mean=mean[:, 0],
        human_std=std[:, 0],
        human_undefined=undefined[:, 0],
        judge_mean=mean[:, 1:],
        judge_std=std[:, 1:],
        judge_undefined=undefined[:, 1:],
        overall_mean=overall_mean,
        overall_std=overall_std,
        overall_undefined=np.isnan(mean).sum(axis=0),
    )


def _mean_std(values: npt.NDArray[Any]) -> tuple[Values, Values]:
    """Mean and population standard deviation over the last axis without NaN; NaN where nothing is left."""
    defined = ~np.isnan(values)
    count = defined.sum(axis=-1)
    mean = ratio(np.where(defined, values, 0).sum(axis=-1), count)
    deviation = np.where(defined, values - mean[..., None], 0)
    return mean, np.sqrt(ratio((deviation**2).sum(axis=-1), count))
