"""Models as drafters: under which version what they wrote is stored."""

from __future__ import annotations

from typing import Any

from quati_pool.commands.model_answers.asking import Answerer
from quati_pool.files.digests import digest
from quati_pool.llm.answer_prompts import AnswerPrompt
from quati_pool.store.database import Store


def drafter(answerer: Answerer, prompt: AnswerPrompt) -> tuple[str, dict[str, Any]]:
    """The version of a model with its settings and the prompt as a drafter, and what it stands for."""
    definition = {
        "name": answerer.parameters.model,
        "settings": answerer.identity,
        "prompt": {"id": prompt.id, "version": prompt.version},
    }
    return digest({"drafter": definition})[:16], definition


def registered_drafter(store: Store, answerer: Answerer, prompt: AnswerPrompt) -> str:
    """Registers a model with its settings and the prompt as a drafter, and returns its version."""
    version, definition = drafter(answerer, prompt)
    store.register(version, "judge", definition)
    return version
