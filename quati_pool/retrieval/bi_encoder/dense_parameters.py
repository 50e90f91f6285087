"""Parameters of a dense model, and the settings that follow from them and the model's own files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from quati_pool.errors import ConfigError
from quati_pool.models.modules import read_config
from quati_pool.models.parameters import ModelParameters
from quati_pool.retrieval.encoders.model_inputs import Task, prompt_of

# E5 (Wang et al. 2022, arXiv 2212.03533, section 4; 2024, arXiv 2402.05672) was trained with these prompts; its
# instruct variants were not.
_E5 = re.compile(r"(multilingual-)?e5-(small|base|large)(-v2|-unsupervised)?", re.IGNORECASE)
_E5_PROMPTS = ("query: ", "passage: ")


class EncodingParameters(ModelParameters):
    """The parameters that change the vectors of a dense model; those of the index are in ``IndexParameters``."""

    query_prompt: Annotated[str | None, Field(description="text before every query; else the model's own")] = None
    passage_prompt: Annotated[str | None, Field(description="text before every passage; else the model's own")] = None
    query_prompt_name: Annotated[str | None, Field(description="prompt for queries, by its name in the model")] = None
    passage_prompt_name: Annotated[str | None, Field(description="prompt for passages, by its name in the model")] = (
        None
    )
    truncate_dim: Annotated[int | None, Field(ge=1, description="leading dimensions kept (Matryoshka models)")] = None
    normalize: Annotated[
        bool | None, Field(description="vectors of length 1 (cosine); by default unless the model is made for dot")
    ] = None
    max_tokens: Annotated[int | None, Field(ge=2, description="tokens read of a text; by default the model's")] = None
    precision: Annotated[
        Literal["fp32", "fp16", "int8"],
        Field(description="of the vectors kept; fp16 computes in fp16 too, unless compute says otherwise"),
    ] = "fp32"


class DenseSettings(NamedTuple):
    """The settings with which a dense model is run.

    The texts before queries and passages; the number of dimensions kept (None: all); whether vectors are scaled to
    length 1; the tokens read per text (None: as many as the model's files say); the precision of computation."""

    query_prompt: str
    passage_prompt: str
    truncate_dim: int | None
    normalize: bool
    max_tokens: int | None
    compute: Literal["fp32", "fp16", "bf16"]


def settings_of(parameters: EncodingParameters, folder: Path) -> DenseSettings:
    """The settings that follow from the parameters and the files of the model in ``folder``; reads no weights.

    Raises ConfigError if the two contradict each other, or if the model has no prompt of the requested name.
    """
    config = read_config(folder / "config_sentence_transformers.json")
    query, passage = e5_prompts(parameters, folder) or (
        _prompt(parameters, config, "query", "query"),
        _prompt(parameters, config, "passage", "document"),
    )
    similarity = config.get("similarity_fn_name")
    if parameters.normalize is None and similarity not in (None, "cosine", "dot"):
        raise ConfigError(
            f"model {parameters.model!r} compares vectors by {similarity} distance, which dense does not; "
            "set normalize: true (cosine) or false (inner product)"
        )
    truncate_dim = parameters.truncate_dim
    if truncate_dim is None and isinstance(config.get("truncate_dim"), int):
        truncate_dim = config["truncate_dim"]
    computes = parameters.compute
    if parameters.precision == "fp16" and "compute" not in parameters.model_fields_set:
        computes = "fp16"
    return DenseSettings(
        query,
        passage,
        truncate_dim,
        similarity != "dot" if parameters.normalize is None else parameters.normalize,
        parameters.max_tokens,
        computes,
    )


def _prompt(parameters: EncodingParameters, config: Mapping[str, Any], role: str, task: Task) -> str:
    """The text before a query or a passage; empty if neither the parameters nor the model give one."""
    literal, name = getattr(parameters, f"{role}_prompt"), getattr(parameters, f"{role}_prompt_name")
    prompts = config.get("prompts") or {}
    known = {key: text for key, text in prompts.items() if isinstance(text, str)}
    if literal is not None and name is not None:
        raise ConfigError(f"{role}_prompt and {role}_prompt_name are both set; drop one")
    if literal is not None:
        return str(literal)
    if name is not None:
        if name not in known:
            there = ", ".join(sorted(known)) or "none"
            raise ConfigError(
                f"model {parameters.model!r} has no prompt {name!r} (it has: {there}); "
                f"correct {role}_prompt_name, or write the text as {role}_prompt"
            )
        return known[name]
    return prompt_of(known, task)


def e5_prompts(parameters: EncodingParameters, folder: Path) -> tuple[str, str] | None:
    """The texts before queries and passages of an E5 model, recognised by its name or that of its folder; None for
    other models, and if the model's files or the user give prompts."""
    given = ("query_prompt", "passage_prompt", "query_prompt_name", "passage_prompt_name")
    if any(getattr(parameters, name) is not None for name in given):
        return None
    prompts = read_config(folder / "config_sentence_transformers.json").get("prompts") or {}
    name = parameters.model.rstrip("/").rpartition("/")[2]
    return None if any(prompts.values()) or _E5.fullmatch(name) is None else _E5_PROMPTS
