"""How many labels people can give for money and in hours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import floor
from typing import Literal

from quati_pool.errors import ConfigError

# More than the rounding error of a quotient.
_EXACT = 1e-9
_COST = re.compile(r"(?P<dollars>\d+(\.\d+)?|\.\d+)\s*/\s*(?P<unit>h|label)")


@dataclass(frozen=True)
class PersonCost:
    """What people are paid: ``dollars`` per hour or per label."""

    dollars: float
    unit: Literal["h", "label"]

    @classmethod
    def of(cls, text: str) -> PersonCost:
        """``20/h`` or ``0.25/label``. Raises ConfigError for anything else."""
        found = _COST.fullmatch(text.strip())
        if found is None:
            raise ConfigError(
                f"--cost-person {text}: give US dollars per hour or per label, such as 20/h or 0.25/label"
            )
        return cls(float(found["dollars"]), "h" if found["unit"] == "h" else "label")

    def __str__(self) -> str:
        return f"{self.dollars:g}/{self.unit}"


@dataclass(frozen=True)
class _Limit:
    """How much there is of something, and what a label and reading into a query take of it."""

    available: float
    per_label: float
    per_query: float

    def labels(self, queries: int, most: int) -> int:
        """The labels that can be given, spread over ``queries``."""
        if self.available < 0:
            return 0
        each = self.per_label + self.per_query
        if self.available < queries * each:
            return min(most, floor(self.available / each + _EXACT))
        if not self.per_label:
            return most
        return min(most, floor((self.available - queries * self.per_query) / self.per_label + _EXACT))

    def whole_queries(self, size: float, most: int) -> int:
        each = size * self.per_label + self.per_query
        if self.available < 0:
            return 0
        return most if not each else min(most, floor(self.available / each + _EXACT))


@dataclass(frozen=True, kw_only=True)
class Means:
    """Money in US ``dollars`` and people's ``hours`` (None: no limit), what people cost, and what grading takes:
    seconds for each label and, besides, minutes for each query."""

    dollars: float
    hours: float | None
    cost: PersonCost
    seconds_per_label: float
    minutes_per_query: float

    def labels(self, queries: int, most: int, spent: float = 0.0) -> int:
        """How many labels people can give, ``most`` at most, evenly over ``queries``, once ``spent`` dollars are gone;
        fewer labels than queries are in as many queries as labels."""
        return min(limit.labels(queries, most) for limit in self._limits(spent))

    def whole_queries(self, size: float, most: int, spent: float = 0.0) -> int:
        """How many queries of ``size`` pairs each people can grade as a whole, ``most`` at most."""
        return min(limit.whole_queries(size, most) for limit in self._limits(spent))

    def hours_of(self, labels: float, queries: float) -> float:
        """People's hours for ``labels`` in ``queries``."""
        return labels * self.seconds_per_label / 3600 + queries * self.minutes_per_query / 60

    def dollars_of(self, labels: float, queries: float) -> float:
        """What people are paid for ``labels`` in ``queries``."""
        return self.cost.dollars * (labels if self.cost.unit == "label" else self.hours_of(labels, queries))

    def _limits(self, spent: float) -> Iterator[_Limit]:
        yield _Limit(self.dollars - spent, self.dollars_of(1, 0), self.dollars_of(0, 1))
        if self.hours is not None:
            yield _Limit(self.hours, self.hours_of(1, 0), self.hours_of(0, 1))
