"""Probabilities of the pool's pairs that serve the estimate of a measure: from where systems ranked the pairs, and from
a judge's grades of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import QuatiPoolError, TranslatableText
from quati_pool.estimation.pair_frame import NO_GRADE, PairFrame
from quati_pool.estimation.pair_measures import PairMeasure
from quati_pool.estimation.pair_probabilities import probabilities
from quati_pool.files.problems import quoted
from quati_pool.pooling.pool import Pool
from quati_pool.project.pool_reader import read_ledger
from quati_pool.records import Int
from quati_pool.registry import nearest
from quati_pool.text.pluralize import first_of

Values = np.ndarray[tuple[int], np.dtype[np.float64]]


class RankedPool:
    """The pairs of a session's pool, ``query_ids`` and ``doc_ids``, with their ranks in all systems and the judge's
    ``grades`` of them (None for a pair without one, or for all)."""

    def __init__(
        self,
        session: AnnotationSession,
        query_ids: Sequence[str],
        doc_ids: Sequence[str],
        grades: Sequence[int | None] | None,
    ) -> None:
        """Raises QuatiPoolError if the pool does not say how systems ranked its pairs, or was replaced meanwhile."""
        pool = read_ledger(session.grading.pool)
        read = (pool.queries.decode(pool.query).to_pylist(), pool.docs.decode(pool.doc).to_pylist())
        if read != (list(query_ids), list(doc_ids)):
            raise QuatiPoolError("the pool was replaced while it was read; try again")
        if not pool.run_tags:
            raise QuatiPoolError("the pool names no system that ranked its pairs; run: quati-pool build")
        self._pool = pool
        self.frame = _frame(pool, grades)

    @property
    def ranks(self) -> Int:
        """The rank of each pair in each system's run, shape (pairs, systems); 0 if the system did not return it."""
        return self._pool.ranks.astype(np.int64)

    def probabilities(
        self,
        measure: PairMeasure,
        expected: float,
        uniform: float,
        important: Sequence[str] = (),
        spread: Values | None = None,
    ) -> Values:
        """The probability of each pair, shape (pairs,), for ``expected`` pairs in all. Only the ``important`` systems
        decide about it, except that the share ``uniform`` is spread evenly; all systems do if none is named. What a
        pair weighs is multiplied by ``spread``, shape (pairs,).

        Raises QuatiPoolError for a system that the pool does not know, and if too few pairs matter for the measure.
        """
        known = self._pool.run_tags
        for run_tag in important:
            if run_tag not in known:
                raise QuatiPoolError(f"--for: the pool has no system {quoted(run_tag)}; {nearest(run_tag, known)}")
        weights = np.array([run_tag in important for run_tag in known], dtype=np.float64) if important else None
        found: Values = probabilities(self.frame, measure, expected, uniform=uniform, weights=weights, spread=spread)
        return found

    def notes(self, measure: PairMeasure) -> list[str]:
        """A note if the measure reads ranks that did not enter the pool."""
        pool = self._pool
        short = [tag for tag, depth in zip(pool.run_tags, pool.depths.tolist(), strict=True) if depth < measure.cutoff]
        if not short:
            return []
        text = (
            f"{measure.name} reads {measure.cutoff} ranks, but fewer of {first_of(short)} were pooled: what is outside "
            "the pool is in no sample"
        )
        systems = ", ".join(short)
        return [TranslatableText(text, "pooled_less", measure=measure.name, cutoff=measure.cutoff, systems=systems)]


def _frame(pool: Pool, grades: Sequence[int | None] | None) -> PairFrame:
    judge: Int = np.full(len(pool), NO_GRADE, dtype=np.int64)
    if grades is not None:
        judge[:] = [NO_GRADE if grade is None else grade for grade in grades]
    pair, system = np.nonzero(pool.ranks)
    ranks = pool.ranks[pair, system].astype(np.int64)
    return PairFrame(pool.query, len(pool.queries), judge, len(pool.run_tags), pair, system, ranks)
