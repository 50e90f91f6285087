"""``quati-pool audit --dry-run``: estimates the calls and the cost of an audit, without any call or write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quati_pool.commands.audit.audit import AuditedProbe, audited_probes, in_turn
from quati_pool.commands.audit.drawn_cases import DrawnCases
from quati_pool.commands.audit.queue import AuditQueue
from quati_pool.commands.audit.settings import AuditSettings
from quati_pool.commands.judge.chosen_judge import chosen_judge, pick_judge
from quati_pool.commands.judge.plan import Forecast, PlannedCalls, assumptions
from quati_pool.labels.labelers import Grading
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.store.database import Store


@dataclass(frozen=True, kw_only=True)
class AuditPlan:
    """The forecast for one judge that is asked, in an audit of ``audited``. ``texts`` are all that its probes ask
    about, ``to_ask`` those without an answer. ``cost`` in US dollars is None if the price is unknown, ``seconds`` if
    nothing bounds the time."""

    audited: str
    judge: str
    probes: Sequence[AuditedProbe]
    texts: int
    to_ask: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    seconds: float | None
    notes: tuple[str, ...]


def plan(
    config: Path | PoolConfig, names: Sequence[str], listener: Listener, settings: AuditSettings | None = None
) -> list[AuditPlan]:
    """A forecast for each judge that ``audit`` would ask; needs no key and no server."""
    config = load_config(config) if isinstance(config, Path) else config
    settings = settings or AuditSettings()
    plans = []
    for name in list(dict.fromkeys(names)) or [pick_judge(config, None)]:
        with Store.open(config.labels.url, config.folder) as store:
            drawn = DrawnCases(Grading(config, store), name, settings.pairs, listener.say)
            probes = audited_probes(drawn, settings, listener.say, write=False)
            for member in drawn.members:
                plans.append(_forecast(drawn, member.name, probes, settings))
    return plans


def _forecast(drawn: DrawnCases, name: str, probes: Sequence[AuditedProbe], settings: AuditSettings) -> AuditPlan:
    with chosen_judge(drawn.grading.config, name, settings.judge_options()) as chosen:
        chosen = chosen.as_stored()
        queue = AuditQueue(chosen, in_turn(probes))
        model, calls, to_ask = chosen.judge.model, PlannedCalls(), 0
        for tasks in queue.tasks():
            to_ask += len(tasks)
            if model is not None:
                for task in tasks:
                    calls.add(model, task)
        used = chosen.grading.store.usage(drawn.grading.config.name, name, chosen.version)
    forecast = Forecast.of(model, calls, used)
    return AuditPlan(
        audited=drawn.name,
        judge=name,
        probes=probes,
        texts=queue.total,
        to_ask=to_ask,
        calls=calls.count,
        input_tokens=calls.input_tokens,
        output_tokens=forecast.output_tokens,
        cost=forecast.cost,
        seconds=forecast.seconds,
        notes=() if model is None else tuple(assumptions(model, used)),
    )
