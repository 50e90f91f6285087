"""The interface of a judge: the base class, which plug-ins subclass too, its parameters and its setting.

A judge gives a verdict for every pair. It does not know where labels are stored or which pairs were graded before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from quati_pool.files.digests import file_digest
from quati_pool.judging.pair import Pair
from quati_pool.judging.prompted_model import PromptedModel
from quati_pool.judging.verdict import Verdict


class Parameters(BaseModel):
    """The parameters of a judge; every field has a description, which the listing of components shows."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


@dataclass(frozen=True)
class Setting:
    """What a judge may need to know about the collection: its folder, to which paths are relative, and its scale.
    ``digest`` returns the SHA-256 of a file, which a workspace remembers by the file's size and time."""

    folder: Path
    grades: Mapping[int, str]
    digest: Callable[[Path], str] = file_digest


class Judge:
    """A judge, which grades pairs itself (``grade``) or asks a language model (``model``).

    Created once per command from checked parameters; ``__init__`` raises QuatiPoolError if it cannot work.
    """

    id: ClassVar[str]
    """The name under which the judge is stored, such as ``judge/llm``, independent of where its code is. A plug-in
    without one is named by its kind and its entry point, one in a user's file by that and its class."""

    revision: ClassVar[int] = 1
    """To be increased when the same parameters lead to other grades, so that older labels no longer count."""

    Parameters: ClassVar[type[BaseModel]] = Parameters
    summary: ClassVar[str] = ""
    example: ClassVar[str] = ""
    """Parameters as a pool.yaml could have them, such as ``k1: 0.9, b: 0.4``."""
    parameters: BaseModel
    by_content: ClassVar[bool] = True
    """Whether equal texts get equal grades, so that they can share one grade; False for a judge that looks at
    ids."""

    model: PromptedModel | None = None
    """The language model that gives the verdicts; None for a judge that implements ``grade``."""

    def __init__(self, parameters: BaseModel, setting: Setting) -> None:
        self.parameters = parameters
        self.setting = setting

    @classmethod
    def require(cls) -> None:
        """Raises MissingExtraError if a required optional package is not installed."""

    def identity(self) -> dict[str, Any]:
        """Everything that determines the grades, as JSON: by default the parameters and the scale. Labels given under
        another identity do not count."""
        return {**self.parameters.model_dump(mode="json"), "grades": sorted(self.setting.grades)}

    def fetch(self, note: Callable[[str], None]) -> None:
        """Called before a run: downloads what ``identity`` needs and the parameters name. Raises QuatiPoolError if it
        cannot; ``note`` takes a line on what is downloaded."""

    def may_be(self, identity: Mapping[str, Any]) -> bool:
        """Whether a stored identity agrees with all that is known of this judge without its model's files; asked only
        where ``identity`` raised ModelMissingError or ModelError."""
        return False

    @property
    def always_alike(self) -> bool:
        """Whether a pair gets the same verdict each time, so that further samples add nothing."""
        return True

    def reads_whole(self, pair: Pair) -> bool:
        """Whether all of a pair's passage decides its grade; False for one that is cut, of which an audit changes none.
        Not called if there is a ``model``, which says what of a passage it is shown."""
        return True

    def grade(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """One verdict per pair, in their order. Not called if there is a ``model``."""
        raise NotImplementedError(f"{type(self).__name__} has neither grade nor a model")
