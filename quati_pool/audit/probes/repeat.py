"""The probe ``repeat``: the same pair, asked again."""

from __future__ import annotations

from random import Random
from typing import Annotated

from pydantic import Field

from quati_pool.audit import base
from quati_pool.audit.base import Change, Material, Probe, SourcePair


class RepeatParameters(base.Parameters):
    times: Annotated[int, Field(ge=1, description="how often each pair is asked again")] = 2


class Repeat(Probe):
    """Asks about pairs again, unchanged."""

    id = "probe/repeat"
    summary = "the same pairs, asked again"
    paper = "Stureborg et al., 2024 (arXiv 2405.01724)"
    danger = "inconsistent grades"
    seen = "were graded differently when asked again"
    advice = "rely on one grade of a pair, or on small differences between systems"
    drawn = "any"
    expected = "stay"
    every_variant = True
    Parameters = RepeatParameters
    parameters: RepeatParameters

    @property
    def variants(self) -> tuple[str, ...]:
        return tuple(str(time) for time in range(1, self.parameters.times + 1))

    def change(self, pair: SourcePair, variant: str, material: Material, random: Random) -> Change | None:
        return Change(pair.shown)
