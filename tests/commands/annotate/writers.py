"""A workspace whose corpus is read, and people signed in to write questions for it."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from quati_pool.annotation.codes import hash_code, new_code, token_sha
from quati_pool.commands.annotate.questions import writing as questions
from quati_pool.commands.annotate.questions.rules import Draft
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.files.artifacts import file_digest
from quati_pool.project.artifact_builder import ArtifactBuilder
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.project.inputs import open_corpus
from quati_pool.project.workspace import Workspace
from tests.commands import small_collection

DRAFT = Draft("Quem cuida do farol da ilha?", "geography", "local", "fact")


def workspace(folder: Path, *, read: bool = True, **changes: Any) -> Path:
    """A pool.yaml with six queries and 60 passages; ``read`` makes the corpus store, and never a pool."""
    path = small_collection.make_collection(folder, **changes)
    if read:
        config = load_config(path)
        builder = ArtifactBuilder(Workspace(config.folder), {"config": file_digest(path)}, Listener())
        open_corpus(config, "corpus", builder, force=False)
    return path


def sign_in(session: AnnotationSession, name: str, role: str = "assessor") -> str:
    """Adds a person and returns the token of a session of theirs."""
    code, token = new_code(), secrets.token_hex(16)
    session.people.add(name, role, code.handle, hash_code(code.text))  # type: ignore[arg-type]
    session.people.sign_in(name, token_sha(token), 3600)
    return token


def nonce() -> str:
    return uuid4().hex


def proposed(session: AnnotationSession, token: str, query: str = DRAFT.query, **changes: Any) -> int:
    """The question_id of a new question."""
    return questions.propose(session, token, replace(DRAFT, query=query, **changes), nonce())


def seen(session: AnnotationSession, question_id: int) -> int:
    """The seq of a question's last event."""
    return next(one.last.seq or 0 for one in session.questions.current() if one.question_id == question_id)


def accepted(session: AnnotationSession, token: str, question_id: int) -> str:
    return questions.accept(session, token, question_id, seen(session, question_id), nonce())
