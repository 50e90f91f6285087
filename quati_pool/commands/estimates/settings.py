"""What ``estimate`` estimates, and from which grades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from quati_pool.errors import ConfigError
from quati_pool.estimation.results import TARGETS, Target
from quati_pool.evaluation.measures import parse_measures
from quati_pool.project.config import PoolConfig
from quati_pool.text.pluralize import listed

DEFAULT_MEASURE = "nDCG@10"
"""What is estimated where neither the caller nor a pool.yaml names a measure."""


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

    def check(self) -> None:
        """Raises ConfigError for values that nothing can be estimated with."""
        check_decisions(self.alpha, self.delta)
        check_targets(self.targets)
        if self.looks < 1:
            raise ConfigError(f"looks is {self.looks}; give the planned number of looks, 1 or more")


def check_decisions(alpha: float, delta: float | None) -> None:
    """Raises ConfigError for a level of significance, or a bound of ties, by which nothing could be decided."""
    if not 0 < alpha < 1:
        raise ConfigError(f"alpha is {alpha}; give a number between 0 and 1, such as 0.05")
    if delta is not None and not 0 <= delta < inf:
        raise ConfigError(f"delta is {delta}; give the largest difference that counts as a tie, such as 0.02")


def check_targets(targets: Sequence[Target]) -> None:
    """Raises ConfigError if there is no target."""
    if not targets:
        raise ConfigError(f"there is no target; name {listed(TARGETS)}, or one of them")


def measures_of(settings: EstimateSettings, config: PoolConfig | None) -> tuple[str, ...]:
    """The measures that are estimated."""
    return parse_measures(settings.measures or ([config.measures[0]] if config else [DEFAULT_MEASURE]))


def seed_of(settings: EstimateSettings, config: PoolConfig | None) -> int:
    """The seed of what is simulated."""
    return settings.seed if settings.seed is not None else config.seed if config else 0
