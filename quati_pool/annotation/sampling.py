"""Samples of a pool's pairs for people to grade, with inclusion probabilities.

Each pair has a number in (0, 1], a hash of the seed and its ids (permanent random numbers; Ohlsson, Coordination
of Samples Using Permanent Random Numbers, 1995). A rate selects the pairs whose number is at most the rate; a
fixed size selects the smallest numbers of each stratum. So a larger sample with the same seed and frame contains
the smaller one, and the order of the input pairs never matters.

A stratum's share of a sample follows its size: see ``sample_stratified``. Summing a figure divided by the recorded
inclusion probabilities over the sample estimates its sum over the frame (Horvitz and Thompson, Journal of the
American Statistical Association 47(260), 1952).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quati_pool.annotation.errors import DesignError
from quati_pool.annotation.hashing import hashes, places
from quati_pool.records import Int
from quati_pool.text.pluralize import counted

Values = npt.NDArray[np.float64]

NOTHING = "none"
"""Written in a stratum's name for a missing value, such as no grade by the judge."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """A stratum with ``pairs`` pairs of the frame, of which ``selected`` were selected, each with probability
    ``inclusion``."""

    name: str
    pairs: int
    selected: int
    inclusion: float


@dataclass(frozen=True, eq=False)
class Sample:
    """Selected pairs. ``rows``, shape (n,), are their positions in the frame, ascending; ``stratum``, shape (n,),
    is the position of each pair's stratum in ``strata``, which lists all strata of the frame, even those without a
    selected pair."""

    rows: Int
    stratum: Int
    strata: tuple[Stratum, ...]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def inclusion(self) -> Values:
        """The inclusion probability of each selected pair, shape (n,)."""
        return np.array([stratum.inclusion for stratum in self.strata], dtype=np.float64)[self.stratum]

    def names(self) -> list[str]:
        """The name of each selected pair's stratum."""
        names = [stratum.name for stratum in self.strata]
        return [names[code] for code in self.stratum.tolist()]


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
            text = str(value)
            # A query called "none" must differ from a missing value.
            plain = text != NOTHING and text.isprintable() and not set(text) & set("%|= ")
            written[value] = text if plain else "%6Eone" if text == NOTHING else quote(text, safe="", errors="replace")
        named.append([f"{key}={written[value]}" for value in values])
    return named[0] if len(named) == 1 else ["|".join(row) for row in zip(*named, strict=True)]


def systems_band(systems: int) -> str:
    """The band of the number of systems that found a pair, doubling in size: 1, 2, 3-4, 5-8, 9+."""
    bands = ((1, "1"), (2, "2"), (4, "3-4"), (8, "5-8"))
    return next((name for most, name in bands if systems <= most), "9+")


def sample_all(pairs: int) -> Sample:
    """All pairs, each with probability 1."""
    return Sample(_range(pairs), np.zeros(pairs, dtype=np.int64), (Stratum("all", pairs, pairs, 1.0),))


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
        return Sample(rows, np.zeros(len(rows), dtype=np.int64), (Stratum("all", pairs, len(rows), rate),))
    assert n is not None
    _check_size(n, pairs)
    rows = np.sort(places(drawn, query_ids, doc_ids)[:n])
    return Sample(rows, np.zeros(n, dtype=np.int64), (Stratum("all", pairs, n, n / pairs),))


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
    encoded = pa.array(strata, type=pa.large_string()).dictionary_encode()
    # Codes follow the order of the names, so that the order of the pairs has no effect.
    found: list[str] = encoded.dictionary.to_pylist()
    names = sorted(found)
    code = {name: place for place, name in enumerate(names)}
    stratum = np.array([code[name] for name in found], dtype=np.int64)[encoded.indices.to_numpy()]
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
    return Sample(rows, stratum[rows], tuple(Stratum(*row) for row in table))


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
    stratum = np.array([code[query_ids[row]] for row in rows.tolist()], dtype=np.int64)
    sizes = np.bincount(stratum, minlength=len(code)).tolist()
    empty = [query_id for query_id, place in code.items() if not sizes[place]]
    if empty:
        more = f" (and {len(empty) - 1} more)" if len(empty) > 1 else ""
        where = "the pool" if ranks is None else "what that run put into the pool"
        raise DesignError(f"query {empty[0]!r}{more} has no pair in {where}; take it off the list")
    names = stratum_names({"query": list(code)}) if code else []
    return Sample(rows, stratum, tuple(Stratum(name, n, n, 1.0) for name, n in zip(names, sizes, strict=True)))


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
    beyond = sizes - first
    owner = np.repeat(_range(len(sizes)), beyond)
    has = _range(len(owner)) - np.repeat(np.cumsum(beyond) - beyond, beyond) + first[owner]
    # Ties go to the stratum that comes first by name, which does not depend on n.
    order = np.lexsort((owner, -(sizes[owner] / (2 * has + 1))))
    given: Int = first + np.bincount(owner[order[: n - needed]], minlength=len(sizes))
    return given


def _check_size(n: int, pairs: int) -> None:
    if n < 1:
        raise DesignError(f"a sample of {n} pairs is empty; ask for at least 1")
    if n > pairs:
        raise DesignError(f"the pool has {pairs:,} pairs to choose from, not {n:,}; ask for at most {pairs}")


def _twice(values: Sequence[str]) -> str:
    return next(value for place, value in enumerate(values) if value in values[:place])


def _range(n: int) -> Int:
    return np.arange(n, dtype=np.int64)
