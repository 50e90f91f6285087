"""``quati-pool audit --drift``: asks judges about their anchors again, and says whether their grades have moved."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from quati_pool.audit.cases import Case
from quati_pool.audit.drift import Anchor, Drift
from quati_pool.commands.audit.anchors import CHECKS, Answers, anchored, anchors_of
from quati_pool.commands.audit.asking import Asked, ask_about
from quati_pool.commands.audit.plan import AuditPlan, forecast_of
from quati_pool.commands.audit.queue import AuditQueue
from quati_pool.commands.judge.chosen_judge import DEFAULT, ChosenJudge, JudgeOptions, chosen_judge, pick_judges
from quati_pool.commands.llm_runs import check_budget
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.labels.labelers import Grading
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.store.database import Store

PROBE = "drift"
"""The name in the ``extra`` of a check's labels."""

HOURS = 24.0
"""How long a check is the same one, by default: so long another run finishes it or shows it again. One that is not
finished is finished within this time in any case, so that what was paid for is not lost."""


@dataclass(frozen=True)
class DriftReport:
    """The last finished check of a judge, and what this run asked for it. ``gone`` are the anchors that cannot be asked
    about, as their passages left the pool or were changed."""

    judge: str
    drift: Drift
    run: Asked
    gone: int = 0

    @property
    def fault(self) -> BaseException | None:
        """What ended the run before all was asked, to be raised although its answers are kept; None if nothing did."""
        return self.run.fault(self.run.left)


def check_drift(
    config: Path | PoolConfig,
    names: Sequence[str],
    listener: Listener,
    options: JudgeOptions,
    hours: float = HOURS,
    stop: threading.Event | None = None,
) -> list[DriftReport]:
    """Asks judges of a ``pool.yaml``, or its only one, about their anchors, and compares the answers with the former
    ones. A check that began within the last ``hours`` is finished or, if nothing is left, shown again; else a new one
    begins, unless the last is not finished and began within ``HOURS``. The budget of ``options`` is that of all
    together.

    Answers are stored as they arrive, in a phase that is never read as grades. Raises QuatiPoolError if a judge has no
    anchors that can be used, or none of them is in the pool any more; what ends a run later is the report's ``fault``,
    and no further judge is asked.
    """
    config = load_config(config) if isinstance(config, Path) else config
    check_budget(options.budget)
    found: list[DriftReport] = []
    for name in pick_judges(config, names):
        anchors = _anchors(config, name)
        with chosen_judge(config, name, options, listener.say) as chosen, chosen.alone(listener.say):
            chosen.read_again(listener)
            answers = Answers(chosen, anchors)
            queue, check = _queue(chosen, answers, hours)
            run = ask_about(chosen, queue, options, listener, stop or threading.Event())
            answers.read()
            run, drift = replace(run, left=len(answers.unanswered(check))), answers.drift()
        found.append(DriftReport(name, drift, run, len(anchors) - len(answers.askable)))
        if run.stopped:
            break
        if options.budget is not None and run.money is not None:
            options = replace(options, budget=max(options.budget - run.money.spent, 0.0))
    return found


def refuse_if_moved(
    config: Path | PoolConfig,
    name: str | None,
    listener: Listener,
    options: JudgeOptions,
    judging: JudgeOptions = DEFAULT,
) -> DriftReport:
    """Checks the anchors of a judge before it grades with ``judging``, whose budget and pool are looked at first.

    Raises QuatiPoolError if it has moved or gave too few grades, has no anchors, or the check could not be finished."""
    check_budget(judging.budget)
    check_budget(options.budget, "--anchors-budget")
    with chosen_judge(config, name, judging) as chosen:
        next(chosen.grading.pairs(), None)
    (report,) = check_drift(config, [chosen.name], listener, options)
    if report.fault is not None:
        if report.run.ended == "budget":
            raise QuatiPoolError(str(report.fault).replace("--budget", "--anchors-budget"))
        raise report.fault
    drift = report.drift
    if drift.verdict in ("not cleared", "not checked"):
        raise QuatiPoolError(
            f"{drift.lost:,} of {len(drift.pairs) + drift.lost:,} anchors of {report.judge} have no grade now, which "
            "all had one, so nothing was judged; see what it answers: "
            f"quati-pool audit {report.judge} --drift --full"
        )
    if drift.verdict == "moved":
        raise QuatiPoolError(
            f"{report.judge} has moved since its anchors were fixed ({drift.up:,} of {len(drift.pairs):,} grades "
            f"higher, {drift.down:,} lower, p = {drift.test.p:.2g}), so nothing was judged; what to do says: "
            f"quati-pool audit {report.judge} --drift"
        )
    return report


def plan_drift(
    config: Path | PoolConfig, names: Sequence[str], options: JudgeOptions, hours: float = HOURS
) -> list[AuditPlan]:
    """A forecast for each judge that ``check_drift`` would ask; needs no key and no server, and writes nothing."""
    config = load_config(config) if isinstance(config, Path) else config
    plans = []
    for name in pick_judges(config, names):
        anchors = _anchors(config, name)
        with chosen_judge(config, name, options) as chosen:
            chosen = chosen.as_stored()
            plans.append(forecast_of(chosen, name, [_queue(chosen, Answers(chosen, anchors), hours)[0]]))
    return plans


def _anchors(config: PoolConfig, name: str) -> list[Anchor]:
    with Store.open(config.labels.url, config.folder) as store:
        grading = Grading(config, store)
        found = anchors_of(grading, anchored(grading, name))
    if isinstance(found, str):
        raise ConfigError(found)
    return found


def _queue(chosen: ChosenJudge, answers: Answers, hours: float) -> tuple[AuditQueue, int]:
    """What is to be asked in the check of now, and its number."""
    if not answers.askable:
        raise QuatiPoolError(
            f"no passage of the anchors of {chosen.name} is in the pool as it was; "
            f"fix others: quati-pool audit {chosen.name} --anchors 200"
        )
    check = _current(answers, datetime.now(UTC), hours)
    cases = []
    for anchor, shown in (answers.askable[content] for content in answers.unanswered(check)):
        key = (anchor.query_id, anchor.doc_id)
        cases.append((PROBE, Case(*key, PROBE, anchor.grade, anchor.people, shown, shown, None, CHECKS + check)))
    return AuditQueue(chosen, cases), check


def _current(answers: Answers, now: datetime, hours: float) -> int:
    """The number of the check that is to be finished or shown again, or of a new one."""
    begun = answers.begun
    last = max(begun, default=0)
    if not last:
        return 1
    age = now - begun[last]
    again = age < timedelta(hours=hours) or (age < timedelta(hours=HOURS) and not answers.finished(last))
    return last if again else last + 1
