"""Whether a labeler agrees more with one other labeler than with another, over the same pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from quati_pool.agreement.coefficients import coefficients
from quati_pool.agreement.confusion import confusion_by_query
from quati_pool.agreement.estimates import resample
from quati_pool.agreement.pairwise import queries_by_id
from quati_pool.agreement.ratings import Ratings
from quati_pool.stats.bootstrap import DRAWS, Contrast, contrast


@dataclass(frozen=True)
class KappaContrast:
    """Cohen's κ of a labeler with one and with another, over the ``n`` pairs that all three graded, of so many
    ``queries``; its interval is a bootstrap over queries."""

    n: int
    queries: int
    kappa: Contrast


def kappa_contrast(
    ratings: Ratings, labeler: str, one: str, other: str, draws: int = DRAWS, seed: int = 0
) -> KappaContrast:
    """Compares the κ of ``labeler`` with ``one`` and with ``other``; the same queries are drawn for both."""
    graded = np.all([ratings.of(name) >= 0 for name in (labeler, one, other)], axis=0)
    kept = np.flatnonzero(graded)
    trio = replace(ratings, query=ratings.query[kept], doc=ratings.doc[kept], grade=ratings.grade[:, kept])
    order = queries_by_id(trio)
    tables = [confusion_by_query(trio, labeler, name)[order] for name in (one, other)]
    with_pairs = tables[0].sum(axis=(1, 2)) > 0
    tables = [table[with_pairs] for table in tables]
    scale = ratings.scale

    def kappa(table: np.ndarray) -> np.ndarray:
        return coefficients(table, scale, ["kappa"])["kappa"]

    with_one, with_other = (float(kappa(table.sum(axis=0))) for table in tables)
    drawn_one, drawn_other = (kappa(table) for table in resample(tables, draws, seed))
    return KappaContrast(len(kept), len(tables[0]), contrast(with_one, with_other, drawn_one, drawn_other))
