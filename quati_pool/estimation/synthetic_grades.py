"""Grades that people might give to the pairs of a pool, drawn at random: what plans are tried out on.

Both models let people and judge agree more in some queries than in others. Where all queries were alike, as with
calibrated probabilities of single pairs, errors would average out within a query, and whole queries would be planned a
third too few: on TREC DL 2021 with GPT-4o, 15 queries would promise a half-width of 0.052 to 0.060 where it is 0.076.
"""

from __future__ import annotations

import numpy as np

from quati_pool.estimation.pair_frame import NO_GRADE, PairFrame, Values
from quati_pool.records import Int

Generator = np.random.Generator


def grades_by_correlation(frame: PairFrame, correlation: float, generator: Generator) -> Int:
    """People's grades, shape (pairs,), before any is known: ``correlation``, from 0 to 1, is that of people's and the
    judge's gains of pairs.

    People give a pair the judge's grade, or else, as if they read another query into it, the judge's grade of a random
    pair of a random query, the same one for all such pairs of a query. How often they give the judge's grade differs
    between queries: its share has a beta distribution with the mean ρ, uniform for ρ = ½.
    """
    # With f a judge's gain, f' that of a random pair, and A, of probability ρ and independent of both, whether people
    # give the judge's: g = A·f + (1 − A)·f' has the distribution of f, and cov(g, f) = ρ·var(f), so that the
    # correlation is ρ.
    shares: Values = np.full(frame.queries, correlation)
    if 0 < correlation < 1:
        shares = generator.beta(2 * correlation, 2 * (1 - correlation), frame.queries)
    donor = generator.choice(frame.queries, frame.queries, p=frame.sizes / len(frame))
    others = _Groups(frame.query).drawn(donor[frame.query], generator)
    same = generator.random(len(frame)) < shares[frame.query]
    return np.where(same, frame.judge_or_mean, frame.judge_or_mean[others])


def grades_from_labels(frame: PairFrame, people: Int, generator: Generator) -> Int:
    """People's grades, shape (pairs,), by hot-deck imputation (Andridge, Little, International Statistical Review
    78(1), 2010). ``people``, shape (pairs,), are those that are known, which stay, and NO_GRADE elsewhere, not all.

    Each query has a random labelled query as donor: its pairs get the grades that people gave to random pairs of the
    donor with the same grade by the judge; to those of any query if the donor has none.
    """
    _, judge = np.unique(frame.judge_or_mean, return_inverse=True)
    labelled = np.flatnonzero(people != NO_GRADE)
    donor = generator.choice(np.unique(frame.query[labelled]), frame.queries)[frame.query]
    levels = int(judge.max()) + 1
    rows = _Groups((frame.query * levels + judge)[labelled]).drawn(donor * levels + judge, generator)
    for lacking, groups in ((judge[labelled], judge), (np.zeros_like(labelled), np.zeros_like(judge))):
        rows = np.where(rows >= 0, rows, _Groups(lacking).drawn(groups, generator))
    return np.where(people != NO_GRADE, people, people[labelled[rows]])


class _Groups:
    """Rows by their group."""

    def __init__(self, group: Int) -> None:
        self._order = np.argsort(group, kind="stable")
        self._sorted = group[self._order]

    def drawn(self, wanted: Int, generator: Generator) -> Int:
        """A random row of each ``wanted`` group, shape (n,); −1 for a group without rows."""
        first = np.searchsorted(self._sorted, wanted, side="left")
        count = np.searchsorted(self._sorted, wanted, side="right") - first
        within = np.floor(generator.random(len(wanted)) * count).astype(np.int64)
        return np.where(count > 0, self._order[np.minimum(first + within, len(self._order) - 1)], -1)
