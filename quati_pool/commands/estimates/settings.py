"""What ``estimate`` estimates, and from which grades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quati_pool.estimation.results import Target
from quati_pool.project.config import PoolConfig


@dataclass(frozen=True, kw_only=True)
class EstimateSettings:
    """What is estimated, and from which grades.

    ``measures``: None takes the first one of pool.yaml, or nDCG@10. ``targets``: each measure is estimated for each.
    ``people`` and ``judge`` are names of labelers; None takes everybody who graded pairs of the design (several people
    of a pair by ``aggregate``, majority or mean; leads' decisions come first), and the collection's language model.
    ``design`` is the id of a design of the workspace; None takes the latest random one that was begun. ``sampled`` says
    how the labels of a file were chosen: "queries" (whole queries at random) or "pairs" (pairs at random, all with one
    probability). ``delta`` is in units of the measure; None takes 0.02 of its highest value. ``looks``: how many looks
    at the estimates were planned in advance.
    """

    measures: Sequence[str] | None = None
    targets: Sequence[Target] = ("these-queries",)
    people: str | None = None
    judge: str | None = None
    aggregate: str = "majority"
    design: int | None = None
    sampled: str | None = None
    baseline: str | None = None
    alpha: float = 0.05
    delta: float | None = None
    looks: int = 1
    revealed: bool = False
    seed: int | None = None


def seed_of(settings: EstimateSettings, config: PoolConfig | None) -> int:
    return settings.seed if settings.seed is not None else config.seed if config else 0
