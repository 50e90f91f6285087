"""Splits the units of a data set of questions, which are question sets or the texts that they are from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from quati_pool.stats.hashing import hashes, places


def split_sizes(units: int, shares: Mapping[str, int]) -> dict[str, int]:
    """The number of units of each split, by largest remainder; ``shares`` are in percent and sum to 100. Equal
    remainders go to the split named first."""
    quotas = {split: Fraction(units * share, 100) for split, share in shares.items()}
    sizes = {split: int(quota) for split, quota in quotas.items()}
    for split in sorted(shares, key=lambda split: sizes[split] - quotas[split])[: units - sum(sizes.values())]:
        sizes[split] += 1
    return sizes


def split_units(
    units: Sequence[str], shares: Mapping[str, int], seed: int, known: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The split of each unit: as in ``known``, else drawn at random by ``seed`` so that the sizes are those of
    ``split_sizes``. The order of ``units`` never matters.

    Where a split has more known units than its size, because the shares changed or units were left out, it keeps them,
    and gets no others.
    """
    splits = {unit: known[unit] for unit in units if known and known.get(unit) in shares}
    room = split_sizes(len(units), shares)
    for split in splits.values():
        room[split] -= 1
    free = [split for split in shares for _ in range(max(room[split], 0))]
    drawn = [units[row] for row in places(hashes("authoring split", seed, units), units)]
    new = [unit for unit in drawn if unit not in splits]
    return splits | dict(zip(new, free, strict=False))
