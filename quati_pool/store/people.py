"""People who may sign in, their sign-ins, and the waiting time after wrong codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, Update, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from quati_pool.records import id_problem
from quati_pool.store.clock import as_time, database_now
from quati_pool.store.database import Store
from quati_pool.store.errors import StoreError
from quati_pool.store.queues import rebuild
from quati_pool.store.records import Assessor, Role, SignIn
from quati_pool.store.schema import assessors, assignments, sessions, sign_in_failures
from quati_pool.store.slots import NOBODYS, held_by, lock_all
from quati_pool.store.statements import SIGNED_IN

LONGEST_NAME = 64
FREE_FAILURES = 3  # wrong codes without a wait
LONGEST_WAIT = 300  # seconds
FORGOTTEN = 3600  # seconds after the last wrong code

NO_CODE = ""
"""The code hash of people who never had a code; no code has it."""

_TOUCH = 60  # seconds: the last activity of a sign-in is recorded to the minute


class People:
    """The people of one collection, over an open store; as safe with threads as the store."""

    def __init__(self, store: Store, collection: str) -> None:
        self._store = store
        self._collection = collection

    def add(self, name: str, role: Role, handle: str, code_hash: str) -> None:
        """Gives somebody a code. A revoked person is restored, with the new role and code and the old settings.

        Raises StoreError for an invalid name, or a name or handle that is taken.
        """
        problem = id_problem(name) or (f"has more than {LONGEST_NAME} characters" if len(name) > LONGEST_NAME else None)
        if problem:
            raise StoreError(f"the name {name[:LONGEST_NAME]!r} {problem}; choose another one")
        now = datetime.now(UTC)
        given = {"role": role, "handle": handle, "code_hash": code_hash, "revoked_at": None}
        with self._store.writing() as connection:
            try:
                known = connection.execute(self._of(name).with_for_update()).first()
                if known is None:
                    row: dict[str, Any] = {
                        "collection": self._collection,
                        "name": name,
                        "settings": {},
                        "created_at": now,
                        **given,
                    }
                    connection.execute(insert(assessors).values(row))
                elif known.revoked_at is not None:
                    connection.execute(self._change(name).values(given))
                else:
                    raise StoreError(f"{name} has a code already; revoke it first, or choose another name")
            except IntegrityError:
                raise StoreError(
                    f"the name {name} or its code was taken just now; run the same command again"
                ) from None

    def add_without_code(self, name: str) -> bool:
        """Adds somebody who cannot sign in, like a person whose code was revoked; ``add`` can give them a code later.
        Returns whether they were new; somebody already known is left unchanged."""
        with self._store.writing() as connection:
            if connection.execute(self._of(name)).first() is not None:
                return False
            now = datetime.now(UTC)
            row: dict[str, Any] = {
                "collection": self._collection,
                "name": name,
                "role": "assessor",
                "handle": f"!{name}",  # handles are unique, and no code begins with "!"
                "code_hash": NO_CODE,
                "settings": {},
                "created_at": now,
                "revoked_at": now,
            }
            connection.execute(insert(assessors).values(row))
        return True

    def all(self) -> list[Assessor]:
        """Everybody who ever had a code or whose labels were imported, sorted by name."""
        wanted = select(assessors).where(assessors.c.collection == self._collection).order_by(assessors.c.name)
        with self._store.reading() as connection:
            return [_assessor(row) for row in connection.execute(wanted)]

    def named(self, name: str) -> Assessor | None:
        """The person with this name, revoked or not."""
        return self._one(assessors.c.name == name)

    def by_handle(self, handle: str) -> Assessor | None:
        """The person with this code, unless it is revoked."""
        return self._one((assessors.c.handle == handle) & assessors.c.revoked_at.is_(None))

    def revoke(self, name: str) -> bool:
        """Revokes somebody's code, ends their sign-ins and frees the slots they hold on a lease; slots given to them
        for good stay theirs. False if nobody with this name has a code."""
        now = datetime.now(UTC)
        c, s = assignments.c, sessions.c
        with self._store.writing() as connection:
            lock_all(connection, self._collection)
            mine = self._change(name).where(assessors.c.revoked_at.is_(None))
            if connection.execute(mine.values(revoked_at=now)).rowcount == 0:
                return False
            theirs = (s.collection == self._collection, s.name == name, s.ended_at.is_(None))
            connection.execute(update(sessions).where(*theirs).values(ended_at=database_now()))
            held = (*held_by(self._collection, name), c.state == "open", c.leased_until.is_not(None))
            connection.execute(update(assignments).where(*held).values(NOBODYS))
            rebuild(connection, self._collection)
        return True

    def replace_code(self, name: str, seen: str, handle: str, code_hash: str) -> bool:
        """Gives somebody another code in place of the one whose handle is ``seen``, valid or revoked, and ends their
        sign-ins; their slots stay theirs. False, and nothing is changed, if nobody with this name has that handle.

        Raises StoreError for a handle that is taken.
        """
        s = sessions.c
        given = {"handle": handle, "code_hash": code_hash, "revoked_at": None}
        with self._store.writing() as connection:
            mine = self._change(name).where(assessors.c.handle == seen)
            try:
                if connection.execute(mine.values(given)).rowcount == 0:
                    return False
            except IntegrityError:
                raise StoreError(f"the new code of {name} was taken just now; run the same command again") from None
            theirs = (s.collection == self._collection, s.name == name, s.ended_at.is_(None))
            connection.execute(update(sessions).where(*theirs).values(ended_at=database_now()))
        return True

    def set(self, name: str, key: str, value: Any) -> None:
        """Stores one of a person's settings, any JSON value; None deletes it.

        Raises StoreError if nobody has this name.
        """
        with self._store.writing() as connection:
            known = connection.execute(self._of(name).with_for_update()).first()
            if known is None:
                raise StoreError(f"nobody is called {name}; see quati-pool assessors list")
            settings = {**known.settings, key: value}
            if value is None:
                del settings[key]
            connection.execute(self._change(name).values(settings=settings))

    # Sign-ins

    def sign_in(self, name: str, token_sha: str, seconds: float) -> None:
        """Signs somebody in for ``seconds`` by the database's clock.

        Raises StoreError if nobody with this name has a code.
        """

        now = database_now()
        row = {"token_sha": token_sha, "collection": self._collection, "name": name}
        times = {"created_at": now, "seen_at": now, "expires_at": now + seconds}
        with self._store.writing() as connection:
            known = connection.execute(self._of(name).with_for_update()).first()
            if known is None or known.revoked_at is not None:
                raise StoreError(f"{name} has no code; see quati-pool assessors list")
            connection.execute(insert(sessions).values(**row, **times))

    def signed_in(self, token_sha: str) -> SignIn | None:
        """The sign-in of a token, if it is valid now and its person is not revoked; also records, to the minute, when
        it was last seen."""

        known = {"token_sha": token_sha, "of": self._collection}
        with self._store.reading() as connection:
            row = connection.execute(SIGNED_IN, known).first()
        if row is None:
            return None
        if row.ago >= _TOUCH:
            with self._store.writing() as connection:
                seen = update(sessions).where(sessions.c.token_sha == token_sha)
                connection.execute(seen.values(seen_at=database_now()))
        times = (as_time(row.created_at), as_time(row.seen_at), as_time(row.expires_at))
        return SignIn(
            name=row.name, role=row.role, settings=row.settings,
            created_at=times[0], seen_at=times[1], expires_at=times[2],
        )  # fmt: skip

    def sign_out(self, token_sha: str) -> None:
        """Signs out; does nothing if the token is unknown."""

        s = sessions.c
        mine = (s.token_sha == token_sha, s.collection == self._collection, s.ended_at.is_(None))
        with self._store.writing() as connection:
            connection.execute(update(sessions).where(*mine).values(ended_at=database_now()))

    # Slow-down

    def wait(self, subjects: Sequence[str]) -> float:
        """Seconds until the next code may be tried: the longest wait of any of these subjects (a handle, an
        address). From the 4th failure in a row on, the wait after the n-th is 2**(n - 3) s, at most 300 s; an hour
        after the last failure all are forgotten."""

        with self._store.reading() as connection:
            return self._wait(connection, subjects)

    def failed(self, subjects: Sequence[str]) -> None:
        """Counts a wrong code against each of these subjects."""

        with self._store.writing() as connection:
            self._alone(connection)
            self._failed(connection, subjects)

    def attempt(self, subjects: Sequence[str]) -> float:
        """Does ``wait`` and, if that is 0, ``failed``, in one step; returns the wait. The caller then checks the code
        and calls ``forget`` if it was right. Counting first gives simultaneous guesses no advantage."""

        with self._store.writing() as connection:
            self._alone(connection)
            seconds = self._wait(connection, subjects)
            if seconds == 0:
                self._failed(connection, subjects)
        return seconds

    def forget(self, subjects: Sequence[str]) -> None:
        """Deletes the failures of these subjects, after a right code."""

        f = sign_in_failures.c
        with self._store.writing() as connection:
            theirs = (f.collection == self._collection, f.subject.in_(sorted(set(subjects))))
            connection.execute(delete(sign_in_failures).where(*theirs))

    def _wait(self, connection: Connection, subjects: Sequence[str]) -> float:
        f = sign_in_failures.c
        wanted = select(f.failures, (database_now() - f.last_at).label("ago")).where(
            f.collection == self._collection, f.subject.in_(sorted(set(subjects)))
        )
        waits: list[float] = [
            delay(row.failures) - row.ago for row in connection.execute(wanted) if row.ago < FORGOTTEN
        ]
        return max([0.0, *waits])

    def _failed(self, connection: Connection, subjects: Sequence[str]) -> None:
        f = sign_in_failures.c
        old = (f.collection == self._collection, f.last_at <= database_now() - FORGOTTEN)
        connection.execute(delete(sign_in_failures).where(*old))
        for subject in sorted(set(subjects)):
            mine = (f.collection == self._collection, f.subject == subject)
            more = update(sign_in_failures).where(*mine).values(failures=f.failures + 1, last_at=database_now())
            if connection.execute(more).rowcount == 0:
                row = {"collection": self._collection, "subject": subject, "failures": 1, "last_at": database_now()}
                connection.execute(insert(sign_in_failures).values(row))

    def _alone(self, connection: Connection) -> None:
        lock_all(connection, f"sign in: {self._collection}")

    # Statements

    def _of(self, name: str) -> Select[Any]:
        return select(assessors).where(assessors.c.collection == self._collection, assessors.c.name == name)

    def _change(self, name: str) -> Update:
        return update(assessors).where(assessors.c.collection == self._collection, assessors.c.name == name)

    def _one(self, condition: ColumnElement[bool]) -> Assessor | None:
        wanted = select(assessors).where(assessors.c.collection == self._collection, condition)
        with self._store.reading() as connection:
            row = connection.execute(wanted).first()
        return None if row is None else _assessor(row)


def delay(failures: int) -> float:
    """Seconds to wait after this many wrong codes in a row."""
    return 0.0 if failures <= FREE_FAILURES else float(min(2 ** min(failures - FREE_FAILURES, 30), LONGEST_WAIT))


def _assessor(row: Row[Any]) -> Assessor:
    return Assessor(**{field.name: getattr(row, field.name) for field in fields(Assessor)})
