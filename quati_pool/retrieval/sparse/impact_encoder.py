"""Encodes texts as impacts with a SparseEncoder of sentence-transformers, on one device or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.retrieval.encoders.encoding import TextEncoder
from quati_pool.retrieval.encoders.model_inputs import Task, prompt_of
from quati_pool.retrieval.sparse.impacts import Vectors, joined, quantised, reordered


class ImpactEncoder(TextEncoder):
    """A loaded model on its devices. Queries and passages each have their own prompt and, if the model has routes,
    their own route."""

    def impacts(
        self,
        texts: Sequence[str],
        task: Task,
        name: Callable[[int], str],
        quantization: int,
        keep: int | None,
        progress: Callable[[int], None] = lambda done: None,
    ) -> Vectors:
        """The impacts of ``texts``, in order, of the ``keep`` heaviest terms of each (None: all); a text without any
        token has none.

        Memory holds the dense weights of one batch. ``name`` describes the text at a position in errors. Raises the
        errors of ``quantised``.
        """
        prompt = prompt_of(self.model.prompts, task)
        found = []
        order: list[int] = []
        for positions, dense in self.batches(texts, prompt, task, self._weights, progress):
            found.append(quantised(dense, lambda row: name(positions[row]), quantization, keep))  # noqa: B023
            order += positions
        without = np.setdiff1d(np.arange(len(texts)), order)
        found.append(quantised(np.empty((len(without), 0), dtype=np.float32), name, quantization, keep))
        return reordered(joined(found), np.argsort([*order, *without.tolist()]))

    def _weights(self, output: Any) -> npt.NDArray[np.float32]:
        """The dense weights, shape (texts, vocabulary), that ``SparseEncoder.encode`` returns, scaled to unit length
        for a model that compares by cosine."""
        import torch
        from sentence_transformers.util import select_max_active_dims

        vectors = select_max_active_dims(output["sentence_embedding"], self.model.max_active_dims).float()
        if self.model.similarity_fn_name == "cosine":
            vectors = torch.nn.functional.normalize(vectors, dim=1)
        found: npt.NDArray[np.float32] = vectors.cpu().numpy()
        return found
