from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.release.question_splits import split_sizes, split_units

SHARES = {"train": 80, "validation": 10, "test": 10}


def test_sizes_are_by_largest_remainder() -> None:
    # 80 % of 27 is 21.6, 10 % is 2.7: floors 21, 2, 2; two remain, for the remainders 0.7 and 0.7.
    assert split_sizes(27, SHARES) == {"train": 21, "validation": 3, "test": 3}
    # 0.8, 0.1, 0.1: the single unit goes to train.
    assert split_sizes(1, SHARES) == {"train": 1, "validation": 0, "test": 0}
    # 4.0, 0.5, 0.5: equal remainders, and the split named first gets it.
    assert split_sizes(5, SHARES) == {"train": 4, "validation": 1, "test": 0}
    # The paper's 2,258 question sets: 1,806.4, 225.8 and 225.8.
    assert split_sizes(2258, SHARES) == {"train": 1806, "validation": 226, "test": 226}


_UNITS = st.lists(st.text(min_size=1, max_size=4), unique=True, max_size=60)
_SHARES = st.tuples(st.integers(1, 100), st.integers(0, 99)).filter(lambda two: sum(two) <= 100)


@given(_UNITS, _SHARES, st.integers(0, 3))
def test_sizes_are_exact_and_the_order_of_units_never_matters(
    units: list[str], two: tuple[int, int], seed: int
) -> None:
    shares = {"train": two[0], "validation": two[1], "test": 100 - sum(two)}
    found = split_units(units, shares, seed)
    sizes = split_sizes(len(units), shares)
    assert set(found) == set(units)
    assert Counter(found.values()) == Counter(sizes)
    assert all(abs(sizes[split] - len(units) * share / 100) < 1 for split, share in shares.items())
    assert split_units(units[::-1], shares, seed) == found


@given(_UNITS, st.data(), st.integers(0, 3))
def test_known_units_stay_where_they_are(units: list[str], data: st.DataObject, seed: int) -> None:
    before = units[: data.draw(st.integers(0, len(units)))]
    known = split_units(before, SHARES, seed)
    after = split_units(units, SHARES, seed, known)
    assert set(after) == set(units)
    assert {unit: after[unit] for unit in before} == known
    sizes = split_sizes(len(units), SHARES)
    assert all(kept <= sizes[split] for split, kept in Counter(known.values()).items())
    assert Counter(after.values()) == Counter(sizes)


def test_a_split_that_is_too_large_already_gets_no_others() -> None:
    known = dict.fromkeys("abcdef", "test")
    found = split_units([*"abcdefghij"], SHARES, 0, known)
    assert Counter(found.values()) == {"test": 6, "train": 4}


def test_seeds_draw_other_splits_and_are_not_drawn_by_id() -> None:
    units = [f"A{number}" for number in range(200)]
    drawn = [split_units(units, SHARES, seed) for seed in range(40)]
    # Each unit is in test in about 10 % of draws: 40 draws of 200 units, 20 of each in test.
    assert len({tuple(sorted(one.items())) for one in drawn}) == 40
    in_test = Counter(unit for one in drawn for unit, split in one.items() if split == "test")
    assert sum(in_test.values()) == 40 * 20
    # By chance, a unit is in more than 14 of 40 test splits with probability 2.6e-6: binomial(40, 0.1).
    assert max(in_test.values()) <= 14


@pytest.mark.parametrize("units", [[], ["only"]])
def test_no_unit_and_one(units: list[str]) -> None:
    assert split_units(units, SHARES, 0) == dict.fromkeys(units, "train")
