"""Divides the list of steps into phases: a phase ends where all rows must be known, to compare or to write them."""

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
"""The label of the step that is added before the first GlobalFilter or Sink, from which on ids must be unique."""

# Incremented by hand when the format of the files that tasks leave on disk changes.
_LAYOUT = 1


@dataclass(frozen=True, eq=False)
class Link:
    """A step in the pipeline, with its label and key; ``unit`` is the kind of rows that reach it, pages or passages."""

    label: str
    step: Step
    unit: str
    key: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Phase:
    """The links that a task runs in one pass, and the GlobalFilter or Sink that ends them."""

    number: int
    links: Sequence[Link]
    end: Link
    key: str

    @property
    def name(self) -> str:
        return f"{self.number}-{self.end.label}-{self.key[:16]}"

    @property
    def rewrites(self) -> bool:
        """Whether the tasks store rows, rather than only the numbers of the stored rows that are left."""
        return self.number == 0 or any(_changes(link.step) for link in self.links)


def _changes(step: Step) -> bool:
    return isinstance(step, Cutter) or (isinstance(step, Filter) and type(step).enriched is not Filter.enriched)


def pipeline(config: PrepareConfig) -> list[Link]:
    """The steps in order, including the added step for repeated ids."""
    links: list[Link] = []
    unit = "pages"
    checked = False
    for settings, step in zip(config.steps, config.built_steps(), strict=True):
        if not checked and isinstance(step, (GlobalFilter, Sink)):
            added = RepeatedIds(RepeatedIds.Parameters(), step.environment)
            links.append(Link(REPEATED_IDS, added, unit, {"step": f"{added.id}@{added.revision}"}))
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
    """A key of all steps; equal for driver and worker if both built the same steps from lists with the same content."""
    return digest([[link.label, link.key] for link in links])


def former_phases(links: Sequence[Link], shards: Sequence[str]) -> list[Phase]:
    """The phases with the keys that they had before components had identities."""
    return phases([replace(link, key=former_key(link.key)) for link in links], shards)


def phases(links: Sequence[Link], shards: Sequence[str]) -> list[Phase]:
    """The phases over shards with the given keys. A phase's key covers everything that affects its tasks' output for a
    shard: in the first phase only the steps, so that finished shards stay valid when a file is added; in later phases
    all shards too, since a global filter has seen all of them."""
    found: list[Phase] = []
    key = digest(["layout", _LAYOUT])
    passed: list[Link] = []
    for link in links:
        if not isinstance(link.step, (GlobalFilter, Sink)):
            passed.append(link)
            continue
        # The folder and format of the written files do not affect the rows.
        keys = [each.key for each in passed] + ([link.key] if isinstance(link.step, GlobalFilter) else ["write"])
        key = digest([key, keys])
        found.append(Phase(len(found), tuple(passed), link, key))
        key = digest([key, list(shards)])
        passed = []
    return found
