"""Labels beside people's, their reasons, and labels that are written once: on both engines."""

from __future__ import annotations

import pytest

from quati_pool.records import State
from quati_pool.store.database import Store
from quati_pool.store.errors import ConflictError
from quati_pool.store.label_queries import (
    append_once,
    extent,
    labels_of_peoples_pairs,
    last_seq,
    peoples_labels,
    rationales_of,
)
from quati_pool.store.records import Entry
from tests.store.samples import alone, label

PEOPLE = {"ana": "a2", "bia": "a2"}


def told(store: Store, who: str, query_id: str, doc_id: str, version: str = "v1", **values: object) -> int:
    kind = "judge" if who == "gpt" else "assessor"
    return store.append([alone(query_id, doc_id, labeler_id=who, kind=kind, version=version, **values)])[0]


def test_a_judge_is_read_where_people_labelled_and_nowhere_else(store: Store) -> None:
    for query_id in ("q1", "q2"):
        for doc_id in ("d1", "d2"):
            told(store, "gpt", query_id, doc_id)
    told(store, "ana", "q1", "d1", "a2")
    told(store, "bia", "q2", "d2", "a2")
    # Not counted: an older version, practice, another person, another collection.
    told(store, "ana", "q1", "d2", "a1")
    told(store, "bia", "q1", "d2", "a2", phase="training")
    told(store, "caio", "q2", "d1", "a2")
    told(store, "ana", "q2", "d1", "a2", collection="quati")
    found = labels_of_peoples_pairs(store, "pira", "gpt", "v1", PEOPLE)
    assert [(row.query_id, row.doc_id) for row in found] == [("q1", "d1"), ("q2", "d2")]
    assert labels_of_peoples_pairs(store, "pira", "gpt", "v1", {}) == []
    assert [(row.query_id, row.doc_id) for row in labels_of_peoples_pairs(store, "pira", "ana", "a2", PEOPLE)] == [
        ("q1", "d1")
    ]


def test_peoples_labels_are_read_from_a_seq_on(store: Store) -> None:
    assert extent(store, "pira", 0) == (0, 0, 0)
    assert peoples_labels(store, "pira", "a2", 0) == {}
    first = told(store, "ana", "q1", "d1", "a2")
    told(store, "gpt", "q1", "d1", "a2")
    told(store, "ana", "q1", "d1", "a1")
    told(store, "bia", "q1", "d1", "a2", phase="training")
    told(store, "bia", "q1", "d1", "a2", phase="revealed")
    second = told(store, "bia", "q1", "d1", "a2", relevance=3)
    third = told(store, "ana", "q1", "d1", "a2", status=State.retracted, relevance=None)
    other = told(store, "ana", "q1", "d1", "a2", collection="quati")
    decided = told(store, "adjudicated", "q1", "d1", "a2", phase="final")
    seqs = {name: [row.seq for row in rows] for name, rows in peoples_labels(store, "pira", "a2", 0).items()}
    assert seqs == {"ana": [first, third], "bia": [second], "adjudicated": [decided]}
    later = peoples_labels(store, "pira", "a2", second)
    assert {name: [(row.seq, row.status) for row in rows] for name, rows in later.items()} == {
        "ana": [(third, State.retracted)],
        "adjudicated": [(decided, State.ok)],
    }
    # Of the nine labels eight are of this collection; after the second of bia's that counts come two.
    assert extent(store, "pira", second) == (decided, 8, 2)
    assert extent(store, "quati", 0) == (other, 1, 1)


def test_answers_in_audits_are_not_counted(store: Store) -> None:
    told(store, "gpt", "q1", "d1")
    told(store, "gpt", "q1", "d1", phase="probe")
    told(store, "gpt", "q1", "d1", collection="quati", phase="probe")
    second = told(store, "ana", "q1", "d1", "a2")
    assert extent(store, "pira", 0) == (second, 2, 2)
    told(store, "gpt", "q1", "d1", phase="repeat")
    audited = told(store, "gpt", "q1", "d1", phase="probe", status=State.refused, relevance=None)
    assert extent(store, "pira", second) == (audited, 2, 0)
    # What people are asked again is theirs.
    last = told(store, "ana", "q1", "d1", "a2", phase="repeat")
    assert extent(store, "pira", second) == extent(store, "pira", audited) == (last, 3, 1)
    assert extent(store, "pira", 0) == (last, 3, 3)
    assert extent(store, "quati", 0)[1:] == (0, 0)


def test_the_last_label_counts_as_it_does_elsewhere(store: Store) -> None:
    told(store, "ana", "q1", "d1", "a2")
    told(store, "gpt", "q1", "d1", relevance=1)
    told(store, "gpt", "q1", "d1", relevance=3)
    told(store, "gpt", "q1", "d1", status=State.failed, relevance=None)
    (row,) = labels_of_peoples_pairs(store, "pira", "gpt", "v1", PEOPLE)
    assert (row.status, row.relevance) == (State.ok, 3)


def test_a_shared_grade_has_the_reason_of_the_one_it_was_shared_from(store: Store) -> None:
    given = label(rationale="because 🙂\x00")
    (first,) = store.append([Entry(label=given, sharers=(label(doc_id="d2"),))])
    (bare,) = store.append([alone("q1", "d3")])
    seqs = [row.seq for row in store.current("pira", "gpt", "v1", ["q1"])]
    assert len(seqs) == 3
    assert rationales_of(store, seqs) == {seq: "because 🙂\x00" for seq in seqs if seq != bare}
    assert rationales_of(store, []) == {}
    assert rationales_of(store, [first] * 3) == {first: "because 🙂\x00"}


def test_a_shared_grade_has_the_reason_of_the_newest_reading(store: Store) -> None:
    """A reading that found no reasons has none: the former ones may have been thoughts."""
    (first,) = store.append([Entry(label=label(rationale="a thought"), sharers=(label(doc_id="d2"),))])
    shared = next(row.seq for row in store.current("pira", "gpt", "v1", ["q1"]) if row.doc_id == "d2")
    assert rationales_of(store, [first, shared]) == {first: "a thought", shared: "a thought"}
    (again,) = store.append([Entry(label=label(rationale="because", rereads=first))])
    assert rationales_of(store, [shared, again]) == {shared: "because", again: "because"}
    followed = label(doc_id="d2", rereads=shared, shared_from=first)
    none, also = store.append([Entry(label=label(rereads=first)), Entry(label=followed)])
    assert rationales_of(store, [shared, none, also]) == {}


def test_many_reasons_are_read_in_several_statements(store: Store) -> None:
    seqs = store.append([alone("q1", f"d{n}", rationale=str(n)) for n in range(1203)])
    assert rationales_of(store, seqs) == {seq: str(n) for n, seq in enumerate(seqs)}


def test_a_nonce_writes_once_and_a_newer_label_is_a_conflict(store: Store) -> None:
    first = append_once(store, label(nonce="n1"), None)
    assert (first.again, append_once(store, label(nonce="n1"), None)) == (False, (first.seq, True))
    assert last_seq(store, "pira", "gpt", "q1", "d1") == first.seq
    with pytest.raises(ConflictError, match="decided meanwhile"):
        append_once(store, label(nonce="n2"), None)
    # Under another version it is a newer one all the same.
    second = append_once(store, label(nonce="n3", version="v2"), first.seq)
    with pytest.raises(ConflictError):
        append_once(store, label(nonce="n4"), first.seq)
    assert last_seq(store, "pira", "gpt", "q1", "d1") == second.seq
    assert last_seq(store, "pira", "gpt", "q1", "d2") is None
