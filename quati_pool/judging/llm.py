"""The judge ``llm``: asks a language model with a prompt and reads its verdicts strictly.

A grade is taken only from what the model wrote as its verdict (see ``verdict``).
"""

from __future__ import annotations

from typing import Any

from quati_pool.errors import ConfigError
from quati_pool.judging import base
from quati_pool.judging.llm_parameters import LlmParameters, model_identity
from quati_pool.judging.prompted_model import PromptedModel
from quati_pool.judging.prompts import load_prompt


class LlmJudge(base.Judge):
    """Asks any OpenAI-compatible server; the same pair may get different answers."""

    id = "judge/llm"
    summary = "a language model behind any OpenAI-compatible API, with a prompt of quati-pool prompts"
    example = "model: gpt-4o-2024-11-20, prompt: quati-pt"
    Parameters = LlmParameters
    parameters: LlmParameters
    model: PromptedModel

    def __init__(self, parameters: LlmParameters, setting: base.Setting) -> None:
        super().__init__(parameters, setting)
        prompt = load_prompt(parameters.prompt, setting.folder)
        unknown = sorted(set(prompt.scale) - set(setting.grades))
        if unknown:
            raise ConfigError(
                f"the prompt {prompt.id} gives the grade {unknown[0]}, which grades: in pool.yaml does not "
                f"have ({', '.join(map(str, sorted(setting.grades)))}); add it, or take another prompt"
            )
        self.model = PromptedModel(parameters, prompt, setting.folder)

    def identity(self) -> dict[str, Any]:
        return {**model_identity(self.parameters), "prompt": self.model.prompt.definition}

    @property
    def always_alike(self) -> bool:
        """Whether the temperature is 0, so that the likeliest answer is requested each time."""
        return self.parameters.temperature == 0 and not self.parameters.thinks(self.parameters.model)
