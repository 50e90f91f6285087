"""Whether a judge favours systems that use its own model, or one of its family (Dietz et al., ICTIR 2025, arXiv
2504.19076: circularity, and the judge as ranker)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.stats.clustered_means import ClusteredMean, clustered_mean

Values = npt.NDArray[np.float64]

# Names by which model families are recognised, in order: the first that occurs counts.
_FAMILIES: Mapping[str, str] = {
    "openai": r"gpt|chatgpt|openai|(?<![a-z0-9])o[134](?![a-z0-9])|text-embedding-(?:3|ada)",
    "anthropic": r"claude|anthropic",
    "google": r"gemini|gemma|palm|google",
    "llama": r"llama|vicuna|alpaca",
    "mistral": r"mistral|mixtral|ministral|e5-mistral",
    "qwen": r"qwen|gte-qwen",
    "deepseek": r"deepseek",
    "cohere": r"cohere|command-r|(?<![a-z])rerank-",
    "phi": r"(?<![a-z])phi-?\d",
    "maritaca": r"sabi[aá]|maritaca",
    "smollm": r"smollm",
}


def guessed_family(name: str) -> str | None:
    """The family that a model or system is of, by its name; None if the name says nothing."""
    lowered = name.lower()
    return next((family for family, pattern in _FAMILIES.items() if re.search(pattern, lowered)), None)


@dataclass(frozen=True)
class FamilyShift:
    """How much more a judge's grades raise a family's systems than the others: the mean over queries of the difference
    between the judge's and people's measure, of the family less that of all other systems. ``shift`` has no interval
    with a single query, and is None if there are no other systems."""

    family: str
    kin: bool
    run_tags: tuple[str, ...]
    shift: ClusteredMean | None


def family_shifts(
    judge: Values, people: Values, families: Sequence[str], kin: Sequence[bool], run_tags: Sequence[str]
) -> list[FamilyShift]:
    """The shift of each family, kin first, then by shift; ``judge`` and ``people`` have shape (runs, queries), the
    others one entry for each run. A family is kin if one of its systems is."""
    gap = judge - people
    names = np.array(families, dtype=object)
    found = []
    for family in dict.fromkeys(families):
        mine = names == family
        related = any(is_kin for is_kin, own in zip(kin, mine, strict=True) if own)
        tags = tuple(tag for tag, own in zip(run_tags, mine, strict=True) if own)
        found.append(FamilyShift(family, related, tags, shift_of(gap, mine)))
    return sorted(found, key=lambda one: (not one.kin, -one.shift.value if one.shift is not None else 0.0, one.family))


def shift_of(gap: Values, mine: npt.NDArray[Any]) -> ClusteredMean | None:
    """The mean of ``gap``, shape (runs, queries), over the runs ``mine`` less that over the others, with an interval
    over queries; None if either has none."""
    if not mine.any() or mine.all() or not gap.shape[1]:
        return None
    by_query = gap[mine].mean(axis=0) - gap[~mine].mean(axis=0)
    return clustered_mean(by_query, np.arange(gap.shape[1]))
