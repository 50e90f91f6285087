"""Finds systems that differ significantly on a measure, and groups of systems that do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from quati_pool.errors import ConfigError
from quati_pool.evaluation.leaderboard import order
from quati_pool.evaluation.scores import Scores
from quati_pool.registry import nearest
from quati_pool.stats.significance import TESTS, Outcome, Values, holm

_NO_PAIR = Outcome(None, "the two return no judged query in common")


@dataclass(frozen=True)
class Comparison:
    """Two systems compared over the same queries: ``difference`` is the mean of ``a`` minus the mean of ``b``, None if
    they have no query in common.

    ``p`` is two-sided, ``p_holm`` is adjusted within the family of comparisons. If the test is
    undefined, both are None, ``undefined`` says why, and the difference is not significant.
    """

    a: str
    b: str
    difference: float | None
    p: float | None
    p_holm: float | None
    significant: bool
    undefined: str | None = None


def compare(
    scores: Scores, measure: str, test: str, baseline: str | None = None, alpha: float = 0.05, seed: int = 0
) -> tuple[Comparison, ...]:
    """Compares every other run with ``baseline``, or all pairs of runs, by the paired ``test``.

    A test is over the queries that the means of both runs are taken over. A difference is significant if its p,
    adjusted by Holm over these comparisons, is at most ``alpha``. Runs are in leaderboard order; without a baseline,
    the better run of a pair comes first.

    Raises ConfigError for a measure that was not computed, an unknown test or baseline, and an alpha that is not
    between 0 and 1.
    """
    if test not in TESTS:
        raise ConfigError(f"there is no test {test!r}; {nearest(test, TESTS)}")
    if not 0 < alpha < 1:
        raise ConfigError(f"alpha is {alpha}; give a number between 0 and 1, such as 0.05")
    values = scores.of(measure)
    ranking = order(scores.run_tags, scores.means_of(measure))
    if baseline is None:
        pairs = list(combinations(ranking, 2))
    elif baseline in scores.run_tags:
        base = scores.run_tags.index(baseline)
        pairs = [(run, base) for run in ranking if run != base]
    else:
        raise ConfigError(f"there is no run {baseline!r} to compare with; {nearest(baseline, scores.run_tags)}")
    if not pairs:
        return ()
    a, b = np.array(pairs).T
    differences, tested = _tested(values[a] - values[b], scores.averaged[a] & scores.averaged[b], test, seed)
    adjusted = holm([one.p for one in tested])
    return tuple(
        Comparison(
            a=scores.run_tags[one],
            b=scores.run_tags[other],
            difference=difference,
            p=result.p,
            p_holm=p_holm,
            significant=p_holm is not None and p_holm <= alpha,
            undefined=result.undefined,
        )
        for (one, other), difference, result, p_holm in zip(pairs, differences, tested, adjusted, strict=True)
    )


def _tested(
    differences: Values, paired: npt.NDArray[np.bool_], test: str, seed: int
) -> tuple[list[float | None], list[Outcome]]:
    """The mean difference and the test outcome of each comparison over its ``paired`` queries; both arguments have
    shape (comparisons, queries)."""
    means: list[float | None] = [None] * len(differences)
    outcomes = [_NO_PAIR] * len(differences)
    # Packed, since numpy compares rows byte by byte.
    _, first, of = np.unique(np.packbits(paired, axis=1), axis=0, return_index=True, return_inverse=True)
    for number, queries in enumerate(paired[first]):
        rows = np.flatnonzero(of == number)
        if not queries.any():
            continue
        some = differences[rows].compress(queries, axis=1)
        for row, mean, outcome in zip(rows, some.mean(axis=1).tolist(), TESTS[test](some, seed), strict=True):
            means[row], outcomes[row] = mean, outcome
    return means, outcomes


def groups(run_tags: Sequence[str], comparisons: Iterable[Comparison]) -> dict[str, tuple[str, ...]]:
    """The group letters of each run: two runs share a letter exactly if their difference is not significant.

    ``run_tags`` are in the order of the table, ``comparisons`` cover all pairs. This is a compact letter display by
    insert and absorb (Piepho, Journal of Computational and Graphical Statistics 13(2), 2004, section
    3). Letters go a … z, aa, ab …, in the order of each group's first runs.
    """
    place = {run_tag: position for position, run_tag in enumerate(run_tags)}
    # A group is an integer with a bit for each run; so are the runs that differ significantly from a run.
    apart = [0] * len(run_tags)
    for one in comparisons:
        if one.significant:
            a, b = place[one.a], place[one.b]
            apart[a] |= 1 << b
            apart[b] |= 1 << a
    found = {(1 << len(run_tags)) - 1}
    for position, others in enumerate(apart):
        run = 1 << position
        holding = {group for group in found if group & run and group & others}
        parts = {part for group in holding for part in (group & ~run, group & ~others)}
        found -= holding
        # Absorb: drop a part if another group contains it. A part cannot contain an older group, because the group
        # that was split would have contained it too.
        whole = found | parts
        found |= {part for part in parts if not any(part & other == part != other for other in whole)}
    members = [[position for position in range(len(run_tags)) if group >> position & 1] for group in found]
    letters: dict[str, list[str]] = {run_tag: [] for run_tag in run_tags}
    for number, group in enumerate(sorted(members)):
        for position in group:
            letters[run_tags[position]].append(_letter(number))
    return {run_tag: tuple(own) for run_tag, own in letters.items()}


def _letter(number: int) -> str:
    name = ""
    while number >= 0:
        name = chr(ord("a") + number % 26) + name
        number = number // 26 - 1
    return name
