"""The cost of a call, from the dated list prices in ``prices.yaml``, which a file of the user overrides."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from quati_pool.errors import InputError
from quati_pool.files.yaml_file import Model, YamlFile
from quati_pool.llm.answers import Usage

BUNDLED = Path(__file__).with_name("prices.yaml")

# gpt-4o-2024-11-20 is a snapshot of gpt-4o; gpt-4-0613 does not follow this pattern and is listed.
_SNAPSHOT = re.compile(r"-20\d\d-[01]\d-[0-3]\d\Z")

Dollars = Annotated[float, Field(ge=0)]


class ModelPrices(Model):
    """US dollars per million tokens; without ``cached_input`` cached tokens cost as much as other input."""

    input: Dollars
    output: Dollars
    cached_input: Dollars | None = None


class Provider(Model):
    """A provider's price list, and when and where it was read."""

    as_of: date
    source: str
    batch: Annotated[float, Field(gt=0, le=1)] = 1.0
    models: Annotated[dict[str, ModelPrices], Field(min_length=1)]


@dataclass(frozen=True)
class Price:
    """A model's price: US dollars per million tokens, the factor for batches, date and source."""

    model: str
    input: float
    cached_input: float
    output: float
    batch: float
    as_of: date
    source: str

    def cost(self, usage: Usage, batch: bool = False) -> float | None:
        """US dollars for the tokens of ``usage``; None if a required count is missing. A count of cached tokens above
        that of the input is ignored."""
        if usage.input is None or (usage.output is None and self.output):
            return None
        cached = usage.cached if usage.cached is not None and 0 <= usage.cached <= usage.input else 0
        dollars = (
            (usage.input - cached) * self.input + cached * self.cached_input + (usage.output or 0) * self.output
        ) / 1e6
        return dollars * self.batch if batch else dollars


FREE = Price("", 0.0, 0.0, 0.0, 1.0, date.min, "a model on this machine")


def price_of(model: str, own: Path | None = None) -> Price | None:
    """The price of a model, from the file ``own`` first; None if it is unknown.

    Raises InputError with file and line if a file is invalid.
    """
    lists = [read_prices(own)] if own is not None else []
    lists.append(_bundled())
    names = [model, _SNAPSHOT.sub("", model)]
    return next((prices[name] for prices in lists for name in names if name in prices), None)


@cache
def _bundled() -> dict[str, Price]:
    return read_prices(BUNDLED)


def read_prices(path: Path) -> dict[str, Price]:
    """The prices in a file by model name. Raises InputError with file and line if it is invalid."""
    file = YamlFile(path, missing="check prices: in pool.yaml")
    if not isinstance(file.data, dict) or not file.data:
        raise InputError(path, 1, "holds no prices; expected  PROVIDER: {as_of: DATE, source: …, models: {…}}")
    prices: dict[str, Price] = {}
    for provider, data in file.data.items():
        made = _provider(file, provider, data)
        for name, price in made.models.items():
            if name in prices:
                raise file.error((provider, "models", name), "has a price above; keep one")
            cached = price.input if price.cached_input is None else price.cached_input
            prices[name] = Price(name, price.input, cached, price.output, made.batch, made.as_of, made.source)
    return prices


def _provider(file: YamlFile, provider: object, data: object) -> Provider:
    if isinstance(data, dict) and isinstance(data.get("models"), dict):
        for name, prices in data["models"].items():
            place = (provider, "models", name)
            if not isinstance(name, str):
                raise file.error(place, "expected a model's name (quote a number: '7')")
            file.model(place, ModelPrices, prices)
    return file.model((provider,), Provider, data)
