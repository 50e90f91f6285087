"""Which label counts: worked examples, and any sequence against the rule told one label at a time."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quati_pool.records import FAILURES, State
from quati_pool.store.database import Store
from quati_pool.store.label_resolution import resolved
from quati_pool.store.records import CurrentLabel, Entry, Label
from quati_pool.store.rows import KEY
from tests.store.samples import alone, label

OK, FAILED, UNPARSED = State.ok, State.failed, State.unparsed


@pytest.mark.parametrize(
    ("written", "counts"),
    [
        # The place from 0 of the label that counts.
        ([OK], 0),
        ([FAILED], 0),
        ([OK, OK], 1),
        ([FAILED, OK], 1),
        ([OK, FAILED], 0),
        ([OK, FAILED, UNPARSED], 0),
        ([OK, FAILED, OK], 2),
        ([FAILED, UNPARSED], 1),
        ([OK, State.retracted], 1),
        ([OK, State.retracted, FAILED], 2),
        ([OK, State.skipped], 1),
        ([OK, State.unsure, FAILED], 2),
        ([State.skipped, FAILED], 1),
        ([OK, State.retracted, OK, State.refused], 2),
    ],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_the_newest_counts_but_no_failure_replaces_a_grade(
    store: Store, written: list[State], counts: int, at_once: bool
) -> None:
    entries = [alone(status=status, relevance=n % 4 if status is OK else None) for n, status in enumerate(written)]
    seqs = store.append(entries) if at_once else [store.append([entry])[0] for entry in entries]
    [current] = store.current("pira", "gpt", "v1", ["q1"])
    assert (current.seq, current.status) == (seqs[counts], written[counts])
    assert current.relevance == entries[counts].label.relevance


@pytest.mark.parametrize(
    ("written", "counts"),
    [
        # A status, and for another reading the place from 0 of the label whose answer is read again.
        ([(OK, None), (UNPARSED, 0)], 1),
        ([(OK, None), (UNPARSED, 0), (OK, None)], 2),
        ([(OK, None), (UNPARSED, 0), (FAILED, None)], 2),
        ([(FAILED, None), (OK, None), (UNPARSED, 1)], 2),
        ([(UNPARSED, None), (OK, None), (OK, 0)], 1),
        ([(UNPARSED, None), (OK, None), (OK, 0), (UNPARSED, 1)], 2),
        ([(UNPARSED, None), (OK, 0)], 1),
        ([(OK, None), (UNPARSED, 0), (OK, 0)], 2),
        ([(OK, None), (State.no_text, None), (OK, 0)], 1),
    ],
)
def test_of_one_answer_the_newest_reading_counts_whatever_it_says(
    store: Store, written: list[tuple[State, int | None]], counts: int
) -> None:
    seqs: list[int] = []
    for n, (status, again) in enumerate(written):
        relevance = n % 4 if status is OK else None
        seqs += store.append(
            [alone(status=status, relevance=relevance, rereads=None if again is None else seqs[again], reading=str(n))]
        )
    [current] = store.current("pira", "gpt", "v1", ["q1"])
    assert (current.seq, current.status, current.reading) == (seqs[counts], written[counts][0], str(counts))
    [row] = store.table("pira", "gpt", "v1").to_pylist()
    assert row["seq"] == seqs[counts]


@given(st.lists(st.tuples(st.sampled_from([OK, OK, FAILED, UNPARSED, State.retracted]), st.integers(-3, 3))))
def test_any_readings_resolve_as_if_each_answer_had_said_at_first_what_it_says_now(
    written: list[tuple[State, int]],
) -> None:
    """The rule in other words: put the newest reading of each answer in the place of the answer."""
    rows: list[CurrentLabel] = []
    answers: list[int] = []
    for seq, (status, again) in enumerate(written, 1):
        rereads = answers[again % len(answers)] if again > 0 and answers else None
        if rereads is None:
            answers.append(seq)
        grade = seq % 4 if status is OK else None
        rows.append(CurrentLabel("q", "d", "x", "blind", 1, seq, status, grade, None, rereads, None, {}))
    said = [next(row for row in reversed(rows) if row.answer == answer) for answer in answers]
    expected = None
    for row in said:
        if expected is None or not (row.status in FAILURES and expected.status is OK):
            expected = row
    assert resolved(rows, KEY) == ([] if expected is None else [expected])


def oracle(labels: list[Label]) -> dict[tuple[str, str, str, str, int], Label]:
    """The rule, one label after the other."""
    current: dict[tuple[str, str, str, str, int], Label] = {}
    for one in labels:
        key = (one.query_id, one.doc_id, one.content_sha, one.phase, one.sample)
        if key in current and current[key].status is State.ok and one.status in FAILURES:
            continue
        current[key] = one
    return current


# So few of each that keys repeat; 007 and 7, a and A are different ids.
some_labels = st.lists(
    st.builds(
        label,
        query_id=st.sampled_from(["7", "007"]),
        doc_id=st.sampled_from(["a", "A"]),
        status=st.sampled_from([OK, OK, FAILED, UNPARSED, State.retracted, State.skipped]),
        content_sha=st.sampled_from(["x", "y"]),
        sample=st.sampled_from([1, 2]),
        phase=st.sampled_from(["training", "blind", "final"]),
        labeler_id=st.sampled_from(["gpt", "gpt", "other"]),
        version=st.sampled_from(["v1", "v1", "v2"]),
    ),
    max_size=40,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some_labels)
def test_any_sequence_of_labels_resolves_as_the_rule_says(store: Store, given: list[Label]) -> None:
    collection = uuid.uuid4().hex
    entries = [Entry(label=_in(collection, one)) for one in given]
    seqs = dict(zip(map(id, given), store.append(entries), strict=True))
    mine = [one for one in given if (one.labeler_id, one.version) == ("gpt", "v1")]
    expected = {key: (seqs[id(one)], one.status, one.relevance) for key, one in oracle(mine).items()}
    counting = {key: value for key, value in expected.items() if key[3] != "training"}

    current = store.current(collection, "gpt", "v1", ["007", "7"])
    assert {row[:5]: (row.seq, row.status, row.relevance) for row in current} == counting
    assert len(current) == len(counting)

    table = store.table(collection, "gpt", "v1").to_pylist()
    assert [_key(row) for row in table] == [row[:5] for row in current]
    assert {_key(row): (row["seq"], row["status"], row["relevance"]) for row in table} == counting

    trained = store.table(collection, "gpt", "v1", phases=("training",)).to_pylist()
    assert {_key(row): (row["seq"], row["status"], row["relevance"]) for row in trained} == {
        key: value for key, value in expected.items() if key[3] == "training"
    }


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(some_labels, st.sampled_from(["one", "two"])), max_size=3))
def test_what_may_be_shared_is_the_first_grade_that_counts(store: Store, given: list[tuple[list[Label], str]]) -> None:
    run = uuid.uuid4().hex  # of this example alone, also in the versions: sharing crosses collections
    written: list[tuple[int, Label]] = []
    for some, place in given:
        renamed = [_in(f"{run}-{place}", one, version=f"{run}-{one.version}") for one in some]
        written += zip(store.append([Entry(label=one) for one in renamed]), renamed, strict=True)
    expected: dict[tuple[str, int], int] = {}
    groups: dict[tuple[str, str], list[tuple[int, Label]]] = {}
    for seq, one in written:
        if one.version == f"{run}-v1" and one.phase != "training":
            groups.setdefault((one.collection, one.labeler_id), []).append((seq, one))
    for group in groups.values():
        seq_of = {id(one): seq for seq, one in group}
        for one in oracle([one for _, one in group]).values():
            if one.status is State.ok:
                key, seq = (one.content_sha, one.sample), seq_of[id(one)]
                expected[key] = min(seq, expected.get(key, seq))
    found = store.shareable(f"{run}-v1", ["x", "y", "unknown"])
    assert {key: row.seq for key, row in found.items()} == expected


def _in(collection: str, one: Label, **values: str) -> Label:
    return replace(one, collection=collection, **values)  # type: ignore[arg-type]


def _key(row: dict[str, object]) -> tuple[object, ...]:
    return tuple(row[name] for name in ("query_id", "doc_id", "content_sha", "phase", "sample"))
