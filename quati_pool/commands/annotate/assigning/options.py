"""What ``quati-pool assign`` is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class AssignOptions:
    """Exactly one of ``everything``, ``random`` (a number of pairs, or a rate such as 0.1 or 10%), ``stratified``
    (a number of pairs) and ``queries`` (a file, or ids separated by commas) chooses pairs.

    Strata are formed ``by`` these properties; where None by query, number of systems and, with a ``judge``, its grade.
    Each stratum gives at least ``minimum`` pairs. Of ``queries``, with a ``system``, only the pairs in the first
    ``depth`` ranks of its run are taken. Each pair is graded by ``overlap`` people, each of whom gets at most ``load``
    pairs of the design: the people in ``to``, or anybody where that is empty. ``seed`` is pool.yaml's where None.
    """

    everything: bool = False
    random: str | None = None
    stratified: int | None = None
    queries: str | None = None
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
