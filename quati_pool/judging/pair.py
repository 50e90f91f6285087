"""A query and a passage to be graded."""

from __future__ import annotations

from typing import NamedTuple

from quati_pool.text.fencing import without_template_tokens


class Pair(NamedTuple):
    """A query and a passage as a judge sees them; ``narrative`` where the judge asked for it."""

    query_id: str
    doc_id: str
    query: str
    text: str
    narrative: str | None = None


def as_fenced(pair: Pair) -> Pair:
    """The pair as prompts that fence texts show it: without tokens of chat templates."""
    narrative = None if pair.narrative is None else without_template_tokens(pair.narrative)
    query, text = without_template_tokens(pair.query), without_template_tokens(pair.text)
    return pair._replace(query=query, text=text, narrative=narrative)
