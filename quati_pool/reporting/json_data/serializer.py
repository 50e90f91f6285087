"""Converts the results of commands to JSON by one set of rules.

``None``, strings and numbers are unchanged; a number that JSON lacks (NaN, infinity) becomes null. An enum becomes its
value, a path a string, a date or time its ISO form, a set a sorted list, any other sequence or array a list, and a
mapping an object with string keys. A dataclass or named tuple becomes an object of its fields, in their order.

A type whose JSON differs from that has a view: a function that returns what to serialise instead of a value. The
``VIEWS`` of each module in this package hold the views for the result of one command. The same rules and views are
applied to what a view returns, so a view need not convert anything itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from datetime import date
from enum import Enum
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

View = Callable[[Any], Any]
Views = Mapping[type, View]
_UNCHANGED = frozenset({str, int, bool, type(None)})


@dataclass(frozen=True)
class Undefined:
    """The value of an object's member that becomes null; the ``reason`` goes into the object's ``undefined``."""

    reason: str | None


def known(value: Any, reason: str | None) -> Any:
    """``value``, or ``Undefined(reason)`` if it is None or NaN."""
    return Undefined(reason) if value is None or value != value else value


def pick(value: Any, names: str) -> dict[str, Any]:
    """Attributes of ``value`` as members of an object.

    ``names`` lists the members, separated by spaces: ``name`` if the attribute has the same name,
    ``name=attribute`` or ``name=attribute.of.that`` if it has not, and ``name?`` for a member that is left out if
    it is empty.
    """
    members = ((name, optional, get(value)) for name, optional, get in _members(names))
    return {name: member for name, optional, member in members if not optional or member}


@cache
def _members(names: str) -> list[tuple[str, bool, Callable[[Any], Any]]]:
    found: list[tuple[str, bool, Callable[[Any], Any]]] = []
    for listed in names.split():
        name, _, attribute = listed.partition("=")
        plain = name.removesuffix("?")
        found.append((plain, plain != name, attrgetter(attribute or plain)))
    return found


def fields(names: str, **reasons: str | Callable[[Any], str | None]) -> View:
    """A view that applies ``pick`` with these ``names``.

    ``reasons`` gives, for members that may be None or NaN, the reason, or a function from the value to the reason.
    """

    def view(value: Any) -> dict[str, Any]:
        members = pick(value, names)
        for name, reason in reasons.items():
            members[name] = known(members[name], reason if isinstance(reason, str) else reason(value))
        return members

    return view


def serialize(value: Any, views: Views | None = None) -> Any:
    """``value`` in types that ``json.dumps`` accepts: dictionaries, lists, strings, finite numbers, booleans, None.

    Raises TypeError for a type that has no view and is not covered by the rules of this module.
    """
    return _plain(value, views or {})


def _plain(value: Any, views: Views) -> Any:
    kind = type(value)
    if kind in views:
        return _plain(views[kind](value), views)
    if kind in _UNCHANGED:
        return value
    if isinstance(value, Enum):
        return _plain(value.value, views)
    if isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist(), views)
    if isinstance(value, Mapping):
        return _object(value, views)
    if hasattr(value, "_asdict"):
        return _object(value._asdict(), views)
    if isinstance(value, (list, tuple, range)):
        return [_plain(one, views) for one in value]
    if isinstance(value, Set):
        return [_plain(one, views) for one in sorted(value)]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Undefined):
        return None
    if hasattr(kind, "__dataclass_fields__"):
        return _object({field.name: getattr(value, field.name) for field in dataclass_fields(value)}, views)
    raise TypeError(f"no JSON of {kind.__name__}")


def _object(members: Mapping[Any, Any], views: Views) -> dict[str, Any]:
    """Converts an object; reasons go into its member ``undefined``, which is appended if the object has none."""
    data: dict[str, Any] = {}
    reasons: dict[str, str | None] = {}
    for key, member in members.items():
        name = str(key.value if isinstance(key, Enum) else key)
        if isinstance(member, Undefined):
            reasons[name] = member.reason
        data[name] = _plain(member, views)
    if reasons:
        data["undefined"] = {**(data.get("undefined") or {}), **reasons}
    return data
