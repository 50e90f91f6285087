"""Models as drafters: under which version what they wrote is stored."""

from __future__ import annotations

from quati_pool.commands.model_answers.asking import Answerer
from quati_pool.files.digests import digest
from quati_pool.llm.answer_prompts import AnswerPrompt
from quati_pool.store.database import Store


def registered_drafter(store: Store, answerer: Answerer, prompt: AnswerPrompt) -> str:
    """Registers a model with its settings and the prompt as a drafter, and returns its version."""
    definition = {
        "name": answerer.parameters.model,
        "settings": answerer.identity,
        "prompt": {"id": prompt.id, "version": prompt.version},
    }
    version = digest({"drafter": definition})[:16]
    store.register(version, "judge", definition)
    return version
