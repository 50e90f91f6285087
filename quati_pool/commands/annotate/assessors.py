"""``quati-pool assessors``: lists people, and gives and revokes access codes.

Each command is a function over an open store, which the app's team page uses too, and one that opens the store of a
workspace. Neither the prompt nor the guidelines are read: a fault in them keeps nobody from revoking a code.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from quati_pool.annotation.codes import hash_code, new_code
from quati_pool.commands.annotate.access import check_name, check_new_name
from quati_pool.commands.annotate.errors import AnswerError
from quati_pool.errors import QuatiPoolError
from quati_pool.files.problems import quoted
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.registry import nearest
from quati_pool.store.assignments import Assignments
from quati_pool.store.database import Store
from quati_pool.store.listing import last_seen
from quati_pool.store.people import NO_CODE, People
from quati_pool.store.records import Role
from quati_pool.text.pluralize import counted


@dataclass(frozen=True)
class ListedAssessor:
    """Somebody who has or had a code, or whose labels were imported. ``labels`` counts the pairs that they graded or
    said they cannot judge, ``open`` those that they hold and have not done. ``last_seen`` is None for people who never
    signed in, ``revoked`` is None for people whose code is valid and those who ``never_had`` one. ``handle`` is the
    public part of their code. Times are in UTC."""

    name: str
    role: Role
    since: datetime
    last_seen: datetime | None
    labels: int
    open: int
    revoked: datetime | None
    never_had: bool
    handle: str

    @property
    def has_code(self) -> bool:
        return self.revoked is None and not self.never_had


@contextmanager
def _opened(config_path: Path, database: str | None) -> Iterator[tuple[PoolConfig, Store]]:
    config = load_config(config_path, writing=True)
    with Store.open(database or config.labels.url, config.folder) as store:
        yield config, store


def add(config_path: Path, name: str, role: Role, database: str | None = None) -> str:
    """``add_person`` in the workspace of a pool.yaml."""
    with _opened(config_path, database) as opened:
        return add_person(*opened, name, role)


def people_lock(config: PoolConfig, store: Store) -> AbstractContextManager[None]:
    """Held while it is decided who may get or lose a code. Nobody holds it long, so the wait is not reported."""
    return store.lock(f"{config.name} people", lambda _: None)


def add_person(config: PoolConfig, store: Store, name: str, role: Role, *, returning: bool = True) -> str:
    """Gives somebody a code; returns it, which is not stored anywhere. With ``returning``, also to somebody known whose
    code was revoked or who never had one: what they labelled is theirs again.

    Raises AnswerError if the name is invalid, has a code, or is known and nobody said that they are ``returning``.
    """
    people = People(store, config.name)
    name = check_name(config, name)
    # Two who add similar names at once would not find each other's.
    with people_lock(config, store):
        there = {one.name: one for one in people.all()}
        known = there.get(name)
        if known is None:
            check_new_name(name, there)
        elif known.revoked_at is None:
            raise AnswerError(f"{name} has a code already; revoke it first, or choose another name", "name_taken")
        elif not returning:
            (labels,) = [one.labels for one in list_people(config, store) if one.name == name]
            raise AnswerError(
                f"{name} was here before and has {counted(labels, 'label', 'labels')}; is it the same person?",
                "name_known", name=name, count=labels,
            )  # fmt: skip
        code = new_code({one.handle for one in there.values()})
        people.add(name, role, code.handle, hash_code(code.text))
    return code.text


def ensure_lead(config_path: Path, name: str, database: str | None = None) -> str | None:
    """Makes somebody a lead who has no code yet, and returns the code; None if they are a lead already.

    Raises QuatiPoolError if the name is invalid, or an assessor has it.
    """
    with _opened(config_path, database) as (config, store):
        known = People(store, config.name).named(unicodedata.normalize("NFC", name))
        if known is None or known.revoked_at is not None:
            return add_person(config, store, name, "lead")
        if known.role != "lead":
            raise QuatiPoolError(
                f"{known.name} has a code as an assessor; name somebody else, or revoke it first: "
                f"quati-pool assessors revoke {known.name}"
            )
        return None


def replace_code(config: PoolConfig, store: Store, name: str, seen: str) -> str | None:
    """Gives somebody another code in place of the one with the handle ``seen``, valid or revoked, with the same role;
    returns it. Their sign-ins end, and they keep what they hold. None, and nothing is changed, if they have got
    another code since.

    Raises QuatiPoolError if their name can no longer be a person's.
    """
    people = People(store, config.name)
    check_name(config, name)
    code = new_code({one.handle for one in people.all()})
    return code.text if people.replace_code(name, seen, code.handle, hash_code(code.text)) else None


def revoke(config_path: Path, name: str, database: str | None = None, *, release: bool = False) -> int:
    """``revoke_code`` in the workspace of a pool.yaml."""
    with _opened(config_path, database) as opened:
        return revoke_code(*opened, name, release=release)


def revoke_code(config: PoolConfig, store: Store, name: str, *, release: bool = False) -> int:
    """Revokes somebody's code; their sign-ins end, their labels stay. With ``release`` the pairs that were assigned
    to them for good return to the open queue; returns how many did.

    Raises QuatiPoolError if nobody with this name has a code.
    """
    name = unicodedata.normalize("NFC", name)
    people = People(store, config.name)
    if not people.revoke(name) and not (release and people.named(name)):
        known = [one.name for one in people.all() if one.revoked_at is None]
        raise QuatiPoolError(f"nobody called {quoted(name)} has a code; {nearest(name, known)}")
    return Assignments(store, config.name).release(name) if release else 0


def listed(config_path: Path, database: str | None = None) -> list[ListedAssessor]:
    """``list_people`` in the workspace of a pool.yaml."""
    with _opened(config_path, database) as opened:
        return list_people(*opened)


def list_people(config: PoolConfig, store: Store) -> list[ListedAssessor]:
    """Everybody who ever had a code or whose labels were imported, sorted by name."""
    seen = last_seen(store, config.name)
    labels: Counter[str] = Counter()
    held: Counter[str] = Counter()
    for row in Assignments(store, config.name).progress():
        if row.holder is not None:
            labels[row.holder] += row.done
            held[row.holder] += row.open
    return [
        ListedAssessor(
            one.name,
            one.role,
            one.created_at,
            seen.get(one.name),
            labels[one.name],
            held[one.name],
            None if one.code_hash == NO_CODE else one.revoked_at,
            one.code_hash == NO_CODE,
            one.handle,
        )
        for one in People(store, config.name).all()
    ]
