"""Labels hold a grade if and only if they are ok; content hashes tell apart what was shown."""

from __future__ import annotations

import pytest

from quati_pool.records import State
from quati_pool.store.records import content_sha
from tests.store.samples import label


@pytest.mark.parametrize("status", [state for state in State if state is not State.ok])
def test_only_an_ok_label_has_a_grade(status: State) -> None:
    assert label(status=status).relevance is None
    with pytest.raises(ValueError, match=f"^q1 d1: {status} cannot have a grade$"):
        label(status=status, relevance=0)


def test_an_ok_label_needs_a_grade() -> None:
    assert label(relevance=0).relevance == 0
    with pytest.raises(ValueError, match=r"^q1 d1: an ok label needs a grade$"):
        label(relevance=None)


def test_the_content_hash_is_that_of_the_texts_behind_their_lengths() -> None:
    # printf '5:Onde?7:Aqui é.' | sha256sum
    assert content_sha("Onde?", "Aqui é.") == "f87a6ae6c881acfcb2d1c9e597c6d2e1437879e3b656e84e234fa1f2d2f07c56"


def test_the_content_hash_tells_apart_all_that_is_shown() -> None:
    shown = [
        ("q", "t", None),
        ("q", "t", ""),
        ("q", "t", "n"),
        ("qt", "", None),
        ("", "qt", None),
        ("q1:t", "", None),
        ("q", "t1:n", None),
        ("t", "q", None),
        ("q", "t\ud83d\ude00", None),  # two lone surrogates are not the character they stand for
        ("q", "t\U0001f600", None),
    ]
    assert len({content_sha(*one) for one in shown}) == len(shown)
