"""The judge ``llm``: asks a language model with a prompt and reads its verdicts strictly.

A grade is taken only from what the model wrote as its verdict (see ``verdict``).
"""

from __future__ import annotations

from typing import Any

from quati_pool.judging import base
from quati_pool.judging.llm_parameters import LlmParameters, model_identity
from quati_pool.judging.prompts import prompt_on_scale
from quati_pool.judging.served_model import ServedModel


class LlmJudge(base.Judge):
    """Asks any OpenAI-compatible server; the same pair may get different answers."""

    id = "judge/llm"
    summary = "a language model behind any OpenAI-compatible API, with a prompt of quati-pool prompts"
    example = "model: gpt-4o-2024-11-20, prompt: quati-pt"
    Parameters = LlmParameters
    parameters: LlmParameters
    model: ServedModel

    def __init__(self, parameters: LlmParameters, setting: base.Setting) -> None:
        super().__init__(parameters, setting)
        prompt = prompt_on_scale(parameters.prompt, setting.folder, setting.grades)
        self.model = ServedModel(parameters, prompt, setting.folder)

    def identity(self) -> dict[str, Any]:
        return {**model_identity(self.parameters), "prompt": self.model.prompt.definition}

    @property
    def always_alike(self) -> bool:
        """Whether the temperature is 0, so that the likeliest answer is requested each time."""
        return self.parameters.temperature == 0 and not self.parameters.thinks(self.parameters.model)
