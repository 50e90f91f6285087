"""Designs and their frames, as they are stored."""

from __future__ import annotations

from typing import Any

import pytest

from quati_pool.store.database import Store
from quati_pool.store.designs import Designs
from quati_pool.store.errors import StoreError
from quati_pool.store.records import Design, FramePair, Method, NewSlot, Selection


def design(method: Method, **parameters: Any) -> Design:
    return Design(method=method, seed=1, frame_sha="f00d", frame_pairs=3, parameters=parameters)


FRAME = [FramePair("q2", "d1", "b", 0.25), FramePair("q1", "d2", "a", 1.0), FramePair("q1", "d10", "a", 1 / 3)]
SELECTED = [Selection("q1", "d2", "a", 1.0, 1)]


@pytest.mark.parametrize("method", ["random", "stratified", "random-queries", "active"])
def test_a_frame_is_read_as_it_was_stored_by_the_bytes_of_the_ids(store: Store, method: Method) -> None:
    designs = Designs(store, "pira")
    number = designs.create(design(method), SELECTED, [NewSlot("q1", "d2", 1, 1)], iter(FRAME))
    assert designs.frame(number) == [FRAME[2], FRAME[1], FRAME[0]]
    assert designs.selections(number) == SELECTED
    assert Designs(store, "other").frame(number) is None
    assert designs.frame(number + 1) is None


def test_all_pairs_of_a_design_of_all_pairs_are_its_frame(store: Store) -> None:
    designs = Designs(store, "pira")
    selected = [Selection("q1", "d2", "all", 1.0, 2), Selection("q1", "d1", "all", 1.0, 2)]
    number = designs.create(design("all"), selected, [], [FramePair("q1", "d1", "all", 1.0)])
    assert designs.frame(number) == [FramePair("q1", "d1", "all", 1.0), FramePair("q1", "d2", "all", 1.0)]


@pytest.mark.parametrize("method", ["queries", "imported", "random"])
def test_without_a_stored_frame_none_is_known(store: Store, method: Method) -> None:
    designs = Designs(store, "pira")
    assert designs.frame(designs.create(design(method), SELECTED, [])) is None


@pytest.mark.parametrize("faulty", [FramePair("q1", "d3", "a", 0.0), FramePair("q1", "d3", "a", 1.5), FRAME[0]])
def test_a_frame_at_fault_keeps_nothing_of_its_design(store: Store, faulty: FramePair) -> None:
    designs = Designs(store, "pira")
    with pytest.raises(StoreError, match="the design was not kept"):
        designs.create(design("active"), SELECTED, [NewSlot("q1", "d2", 1, 1)], [*FRAME, faulty])
    assert designs.all() == []


def test_a_frame_of_many_pairs_is_stored_whole(store: Store) -> None:
    frame = [FramePair(f"q{n % 100:02}", f"d{n:06}", "all", 0.5) for n in range(45_000)]
    designs = Designs(store, "pira")
    number = designs.create(design("active"), [], [], frame)
    assert designs.frame(number) == sorted(frame)


def test_which_designs_are_random_and_which_draw_pairs_independently() -> None:
    kinds = {
        method: (design(method, **parameters).is_random, design(method, **parameters).poisson)
        for method, parameters in (
            ("all", {}), ("stratified", {"n": 3}), ("random-queries", {"n": 3}), ("active", {"expected": 2.0}),
            ("queries", {"queries": ["q1"]}), ("imported", {}), ("repeats", {"rate": 0.05}), ("anchors", {}),
        )
    }  # fmt: skip
    assert kinds == {
        "all": (True, False), "stratified": (True, False), "random-queries": (True, False), "active": (True, True),
        "queries": (False, False), "imported": (False, False), "repeats": (False, False), "anchors": (False, False),
    }  # fmt: skip
    assert (design("random", n=3).poisson, design("random", rate=0.5).poisson) == (False, True)
