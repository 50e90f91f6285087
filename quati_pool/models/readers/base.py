"""Readers: models that answer questions, with or without texts to read and options to choose from.

A reader knows no benchmark: it takes ``ReaderQuestion``s and gives ``ReaderAnswer``s. Its folder holds a model of
transformers and, where quati-pool trained it, a card (``quati_pool.models.readers.card``) that says how inputs are
encoded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from quati_pool.errors import QuatiPoolError
from quati_pool.models.loading import library_versions
from quati_pool.models.location import LocalModel
from quati_pool.models.parameters import ModelParameters
from quati_pool.models.readers.card import ReaderCard


@dataclass(frozen=True)
class ReaderQuestion:
    """A question to a reader.

    ``contexts`` is empty, one text, or one text per option. ``options`` is empty where the answer is free text.
    Raises ValueError for another number of contexts.
    """

    question: str
    contexts: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.contexts) not in (0, 1, len(self.options)):
            raise ValueError(
                f"{len(self.contexts)} contexts for {len(self.options)} options; expected none, one, or one for each"
            )

    def context_of(self, option: int) -> str:
        """The context of an option; empty where there is none."""
        if not self.contexts:
            return ""
        return self.contexts[option] if len(self.contexts) > 1 else self.contexts[0]


class TooLongError(QuatiPoolError):
    """A question, with its option if any, that is longer than a model reads, even without any context."""


@dataclass(frozen=True)
class ReaderAnswer:
    """A reader's answer, in the one field that fits its kind; a field that does not apply is None.

    ``option``: the position of the chosen option. ``chosen``: the positions of all options that are answers, possibly
    none. ``text``: an answer in words, empty where the reader finds none. ``answerable``: whether the text answers the
    question. ``scores``: what the choice was made by, one per option, or one number for a text or a yes or no; higher
    is more likely. ``shortened``: whether a context had to be shortened to fit. ``unread``: why there is no answer, in
    a clause, such as a question that is longer than the model reads.
    """

    option: int | None = None
    chosen: tuple[int, ...] | None = None
    text: str | None = None
    answerable: bool | None = None
    scores: tuple[float, ...] = ()
    shortened: bool = False
    unread: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The answer as JSON, without fields that do not apply."""
        fields = {
            "option": self.option,
            "chosen": None if self.chosen is None else list(self.chosen),
            "text": self.text,
            "answerable": self.answerable,
            "scores": list(self.scores) or None,
            "shortened": self.shortened or None,
            "unread": self.unread,
        }
        return {name: value for name, value in fields.items() if value is not None}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> ReaderAnswer:
        """The answer that ``as_json`` wrote."""
        chosen = fields.get("chosen")
        return cls(
            option=fields.get("option"),
            chosen=None if chosen is None else tuple(chosen),
            text=fields.get("text"),
            answerable=fields.get("answerable"),
            scores=tuple(fields.get("scores", ())),
            shortened=bool(fields.get("shortened", False)),
            unread=fields.get("unread"),
        )


class Reader(ABC):
    """A model that answers questions; ``quati_pool.models.readers.opening.open_reader`` opens one."""

    kind: ClassVar[str]
    """The kind, as cards name it."""
    revision: ClassVar[int] = 1
    """Raised by hand when the same weights give other answers, for instance as inputs are encoded in another way."""
    identity: dict[str, Any]
    """Everything that changes its answers, as JSON: the digest of weights and card, the kind and its revision, and the
    precision and libraries that they are computed with."""

    def __init__(self, parameters: ModelParameters, local: LocalModel, card: ReaderCard | None) -> None:
        """Loads no weights yet. ``card`` is that of the folder; None for a model that quati-pool did not train."""
        self._parameters, self._local, self._card = parameters, local, card
        self.identity = {
            "kind": self.kind,
            "revision": self.revision,
            **local.identity,
            "compute": parameters.compute,
            **library_versions(),
        }

    def refusal(self, question: ReaderQuestion) -> str | None:
        """Why this kind of reader cannot answer a question of this form, in a clause; None if it can."""
        return None

    @abstractmethod
    def answers(self, questions: Sequence[ReaderQuestion]) -> Iterator[tuple[int, ReaderAnswer]]:
        """The answers, each with its question's position in ``questions``, as they become ready, in any order.

        Inputs are batched by tokens. A context is shortened where an input does not fit the model, never a question or
        an option; where it does not fit even so, the question is left unread.
        """
