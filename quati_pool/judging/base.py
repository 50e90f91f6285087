"""What a judge is: a class that plug-ins subclass too, with a parameter model and a verdict for every pair.

A judge does not know where labels are kept or which pairs were graded before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from quati_pool.judging.pair import Pair
from quati_pool.judging.prompted_model import PromptedModel
from quati_pool.judging.verdict import Verdict

__all__ = ["Judge", "Pair", "Parameters", "Setting"]


class Parameters(BaseModel):
    """What a user may set of a judge; every field has a description, shown by the listing."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


@dataclass(frozen=True)
class Setting:
    """What a judge may need of the collection: its folder, to which paths are relative, and its scale."""

    folder: Path
    grades: Mapping[int, str]


class Judge(ABC):
    """Grades pairs by itself (``grade``), or asks a language model (``model``).

    Created once per command from checked parameters; ``__init__`` raises QuatiPoolError where it cannot work.
    """

    id: ClassVar[str]
    """What it is called in all that is stored, such as ``judge/llm``, wherever its code is. A plug-in without
    one is called by its kind and the name of its entry point."""

    revision: ClassVar[int] = 1
    """Raised when the same parameters come to give other grades, so that older labels are history."""

    Parameters: ClassVar[type[BaseModel]]
    summary: ClassVar[str]
    parameters: BaseModel
    by_content: ClassVar[bool] = True
    """Whether equal texts get equal grades, so that one grade may serve for all of them; False for a
    judge that looks at ids."""

    model: PromptedModel | None = None
    """The language model it asks, which then gives the verdicts; None for a judge that has ``grade``."""

    def __init__(self, parameters: BaseModel, setting: Setting) -> None:
        self.parameters = parameters
        self.setting = setting

    @classmethod
    def require(cls) -> None:
        """Raises MissingExtraError where an optional package is not installed."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """All that decides its grades, as JSON: labels given under another identity do not count as its own."""

    @property
    def always_alike(self) -> bool:
        """Whether a pair gets the same verdict each time, so that further samples of it say nothing."""
        return True

    def grade(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """One verdict per pair, in their order. Not called where there is a ``model``."""
        raise NotImplementedError(f"{type(self).__name__} has neither grade nor a model")
