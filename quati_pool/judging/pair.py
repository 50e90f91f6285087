"""A query and a passage to be graded."""

from __future__ import annotations

from typing import NamedTuple

from quati_pool.text.fencing import without_template_tokens


class Pair(NamedTuple):
    """A query and a passage as a judge sees them; ``narrative`` is None if the query has none or it is not shown."""

    query_id: str
    doc_id: str
    query: str
    text: str
    narrative: str | None = None


def as_fenced(pair: Pair) -> Pair:
    """The pair as shown by prompts that fence texts: with chat-template tokens neutralised."""
    narrative = None if pair.narrative is None else without_template_tokens(pair.narrative)
    query, text = without_template_tokens(pair.query), without_template_tokens(pair.text)
    return pair._replace(query=query, text=text, narrative=narrative)
