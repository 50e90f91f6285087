"""Which of two qrels is nearer to a third one, by the order of systems and by the level of a measure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quati_pool.evaluation.qrels_comparison import drawn_means, restricted
from quati_pool.evaluation.scores import Scores, Values
from quati_pool.evaluation.system_ranks import rounded
from quati_pool.stats.bootstrap import DRAWS, Contrast, contrast, multiplicities
from quati_pool.stats.rank_correlation import kendall_tau


@dataclass(frozen=True)
class JudgeContrast:
    """Two qrels against a reference over the ``queries`` that all three judge, and so many ``systems``: Kendall's τ of
    each with the order under the reference, and how far the mean of the measure over all systems and queries is from
    the reference's (``level``, absolute)."""

    queries: int
    systems: int
    tau: Contrast
    level: Contrast


def contrast_judges(
    reference: Scores, one: Scores, other: Scores, measure: str, draws: int = DRAWS, seed: int = 0
) -> JudgeContrast | None:
    """Compares ``one`` and ``other``, scores of the same runs by ``measure``, over all common queries; None without
    any. The same queries are drawn for both; a single one has no draws.

    The interval of τ is for the difference that as many queries are expected to show, and is centred: by percentiles
    alone it would be about another value (see ``contrast``).
    """
    judged = set(one.query_ids).intersection(other.query_ids)
    common = [query_id for query_id in reference.query_ids if query_id in judged]
    if not common:
        return None
    scores = [restricted(scored, measure, reference.run_tags, common) for scored in (reference, one, other)]
    drawn = [
        _figures(*(drawn_means(scored, block) for scored in scores))
        for block in multiplicities(len(common), draws if len(common) > 1 else 0, seed)
    ]
    (figures,) = _figures(*(rounded(scored.means()[:, 0])[None] for scored in scores))
    values = np.concatenate([np.empty((0, 2, 2)), *drawn])
    tau, level = (contrast(*figures[:, place].tolist(), *values[:, :, place].T, centred=place == 0) for place in (0, 1))
    return JudgeContrast(len(common), len(reference.run_tags), tau, level)


def _figures(people: Values, one: Values, other: Values) -> Values:
    """τ and the level of both judges, by the means of systems of shape (draws, systems); of shape (draws, judges, 2).

    A difference of levels is that of absolute means.
    """
    figures = [(kendall_tau(people, judge), np.abs((judge - people).mean(axis=1))) for judge in (one, other)]
    return np.moveaxis(np.array(figures), 2, 0)
