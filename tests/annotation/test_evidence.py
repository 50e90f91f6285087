"""Evidence is the set of characters that were marked, and it is read only where the words are still the same."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.annotation.evidence import evidence_in, merged, stored_evidence
from quati_pool.text.sentences import Span

TEXT = "O ovo é 😀 bom."

_spans = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 9)).map(lambda one: Span(one[0], one[0] + one[1])), max_size=12
)


def test_overlapping_touching_and_unordered_spans_become_one() -> None:
    given_spans = [Span(8, 9), Span(0, 3), Span(2, 5), Span(5, 6), Span(1, 2)]
    # By hand: 0–3 and 2–5 overlap, 5–6 touches them, 1–2 is inside; 8–9 is by itself.
    assert merged(given_spans) == [Span(0, 6), Span(8, 9)]
    assert merged([]) == []


@given(_spans)
def test_merging_keeps_the_characters(spans: list[Span]) -> None:
    def characters(some: list[Span]) -> set[int]:
        return {place for start, end in some for place in range(start, end)}

    found = merged(spans)
    assert characters(found) == characters(spans)
    assert all(one.end < following.start for one, following in pairwise(found))
    assert merged(found) == found


def test_words_are_stored_with_their_place_in_code_points() -> None:
    # By hand: O=0, blank=1, ovo=2–5, blank, é=6, blank, the emoji is one code point at 8.
    assert stored_evidence(TEXT, [Span(2, 5), Span(8, 9)]) == [
        {"start": 2, "end": 5, "text": "ovo"},
        {"start": 8, "end": 9, "text": "😀"},
    ]


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.data())
def test_what_was_stored_is_read_back(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    span = Span(start, data.draw(st.integers(start + 1, len(text))))
    assert evidence_in(text, json.loads(json.dumps(stored_evidence(text, [span])))) == (span,)


@pytest.mark.parametrize(
    "stored",
    [
        None, "ovo", {}, [None], ["ovo"], [[2, 5, "ovo"]], [{}], [{"start": 2, "end": 5}],
        [{"start": 2, "end": 5, "text": "oví"}], [{"start": True, "end": 5, "text": " ovo"}],
        [{"start": 2.0, "end": 5.0, "text": "ovo"}], [{"start": -13, "end": 5, "text": "O ovo"}],
        [{"start": 14, "end": 99, "text": "."}], [{"start": 5, "end": 5, "text": ""}],
    ],
)  # fmt: skip
def test_what_is_not_of_this_text_is_left_out(stored: Any) -> None:
    assert evidence_in(TEXT, stored) == ()
