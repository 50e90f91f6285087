"""``quati-pool judge --adaptive``: grades an adaptive pool while it is chosen."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

from quati_pool.commands.build import prepare_pool
from quati_pool.commands.judge.adaptive_queue import AdaptiveQueue
from quati_pool.commands.judge.chosen_judge import DEFAULT, JudgeOptions, chosen_judge
from quati_pool.commands.judge.judge import JudgeReport, judged
from quati_pool.errors import ConfigError
from quati_pool.project.config import JudgeConfig, PoolConfig, load_config
from quati_pool.project.events import Listener


def judge_adaptively(
    config_path: Path,
    name: str | None,
    listener: Listener,
    options: JudgeOptions = DEFAULT,
    stop: threading.Event | None = None,
) -> JudgeReport:
    """Asks the judge that steers the pool about one pair after another, as its grades choose them, and writes the pool.

    What was graded is stored as it arrives, and the pool follows from it: after a kill the same command goes on where
    the sequence was. The rest is as in ``judge``. Raises ConfigError if another labeler, or none, steers the pool.
    """
    started = time.monotonic()
    config = load_config(config_path)
    with chosen_judge(config, _steering(config, name), options, listener.say) as chosen, chosen.alone(listener.say):
        reread = chosen.read_again(listener)
        builder = prepare_pool(config, listener)
        assert builder is not None, "a whole build leaves no run out"
        report = judged(chosen, AdaptiveQueue(chosen, builder.choose()), options, listener, stop)
        pool = builder.finish(builder.choose())
    return replace(report, seconds=time.monotonic() - started, reread=reread, pool=pool)


def _steering(config: PoolConfig, name: str | None) -> str:
    """The judge that steers the pool, which ``name`` must be if given."""
    settings = config.pool
    if settings.steered_by is None:
        raise ConfigError(
            f"{config.path}: pool: is no adaptive pool; add a method and who steers it, such as  "
            "pool: {method: mm-ns, steered_by: lexical, budget: 2000}"
        )
    if name is not None and name != settings.steered_by:
        raise ConfigError(f"{config.path}: pool: is steered by {settings.steered_by}, not by {name}")
    if not isinstance(config.judges.get(settings.steered_by), JudgeConfig):
        raise ConfigError(
            f"{config.path}: pool: is steered by {settings.steered_by}, whom no command asks; "
            "run: quati-pool build, again whenever there are grades of the pool's pairs"
        )
    return settings.steered_by
