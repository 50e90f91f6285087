"""What a field of each kind takes, how it is stored, and what is refused."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.annotation.authoring.forms import Field, FieldKind, Step, WritingError, at_path, cleaned

TEXT = {"pt": "A maré vira. Duas vezes.", "en": "The tide turns 🌊 twice."}
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def one(kind: FieldKind, value: Any, shown: dict[str, Any] | None = None, **changes: Any) -> Any:
    """What is stored of a value; None if nothing is."""
    values = {"scale": ("1", "5"), "choice": ("who", "what")}.get(kind, ())
    field = Field("x", kind, "x", **{"values": values, "required": False, **changes})
    return cleaned(Step("s", (), (field,)), {"text": TEXT} if shown is None else shown, {"x": value}).get("x")


def refused(kind: FieldKind, value: Any, **changes: Any) -> str | None:
    with pytest.raises(WritingError) as caught:
        one(kind, value, **changes)
    assert caught.value.field in ("x", None)
    return caught.value.reason


def test_a_line_is_one_line_of_composed_characters() -> None:
    assert one("line", "  Por  que a mare\N{COMBINING ACUTE ACCENT}?  ") == "Por que a maré?"
    assert one("line", "") is one("line", "   ") is one("line", None) is None
    for text in ("a\nb", "a\tb", "a\0b", "a\ud800b", "a\u202eb", "a\u2028b", "a\x1bb"):
        assert refused("line", text) == "control"
    assert refused("line", "?!") == "empty"
    assert one("line", "x" * 7, most=7) == "x" * 7
    assert refused("line", "x" * 8, most=7) == "long"
    assert refused("line", 3) == refused("line", ["a"]) == refused("line", True) == "value"


def test_prose_has_lines() -> None:
    assert one("prose", "\n a\r\n\tb \n") == "a\n\tb"
    assert refused("prose", "a\0") == refused("prose", "a\ud800") == "control"
    with pytest.raises(WritingError) as caught:
        one("prose", "x" * 2_001)
    assert (caught.value.reason, caught.value.values) == ("long", {"most": 2_000, "count": 2_001})


def test_yes_or_no_a_scale_and_a_choice_have_their_values() -> None:
    assert (one("yes_no", True), one("yes_no", False), one("yes_no", None)) == (True, False, None)
    assert refused("yes_no", 1) == refused("yes_no", "yes") == "value"
    assert [one("scale", n) for n in (1, 5)] == [1, 5]
    for value in (0, 6, 3.0, True, "3", float("nan"), [3]):
        assert refused("scale", value) == "value"
    expected: dict[FieldKind, str] = {
        "yes_no": "yes or no", "scale": "a number from 1 to 5", "choice": "one of who, what"
    }  # fmt: skip
    for kind, values in expected.items():
        with pytest.raises(WritingError, match=f"^x has no such value; expected {values}"):
            one(kind, 6)
    assert one("choice", "who") == "who"
    assert refused("choice", "Who") == refused("choice", ["who"]) == refused("choice", {}) == "value"


def test_spans_are_merged_by_language_and_hold_their_words() -> None:
    spans = [
        {"language": "en", "start": 15, "end": 16},  # the wave, one code point
        {"language": "pt", "start": 2, "end": 6},
        {"language": "pt", "start": 6, "end": 12, "text": "anything"},
    ]
    assert one("spans", spans) == [
        {"language": "pt", "start": 2, "end": 12, "text": "maré vira."},
        {"language": "en", "start": 15, "end": 16, "text": "🌊"},
    ]
    assert one("spans", [{"start": 0, "end": 1}], {"text": "Ah"}) == [{"start": 0, "end": 1, "text": "A"}]
    assert one("spans", []) is None
    for bad in (
        {"language": "en", "start": 0, "end": 99},
        {"language": "en", "start": 3, "end": 3},
        {"language": "en", "start": -1, "end": 3},
        {"language": "en", "start": True, "end": 3},
        {"language": "es", "start": 0, "end": 1},
        {"language": ["en"], "start": 0, "end": 1},
        {"start": 0, "end": 1},
        "words",
    ):
        assert refused("spans", [bad]) == "value"
    assert refused("spans", [{"language": "en", "start": 0, "end": 1}] * 201) == "value"
    assert refused("spans", "none") == "value"


def test_what_is_required_and_what_is_unknown() -> None:
    assert refused("line", " ", required=True) == "empty"
    step = Step("s", (), (Field("x", "line", "x"),))
    with pytest.raises(WritingError, match="no field 'y'; reload the page") as caught:
        cleaned(step, {}, {"x": "a", "y": "b"})
    assert (caught.value.reason, caught.value.field) == ("unknown", None)


def test_a_path_leads_into_what_is_shown() -> None:
    shown = {"question": {"pt": "Por quê?"}, "validation": {"1": {"pt": "Sim"}}, "evidence": []}
    assert at_path(shown, "question.pt") == "Por quê?"
    assert at_path(shown, "validation.1.pt") == "Sim"
    assert at_path(shown, "evidence") == []
    assert at_path(shown, "question.en") is at_path(shown, "question.pt.x") is at_path(shown, "none.pt") is None


@given(value=ANYTHING, kind=st.sampled_from(["line", "prose", "yes_no", "scale", "choice", "spans"]))
def test_whatever_is_sent_is_stored_by_the_rules_or_refused(value: Any, kind: FieldKind) -> None:
    try:
        stored = one(kind, value)
    except WritingError as error:
        assert error.reason in ("empty", "long", "control", "value")  # noqa: PT017  # anything else may be refused too
        return
    if stored is None:
        assert value in (None, [], "") or not str(value).strip()
    elif kind in ("line", "prose"):
        assert unicodedata.normalize("NFC", stored) == stored == one(kind, stored)
    else:
        assert stored == value
