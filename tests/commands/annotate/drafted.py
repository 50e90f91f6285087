"""Workspaces with drafts of a program as they are in the store, and people who decide on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quati_pool.commands.annotate.authoring.step import WritingStep
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.authoring_records import NewItem
from quati_pool.store.database import Store
from quati_pool.store.records import QuestionEvent
from tests.commands.annotate.authoring import rounds
from tests.commands.annotate.authoring.people_writing import Finished, Refused, prefilled

MODEL = "gpt-4o-2024-11-20"


def register(store: Store, model: str = MODEL, settings: int = 0) -> str:
    """The version of a model as a drafter; one model has several, by its settings."""
    version = f"{model}@{settings}"
    store.register(version, "judge", {"name": model, "settings": {"seed": settings}})
    return version


def propose(session: AnnotationSession, text: str, model: str = MODEL, **fields: Any) -> int:
    """The question_id of a question that a program drafted."""
    event = QuestionEvent(
        by="", action="proposed", query=text, nonce=rounds.nonce(), drafted_by=register(session.store, model), **fields
    )
    return session.questions.add_event(event)


def pira_drafts(path: Path, each: Sequence[int], model: str = MODEL) -> None:
    """Adds to the rounds of a workspace as many drafts on each text, in two versions of the model."""
    with rounds.opened(path) as session:
        authoring = rounds.rounds(session)
        versions = [register(session.store, model, settings) for settings in (0, 1)]
        new = []
        for text, count in zip(authoring.items("text"), each, strict=True):
            for number in range(count):
                noun = rounds.NOUNS[len(new)]
                content = {
                    f"{what}.{language}": f"{noun} {what} {language} {noun * 2}"
                    for language in ("pt", "en")
                    for what in ("question", "answer")
                }
                draft_id = f"{text.source_id}-{number}"
                new.append(NewItem("question", draft_id, content, len(new), text.item_id, versions[number % 2]))
        authoring.add(new)


class Deciding:
    """Accepts every third draft as it is, edits and refuses the others, and does all later tasks; counts by fate.
    Leaves after ``most`` decisions."""

    def __init__(self, most: int) -> None:
        self.fates: Counter[str] = Counter()
        self._most = most

    def __call__(self, name: str, shown: WritingStep) -> Any:
        step = shown.step.name
        if step == "set":
            return Finished()
        if step in ("edit", "curate"):
            return prefilled(shown)
        if step not in ("draft", "draft_query"):
            return rounds.filled(shown)
        if self.fates.total() == self._most:
            return None
        fate = ("accepted", "edited", "refused")[self.fates.total() % 3]
        self.fates[fate] += 1
        if fate == "refused":
            return Refused("unnatural")
        form = prefilled(shown)
        if fate == "edited":
            field = shown.step.fields[0].name
            form[field] = f"{form[field]} now?"
        return form
