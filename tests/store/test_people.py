"""Codes, sessions that end, and the wait after wrong codes."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select, update
from sqlalchemy.exc import IntegrityError

from quati_pool.store.assignments import Assignments
from quati_pool.store.clock import database_now
from quati_pool.store.database import Store
from quati_pool.store.designs import Designs
from quati_pool.store.errors import StoreError
from quati_pool.store.listing import slots
from quati_pool.store.people import People, delay
from quati_pool.store.records import NewSlot, OpenQuery
from quati_pool.store.schema import sessions, sign_in_failures
from tests.store.annotation import claimed, queue
from tests.store.test_assignments import DESIGN


def earlier(store: Store, seconds: float) -> None:
    """Lets all wrong codes and sessions be so many seconds older, by the database's clock."""
    f, s = sign_in_failures.c, sessions.c
    with store.writing() as connection:
        connection.execute(update(sign_in_failures).values(last_at=f.last_at - seconds))
        connection.execute(update(sessions).values(seen_at=s.seen_at - seconds, expires_at=s.expires_at - seconds))


@pytest.fixture
def people(store: Store) -> People:
    made = People(store, "pira")
    made.add("ana", "assessor", "ABCD", "hash of ana")
    made.add("bia", "lead", "EFGH", "hash of bia")
    return made


def test_people_are_found_by_name_and_by_code(people: People) -> None:
    assert [(one.name, one.role, one.revoked_at) for one in people.all()] == [
        ("ana", "assessor", None),
        ("bia", "lead", None),
    ]
    found = people.by_handle("EFGH")
    assert found is not None
    assert (found.name, found.code_hash, found.settings) == ("bia", "hash of bia", {})
    assert people.named("ana") == people.by_handle("ABCD")
    assert people.named("caio") is None
    assert people.by_handle("abcd") is None


def test_people_of_another_collection_are_others(store: Store, people: People) -> None:
    other = People(store, "other")
    assert (other.all(), other.named("ana"), other.by_handle("ABCD")) == ([], None, None)
    other.add("ana", "lead", "ABCD", "another hash")
    assert not other.revoke("bia")
    people.sign_in("ana", "5e55", 60)
    assert other.signed_in("5e55") is None
    other.sign_out("5e55")
    other.revoke("ana")
    assert people.signed_in("5e55") is not None


@pytest.mark.parametrize(
    ("name", "handle", "said"),
    [
        ("ana", "JKLM", "ana has a code already; revoke it first"),
        ("caio", "ABCD", "was taken just now; run the same command again"),
        ("a b", "JKLM", "holds white space"),
        ("", "JKLM", "is empty"),
        ("a" * 65, "JKLM", "has more than 64 characters; choose another one"),
    ],
)
def test_a_name_or_code_that_cannot_be_given(people: People, name: str, handle: str, said: str) -> None:
    with pytest.raises(StoreError, match=said):
        people.add(name, "assessor", handle, "hash")
    assert len(people.all()) == 2


def test_who_is_revoked_is_signed_out_and_comes_back_with_a_new_code_and_the_old_settings(people: People) -> None:
    people.set("ana", "language", "pt")
    people.sign_in("ana", "5e55", 3600)
    assert people.revoke("ana")
    assert not people.revoke("ana")
    assert people.signed_in("5e55") is None
    assert people.by_handle("ABCD") is None
    with pytest.raises(StoreError, match="ana has no code"):
        people.sign_in("ana", "5e56", 3600)
    people.add("ana", "lead", "JKLM", "new hash")
    back = people.named("ana")
    assert back is not None
    assert (back.role, back.handle, back.code_hash, back.revoked_at) == ("lead", "JKLM", "new hash", None)
    assert back.settings == {"language": "pt"}
    assert people.signed_in("5e55") is None  # the old one stays ended


def test_revoking_frees_what_is_held_for_a_time_alone(store: Store, people: People) -> None:
    slots = queue(store, docs=2)
    Designs(store, "pira").create(DESIGN, [], [NewSlot("q9", "d1", 1, 9, "ana")])
    claimed(slots)
    assert slots.open_queries("bia") == []
    people.revoke("ana")
    assert slots.open_queries("bia") == [OpenQuery("q1", 1, 2)]
    held = Assignments(store, "pira").held("ana")
    assert held is not None
    assert held.query_id == "q9"


def test_a_code_is_replaced_by_who_saw_it_and_ends_sign_ins_alone(store: Store, people: People) -> None:
    Designs(store, "pira").create(DESIGN, [], [NewSlot("q1", "d1", 1, 1)])
    (slot,) = claimed(Assignments(store, "pira"), "ana", "q1")
    people.sign_in("ana", "sha of ana", 3600)
    people.sign_in("bia", "sha of bia", 3600)
    assert not people.replace_code("ana", "EFGH", "JKMN", "another")  # bia's
    assert not people.replace_code("zoe", "ABCD", "JKMN", "another")
    with pytest.raises(StoreError, match="the new code of ana was taken just now"):
        people.replace_code("ana", "ABCD", "EFGH", "another")
    assert people.signed_in("sha of ana") is not None
    assert people.replace_code("ana", "ABCD", "JKMN", "another")
    assert not people.replace_code("ana", "ABCD", "PQRS", "a third one")
    assert people.by_handle("ABCD") is None
    found = people.by_handle("JKMN")
    assert found is not None
    assert (found.name, found.role, found.code_hash) == ("ana", "assessor", "another")
    assert people.signed_in("sha of ana") is None
    assert people.signed_in("sha of bia") is not None
    assert [one.assignment_id for one in slots(store, "pira", "ana")] == [slot.assignment_id]
    people.revoke("ana")
    assert people.replace_code("ana", "JKMN", "PQRS", "a third one")
    restored = people.named("ana")
    assert restored is not None
    assert restored.revoked_at is None


def test_settings_are_kept_one_by_one(people: People) -> None:
    people.set("ana", "language", "pt")
    people.set("ana", "highlight", True)
    people.set("ana", "language", None)
    found = people.named("ana")
    assert found is not None
    assert found.settings == {"highlight": True}
    with pytest.raises(StoreError, match="nobody is called caio; see quati-pool assessors list"):
        people.set("caio", "language", "pt")


def test_a_session_lasts_until_it_ends_by_the_databases_clock(store: Store, people: People) -> None:
    people.sign_in("bia", "5e55", 100)
    found = people.signed_in("5e55")
    assert found is not None
    assert (found.name, found.role) == ("bia", "lead")
    assert (found.expires_at - found.created_at).total_seconds() == pytest.approx(100, abs=0.01)
    assert people.signed_in("unknown") is None
    earlier(store, 99)
    assert people.signed_in("5e55") is not None
    earlier(store, 2)
    assert people.signed_in("5e55") is None
    people.sign_in("bia", "5e56", 100)
    people.sign_out("5e56")
    people.sign_out("unknown")
    assert people.signed_in("5e56") is None


def test_a_session_is_written_on_once_a_minute_at_most(store: Store, people: People) -> None:
    def seen() -> float:
        with store.reading() as connection:
            return float(connection.execute(select(sessions.c.seen_at)).scalar_one())

    people.sign_in("ana", "5e55", 3600)
    before = seen()
    people.signed_in("5e55")
    assert seen() == before
    earlier(store, 61)
    people.signed_in("5e55")
    assert seen() >= before


def test_a_session_is_somebodys(store: Store) -> None:
    row = {"token_sha": "5e55", "collection": "pira", "name": "nobody", "created_at": 0, "seen_at": 0, "expires_at": 1}
    with pytest.raises(StoreError) as caught, store.writing() as connection:
        connection.execute(sessions.insert().values(row))
    assert isinstance(caught.value.__cause__, IntegrityError)


def test_the_wait_doubles_from_the_fourth_wrong_code_on_to_five_minutes() -> None:
    # 2**(n - 3): 2, 4, 8, …, 256 after the 11th, then 300.
    assert [delay(n) for n in (0, 1, 3, 4, 5, 6, 11, 12, 13, 10**6)] == [0, 0, 0, 2, 4, 8, 256, 300, 300, 300]


def test_wrong_codes_are_counted_by_each_subject_and_forgotten(store: Store, people: People) -> None:
    for _ in range(5):
        people.failed(["ABCD", "127.0.0.1"])
    people.failed(["EFGH"])
    assert people.wait([]) == people.wait(["EFGH"]) == people.wait(["JKLM"]) == 0
    assert 3 < people.wait(["EFGH", "ABCD"]) <= 4
    assert 3 < people.wait(["127.0.0.1"]) <= 4
    assert People(store, "other").wait(["ABCD"]) == 0
    earlier(store, 3)
    assert 0 < people.wait(["ABCD"]) <= 1
    people.forget(["ABCD"])
    assert people.wait(["ABCD"]) == 0
    assert people.wait(["127.0.0.1"]) > 0
    earlier(store, 3600)
    assert people.wait(["127.0.0.1"]) == 0
    people.failed(["127.0.0.1"])  # counts from 1 again, and old ones are gone
    with store.reading() as connection:
        assert connection.execute(select(sign_in_failures.c.subject, sign_in_failures.c.failures)).all() == [
            ("127.0.0.1", 1)
        ]


def test_an_attempt_counts_before_the_code_is_checked(store: Store, people: People) -> None:
    waits = [people.attempt(["ABCD"]) for _ in range(6)]
    assert waits[:4] == [0, 0, 0, 0]
    assert 1 < waits[4] <= 2  # the fourth is counted; the fifth and sixth must wait and are not
    assert 1 < waits[5] <= 2
    with store.reading() as connection:
        assert connection.execute(select(sign_in_failures.c.failures)).scalar() == 4
    people.forget(["ABCD"])
    assert people.attempt(["ABCD"]) == 0


def test_the_databases_clock_tells_seconds_since_1970(store: Store) -> None:
    with store.reading() as connection:
        told = connection.execute(select(database_now())).scalar_one()
        if connection.dialect.name == "postgresql":
            known = connection.execute(select(func.extract("epoch", func.clock_timestamp()))).scalar_one()
        else:
            known = connection.exec_driver_sql("SELECT strftime('%s', 'now')").scalar_one()
    assert abs(float(known) - told) < 60
