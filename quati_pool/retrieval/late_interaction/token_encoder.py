"""Encodes texts as token vectors with a late-interaction model of sentence-transformers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from quati_pool.errors import ConfigError
from quati_pool.models.errors import ModelError
from quati_pool.models.loading import quiet
from quati_pool.records import Int, Query
from quati_pool.retrieval.encoders.encoding import TextEncoder, require_finite
from quati_pool.retrieval.encoders.model_inputs import limit_of, prompt_of
from quati_pool.retrieval.vector_index.vector_search import Matrix

_QUERIES = 32  # encoded at a time


class TextVectors(NamedTuple):
    """The token vectors of texts, one text after another, shape (tokens, dimension), and their number per text, shape
    (texts,)."""

    vectors: Matrix
    counts: Int


class TokenEncoder(TextEncoder):
    """A MultiVectorEncoder on one or more devices.

    With ``dimension``, only that many leading components of each vector are kept, scaled back to length 1. Prompts,
    query expansion and skipped tokens (a skiplist) are those of the model. Raises ConfigError for a dimension larger
    than the model's.
    """

    def __init__(
        self,
        model: Any,
        name: str,
        devices: Sequence[str],
        batch_tokens: int,
        dimension: int | None,
        note: Callable[[str], None],
    ) -> None:
        super().__init__(model, devices, batch_tokens, note)
        self._name, self._note, self._dimension = name, note, dimension
        require_dimension(name, dimension, model.get_embedding_dimension())

    @property
    def dimension(self) -> int:
        return int(self._dimension or self.model.get_embedding_dimension())

    @property
    def mean(self) -> bool:
        """Whether the model divides a score by the number of query tokens."""
        return bool(self.model.similarity_fn_name == "meanmaxsim")

    def passages(
        self, texts: Sequence[str], doc_id: Callable[[int], str], progress: Callable[[int], None] = lambda done: None
    ) -> TextVectors:
        """The token vectors of passages, some of which may have none. ``doc_id`` returns the id of the passage at a
        position, for errors.

        Raises QuatiPoolError for a vector that is not finite, or if a single text does not fit into a device's memory.
        """
        prompt = prompt_of(self.model.prompts, "document")
        parts, at = [], []
        for positions, part in self.batches(texts, prompt, "document", self._vectors, progress):
            parts.append(part)
            at.append(positions)
        encoded = _in_order(parts, at, len(texts), self.dimension)
        owner = np.repeat(np.arange(len(texts)), encoded.counts)
        require_finite(encoded.vectors, lambda row: doc_id(int(owner[row])), self._name)
        return encoded

    def queries(self, queries: Sequence[Query]) -> list[Matrix]:
        """The token vectors of each query, shape (tokens, dimension); a blank query has none.

        Raises QuatiPoolError for a vector that is not finite.
        """
        asked = [row for row, query in enumerate(queries) if query.query.strip()]
        texts = [queries[row].query for row in asked]
        self._say_what_is_cut(texts)
        with quiet():
            found = self.model.encode_query(
                texts, batch_size=_QUERIES, convert_to_numpy=True, show_progress_bar=False
            ) if texts else []  # fmt: skip
        vectors = [np.empty((0, self.dimension), dtype=np.float32) for _ in queries]
        for row, array in zip(asked, found, strict=True):
            array = np.asarray(array, dtype=np.float32)
            require_finite(array, [queries[row].query_id] * len(array), self._name, "query")
            vectors[row] = self._shortened(array)
        return vectors

    def _vectors(self, output: Any) -> TextVectors:
        if "attention_mask" not in output:
            raise ModelError(f"model {self._name!r} does not read texts as padded tokens; name another model")
        mask = output["attention_mask"].bool()
        vectors = output["token_embeddings"][mask].float().cpu().numpy()
        return TextVectors(self._shortened(vectors), mask.sum(1).cpu().numpy().astype(np.int64))

    def _shortened(self, vectors: Matrix) -> Matrix:
        """The leading ``dimension`` components of each vector, scaled to length 1."""
        if self._dimension is None or self._dimension == vectors.shape[1]:
            return vectors
        leading = vectors[:, : self._dimension]
        length = np.linalg.norm(leading, axis=1, keepdims=True)
        unit: Matrix = np.divide(leading, length, out=np.zeros_like(leading), where=length > 0)
        return unit

    def _say_what_is_cut(self, texts: Sequence[str]) -> None:
        """Notes to the user how many queries are longer than what the model reads."""
        module, tokenizer = self.model[0], self.model.tokenizer
        expansion = getattr(module, "query_expansion", None) or {}
        fixed = expansion.get("length") if expansion.get("strategy") == "fixed" else None
        limit = fixed or limit_of(module, "query")
        if not texts or limit is None:
            return
        prompt = prompt_of(self.model.prompts, "query")
        with quiet():
            lengths = [len(ids) for ids in tokenizer([prompt + text for text in texts], verbose=False)["input_ids"]]
        cut = sum(length > limit for length in lengths)
        if cut:
            limit_line = f"{self._name} reads {limit} tokens of a query"
            self._note(f"{limit_line}: the rest is left out, in {cut:,} of {len(texts):,} queries")


def require_dimension(model: str, dimension: int | None, most: int | None) -> None:
    """Raises ConfigError if ``dimension`` is larger than ``most``, the dimension of the model's vectors."""
    if dimension is not None and most is not None and dimension > most:
        raise ConfigError(f"model {model!r} gives token vectors of dimension {most}, not {dimension}; lower dimension")


def _in_order(parts: Sequence[TextVectors], at: Sequence[Sequence[int]], texts: int, dimension: int) -> TextVectors:
    """Combines parts into the vectors of all texts, in the order of the texts; ``at`` holds the positions of each
    part's texts."""
    counts = np.zeros(texts, dtype=np.int64)
    for part, positions in zip(parts, at, strict=True):
        counts[positions] = part.counts
    starts = np.cumsum(counts) - counts
    vectors = np.empty((int(counts.sum()), dimension), dtype=np.float32)
    for part, positions in zip(parts, at, strict=True):
        ends = np.cumsum(part.counts)
        places = np.repeat(starts[positions] - (ends - part.counts), part.counts) + np.arange(len(part.vectors))
        vectors[places] = part.vectors
    return TextVectors(vectors, counts)
