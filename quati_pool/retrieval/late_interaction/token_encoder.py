"""Texts to token vectors, by a late-interaction model of sentence-transformers on its devices."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from quati_pool.errors import ConfigError
from quati_pool.records import Query
from quati_pool.retrieval.encoders.encoding import Halving, Tokenized, require_finite, spread, token_batches
from quati_pool.retrieval.encoders.models import Local, ModelError, ModelParameters, devices_of, load, quiet
from quati_pool.retrieval.encoders.shortening import Shortening
from quati_pool.retrieval.late_interaction.token_vectors import Encoded
from quati_pool.retrieval.vector_index.vector_search import Matrix

_QUERIES = 32  # encoded at a time
_TOKENISE = 512  # texts tokenised at a time
_UNLIMITED = 10**6


class TokenEncoder:
    """A MultiVectorEncoder. ``dimension`` keeps that many leading numbers of each vector and scales it back to
    length 1; ``max_tokens`` are those read of a passage. Prompts, query expansion and tokens left out (a
    skiplist) are the model's own.

    Raises ConfigError for a dimension or a length beyond the model's.
    """

    def __init__(
        self,
        local: Local,
        parameters: ModelParameters,
        dimension: int | None,
        max_tokens: int | None,
        note: Callable[[str], None],
    ) -> None:
        self.name = parameters.model
        self._note = note
        self._dimension = dimension
        self._budget = parameters.batch_tokens
        self._model: Any = load("MultiVectorEncoder", local, parameters)
        require_dimension(self.name, dimension, self._model.get_embedding_dimension())
        if max_tokens is not None:
            limit = _positions(self._model)
            if max_tokens > limit:
                raise ConfigError(f"model {self.name!r} reads at most {limit:,} tokens of a text; lower max_tokens")
            self._model[0].document_length = max_tokens
        devices = devices_of(parameters)
        self._models = [self._model, *(copy.deepcopy(self._model).to(device) for device in devices[1:])]
        self._halvings = [Halving(note) for _ in self._models]
        length = getattr(self._model[0], "document_length", None) or self._model.max_seq_length
        self._shortening = Shortening(SimpleNamespace(max_seq_length=length, tokenizer=self._model.tokenizer))

    @property
    def dimension(self) -> int:
        return int(self._dimension or self._model.get_embedding_dimension())

    @property
    def mean(self) -> bool:
        """Whether the model divides a score by the number of query tokens."""
        return bool(self._model.similarity_fn_name == "meanmaxsim")

    @property
    def on_gpu(self) -> bool:
        return str(self._model.device.type) != "cpu"

    def passages(
        self, texts: Sequence[str], doc_id: Callable[[int], str], progress: Callable[[int], None] = lambda done: None
    ) -> Encoded:
        """Token vectors of passages; some may have none. ``doc_id`` names the passage at a position.

        Raises QuatiPoolError for a vector that is not finite, and where a device has no memory for one text.
        """
        if not len(texts):
            return Encoded(np.empty((0, self.dimension), dtype=np.float32), np.empty(0, dtype=np.int64))
        names = [name for name in ("document", "passage", "corpus") if name in self._model.prompts]
        prompt = self._model._resolve_prompt(None, names[0] if names else None)
        tokenized = self._tokenized([self._shortening(text) for text in texts], prompt)
        done = 0
        parts: list[Encoded] = []
        at: list[list[int]] = []
        batches = [batch[tokenized.lengths[batch] > 0] for batch in token_batches(tokenized.lengths, self._budget)]
        for positions, part in spread(
            [batch.tolist() for batch in batches if len(batch)],
            lambda model, positions: self._forward(model, tokenized.batch(positions)),
            self._models,
            self._halvings,
        ):
            parts.append(part)
            at.append(positions)
            done += len(positions)
            progress(done)
        encoded = _in_order(parts, at, len(texts), self._model.get_embedding_dimension())
        owner = np.repeat(np.arange(len(texts)), encoded.counts)
        require_finite(encoded.vectors, lambda row: doc_id(int(owner[row])), self.name)
        return Encoded(self._shortened(encoded.vectors), encoded.counts)

    def queries(self, queries: Sequence[Query]) -> list[Matrix]:
        """Token vectors of each query, shape (tokens, dimension); a blank query has none.

        Raises QuatiPoolError for a vector that is not finite.
        """
        asked = [row for row, query in enumerate(queries) if query.query.strip()]
        texts = [queries[row].query for row in asked]
        self._say_what_is_cut(texts)
        with quiet():
            found = self._model.encode_query(
                texts, batch_size=_QUERIES, convert_to_numpy=True, show_progress_bar=False
            ) if texts else []  # fmt: skip
        vectors = [np.empty((0, self.dimension), dtype=np.float32) for _ in queries]
        for row, array in zip(asked, found, strict=True):
            array = np.asarray(array, dtype=np.float32)
            require_finite(array, [queries[row].query_id] * len(array), self.name, "query")
            vectors[row] = self._shortened(array)
        return vectors

    def _tokenized(self, texts: Sequence[str], prompt: str | None) -> Tokenized:
        with quiet():
            parts = [
                dict(self._model.preprocess(list(texts[start : start + _TOKENISE]), prompt=prompt, task="document"))
                for start in range(0, len(texts), _TOKENISE)
            ]
        if not all("attention_mask" in part and "input_ids" in part for part in parts):
            raise ModelError(f"model {self.name!r} does not read texts as padded tokens; name another model")
        return Tokenized(parts, getattr(self._model.tokenizer, "pad_token_id", None) or 0)

    def _forward(self, model: Any, features: dict[str, Any]) -> Encoded:
        import torch

        with torch.inference_mode():
            features = {
                name: value.to(model.device) if isinstance(value, torch.Tensor) else value
                for name, value in features.items()
            }
            out = model(features, task="document")
            mask = out["attention_mask"].bool()
            vectors = out["token_embeddings"][mask].float().cpu().numpy()
            return Encoded(vectors, mask.sum(1).cpu().numpy().astype(np.int64))

    def _shortened(self, vectors: Matrix) -> Matrix:
        """The leading ``dimension`` numbers of each vector, at length 1."""
        if self._dimension is None or self._dimension == vectors.shape[1]:
            return vectors
        leading = vectors[:, : self._dimension]
        length = np.linalg.norm(leading, axis=1, keepdims=True)
        unit: Matrix = np.divide(leading, length, out=np.zeros_like(leading), where=length > 0)
        return unit

    def _say_what_is_cut(self, texts: Sequence[str]) -> None:
        """A note on queries that are longer than the model reads."""
        module, tokenizer = self._model[0], self._model.tokenizer
        expansion = getattr(module, "query_expansion", None) or {}
        fixed = expansion.get("length") if expansion.get("strategy") == "fixed" else None
        limit = fixed or getattr(module, "query_length", None) or self._model.max_seq_length
        if not texts or limit is None or limit >= _UNLIMITED:
            return
        prompt = self._model._resolve_prompt(None, "query" if "query" in self._model.prompts else None) or ""
        with quiet():
            lengths = [len(ids) for ids in tokenizer([prompt + text for text in texts], verbose=False)["input_ids"]]
        cut = sum(length > limit for length in lengths)
        if cut:
            self._note(f"{self.name} reads {limit} tokens of a query: the ends of {cut:,} queries are left out")


def require_dimension(model: str, dimension: int | None, most: int | None) -> None:
    """Raises ConfigError where more numbers a vector are asked than the model gives."""
    if dimension is not None and most is not None and dimension > most:
        raise ConfigError(f"model {model!r} gives token vectors of dimension {most}, not {dimension}; lower dimension")


def _positions(model: Any) -> int:
    """The longest input a model takes: the positions it has vectors for."""
    import torch

    limits = [_UNLIMITED]
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            # RoBERTa and its kin count positions from after the padding's.
            limits.append(module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1))
    return min(limits)


def _in_order(parts: Sequence[Encoded], at: Sequence[Sequence[int]], texts: int, dimension: int) -> Encoded:
    """The texts' vectors in the texts' order; ``at`` are the positions of each part's texts."""
    counts = np.zeros(texts, dtype=np.int64)
    for part, positions in zip(parts, at, strict=True):
        counts[positions] = part.counts
    starts = np.cumsum(counts) - counts
    vectors = np.empty((int(counts.sum()), dimension), dtype=np.float32)
    for part, positions in zip(parts, at, strict=True):
        ends = np.cumsum(part.counts)
        places = np.repeat(starts[positions] - (ends - part.counts), part.counts) + np.arange(len(part.vectors))
        vectors[places] = part.vectors
    return Encoded(vectors, counts)
