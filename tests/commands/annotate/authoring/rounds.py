"""A workspace whose questions are written in rounds, and people who fill in its forms."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import yaml

from quati_pool.commands.annotate.authoring import work
from quati_pool.commands.annotate.authoring.sources import open_rounds
from quati_pool.commands.annotate.authoring.step import Outcome, SentStep, WritingStep
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.authoring import Authoring

TEXTS = [
    {"doc_id": "A1", "corpus": "1", "en": "The tide turns twice a day.", "pt": "A maré vira duas vezes por dia."},
    {"doc_id": "A2", "corpus": "1", "en": "Corals grow in warm water.", "pt": "Corais crescem em água quente."},
    {"doc_id": "B1", "corpus": "2", "en": "Platforms burn the gas of their wells.", "pt": ""},
]

# Words of their own for each number, so that no two questions are alike.
NOUNS = [
    *("tide", "coral", "gas", "whale", "reef", "wind", "salt", "foam", "sand", "crab"),
    *("eel", "fog", "kelp", "port", "ray", "sail", "shell", "storm", "gull", "wave"),
]


def workspace(folder: Path, texts: Sequence[Mapping[str, str]] = TEXTS, seed: int = 0, **authoring: Any) -> Path:
    """Writes texts.csv and pool.yaml; returns the latter."""
    folder.mkdir(parents=True, exist_ok=True)
    write_texts(folder / "texts.csv", texts)
    settings: dict[str, Any] = {
        "design": "pira",
        "languages": ["pt", "en"],
        "sources": {"path": "texts.csv", "text": {"pt": "pt", "en": "en"}, "keep": ["corpus"]},
        **authoring,
    }
    path = folder / "pool.yaml"
    path.write_text(
        yaml.safe_dump({"name": "sea", "seed": seed, "authoring": settings}, allow_unicode=True), encoding="utf-8"
    )
    return path


def write_texts(path: Path, texts: Sequence[Mapping[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(texts[0]))
        writer.writeheader()
        writer.writerows(texts)


def opened(path: Path, database: str | None = None) -> AnnotationSession:
    """The workspace's session, with its rounds open."""
    session = AnnotationSession.open(path, database)
    open_rounds(session)
    return session


def rounds(session: AnnotationSession) -> Authoring:
    assert session.authoring is not None
    return session.authoring


def nonce() -> str:
    return uuid4().hex


def step(session: AnnotationSession, token: str) -> WritingStep:
    found = work.next_step(session, token)
    assert found is not None
    return found


def sent(shown: WritingStep, content: Mapping[str, Any], **changes: Any) -> SentStep:
    usual: dict[str, Any] = {
        "item": shown.item,
        "number": shown.number,
        "sha": shown.sha,
        "nonce": nonce(),
        "content": content,
        "active_seconds": 2.5,
        "elapsed_seconds": 4.0,
    }
    return SentStep(**{**usual, **changes})


def filled(shown: WritingStep, number: int = 0) -> dict[str, Any]:
    """A form with something in every field; ``number`` makes its texts unlike those of other numbers."""
    noun = NOUNS[number % len(NOUNS)] + str(number // len(NOUNS) or "")
    values: dict[str, Any] = {}
    for field in shown.step.fields:
        name, language = field.label, field.language or ""
        if field.kind in ("line", "prose"):
            values[field.name] = f"{noun} {name} {language} {noun * 2}"
        elif field.kind == "yes_no":
            values[field.name] = True
        elif field.kind == "scale":
            values[field.name] = 4
        elif field.kind == "choice":
            values[field.name] = "what"
        elif shown.shown.get("text"):
            values[field.name] = [{"language": next(iter(shown.shown["text"])), "start": 0, "end": 4}]
    return values


def give(session: AnnotationSession, token: str, number: int = 0, **changes: Any) -> Outcome:
    """The person fills in the step that they get, and confirms what is doubted."""
    shown = step(session, token)
    form = sent(shown, {**filled(shown, number), **changes}, confirmed=frozenset({"similar", "decontextualised"}))
    return work.submit(session, token, form)


def end(session: AnnotationSession, token: str) -> int:
    shown = step(session, token)
    return work.end(session, token, shown.item, shown.sha, nonce())


def members(value: Any) -> Iterator[tuple[str, Any]]:
    """The members of all objects in a JSON value, however deep."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield name, inner
            yield from members(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from members(inner)
