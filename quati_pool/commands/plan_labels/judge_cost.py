"""What a judge still costs."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from quati_pool.commands.judge.plan import plan
from quati_pool.errors import ConfigError
from quati_pool.project.config import JudgeConfig, PoolConfig
from quati_pool.project.events import Listener
from quati_pool.registry import nearest

_NUMBER = "give --cost-judge USD-PER-PAIR, such as --cost-judge 0.002"


@dataclass(frozen=True)
class JudgeCost:
    """What a judge costs: US ``dollars`` per pair, None where it has nothing left to ask about, so that an estimate has
    nothing to go by. ``name`` is None where only a price was given; ``left`` is then None too, else the number of the
    pool's pairs that it has still to ask about."""

    name: str | None
    dollars: float | None
    left: int | None = None

    def of(self, pairs: int) -> float:
        """US dollars for that many pairs. Raises ConfigError where it is not known."""
        if not pairs:
            return 0.0
        if self.dollars is None:
            raise ConfigError(f"what {self.name} costs for candidates outside the pool is not known; {_NUMBER}")
        return pairs * self.dollars


def judge_cost(config: PoolConfig, given: str | None, listener: Listener) -> JudgeCost | None:
    """The cost of what was ``given``: a judge of the workspace or a price per pair; of the only judge by default, None
    if there is none or several.

    Raises ConfigError for an unknown judge and where the price is not known.
    """
    price = None if given is None else _number(given)
    if price is not None:
        if not 0 <= price < inf:
            raise ConfigError(f"--cost-judge {given}: give US dollars per pair from 0, such as --cost-judge 0.002")
        return JudgeCost(None, price)
    judges = [name for name, settings in config.judges.items() if isinstance(settings, JudgeConfig)]
    if given is None:
        return _cost_of(config, judges[0], listener) if len(judges) == 1 else None
    if given not in judges:
        hint = nearest(given, judges) if judges else "pool.yaml has none"
        raise ConfigError(f"--cost-judge {given}: there is no such judge; {hint}; or {_NUMBER}")
    return _cost_of(config, given, listener)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _cost_of(config: PoolConfig, name: str, listener: Listener) -> JudgeCost:
    """As ``judge --dry-run`` estimates it."""
    try:
        found = plan(config, name, listener)
    except ConfigError as error:
        raise ConfigError(f"what {name} costs is not known: {error}; or {_NUMBER}") from None
    if found.cost is None:
        raise ConfigError(f"the price of {name} is not known; {_NUMBER}, or name a file with it under prices:")
    return JudgeCost(name, found.cost / found.to_ask if found.to_ask else None, found.to_ask)
