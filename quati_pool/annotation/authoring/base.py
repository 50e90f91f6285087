"""The interface of an authoring design: which rounds an item goes through, what each step shows and asks.

A design is pure: it reads items and the entries that count, and says what is wanted next. A step never shows a name
that is not in its ``shows``, so what a person must not know yet is not sent to their page.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict

from quati_pool.annotation.authoring.forms import Checked, Doubt, Field, FieldKind, Step, WritingError, cleaned
from quati_pool.files.triples import EntityText
from quati_pool.stats.hashing import hashes
from quati_pool.store.authoring_records import Apart, Entry, Item, RoundRules, Wanted, counting

DRAFT_ROUND = "draft"
"""The round in which people decide on a question that a program drafted, in every design that takes drafts."""

__all__ = [
    "DRAFT_ROUND",
    "Checked",
    "Design",
    "Doubt",
    "Field",
    "FieldKind",
    "Made",
    "Parameters",
    "ParametersT",
    "Round",
    "Source",
    "Step",
    "Version",
    "WritingError",
    "cleaned",
    "with_origin",
]


class Parameters(BaseModel):
    """The parameters of a design; every field has a description, which the listing of components shows."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


ParametersT = TypeVar("ParametersT", bound=BaseModel)


class Round(NamedTuple):
    """The steps that one person takes with an item, one after another. With ``several`` the last step makes a new item
    each time, until the person ends the task; ``most`` limits how many. ``apart`` as in ``RoundRules``. ``refusals``
    are the reasons for which a person may refuse the item instead; ``other`` is given with a comment."""

    name: str
    steps: tuple[Step, ...]
    for_leads: bool = False
    several: bool = False
    apart: Apart = ""
    refusals: tuple[str, ...] = ()
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """What is written from: a text, by language, with the columns that exports carry on; or a cluster of constraints,
    as of ``annotation.authoring.cluster_records``, with the texts of the ids in it that people are shown."""

    source_id: str
    text: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, str] = field(default_factory=dict)
    cluster: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, EntityText] = field(default_factory=dict)


class Made(NamedTuple):
    """The item that a source or a written form becomes."""

    kind: str
    source_id: str
    content: Mapping[str, Any]


class Version(NamedTuple):
    """One version of a text: by whom, in which round, and the seq of the entry; ``machine`` is what ``forms.MACHINE``
    says of it where a model translated it."""

    text: str
    by: str
    round: str
    seq: int
    machine: Mapping[str, Any] | None = None


class Design(ABC, Generic[ParametersT]):
    """A way of writing a collection. Created once per command from checked parameters; a plug-in's or a user's class
    subclasses this one and needs no other file."""

    id: ClassVar[str]
    """The name under which items are stored, such as ``authoring/pira``, independent of where its code is."""

    revision: ClassVar[int] = 1
    Parameters: ClassVar[type[BaseModel]] = Parameters
    summary: ClassVar[str] = ""
    example: ClassVar[str] = ""
    unit: ClassVar[str]
    """The kind of the items that a data set consists of: what is split, and counted as finished."""

    finished_only: ClassVar[bool] = False
    """Whether its data set has none of these items that still wants something."""

    formats: ClassVar[tuple[str, ...]] = ("jsonl", "hf")
    """The forms in which its data set can be released."""

    sources: ClassVar[Literal["texts", "clusters"]] = "texts"
    """What people write from: files of texts, or folders of ``quati-pool questions constraints``."""

    split_by: ClassVar[tuple[str, ...]] = ("sets", "texts")
    """What its data set may be split over, the usual first; all but ``sets`` are the sources."""

    most_languages: ClassVar[int] = 4
    """The most languages that every question may be in."""

    translated: ClassVar[tuple[str, ...]] = ()
    """The names of the steps in whose form a translation by a model may be offered, between fields that differ in their
    language alone. Entries of these steps may have ``forms.MACHINE`` in their content."""

    rounds: Mapping[str, Round]
    """By name, in the order in which an item goes through them. Later rounds are served first, so that what is begun is
    finished."""

    def __init__(self, parameters: ParametersT, languages: Sequence[str], seed: int) -> None:
        self.parameters = parameters
        self.languages = tuple(languages)
        self.seed = seed

    @classmethod
    def require(cls) -> None:
        """Raises MissingExtraError if packages are missing that the design needs."""

    @classmethod
    def columns(cls, parameters: ParametersT) -> Mapping[str, str]:
        """The kept columns of sources that parameters read, each with the parameter's name."""
        return {}

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

    def inner(self, source: Source) -> Sequence[Made]:
        """The items that a source holds, children of the one that it becomes."""
        return ()

    @abstractmethod
    def wanted(self, item: Item, entries: Sequence[Entry]) -> Wanted:
        """What an item wants now, from its entries that count, oldest first."""

    def made(self, step: Step, item: Item, content: Mapping[str, Any], nonce: str) -> Made:
        """The item that a form makes, in the step that repeats in a round with ``several``."""
        raise NotImplementedError(f"{type(self).__name__}: {step.name} makes items, and made() does not say which")

    @abstractmethod
    def shown(self, step: Step, item: Item, parent: Item | None, entries: Sequence[Entry]) -> dict[str, Any]:
        """Exactly what a person may see in a step, by the names in ``step.shows``: texts, numbers, and lists and
        mappings of them, such as from a language to a text. ``entries`` are those of the item that count; in a round
        that is ``apart`` only those of earlier rounds and of the task itself, so that nobody sees there what another
        person wrote in the round, or what became of it.

        The name ``similar`` is left out: the questions like the shown ones are added to it, by language.
        """

    def checked(self, step: Step, item: Item, shown: Mapping[str, Any], content: Mapping[str, Any]) -> Checked:
        """A form's content, cleaned, by the rules of ``cleaned`` and the design's own. Raises WritingError if it breaks
        one."""
        return Checked(cleaned(step, shown, content))

    @abstractmethod
    def record(self, item: Item, parent: Item | None, entries: Sequence[Entry]) -> dict[str, Any] | None:
        """What is released of an item, from the entries of ``with_origin``; None for an item that is only worked
        with."""

    def in_short(self, item: Item, entries: Sequence[Entry]) -> str:
        """What people recognise an item by: its text or question, or else its first text, however deep in its content;
        "" if it has none. ``entries`` are those of the item that count."""
        return _first(item.content.get("text")) or _first(item.content.get("question")) or _first(item.content)

    def left_out(self, units: Sequence[Mapping[str, Any]]) -> Mapping[int, str]:
        """The items of the data set that are left out because of others, by ``item_id``, each with the reason; open
        ones among them hold up no release. ``units`` are the records, with their ``item_id``, of those that are not
        out."""
        return {}

    def released_id(self, item: Item, source: Item) -> str:
        """The id under which an item of the data set is released, written from ``source``: a letter for its corpus as
        in Pirá's files (B for corpus 2, else A), by a column that its text keeps, and its number."""
        return f"{'B' if source.content.get('kept', {}).get('corpus') == '2' else 'A'}{item.item_id}"


def _first(value: Any) -> str:
    if isinstance(value, str):
        return value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return next(filter(None, map(_first, inner)), "")


def with_origin(item: Item, entries: Mapping[int, Sequence[Entry]]) -> list[Entry]:
    """The entries of an item that count, oldest first, after the one that made the item, if any; ``entries`` are those
    of all items, by item."""
    own = counting(entries.get(item.item_id, ()))
    made_on = entries.get(item.parent_id, ()) if item.made_by is not None and item.parent_id is not None else ()
    return [*(entry for entry in made_on if entry.seq == item.made_by), *own]
