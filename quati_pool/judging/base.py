"""What a judge is: a parameter model, and a verdict for every pair it is given.

A judge that asks a language model is ``llm.LlmJudge``; every other one is a ``Program``, which grades
at once and for free. Neither knows where labels are kept or which pairs were graded before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict

from quati_pool.judging.verdict import Verdict


class Parameters(BaseModel):
    """What a user may set of a judge; every field has a description, shown by the listing."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Pair(NamedTuple):
    """A query and a passage as a judge sees them; ``narrative`` where the judge asked for it."""

    query_id: str
    doc_id: str
    query: str
    text: str
    narrative: str | None = None


@dataclass(frozen=True)
class Setting:
    """What a judge may need of the collection: its folder, to which paths are relative, and its scale."""

    folder: Path
    grades: Mapping[int, str]


class Judge(ABC):
    """Made once a command from checked parameters; raises QuatiPoolError where it cannot work."""

    id: ClassVar[str]
    """What it is called in all that is stored, such as ``judge/llm``, wherever its code lies. A plug-in without
    one is called by its kind and the name of its entry point."""

    revision: ClassVar[int] = 1
    """Raised when the same parameters come to give other grades, so that older labels are history."""

    Parameters: ClassVar[type[BaseModel]]
    summary: ClassVar[str]
    parameters: BaseModel
    by_content: ClassVar[bool] = True
    """Whether equal texts get equal grades, so that one grade may serve for all of them; False for a
    judge that looks at ids."""

    def __init__(self, parameters: BaseModel, setting: Setting) -> None:
        self.parameters = parameters
        self.setting = setting

    @classmethod
    def require(cls) -> None:
        """Raises MissingExtraError where an optional package is not installed."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """All that decides its grades, as JSON: the labels of another identity are never its own."""


class Program(Judge):
    """A judge that grades without a model; the same pair always gets the same verdict."""

    @abstractmethod
    def grade(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """One verdict a pair, in their order."""
