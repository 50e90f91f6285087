"""Runs causal language models of transformers in batches of bounded size, on one device or several.

The first tokens that all prompts of a run share (the system message and the examples) are computed once: their keys and
values are kept, and every batch goes on from a copy of them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from quati_pool.errors import QuatiPoolError
from quati_pool.llm.local.engine import Choice, Generated, Tokens
from quati_pool.models.batches import Halving, spread, token_batches
from quati_pool.models.causal import causal_config, load_causal, load_chat_tokenizer, most_positions
from quati_pool.models.errors import ModelError
from quati_pool.models.loading import quiet
from quati_pool.models.location import LocalModel
from quati_pool.models.parameters import ModelParameters, devices_of

T = TypeVar("T")
# Fewer shared tokens are not worth a copy of their keys and values.
_WORTH = 32
# On a CPU the rows that are computed together share the weights that are read from memory.
_CPU_TOKENS = 8192


class TransformersEngine:
    """An engine that runs transformers; see ``Engine``."""

    def __init__(self, local: LocalModel, parameters: ModelParameters, note: Callable[[str], None]) -> None:
        """Loads the model onto every device. Raises QuatiPoolError if it cannot be used there."""
        devices = devices_of(parameters)
        self.context = most_positions(causal_config(local.folder, parameters.model))
        self.tokenizer = load_chat_tokenizer(local.folder, parameters.model)
        on_each = [parameters.model_copy(update={"device": device}) for device in devices]
        self._models = [_CausalModel(load_causal(local.folder, one), self.tokenizer) for one in on_each]
        self._halvings = [Halving(note) for _ in devices]
        self._budget = parameters.batch_tokens
        if "batch_tokens" not in parameters.model_fields_set and devices[0].startswith("cpu"):
            self._budget = min(self._budget, _CPU_TOKENS)
        self._name = parameters.model
        self.device = ", ".join(devices)
        self._shared = np.zeros(0, dtype=np.int64)

    @property
    def shared(self) -> int:
        return len(self._shared)

    def score(self, choices: Sequence[Choice]) -> Iterator[tuple[list[int], npt.NDArray[np.float64]]]:
        self._share([choice.prompt for choice in choices])
        sizes = [_rows_of(choice.endings) * (len(choice.prompt) + _longest(choice.endings)) for choice in choices]

        def work(model: _CausalModel, part: list[int]) -> npt.NDArray[np.float64]:
            return model.score([choices[place] for place in part], self._shared)

        return self._run(sizes, work)

    def generate(
        self, prompts: Sequence[Tokens], most: int, stopped: Callable[[], bool]
    ) -> Iterator[tuple[list[int], list[Generated]]]:
        self._share(prompts)

        def work(model: _CausalModel, part: list[int]) -> list[Generated]:
            return model.generate([prompts[place] for place in part], self._shared, most, stopped)

        return self._run([len(prompt) + most for prompt in prompts], work)

    def _run(self, sizes: Sequence[int], work: Callable[[_CausalModel, list[int]], T]) -> Iterator[tuple[list[int], T]]:
        batches = [batch.tolist() for batch in token_batches(np.array(sizes), self._budget)]
        try:
            with quiet():
                yield from spread(batches, work, self._models, self._halvings)
        except QuatiPoolError:
            raise
        except RuntimeError as error:
            said = " ".join(str(error).split())[:200] or type(error).__name__
            raise ModelError(f"model {self._name!r} failed on {self.device} ({said})") from error

    def _share(self, prompts: Sequence[Tokens]) -> None:
        """Chooses the tokens that are computed once: those that all prompts begin with, and earlier ones too where
        they have enough in common."""
        if all(_begins(prompt, self._shared) for prompt in prompts) and self.shared:
            return
        own = _common([prompt[:-1] for prompt in prompts]) if len(prompts) > 1 else prompts[0][:0]
        both = _common([own, self._shared])
        self._shared = next((one for one in (both, own) if len(one) >= _WORTH), own[:0])


class _Prefix(NamedTuple):
    tokens: Tokens
    cache: Any
    """The keys and values of ``tokens``; None if there are none."""


class _CausalModel:
    """A model on one device."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self._model = model
        self.config = model.config
        # One token or several, in either place.
        ends = np.hstack([model.generation_config.eos_token_id or [], tokenizer.eos_token_id or []])
        self._ends = sorted({int(end) for end in ends})
        pad = tokenizer.pad_token_id
        self._pad = int(pad if pad is not None else self._ends[0] if self._ends else 0)
        self._prefix = _Prefix(np.zeros(0, dtype=np.int64), None)

    def score(self, choices: Sequence[Choice], shared: Tokens) -> npt.NDArray[np.float64]:
        """The log-probabilities of the endings, shape (choices, endings).

        Rows are padded on the right, where nothing before can see the padding. An ending's last token is predicted, not
        read, so that endings of one token need a single row.
        """
        import torch

        rows: list[Tokens] = []
        at: list[tuple[int, int, int]] = []  # the place of an ending in the result, and the row that reads it
        for place, choice in enumerate(choices):
            read = _read_together(choice.endings)
            at += [(place, ending, len(rows) + row) for ending, row in enumerate(read.row_of)]
            rows += [np.concatenate([choice.prompt, tail]) for tail in read.tails]
        starts = np.array([len(choices[place].prompt) for place, ending, _ in at if ending == 0])
        start_of_row = np.zeros(len(rows), dtype=np.int64)
        for place, _, row in at:
            start_of_row[row] = starts[place] - 1
        longest = max(_longest(choice.endings) for choice in choices)
        likely = self._log_probabilities(rows, start_of_row, longest, shared)
        tokens = [
            (place, ending, row, step, int(token))
            for place, ending, row in at
            for step, token in enumerate(choices[place].endings[ending])
        ]
        places, endings, row_ids, steps, ids = np.array(tokens, dtype=np.int64).T
        device = likely.device
        picked = likely[tuple(torch.as_tensor(index, device=device) for index in (row_ids, steps, ids))]
        summed = np.zeros((len(choices), len(choices[0].endings)))
        np.add.at(summed, (places, endings), picked.double().cpu().numpy())
        return summed

    def _log_probabilities(self, rows: Sequence[Tokens], starts: Tokens, steps: int, shared: Tokens) -> Any:
        """The log-probabilities of all tokens after the first ``starts[i] + 1`` tokens of row i, and after each of the
        next ones: a tensor of shape (rows, steps, vocabulary), whose steps beyond a row's end repeat its last."""
        import torch

        with torch.inference_mode():
            cache = self._copies(shared, len(rows))
            known = 0 if cache is None else len(shared)
            lengths = np.array([len(row) for row in rows]) - known
            ids = np.full((len(rows), lengths.max()), self._pad, dtype=np.int64)
            mask = np.ones((len(rows), known + lengths.max()), dtype=np.int64)
            for number, row in enumerate(rows):
                ids[number, : lengths[number]] = row[known:]
                mask[number, known + lengths[number] :] = 0
            wanted = np.minimum(starts[:, None] - known + np.arange(steps), lengths[:, None] - 1)
            logits = self._logits(ids, mask, wanted, cache)
            return torch.log_softmax(logits.float(), dim=-1)

    def _logits(self, ids: Tokens, mask: Tokens, wanted: Tokens, cache: Any) -> Any:
        """The logits at the ``wanted`` positions of each row: a tensor of shape (*wanted.shape, vocabulary)."""
        import torch

        device = self._model.device
        rows = torch.arange(len(ids), device=device)[:, None]
        columns = torch.as_tensor(wanted, device=device)
        with _only_at(self._model.get_output_embeddings(), rows, columns, ids.shape[1]):
            out = self._model(
                input_ids=torch.as_tensor(ids, device=device),
                attention_mask=torch.as_tensor(mask, device=device),
                past_key_values=cache,
                use_cache=cache is not None,
            )
        logits = out.logits
        return logits if logits.shape[1] == wanted.shape[1] != ids.shape[1] else logits[rows, columns]

    def generate(
        self, prompts: Sequence[Tokens], shared: Tokens, most: int, stopped: Callable[[], bool]
    ) -> list[Generated]:
        """Greedy answers. Padding is between the shared tokens and the rest of a shorter prompt."""
        import torch

        device = self._model.device
        longest = max(map(len, prompts))
        # A sliding window counts the padding.
        apart = self._windowed and any(len(prompt) < longest for prompt in prompts)
        with torch.inference_mode():
            cache = None if apart else self._copies(shared, len(prompts))
            known = 0 if cache is None else len(shared)
            ids = np.full((len(prompts), longest), self._pad, dtype=np.int64)
            mask = np.ones_like(ids)
            for number, prompt in enumerate(prompts):
                gap = longest - len(prompt)
                ids[number, :known] = prompt[:known]
                ids[number, known + gap :] = prompt[known:]
                mask[number, known : known + gap] = 0
            out = self._model.generate(
                input_ids=torch.as_tensor(ids, device=device),
                attention_mask=torch.as_tensor(mask, device=device),
                past_key_values=cache,
                max_new_tokens=most,
                do_sample=False,
                num_beams=1,
                repetition_penalty=1.0,
                no_repeat_ngram_size=0,
                temperature=None,
                top_p=None,
                top_k=None,
                pad_token_id=self._pad,
                eos_token_id=self._ends or None,
                stopping_criteria=[lambda *_: torch.full((len(prompts),), stopped(), device=device)],
            )
        return [self._until_end(tokens) for tokens in out[:, longest:].tolist()]

    def _until_end(self, tokens: list[int]) -> Generated:
        end = next((place for place, token in enumerate(tokens) if token in self._ends), None)
        return Generated(tokens, False) if end is None else Generated(tokens[:end], True)

    @property
    def _windowed(self) -> bool:
        config = self.config.get_text_config()
        kinds = getattr(config, "layer_types", None)
        if kinds is not None:
            return any(kind != "full_attention" for kind in kinds)
        return getattr(config, "sliding_window", None) is not None

    def _copies(self, shared: Tokens, rows: int) -> Any:
        """The keys and values of the shared tokens for each of ``rows``; None if there are none, or the model keeps no
        such cache."""
        if not len(shared):
            return None
        if not np.array_equal(shared, self._prefix.tokens):
            self._prefix = _Prefix(shared, self._cached(shared))
        if self._prefix.cache is None:
            return None
        cache = copy.deepcopy(self._prefix.cache)
        cache.batch_repeat_interleave(rows)
        return cache

    def _cached(self, shared: Tokens) -> Any:
        import torch

        device = self._model.device
        first = torch.zeros((1, 1), dtype=torch.int64, device=device)
        with _only_at(self._model.get_output_embeddings(), first, first, len(shared)):
            out = self._model(input_ids=torch.as_tensor(shared[None], device=device), use_cache=True)
        cache = getattr(out, "past_key_values", None)
        return cache if hasattr(cache, "batch_repeat_interleave") else None


class _ReadTogether(NamedTuple):
    tails: list[Tokens]
    """The distinct tokens to read after the prompt, without those that begin another tail."""
    row_of: list[int]
    """For each ending, the tail that begins with all its tokens but the last."""


def _read_together(endings: Sequence[Tokens]) -> _ReadTogether:
    read = [ending[:-1] for ending in endings]
    tails: list[Tokens] = []
    for tail in sorted(read, key=len, reverse=True):
        if not any(_begins(kept, tail) for kept in tails):
            tails.append(tail)
    return _ReadTogether(tails, [next(n for n, kept in enumerate(tails) if _begins(kept, tail)) for tail in read])


def _rows_of(endings: Sequence[Tokens]) -> int:
    return len(_read_together(endings).tails)


def _longest(endings: Sequence[Tokens]) -> int:
    return max(map(len, endings))


def _begins(tokens: Tokens, first: Tokens) -> bool:
    return len(first) <= len(tokens) and bool(np.array_equal(tokens[: len(first)], first))


def _common(rows: Sequence[Tokens]) -> Tokens:
    """The tokens with which all rows begin."""
    length = min(map(len, rows))
    same = np.all([row[:length] == rows[0][:length] for row in rows], axis=0)
    return rows[0][: length if same.all() else int(np.argmin(same))]


@contextmanager
def _only_at(layer: Any, rows: Any, columns: Any, length: int) -> Iterator[None]:
    """Lets the layer that computes logits see only some positions, since the logits of all would fill the memory;
    what the model does with logits afterwards stays."""

    def picked(_: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        hidden, *rest = inputs
        return (hidden[rows, columns], *rest) if hidden.ndim == 3 and hidden.shape[1] == length else inputs

    hook = None if layer is None else layer.register_forward_pre_hook(picked)
    try:
        yield
    finally:
        if hook is not None:
            hook.remove()
