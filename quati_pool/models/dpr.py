"""The two encoders of Dense Passage Retrieval (DPR; Karpukhin et al. 2020, arXiv 2004.04906) in transformers' format.

One encodes queries, the other passages. The vector of a text is that of its first token, [CLS], of any length; DPR
compares vectors by inner product.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from quati_pool.models.errors import ModelError
from quati_pool.models.loading import dtype_of, load_errors
from quati_pool.models.modules import modules_of, read_config
from quati_pool.models.parameters import ModelParameters, devices_of

Role = Literal["query", "passage"]

_ROLES: dict[str, Role] = {"DPRQuestionEncoder": "query", "DPRContextEncoder": "passage"}
_CLASSES = {role: name for name, role in _ROLES.items()}


def dpr_role(folder: Path) -> Role | None:
    """What the DPR encoder in ``folder`` reads; None for any other model, and for one in the format of
    sentence-transformers.

    Raises ModelError for a DPR model that is neither of the two encoders.
    """
    if modules_of(folder) is not None:
        return None
    config = read_config(folder / "config.json")
    if config.get("model_type") != "dpr":
        return None
    architectures = [str(name) for name in config.get("architectures") or []]
    role = next((_ROLES[name] for name in architectures if name in _ROLES), None)
    if role is None:
        held = architectures[0] if architectures else "a model without a class"
        raise ModelError(f"{folder} holds {held} of DPR; name its DPRQuestionEncoder and its DPRContextEncoder")
    return role


def load_dpr(folder: Path, parameters: ModelParameters) -> Any:
    """The DPR encoder in ``folder`` as a SentenceTransformer, ready to use.

    Raises ModelError if it cannot be loaded completely.
    """
    role = dpr_role(folder)
    assert role is not None
    device = devices_of(parameters)[0]
    with load_errors(parameters.model):
        import transformers
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer
        from torch import nn

        model = getattr(transformers, _CLASSES[role]).from_pretrained(
            str(folder), dtype=dtype_of(parameters), local_files_only=True, trust_remote_code=False
        )
        encoder = model.base_model

        class Bert(Transformer):  # type: ignore[misc, unused-ignore]
            """The BERT inside the encoder, which sentence-transformers itself would replace by random weights."""

            def _load_model(self, *args: Any, **kwargs: Any) -> Any:
                return encoder.bert_model

        offline = {"local_files_only": True, "trust_remote_code": False}
        bert = Bert(str(folder), config_kwargs=dict(offline), processor_kwargs=dict(offline))
        modules = [bert, Pooling(encoder.bert_model.config.hidden_size, pooling_mode="cls")]
        if encoder.projection_dim > 0:
            projection = Dense(
                encoder.bert_model.config.hidden_size, encoder.projection_dim, activation_function=nn.Identity()
            )
            projection.linear = encoder.encode_proj
            modules.append(projection)
        return SentenceTransformer(modules=modules, device=device).eval()
