"""``quati-pool audit``: asks judges about pairs that were changed so that their grades must move in a known way, and
compares the grades that they gave with people's."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import zip_longest
from pathlib import Path

import numpy as np

from quati_pool.agreement.coefficients import cohen_kappa
from quati_pool.audit.base import PairTexts, Probe
from quati_pool.audit.cases import Case
from quati_pool.audit.drift import Drift
from quati_pool.audit.grade_bounds import GradeBounds, GradeLine
from quati_pool.audit.outcomes import Outcomes, ProbeFindings, Scale, findings
from quati_pool.commands.audit.anchors import stored_drift
from quati_pool.commands.audit.asking import Asked, Asking
from quati_pool.commands.audit.drawn_cases import DrawnCases
from quati_pool.commands.audit.grade_inputs import GradeSettings, WorkspaceGrades, check_inputs, file_grades
from quati_pool.commands.audit.grade_lines import duplicates_line, lines, wording_line
from quati_pool.commands.audit.grades import GradeAudit
from quati_pool.commands.audit.near_duplicates import DuplicateAudit, audit_near_duplicates, write_list
from quati_pool.commands.audit.paraphrases import NOTHING_ASKED, Paraphrasing, compared, in_queue
from quati_pool.commands.audit.queue import AuditQueue
from quati_pool.commands.audit.settings import AuditSettings
from quati_pool.commands.audit.wordings import Wordings
from quati_pool.commands.judge.chosen_judge import pick_judges
from quati_pool.commands.llm_runs import check_budget
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.judging.aggregation import METHODS
from quati_pool.labels.base import Grader
from quati_pool.labels.gathered import LabelFiles
from quati_pool.labels.labelers import Grading
from quati_pool.project.config import ConsensusConfig, PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.registry import PROBES
from quati_pool.store.database import Store

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
class AuditReport:
    """The audit of one judge. ``kappa`` is its Cohen's κ with itself over pairs that it was asked about again, None if
    it is undefined. ``runs`` are what this run asked of each judge behind it; none if nothing was to be asked.
    ``pairs`` is how many pairs each probe was to change. ``grades`` compares its grades with people's by ``bounds``;
    without, ``no_grades`` says why, unless only some probes were wanted; ``wordings`` and ``no_wordings`` likewise, of
    its grades under other wordings of its prompt. ``near_duplicates`` needs texts, and no people; None if only some
    probes were wanted. ``drift`` is the last check of its anchors, which an audit does not ask about; without anchors,
    ``no_drift`` says why. An audit of files alone has no probes, and ``scale`` is None."""

    judge: str
    grader: Grader
    scale: Scale | None
    probes: Sequence[AuditedProbe]
    kappa: float | None
    runs: Sequence[Asked] = ()
    pairs: int = 0
    grades: GradeAudit | None = None
    no_grades: str | None = None
    wordings: Wordings | None = None
    no_wordings: str | None = None
    near_duplicates: DuplicateAudit | None = None
    drift: Drift | None = None
    no_drift: str | None = None
    bounds: GradeBounds = field(default_factory=GradeBounds)

    @property
    def of_files(self) -> bool:
        """Whether the judge is a file of labels, which can be asked nothing."""
        return self.grader == "file"

    @cached_property
    def grade_lines(self) -> list[GradeLine]:
        """The dangers of its grades, of which two need no people."""
        found = [] if self.grades is None else lines(self.grades, self.bounds)
        of_duplicates = None if self.near_duplicates is None else duplicates_line(self.near_duplicates, self.bounds)
        of_wordings = None if self.wordings is None else wording_line(self.wordings, self.bounds)
        return [*found, *(one for one in (of_duplicates, of_wordings) if one is not None)]

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
        return None if last is None else last.fault(self.left)


def audit(
    config: Path | PoolConfig,
    names: Sequence[str],
    listener: Listener,
    settings: AuditSettings | None = None,
    stop: threading.Event | None = None,
) -> list[AuditReport]:
    """Audits judges of a ``pool.yaml``, or its only one: changes pairs that they graded, asks about those that they
    have not answered yet, and says what fooled them. Unless ``settings`` name probes, their grades are compared with
    people's too.

    Answers are stored as they arrive, in phases that are never read as grades. Raises QuatiPoolError if an audit cannot
    start; what ends it later is the report's ``error`` or ``ended``, and no further judge is asked.
    """
    config = load_config(config) if isinstance(config, Path) else config
    settings, stop = settings or AuditSettings(), stop or threading.Event()
    names = pick_judges(config, names)
    check_budget(settings.budget)
    given = check_inputs(names, settings.grades, settings.runs)
    reports: list[AuditReport] = []
    spent = 0.0
    for name in names:
        with Store.open(config.labels.url, config.folder) as store:
            drawn = DrawnCases(Grading(config, store), name, settings.pairs, listener.say)
            with listener.stage(f"{name}: drawing and changing pairs"):
                probes = audited_probes(drawn, settings, listener.say)
            paraphrasing = None if settings.probes else Paraphrasing(drawn, listener.say)
            unasked = None if paraphrasing is None else paraphrasing.problem
            asking = Asking(config, settings, listener, stop, spent)
            queues = [asking.ask(member.name, in_turn(probes)) for member in drawn.members]
            report = _report(drawn, probes, queues, asking.runs, settings.pairs)
            if paraphrasing is not None:
                inputs = WorkspaceGrades(drawn.grading, settings.grades, given)
                reworded = unasked or _reworded(asking, drawn, paraphrasing, inputs, redraw=settings.redraw)
                report = _with_wordings(report, reworded)
                with listener.stage(f"{name}: comparing its grades with people's"):
                    report = _with_grades(report, inputs)
                with listener.stage(f"{name}: comparing its grades of near-duplicates"):
                    duplicates = audit_near_duplicates(drawn, settings.grades.people)
                    write_list(duplicates, drawn, listener.say)
                    report = replace(report, near_duplicates=duplicates)
            reports.append(report)
        spent = asking.spent
        if asking.stopped:
            break
    return reports


def not_started(reports: Iterable[AuditReport], judges: Iterable[str]) -> list[str]:
    """The judges that a run which ended early did not come to."""
    done = {report.judge for report in reports}
    return [name for name in dict.fromkeys(judges) if name not in done]


def stored_audit(inputs: WorkspaceGrades, name: str, say: Callable[[str], None]) -> AuditReport | None:
    """The audit of a judge as far as it was asked already, without any call or write; None if it was not audited since
    the pool, the judge or the probes changed."""
    drawn = DrawnCases(inputs.grading, name, None, say)
    probes = [
        AuditedProbe(each, probe, drawn.kept(each, probe) or (), problem=probe.problem())
        for each, probe in _usable(drawn, AuditSettings(), say)
    ]
    if not any(one.cases for one in probes):
        return None
    queues = [AuditQueue(member.chosen(inputs.grading), in_turn(probes)) for member in drawn.members]
    report = _with_wordings(_report(drawn, probes, queues, ()), _stored_wordings(drawn, inputs, say))
    report = replace(report, near_duplicates=audit_near_duplicates(drawn, None))
    return _with_grades(report, inputs)


def _stored_wordings(drawn: DrawnCases, inputs: WorkspaceGrades, say: Callable[[str], None]) -> Wordings | str:
    """What other wordings of the judge's prompt do to its grades as far as they were asked, or why that is not
    known."""
    paraphrasing = Paraphrasing(drawn, say)
    try:
        problem = paraphrasing.problem
    except ConfigError as error:
        return str(error)
    cases = paraphrasing.kept() if problem is None else None
    if not cases:
        return problem or NOTHING_ASKED
    (member,) = drawn.members
    chosen = member.chosen(drawn.grading)
    queues = {
        wording.name: AuditQueue(paraphrasing.reworded(chosen, wording), in_queue(cases))
        for wording in paraphrasing.wordings
    }
    return compared(drawn, cases, queues, inputs)


def audit_files(
    files: LabelFiles,
    runs: Sequence[str],
    settings: GradeSettings,
    bounds: GradeBounds | None = None,
    warn: Callable[[str], None] = lambda line: None,
) -> list[AuditReport]:
    """Audits the judges among label files by their grades alone, against ``bounds`` or the usual ones: no probe is run.
    Oddities of the files are reported to ``warn``.

    Raises QuatiPoolError if none of them can be compared with people, and InputError for an unreadable file.
    """
    found, wordings = file_grades(files, runs, settings, warn)
    if all(isinstance(one, str) for one in found.values()):
        raise QuatiPoolError("; ".join(map(str, found.values())))
    bounds = bounds or GradeBounds()
    return [
        _of_grades(AuditReport(name, "file", None, (), None, bounds=bounds, wordings=wordings), one)
        for name, one in found.items()
    ]


def _with_grades(report: AuditReport, inputs: WorkspaceGrades) -> AuditReport:
    return replace(_of_grades(report, inputs.of(report.judge)), bounds=inputs.grading.config.audit.bounds)


def _of_grades(report: AuditReport, found: GradeAudit | str) -> AuditReport:
    return replace(report, no_grades=found) if isinstance(found, str) else replace(report, grades=found)


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


def _reworded(
    asking: Asking, drawn: DrawnCases, paraphrasing: Paraphrasing, inputs: WorkspaceGrades, *, redraw: bool
) -> Wordings | str:
    """Asks the judge with other wordings of its prompt; returns what these do to its grades, or why that is not
    known."""
    cases = paraphrasing.cases(redraw=redraw)
    (member,) = drawn.members
    queues = {
        wording.name: asking.ask(member.name, in_queue(cases), partial(paraphrasing.reworded, wording=wording))
        for wording in paraphrasing.wordings
    }
    return compared(drawn, cases, queues, inputs)


def _with_wordings(report: AuditReport, found: Wordings | str) -> AuditReport:
    return replace(report, no_wordings=found) if isinstance(found, str) else replace(report, wordings=found)


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
    report = AuditReport(drawn.name, grader, drawn.scale, read, kappa, runs, pairs or config.audit.pairs)
    drift = stored_drift(drawn.grading, drawn.name)
    return replace(report, no_drift=drift) if isinstance(drift, str) else replace(report, drift=drift)


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
    return cohen_kappa(grades, outcomes.before[first], outcomes.after[first])
