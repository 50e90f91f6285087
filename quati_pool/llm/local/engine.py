"""What runs a model on this machine: an engine with two operations on prompts that are tokenised already."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Tokens = npt.NDArray[np.int64]


class Choice(NamedTuple):
    """The tokens of a prompt, and those of each text that may follow it (none is empty)."""

    prompt: Tokens
    endings: tuple[Tokens, ...]


class Generated(NamedTuple):
    """The tokens that follow a prompt, without the end token; ``ended`` is False if they were cut off."""

    tokens: list[int]
    ended: bool


class Engine(Protocol):
    """A loaded model. Both operations yield the positions of some prompts with their results, until all are done."""

    tokenizer: Any
    """The model's tokenizer of transformers."""
    context: int | None
    """The most tokens of a prompt and its answer together; None if unknown."""
    device: str
    """Where the model runs, such as ``cuda``."""

    @property
    def shared(self) -> int:
        """The number of first tokens that were computed once for all prompts of the last operation."""

    def score(self, choices: Sequence[Choice]) -> Iterator[tuple[list[int], npt.NDArray[np.float64]]]:
        """The natural logarithm of the probability of each ending after its prompt, shape (prompts, endings)."""

    def generate(
        self, prompts: Sequence[Tokens], most: int, stopped: Callable[[], bool]
    ) -> Iterator[tuple[list[int], list[Generated]]]:
        """The likeliest token after token, at most ``most``; cut off once ``stopped`` returns True."""
