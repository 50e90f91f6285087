"""The interface of an authoring design: which rounds an item goes through, what each step shows and asks.

A design is pure: it reads items and the entries that count, and says what is wanted next. A step never shows a name
that is not in its ``shows``, so what a person must not know yet is not sent to their page.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict

from quati_pool.errors import TranslatableError
from quati_pool.stats.hashing import hashes
from quati_pool.store.authoring_records import Apart, Entry, Item, RoundRules, Wanted

FieldKind = Literal["line", "prose", "yes_no", "scale", "choice", "spans"]


class Parameters(BaseModel):
    """The parameters of a design; every field has a description, which the listing of components shows."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


ParametersT = TypeVar("ParametersT", bound=BaseModel)


class Field(NamedTuple):
    """One input of a form. ``name`` is its key in an entry's content, such as ``question.pt``; ``label`` the page's
    message for it, or for a plug-in the words themselves.

    ``values`` are those of a choice, or the ends of a scale as numbers (``("1", "5")``); ``most`` is in characters;
    ``prefilled`` names the shown text that the field begins with. With ``unlike_others`` the writer is warned if a
    question like it exists. ``spans`` mark evidence in the shown text ``text``.
    """

    name: str
    kind: FieldKind
    label: str
    language: str | None = None
    values: tuple[str, ...] = ()
    required: bool = True
    most: int = 2_000
    prefilled: str | None = None
    unlike_others: bool = False


class Step(NamedTuple):
    """One form: its name, unique in the design, the names of what it ``shows``, and its fields. After a step that
    ``reveals``, what was hidden is shown, and the steps up to it cannot be undone."""

    name: str
    shows: tuple[str, ...]
    fields: tuple[Field, ...]
    reveals: bool = False


class Round(NamedTuple):
    """The steps that one person takes with an item, one after another. With ``several`` the last step makes a new item
    each time, until the person ends the task. ``apart`` as in ``RoundRules``. ``refusals`` are the reasons for which a
    person may refuse the item instead."""

    name: str
    steps: tuple[Step, ...]
    for_leads: bool = False
    several: bool = False
    apart: Apart = ""
    refusals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A text to write from, by language, with the columns that exports carry on."""

    source_id: str
    text: Mapping[str, str]
    kept: Mapping[str, str]


class Made(NamedTuple):
    """The item that a source or a written form becomes."""

    kind: str
    source_id: str
    content: Mapping[str, Any]


class Doubt(NamedTuple):
    """Something that a writer is asked to confirm; ``reason`` and ``values`` as in TranslatableError."""

    reason: str
    field: str
    values: Mapping[str, Any]


class Checked(NamedTuple):
    """A form's content, cleaned, with what is doubtful in it."""

    content: Mapping[str, Any]
    doubts: tuple[Doubt, ...] = ()


class Version(NamedTuple):
    """One version of a text: by whom, in which round, and the seq of the entry."""

    text: str
    by: str
    round: str
    seq: int


class WritingError(TranslatableError):
    """A form was refused and nothing was written; ``field`` is the input at fault, None for the form as a whole."""

    def __init__(self, message: str, reason: str, field: str | None = None, **values: object) -> None:
        self.field = field
        super().__init__(message, reason, **values)


class Design(ABC, Generic[ParametersT]):
    """A way of writing a collection. Created once per command from checked parameters; a plug-in's or a user's class
    subclasses this one and needs no other file."""

    id: ClassVar[str]
    """The name under which items are stored, such as ``authoring/pira``, independent of where its code is."""

    revision: ClassVar[int] = 1
    Parameters: ClassVar[type[BaseModel]] = Parameters
    summary: ClassVar[str] = ""
    example: ClassVar[str] = ""
    formats: ClassVar[tuple[str, ...]] = ("jsonl", "hf")
    """The forms in which its data set can be released."""

    rounds: Mapping[str, Round]
    """By name, in the order in which an item goes through them. Later rounds are served first, so that what is begun is
    finished."""

    def __init__(self, parameters: ParametersT, languages: Sequence[str], seed: int) -> None:
        self.parameters = parameters
        self.languages = tuple(languages)
        self.seed = seed

    @property
    def rules(self) -> dict[str, RoundRules]:
        """What the store needs to know of each round."""
        return {
            name: RoundRules(
                order=order,
                steps=len(one.steps),
                for_leads=one.for_leads,
                several=one.several,
                apart=one.apart,
                reveals=frozenset(number for number, step in enumerate(one.steps) if step.reveals),
            )
            for order, (name, one) in enumerate(self.rounds.items())
        }

    def place(self, source_id: str) -> int:
        """The place of an item in the order of work: a signed 64-bit number from the seed and its id."""
        return int(hashes("authoring order", self.seed, [source_id]).astype(np.int64)[0])

    @abstractmethod
    def first(self, source: Source) -> Made:
        """The item that a source becomes."""

    @abstractmethod
    def wanted(self, item: Item, entries: Sequence[Entry]) -> Wanted:
        """What an item wants now, from its entries that count, oldest first."""

    def made(self, step: Step, item: Item, content: Mapping[str, Any], nonce: str) -> Made:
        """The item that a form makes, in the step that repeats in a round with ``several``."""
        raise NotImplementedError(f"{type(self).__name__}: {step.name} makes items, and made() does not say which")

    @abstractmethod
    def shown(self, step: Step, item: Item, parent: Item | None, entries: Sequence[Entry]) -> dict[str, Any]:
        """Exactly what a person may see in a step, by the names in ``step.shows``; ``entries`` are those of the item
        that count."""

    @abstractmethod
    def checked(self, step: Step, item: Item, shown: Mapping[str, Any], content: Mapping[str, Any]) -> Checked:
        """A form's content, cleaned. Raises WritingError if it breaks a rule."""

    @abstractmethod
    def record(self, item: Item, parent: Item | None, entries: Sequence[Entry]) -> dict[str, Any] | None:
        """What is released of an item, from its entries that count; None for an item that is only worked with."""
