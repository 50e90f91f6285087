"""The constraints of a query as a prompt lists them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_NOT = {"pt": "NÃO", "en": "NOT", "es": "NO"}


def brief(constraints: Sequence[Mapping[str, Any]], language: str) -> str:
    """The constraints in the content of a query's item, one a line, with the words of the prompt's language.

    Every line begins with what is asked for, X, after a NOT if the constraint is negated, so that no label can negate
    one: ``X — property → entity (description)`` where X is the subject, ``X ← property — entity (description)`` where
    it is the object.
    """
    return "\n".join(_line(one, _NOT[language]) for one in constraints)


def _line(constraint: Mapping[str, Any], not_: str) -> str:
    prop, entity = constraint["property"], constraint["entity"]
    arrow = f"— {prop['label']} →" if constraint["side"] == "subj" else f"← {prop['label']} —"
    description = f" ({entity['description']})" if entity["description"] else ""
    words = f"{not_ if constraint['negated'] else ''} X {arrow} {entity['label']}{description}"
    return " ".join(words.split())
