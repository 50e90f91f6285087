"""Samples have the size, the probabilities and the growth that they promise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.annotation.errors import DesignError
from quati_pool.annotation.sampling import (
    Sample,
    Stratum,
    frame_sha,
    hash_unit,
    query_counts,
    random_query_order,
    sample_all,
    sample_poisson,
    sample_queries,
    sample_random,
    sample_random_queries,
    sample_stratified,
    stratum_names,
    systems_band,
)
from quati_pool.stats.hashing import hashes, places
from quati_pool.stats.sample_sizes import FEWEST_OF_STRATUM

# 12 queries, strata of very different sizes: 90, 20, 9 and 1 pairs.
QUERIES = [f"q{row % 12}" for row in range(120)]
DOCS = [f"d{row}" for row in range(120)]
# Of the 12 queries 7 are in one stratum and 5 in another; queries of ten pairs each.
QUERY_STRATA = ["history" if row % 12 < 7 else "law" for row in range(120)]
# A probability of each pair, from 1/120 to 1.
OWN = np.arange(1, 121) / 120
STRATA = ["common"] * 90 + ["less"] * 20 + ["rare"] * 9 + ["single"]


def pairs_of(sample: Sample, queries: Sequence[str], docs: Sequence[str]) -> set[tuple[str, str]]:
    return {(queries[row], docs[row]) for row in sample.rows.tolist()}


# ---- the hash


def test_a_pairs_number_is_its_hash_and_the_fields_are_parted() -> None:
    expected = ((xxhash.xxh3_64_intdigest(b"pairs:7:1:q3:doc") >> 11) + 1) / 2**53
    assert hash_unit(7, ["q"], ["doc"]).tolist() == [expected]
    near = [("a", "bc"), ("ab", "c"), ("", "abc"), ("abc", ""), ("1:a", "b"), ("1", ":ab")]
    numbers = [hash_unit(0, [query_id], [doc_id])[0] for query_id, doc_id in near]
    assert len({*numbers, hash_unit(1, ["a"], ["bc"])[0]}) == 7


def test_three_columns_are_parted_like_two() -> None:
    rows = [("a", "b", "cd"), ("a", "bc", "d"), ("ab", "c", "d")]
    assert len(set(hashes("x", 0, *zip(*rows, strict=True)).tolist())) == 3


def test_the_numbers_lie_evenly_in_their_interval() -> None:
    unit = hash_unit(3, ["q"] * 20_000, [str(row) for row in range(20_000)])
    assert unit.min() > 0
    assert unit.max() <= 1
    # Kolmogorov-Smirnov: beyond 1.95 / sqrt(n) with probability 0.001 were they not uniform by chance.
    distance = np.abs(np.sort(unit) - (np.arange(20_000) + 0.5) / 20_000).max()
    assert distance < 1.95 / np.sqrt(20_000)


def test_an_id_with_a_lone_surrogate_is_hashed_too() -> None:
    assert 0 < hash_unit(0, ["\ud800"], ["d"])[0] <= 1


def test_equal_hashes_are_ordered_by_the_ids() -> None:
    same = np.zeros(3, dtype=np.uint64)
    assert places(same, ["b", "a", "a"], ["x", "z", "y"]).tolist() == [2, 1, 0]


# ---- the designs


def test_all_pairs_are_certain() -> None:
    sample = sample_all(3)
    assert sample.rows.tolist() == [0, 1, 2]
    assert sample.inclusion.tolist() == [1, 1, 1]
    assert sample.names() == ["all", "all", "all"]
    assert len(sample_all(0)) == 0


def test_a_fixed_size_takes_the_smallest_numbers() -> None:
    sample = sample_random(QUERIES, DOCS, 5, n=7)
    assert sample.rows.tolist() == sorted(np.argsort(hash_unit(5, QUERIES, DOCS))[:7].tolist())
    assert sample.strata == (Stratum("all", 120, 7, 7 / 120),)
    assert sample.inclusion.tolist() == [7 / 120] * 7


def test_a_rate_takes_the_numbers_up_to_it() -> None:
    sample = sample_random(QUERIES, DOCS, 5, rate=0.25)
    assert sample.rows.tolist() == np.flatnonzero(hash_unit(5, QUERIES, DOCS) <= 0.25).tolist()
    assert set(sample.inclusion.tolist()) == {0.25}
    assert len(sample_random(QUERIES, DOCS, 5, rate=1.0)) == 120


def test_webster_places_by_hand() -> None:
    """Strata of 90, 20, 9 and 1 pairs, 12 places, at least 1 each: 4 are given. The other 8 by N / (2 s + 1):
    30, 18, 12.9, 10, 8.2, 6.9 (common to 7), less: 6.67 (to 2), common 6 (to 8); rare's claim is 3."""
    sample = sample_stratified(QUERIES, DOCS, 0, STRATA, 12)
    assert sample.strata == (
        Stratum("common", 90, 8, 8 / 90),
        Stratum("less", 20, 2, 2 / 20),
        Stratum("rare", 9, 1, 1 / 9),
        Stratum("single", 1, 1, 1.0),
    )
    assert Counter(sample.names()) == {"common": 8, "less": 2, "rare": 1, "single": 1}
    assert [STRATA[row] for row in sample.rows.tolist()] == sample.names()
    assert sample.inclusion.tolist() == [{"common": 8 / 90, "less": 0.1, "rare": 1 / 9, "single": 1}[name]
                                         for name in sample.names()]  # fmt: skip


def test_within_a_stratum_the_smallest_numbers_are_taken() -> None:
    docs = [str(row) for row in range(5000)]
    queries, strata = ["q"] * 5000, [f"s{row % 7 % 3}" for row in range(5000)]
    sample = sample_stratified(queries, docs, 0, strata, 500)
    unit = hash_unit(0, queries, docs)
    for stratum in sample.strata:
        theirs = sorted((row for row in range(5000) if strata[row] == stratum.name), key=lambda row: unit[row])
        chosen = {row for row in sample.rows.tolist() if strata[row] == stratum.name}
        assert chosen == set(theirs[: stratum.selected])


def test_a_minimum_beyond_a_stratum_takes_all_of_it() -> None:
    sample = sample_stratified(QUERIES, DOCS, 0, STRATA, 40, minimum=10)
    assert {stratum.name: stratum.selected for stratum in sample.strata} == {
        "common": 20, "less": 10, "rare": 9, "single": 1,
    }  # fmt: skip
    assert len(sample_stratified(QUERIES, DOCS, 0, STRATA, 120, minimum=10)) == 120


def test_without_a_minimum_strata_may_outnumber_the_sample() -> None:
    each = [f"s{row // 2}" for row in range(120)]
    sizes = []
    for seed in range(200):
        sample = sample_stratified(QUERIES, DOCS, seed, each, 30, minimum=0)
        assert {stratum.inclusion for stratum in sample.strata} == {0.25}
        # Each of 60 strata has a share of 0.5: none or one pair.
        assert {stratum.selected for stratum in sample.strata} == {0, 1}
        sizes.append(len(sample))
    # 60 coin tosses a sample: mean 30, and of 200 means the standard error is sqrt(15 / 200) = 0.27.
    assert abs(np.mean(sizes) - 30) < 5 * np.sqrt(15 / 200)


# Each design with its name, to be drawn with another seed.
DESIGNS: dict[str, Callable[[int], Sample]] = {
    "random": lambda seed: sample_random(QUERIES, DOCS, seed, n=30),
    "rate": lambda seed: sample_random(QUERIES, DOCS, seed, rate=0.2),
    "stratified": lambda seed: sample_stratified(QUERIES, DOCS, seed, STRATA, 30, minimum=2),
    "no minimum": lambda seed: sample_stratified(QUERIES, DOCS, seed, STRATA, 31, minimum=0),
    "own probabilities": lambda seed: sample_poisson(QUERIES, DOCS, seed, OWN),
    "queries": lambda seed: sample_random_queries(QUERIES, seed, 5),
    "queries in strata": lambda seed: sample_random_queries(QUERIES, seed, 8, QUERY_STRATA),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_pairs_come_in_with_the_recorded_probability_and_the_weighted_sum_is_unbiased(name: str) -> None:
    """Over S seeds a pair comes in Binomial(S, p) times: its frequency's standard error is sqrt(p (1 - p) / S).
    Beyond 5 of these lies a share of 6e-7; 120 pairs make that 7e-5, so a failure is a fault, not chance.
    The mean of the weighted sums has the standard error that the sums themselves show, over sqrt(S)."""
    seeds = 2000
    counts = np.zeros(120)
    figure = np.arange(120) ** 1.5
    sums = []
    probability = DESIGNS[name](0).frame_inclusion
    for seed in range(seeds):
        sample = DESIGNS[name](seed)
        counts[sample.rows] += 1
        assert np.array_equal(sample.frame_inclusion, probability)
        assert np.array_equal(sample.inclusion, probability[sample.rows])
        sums.append((figure[sample.rows] / sample.inclusion).sum())
    error = np.sqrt(probability * (1 - probability) / seeds)
    assert (np.abs(counts / seeds - probability) <= 5 * error + 1e-12).all()
    assert abs(np.mean(sums) - figure.sum()) < 5 * np.std(sums) / np.sqrt(seeds)


@st.composite
def frames(draw: st.DrawFn) -> tuple[list[str], list[str], list[str]]:
    pairs = draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99)), min_size=1, max_size=60, unique=True))
    strata = draw(st.lists(st.sampled_from("abcdef"), min_size=len(pairs), max_size=len(pairs)))
    return [f"q{query}" for query, _ in pairs], [f"d{doc}" for _, doc in pairs], strata


@given(frames(), st.integers(-5, 5), st.integers(0, 4))
def test_a_larger_sample_holds_every_smaller_one(
    frame: tuple[list[str], list[str], list[str]], seed: int, minimum: int
) -> None:
    """At every size, so that a stratum which lost a place (the Alabama paradox) would be seen."""
    queries, docs, strata = frame
    least = sum(min(size, minimum) for size in Counter(strata).values())
    before: set[int] = set()
    for n in range(max(least, 1), len(queries) + 1):
        sample = sample_stratified(queries, docs, seed, strata, n, minimum)
        rows = set(sample.rows.tolist())
        assert before <= rows
        assert len(rows) == n or not minimum
        assert all(stratum.selected >= min(minimum, stratum.pairs) for stratum in sample.strata)
        assert sum(stratum.selected for stratum in sample.strata) == len(rows)
        assert set(sample_random(queries, docs, seed, n=n).rows.tolist()) <= set(
            sample_random(queries, docs, seed, n=min(n + 1, len(queries))).rows.tolist()
        )
        before = rows
    assert before == set(range(len(queries)))


@given(frames(), st.randoms(use_true_random=False), st.integers(0, 1))
def test_the_order_of_the_pairs_does_not_matter(
    frame: tuple[list[str], list[str], list[str]], random: Random, minimum: int
) -> None:
    rows = list(zip(*frame, strict=True))
    mixed = sorted(rows, key=lambda _: random.random())
    others = [list(column) for column in zip(*mixed, strict=True)]
    n = max(len(rows) // 2, len(set(frame[2])))
    one = sample_stratified(frame[0], frame[1], 3, frame[2], n, minimum)
    two = sample_stratified(others[0], others[1], 3, others[2], n, minimum)
    assert pairs_of(one, frame[0], frame[1]) == pairs_of(two, others[0], others[1])
    assert one.strata == two.strata
    assert frame_sha(frame[0], frame[1]) == frame_sha(others[0], others[1])


def test_the_frames_hash_parts_its_fields() -> None:
    frames_of = [(["a"], ["bc"]), (["ab"], ["c"]), ([], []), (["a", "b"], ["bc", "c"])]
    assert len({frame_sha(*frame) for frame in frames_of}) == 4


# ---- pairs with their own probabilities


def test_a_pair_enters_when_its_number_is_at_most_its_own_probability() -> None:
    sample = sample_poisson(QUERIES, DOCS, 5, OWN)
    assert sample.rows.tolist() == np.flatnonzero(hash_unit(5, QUERIES, DOCS) <= OWN).tolist()
    assert sample.inclusion.tolist() == OWN[sample.rows].tolist()
    [stratum] = sample.strata
    assert (stratum.name, stratum.pairs, stratum.selected) == ("all", 120, len(sample))
    assert stratum.inclusion == pytest.approx(121 / 240)
    equal = sample_poisson(QUERIES, DOCS, 5, np.full(120, 0.25))
    assert equal.rows.tolist() == sample_random(QUERIES, DOCS, 5, rate=0.25).rows.tolist()


@given(st.integers(0, 1000), st.lists(st.floats(1e-6, 1), min_size=120, max_size=120), st.floats(0.01, 1))
def test_where_no_probability_falls_no_pair_leaves(seed: int, probabilities: list[float], factor: float) -> None:
    larger = np.array(probabilities)
    smaller = sample_poisson(QUERIES, DOCS, seed, larger * factor)
    assert {*smaller.rows.tolist()} <= {*sample_poisson(QUERIES, DOCS, seed, larger).rows.tolist()}


@pytest.mark.parametrize("wrong", [0.0, -0.1, 1.1, float("nan")])
def test_only_a_probability_can_be_drawn_by(wrong: float) -> None:
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        sample_poisson(["q", "q"], ["a", "b"], 0, np.array([0.5, wrong]))


# ---- random queries


def test_whole_queries_are_the_first_in_the_order_of_their_numbers() -> None:
    drawn = {query: xxhash.xxh3_64_intdigest(f"random queries:5:{len(query)}:{query}".encode()) for query in QUERIES}
    order = sorted(drawn, key=drawn.__getitem__)
    assert random_query_order(dict.fromkeys(QUERIES, "all"), 5) == order
    sample = sample_random_queries(QUERIES, 5, 4)
    assert sample.rows.tolist() == [row for row in range(120) if QUERIES[row] in order[:4]]
    assert sample.strata == (Stratum("all", 120, 40, 4 / 12),)
    assert query_counts(QUERIES, sample) == {"all": (12, 4)}


def test_places_of_queries_in_strata_by_hand() -> None:
    """Strata of 7, 5 and 2 queries: three, three and two in turn first (8), then by N / (2 s + 1) as their number s
    grows from 3: 7/7, 5/7 (5 to 4), 7/9 (7 to 5), 5/9, 7/11, 7/13."""
    sizes = {"a": 7, "b": 5, "c": 2}
    strata = {f"{name}{number}": name for name, size in sizes.items() for number in range(size)}
    order = random_query_order(strata, 3)
    assert "".join(strata[query_id] for query_id in order) == "abcabcab" + "a" + "a" + "b" + "a" + "b" + "a"
    assert sorted(order) == sorted(strata)


def test_a_stratum_of_queries_has_its_own_probability() -> None:
    sample = sample_random_queries(QUERIES, 1, 8, QUERY_STRATA)
    assert sample.strata == (Stratum("history", 70, 50, 5 / 7), Stratum("law", 50, 30, 3 / 5))
    assert query_counts(QUERIES, sample) == {"history": (7, 5), "law": (5, 3)}
    assert sample.names() == [QUERY_STRATA[row] for row in sample.rows.tolist()]
    assert sample.frame_names() == QUERY_STRATA
    assert {QUERIES[row] for row in sample.rows.tolist()} == {
        *random_query_order(dict(zip(QUERIES, QUERY_STRATA, strict=True)), 1)[:8]
    }


@given(frames(), st.integers(-5, 5), st.booleans(), st.randoms(use_true_random=False))
def test_a_larger_sample_of_queries_only_adds_to_the_smaller_one_whatever_the_order_of_the_pairs(
    frame: tuple[list[str], list[str], list[str]], seed: int, stratified: bool, random: Random
) -> None:
    queries = frame[0]
    # A query is in one stratum.
    stratum_of = {query_id: name if stratified else "all" for query_id, name in zip(queries, frame[2], strict=True)}
    mixed = sorted(queries, key=lambda _: random.random())
    strata = [stratum_of[query_id] for query_id in queries]
    order = random_query_order(stratum_of, seed)
    assert sorted(order) == sorted(stratum_of)
    sizes = Counter(stratum_of.values())
    least = sum(min(size, FEWEST_OF_STRATUM) for size in sizes.values()) if len(sizes) > 1 else 1
    for n in range(least, len(order) + 1):
        sample = sample_random_queries(queries, seed, n, strata if stratified else None)
        chosen = {queries[row] for row in sample.rows.tolist()}
        assert chosen == {*order[:n]}
        assert len(sample) == sum(query_id in chosen for query_id in queries)
        for name, (total, drawn) in query_counts(queries, sample).items():
            assert total == sizes[name]
            assert len(sizes) == 1 or drawn >= min(total, FEWEST_OF_STRATUM)
        again = sample_random_queries(mixed, seed, n, [stratum_of[query_id] for query_id in mixed])
        assert again.strata == sample.strata
        assert {mixed[row] for row in again.rows.tolist()} == chosen


def test_every_beginning_of_the_order_is_a_random_sample_within_each_stratum() -> None:
    """Over S seeds each query of a stratum is among the first s of it Binomial(S, s / N) times."""
    strata = dict(zip(QUERIES, QUERY_STRATA, strict=True))
    seeds, first = 3000, 2
    counts: Counter[str] = Counter()
    for seed in range(seeds):
        order = random_query_order(strata, seed)
        for name in ("history", "law"):
            counts.update([query_id for query_id in order if strata[query_id] == name][:first])
    for query_id, name in strata.items():
        share = first / (7 if name == "history" else 5)
        assert abs(counts[query_id] / seeds - share) < 5 * np.sqrt(share * (1 - share) / seeds)


# ---- listed queries


def test_listed_queries_give_all_their_pairs_or_one_systems_best() -> None:
    queries = ["1", "1", "2", "2", "3"]
    ranks = np.array([1, 12, 0, 10, 1])
    assert sample_queries(queries, ["2", "1"]).rows.tolist() == [0, 1, 2, 3]
    sample = sample_queries(queries, ["2", "1"], ranks, 10)
    assert sample.rows.tolist() == [0, 3]
    assert sample.strata == (Stratum("query=1", 1, 1, 1.0), Stratum("query=2", 1, 1, 1.0))
    assert sample.names() == ["query=1", "query=2"]
    # The others could not be selected.
    assert sample.frame_inclusion.tolist() == [1, 0, 0, 1, 0]
    assert sample_queries(queries, ["1", "2", "3"], ranks).rows.tolist() == [0, 1, 3, 4]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sample_random(QUERIES, DOCS, 0, n=121),
         "the pool has 120 pairs to choose from, not 121; ask for at most 120"),
        (lambda: sample_random(QUERIES, DOCS, 0, n=0), "a sample of 0 pairs is empty; ask for at least 1"),
        (lambda: sample_random(QUERIES, DOCS, 0, rate=1.5),
         "a rate of 1.5 cannot be drawn; give one above 0 and at most 1"),
        (lambda: sample_random(QUERIES, DOCS, 0, rate=float("nan")),
         "a rate of nan cannot be drawn; give one above 0 and at most 1"),
        (lambda: sample_stratified(QUERIES, DOCS, 0, STRATA, 6, minimum=2),
         "4 strata with at least 2 pairs each need 7 pairs, not 6; "
         "ask for more pairs, stratify by less (--by), or do without a minimum (--minimum 0)"),
        (lambda: sample_stratified(QUERIES, DOCS, 0, STRATA, 6, minimum=-1),
         "the minimum per stratum cannot be -1; give 0 or more"),
        (lambda: sample_random_queries(QUERIES, 0, 0), "a sample of 0 queries is empty; ask for at least 1"),
        (lambda: sample_random_queries(QUERIES, 0, 13),
         "the pool has 12 queries to choose from, not 13; ask for at most 12"),
        (lambda: sample_random_queries(QUERIES, 0, 5, QUERY_STRATA),
         "2 strata with at least 3 queries each (all of a smaller one) need 6 queries, not 5; ask for more queries, or "
         "stratify by a column with fewer values"),
        (lambda: sample_queries(["1"], ["1", "1"]), "query '1' is listed twice; keep one"),
        (lambda: sample_queries(["1"], ["1", "8", "9"]),
         "query '8' (and 1 more) has no pair in the pool; take it off the list"),
        (lambda: sample_queries(["1"], ["1"], np.array([11]), 10),
         "query '1' has no pair in what that run put into the pool; take it off the list"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused(make: Callable[[], Sample], message: str) -> None:
    with pytest.raises(DesignError) as error:
        make()
    assert str(error.value) == message


def test_a_random_sample_needs_a_size_or_a_rate() -> None:
    with pytest.raises(ValueError, match="either n or rate"):
        sample_random(QUERIES, DOCS, 0)


# ---- strata


def test_a_stratums_name_is_readable_and_cannot_be_mistaken() -> None:
    assert stratum_names({"query": ["7", "8"], "grade": [2, None], "systems": ["3-4", "1"]}) == [
        "query=7|grade=2|systems=3-4",
        "query=8|grade=none|systems=1",
    ]
    hostile = ["none", "a|grade=2", "a=b", "%", "é", " ", "\n", "\u202e"]
    named = stratum_names({"query": [*hostile, None], "grade": [0] * 9})
    assert len(set(named)) == 9
    assert all(name.count("|") == 1 and name.count("=") == 2 and name.isprintable() for name in named)
    assert named[4] == "query=é|grade=0"


def test_a_column_may_be_called_anything() -> None:
    assert stratum_names({"a|b=c": ["x", None], "none": ["1", "1"]}) == [
        "a%7Cb%3Dc=x|%6Eone=1",
        "a%7Cb%3Dc=none|%6Eone=1",
    ]


def test_systems_are_counted_in_bands() -> None:
    assert [systems_band(n) for n in (1, 2, 3, 4, 5, 8, 9, 40)] == ["1", "2", "3-4", "3-4", "5-8", "5-8", "9+", "9+"]
