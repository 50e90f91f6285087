"""Cross-encoders of sentence-transformers (Nogueira and Cho 2019, arXiv 1901.04085), which read query and passage in
one input and return one score."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from quati_pool.errors import ConfigError
from quati_pool.models.errors import ModelError
from quati_pool.models.loading import load_model
from quati_pool.models.location import LocalModel
from quati_pool.models.modules import transformer_folder
from quati_pool.models.pair_tokens import Batch, Frame, TextReader
from quati_pool.models.parameters import devices_of
from quati_pool.retrieval.pairwise.pairs import PairModel, PairParameters, PairReranker, Scorer, Scores


class CrossEncoder(PairReranker):
    """Gives the same scores as ``CrossEncoder.predict``, after the model's own activation. That is usually a sigmoid,
    whose highest scores are tied at 1 in float32 (from a logit of about 17 upwards).

    A model must have exactly one label; a model with several classes is refused, as none of them is relevance as such.
    """

    id = "reranker/cross-encoder"
    name = encodes = "cross-encoder"
    kind = "cross-encoder"
    summary = "a cross-encoder reads query and passage at once (sentence-transformers)"
    example = "model: models/cross-encoder"
    Parameters = PairParameters

    def check(self, local: LocalModel, note: Callable[[str], None]) -> None:
        super().check(local, note)
        config = json.loads((transformer_folder(local.folder) / "config.json").read_text(encoding="utf-8"))
        # transformers does not store the number of labels if it is two, the default.
        alone = not (local.folder / "modules.json").is_file()
        labels = len(config.get("id2label") or (1, 2)[: 1 + alone])
        if labels > 1:
            raise self._several_labels(labels)

    def load(self, local: LocalModel) -> PairModel:
        model = load_model("CrossEncoder", local.folder, self.parameters)
        if model.num_labels != 1:
            raise self._several_labels(model.num_labels)
        tokenizer = model.tokenizer
        if "message" in model[0].modality_config or "text" not in model[0].modality_config:
            raise ModelError(
                f"model {self.parameters.model!r} reads pairs through a chat template or other than as text, which "
                f"cross-encoder does not; name another model"
            )
        try:
            frame = Frame.of(tokenizer)
        except ValueError as error:
            raise ModelError(f"model {self.parameters.model!r} cannot be used: {error}; name another model") from None
        typed = "token_type_ids" in tokenizer.model_input_names
        names = devices_of(self.parameters)
        copies = [model, *(copy.deepcopy(model).to(name) for name in names[1:])]
        most = _longest(self.parameters, _positions(model))
        return PairModel(
            TextReader(tokenizer, most),
            frame,
            most,
            [_scorer(copied, name, typed) for copied, name in zip(copies, names, strict=True)],
            names,
            model._resolve_prompt(None, None) or "",
        )

    def _several_labels(self, labels: int) -> ModelError:
        return ModelError(
            f"model {self.parameters.model!r} has {labels} classes, none of which means relevance; "
            "name a cross-encoder with one label"
        )


def _scorer(model: Any, device: str, typed: bool) -> Scorer:
    import torch

    def score(batch: Batch) -> Scores:
        features: dict[str, Any] = {
            "input_ids": torch.from_numpy(batch.ids).to(device),
            "attention_mask": torch.from_numpy(batch.mask).to(device),
            "modality": "text",
        }
        if typed:
            features["token_type_ids"] = torch.from_numpy(batch.types).to(device)
        with torch.inference_mode():
            scores = model.activation_fn(model(features)["scores"].float())
        found: Scores = scores.reshape(len(batch.ids)).cpu().numpy().astype(np.float32)
        return found

    return score


def _positions(model: Any) -> int:
    """The longest input that a model takes, in tokens: its own limit, or the number of its positions if lower."""
    import torch

    limits = [model.max_seq_length or 512]
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            # RoBERTa and similar models start counting positions after that of the padding token.
            first = 0 if module.padding_idx is None else module.padding_idx + 1
            limits.append(module.num_embeddings - first)
    longest = min(limits)
    return longest if longest < 10**6 else 512


def _longest(parameters: PairParameters, known: int) -> int:
    """The number of tokens read of a pair: ``max_tokens`` or, by default, the ``known`` limit of the model.

    Raises ConfigError if ``max_tokens`` exceeds that limit.
    """
    if parameters.max_tokens is None:
        return known
    if parameters.max_tokens > known:
        raise ConfigError(
            f"max_tokens: {parameters.max_tokens:,} is more than the {known:,} that model {parameters.model!r} takes; "
            f"write at most {known}, or drop max_tokens"
        )
    return parameters.max_tokens
