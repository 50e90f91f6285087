"""``quati-pool questions draft --dry-run``: what a run would ask and cost, without a call."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from quati_pool.commands.annotate.drafts.drafting import DraftOptions, open_drafting
from quati_pool.commands.annotate.drafts.taxonomy import TaxonomyPlan
from quati_pool.commands.model_answers.asking import final
from quati_pool.commands.model_answers.journal import read_journal
from quati_pool.llm.answers import Usage
from quati_pool.llm.tokens import ESTIMATED, estimate
from quati_pool.project.events import Listener
from quati_pool.records import State
from quati_pool.text.pluralize import counted

# Tokens of a draft, assumed until the model has written one.
_ASSUMED_OUTPUT = 200


@dataclass(frozen=True, kw_only=True)
class DraftPlan:
    """The estimate for a run: ``sources`` of the ``wanted`` ones are there, of which some are ``closed``, by reason,
    and the model is to be asked about ``to_ask``. ``cost`` in US dollars is None if the price is unknown."""

    model: str
    drafter: str
    origin: str
    wanted: int
    sources: int
    closed: Counter[str]
    to_ask: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    notes: tuple[str, ...]


def plan_drafts(config_path: Path, options: DraftOptions, listener: Listener, database: str | None = None) -> DraftPlan:
    """Reads the workspace as ``draft`` would; needs no key and no server."""
    with open_drafting(config_path, options, database, listener) as drafting:
        notes = []
        if options.origin == "taxonomy":
            plan = TaxonomyPlan(drafting.plan_path)
            added = drafting.known(drafting.planned(plan))
            while len(plan.planned) < options.count:
                drafting.extend(plan, added, {})
            sources = drafting.planned(plan)
            notes.append("each request shows the questions of its combination that are there now")
        else:
            sources = drafting.home.sources(options.count)
        left_out = drafting.closed(sources)
        closed = Counter(one.reason for one in left_out.values())
        if closed:
            why = ", ".join(f"{count:,} {reason}" for reason, count in closed.most_common())
            notes.append(f"{counted(closed.total(), 'source', 'sources')} not asked about ({why})")
        requests = drafting.requests([source for source in sources if source.source_id not in left_out])
        answerer = drafting.answerer
        written = read_journal(drafting.journal)
        pending, outputs = {}, []
        for source_id in requests.ids:
            request = requests.request(source_id)
            entry = written.get(key := answerer.key(request))
            if entry is None or not final(entry):
                # Later requests for a combination will show earlier drafts, and so differ from each other.
                pending[source_id if options.origin == "taxonomy" else key] = request
            elif entry["state"] == State.ok and (output := (entry.get("usage") or {}).get("output")):
                outputs.append(output / (entry.get("tries") or 1))
        model = answerer.parameters.model
        entered = sum(estimate(request.messages, model).tokens for request in pending.values())
        left = round((sum(outputs) / len(outputs) if outputs else _ASSUMED_OUTPUT) * len(pending))
        how = estimate("", model).how
        notes.append(f"input tokens {how if how == ESTIMATED else 'counted as ' + how}")
        if outputs:
            notes.append(f"output tokens by the mean of {counted(len(outputs), 'draft', 'drafts')} so far")
        else:
            notes.append(f"output tokens assumed to be {_ASSUMED_OUTPUT} per draft")
        price = answerer.price
        if price is None:
            notes.append(f"the price of {model} is unknown: name a file with it under prices:")
        else:
            notes.append(
                f"cost by the list prices of {price.as_of}, without drafts that are asked for again and the call "
                "that asks the server what it accepts"
            )
        return DraftPlan(
            model=options.model,
            drafter=model,
            origin=options.origin,
            wanted=options.count,
            sources=len(sources),
            closed=closed,
            to_ask=len(pending),
            input_tokens=entered,
            output_tokens=left,
            cost=None if price is None else price.cost(Usage(entered, 0, left, 0)),
            notes=tuple(notes),
        )
