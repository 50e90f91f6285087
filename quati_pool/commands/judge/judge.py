"""``quati-pool judge``: grades the pool's pairs that a judge has not graded yet."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from quati_pool.commands.judge.chosen_judge import DEFAULT, JudgeOptions, chosen_judge
from quati_pool.commands.judge.judging_queue import JudgingQueue
from quati_pool.commands.judge.judging_run import Calls, JudgingRun, Money
from quati_pool.commands.llm_runs import Ending
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.labels.rereading import Rereading
from quati_pool.project.config import PoolConfig
from quati_pool.project.events import Listener
from quati_pool.store.failed_answers import FailedAnswer


@dataclass(frozen=True, eq=False)
class JudgeReport:
    """A run that is over: where the judge stands over the whole pool, and what this run did.

    ``calls`` is None for a judge that makes none. ``ended`` says what ended the run before all pairs
    were asked, ``error`` what went wrong on the way; both are None after a whole run. ``example`` is one of the
    answers that are no grade, where there are any. ``money`` is None where the run had no budget.
    """

    judge: str
    config: PoolConfig
    version: str
    pending: JudgingQueue
    calls: Calls | None
    seconds: float
    ended: Ending | None
    error: BaseException | None
    example: FailedAnswer | None = None
    money: Money | None = None
    reread: Rereading | None = None
    """What became of the stored answers that newer rules had not read yet."""
    written: Path | None = None
    """Where the pairs are with their grades, if they came from a file without a workspace."""


def judge(
    config: Path | PoolConfig,
    name: str | None,
    listener: Listener,
    options: JudgeOptions = DEFAULT,
    stop: threading.Event | None = None,
) -> JudgeReport:
    """Asks a judge of a ``pool.yaml``, or of what one would hold, about every pair of the pool that has no grade by it,
    and stores what it says.

    One process at a time works for one judge; a second waits, and finds the work done. ``stop``, set
    from another thread, ends the run as Ctrl-C does: what is in flight finishes and is kept.
    Raises QuatiPoolError where nothing can be asked; what goes wrong later is the report's ``error``.
    """
    started = time.monotonic()
    with chosen_judge(config, name, options) as chosen, chosen.alone(listener.say):
        model = chosen.judge.model
        if options.reread and model is None:
            raise ConfigError(f"{chosen.name} asks no model, so there are no answers to read again; leave --reread out")
        reread = chosen.read_again(listener)
        pending = chosen.pending(listener.say)
        run = JudgingRun(pending, options, listener, stop or threading.Event())
        if model is None:
            run.grade(chosen.judge)
        elif not options.reread:
            run.ask(model)
        with suppress(QuatiPoolError) if run.error else nullcontext():
            pending.close()
        example = chosen.failed_answer(pending.coverage.failed)
    seconds = time.monotonic() - started
    # A limit of as many pairs as there were has left out none.
    ended = run.ended if run.ended == "interrupted" or pending.left else None
    return JudgeReport(
        chosen.name, chosen.grading.config, chosen.version, pending, run.calls, seconds, ended, run.error, example,
        run.money, reread,
    )  # fmt: skip
