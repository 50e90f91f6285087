"""Samples of a pool's pairs for people to grade, with inclusion probabilities.

Each pair has a number in (0, 1], a hash of the seed and its ids (permanent random numbers; Ohlsson, Coordination
of Samples Using Permanent Random Numbers, 1995). A rate, or a probability of each pair, selects the pairs whose number
is at most that (Poisson sampling); a fixed size selects the smallest numbers of each stratum. Whole queries are drawn
in the same way, by a number of each query. So a larger sample with the same seed and frame contains the smaller one,
and the order of the input pairs never matters.

A stratum's share of a sample follows its size: see ``sample_stratified``. Summing a figure divided by the recorded
inclusion probabilities over the sample estimates its sum over the frame (Horvitz and Thompson, Journal of the
American Statistical Association 47(260), 1952).
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quati_pool.annotation.errors import DesignError
from quati_pool.records import Int
from quati_pool.stats.hashing import hashes, places
from quati_pool.stats.sample_sizes import FEWEST_OF_STRATUM
from quati_pool.text.pluralize import counted

Values = npt.NDArray[np.float64]

NOTHING = "none"
"""Written in a stratum's name for a missing value, such as no grade by the judge."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """A stratum with ``pairs`` pairs of the frame, of which ``selected`` were selected, each with probability
    ``inclusion``, which is the mean where pairs have their own."""

    name: str
    pairs: int
    selected: int
    inclusion: float


@dataclass(frozen=True, eq=False)
class Sample:
    """Pairs selected from a frame. ``rows``, shape (n,), are their positions in the frame, ascending.

    ``frame_stratum``, shape (pairs,), is the position of each pair's stratum in ``strata``, which lists all strata of
    the frame, even those without a selected pair; −1 for a pair that could not be selected. ``probabilities``, shape
    (pairs,), are the inclusion probabilities of the frame's pairs; None if each pair has that of its stratum.
    """

    rows: Int
    frame_stratum: Int
    strata: tuple[Stratum, ...]
    probabilities: Values | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def frame_inclusion(self) -> Values:
        """The inclusion probability of each pair of the frame, shape (pairs,); 0 if it could not be selected."""
        if self.probabilities is not None:
            return self.probabilities
        # The last one is that of stratum −1.
        return np.array([*(stratum.inclusion for stratum in self.strata), 0.0])[self.frame_stratum]

    @property
    def inclusion(self) -> Values:
        """The inclusion probability of each selected pair, shape (n,)."""
        return self.frame_inclusion[self.rows]

    def names(self) -> list[str]:
        """The name of each selected pair's stratum."""
        return self._names(self.frame_stratum[self.rows])

    def frame_names(self) -> list[str]:
        """The name of the stratum of each pair of the frame; all of them have one if the sample is random."""
        return self._names(self.frame_stratum)

    def _names(self, codes: Int) -> list[str]:
        names = [stratum.name for stratum in self.strata]
        return [names[code] for code in codes.tolist()]


def hash_unit(seed: int, query_ids: Sequence[str], doc_ids: Sequence[str]) -> Values:
    """Each pair's number in (0, 1], shape (pairs,): the upper 53 bits of its XXH3 hash, so exact in float64."""
    return _unit(hashes("pairs", seed, query_ids, doc_ids))


def frame_sha(query_ids: Sequence[str], doc_ids: Sequence[str]) -> str:
    """The SHA-256 (hex) of a set of pairs, independent of their order."""
    whole = hashlib.sha256()
    for query_id, doc_id in sorted(zip(query_ids, doc_ids, strict=True)):
        whole.update(f"{len(query_id)}:{query_id}{len(doc_id)}:{doc_id}".encode("utf-8", "surrogatepass"))
    return whole.hexdigest()


def stratum_names(columns: Mapping[str, Sequence[object]]) -> list[str]:
    """The name of each row's stratum, such as ``query=7|grade=2|systems=3-4``, from columns of equal length. None is
    written ``none``; characters that could make two values look alike are percent-encoded."""
    if not columns:
        raise ValueError("a stratum needs at least one column")
    written: dict[object, str] = {None: NOTHING}
    named = []
    for key, values in columns.items():
        for value in set(values) - written.keys():
            written[value] = _without_marks(str(value))
        prefix = _without_marks(key)
        named.append([f"{prefix}={written[value]}" for value in values])
    return named[0] if len(named) == 1 else ["|".join(row) for row in zip(*named, strict=True)]


def _without_marks(text: str) -> str:
    """The text, percent-encoded if it holds a character with a meaning in strata's names, or is what is written for a
    missing value."""
    if text == NOTHING:
        return "%6Eone"
    return text if text.isprintable() and not set(text) & set("%|= ") else quote(text, safe="", errors="replace")


def systems_band(systems: int) -> str:
    """The band of the number of systems that found a pair, doubling in size: 1, 2, 3-4, 5-8, 9+."""
    bands = ((1, "1"), (2, "2"), (4, "3-4"), (8, "5-8"))
    return next((name for most, name in bands if systems <= most), "9+")


def sample_all(pairs: int) -> Sample:
    """All pairs, each with probability 1."""
    return _in_one_stratum(_range(pairs), pairs, 1.0)


def sample_random(
    query_ids: Sequence[str], doc_ids: Sequence[str], seed: int, *, n: int | None = None, rate: float | None = None
) -> Sample:
    """Exactly ``n`` pairs at random, or each pair with probability ``rate``.

    Raises DesignError if the frame has fewer than ``n`` pairs, ValueError unless exactly one of the two is given.
    """
    if (n is None) == (rate is None):
        raise ValueError("give either n or rate")
    drawn = hashes("pairs", seed, query_ids, doc_ids)
    pairs = len(drawn)
    if rate is not None:
        if not 0 < rate <= 1:
            raise DesignError(f"a rate of {rate} cannot be drawn; give one above 0 and at most 1")
        rows = np.flatnonzero(_unit(drawn) <= rate)
        return _in_one_stratum(rows, pairs, rate)
    assert n is not None
    _check_size(n, pairs)
    rows = np.sort(places(drawn, query_ids, doc_ids)[:n])
    return _in_one_stratum(rows, pairs, n / pairs)


def sample_poisson(query_ids: Sequence[str], doc_ids: Sequence[str], seed: int, inclusion: Values) -> Sample:
    """Each pair with its own probability, ``inclusion``, shape (pairs,), independently of the others (Poisson
    sampling). If all are equal, these are the pairs that ``sample_random`` selects with this rate.

    Raises ValueError for a probability that is not above 0 and at most 1.
    """
    if not ((inclusion > 0) & (inclusion <= 1)).all():
        raise ValueError("a probability is not above 0 and at most 1")
    rows = np.flatnonzero(hash_unit(seed, query_ids, doc_ids) <= inclusion)
    mean = float(inclusion.mean()) if len(inclusion) else 0.0
    return _in_one_stratum(rows, len(inclusion), mean, inclusion)


def sample_stratified(
    query_ids: Sequence[str], doc_ids: Sequence[str], seed: int, strata: Sequence[str], n: int, minimum: int = 1
) -> Sample:
    """``n`` pairs, from each stratum in proportion to its size but at least ``minimum`` (all pairs of a smaller
    stratum), at random within it; ``strata`` names the stratum of each pair.

    Places beyond the minimum are assigned one by one to the stratum with the largest N / (2 s + 1), where s is the
    number it already has (Webster's, or Sainte-Laguë's, method). Unlike the largest-remainder method, which can take
    a place away as n grows (the Alabama paradox), this never does, so a larger sample contains the smaller one. With
    ``minimum`` 0 the strata may outnumber n: each gets its share n N_h / N rounded up or down at random, so that
    every pair has the probability n / N and the sample has about n pairs.

    Raises DesignError if the frame has fewer than ``n`` pairs, or n is too small for the minimum.
    """
    drawn = hashes("pairs", seed, query_ids, doc_ids)
    _check_size(n, len(drawn))
    if minimum < 0:
        raise DesignError(f"the minimum per stratum cannot be {minimum}; give 0 or more")
    names, stratum = _coded(strata)
    sizes = np.bincount(stratum, minlength=len(names))
    if minimum:
        wanted = _seats(sizes, n, minimum)
        inclusion = wanted / sizes
    else:
        share = sizes * (n / len(drawn))
        # Never above the size, because 1 minus a number in (0, 1] is below 1.
        wanted = np.minimum(np.floor(share + (1.0 - _unit(hashes("strata", seed, names)))), sizes).astype(np.int64)
        inclusion = np.full(len(names), n / len(drawn))
    order = places(drawn, query_ids, doc_ids)
    order = order[np.argsort(stratum[order], kind="stable")]
    place = _range(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows = np.sort(order[place < wanted[stratum[order]]])
    table = zip(names, sizes.tolist(), wanted.tolist(), inclusion.tolist(), strict=True)
    return Sample(rows, stratum, tuple(Stratum(*row) for row in table))


def random_query_order(strata: Mapping[str, str], seed: int) -> list[str]:
    """All queries of a frame in the random order in which ``sample_random_queries`` takes them; ``strata`` has the
    stratum of each. For any k the first k are a simple random sample within each stratum, so that the queries
    that are completed when work in this order stops are one too.

    First come FEWEST_OF_STRATUM queries of each stratum (all of a smaller one), one of each stratum in turn, then the
    others in proportion to the strata's sizes, by Webster's method as in ``sample_stratified``.
    """
    query_ids = sorted(strata)
    drawn = places(hashes("random queries", seed, query_ids), query_ids).tolist()
    waiting: dict[str, list[str]] = defaultdict(list)
    for place in reversed(drawn):
        waiting[strata[query_ids[place]]].append(query_ids[place])
    names = sorted(waiting)
    sizes = np.array([len(waiting[name]) for name in names], dtype=np.int64)
    return [waiting[names[stratum]].pop() for stratum in _seat_order(sizes, FEWEST_OF_STRATUM).tolist()]


def sample_random_queries(query_ids: Sequence[str], seed: int, n: int, strata: Sequence[str] | None = None) -> Sample:
    """``n`` whole queries at random, each with all of its pairs: the first of ``random_query_order``. ``strata`` names
    the stratum of each pair's query; None: all are in one, ``all``. A pair's probability is the share of the queries of
    its stratum that were drawn.

    Raises DesignError if the frame has fewer than ``n`` queries, or n is too small for FEWEST_OF_STRATUM of each
    stratum.
    """
    strata = ["all"] * len(query_ids) if strata is None else strata
    stratum_of = dict(zip(query_ids, strata, strict=True))
    _check_queries(n, stratum_of)
    chosen = set(random_query_order(stratum_of, seed)[:n])
    rows = np.flatnonzero(np.fromiter((one in chosen for one in query_ids), np.bool_, count=len(query_ids)))
    names, stratum = _coded(strata)
    pairs = np.bincount(stratum, minlength=len(names)).tolist()
    selected = np.bincount(stratum[rows], minlength=len(names)).tolist()
    queries, drawn = Counter(stratum_of.values()), Counter(stratum_of[query_id] for query_id in chosen)
    share = [drawn[name] / queries[name] for name in names]
    return Sample(rows, stratum, tuple(map(Stratum, names, pairs, selected, share)))


def query_counts(query_ids: Sequence[str], sample: Sample) -> dict[str, tuple[int, int]]:
    """By stratum, the number of queries of the frame and of those with selected pairs; ``query_ids`` are the frame's.
    For samples of whole queries, where each query is in one stratum."""
    stratum_of = dict(zip(query_ids, sample.frame_names(), strict=True))
    queries = Counter(stratum_of.values())
    drawn = Counter(stratum_of[query_id] for query_id in {query_ids[row] for row in sample.rows.tolist()})
    return {stratum.name: (queries[stratum.name], drawn[stratum.name]) for stratum in sample.strata}


def sample_queries(
    query_ids: Sequence[str], listed: Sequence[str], ranks: Int | None = None, depth: int | None = None
) -> Sample:
    """All pairs of the ``listed`` queries. ``ranks``, shape (pairs,), are one system's rank of each pair from 1 (0 if
    not returned); if given, only pairs ranked up to ``depth`` are selected (None: all that the system returned).

    The pairs are chosen, not drawn: their probability is 1 within the listed queries, and figures computed from
    them hold only for these. Raises DesignError for a query without a pair.
    """
    if len(set(listed)) < len(listed):
        raise DesignError(f"query {_twice(listed)!r} is listed twice; keep one")
    wanted = set(listed)
    kept = np.fromiter((query_id in wanted for query_id in query_ids), dtype=np.bool_, count=len(query_ids))
    if ranks is not None:
        kept &= (ranks >= 1) & (ranks <= (np.iinfo(np.int64).max if depth is None else depth))
    rows = np.flatnonzero(kept)
    code = {query_id: place for place, query_id in enumerate(sorted(wanted))}
    stratum = np.full(len(query_ids), -1, dtype=np.int64)
    stratum[rows] = [code[query_ids[row]] for row in rows.tolist()]
    sizes = np.bincount(stratum[rows], minlength=len(code)).tolist()
    empty = [query_id for query_id, place in code.items() if not sizes[place]]
    if empty:
        more = f" (and {len(empty) - 1} more)" if len(empty) > 1 else ""
        where = "the pool" if ranks is None else "what that run put into the pool"
        raise DesignError(f"query {empty[0]!r}{more} has no pair in {where}; take it off the list")
    names = stratum_names({"query": list(code)}) if code else []
    return Sample(rows, stratum, tuple(Stratum(name, n, n, 1.0) for name, n in zip(names, sizes, strict=True)))


def _in_one_stratum(rows: Int, pairs: int, inclusion: float, probabilities: Values | None = None) -> Sample:
    stratum = Stratum("all", pairs, len(rows), inclusion)
    return Sample(rows, np.zeros(pairs, dtype=np.int64), (stratum,), probabilities)


def _coded(strata: Sequence[str]) -> tuple[list[str], Int]:
    """The strata's names, sorted so that the order of the pairs has no effect, and the position of each pair's stratum
    among them, shape (pairs,)."""
    encoded = pa.array(strata, type=pa.large_string()).dictionary_encode()
    found: list[str] = encoded.dictionary.to_pylist()
    names = sorted(found)
    code = {name: place for place, name in enumerate(names)}
    stratum: Int = np.array([code[name] for name in found], dtype=np.int64)[encoded.indices.to_numpy()]
    return names, stratum


def _unit(drawn: npt.NDArray[np.uint64]) -> Values:
    unit: Values = ((drawn >> np.uint64(11)).astype(np.float64) + 1.0) / 2.0**53
    return unit


def _seats(sizes: Int, n: int, minimum: int) -> Int:
    """How many of ``n`` places each stratum gets, shape (strata,)."""
    first = np.minimum(sizes, minimum)
    needed = int(first.sum())
    if n < needed:
        raise DesignError(
            f"{len(sizes)} strata with at least {counted(minimum, 'pair', 'pairs')} each need {needed} pairs, not {n}; "
            "ask for more pairs, stratify by less (--by), or do without a minimum (--minimum 0)",
            "strata", strata=len(sizes), needed=needed, size=n,
        )  # fmt: skip
    given: Int = np.bincount(_seat_order(sizes, minimum)[:n], minlength=len(sizes))
    return given


def _seat_order(sizes: Int, minimum: int) -> Int:
    """The stratum that gets each place, from the first place to the last, shape (sum of the sizes,): the ``minimum`` of
    all strata in turn, then by Webster's method."""
    owner = np.repeat(_range(len(sizes)), sizes)
    has = _range(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    beyond = has >= minimum
    # Ties go to the stratum that comes first by name, which does not depend on the size of the sample.
    order: Int = np.lexsort((owner, np.where(beyond, -(sizes[owner] / (2 * has + 1)), has), beyond))
    return owner[order]


def _check_size(n: int, pairs: int) -> None:
    if n < 1:
        raise DesignError(f"a sample of {n} pairs is empty; ask for at least 1")
    if n > pairs:
        raise DesignError(f"the pool has {pairs:,} pairs to choose from, not {n:,}; ask for at most {pairs}")


def _check_queries(n: int, stratum_of: Mapping[str, str]) -> None:
    queries, strata = len(stratum_of), Counter(stratum_of.values())
    if n < 1:
        raise DesignError(f"a sample of {n} queries is empty; ask for at least 1")
    if n > queries:
        raise DesignError(f"the pool has {queries:,} queries to choose from, not {n:,}; ask for at most {queries}")
    needed = sum(min(size, FEWEST_OF_STRATUM) for size in strata.values())
    if len(strata) > 1 and n < needed:
        raise DesignError(
            f"{len(strata)} strata with at least {FEWEST_OF_STRATUM} queries each (all of a smaller one) need "
            f"{needed} queries, not {n}; ask for more queries, or stratify by a column with fewer values",
            "query_strata", strata=len(strata), needed=needed, size=n,
        )  # fmt: skip


def _twice(values: Sequence[str]) -> str:
    return next(value for place, value in enumerate(values) if value in values[:place])


def _range(n: int) -> Int:
    return np.arange(n, dtype=np.int64)
