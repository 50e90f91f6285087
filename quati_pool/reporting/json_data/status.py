"""The JSON of ``status``."""

from __future__ import annotations

from typing import Any

from quati_pool.commands.status.labelers import LabelerState
from quati_pool.commands.status.outputs import OutputState
from quati_pool.commands.status.status import Status
from quati_pool.reporting.json_data import completeness
from quati_pool.reporting.json_data.authoring import progress
from quati_pool.reporting.json_data.serializer import Views, pick, serialize

_LABELER = (
    "labeler=name grader version members graded failures never_asked=coverage.unasked tied=coverage.tied "
    "not_given=coverage.not_given pairs=coverage.pairs "
    "states=coverage.states grades=coverage.grades earlier_labels=earlier unread_answers=unread open_batches=batches "
    "waiting_requests=in_batches not_pooled=outside queries_without_relevant=irrelevant"
)


def as_data(status: Status) -> Any:
    """The JSON object of ``status``; ``next`` is null where nothing is left to do."""
    state = status.state
    labels = state.labels
    data = {
        "collection": state.config.name,
        "config": state.config.path,
        "systems": state.systems,
        "pool": {
            **pick(state.pool, "state why pairs queries without_text depths"),
            "queries_without_pairs": state.queries_without_pairs,
        },
        "labelers": labels.labelers,
        "main_labeler": labels.main.name,
        "completeness": completeness.as_data(labels.completeness),
        "problems": labels.problems,
        "cannot_be_asked": state.blocked,
        "assignments": labels.slots,
        "people_with_code": labels.people,
        "database": state.database,
        **({} if state.writing is None else {"writing": progress(state.writing)}),
        "outputs": state.outputs,
        "faults": state.faults,
        "in_doubt": [
            {"doubt": one.words, "command": status.pasted(one.command) if one.command else None}
            for one in status.doubts
        ],
        "next": status.next and {"command": status.pasted(status.next.command), "why": status.next.why},
    }
    views: Views = {
        LabelerState: lambda one: pick(one, _LABELER),
        OutputState: lambda one: {
            "path": one.path.relative_to(state.config.folder),
            "command": status.pasted(one.command),
            "current": one.why is None,
            "why": one.why,
        },
    }
    return serialize(data, views)
