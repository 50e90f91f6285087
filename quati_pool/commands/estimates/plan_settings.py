"""What ``estimate --plan`` plans."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from quati_pool.commands.estimates.settings import EstimateSettings
from quati_pool.errors import ConfigError
from quati_pool.estimation.decisions import POWER

CORRELATION = 0.6
"""The correlation of people's and the judge's grades of pairs where nothing is known of it; GPT-4o's with NIST's on
TREC DL 2021 is 0.66, that of Mistral 7B 0.47."""


@dataclass(frozen=True, kw_only=True)
class PlanSettings:
    """What is planned.

    ``estimate`` is what shall be estimated; of designs and samples it needs nothing but for measures that are planned
    from an estimate. Either ``half_width`` or ``difference``, found with a probability of ``power`` (None: 0.8), is the
    goal. ``correlation``, from 0 to 1, is that of people's and the judge's grades of pairs: people's labels are not
    used then. ``seconds_per_label``: None takes the median of the labels in the workspace. ``minutes_per_query``: what
    reading into a query takes.
    """

    estimate: EstimateSettings = field(default_factory=EstimateSettings)
    half_width: float | None = None
    difference: float | None = None
    power: float | None = None
    correlation: float | None = None
    seconds_per_label: float | None = None
    minutes_per_query: float | None = None

    @property
    def planned_power(self) -> float:
        return POWER if self.power is None else self.power

    def check(self) -> None:
        """Raises ConfigError for values that nothing can be planned with."""
        self.estimate.check()
        if (self.half_width is None) == (self.difference is None):
            raise ConfigError("a plan needs one goal; give either --half-width or --difference")
        for option, goal in (("--half-width", self.half_width), ("--difference", self.difference)):
            if goal is not None and not 0 < goal < inf:
                raise ConfigError(f"{option} is {goal:g}; give a number above 0, such as 0.05")
        if self.power is not None and self.difference is None:
            raise ConfigError("--power is the probability of finding a --difference; give one, or leave --power out")
        if not 0 < self.planned_power < 1:
            raise ConfigError(f"--power is {self.planned_power:g}; give a probability between 0 and 1, such as {POWER}")
        if self.correlation is not None and not 0 <= self.correlation <= 1:
            raise ConfigError(
                f"--correlation is {self.correlation:g}; give a number from 0 to 1, such as {CORRELATION}"
            )
        for option, time in (
            ("--seconds-per-label", self.seconds_per_label),
            ("--minutes-per-query", self.minutes_per_query),
        ):
            if time is not None and not 0 <= time < inf:
                raise ConfigError(f"{option} is {time:g}; give 0 or more")
