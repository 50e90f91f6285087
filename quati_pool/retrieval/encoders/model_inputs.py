"""How a loaded model of sentence-transformers reads texts: with which module and prompt, and up to which length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from quati_pool.errors import ConfigError

Task = Literal["query", "document"]
TASKS: tuple[Task, ...] = ("query", "document")

_PROMPTS: Mapping[Task, Sequence[str]] = {"query": ("query",), "document": ("document", "passage", "corpus")}
_UNLIMITED = 10**6
"""A tokenizer limit of this size or more means that there is no limit."""


def prompt_of(prompts: Mapping[str, Any], task: Task) -> str:
    """The prompt of a model for queries or passages, looked up by the names that sentence-transformers uses; empty if
    there is none.

    sentence-transformers itself adds an empty ``document`` prompt to models without one, which would hide the
    ``passage`` prompt of older models.
    """
    texts = (prompts.get(name) for name in _PROMPTS[task])
    return next((text for text in texts if isinstance(text, str) and text), "")


def reader_of(model: Any, task: Task) -> Any:
    """The module that tokenises queries or passages; in a model with routes, the first module of the task's route."""
    first = model[0]
    if not hasattr(first, "sub_modules"):
        return first
    return first.sub_modules[first._resolve_route(task=task, modality="text")][0]


def limit_of(reader: Any, task: Task) -> int | None:
    """The number of tokens of a text that a module reads; None if it reads all."""
    limit = getattr(reader, f"{task}_length", None) or getattr(reader, "max_seq_length", None)
    return limit if isinstance(limit, int) and limit < _UNLIMITED else None


def limit_tokens(model: Any, name: str, max_tokens: int | None, tasks: Sequence[Task] = TASKS) -> None:
    """Limits a model to ``max_tokens`` tokens per text for these tasks and, for all tasks, to the tokens that it has
    positions for.

    Raises ConfigError if it has fewer positions than ``max_tokens``, or always reads whole texts.
    """
    for task in TASKS:
        reader = reader_of(model, task)
        known, positions = limit_of(reader, task), positions_of(reader)
        limit = min((limit for limit in (known, positions) if limit is not None), default=None)
        if max_tokens is not None and task in tasks:
            if getattr(reader, "max_seq_length", None) == float("inf"):
                raise ConfigError(f"model {name!r} reads texts of any length whole; drop max_tokens")
            if positions is not None and max_tokens > positions:
                raise ConfigError(f"model {name!r} reads at most {positions:,} tokens of a text; lower max_tokens")
            limit = max_tokens
        if limit is not None and limit != known:
            _set_limit(reader, task, limit)


def positions_of(module: Any) -> int | None:
    """The number of tokens that a module has positions for; None if there is no such limit."""
    import torch

    for name, part in module.named_modules():
        if name.endswith("position_embeddings") and isinstance(part, torch.nn.Embedding):
            # RoBERTa and similar models start counting positions after that of the padding token.
            return int(part.num_embeddings - (0 if part.padding_idx is None else part.padding_idx + 1))
    limit = getattr(getattr(module, "config", None), "max_position_embeddings", None)
    return limit if isinstance(limit, int) and limit > 0 else None


def _set_limit(reader: Any, task: Task, limit: int) -> None:
    if hasattr(reader, f"{task}_length"):
        setattr(reader, f"{task}_length", limit)
        return
    reader.max_seq_length = limit
    # A static embedding ignores max_seq_length, so its tokenizer gets the limit.
    reader.tokenizer.model_max_length = limit
