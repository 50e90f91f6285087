"""The list of steps, cut into phases: a phase ends where all rows must be known, to compare or to write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from quati_pool.files.artifacts import digest
from quati_pool.files.former_keys import former_key
from quati_pool.preparation.base import Cutter, Filter, GlobalFilter, Sink, Step
from quati_pool.preparation.config import PrepareConfig, StepConfig
from quati_pool.preparation.steps.repeated_ids import RepeatedIds
from quati_pool.registry import PREPARATIONS

REPEATED_IDS = "repeated-ids"
"""The label of a step of the tool's own, before the first comparison or writing: ids must be unique from there on."""

# Raised when what tasks leave on disk comes to look otherwise.
_LAYOUT = 1


@dataclass(frozen=True, eq=False)
class Link:
    """A step at its place in the chain; ``unit`` is what its rows are when they reach it."""

    label: str
    step: Step
    unit: str
    key: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Phase:
    """Links that a task passes through in one go, and the GlobalFilter or Sink in which they end."""

    number: int
    links: Sequence[Link]
    end: Link
    key: str

    @property
    def name(self) -> str:
        return f"{self.number}-{self.end.label}-{self.key[:16]}"

    @property
    def rewrites(self) -> bool:
        """Whether its tasks store rows of their own, not only which rows are left."""
        return self.number == 0 or any(_changes(link.step) for link in self.links)


def _changes(step: Step) -> bool:
    return isinstance(step, Cutter) or (isinstance(step, Filter) and type(step).learned is not Filter.learned)


def chain(config: PrepareConfig) -> list[Link]:
    """The steps in their order, the tool's own among them."""
    links: list[Link] = []
    unit = "pages"
    checked = False
    for settings, step in zip(config.steps, config.made(), strict=True):
        if not checked and isinstance(step, (GlobalFilter, Sink)):
            own = RepeatedIds(RepeatedIds.Parameters(), step.environment)
            links.append(Link(REPEATED_IDS, own, unit, {"step": f"{own.id}@{own.revision}"}))
            checked = True
        links.append(Link(settings.label, step, unit, _key(settings, step)))
        if isinstance(step, Cutter):
            unit = "passages"
    return links


def _key(settings: StepConfig, step: Step) -> dict[str, Any]:
    return {
        "step": PREPARATIONS.identity(settings.step),
        "parameters": settings.parameters.model_dump(mode="json"),
        **step.key(),
    }


def steps_key(links: Sequence[Link]) -> str:
    """What tells whether a worker made the same steps, of lists with the same content, as the driver."""
    return digest([[link.label, link.key] for link in links])


def former_phases(links: Sequence[Link], shards: Sequence[str]) -> list[Phase]:
    """The same phases under the keys that they had before components had identities."""
    return phases([replace(link, key=former_key(link.key)) for link in links], shards)


def phases(links: Sequence[Link], shards: Sequence[str]) -> list[Phase]:
    """The phases over shards with these keys. A phase's key holds all that changes what its tasks make of a shard:
    the first's only the steps, so that a file more leaves finished shards as they are; a later one's all
    shards, as a comparison saw all of them."""
    found: list[Phase] = []
    key = digest(["layout", _LAYOUT])
    passed: list[Link] = []
    for link in links:
        if not isinstance(link.step, (GlobalFilter, Sink)):
            passed.append(link)
            continue
        # Where files are written changes nothing of the rows.
        keys = [each.key for each in passed] + ([link.key] if isinstance(link.step, GlobalFilter) else ["write"])
        key = digest([key, keys])
        found.append(Phase(len(found), tuple(passed), link, key))
        key = digest([key, list(shards)])
        passed = []
    return found
