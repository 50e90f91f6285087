"""The interface of a probe: the base class, which plug-ins subclass too, and what it may use of the collection.

A probe changes a pair in a way that must move its grade in a known direction, or not at all. It does not know which
judge is asked, nor how; the grades of the changed pairs come back as ``outcomes.Outcomes``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from quati_pool.files.yaml_file import Model
from quati_pool.text.sentences import Span

Expected = Literal["not_rise", "not_answer", "hold", "stay"]
"""What the grade of a changed pair must do: not rise above that of the pair as it is; stay below the grades that answer
a query; not rise, nor fall from those grades to the others; be that of the pair as it is."""

Drawn = Literal["irrelevant", "relevant", "any"]
"""The pairs that a probe changes: graded the lowest grade by people (or, without people, by the judge), graded as
an answer, or graded at all."""


class Parameters(Model):
    """The parameters of a probe; every field has a description, which the listing of probes shows."""

    bound: Annotated[
        float, Field(gt=0, lt=1, description="the share of fooled pairs, beyond the controls', that is tolerated")
    ] = 0.1


class PairTexts(NamedTuple):
    """The texts of a pair that a judge is shown; ``narrative`` is None for a query without one."""

    query: str
    text: str
    narrative: str | None = None


class SourcePair(NamedTuple):
    """A pair of the pool to be changed; ``evidence`` are the words that people marked as its answer, if any."""

    query_id: str
    doc_id: str
    shown: PairTexts
    evidence: tuple[Span, ...] = ()

    def with_text(self, text: str) -> PairTexts:
        """What is shown with another text for the passage."""
        return self.shown._replace(text=text)


class Change(NamedTuple):
    """A changed pair, and a control: the pair changed as much, without what must not matter; None if there is no such
    change."""

    changed: PairTexts
    control: PairTexts | None = None


class AnswerKeys(NamedTuple):
    """The keys of the JSON in which a judge answers; ``reasoning`` is None if it gives none."""

    reasoning: str | None
    grade: str


@dataclass(frozen=True)
class Setting:
    """The collection and the judge, as far as a probe may know them.

    ``language`` is an ISO 639-1 code; ``terms`` splits a text in it into its terms, without stop words. ``answer`` is
    None for a judge that writes no answers.
    """

    folder: Path
    grades: Mapping[int, str]
    language: str
    terms: Callable[[str], list[str]]
    answer: AnswerKeys | None = None


@dataclass(frozen=True)
class Material:
    """Texts of the pool from which probes make others.

    ``off_topic`` has passages of several queries, as (query_id, text); ``non_answers`` the passages of a query that
    do not answer it, as (doc_id, text), by query_id; ``queries`` several queries with their narratives, by query_id.
    """

    off_topic: Sequence[tuple[str, str]] = ()
    non_answers: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    queries: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)

    def of_other_queries(self, query_id: str) -> list[str]:
        """The passages that were pooled for other queries."""
        return [text for of_query, text in self.off_topic if of_query != query_id]


class Probe:
    """One danger, and the changes that show it.

    Created once per audit from checked parameters; ``__init__`` raises QuatiPoolError if it cannot work. The drawn
    pairs take its ``variants`` in turn, or each all of them with ``every_variant``.
    """

    id: ClassVar[str]
    """The name under which answers are stored, such as ``probe/stuffing``, independent of where its code is."""

    revision: ClassVar[int] = 1
    """To be increased when the same parameters make other texts."""

    Parameters: ClassVar[type[Parameters]] = Parameters
    summary: ClassVar[str] = ""
    paper: ClassVar[str] = ""
    """Where the danger was shown, such as ``Alaofi et al., SIGIR-AP 2024 (arXiv 2501.17969)``."""
    danger: ClassVar[str]
    """Its name on the card, at most 24 characters."""
    seen: ClassVar[str]
    """The end of a sentence that begins with a number of pairs, such as ``were graded higher with the query's words in
    them``."""
    advice: ClassVar[str]
    """What not to do with the grades of a judge that the probe fools; the end of a sentence that begins ``do not``."""
    drawn: ClassVar[Drawn]
    expected: ClassVar[Expected]
    every_variant: ClassVar[bool] = False
    parameters: Any

    def __init__(self, parameters: Any, setting: Setting) -> None:
        self.parameters = parameters
        self.setting = setting

    @classmethod
    def require(cls) -> None:
        """Raises MissingExtraError if a required optional package is not installed."""

    @property
    def variants(self) -> Sequence[str]:
        """The names of the ways in which pairs are changed, in a fixed order."""
        raise NotImplementedError

    @property
    def inputs(self) -> Sequence[Path]:
        """The files that the texts are made from."""
        return ()

    def problem(self) -> str | None:
        """Why the probe cannot be used with this collection and judge; None if it can."""
        return None

    def change(self, pair: SourcePair, variant: str, material: Material, random: Random) -> Change | None:
        """The pair changed in the way of ``variant``; None if this pair cannot be changed so. ``random`` is seeded by
        the audit's seed, the probe, the pair and the variant."""
        raise NotImplementedError
