"""``quati-pool audit``: asks judges about pairs that were changed so that their grades must move in a known way."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

import numpy as np

from quati_pool.agreement.coefficients import coefficients
from quati_pool.audit.base import PairTexts, Probe
from quati_pool.audit.cases import Case
from quati_pool.audit.outcomes import Outcomes, ProbeFindings, Scale, findings
from quati_pool.commands.audit.drawn_cases import DrawnCases
from quati_pool.commands.audit.queue import AuditQueue
from quati_pool.commands.audit.settings import AuditSettings
from quati_pool.commands.judge.chosen_judge import ChosenJudge, JudgeOptions, chosen_judge, pick_judge
from quati_pool.commands.judge.judging_run import Calls, JudgingRun, Money
from quati_pool.commands.llm_runs import Ending, budget_spent, check_budget
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.judging.aggregation import METHODS
from quati_pool.labels.base import Grader
from quati_pool.labels.labelers import Grading
from quati_pool.project.config import ConsensusConfig, PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.registry import PROBES
from quati_pool.store.database import Store
from quati_pool.text.pluralize import counted

_REPEAT = "repeat"


@dataclass(frozen=True, eq=False)
class AuditedProbe:
    """A probe with its cases and the judge's grades of them, NaN without one. ``problem`` says why the probe could not
    be used; it then has no cases."""

    name: str
    probe: Probe
    cases: Sequence[Case] = ()
    outcomes: Outcomes | None = None
    findings: ProbeFindings | None = None
    problem: str | None = None

    @property
    def by_people(self) -> int:
        """How many cases were drawn by people's grades."""
        return sum(case.people is not None for case in self.cases)

    @property
    def pairs(self) -> int:
        """How many pairs were changed, some of them perhaps in several ways."""
        return len({(case.query_id, case.doc_id) for case in self.cases})


@dataclass(frozen=True, eq=False)
class Asked:
    """What one run asked one judge: how many texts, by which calls (None for a program), and how many are left.
    ``money`` is None without a budget."""

    judge: str
    asked: int
    left: int
    calls: Calls | None = None
    money: Money | None = None
    ended: Ending | None = None
    error: BaseException | None = None

    @property
    def stopped(self) -> bool:
        """Whether something ended the run early, so that no further judge is asked."""
        return self.ended is not None or self.error is not None


@dataclass(frozen=True, eq=False)
class AuditReport:
    """The audit of one judge. ``kappa`` is its Cohen's κ with itself over pairs that it was asked about again, None if
    it is undefined. ``runs`` are what this run asked of each judge behind it; none if nothing was to be asked.
    ``pairs`` is how many pairs each probe was to change."""

    judge: str
    config: PoolConfig
    grader: Grader
    scale: Scale
    probes: Sequence[AuditedProbe]
    kappa: float | None
    runs: Sequence[Asked] = ()
    pairs: int = 0

    @property
    def repeat(self) -> AuditedProbe | None:
        """The probe that asks about the same pairs again; None if it was left out."""
        return next((one for one in self.probes if one.name == _REPEAT), None)

    @property
    def left(self) -> int:
        """How many texts are still to be asked about."""
        return sum(run.left for run in self.runs)

    @property
    def asked(self) -> int:
        """How many texts this run asked about."""
        return sum(run.asked for run in self.runs)

    @property
    def cost(self) -> float:
        """US dollars that this run spent, as far as known."""
        return sum(run.calls.cost for run in self.runs if run.calls is not None)

    @property
    def unknown_costs(self) -> int:
        """How many attempts of this run have an unknown cost."""
        return sum(run.calls.unknown for run in self.runs if run.calls is not None)

    @property
    def fault(self) -> BaseException | None:
        """What ended the run before all was asked, to be raised although its answers are kept; None if nothing did."""
        last = next((run for run in self.runs if run.stopped), None)
        if last is None or not self.left:
            return None
        if last.error is not None:
            return last.error
        again = f"{counted(self.left, 'text is', 'texts are')} still to be asked about; run the same command again"
        if last.ended == "budget":
            if last.money is None:
                return QuatiPoolError(f"the budget is spent: {again} with a larger --budget")
            spent = budget_spent(last.money.budget, last.money.spent, last.money.needed, "text")
            return QuatiPoolError(f"{spent}: {again} with a larger --budget")
        if last.ended == "interrupted":
            stopped = KeyboardInterrupt(again)
            stopped.add_note(f"all answers so far ({again.partition(';')[0]})")
            return stopped
        return None


def audit(
    config: Path | PoolConfig,
    names: Sequence[str],
    listener: Listener,
    settings: AuditSettings | None = None,
    stop: threading.Event | None = None,
) -> list[AuditReport]:
    """Audits judges of a ``pool.yaml``, or its only one: changes pairs that they graded, asks about those that they
    have not answered yet, and says what fooled them.

    Answers are stored as they arrive, in phases that are never read as grades. Raises QuatiPoolError if an audit cannot
    start; what ends it later is the report's ``error`` or ``ended``, and no further judge is asked.
    """
    config = load_config(config) if isinstance(config, Path) else config
    settings, stop = settings or AuditSettings(), stop or threading.Event()
    check_budget(settings.budget)
    reports: list[AuditReport] = []
    spent = 0.0
    for name in list(dict.fromkeys(names)) or [pick_judge(config, None)]:
        with Store.open(config.labels.url, config.folder) as store:
            drawn = DrawnCases(Grading(config, store), name, settings.pairs, listener.say)
            with listener.stage(f"{name}: drawing and changing pairs"):
                probes = audited_probes(drawn, settings, listener.say)
            queues: list[AuditQueue] = []
            runs: list[Asked] = []
            for member in drawn.members:
                options = settings.judge_options(spent)
                with chosen_judge(config, member.name, options) as chosen, chosen.alone(listener.say):
                    chosen.read_again(listener)
                    queues.append(AuditQueue(chosen, in_turn(probes)))
                    if any(run.stopped for run in runs):
                        runs.append(Asked(chosen.name, 0, queues[-1].left))
                    else:
                        runs.append(_ask(chosen, queues[-1], options, listener, stop))
                        spent += runs[-1].money.spent if runs[-1].money else 0.0
            reports.append(_report(drawn, probes, queues, runs, settings.pairs))
        if any(run.stopped for run in runs):
            break
    return reports


def stored_audit(grading: Grading, name: str, say: Callable[[str], None]) -> AuditReport | None:
    """The audit of a judge as far as it was asked already, without any call or write; None if it was not audited since
    the pool, the judge or the probes changed."""
    drawn = DrawnCases(grading, name, None, say)
    probes = [
        AuditedProbe(each, probe, drawn.kept(each, probe) or (), problem=probe.problem())
        for each, probe in _usable(drawn, AuditSettings(), say)
    ]
    if not any(one.cases for one in probes):
        return None
    queues = [AuditQueue(member.chosen(grading), in_turn(probes)) for member in drawn.members]
    return _report(drawn, probes, queues, ())


def audited_probes(
    drawn: DrawnCases, settings: AuditSettings, say: Callable[[str], None], *, write: bool = True
) -> list[AuditedProbe]:
    """The probes of ``settings`` with their cases, or why they have none; new ones are kept with ``write``."""
    found = []
    for name, probe in _usable(drawn, settings, say):
        problem = probe.problem()
        cases: Sequence[Case] = ()
        if problem is None:
            try:
                cases = drawn.cases(name, probe, redraw=settings.redraw, write=write)
            except QuatiPoolError:
                raise
            except Exception as error:  # a plug-in's own
                problem = f"its code failed ({type(error).__name__}: {error})"
            else:
                problem = None if cases else "no pair of the pool can be changed so"
        found.append(AuditedProbe(name, probe, cases, problem=problem))
    return found


def _usable(drawn: DrawnCases, settings: AuditSettings, say: Callable[[str], None]) -> Iterator[tuple[str, Probe]]:
    """The probes of ``settings`` by name. One of a package that cannot be loaded is left out, unless it was named."""
    for name in settings.names:
        try:
            PROBES.find(name)
        except ConfigError as error:
            if name in settings.probes:
                raise
            say(f"the probe {name} is left out: {error}")
            continue
        yield name, drawn.probe(name)


def in_turn(probes: Iterable[AuditedProbe]) -> Iterator[tuple[str, Case]]:
    """One case of each probe after another, so that a run that ends early has asked about all dangers."""
    for cases in zip_longest(*([(one.name, case) for case in one.cases] for one in probes)):
        yield from (case for case in cases if case is not None)


def _ask(
    chosen: ChosenJudge, queue: AuditQueue, options: JudgeOptions, listener: Listener, stop: threading.Event
) -> Asked:
    if not queue.left:
        return Asked(chosen.name, 0, 0)
    if options.budget == 0:
        return Asked(chosen.name, 0, queue.left, ended="budget")
    run = JudgingRun(queue, options, listener, stop)
    model = chosen.judge.model
    if model is None:
        run.grade(chosen.judge)
    else:
        run.ask(model)
    return Asked(chosen.name, queue.asked, queue.left, run.calls, run.money, run.ended, run.error)


def _report(
    drawn: DrawnCases,
    probes: Sequence[AuditedProbe],
    queues: Sequence[AuditQueue],
    runs: Sequence[Asked],
    pairs: int | None = None,
) -> AuditReport:
    config = drawn.grading.config
    settings = config.judges[drawn.name]
    method = METHODS[settings.method] if isinstance(settings, ConsensusConfig) else None

    def grade(case: Case, shown: PairTexts, repetition: int) -> float:
        grades = [found for queue in queues if (found := queue.grade(case, shown, repetition)) is not None]
        if len(grades) < len(drawn.members):
            return math.nan
        found = grades[0] if method is None else method(grades)
        return math.nan if found is None else found

    read = [_with_findings(one, drawn.scale, grade) for one in probes]
    grader = drawn.grading.labeler(drawn.name).grader
    kappa = _kappa(read, sorted(config.grades))
    return AuditReport(drawn.name, config, grader, drawn.scale, read, kappa, runs, pairs or config.audit.pairs)


def _with_findings(one: AuditedProbe, scale: Scale, grade: Callable[[Case, PairTexts, int], float]) -> AuditedProbe:
    if not one.cases:
        return one
    variants = list(one.probe.variants)
    queries = {query_id: code for code, query_id in enumerate(dict.fromkeys(case.query_id for case in one.cases))}
    pairs = {pair: code for code, pair in enumerate(dict.fromkeys(map(_pair, one.cases)))}
    grades = [[grade(case, *each) for each in case.asked] for case in one.cases]
    outcomes = Outcomes(
        query=np.array([queries[case.query_id] for case in one.cases]),
        pair=np.array([pairs[_pair(case)] for case in one.cases]),
        variant=np.array([variants.index(case.variant) for case in one.cases]),
        before=np.array([case.before for case in one.cases], dtype=np.float64),
        after=np.array([of_case[0] for of_case in grades]),
        control=np.array([of_case[1] if len(of_case) > 1 else math.nan for of_case in grades]),
    )
    found = findings(outcomes, variants, one.probe.expected, scale, one.probe.parameters.bound)
    return replace(one, outcomes=outcomes, findings=found)


def _pair(case: Case) -> tuple[str, str]:
    return case.query_id, case.doc_id


def _kappa(probes: Iterable[AuditedProbe], grades: Sequence[int]) -> float | None:
    """Cohen's κ of the judge's first repetition with its grades; None if there is none, or it is undefined."""
    repeated = next((one for one in probes if one.name == _REPEAT and one.outcomes is not None), None)
    if repeated is None or repeated.outcomes is None:
        return None
    outcomes = repeated.outcomes
    first = (outcomes.variant == 0) & np.isfinite(outcomes.after)
    table = np.zeros((len(grades), len(grades)), dtype=np.int64)
    before, after = (np.searchsorted(grades, values[first]) for values in (outcomes.before, outcomes.after))
    np.add.at(table, (before, after), 1)
    (kappa,) = coefficients(table[None], grades, ["kappa"])["kappa"].tolist()
    return None if math.isnan(kappa) else kappa
