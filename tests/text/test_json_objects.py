"""JSON objects are found wherever they stand, with every key; a broken one leaves none."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from quati_pool.text.json_objects import Number, folded, json_objects

# Objects as values are tuples, and have a test of their own.
VALUES = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3), max_leaves=5
)


@given(st.lists(st.dictionaries(st.text(max_size=4), VALUES, min_size=1, max_size=3), max_size=3))
def test_objects_among_prose_are_found_in_their_order(written: list[dict[str, object]]) -> None:
    text = "so {x} I say ".join(["", *(json.dumps(one) for one in written)]) + " [] the end}"
    objects, outside, broken = json_objects(text)
    assert [{member.key: member.value for member in each.members} for each in objects] == written
    assert all(json.loads(text[one.start : one.end]) == one.value for each in objects for one in each.members)
    assert all(text[each.end - 1] == "}" for each in objects)
    assert (len(outside), broken) == (len(text), False)


def test_a_key_that_occurs_twice_is_told_twice_and_numbers_stay_as_written() -> None:
    (((first, second), _),), _, _ = json_objects('{"a": 1.50, "a": 2e3}')
    assert [(first.key, first.value), (second.key, second.value)] == [("a", "1.50"), ("a", "2e3")]
    assert isinstance(first.value, Number)


def test_members_of_nested_objects_are_found_at_any_depth_repeated_ones_too() -> None:
    ((found,), _, _) = json_objects('{"a": {"b": [1, {"c": "1", "c": {"d": null}}]}, "e": [[{"f": 2.0}]]}')
    assert sorted(key for key, _ in found.nested()) == ["b", "c", "c", "d", "f"]
    values = dict(found.nested())
    assert (values["d"], values["f"]) == (None, "2.0")
    assert isinstance(values["f"], Number)
    assert ("c", "1") in found.nested()
    assert [key for key, _ in json_objects('{"a": [], "b": {}}')[0][0].nested()] == []


def test_after_a_broken_object_nothing_counts() -> None:
    for text in ('{"a": "1"} {"a": ', "{'a': 1} {\"a\": 1}", '{"a": 1,}', '{"a" 1}'):
        assert json_objects(text) == ([], text, True)


def test_keys_are_compared_without_case_and_width_of_white_space() -> None:
    assert folded("Final \n Answer") == folded("final answer")
    assert folded("Respostá") == folded("resposta\u0301")
    assert folded("x" * 100) == "x" * 100
