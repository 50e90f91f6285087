"""Checks before the annotator app is served, so that a fault is one line now and not an error on every page later."""

from __future__ import annotations

import ipaddress
from pathlib import Path

from quati_pool.annotation.near_duplicate_passages import near_duplicates
from quati_pool.commands.annotate.annotation_pair import counting_shas
from quati_pool.commands.annotate.authoring.sources import Opened, open_rounds, repeated_constraints, rounds_of
from quati_pool.commands.annotate.authoring.written_texts import written_texts
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import QuatiPoolError
from quati_pool.project.config import PoolConfig
from quati_pool.project.pool_reader import require_texts
from quati_pool.project.workspace import Workspace
from quati_pool.store.listing import done_slots
from quati_pool.text.pluralize import counted


def check(config_path: Path, host: str, database: str | None = None) -> list[str]:
    """Opens the workspace and its pool; returns notes, one line each, for the person who serves the app.

    Adds the texts or clusters that are new in ``authoring.sources`` to the rounds of writing. Reopens the slots whose
    labels are outdated (another ``annotation.version``, or other texts), so that their pairs are graded again.

    Raises QuatiPoolError if the workspace or the pool cannot be opened, if no pair has a text, or if nobody has an
    access code and others can reach ``host``.
    """
    notes = []
    with AnnotationSession.open(config_path, database) as session:
        people = sum(one.revoked_at is None for one in session.people.all())
        if not people and not is_loopback(host):
            raise QuatiPoolError(
                f"nobody has an access code, so {host!r} is not served; run: quati-pool annotate --lead NAME"
            )
        if not people:
            notes.append("nobody has an access code yet; run: quati-pool annotate --lead NAME")
        if session.design is not None:
            notes += _rounds(session)
        if session.translator is not None and (problem := session.translator.problem) is not None:
            notes.append(f"nothing can be translated in people's forms: {problem}")
        if not Workspace(session.config.folder).pool.exists():
            if session.design is None:
                notes.append("there is no pool yet, so people can only write questions; run: quati-pool build")
        else:
            require_texts(session.config)
            session.pool_view  # noqa: B018  # raises if the pool is faulty
            if again := _reopened(session):
                notes.append(
                    f"{again:,} labels are of another annotation.version or of other texts: their pairs are asked again"
                )
    return notes


def _rounds(session: AnnotationSession) -> list[str]:
    """Opens the rounds of writing; returns what is new in them."""
    design, authoring = rounds_of(session)
    opened = open_rounds(session)
    notes = _clusters(opened, session.config) if design.sources == "clusters" else _texts(opened)
    people = {one.name: one.role == "lead" for one in session.people.all() if one.revoked_at is None}
    if people:
        nobody = authoring.unassignable(people)
        notes += [
            f"nobody here may take {counted(n, 'task', 'tasks')} of the round {name}" for name, n in nobody.items()
        ]
    return notes


def _texts(opened: Opened) -> list[str]:
    added = opened.sources
    notes = [f"{counted(added.new, 'text', 'texts')} added to the rounds of writing"] if added.new else []
    if added.changed:
        differ = (
            f"{counted(added.changed, 'text of a file differs', 'texts of files differ')} from what is in the rounds"
        )
        notes.append(
            f"{differ}, in words or in sources.keep; what is there stays as it was: to have a text written from again, "
            "give it another id"
        )
    return notes


def _clusters(opened: Opened, config: PoolConfig) -> list[str]:
    notes = []
    if opened.sources.new or opened.inner.new:
        clusters = counted(opened.sources.new, "cluster", "clusters")
        queries = counted(opened.inner.new, "question", "questions")
        notes.append(f"{clusters} with {queries} to write added to the rounds of writing")
    if changed := opened.sources.changed + opened.inner.changed:
        differ = f"{counted(changed, 'query of a cluster differs', 'queries of clusters differ')} from what is in the"
        notes.append(
            f"{differ} rounds, in constraints, names or answers; what is there stays as it was, and cannot be released "
            "from other clusters: put the folder back that it came from"
        )
    if (opened.sources.new or opened.inner.new) and (count := repeated_constraints(config)):
        shared = counted(count, "constraint is", "constraints are")
        notes.append(f"{shared} in clusters of several folders, so that questions on the same may be in two splits")
    return notes


def _reopened(session: AnnotationSession) -> int:
    """Reopens the slots whose label is outdated; returns how many it reopened."""
    outdated = []
    for slot in done_slots(session.store, session.config.name):
        pair = session.pair(slot.query_id, slot.doc_id)
        if pair is not None and (slot.version != session.version or slot.content_sha not in counting_shas(pair)):
            outdated.append(slot.assignment_id)
    return session.assignments.reopen(outdated) if outdated else 0


def warm(session: AnnotationSession) -> None:
    """Does in advance what the first person would wait for: opens the pool, if any, reads the questions that were
    written in rounds, and loads the code that compares passages."""
    if Workspace(session.config.folder).pool.exists():
        session.pool_view  # noqa: B018  # opened once, and kept by the session
    if session.design is not None:
        written_texts(session).update()
    near_duplicates(["um", "um"])


def is_loopback(host: str) -> bool:
    """Whether a host can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
