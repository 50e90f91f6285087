"""Checks before the annotator app is served: a fault is one line now, and not an error on everybody's page later."""

from __future__ import annotations

import ipaddress
from pathlib import Path

from quati_pool.annotation.near_duplicate_passages import near_duplicates
from quati_pool.commands.annotate.annotation_pair import counting_shas
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import QuatiPoolError
from quati_pool.project.workspace import Workspace
from quati_pool.store.listing import done_slots


def check(config_path: Path, host: str, database: str | None = None) -> list[str]:
    """Opens the workspace and its pool, and returns lines with what the person who serves it should know.

    Pairs whose labels are outdated, of another ``annotation.version`` or of other texts, are asked again from now on.

    Raises QuatiPoolError where one of them cannot be opened, and where a ``host`` that others can reach is to
    be served while nobody has an access code.
    """
    notes = []
    with AnnotationSession.open(config_path, database) as session:
        people = sum(one.revoked_at is None for one in session.people.all())
        if not people and not is_loopback(host):
            raise QuatiPoolError(
                f"nobody has an access code, so {host!r} is not served; run: quati-pool assessors add NAME --role lead"
            )
        if not people:
            notes.append("nobody has an access code yet; run: quati-pool assessors add NAME --role lead")
        if not Workspace(session.config.folder).pool.exists():
            notes.append("there is no pool yet, so people can only write questions; run: quati-pool build")
        else:
            session.pool_view  # noqa: B018  # raises where the pool has a fault
            if again := _reopened(session):
                notes.append(
                    f"{again:,} labels are of another annotation.version or of other texts: their pairs are asked again"
                )
    return notes


def _reopened(session: AnnotationSession) -> int:
    """Reopens the slots whose label is outdated; how many there were."""
    outdated = []
    for slot in done_slots(session.store, session.config.name):
        pair = session.pair(slot.query_id, slot.doc_id)
        if pair is not None and (slot.version != session.version or slot.content_sha not in counting_shas(pair)):
            outdated.append(slot.assignment_id)
    return session.assignments.reopen(outdated) if outdated else 0


def warm(session: AnnotationSession) -> None:
    """Does what the first person would wait for: opens the pool, if there is one, and what compares passages."""
    if Workspace(session.config.folder).pool.exists():
        session.pool_view  # noqa: B018  # opened once, and kept by the session
    near_duplicates(["um", "um"])


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
