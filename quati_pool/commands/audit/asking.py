"""Asks the judges of an audit about what is left of their queues, within one budget."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from quati_pool.audit.cases import Case
from quati_pool.commands.audit.queue import AuditQueue
from quati_pool.commands.audit.settings import AuditSettings
from quati_pool.commands.judge.chosen_judge import ChosenJudge, JudgeOptions, chosen_judge
from quati_pool.commands.judge.judging_run import Calls, JudgingRun, Money, ended_early
from quati_pool.commands.llm_runs import Ending
from quati_pool.project.config import PoolConfig
from quati_pool.project.events import Listener
from quati_pool.text.pluralize import counted


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

    def fault(self, left: int) -> BaseException | None:
        """What ended the run, to be raised although its answers are kept, where ``left`` texts are still to be asked
        about; None if nothing did, or none are."""
        if not left:
            return None
        unasked = f"{counted(left, 'text is', 'texts are')} still to be asked about"
        return self.error or ended_early(self.ended, self.money, unasked, "text", "answers")


class Asking:
    """Asks the judges of an audit one after another, until something ends a run, and never beyond the budget."""

    def __init__(
        self, config: PoolConfig, settings: AuditSettings, listener: Listener, stop: threading.Event, spent: float
    ) -> None:
        self.runs: list[Asked] = []
        self.spent = spent
        self._config = config
        self._settings = settings
        self._listener = listener
        self._stop = stop

    @property
    def stopped(self) -> bool:
        return any(run.stopped for run in self.runs)

    def ask(
        self,
        name: str,
        cases: Iterable[tuple[str, Case]],
        change: Callable[[ChosenJudge], ChosenJudge] = lambda chosen: chosen,
    ) -> AuditQueue:
        """Asks the judge ``name``, as ``change`` returns it, and adds to ``runs``; returns all its answers."""
        options = self._settings.judge_options(self.spent)
        with chosen_judge(self._config, name, options, self._listener.say) as judge:
            chosen = change(judge)
            with chosen.alone(self._listener.say):
                chosen.read_again(self._listener)
                queue = AuditQueue(chosen, cases)
                if self.stopped:
                    self.runs.append(Asked(chosen.name, 0, queue.left))
                else:
                    self.runs.append(ask_about(chosen, queue, options, self._listener, self._stop))
                    self.spent += self.runs[-1].money.spent if self.runs[-1].money else 0.0
        return queue


def ask_about(
    chosen: ChosenJudge, queue: AuditQueue, options: JudgeOptions, listener: Listener, stop: threading.Event
) -> Asked:
    """Asks a judge, whose lock is held, about what is left of its queue."""
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
