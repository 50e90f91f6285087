"""The options of ``quati-pool assign``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MOST_OVERLAP = 100
"""The most people who can be asked to grade each pair."""


@dataclass(frozen=True, kw_only=True)
class AssignOptions:
    """How pairs are chosen and assigned. Exactly one of ``everything``, ``random`` (a number of pairs, or a rate such
    as 0.1 or 10%), ``stratified`` (a number of pairs) and ``queries`` (query_ids) is given.

    Strata are formed ``by`` these properties; None means by query, number of systems and, with a ``judge``, its grade.
    At least ``minimum`` pairs are taken from each stratum. With ``queries`` and a ``system``, only the pairs in the
    first ``depth`` ranks of its run are taken. Each pair is graded by ``overlap`` people, each of whom gets at most
    ``load`` pairs of the design: the people in ``to``, or anybody if that is empty. A ``seed`` of None means
    pool.yaml's.
    """

    everything: bool = False
    random: str | None = None
    stratified: int | None = None
    queries: Sequence[str] | None = None
    by: Sequence[str] | None = None
    judge: str | None = None
    minimum: int = 1
    system: str | None = None
    depth: int = 10
    overlap: int = 1
    load: int | None = None
    to: Sequence[str] = ()
    seed: int | None = None
    dry_run: bool = False
