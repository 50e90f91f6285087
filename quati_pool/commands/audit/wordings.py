"""How much the wording of a judge's prompt alone changes its grades, and with them the order of systems (Arabzadeh and
Clarke, SIGIR 2025, arXiv 2504.12408)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quati_pool.agreement.pairwise import pairwise
from quati_pool.agreement.ratings import Ratings
from quati_pool.commands.audit.grades import COVERED, common_scores, scores_of
from quati_pool.errors import QuatiPoolError
from quati_pool.evaluation.qrels_comparison import Correlation, compare_rankings
from quati_pool.labels.qrels import qrels_of
from quati_pool.project.runs import RunSet
from quati_pool.records import Qrels
from quati_pool.stats.bootstrap import DRAWS, Interval
from quati_pool.stats.clustered_means import LEVEL, ClusteredMean, clustered_mean

Grades = Mapping[tuple[str, str], int]
"""The grade of each pair of query_id and doc_id."""


@dataclass(frozen=True)
class Kappa:
    """Cohen's κ with its bootstrap interval over queries; None where it is undefined."""

    value: float | None
    interval: Interval


@dataclass(frozen=True, eq=False)
class Wording:
    """A judge under one wording of its prompt. ``mean`` is its mean grade; what compares it with its own prompt
    (``kappa``, ``shift``, ``tau``) is None for that prompt, and what compares it with people without their grades.
    Both τ are also None without systems."""

    name: str
    mean: float
    kappa: Kappa | None = None
    shift: ClusteredMean | None = None
    tau: Correlation | None = None
    kappa_people: Kappa | None = None
    tau_people: Correlation | None = None


@dataclass(frozen=True, eq=False)
class Wordings:
    """``own`` is the judge's own prompt, ``others`` are the wordings that were asked too, over the ``pairs`` of
    ``queries`` that it graded under each; ``people`` graded ``by_people`` of them. τ is that of ``measure``."""

    own: Wording
    others: Sequence[Wording]
    pairs: int
    queries: int
    by_people: int
    measure: str

    @property
    def all(self) -> list[Wording]:
        return [self.own, *self.others]

    @property
    def farthest(self) -> ClusteredMean:
        """The shift of the mean grade that is farthest from 0, with an interval that holds for all of them together
        (Bonferroni)."""
        return max((one.shift for one in self.others if one.shift is not None), key=lambda shift: abs(shift.value))


def compare_wordings(
    own: Grades,
    others: Mapping[str, Grades],
    people: Grades,
    scale: Collection[int],
    run_set: RunSet | None,
    measure: str,
    *,
    name: str,
    draws: int = DRAWS,
    seed: int = 0,
) -> Wordings:
    """Compares wordings of one judge's prompt, ``own`` with the ``name`` of the judge's own and the ``others`` by name,
    over the pairs that have a grade under all of them, which are all that counts. With at least two runs it compares
    the orders of systems too, by ``measure``; with people's order only if people graded 80 % of the pairs.

    Raises QuatiPoolError without ``others``, or if no pair has all grades.
    """
    pairs = sorted(set(own).intersection(*others.values())) if others else []
    if not pairs:
        raise QuatiPoolError("no pair has a grade under every wording")
    query = np.unique([query_id for query_id, _ in pairs], return_inverse=True)[1]
    before = np.array([own[pair] for pair in pairs])
    by_people = [pair for pair in pairs if pair in people]
    # Positions are names that nothing else has.
    graded = {str(place): _qrels(one, pairs) for place, one in enumerate([own, *others.values()])}
    if by_people:
        graded["people"] = _qrels(people, by_people)
    kappas = {
        (one.a, one.b): Kappa(one.values["kappa"], one.intervals["kappa"])
        for one in pairwise(Ratings.join(graded, sorted(scale)), draws, seed, binarized=False)
    }
    taus: dict[tuple[str, str], Correlation] = {}
    if run_set is not None and len(run_set.runs) > 1:
        compared = dict(graded)
        if len(by_people) < COVERED * len(pairs):
            compared.pop("people", None)
        taus = _taus(compared, run_set, measure, draws, seed)

    def wording(place: int, name: str, grades: Grades) -> Wording:
        key, values = str(place), np.array([grades[pair] for pair in pairs])
        # All wordings are looked at: Bonferroni.
        level = 1 - (1 - LEVEL) / max(len(others), 1)
        return Wording(
            name,
            float(values.mean()),
            kappas.get(("0", key)),
            clustered_mean(values - before, query, level) if place else None,
            taus.get(("0", key)),
            kappas.get((key, "people")),
            taus.get((key, "people")),
        )

    named = [(name, own), *others.items()]
    first, *rest = [wording(place, each, grades) for place, (each, grades) in enumerate(named)]
    return Wordings(first, rest, len(pairs), int(query.max()) + 1, len(by_people), measure)


def _qrels(grades: Grades, pairs: Sequence[tuple[str, str]]) -> Qrels:
    return qrels_of([(*pair, grades[pair]) for pair in pairs])


def _taus(
    graded: Mapping[str, Qrels], run_set: RunSet, measure: str, draws: int, seed: int
) -> dict[tuple[str, str], Correlation]:
    """τ of each wording with the judge's own prompt, and with people if they are among ``graded``; people's order, or
    that of the own prompt, is the reference."""
    scores = {name: scores_of(run_set, qrels, measure) for name, qrels in graded.items()}
    wordings = [name for name in scores if name != "people"]
    wanted = [("0", name) for name in wordings[1:]]
    wanted += [(name, "people") for name in wordings] if "people" in scores else []
    found = {}
    for a, b in wanted:
        one, other = common_scores(scores[a], scores[b], measure)
        found[a, b] = compare_rankings(one, other, measure, draws=draws, seed=seed).tau
    return found
