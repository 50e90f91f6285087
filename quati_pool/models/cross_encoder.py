"""Cross-encoders of sentence-transformers: models that read query and passage in one input."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.models.batches import Halving, spread, token_batches
from quati_pool.models.errors import ModelError
from quati_pool.models.loading import load_model, quiet
from quati_pool.models.location import LocalModel
from quati_pool.models.pair_tokens import Batch, Frame, TextReader, Tokens
from quati_pool.models.parameters import ModelParameters, batch_tokens_of, devices_of

Outputs = npt.NDArray[np.float64]


def pair_frame(model: Any, name: str) -> Frame:
    """The tokens that a model, called ``name``, has around query and passage.

    Raises ModelError for a model that does not read pairs as text, or whose tokenizer does not say which text a token
    is from.
    """
    if "message" in model[0].modality_config or "text" not in model[0].modality_config:
        raise ModelError(
            f"model {name!r} reads pairs through a chat template or other than as text, which cross-encoder does not; "
            f"name another model"
        )
    try:
        return Frame.of(model.tokenizer)
    except ValueError as error:
        raise ModelError(f"model {name!r} cannot be used: {error}; name another model") from None


def positions_of(model: Any) -> int:
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


def features_of(model: Any, batch: Batch) -> dict[str, Any]:
    """A batch as the model's input, on the CPU."""
    import torch

    features: dict[str, Any] = {
        "input_ids": torch.from_numpy(batch.ids),
        "attention_mask": torch.from_numpy(batch.mask),
    }
    if "token_type_ids" in model.tokenizer.model_input_names:
        features["token_type_ids"] = torch.from_numpy(batch.types)
    return features


def outputs_of(model: Any, features: dict[str, Any]) -> Any:
    """The model's outputs before any activation, a tensor of shape (pairs, outputs), in float32."""
    device = model.device
    moved = {name: tensor.to(device) for name, tensor in features.items()}
    scores = model({**moved, "modality": "text"})["scores"].float()
    return scores.reshape(len(features["input_ids"]), -1)


class PairReader:
    """Converts pairs to tokens, at most ``max_tokens`` with those of the frame: a query as a whole, and what fits of
    the passage."""

    def __init__(self, tokenizer: Any, frame: Frame, max_tokens: int) -> None:
        self._texts = TextReader(tokenizer, max_tokens)
        self.frame = frame
        self.max_tokens = max_tokens

    @classmethod
    def of_folder(cls, folder: Path, max_tokens: int) -> PairReader:
        """A reader for the model in ``folder``, whose weights stay unread."""
        import transformers

        with quiet():
            tokenizer: Any = transformers.AutoTokenizer.from_pretrained(
                str(folder), local_files_only=True, trust_remote_code=False
            )
        return cls(tokenizer, Frame.of(tokenizer), max_tokens)

    def fits(self, query: str, passage: str) -> bool:
        """Whether query and passage are read as a whole."""
        return sum(map(len, self._texts.whole([query, passage]))) + len(self.frame) <= self.max_tokens

    def __call__(self, queries: Sequence[str], passages: Sequence[str]) -> list[tuple[Tokens, Tokens] | None]:
        """Each pair's tokens; None for a query that leaves no room for a passage."""
        if not queries:
            return []
        different = list(dict.fromkeys(queries))
        asked = dict(zip(different, self._texts.whole(different), strict=True))
        room = self.max_tokens - len(self.frame)
        found: list[tuple[Tokens, Tokens] | None] = []
        for query, passage in zip(queries, self._texts.beginnings(passages), strict=True):
            left = room - len(asked[query])
            found.append((asked[query], passage[:left]) if left > 0 else None)
        return found

    def batch(self, pairs: Sequence[tuple[Tokens, Tokens]]) -> Batch:
        return self.frame.batch(pairs)


class PairScorer:
    """A loaded model that computes the outputs of pairs, in batches by tokens on one device or several."""

    def __init__(self, local: LocalModel, parameters: ModelParameters, max_tokens: int) -> None:
        """Raises ModelError if the model cannot be loaded completely or does not read pairs as text."""
        model = load_model("CrossEncoder", local.folder, parameters)
        names = devices_of(parameters)
        self._models = [model, *(copy.deepcopy(model).to(name) for name in names[1:])]
        self._budget = batch_tokens_of(parameters, names)
        self.reader = PairReader(model.tokenizer, pair_frame(model, parameters.model), max_tokens)
        self.outputs = int(model.num_labels)

    def score(
        self, queries: Sequence[str], passages: Sequence[str], note: Callable[[str], None] = lambda line: None
    ) -> Outputs:
        """The outputs of each pair before any activation, shape (pairs, outputs); NaN for one whose query leaves no
        room for a passage."""
        import torch

        pairs = self.reader(queries, passages)
        found = np.full((len(pairs), self.outputs), np.nan)
        readable = [place for place, pair in enumerate(pairs) if pair is not None]
        whole = [pair for pair in pairs if pair is not None]
        lengths = np.array([len(query) + len(passage) for query, passage in whole], dtype=np.int64)
        batches = token_batches(lengths + len(self.reader.frame), self._budget)

        def work(model: Any, rows: list[int]) -> Outputs:
            features = features_of(model, self.reader.batch([whole[row] for row in rows]))
            with torch.inference_mode():
                outputs: Outputs = outputs_of(model, features).cpu().numpy().astype(np.float64)
            return outputs

        halvings = [Halving(note) for _ in self._models]
        for rows, outputs in spread([batch.tolist() for batch in batches], work, self._models, halvings):
            found[[readable[row] for row in rows]] = outputs
        return found
