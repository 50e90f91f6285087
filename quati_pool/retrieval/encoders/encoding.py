"""Encodes texts as vectors on one device or several, in batches by token count, which are halved if they do not fit
into the device's memory.

Texts are tokenised once, shard by shard, by the model's own ``preprocess``. Batches are slices of the resulting
tensors, each only as wide as its longest text.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import QuatiPoolError
from quati_pool.models.batches import Halving, spread, token_batches
from quati_pool.models.loading import quiet
from quati_pool.models.text_truncation import TextTruncation
from quati_pool.records import Int
from quati_pool.retrieval.encoders.model_inputs import Task, limit_of, reader_of

Matrix = npt.NDArray[np.float32]
T = TypeVar("T")

# Bounds a piece of the corpus, so that long passages do not fill the memory.
PIECE_CHARACTERS = 32_000_000
_READ = 256
# Texts tokenised at a time: the tokenizer holds all of their tokens in memory, even those beyond the limit.
_TOKENISE = 512


class Encoded(NamedTuple):
    """Encoded texts: arrays with one row per text or, if ``counts`` is given, with that many rows per text."""

    arrays: Mapping[str, npt.NDArray[Any]]
    counts: Int | None = None


def require_finite(
    vectors: npt.NDArray[Any], ids: Callable[[int], str] | Sequence[str], model: str, what: str = "passage"
) -> None:
    """Raises QuatiPoolError, with the id of the row, if a row of ``vectors``, shape (n, …), has NaN or an infinity."""
    # A cheap first check: a finite sum means that all elements are finite.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(vectors.sum(dtype=np.float64)):
            return
    bad = np.flatnonzero(~np.isfinite(vectors.reshape(len(vectors), -1)).all(axis=1))
    if len(bad):
        row = int(bad[0])
        name = ids(row) if callable(ids) else ids[row]
        raise QuatiPoolError(
            f"model {model!r} gives {what} {name!r} a vector with NaN or infinite numbers; "
            "compute in fp32 if it is fp16 or bf16, else use another model"
        )


def pieces(corpus: CorpusStore, ordinals: Int, start: int, size: int) -> Iterator[tuple[Int, list[str]]]:
    """The passages ``ordinals[start:]`` with their texts, ``size`` at a time, fewer if they are long.

    A ``start`` at the end of an earlier piece gives the same further pieces as before.
    """
    while start < len(ordinals):
        texts: list[str] = []
        characters = 0
        while len(texts) < size and start + len(texts) < len(ordinals) and characters < PIECE_CHARACTERS:
            at = start + len(texts)
            some = corpus.texts(ordinals[at : min(at + _READ, start + size)])
            texts += some
            characters += sum(map(len, some))
        yield ordinals[start : start + len(texts)], texts
        start += len(texts)


class Tokenized:
    """The output of a model's ``preprocess`` for many texts: tensors with one row per text, which are cut into batches.

    ``parts`` are the features of consecutive texts; ``padding`` is the id of the padding token. ``lengths``, shape
    (n,), are the texts' lengths in tokens, without padding.
    """

    def __init__(self, parts: Sequence[dict[str, Any]], padding: int) -> None:
        import torch

        masks = [part["attention_mask"] for part in parts]
        width = max(mask.shape[1] for mask in masks)
        self._left = any(bool(mask.shape[1]) and not bool(mask[:, 0].all()) for mask in masks)
        self._features: dict[str, Any] = {}
        self._rows: set[str] = set()
        for name, value in parts[0].items():
            values = [part[name] for part in parts]
            if not all(
                isinstance(v, torch.Tensor) and v.shape[:2] == m.shape for v, m in zip(values, masks, strict=True)
            ):
                self._features[name] = value
                continue
            self._rows.add(name)
            fill = padding if name == "input_ids" else 0
            # For texts without any token, a tokenizer may return an empty tensor of another type.
            kind = next((v.dtype for v in values if v.numel()), torch.int64)
            self._features[name] = torch.cat([self._padded(v.to(kind), width, fill) for v in values])
        mask = self._features["attention_mask"]
        self.lengths: Int = mask.sum(1).numpy().astype(np.int64)
        # Rows can be narrowed only if the tokens of each are contiguous at one end.
        end = mask.flip(1) if self._left else mask
        self._cuts = bool((end.cummin(1).values == end).all())

    def _padded(self, rows: Any, width: int, fill: int) -> Any:
        import torch

        more = width - rows.shape[1]
        return torch.nn.functional.pad(rows, (more, 0) if self._left else (0, more), value=fill)

    def batch(self, positions: Sequence[int]) -> dict[str, Any]:
        """The features of some texts, only as wide as the longest of them."""
        import torch

        index = torch.as_tensor(positions)
        width = int(self.lengths[list(positions)].max())
        found = dict(self._features)
        for name in self._rows:
            rows = self._features[name][index]
            if self._cuts:
                rows = rows[:, -width:] if self._left else rows[:, :width]
            found[name] = rows
        return found


class TextEncoder:
    """A model of sentence-transformers on one or more devices, each with its own copy of the model and its own
    thread."""

    def __init__(self, model: Any, devices: Sequence[str], batch_tokens: int, note: Callable[[str], None]) -> None:
        self.model = model
        self._budget = batch_tokens
        self._models = [model, *(copy.deepcopy(model).to(device) for device in devices[1:])]
        self._halvings = [Halving(note) for _ in self._models]

    @property
    def on_gpu(self) -> bool:
        return str(self.model.device.type) != "cpu"

    @property
    def layer_weights(self) -> int:
        """The number of weights that every token passes, which excludes embeddings."""
        tables = {
            id(module.weight)
            for module in self.model.modules()
            if type(module).__name__ in ("Embedding", "EmbeddingBag")
        }
        return sum(weight.numel() for weight in self.model.parameters() if id(weight) not in tables)

    def batches(
        self,
        texts: Sequence[str],
        prompt: str,
        task: Task,
        make: Callable[[Any], T],
        progress: Callable[[int], None] = lambda done: None,
    ) -> Iterator[tuple[list[int], T]]:
        """Yields, for each batch, the positions of its texts and the result of ``make``, which is called with the
        model's output on the device. Texts without any token are in no batch.

        ``progress`` is called with the number of texts done. Raises QuatiPoolError if a single text does not fit into a
        device's memory.
        """
        import torch

        reader = reader_of(self.model, task)
        tokenizer = getattr(reader, "tokenizer", None)
        shortened = TextTruncation(tokenizer, limit_of(reader, task))
        kept = [shortened(text) for text in texts]
        with quiet():
            tokenized = self._tokenized(kept, prompt, task, getattr(tokenizer, "pad_token_id", None) or 0)
        lengths = np.array([len(text) // 4 + 1 for text in kept]) if tokenized is None else tokenized.lengths

        def work(model: Any, positions: list[int]) -> T:
            if tokenized is None:
                features = self._preprocess([kept[position] for position in positions], prompt, task)
            else:
                features = tokenized.batch(positions)
            with torch.inference_mode():
                there = {
                    name: value.to(model.device) if isinstance(value, torch.Tensor) else value
                    for name, value in features.items()
                }
                return make(model(there, task=task))

        wanted = [batch[lengths[batch] > 0] for batch in token_batches(lengths, self._budget)]
        done = 0
        for positions, result in spread(
            [batch.tolist() for batch in wanted if len(batch)], work, self._models, self._halvings
        ):
            yield positions, result
            done += len(positions)
            progress(done)

    def _tokenized(self, texts: list[str], prompt: str, task: Task, padding: int) -> Tokenized | None:
        """All texts as tensors; None for a model whose inputs are not padded rows (static embeddings, inputs without
        padding), for which texts are preprocessed batch by batch."""
        import torch

        parts = []
        for start in range(0, len(texts), _TOKENISE):
            some = texts[start : start + _TOKENISE]
            features = self._preprocess(some, prompt, task)
            mask = features.get("attention_mask")
            if not isinstance(mask, torch.Tensor) or mask.ndim != 2 or len(mask) != len(some):
                return None
            parts.append(features)
        return Tokenized(parts, padding) if parts else None

    def _preprocess(self, texts: list[str], prompt: str, task: Task) -> dict[str, Any]:
        return dict(self.model.preprocess(texts, prompt=prompt or None, task=task))


class Encoder(TextEncoder):
    """A SentenceTransformer on its devices."""

    @property
    def dimension(self) -> int | None:
        """The dimension of the model's vectors before any truncation; None if the model does not say."""
        dimension = self.model.get_embedding_dimension()
        return None if dimension is None else int(dimension)

    def encode(
        self,
        texts: Sequence[str],
        prompt: str,
        task: Task,
        truncate_dim: int | None,
        normalize: bool,
        progress: Callable[[int], None] = lambda done: None,
    ) -> Matrix:
        """The vectors of ``texts``, shape (n, dimension), float32; zeros for a text without any token.

        ``task`` matters for models that treat queries and documents differently. Raises the errors of ``batches``.
        """
        import torch

        def make(output: Any) -> Matrix:
            vectors = output["sentence_embedding"][:, :truncate_dim].float()
            if normalize:
                vectors = torch.nn.functional.normalize(vectors, dim=1)
            array: Matrix = vectors.cpu().numpy()
            return array

        out: Matrix | None = None
        for positions, vectors in self.batches(texts, prompt, task, make, progress):
            if out is None:
                out = np.zeros((len(texts), vectors.shape[1]), dtype=np.float32)
            out[positions] = vectors
        return np.zeros((len(texts), truncate_dim or self.dimension or 0), dtype=np.float32) if out is None else out
