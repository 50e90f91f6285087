"""A language model behind an OpenAI-compatible server that grades pairs with a prompt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from quati_pool.judging.llm_parameters import LlmParameters, client_for, part_of, price_for
from quati_pool.judging.prompted_model import PromptedModel
from quati_pool.judging.prompts import Prompt
from quati_pool.llm.client import Client
from quati_pool.llm.connection import Event
from quati_pool.llm.endpoint import Endpoint
from quati_pool.llm.limits import Limits
from quati_pool.llm.options import Options
from quati_pool.llm.prices import Price


class ServedModel(PromptedModel):
    """A model at an ``endpoint``."""

    def __init__(self, parameters: LlmParameters, prompt: Prompt, folder: Path) -> None:
        """``folder`` is that of ``pool.yaml``, to which the path of the price file is relative."""
        super().__init__(parameters, prompt)
        self.endpoint: Endpoint = part_of(parameters, Endpoint)
        self.options = part_of(parameters, Options)
        self.limits = part_of(parameters, Limits)
        self.together = parameters.together
        self.seed = parameters.seed
        self._parameters = parameters
        self._folder = folder

    def with_prompt(self, prompt: Prompt) -> ServedModel:
        return ServedModel(self._parameters, prompt, self._folder)

    def price(self, model: str | None = None) -> Price | None:
        return price_for(self._parameters, self._folder, model)

    def client(self, on_event: Callable[[Event], None] | None = None) -> Client:
        return client_for(self._parameters, on_event)
