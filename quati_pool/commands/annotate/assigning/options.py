"""The options of ``quati-pool assign``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quati_pool.annotation.error_queues import QUEUES
from quati_pool.errors import QuatiPoolError
from quati_pool.estimation.gain_spread import WEIGHTINGS
from quati_pool.registry import nearest
from quati_pool.text.pluralize import listed

MOST_OVERLAP = 100
"""The most people who can be asked to grade each pair."""


@dataclass(frozen=True, kw_only=True)
class AssignOptions:
    """How pairs are chosen and assigned. Exactly one of these is given: ``everything``, ``random`` (a number of pairs,
    or a rate such as 0.1 or 10%), ``stratified`` (a number of pairs), ``queries`` (query_ids), ``random_queries`` (a
    number of whole queries), ``pairs_for`` (a measure such as nDCG@10), and ``queue`` (``error_queues.QUEUES``).

    Strata are formed ``by`` these properties; None means by query, number of systems and, with a ``judge``, its grade.
    At least ``minimum`` pairs are taken from each stratum. With ``queries`` and a ``system``, only the pairs in the
    first ``depth`` ranks of its run are taken. Random queries are stratified by the column ``strata`` of the queries'
    file. Pairs for a measure number ``rate`` (a share of the pool, such as 0.1 or 10%) or ``expect`` on average; the
    share ``uniform`` of them is spread evenly over the pool (None: 0.2), the others follow the ranks of the systems
    ``important`` (empty: all) and the grades of the ``judge``, and what a pair weighs is multiplied ``by`` one of
    ``gain_spread.WEIGHTINGS`` (None: ``discount``, by nothing). A queue has ``expect`` pairs at most, by the grades of
    the ``judge``. ``further_judges`` are those that it may disagree with.

    Each pair is graded by ``overlap`` people, each of whom gets at most ``load`` pairs of the design: the people in
    ``to``, or anybody if that is empty. A ``seed`` of None means pool.yaml's.
    """

    everything: bool = False
    random: str | None = None
    stratified: int | None = None
    queries: Sequence[str] | None = None
    random_queries: int | None = None
    pairs_for: str | None = None
    queue: str | None = None
    by: Sequence[str] | None = None
    judge: str | None = None
    further_judges: Sequence[str] = ()
    minimum: int = 1
    system: str | None = None
    depth: int = 10
    strata: str | None = None
    rate: str | None = None
    expect: int | None = None
    important: Sequence[str] = ()
    uniform: float | None = None
    overlap: int = 1
    load: int | None = None
    to: Sequence[str] = ()
    seed: int | None = None
    dry_run: bool = False

    def check(self) -> None:
        """Raises QuatiPoolError for options that contradict each other."""
        ways = [self.random, self.stratified, self.queries, self.random_queries, self.pairs_for, self.queue]
        if self.everything + sum(way is not None for way in ways) != 1:
            raise QuatiPoolError(
                "choose the pairs in exactly one way: --all, --random, --stratified, --queries, --random-queries, "
                "--pairs-for, --queue, --training or --gold"
            )
        if self.stratified is None and self.pairs_for is None and self.by:
            raise QuatiPoolError(
                "--by says how to stratify or to weigh pairs; ask for --stratified N or --pairs-for MEASURE"
            )
        if self.judge and self.stratified is None and self.pairs_for is None and self.queue is None:
            raise QuatiPoolError(
                "--judge says whose grades to choose by; ask for --stratified N, --pairs-for MEASURE or --queue NAME"
            )
        self._check_judges()
        if self.system is not None and self.queries is None:
            raise QuatiPoolError("--system takes a run's first pairs of some queries; name these with --queries")
        if self.strata is not None and self.random_queries is None:
            raise QuatiPoolError("--strata stratifies whole queries; ask for --random-queries N")
        self._check_measure()
        self._check_queue()

    @property
    def weighting(self) -> str:
        """What pairs for a measure are drawn by."""
        return "discount" if self.pairs_for is None or self.by is None else ",".join(self.by)

    def _check_judges(self) -> None:
        names = [*([self.judge] if self.judge else []), *self.further_judges]
        for name in names:
            if names.count(name) > 1:
                raise QuatiPoolError(f"--judge {name} is given twice; name different judges")
        if self.further_judges and self.weighting != "disagreement" and self.queue != "contradictions":
            raise QuatiPoolError(
                "several judges are compared by --by disagreement and --queue contradictions only; name one --judge"
            )

    def _check_queue(self) -> None:
        if self.queue is None:
            return
        if self.queue not in QUEUES:
            raise QuatiPoolError(f"--queue {self.queue}: there is no such queue; {nearest(self.queue, QUEUES)}")
        if self.expect is None or self.expect < 1:
            raise QuatiPoolError("--queue needs the number of pairs: --expect 50")

    def _check_measure(self) -> None:
        if self.pairs_for is None:
            expect = self.expect if self.queue is None else None
            if any(value is not None for value in (self.rate, expect, self.uniform)) or self.important:
                raise QuatiPoolError(
                    "--rate, --expect, --for and --uniform say which pairs to draw for a measure; name it with "
                    "--pairs-for"
                )
            return
        if self.weighting not in WEIGHTINGS:
            raise QuatiPoolError(f"--by {self.weighting}: pairs for a measure are drawn by one of {listed(WEIGHTINGS)}")
        if self.weighting != "discount" and self.uniform == 1:
            raise QuatiPoolError(f"with --uniform 1 all pairs are equally probable; leave out --by {self.weighting}")
        if (self.rate is None) == (self.expect is None):
            raise QuatiPoolError("--pairs-for needs the number of pairs, given once: --rate 0.1, or --expect 1500")
        if self.expect is not None and self.expect < 1:
            raise QuatiPoolError(f"--expect {self.expect}: a sample of no pairs is empty; ask for at least 1")
        if self.uniform is not None and not 0 < self.uniform <= 1:
            raise QuatiPoolError(f"--uniform {self.uniform:g} is no share of the pairs; give one above 0 and at most 1")
