"""Runs causal language models with vLLM, which makes its own batches and keeps the shared beginnings of prompts itself.

Written after vLLM's documented interface (``LLM.generate`` with token ids, ``prompt_logprobs``); not part of the tests.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.errors import ConfigError
from quati_pool.llm.local.engine import Choice, Generated, Tokens
from quati_pool.models.causal import causal_config, load_chat_tokenizer, most_positions
from quati_pool.models.loading import load_errors
from quati_pool.models.location import LocalModel
from quati_pool.models.parameters import ModelParameters

_DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}


def require_vllm() -> None:
    """Raises ConfigError if vLLM is not installed."""
    if importlib.util.find_spec("vllm") is None:
        raise ConfigError("engine: vllm needs vLLM; install it (pip install vllm), or leave engine: out")


class VllmEngine:
    """An engine that runs vLLM; see ``Engine``. vLLM picks the device, and how much it holds at once."""

    device = "vLLM"
    shared = 0

    def __init__(self, local: LocalModel, parameters: ModelParameters) -> None:
        """Loads the model. Raises QuatiPoolError if it cannot be used."""
        require_vllm()
        import vllm  # type: ignore[import-not-found, unused-ignore]

        self.context = most_positions(causal_config(local.folder, parameters.model))
        self.tokenizer = load_chat_tokenizer(local.folder, parameters.model)
        with load_errors(parameters.model):
            self._model: Any = vllm.LLM(
                model=str(local.folder), dtype=_DTYPES[parameters.compute], enable_prefix_caching=True, seed=0
            )
        self._settings = vllm.SamplingParams
        self._end = self.tokenizer.eos_token_id

    def score(self, choices: Sequence[Choice]) -> Iterator[tuple[list[int], npt.NDArray[np.float64]]]:
        # A request per ending; prompt_logprobs=0 gives the probability of each token of the prompt itself.
        rows = [np.concatenate([choice.prompt, ending]) for choice in choices for ending in choice.endings]
        outputs = iter(self._run(rows, max_tokens=1, prompt_logprobs=0))
        scores = np.array(
            [[_logprob_of(next(outputs), len(choice.prompt)) for _ in choice.endings] for choice in choices]
        )
        yield list(range(len(choices))), scores

    def generate(
        self, prompts: Sequence[Tokens], most: int, stopped: Callable[[], bool]
    ) -> Iterator[tuple[list[int], list[Generated]]]:
        outputs = [one.outputs[0] for one in self._run(prompts, max_tokens=most, skip_special_tokens=False)]
        generated = [Generated(self._without_end(one), one.finish_reason == "stop") for one in outputs]
        yield list(range(len(prompts))), generated

    def _run(self, rows: Sequence[Tokens], **settings: Any) -> list[Any]:
        prompts = [{"prompt_token_ids": row.tolist()} for row in rows]
        return list(self._model.generate(prompts, self._settings(temperature=0.0, **settings), use_tqdm=False))

    def _without_end(self, output: Any) -> list[int]:
        """An answer's tokens without the one that ended it: ``stop_reason``, or the usual one where that is None."""
        tokens = list(output.token_ids)
        end = self._end if output.stop_reason is None else output.stop_reason
        return tokens[:-1] if tokens and tokens[-1] == end else tokens


def _logprob_of(output: Any, start: int) -> float:
    """The log-probability of a request's tokens from ``start`` on."""
    given = zip(output.prompt_token_ids[start:], output.prompt_logprobs[start:], strict=True)
    return float(sum(likely[token].logprob for token, likely in given))
