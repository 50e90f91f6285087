"""The judge ``local``: a language model in this process, without a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from quati_pool.files.digests import digest
from quati_pool.judging import base
from quati_pool.judging.prompted_model import PromptedModel
from quati_pool.judging.prompts import Prompt, prompt_on_scale
from quati_pool.llm.connection import Event
from quati_pool.llm.limits import Limits
from quati_pool.llm.local.client import Grades, LocalClient
from quati_pool.llm.local.engine import Engine
from quati_pool.llm.options import Options
from quati_pool.llm.prices import FREE, Price
from quati_pool.llm.thoughts import ThoughtMarks
from quati_pool.models.causal import require_transformers
from quati_pool.models.errors import ModelMissingError
from quati_pool.models.location import locate, locate_or_announce, locate_or_download
from quati_pool.models.parameters import ModelParameters


class LocalParameters(ModelParameters):
    prompt: Annotated[str, Field(description="a prompt's id (quati-pool prompts), or its YAML file")]
    mode: Annotated[
        Literal["choice", "answer"],
        Field(description="choice: the likeliest grade, with the probability of each; answer: what the model writes"),
    ] = "choice"
    engine: Annotated[Literal["transformers", "vllm"], Field(description="what runs the model")] = "transformers"
    max_tokens: Annotated[int, Field(ge=1, description="mode: answer: the most tokens of one answer")] = 1024
    max_passage_tokens: Annotated[int | None, Field(ge=1, description="cut longer passages to this many tokens")] = None
    thoughts: Annotated[
        ThoughtMarks, Field(description="{open: …, close: …}: further marks of thoughts in answers; none: none at all")
    ] = None


class LocalModel(PromptedModel):
    """A model that runs in this process; loaded when its client is entered."""

    # Calls are computed in batches, not side by side: an attempt's seconds are its share of a batch.
    limits = Limits(concurrency=1)

    def __init__(self, parameters: LocalParameters, prompt: Prompt, setting: base.Setting) -> None:
        super().__init__(parameters, prompt)
        self.options = Options(max_tokens=parameters.max_tokens, reasoning=False)
        self._parameters = parameters
        self._setting = setting

    def with_prompt(self, prompt: Prompt) -> LocalModel:
        return LocalModel(self._parameters, prompt, self._setting)

    def price(self, model: str | None = None) -> Price | None:
        return FREE

    def client(self, on_event: Callable[[Event], None] | None = None) -> LocalClient:
        require_transformers("judge: local")
        locate_or_announce(self._setting, self._parameters, lambda _: None)
        if self._parameters.engine == "vllm":
            from quati_pool.llm.local.vllm_engine import require_vllm

            require_vllm()
        grades = Grades(self.prompt.answer.grade, sorted(self.prompt.scale))
        chosen = grades if self._parameters.mode == "choice" else None
        return LocalClient(self.name, self.options, self._load, chosen, on_event)

    def _load(self, note: Callable[[str], None]) -> tuple[Engine, str]:
        local = locate(self._setting, self.name, self._parameters.revision)
        weights = str(local.identity.get("revision") or local.identity["digest"])
        if self._parameters.engine == "vllm":
            from quati_pool.llm.local.vllm_engine import VllmEngine

            return VllmEngine(local, self._parameters), weights
        from quati_pool.llm.local.transformers_engine import TransformersEngine

        return TransformersEngine(local, self._parameters, note), weights


class LocalJudge(base.Judge):
    """Grades with a causal language model of transformers and its chat template."""

    id = "judge/local"
    summary = "a language model in this process, without a server, with a prompt of quati-pool prompts"
    example = "model: models/qwen3-4b, prompt: quati-pt"
    Parameters = LocalParameters
    parameters: LocalParameters
    model: LocalModel

    def __init__(self, parameters: LocalParameters, setting: base.Setting) -> None:
        super().__init__(parameters, setting)
        self.model = LocalModel(parameters, prompt_on_scale(parameters.prompt, setting.folder, setting.grades), setting)

    def identity(self) -> dict[str, Any]:
        """Raises ModelMissingError or ModelError without the model's files."""
        model = self.parameters.model
        try:
            local = locate(self.setting, model, self.parameters.revision)
        except ModuleNotFoundError as error:
            missing = f"the extra [neural], which looks for model {model!r} on this machine, is not installed"
            raise ModelMissingError(f"{missing}; pip install 'quati-pool[neural]'") from error
        return {**self._asked, "model": local.identity}

    def fetch(self, note: Callable[[str], None]) -> None:
        require_transformers("judge: local")
        locate_or_download(self.setting, self.parameters.model, self.parameters.revision, note)

    def may_be(self, identity: Mapping[str, Any]) -> bool:
        asked = {key: value for key, value in identity.items() if key != "model"}
        model = identity.get("model")
        if not isinstance(model, Mapping) or digest(asked) != digest(self._asked):
            return False
        # A folder is known by its content alone, which is gone; a name on the hub is part of the identity.
        if "digest" in model:
            return True
        return model.get("model") == self.parameters.model

    @property
    def _asked(self) -> dict[str, Any]:
        """Everything that determines the grades but the weights."""
        parameters = self.parameters
        return {
            "mode": parameters.mode,
            "compute": parameters.compute,
            "prompt": self.model.prompt.definition,
            **({"max_tokens": parameters.max_tokens} if parameters.mode == "answer" else {}),
        }
