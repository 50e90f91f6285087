"""``quati-pool judge``: grades the pairs of the pool that a judge has not graded yet."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from quati_pool.commands.judge.chosen_judge import DEFAULT, ChosenJudge, JudgeOptions, chosen_judge
from quati_pool.commands.judge.judging_run import Calls, JudgingRun, Money, ended_early
from quati_pool.commands.judge.pair_queue import PairQueue
from quati_pool.commands.llm_runs import Ending
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.labels.rereading import Rereading
from quati_pool.project.config import PoolConfig
from quati_pool.project.events import Listener
from quati_pool.store.failed_answers import FailedAnswer
from quati_pool.text.pluralize import counted

if TYPE_CHECKING:
    from quati_pool.commands.build import BuildResult


@dataclass(frozen=True, eq=False)
class JudgeReport:
    """The result of a run: the judge's coverage of the whole pool, and what this run did.

    ``calls`` is None for a judge that makes none. ``ended`` says what ended the run before all pairs were asked about,
    ``error`` is the error during the run; both are None after a complete run. ``example`` is one of the answers without
    a grade, if any. ``money`` is None if the run had no budget.
    """

    judge: str
    config: PoolConfig
    version: str
    pending: PairQueue
    calls: Calls | None
    seconds: float
    ended: Ending | None
    error: BaseException | None
    example: FailedAnswer | None = None
    money: Money | None = None
    reread: Rereading | None = None
    """The result of reading stored answers by newer rules; None if there were none to read."""
    written: Path | None = None
    """The output file of graded pairs, if they came from a file without a workspace."""
    pool: BuildResult | None = None
    """The pool that the grades chose; None where it was there before, or still waits for grades."""

    @property
    def left(self) -> str:
        """How many pairs are still to be asked."""
        return f"{counted(self.pending.left, 'pair is', 'pairs are')} still to be asked"

    @property
    def fault(self) -> BaseException | None:
        """What ended the run before it was done, to be raised although its grades are kept: its error, a budget that
        was spent, an interruption, or pairs that wait in a batch; None after a complete run and one with a limit."""
        fault = self.error or ended_early(self.ended, self.money, self.left, "pair", "grades")
        if fault is not None:
            return fault
        if self.pending.in_batches:
            waiting = f"{counted(self.pending.in_batches, 'pair waits', 'pairs wait')} in a batch"
            return QuatiPoolError(f"{waiting}; run: quati-pool batch collect {self.judge}")
        return None


def judge(
    config: Path | PoolConfig,
    name: str | None,
    listener: Listener,
    options: JudgeOptions = DEFAULT,
    stop: threading.Event | None = None,
) -> JudgeReport:
    """Asks a judge of a ``pool.yaml`` or of a configuration about every pair of the pool without a grade by it, and
    stores its answers.

    Only one process at a time works for a judge; a second one waits, and then finds the work done. ``stop``, set from
    another thread, ends the run as Ctrl-C does: calls in flight finish and their answers are kept. Raises
    QuatiPoolError if the run cannot start; a later error is the report's ``error``.
    """
    started = time.monotonic()
    with chosen_judge(config, name, options, listener.say) as chosen, chosen.alone(listener.say):
        model = chosen.judge.model
        if options.reread and model is None:
            raise ConfigError(f"{chosen.name} asks no model, so there are no answers to read again; leave --reread out")
        reread = chosen.read_again(listener)
        with listener.stage(f"{chosen.name}: reading the pool and its labels"):
            pending = chosen.pending(listener.say)
        report = judged(chosen, pending, options, listener, stop)
    return replace(report, seconds=time.monotonic() - started, reread=reread)


def judged(
    chosen: ChosenJudge,
    pending: PairQueue,
    options: JudgeOptions,
    listener: Listener,
    stop: threading.Event | None = None,
) -> JudgeReport:
    """Grades the pairs of ``pending``, or asks about them unless the options only read again."""
    started, model = time.monotonic(), chosen.judge.model
    run = JudgingRun(pending, options, listener, stop or threading.Event())
    if model is None:
        run.grade(chosen.judge)
    elif not options.reread:
        run.ask(model)
    with suppress(QuatiPoolError) if run.error else nullcontext():
        pending.close()
    example = chosen.failed_answer(pending.coverage.failed)
    # If the limit equals the number of pairs, none was left out.
    ended = run.ended if run.ended == "interrupted" or pending.left else None
    return JudgeReport(
        chosen.name, chosen.grading.config, chosen.version, pending, run.calls, time.monotonic() - started, ended,
        run.error, example, run.money,
    )  # fmt: skip
