"""The JSON of ``prepare``, and that of examples of dropped rows."""

from __future__ import annotations

from typing import Any

from quati_pool.commands.prepare.pipeline_plan import Link
from quati_pool.commands.prepare.prepare import Funnel, Written
from quati_pool.commands.prepare.step_counts import Example, StepCount
from quati_pool.reporting.json_data.serializer import Views, fields, pick, serialize
from quati_pool.reporting.tables.prepare import rule_name

_MOST_INPUTS = 1000
"""The report contains the hashes of the input files only if there are at most this many files."""


def as_data(result: Funnel) -> Any:
    """The JSON object of ``prepare``; it lists every reason for dropping rows, including those that dropped none."""
    steps = zip(result.links, result.counts, strict=True)
    data = {
        **pick(result, "name=config.name seed=config.seed"),
        "steps": [_step(link, count) for link, count in steps],
        **pick(result, "corpora=written notes"),
        "input_files": len(result.inputs),
        "inputs": result.inputs if len(result.inputs) <= _MOST_INPUTS else {},
    }
    return serialize(data, VIEWS)


def examples_as_data(result: Funnel) -> Any:
    """The JSON object of examples of dropped rows, keyed by the ``rule_name`` of their step and reason."""
    data = {
        rule_name(link.label, reason): {
            "step": link.label,
            "reason": reason,
            "dropped": count.dropped[reason],
            "examples": count.examples.get(reason, []),
        }
        for link, count in zip(result.links, result.counts, strict=True)
        for reason in link.step.reasons
        if count.dropped.get(reason)
    }
    return serialize(data, VIEWS)


def _step(link: Link, count: StepCount) -> dict[str, Any]:
    return {
        **pick(link, "step=label unit"),
        **pick(count, "rows_in rows_out pages_in pages_out characters_in characters_out"),
        "dropped": {reason: count.dropped.get(reason, 0) for reason in link.step.reasons},
    }


VIEWS: Views = {
    Written: fields("step=label folder files passages=rows"),
    Example: fields("doc_id=id url place measured=detail text"),
}
