"""Embeddings: the request, the reading of the answer, and the truncation of texts to the server's limits.

Sizes are bounded by UTF-8 bytes: a token of the byte-level encodings that OpenAI's models use has at least one
byte, so a text never has more tokens than bytes, whatever its script.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.llm.answers import Usage, count, no_answer, parsed
from quati_pool.llm.faults import Fault
from quati_pool.llm.tokens import BYTES_A_TOKEN, truncate

MOST_TEXTS = 2048
"""The most texts in one request (OpenAI's API reference, "Create embeddings")."""
MOST_REQUEST_TOKENS = 300_000
"""The most tokens in all texts of one request (same source)."""
MOST_TOKENS = 8192
"""The most tokens in one text (same source)."""

DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
"""Components of a vector if no ``dimensions`` are requested (OpenAI's guide "Vector embeddings")."""

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class EmbeddingRequest:
    """One call: non-empty texts, and how many components a vector should have (None: the model's default).

    ``estimated_tokens`` are reserved under a limit of tokens per minute.
    """

    texts: Sequence[str]
    dimensions: int | None = None
    estimated_tokens: int = 0

    def body(self, model: str, as_base64: bool) -> bytes:
        """The JSON body of the request. Raises UnicodeEncodeError if a text has a lone surrogate."""
        body: dict[str, Any] = {"model": model, "input": list(self.texts)}
        if as_base64:
            body["encoding_format"] = "base64"
        if self.dimensions is not None:
            body["dimensions"] = self.dimensions
        return _ENCODER.encode(body).encode()


@dataclass(frozen=True, eq=False)
class Embeddings:
    """A call's vectors, float32 of shape (texts, dimension) in the order of the texts; components are NaN or
    infinite if the server sent such values. ``seconds`` is the duration of the attempt that succeeded."""

    vectors: npt.NDArray[np.float32]
    model: str | None
    usage: Usage | None
    seconds: float
    retries: int


def read_embeddings(body: bytes, texts: int, seconds: float, retries: int) -> Embeddings:
    """Reads the answer to a request with ``texts`` texts; its vectors may be base64 or lists of numbers, in any order.

    Raises Fault (``protocol``, passing) if the answer is not what the API promises.
    """
    data = parsed(body)
    try:
        rows = data["data"]
        places = [row.get("index", place) for place, row in enumerate(rows)]
        found = [row["embedding"] for row in rows]
        model, usage = data.get("model"), _usage(data.get("usage"))
    except (KeyError, TypeError, AttributeError):
        raise no_answer(data, "embeddings") from None
    if len(found) != texts:
        raise _broken(f"the answer holds {len(found)} embeddings for {texts} texts")
    if any(type(place) is not int for place in places) or sorted(places) != list(range(texts)):
        raise _broken("the answer does not say which embedding is which text's")
    vectors = [_vector(value) for value in found]
    sizes = sorted({len(vector) for vector in vectors})
    if len(sizes) > 1 or sizes == [0]:
        raise _broken(f"the answer holds embeddings of {' and of '.join(map(str, sizes))} components")
    ordered = np.empty((texts, sizes[0]), dtype=np.float32)
    ordered[places] = vectors
    return Embeddings(ordered, model if isinstance(model, str) else None, usage, seconds, retries)


def _vector(value: Any) -> npt.NDArray[np.float32]:
    try:
        if isinstance(value, str):
            return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
        # null becomes NaN, which JSON does not have; values too large for 32 bits become infinite.
        with np.errstate(over="ignore"):
            vector = np.array(value, dtype=np.float64).astype(np.float32)
    except (binascii.Error, ValueError, TypeError, OverflowError):
        raise _broken("the answer holds an embedding that is not a vector") from None
    if vector.ndim != 1:
        raise _broken("the answer holds an embedding that is not a vector")
    return vector


def _broken(words: str) -> Fault:
    return Fault(words, "protocol", passing=True)


def _usage(data: Any) -> Usage | None:
    if not isinstance(data, Mapping):
        return None
    # Some servers report only the total, which for embeddings is the input.
    counts = [count(data.get(name)) for name in ("prompt_tokens", "total_tokens")]
    entered = next((found for found in counts if found is not None), None)
    return None if entered is None else Usage(entered, None, None, None)


def size(text: str) -> int:
    """The size of a text in UTF-8 bytes, an upper bound on its tokens."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def fitted(text: str, max_tokens: int) -> str:
    """The text as it is first sent: truncated if it has more than ``max_tokens`` tokens, estimated by size.

    The cut is the same on every machine. Texts in a denser script may still have more tokens; if the server refuses
    one, it is sent again after ``surely_fitted``.
    """
    # Every character has at least one byte, so a longer prefix cannot fit; this keeps the search short for huge texts.
    shorter = text[: int(max_tokens * BYTES_A_TOKEN) + 1]
    return truncate(shorter, max_tokens) if size(shorter) > max_tokens else shorter


def surely_fitted(text: str, max_tokens: int) -> str:
    """The longest prefix of a text that cannot have more than ``max_tokens`` tokens: one of at most that many bytes."""
    # truncate estimates n tokens for n × BYTES_A_TOKEN bytes.
    return truncate(text, int(max_tokens / BYTES_A_TOKEN))
