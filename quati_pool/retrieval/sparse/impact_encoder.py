"""From texts to impacts: a SparseEncoder of sentence-transformers on one device or several."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from quati_pool.errors import QuatiPoolError
from quati_pool.retrieval.encoders.encoding import Halving, spread, token_batches
from quati_pool.retrieval.encoders.models import quiet
from quati_pool.retrieval.encoders.shortening import Shortening
from quati_pool.retrieval.sparse.impacts import Vectors, joined, quantised, reordered

Side = Literal["query", "document"]
_PROMPTS = {"query": ("query",), "document": ("document", "passage", "corpus")}
"""The prompts of a model that sentence-transformers takes for each side, the first there is."""


class ImpactEncoder:
    """A loaded model on its devices. Queries and passages go through their own prompts, and through their own
    routes where the model has them."""

    def __init__(
        self,
        model: Any,
        name: str,
        devices: Sequence[str],
        batch_tokens: int,
        max_tokens: int | None,
        note: Callable[[str], None],
    ) -> None:
        """Raises QuatiPoolError for a model that compares its vectors by a distance."""
        if model.similarity_fn_name not in ("dot", "cosine"):
            raise QuatiPoolError(
                f"model {name!r} compares vectors by {model.similarity_fn_name} distance, which impacts cannot; "
                "use one that compares by dot product or cosine"
            )
        self._model, self._budget = model, batch_tokens
        if max_tokens is not None:
            for side in _PROMPTS:
                _limit(_reader(model, side), max_tokens)
        self._models = [model, *(copy.deepcopy(model).to(device) for device in devices[1:])]
        self._halvings = [Halving(note) for _ in self._models]

    def impacts(
        self,
        texts: Sequence[str],
        side: Side,
        name: Callable[[int], str],
        quantization: int,
        keep: int | None,
        progress: Callable[[int], None] = lambda done: None,
    ) -> Vectors:
        """The impacts of ``texts`` in their order, of each its ``keep`` heaviest terms.

        Memory holds the dense weights of a batch. Raises QuatiPoolError as ``quantised`` does; ``name`` gives
        what the text at a position is called.
        """
        reader = _reader(self._model, side)
        texts = list(map(Shortening(reader), texts))
        prompt = self._prompt(side)

        def weights(model: Any, positions: list[int]) -> npt.NDArray[np.float32]:
            return _weights(model, [texts[position] for position in positions], prompt, side)

        found, order = [], np.empty(0, dtype=np.int64)
        batches = [batch.tolist() for batch in token_batches(_lengths(reader, texts), self._budget)]
        for positions, dense in spread(batches, weights, self._models, self._halvings):
            found.append(quantised(dense, lambda row: name(positions[row]), quantization, keep))  # noqa: B023
            order = np.append(order, positions)
            progress(len(order))
        return reordered(joined(found), np.argsort(order))

    def _prompt(self, side: Side) -> str | None:
        prompts = self._model.prompts
        name = next((name for name in _PROMPTS[side] if name in prompts), self._model.default_prompt_name)
        return prompts[name] if name else None


def _lengths(reader: Any, texts: list[str]) -> npt.NDArray[np.int64]:
    """Tokens of each text up to the model's limit."""
    limit = reader.max_seq_length
    cut = {"truncation": True, "max_length": limit} if limit and limit < 10**6 else {}
    with quiet():
        tokens = reader.tokenizer(texts, return_attention_mask=False, **cut)["input_ids"] if texts else []
    return np.array([len(some) for some in tokens], dtype=np.int64)


def _weights(model: Any, texts: list[str], prompt: str | None, side: Side) -> npt.NDArray[np.float32]:
    """Dense weights, shape (texts, vocabulary), as ``SparseEncoder.encode`` gives them; of unit length for a
    model that compares by cosine. Texts without a token have none: shape (texts, 1) where all are such."""
    import torch
    from sentence_transformers.util import select_max_active_dims

    features = model.preprocess(texts, prompt=prompt, task=side)
    if features["input_ids"].shape[1] == 0:
        return np.zeros((len(texts), 1), dtype=np.float32)
    with torch.inference_mode():
        here = {name: v.to(model.device) if isinstance(v, torch.Tensor) else v for name, v in features.items()}
        vectors = model(here, task=side)["sentence_embedding"]
        vectors = select_max_active_dims(vectors, model.max_active_dims).float()
        if model.similarity_fn_name == "cosine":
            vectors = torch.nn.functional.normalize(vectors, dim=1)
        found: npt.NDArray[np.float32] = vectors.cpu().numpy()
        return found


def _reader(model: Any, side: Side | str) -> Any:
    """The module that tokenises the texts of one side."""
    first = model[0]
    return first.sub_modules[first._resolve_route(task=side)][0] if hasattr(first, "sub_modules") else first


def _limit(reader: Any, max_tokens: int) -> None:
    limit = min(max_tokens, reader.max_seq_length or max_tokens)
    reader.max_seq_length = limit
    # A module of static weights does not look at its own limit.
    reader.tokenizer.model_max_length = limit
