"""Parameters of a dense model, and the settings that follow from them and the model's own files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from quati_pool.errors import ConfigError
from quati_pool.models.dpr import Role, dpr_role
from quati_pool.models.modules import read_config
from quati_pool.models.parameters import ModelParameters
from quati_pool.retrieval.encoders.model_inputs import Task, prompt_of

# E5 (Wang et al. 2022, arXiv 2212.03533, section 4; 2024, arXiv 2402.05672) was trained with these prompts; its
# instruct variants were not.
_E5 = re.compile(r"(multilingual-)?e5-(small|base|large)(-v2|-unsupervised)?", re.IGNORECASE)
_E5_PROMPTS = ("query: ", "passage: ")


def _is_none(value: object) -> bool:
    # Left out of dumps, so that keys of systems with one model are those from before there could be two.
    return value is None


class EncodingParameters(ModelParameters):
    """The parameters that change the vectors of a dense model; those of the index are in ``IndexParameters``.

    Either ``model`` encodes both queries and passages, or ``query_model`` and ``passage_model`` one of them each, as in
    DPR (Karpukhin et al. 2020, arXiv 2004.04906); ``model`` is then empty.
    """

    model: Annotated[
        str,
        Field(
            min_length=1, description="folder, or name on the Hugging Face hub, of one encoder for queries and passages"
        ),
    ] = ""
    query_model: Annotated[
        str | None,
        Field(
            min_length=1,
            exclude_if=_is_none,
            description="instead of model, with passage_model: the encoder of queries",
        ),
    ] = None
    passage_model: Annotated[
        str | None,
        Field(
            min_length=1, exclude_if=_is_none, description="instead of model, with query_model: the encoder of passages"
        ),
    ] = None
    query_revision: Annotated[str | None, Field(exclude_if=_is_none, description="revision of query_model")] = None
    passage_revision: Annotated[str | None, Field(exclude_if=_is_none, description="revision of passage_model")] = None
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

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if self.model and self.has_two:
            raise ValueError("keep either model: or the two, query_model: and passage_model:")
        if not self.model and not self.has_two:
            raise ValueError("names no model; add model:, or query_model: and passage_model:")
        if self.has_two and (self.query_model is None or self.passage_model is None):
            missing = "query_model" if self.query_model is None else "passage_model"
            raise ValueError(f"names one of two models; add {missing}:, or write model: for both")
        if self.has_two and self.revision is not None:
            raise ValueError("revision: is of one model; write query_revision: and passage_revision:")
        if not self.has_two and (self.query_revision is not None or self.passage_revision is not None):
            raise ValueError("query_revision: and passage_revision: are of two models; write revision:")
        return self

    @property
    def has_two(self) -> bool:
        """Whether queries and passages have a model each."""
        return self.query_model is not None or self.passage_model is not None

    def for_queries(self) -> Self:
        """The parameters of the model that reads queries, as if it were the only one, without prompts of passages."""
        return self._for("query", "passage", self.query_model, self.query_revision)

    def for_passages(self) -> Self:
        """The parameters of the model that reads passages, as if it were the only one, without prompts of queries."""
        return self._for("passage", "query", self.passage_model, self.passage_revision)

    def each_model(self) -> Mapping[str, ModelParameters]:
        if not self.has_two:
            return {"model": self}
        return {"query_model": self.for_queries(), "passage_model": self.for_passages()}

    def _for(self, role: Role, other: Role, model: str | None, revision: str | None) -> Self:
        if not self.has_two:
            return self
        of_two = ("query_model", "passage_model", "query_revision", "passage_revision")
        unread = (*of_two, f"{other}_prompt", f"{other}_prompt_name")
        return self.model_copy(update={**dict.fromkeys(unread), "model": model, "revision": revision})


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
    similarity = "dot" if dpr_role(folder) is not None else config.get("similarity_fn_name")
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


def says_no_similarity(parameters: EncodingParameters, folder: Path) -> bool:
    """Whether neither the parameters nor the files of the model in ``folder`` say how its vectors are compared."""
    said = read_config(folder / "config_sentence_transformers.json").get("similarity_fn_name")
    return parameters.normalize is None and said is None and dpr_role(folder) is None


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
