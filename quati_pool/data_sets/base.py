"""The interface of existing data sets that ``pool.yaml`` names: passages, queries, judgements, and what is known of
their licence and citation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from quati_pool.records import Query


class About(NamedTuple):
    """What a data set says of itself; None for what it does not say."""

    name: str
    title: str | None = None
    license: str | None = None
    citation: str | None = None
    description: str | None = None
    url: str | None = None


class Judgement(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int


class DataSet(ABC):
    """A data set, opened without reading or fetching its content.

    Reading raises QuatiPoolError where the data set has no such part, or it cannot be read.
    """

    name: str

    def files(self) -> list[Path]:
        """The files that decide the content; none for a data set whose name decides it."""
        return []

    @abstractmethod
    def passages(self, text: Sequence[str] | None = None) -> Iterator[tuple[str, str]]:
        """Every passage's doc_id and text: its fields ``text``, the non-empty ones joined by a line end, or by default
        what the data set takes as its text."""

    @abstractmethod
    def queries(self, query: Sequence[str] | None = None, narrative: str = "narrative") -> Iterator[Query]:
        """Every query; ``query`` names the fields of its text, joined by a blank; by default what the data set takes
        as its text."""

    @abstractmethod
    def judgements(self, split: str | None = None) -> Iterator[Judgement]:
        """The judgements, those of a ``split`` where the data set has splits."""

    @abstractmethod
    def about(self) -> About:
        """What the data set says of itself."""
