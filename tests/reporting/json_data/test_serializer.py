"""The rules by which results become JSON."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, make_dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.files.readable_json import readable_json
from quati_pool.records import State
from quati_pool.reporting.json_data.serializer import Undefined, Views, fields, known, pick, serialize


@dataclass
class Mean:
    run_tag: str
    value: float | None
    interval: tuple[float, float] | None = None


class Ends(NamedTuple):
    low: float
    high: float


class Place(Enum):
    first = 1


_NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters()),
    st.text(st.characters(exclude_categories=())),
    st.datetimes(),
    st.dates(),
    st.sampled_from(State),
    st.sampled_from(Place),
    st.builds(Path, _NAMES),
    st.builds(Undefined, st.text()),
    st.floats(width=32).map(np.float32),
    st.booleans().map(np.bool_),
    st.lists(st.floats(), max_size=3).map(np.array),
    st.lists(st.integers(0, 9)).map(Counter),
    st.frozensets(st.integers(), max_size=3),
    st.builds(Ends, st.floats(), st.floats()),
)


def _dataclass(members: dict[str, Any]) -> Any:
    names = {f"f_{name}": value for name, value in members.items()}
    return make_dataclass("Result", names)(**names)


_KEYS = st.one_of(st.text(), st.integers(), st.sampled_from(State), st.sampled_from(Place))
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(_KEYS, inner, max_size=3),
        st.dictionaries(_NAMES, inner, max_size=3).map(_dataclass),
    ),
    max_leaves=12,
)


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(type(name) is str and _is_plain(member) for name, member in value.items())
    if type(value) is list:
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value))


@given(_VALUES)
def test_any_result_is_plain_data_whose_text_is_utf_8_and_says_the_same(value: Any) -> None:
    data = serialize(value)
    assert _is_plain(data)
    read = json.loads(readable_json(data).encode())
    # Two halves of a surrogate pair, each a character of its own, are read as the character that they stand for.
    assert read == json.loads(json.dumps(data))


@given(_VALUES)
def test_data_stays_as_it_is(value: Any) -> None:
    data = serialize(value)
    assert serialize(data) == data


@given(st.dictionaries(_NAMES, _LEAVES.filter(lambda value: not isinstance(value, Undefined))))
def test_members_keep_their_order(members: dict[str, Any]) -> None:
    assert list(serialize(members)) == list(members)
    assert list(serialize(_dataclass(members))) == [f"f_{name}" for name in members]


@given(st.dictionaries(_NAMES.filter(lambda name: name != "undefined"), st.none() | st.floats(), min_size=1))
def test_every_member_without_a_value_has_its_reason(members: dict[str, float | None]) -> None:
    data = serialize({name: known(value, f"no {name}") for name, value in members.items()})
    lacking = {name: f"no {name}" for name, value in members.items() if value is None or math.isnan(value)}
    assert data.pop("undefined", {}) == lacking
    assert {name: data[name] for name in lacking} == dict.fromkeys(lacking)


def test_each_kind_of_value() -> None:
    when = datetime.fromisoformat("2024-05-17T10:00:00+00:00")
    values = [State.ok, Path("a/b"), when, when.date(), {3, 1}, range(2), np.arange(4).reshape(2, 2), np.float32(0.5)]
    assert serialize(values) == [
        "ok", "a/b", "2024-05-17T10:00:00+00:00", "2024-05-17", [1, 3], [0, 1], [[0, 1], [2, 3]], 0.5,
    ]  # fmt: skip
    assert serialize(Mean("a", math.nan, Ends(0.1, math.inf))) == {
        "run_tag": "a",
        "value": None,
        "interval": {"low": 0.1, "high": None},
    }
    with pytest.raises(TypeError, match="no JSON of object"):
        serialize([object()])


def test_reasons_join_those_that_there_are() -> None:
    assert serialize({"a": Undefined("x"), "undefined": {"b": "y"}, "c": 1}) == {
        "a": None,
        "undefined": {"b": "y", "a": "x"},
        "c": 1,
    }


def test_a_view_renames_leaves_out_and_reaches_inner_attributes() -> None:
    found = Mean("a", 0.5, Ends(0.25, 0.75))
    assert pick(found, "name=run_tag low=interval.low") == {"name": "a", "low": 0.25}
    assert pick(Mean("", 0.0), "run_tag? value interval?") == {"value": 0.0}
    views: Views = {Mean: fields("tag=run_tag interval"), Ends: lambda ends: [*ends]}
    assert serialize({"means": [found]}, views) == {"means": [{"tag": "a", "interval": [0.25, 0.75]}]}
