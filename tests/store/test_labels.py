"""What is appended is read back: labels, attempts, sharers, versions, usage, the labelers there are."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo

import pytest

from quati_pool.records import State
from quati_pool.store.database import Store
from quati_pool.store.errors import StoreError
from quati_pool.store.records import Attempt, Entry, Kind
from quati_pool.store.rows import TABLE
from tests.store.samples import alone, entry, label

FIRST = Attempt(
    number=1,
    status=State.unparsed,
    answer="I would rather not say",
    problem="no grade found",
    finish_reason="stop",
    output="json_schema",
    model="gpt-4o-2024-11-20",
    endpoint="http://localhost/v1",
    response_id="r1",
    fingerprint="fp",
    input_tokens=100,
    cached_tokens=64,
    output_tokens=20,
    reasoning_tokens=0,
    cost=0.25,
    seconds=1.5,
    retries=2,
    extra={"reask": True},
)
SECOND = Attempt(number=2, status=State.ok, answer="3", model="gpt-4o-2024-11-20", seconds=0.5, output_tokens=1)


def test_a_label_comes_back_with_all_its_attempts(store: Store) -> None:
    given = label(rationale="says so", assignment_id=9, extra={"expected_grade": 1.75}, sample=3, phase="final")
    before = datetime.now(UTC) - timedelta(seconds=1)
    [seq] = store.append([Entry(label=given, attempts=(FIRST, SECOND))])
    [(read, attempts)] = store.history("pira", "gpt", "q1", "d1")
    assert read == replace(given, seq=seq, created_at=read.created_at)
    assert attempts == [FIRST, SECOND]
    assert read.created_at is not None
    assert before < read.created_at < datetime.now(UTC) + timedelta(seconds=1)
    assert read.created_at.utcoffset() == timedelta(0)


def test_seqs_are_in_the_order_of_the_entries_and_never_repeat(store: Store) -> None:
    first = store.append([entry(doc_id=f"d{n}") for n in range(5)])
    second = store.append([entry(doc_id=f"d{n}") for n in range(5)])
    assert first + second == sorted(set(first + second))
    by_doc = {row.doc_id: row.seq for row in store.current("pira", "gpt", "v1", ["q1"])}
    assert by_doc == {f"d{n}": seq for n, seq in enumerate(second)}


def test_nothing_to_append_is_no_work(store: Store) -> None:
    assert store.append([]) == []


def test_sharers_point_to_the_label_they_take_over(store: Store) -> None:
    twins = (label(doc_id="d2"), label(doc_id="d3"))
    one, two = store.append([Entry(label=label(doc_id="d1"), attempts=(FIRST,), sharers=twins), entry(doc_id="d4")])
    shared = {row["doc_id"]: row["shared_from"] for row in store.table("pira", "gpt", "v1").to_pylist()}
    assert shared == {"d1": None, "d2": one, "d3": one, "d4": None}
    assert one < two
    assert [attempts for _, attempts in store.history("pira", "gpt", "q1", "d2")] == [[]]


def test_a_label_may_name_itself_the_one_it_takes_over(store: Store) -> None:
    [origin] = store.append([entry()])
    store.append([Entry(label=label(collection="other", shared_from=origin))])
    [(read, _)] = store.history("other", "gpt", "q1", "d1")
    assert read.shared_from == origin


def test_an_append_is_all_or_nothing(store: Store) -> None:
    with pytest.raises(StoreError):
        store.append([entry(doc_id="d1"), alone(doc_id="d2", shared_from=10**9)])
    assert store.current("pira", "gpt", "v1", ["q1"]) == []
    assert store.usage("pira", "gpt").attempts == 0
    store.append([entry(doc_id="d3")])
    assert [row.doc_id for row in store.current("pira", "gpt", "v1", ["q1"])] == ["d3"]


@pytest.mark.parametrize(("column", "value"), [("kind", "robot"), ("phase", "open")])
def test_the_database_refuses_words_it_does_not_know(store: Store, column: str, value: str) -> None:
    with pytest.raises(StoreError, match=f"known_{column}"):
        store.append([alone(**{column: value})])


def test_ids_compare_by_their_bytes(store: Store) -> None:
    ids = ["7", "007", "a", "A", "á", "a\u0301", "z"]
    store.append([alone(query_id, "d") for query_id in ids])
    for query_id in ids:
        assert [row.query_id for row in store.current("pira", "gpt", "v1", [query_id])] == [query_id]
    found = [row.query_id for row in store.current("pira", "gpt", "v1", ids)]
    assert found == sorted(ids, key=str.encode)


def test_only_what_was_asked_for_is_read(store: Store) -> None:
    store.append(
        [
            alone("q1"),
            alone("q2"),
            alone("q3"),
            alone("q1", version="v2"),
            alone("q1", labeler_id="other"),
            alone("q1", collection="other"),
            alone("q1", doc_id="d2", phase="revealed"),
        ]
    )
    assert [row.query_id for row in store.current("pira", "gpt", "v1", ["q2", "q1", "q1"])] == ["q1", "q2"]
    assert len(store.table("pira", "gpt", "v1")) == 3
    assert [row.doc_id for row in store.current("pira", "gpt", "v1", ["q1"], phases=("revealed",))] == ["d2"]
    assert store.current("pira", "gpt", "v1", []) == []


def test_thousands_of_queries_are_read_at_once(store: Store) -> None:
    ids = [f"q{n:04}" for n in range(2500)]
    store.append([alone(query_id) for query_id in ids])
    assert [row.query_id for row in store.current("pira", "gpt", "v1", [*ids, "none"])] == ids
    shas = [f"sha {n}" for n in range(3000)]
    store.append([alone("q", f"d{n}", content_sha=sha) for n, sha in enumerate(shas)])
    assert len(store.shareable("v1", shas)) == len(shas)


def test_the_table_has_its_columns_with_and_without_rows(store: Store) -> None:
    assert store.table("pira", "gpt", "v1").schema == TABLE
    assert len(store.table("pira", "gpt", "v1")) == 0
    store.append([alone(extra={"expected_grade": 1.5}), alone(doc_id="d2", status=State.refused)])
    table = store.table("pira", "gpt", "v1")
    assert table.schema == TABLE
    assert table.column("relevance").to_pylist() == [2, None]
    assert table.column("extra").to_pylist() == ['{"expected_grade": 1.5}', "{}"]


def test_a_table_longer_than_is_held_at_once_is_whole(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quati_pool.store.database._ROWS", 7)
    store.append([alone(f"q{n // 10:02}", f"d{n % 10}") for n in range(100)])
    store.append([alone("q03", "d3", relevance=0)])
    rows = store.table("pira", "gpt", "v1").to_pylist()
    assert sorted((row["query_id"], row["doc_id"]) for row in rows) == [
        (f"q{n // 10:02}", f"d{n % 10}") for n in range(100)
    ]
    assert [row["relevance"] for row in rows if (row["query_id"], row["doc_id"]) == ("q03", "d3")] == [0]


def test_a_grade_is_shared_from_where_it_was_given(store: Store) -> None:
    """In any collection and by any labeler of the version, but never from a copy where the source counts."""
    [retracted] = store.append([alone(content_sha="x", labeler_id="first")])
    store.append([alone(content_sha="x", labeler_id="first", status=State.retracted)])
    [copied] = store.append([alone(doc_id="copy", content_sha="x", shared_from=retracted)])
    assert {key: row.seq for key, row in store.shareable("v1", ["x"]).items()} == {("x", 1): copied}
    [given] = store.append([alone(collection="other", content_sha="x", relevance=3)])
    [current] = store.shareable("v1", ["x", "x"]).values()
    assert (current.seq, current.relevance) == (given, 3)
    assert store.shareable("v2", ["x"]) == {}


def test_practice_and_revealed_grades_are_not_shared(store: Store) -> None:
    store.append([alone(content_sha="x", phase="training"), alone(content_sha="y", phase="revealed")])
    assert store.shareable("v1", ["x", "y"]) == {}


def test_labelers_are_listed_last_writer_first(store: Store) -> None:
    [a1] = store.append([alone()])
    [b1] = store.append([alone(labeler_id="ana", kind="assessor", version="guide-1")])
    a2, a3 = store.append([alone(version="v2"), alone(version="v2", status=State.failed)])
    store.append([alone(collection="other")])
    found = [
        (one.labeler_id, one.kind, one.version, one.first_seq, one.last_seq, one.rows) for one in store.labelers("pira")
    ]
    assert found == [
        ("gpt", "judge", "v2", a2, a3, 2),
        ("ana", "assessor", "guide-1", b1, b1, 1),
        ("gpt", "judge", "v1", a1, a1, 1),
    ]
    assert store.labelers("none") == []
    # Answers in audits make no version the last, nor are they a version of their own.
    store.append([alone(version="v1", content_sha="z", phase="probe"), alone(version="v3", phase="probe")])
    listed = [(one.version, one.first_seq, one.last_seq, one.rows) for one in store.labelers("pira")]
    assert listed == [("v2", a2, a3, 2), ("guide-1", b1, b1, 1), ("v1", a1, a1, 1)]


def test_history_tells_all_versions_oldest_first(store: Store) -> None:
    store.append([entry(status=State.failed)])
    store.append([entry(), entry(version="v2"), entry(doc_id="d2"), entry(labeler_id="other")])
    told = [(one.version, one.status, len(attempts)) for one, attempts in store.history("pira", "gpt", "q1", "d1")]
    assert told == [("v1", State.failed, 1), ("v1", State.ok, 1), ("v2", State.ok, 1)]
    assert store.history("pira", "gpt", "q1", "none") == []


def test_usage_adds_up_what_is_known(store: Store) -> None:
    store.append([Entry(label=label(), attempts=(FIRST, SECOND)), Entry(label=label(version="v2"), attempts=(FIRST,))])
    store.append([Entry(label=label(labeler_id="other"), attempts=(FIRST,))])
    usage = store.usage("pira", "gpt", "v1")
    assert (usage.attempts, usage.retries, usage.cost, usage.unknown_cost) == (2, 2, 0.25, 1)
    tokens = (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens)
    assert tokens == (100, 64, 21, 0)
    # The second names no form of answer, as a call that got none: its time, waits included, is no latency.
    assert (usage.answers, usage.seconds.tolist()) == (1, [1.5])
    assert usage.models == {"gpt-4o-2024-11-20": 2}
    assert usage.states == {State.unparsed: 1, State.ok: 1}
    assert store.usage("pira", "gpt").attempts == 3
    assert store.usage("pira", "gpt").cost == 0.5


def test_an_unknown_figure_is_not_zero(store: Store) -> None:
    store.append([Entry(label=label(), attempts=(SECOND,))])
    usage = store.usage("pira", "gpt")
    assert (usage.cost, usage.unknown_cost, usage.input_tokens, usage.output_tokens) == (None, 1, None, 1)


def test_no_attempts_have_used_nothing(store: Store) -> None:
    store.append([alone()])
    usage = store.usage("pira", "gpt")
    assert (usage.attempts, usage.retries, usage.cost, usage.unknown_cost, usage.input_tokens) == (0, 0, 0, 0, 0)
    assert usage.seconds.shape == (0,)
    assert usage.models == usage.states == {}


DEFINITION = {"prompt": {"system": "Julgue…", "examples": [["q", "p", 3]]}, "model": "gpt-4o", "temperature": 0.0}


def test_a_version_keeps_its_definition(store: Store) -> None:
    assert store.definition("v1") is None
    store.register("v1", "judge", DEFINITION)
    store.register("v1", "judge", dict(reversed(DEFINITION.items())))
    assert store.definition("v1") == DEFINITION


@pytest.mark.parametrize(
    ("kind", "change"),
    [("judge", {"model": "gpt-5"}), ("judge", {"seed": None}), ("judge", {"temperature": 0}), ("assessor", {})],
)
def test_a_version_cannot_come_to_mean_something_else(store: Store, kind: Kind, change: dict[str, object]) -> None:
    store.register("v1", "judge", DEFINITION)
    with pytest.raises(StoreError, match="version v1 already has a different definition; give the changed one"):
        store.register("v1", kind, {**DEFINITION, **change})
    assert store.definition("v1") == DEFINITION


def test_many_threads_read_while_one_appends(store: Store) -> None:
    """Each reader sees whole appends (ten labels each), and never fewer than before."""
    done = threading.Event()
    problems: list[BaseException] = []

    def read() -> None:
        try:
            seen = 0
            while not done.is_set() or seen < 500:
                rows = len(store.current("pira", "gpt", "v1", ["q1"]))
                assert rows % 10 == 0
                assert rows >= seen
                seen = rows
                assert store.usage("pira", "gpt").attempts >= seen
        except BaseException as error:
            problems.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        for n in range(50):
            store.append([entry(doc_id=f"d{n}-{m}") for m in range(10)])
    finally:
        done.set()
        for reader in readers:
            reader.join(60)
    assert problems == []


def test_labels_by_state_can_be_told_apart_in_one_append(store: Store) -> None:
    store.append([alone(doc_id=state, status=state) for state in State])
    told = {row.doc_id: (row.status, row.relevance) for row in store.current("pira", "gpt", "v1", ["q1"])}
    assert told == {state: (state, 2 if state is State.ok else None) for state in State}


def test_times_never_go_back_whatever_the_clock_does(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    class SetBack(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return datetime(2001, 1, 1, tzinfo=tz)

    store.append([entry("q1", "d1")])
    monkeypatch.setattr("quati_pool.store.label_writer.datetime", SetBack)
    store.append([entry("q1", "d2")])
    [[first, _]], [[second, _]] = (store.history("pira", "gpt", "q1", doc_id) for doc_id in ("d1", "d2"))
    assert first.created_at is not None
    assert second.created_at is not None
    assert second.created_at >= first.created_at
