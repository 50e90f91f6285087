"""Cross-encoders of sentence-transformers (Nogueira and Cho 2019, arXiv 1901.04085), which read query and passage in
one input and return one score."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from quati_pool.errors import ConfigError
from quati_pool.models.cross_encoder import features_of, outputs_of, pair_frame, positions_of
from quati_pool.models.errors import ModelError
from quati_pool.models.loading import load_model
from quati_pool.models.location import LocalModel
from quati_pool.models.modules import transformer_folder
from quati_pool.models.pair_tokens import Batch, TextReader
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
        frame = pair_frame(model, self.parameters.model)
        names = devices_of(self.parameters)
        copies = [model, *(copy.deepcopy(model).to(name) for name in names[1:])]
        most = _longest(self.parameters, positions_of(model))
        return PairModel(
            TextReader(model.tokenizer, most),
            frame,
            most,
            [_scorer(copied) for copied in copies],
            names,
            model._resolve_prompt(None, None) or "",
        )

    def _several_labels(self, labels: int) -> ModelError:
        return ModelError(
            f"model {self.parameters.model!r} has {labels} classes, none of which means relevance; "
            "name a cross-encoder with one label"
        )


def _scorer(model: Any) -> Scorer:
    import torch

    def score(batch: Batch) -> Scores:
        with torch.inference_mode():
            scores = model.activation_fn(outputs_of(model, features_of(model, batch)))
        found: Scores = scores.reshape(len(batch.ids)).cpu().numpy().astype(np.float32)
        return found

    return score


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
