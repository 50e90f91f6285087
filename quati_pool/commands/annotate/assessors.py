"""``quati-pool assessors``: lists people, and gives and revokes access codes."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from quati_pool.annotation.codes import hash_code, new_code
from quati_pool.commands.annotate.access import check_name, refuse_alike
from quati_pool.errors import QuatiPoolError
from quati_pool.files.problems import quoted
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.registry import nearest
from quati_pool.store.assignments import Assignments
from quati_pool.store.database import Store
from quati_pool.store.listing import last_seen
from quati_pool.store.people import NO_CODE, People
from quati_pool.store.records import Role


@dataclass(frozen=True)
class ListedAssessor:
    """Somebody who has or had a code, or whose labels were imported. ``labels`` counts the pairs that they graded or
    said they cannot judge. ``last_seen`` is None for people who never signed in, ``revoked`` is None for people whose
    code is valid and those who ``never_had`` one. Times are in UTC."""

    name: str
    role: Role
    since: datetime
    last_seen: datetime | None
    labels: int
    revoked: datetime | None
    never_had: bool


@contextmanager
def _people(config_path: Path, database: str | None) -> Iterator[tuple[PoolConfig, Store, People]]:
    config = load_config(config_path)
    with Store.open(database or config.labels.url, config.folder) as store:
        yield config, store, People(store, config.name)


def add(config_path: Path, name: str, role: Role, database: str | None = None) -> str:
    """Gives somebody a code, also after an earlier one was revoked; returns the code, which is not stored anywhere.

    Raises QuatiPoolError if the name is invalid or already has a code.
    """
    with _people(config_path, database) as (config, _, people):
        name = check_name(config, name)
        there = people.all()
        refuse_alike(name, [one.name for one in there])
        code = new_code({one.handle for one in there})
        people.add(name, role, code.handle, hash_code(code.text))
    return code.text


def revoke(config_path: Path, name: str, database: str | None = None, *, release: bool = False) -> int:
    """Revokes somebody's code; their sign-ins end, their labels stay. With ``release`` the pairs that were assigned
    to them for good return to the open queue; returns how many did.

    Raises QuatiPoolError if nobody with this name has a code.
    """
    name = unicodedata.normalize("NFC", name)
    with _people(config_path, database) as (config, store, people):
        if not people.revoke(name) and not (release and people.named(name)):
            known = [one.name for one in people.all() if one.revoked_at is None]
            raise QuatiPoolError(f"nobody called {quoted(name)} has a code; {nearest(name, known)}")
        return Assignments(store, config.name).release(name) if release else 0


def listed(config_path: Path, database: str | None = None) -> list[ListedAssessor]:
    """Everybody who ever had a code or whose labels were imported, sorted by name."""
    with _people(config_path, database) as (config, store, people):
        seen = last_seen(store, config.name)
        labels: Counter[str] = Counter()
        for row in Assignments(store, config.name).progress():
            if row.holder is not None:
                labels[row.holder] += row.done
        return [
            ListedAssessor(
                one.name,
                one.role,
                one.created_at,
                seen.get(one.name),
                labels[one.name],
                None if one.code_hash == NO_CODE else one.revoked_at,
                one.code_hash == NO_CODE,
            )
            for one in people.all()
        ]
