"""Anchors, pairs that a judge is asked about again later, and whether its grades of them have moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.records import Int
from quati_pool.stats.clustered_means import ClusteredMean, clustered_mean
from quati_pool.stats.hashing import hashes, places
from quati_pool.stats.marginal_homogeneity import MarginalTest, marginal_test, p_values

ALPHA = 0.01
"""The level of a check. A judge is checked again and again, and an alarm stops work: at 0.05 monthly checks of a judge
whose answers vary by chance would raise up to one false alarm in 20 months."""

SHARE, PROBABILITY = 0.1, 0.8
"""What is said of a check's power: how likely it finds one grade more on this share of the pairs, and the smallest
share that it finds with this probability."""

UNGRADED = 0.05
"""A check in which more than this share of the anchors has no grade any more cannot clear a judge, whose other grades
say nothing of those. A judge that fails to answer 2 % by chance reaches it on 100 anchors in 1.5 % of checks."""

_SIMULATIONS, _SWAPS = 500, 999

Verdict = Literal["moved", "not cleared", "not moved", "not checked"]


@dataclass(frozen=True)
class Anchor:
    """A pair that people and the judge graded; ``content_sha`` is the hash of its texts as the judge was shown them.

    ``grade`` is the judge's when the anchor was fixed, and ``model``, ``fingerprint`` and ``answered`` are of the
    answer behind it, as the server reported them; None for a program, or if it did not.
    """

    query_id: str
    doc_id: str
    content_sha: str
    people: int
    grade: int
    model: str | None = None
    fingerprint: str | None = None
    answered: datetime | None = None

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "answered": None if self.answered is None else self.answered.isoformat()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Anchor:
        answered = record["answered"]
        return cls(**{**record, "answered": None if answered is None else datetime.fromisoformat(answered)})


def draw_order(query_ids: Sequence[str], doc_ids: Sequence[str], people: Sequence[int], seed: int) -> list[int]:
    """The places of pairs in the order in which they become anchors: one of each of people's grades in turn, at random
    among those of a grade.

    The judge's grades play no part: were they to choose, they would differ from its later ones for that reason alone.
    """
    order = places(hashes("audit anchors", seed, query_ids, doc_ids), query_ids, doc_ids)
    grades = np.asarray(people)[order]
    turn = np.zeros(len(order), dtype=np.int64)
    for grade in np.unique(grades):
        of_grade = np.flatnonzero(grades == grade)
        turn[of_grade] = np.arange(len(of_grade))
    ordered: list[int] = order[np.argsort(turn, kind="stable")].tolist()
    return ordered


class Server(NamedTuple):
    """Who gave ``answers`` answers, as the server reported itself, and when the first and the last of them came."""

    model: str | None
    fingerprint: str | None
    answers: int
    first: datetime
    last: datetime


def servers(answers: Sequence[tuple[str | None, str | None, datetime]]) -> list[Server]:
    """Answers, given as model, fingerprint and time, by model and fingerprint; the latest last."""
    times: dict[tuple[str | None, str | None], list[datetime]] = {}
    for model, fingerprint, at in answers:
        times.setdefault((model, fingerprint), []).append(at)
    found = [Server(*key, len(some), min(some), max(some)) for key, some in times.items()]
    return sorted(found, key=lambda one: (one.last, one.model or "", one.fingerprint or ""))


class AnchorGrades(NamedTuple):
    """An anchor's grades: people's, and the judge's then, when it was fixed, and now."""

    query_id: str
    doc_id: str
    people: int
    then: int
    now: int


class Unfinished(NamedTuple):
    """A check that began at ``begun`` and has an answer about ``answered`` of ``anchors``."""

    begun: datetime
    answered: int
    anchors: int


@dataclass(frozen=True, eq=False)
class Drift:
    """A judge's last finished check, or its anchors alone before the first. ``grades`` is the scale.

    ``check`` counts its checks from 1, and ``unfinished`` is the last one, if that is not finished. ``pairs`` are the
    anchors with both grades; of the other ones, ``ungraded`` have an answer without a grade, ``lost`` of them a grade
    then, and ``unasked`` no answer in this check. ``noise`` is the share of answers to the same
    question that differed without an alarm, None if it is unknown. ``kappa`` is Cohen's κ of then and now,
    ``people_then`` and ``people_now`` that with people, None where undefined. ``servers_then`` and ``servers_now`` say
    who answered.
    """

    anchors: Sequence[Anchor]
    grades: Sequence[int]
    seed: int
    check: int | None = None
    pairs: Sequence[AnchorGrades] = ()
    ungraded: int = 0
    lost: int = 0
    unasked: int = 0
    unfinished: Unfinished | None = None
    noise: float | None = None
    kappa: float | None = None
    people_then: float | None = None
    people_now: float | None = None
    servers_then: Sequence[Server] = ()
    servers_now: Sequence[Server] = ()

    @property
    def verdict(self) -> Verdict:
        if self.pairs and self.test.p <= ALPHA:
            return "moved"
        if self.lost > UNGRADED * (len(self.pairs) + self.lost):
            return "not cleared"
        return "not moved" if self.pairs else "not checked"

    @property
    def alarms(self) -> bool:
        """Whether the judge must not go on: its grades have moved, or too many are missing to say that they did not."""
        return self.verdict in ("moved", "not cleared")

    @cached_property
    def table(self) -> Int:
        """How many anchors have which grades then (rows) and now (columns), shape (grades, grades)."""
        found = np.zeros((len(self.grades), len(self.grades)), dtype=np.int64)
        places = {grade: place for place, grade in enumerate(self.grades)}
        for pair in self.pairs:
            found[places[pair.then], places[pair.now]] += 1
        return found

    @cached_property
    def test(self) -> MarginalTest:
        return marginal_test(self.table, np.array(self.grades), self.seed)

    @property
    def up(self) -> int:
        """How many anchors got a higher grade than then."""
        return int(np.triu(self.table, 1).sum())

    @property
    def down(self) -> int:
        return int(np.tril(self.table, -1).sum())

    @cached_property
    def shift(self) -> ClusteredMean | None:
        """The mean grade now less that then, with its 95 % interval for pairs in queries, cut to what the scale allows;
        None without any."""
        if not self.pairs:
            return None
        queries = [pair.query_id for pair in self.pairs]
        found = clustered_mean(np.array([pair.now - pair.then for pair in self.pairs]), np.array(queries))
        most = max(self.grades) - min(self.grades)
        if found.low is None or found.high is None:
            return found
        return found._replace(low=max(found.low, -most), high=min(found.high, most))

    @property
    def server_changed(self) -> bool:
        """Whether other models or fingerprints answered now than then, as far as both are known."""
        then, now = ({one[:2] for one in some} for some in (self.servers_then, self.servers_now))
        return bool(then and now and now - then)

    @cached_property
    def power(self) -> float:
        """How likely a check of these anchors finds one grade more on ``SHARE`` of the pairs."""
        return self._power(SHARE)

    @cached_property
    def smallest(self) -> float | None:
        """The smallest share of pairs, in whole percents, on which a check finds one grade more with
        ``PROBABILITY``; None if it does not find one more on all."""
        low, high = 0, 101
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._power(middle / 100) >= PROBABILITY else (middle, high)
        return high / 100 if high <= 100 else None

    def _power(self, share: float) -> float:
        grades = [pair.then for pair in self.pairs] or [anchor.grade for anchor in self.anchors]
        return power(np.array(grades), self.grades, share, self.noise or 0.0, self.seed)


def power(
    then: npt.NDArray[Any],
    grades: Sequence[int],
    share: float,
    noise: float = 0.0,
    seed: int = 0,
    *,
    alpha: float = ALPHA,
    simulations: int = _SIMULATIONS,
) -> float:
    """The probability that a check of anchors with the grades ``then``, shape (n,), raises an alarm if each answer is
    one grade higher with probability ``share``, those of the highest grade apart.

    By simulation. Before that, a share of ``noise`` of the pairs have two grades next to each other, then and now in
    either order, as they have if nothing changes.
    """
    random = np.random.default_rng(seed)
    count, size = len(grades), (simulations, len(then))
    places = np.broadcast_to(np.searchsorted(grades, then), size)
    noisy = random.random(size) < noise
    up = np.where(places == 0, True, np.where(places == count - 1, False, random.random(size) < 0.5))
    other = np.clip(np.where(noisy, places + np.where(up, 1, -1), places), 0, count - 1)
    first = random.random(size) < 0.5
    before, after = np.where(first, places, other), np.where(first, other, places)
    after = np.minimum(after + (random.random(size) < share), count - 1)
    codes = np.arange(simulations)[:, None] * count**2 + before * count + after
    tables = np.bincount(codes.ravel(), minlength=simulations * count**2).reshape(simulations, count, count)
    return float((p_values(tables, np.array(grades), _SWAPS, seed) <= alpha).mean())
