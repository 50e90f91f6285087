"""``quati-pool audit --compare``: which of two audited judges to take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from quati_pool.agreement.kappa_contrast import KappaContrast, kappa_contrast
from quati_pool.audit.cases import Case
from quati_pool.audit.grade_bounds import Position
from quati_pool.audit.outcomes import Scale, Verdict, fooled, no_findings
from quati_pool.commands.audit.audit import AuditedProbe, AuditReport
from quati_pool.commands.audit.drawn_cases import Member, members
from quati_pool.commands.audit.grade_lines import ALIKE, LEVEL, ORDER
from quati_pool.errors import ConfigError
from quati_pool.evaluation.judge_contrast import JudgeContrast, contrast_judges
from quati_pool.labels.labelers import Grading
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.records import State
from quati_pool.stats.bootstrap import DRAWS, Contrast
from quati_pool.stats.shares import Difference, clustered_share, paired_difference, share_difference
from quati_pool.store.database import Store

Basis = Literal["dangers", "order", "kappa", "cost", "time"]
"""What decides between two judges; the last two where neither is shown to be better."""

APART = 0.1
"""From which share of the higher on a difference of costs or of time decides: less is the jitter of measured calls."""

_LEAST: Mapping[Basis, float] = {"cost": 0.01, "time": 0.1}
"""The least difference that is seen in what is printed: a cent, a tenth of a minute."""

_BAD, _GOOD = ("fooled", "beyond"), ("cleared", "within")


@dataclass(frozen=True)
class DangerContrast:
    """What two audits found of one danger. ``verdicts`` is None where one does not have it, ``seen`` what was compared,
    as a share for a probe. ``difference`` is of the first less the second, with its interval: for a probe of the shares
    fooled, over the ``same`` changed texts of both or else of each over its own; for the level of how far it is off.
    Other dangers have none. ``against`` is the place of the judge of which alone the danger is shown, or None."""

    danger: str
    probe: str | None
    verdicts: tuple[Verdict | Position | None, Verdict | Position | None]
    seen: tuple[float | None, float | None]
    difference: Difference | None
    same: bool | None
    n: tuple[int, int]
    against: int | None


@dataclass(frozen=True)
class Expense:
    """US dollars, and minutes at the judge's concurrency, for 1,000 pairs of the pool as they were graded; None where
    unknown."""

    cost: float | None = None
    minutes: float | None = None


@dataclass(frozen=True, eq=False)
class AuditComparison:
    """Two judges next to each other; figures are of the first less the second. ``take`` is the place of the one to
    take by ``basis``, None if nothing speaks for either, if something speaks for each (``split``), if both order
    systems as people do not (``unusable``), or if a run ended with ``unfinished`` texts still to be asked about.

    ``kappa`` and ``systems`` compare both with ``people`` by ``measure``; None where they could not, for the reason in
    ``problem``, or None if only some probes were wanted. ``between`` is Cohen's κ of the two judges over the pairs that
    people graded too, None if it is undefined or they share members.
    """

    judges: tuple[str, str]
    people: str | None
    measure: str | None
    kappa: KappaContrast | None
    systems: JudgeContrast | None
    between: float | None
    dangers: Sequence[DangerContrast]
    expenses: tuple[Expense, Expense]
    take: int | None
    basis: Basis | None
    problem: str | None = None
    unfinished: int = 0

    @property
    def against(self) -> tuple[list[DangerContrast], list[DangerContrast]]:
        """The dangers that are shown of the first judge alone, and of the second."""
        first, second = ([one for one in self.dangers if one.against == place] for place in (0, 1))
        return first, second

    @property
    def unusable(self) -> bool:
        """Whether neither orders systems as people do."""
        return _unusable(self.dangers)

    @property
    def split(self) -> bool:
        """Whether the dangers that are shown of one judge alone speak against each, or against the one whose τ or κ is
        surely higher."""
        return _split(self.dangers, self.kappa, self.systems)


def check_two(names: Sequence[str], option: str = "--compare") -> None:
    """Raises ConfigError, which begins with the ``option``, unless two different judges are named."""
    number = len(dict.fromkeys(names))
    if number != 2:
        raise ConfigError(f"{option} takes two judges, and {number or 'none'} {'is' if number < 2 else 'are'} named")


def compare_in_workspace(config: Path | PoolConfig, reports: Sequence[AuditReport]) -> AuditComparison:
    """Compares the audits of two judges of a workspace, with what they cost by its store."""
    config = load_config(config) if isinstance(config, Path) else config
    with Store.open(config.labels.url, config.folder) as store:
        grading = Grading(config, store)
        expenses = [_expense(grading, members(grading, report.judge)) for report in reports]
    return compare_audits(reports, expenses, seed=config.seed)


def compare_audits(
    reports: Sequence[AuditReport], expenses: Sequence[Expense] = (), *, draws: int = DRAWS, seed: int = 0
) -> AuditComparison:
    """Compares the audits of two judges. Differences of κ, of τ and of the level are over the pairs and the queries
    that both judges and people graded, with intervals from the same resampled queries.

    Raises ConfigError unless there are two.
    """
    check_two([report.judge for report in reports])
    one, other = reports
    problem = kappa = systems = between = None
    grades = [report.grades for report in reports if report.grades is not None]
    if len(grades) == 2 and grades[0].people == grades[1].people and grades[0].ratings is not None:
        people, ratings = grades[0].people, grades[0].ratings
        kappa = kappa_contrast(ratings, people, one.judge, other.judge, draws, seed)
        scores = [found.scores for found in grades if found.scores is not None]
        if len(scores) == 2:
            (by_one, by_people), (by_other, _) = scores
            systems = contrast_judges(by_people, by_one, by_other, grades[0].measure, draws, seed)
        between = next((found.with_other for found in grades[0].alike if found.other == other.judge), None)
        if systems is None:
            problem = "systems were not compared: that needs two runs, and people's grades of 80 % of the judges' pairs"
    else:
        reasons = [f"{report.judge}: {report.no_grades}" for report in reports if report.no_grades]
        problem = f"grades were not compared with people's ({'; '.join(reasons)})" if reasons else None
    dangers = [*_of_probes(one, other), *_of_grades(one, other, None if systems is None else systems.level)]
    costs = tuple(expenses) or (Expense(), Expense())
    unfinished = sum(report.left for report in reports if report.fault is not None)
    take, basis = (None, None) if unfinished else _choice(dangers, kappa, systems, costs)
    return AuditComparison(
        judges=(one.judge, other.judge),
        people=grades[0].people if kappa is not None else None,
        measure=grades[0].measure if systems is not None else None,
        kappa=kappa,
        systems=systems,
        between=between,
        dangers=dangers,
        expenses=(costs[0], costs[1]),
        take=take,
        basis=basis,
        problem=problem,
        unfinished=unfinished,
    )


def shown(found: Contrast | None) -> int | None:
    """The place of the judge with the surely higher figure, None if the interval holds 0 or there is none."""
    return None if found is None else _higher(found.interval.low, found.interval.high)


def _higher(low: float | None, high: float | None) -> int | None:
    if low is None or high is None or low <= 0 <= high:
        return None
    return 0 if low > 0 else 1


def _choice(
    dangers: Sequence[DangerContrast],
    kappa: KappaContrast | None,
    systems: JudgeContrast | None,
    expenses: Sequence[Expense],
) -> tuple[int | None, Basis | None]:
    """The place of the judge to take, and why: by the first of these that shows a difference."""
    if _unusable(dangers) or _split(dangers, kappa, systems):
        return None, None
    against = _against_one(dangers)
    if against:
        return int(against == {0}), "dangers"
    by_order, by_kappa = _higher_figures(kappa, systems)
    if by_order is not None:
        return by_order, "order"
    if by_kappa is not None:
        return by_kappa, "kappa"
    bases: tuple[Basis, Basis] = ("cost", "time")
    for basis, spent in zip(bases, ([one.cost for one in expenses], [one.minutes for one in expenses]), strict=True):
        first, second = spent
        if first is None or second is None:
            continue
        if abs(first - second) >= max(APART * max(first, second), _LEAST[basis]):
            return int(second < first), basis
    return None, None


def _unusable(dangers: Sequence[DangerContrast]) -> bool:
    return any(one.danger == ORDER and one.verdicts == ("beyond", "beyond") for one in dangers)


def _split(dangers: Sequence[DangerContrast], kappa: KappaContrast | None, systems: JudgeContrast | None) -> bool:
    against = _against_one(dangers)
    return len(against) == 2 or any(place in against for place in _higher_figures(kappa, systems))


def _against_one(dangers: Sequence[DangerContrast]) -> set[int]:
    """The places of the judges that have a danger which is shown of one alone."""
    return {one.against for one in dangers if one.against is not None}


def _higher_figures(kappa: KappaContrast | None, systems: JudgeContrast | None) -> tuple[int | None, int | None]:
    """The places of the judges whose τ and whose κ are surely higher."""
    by_order = shown(systems.tau) if systems is not None else None
    return by_order, shown(kappa.kappa) if kappa is not None else None


def _against(
    verdicts: tuple[Verdict | Position | None, Verdict | Position | None], difference: Difference | None
) -> int | None:
    """The place of the judge that a danger is shown of where the other is cleared of it, or is undecided and surely
    differs."""
    higher = None if difference is None else _higher(difference.low, difference.high)
    for place in (0, 1):
        mine, theirs = verdicts[place], verdicts[1 - place]
        if mine in _BAD and (theirs in _GOOD or (theirs == "undecided" and higher == place)):
            return place
    return None


def _of_probes(one: AuditReport, other: AuditReport) -> list[DangerContrast]:
    theirs = {probed.name: probed for probed in other.probes}
    scales = (one.scale, other.scale)
    return [_probe(mine, theirs[mine.name], scales) for mine in one.probes if mine.name in theirs]


def _probe(one: AuditedProbe, other: AuditedProbe, scales: tuple[Scale | None, Scale | None]) -> DangerContrast:
    verdicts = (_verdict(one), _verdict(other))
    hits = [_hits(*each) for each in zip((one, other), scales, strict=True)]
    common = [key for key in hits[0] if key in hits[1]]
    same = 2 * len(common) >= min(map(len, hits)) > 0
    if same:
        query, pair = (_codes([key[:length] for key in common]) for length in (1, 2))
        mine, theirs = (np.array([found[key] for key in common]) for found in hits)
        difference = paired_difference(mine, theirs, query, units=pair)
        shares = [clustered_share(found, query, units=pair) for found in (mine, theirs)]
    else:
        shares = [(each.findings or no_findings(each.probe.parameters.bound)).fooled for each in (one, other)]
        difference = share_difference(shares[0], shares[1])
    return DangerContrast(
        danger=one.probe.danger,
        probe=one.name,
        verdicts=verdicts,
        seen=(shares[0].share, shares[1].share),
        difference=difference,
        same=None if difference is None else same,
        n=(shares[0].n, shares[1].n),
        against=_against(verdicts, difference),
    )


def _verdict(one: AuditedProbe) -> Verdict:
    return "not asked" if one.findings is None else one.findings.verdict


def _codes(keys: Sequence[tuple[Any, ...]]) -> npt.NDArray[np.int64]:
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    return np.array([places[key] for key in keys], dtype=np.int64)


def _hits(one: AuditedProbe, scale: Scale | None) -> dict[tuple[Any, ...], bool]:
    """Whether each changed text with a grade fooled the judge, by what both judges would have to be asked alike."""
    outcomes = one.outcomes
    if outcomes is None or scale is None:
        return {}
    moved = fooled(outcomes.after, outcomes.before, one.probe.expected, scale).tolist()
    graded = np.isfinite(outcomes.after).tolist()
    return {_key(case): hit for case, hit, has in zip(one.cases, moved, graded, strict=True) if has}


def _key(case: Case) -> tuple[Any, ...]:
    return case.query_id, case.doc_id, case.variant, case.changed, case.repetition


def _of_grades(one: AuditReport, other: AuditReport, level: Contrast | None) -> list[DangerContrast]:
    lines = [{line.danger: line for line in report.grade_lines} for report in (one, other)]
    found = []
    for danger in dict.fromkeys([*lines[0], *lines[1]]):
        both = [each.get(danger) for each in lines]
        difference = None
        if danger == LEVEL and level is not None and level.difference is not None:
            low, high = level.interval.low, level.interval.high
            difference = None if low is None or high is None else Difference(level.difference, low, high)
        first, second = (None if line is None else line.position for line in both)
        # The order is compared by itself, judges that err alike are a danger of taking both, and a share without an
        # interval shows nothing.
        counts = danger not in (ORDER, ALIKE) and all(line is None or line.low is not None for line in both)
        seen = [None if line is None else line.seen for line in both]
        numbers = [0 if line is None else line.n for line in both]
        found.append(
            DangerContrast(
                danger=danger,
                probe=None,
                verdicts=(first, second),
                seen=(seen[0], seen[1]),
                difference=difference,
                same=None,
                n=(numbers[0], numbers[1]),
                against=_against((first, second), difference) if counts else None,
            )
        )
    return found


def _expense(grading: Grading, judges: Sequence[Member]) -> Expense:
    """What the members of a judge spent on the pairs that they graded, by their stored attempts."""
    cost: float | None = 0.0
    minutes: float | None = 0.0
    for member in judges:
        one = _of_member(grading, member)
        cost = None if cost is None or one.cost is None else cost + one.cost
        minutes = None if minutes is None or one.minutes is None else minutes + one.minutes
    return Expense(cost, minutes)


def _of_member(grading: Grading, member: Member) -> Expense:
    if member.judge.model is None:
        return Expense(cost=0.0)
    version = member.chosen(grading).version
    name = grading.config.name
    table = grading.store.table(name, member.name, version)
    graded = {
        (row["query_id"], row["doc_id"])
        for row in table.select(["query_id", "doc_id", "status"]).to_pylist()
        if row["status"] == State.ok
    }
    used = grading.store.usage(name, member.name, version)
    if not graded or not used.attempts:
        return Expense()
    thousands = len(graded) / 1000
    cost = None if used.unknown_cost or used.cost is None else used.cost / thousands
    seconds = float(used.seconds.sum()) / member.judge.model.limits.concurrency
    return Expense(cost, seconds / 60 / thousands if len(used.seconds) else None)
