"""``quati-pool audit --dry-run``: estimates the calls and the cost of an audit, without any call or write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from quati_pool.audit.cases import Case
from quati_pool.commands.audit.audit import AuditedProbe, audited_probes, in_turn
from quati_pool.commands.audit.drawn_cases import DrawnCases
from quati_pool.commands.audit.paraphrases import Paraphrasing, in_queue
from quati_pool.commands.audit.queue import AuditQueue
from quati_pool.commands.audit.settings import AuditSettings
from quati_pool.commands.judge.chosen_judge import ChosenJudge, chosen_judge, pick_judges
from quati_pool.commands.judge.plan import Forecast, PlannedCalls, assumptions
from quati_pool.labels.labelers import Grading
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.store.database import Store


@dataclass(frozen=True, kw_only=True)
class AuditPlan:
    """The forecast for one judge that is asked, in an audit of ``audited``. ``texts`` are all that it is asked about,
    changed by probes or under other wordings of its prompt, ``to_ask`` those without an answer. ``cost`` in US dollars
    is None if the price is unknown, ``seconds`` if nothing bounds the time."""

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
    for name in pick_judges(config, names):
        with Store.open(config.labels.url, config.folder) as store:
            drawn = DrawnCases(Grading(config, store), name, settings.pairs, listener.say)
            probes = audited_probes(drawn, settings, listener.say, write=False)
            reworded = _Reworded() if settings.probes else _reworded(drawn, settings, listener)
            for member in drawn.members:
                plans.append(_forecast(drawn, member.name, probes, reworded, settings))
    return plans


@dataclass(frozen=True)
class _Reworded:
    """The pairs that a judge is asked about with other wordings of its prompt, and how these change it."""

    cases: Sequence[Case] = ()
    changes: Sequence[Callable[[ChosenJudge], ChosenJudge]] = ()


def _reworded(drawn: DrawnCases, settings: AuditSettings, listener: Listener) -> _Reworded:
    paraphrasing = Paraphrasing(drawn, listener.say)
    if paraphrasing.problem is not None:
        return _Reworded()
    changes = [partial(paraphrasing.reworded, wording=wording) for wording in paraphrasing.wordings]
    return _Reworded(paraphrasing.cases(redraw=settings.redraw, write=False), changes)


def _forecast(
    drawn: DrawnCases, name: str, probes: Sequence[AuditedProbe], reworded: _Reworded, settings: AuditSettings
) -> AuditPlan:
    with chosen_judge(drawn.grading.config, name, settings.judge_options()) as chosen:
        chosen = chosen.as_stored()
        queues = [AuditQueue(chosen, in_turn(probes))]
        queues += [AuditQueue(change(chosen), in_queue(reworded.cases)) for change in reworded.changes]
        return forecast_of(chosen, drawn.name, queues, probes)


def forecast_of(
    chosen: ChosenJudge, audited: str, queues: Sequence[AuditQueue], probes: Sequence[AuditedProbe] = ()
) -> AuditPlan:
    """The forecast for what is left of the queues of a judge."""
    model, calls, to_ask = chosen.judge.model, PlannedCalls(), 0
    for queue in queues:
        for task in chain.from_iterable(queue.tasks()):
            to_ask += 1
            if queue.model is not None:
                calls.add(queue.model, task)
    used = chosen.grading.store.usage(chosen.grading.config.name, chosen.name, chosen.version)
    forecast = Forecast.of(model, calls, used)
    return AuditPlan(
        audited=audited,
        judge=chosen.name,
        probes=probes,
        texts=sum(queue.total for queue in queues),
        to_ask=to_ask,
        calls=calls.count,
        input_tokens=calls.input_tokens,
        output_tokens=forecast.output_tokens,
        cost=forecast.cost,
        seconds=forecast.seconds,
        notes=() if model is None else tuple(assumptions(model, used)),
    )
