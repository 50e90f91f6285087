"""Questions that people write: which parts of a taxonomy they cover, and which say the same."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple

from quati_pool.text.analysis import SNOWBALL, analyzer

Axis = Literal["theme", "scope", "type"]

SIMILAR_STEMS = 0.6
"""Jaccard coefficient of two questions' stems from which on they are pointed out: three of four words shared,
and one exchanged, are 3 / 5."""

SIMILAR_GRAMS = 0.7
"""The same of the stems' 3-grams of characters. It is higher, because different words share many."""

_GRAM = 3
_SPACE = re.compile(r"\s+")


class ClassifiedQuestion(NamedTuple):
    """Where a question belongs; None where its author left it open."""

    theme: str | None
    scope: str | None
    type: str | None


class TaxonomyCell(NamedTuple):
    """How many questions a combination of the taxonomy has."""

    theme: str
    scope: str
    type: str
    questions: int


@dataclass(frozen=True)
class Coverage:
    """Every combination of the taxonomy, in its order; ``outside`` counts the questions that belong to none."""

    cells: tuple[TaxonomyCell, ...]
    outside: int

    @property
    def empty(self) -> tuple[TaxonomyCell, ...]:
        return tuple(cell for cell in self.cells if not cell.questions)

    def totals(self, axis: Axis) -> dict[str, int]:
        """The questions of each value of one axis, in the taxonomy's order."""
        found: Counter[str] = Counter()
        for cell in self.cells:
            found[getattr(cell, axis)] += cell.questions
        return dict(found)


def coverage(taxonomy: Mapping[str, Sequence[str]], questions: Iterable[ClassifiedQuestion]) -> Coverage:
    """The table theme × scope × type of ``taxonomy``, which has these three keys, and what ``questions`` fill."""
    counts: Counter[tuple[str | None, ...]] = Counter(tuple(question) for question in questions)
    combinations = product(taxonomy["theme"], taxonomy["scope"], taxonomy["type"])
    cells = tuple(TaxonomyCell(*values, counts.pop(values, 0)) for values in combinations)
    return Coverage(cells, counts.total())


class Similar(NamedTuple):
    """That the question at position ``place`` says nearly the same; ``exact`` where only case, punctuation,
    white space or the way an accent is written differ. ``similarity`` is the larger of the two coefficients."""

    place: int
    similarity: float
    exact: bool


def similar_questions(query: str, others: Sequence[str], language: str | None) -> list[Similar]:
    """The ``others`` that nearly repeat ``query``, the most similar first, then by place.

    Two coefficients are taken: Jaccard of the sets of stems without stop words, for other word order and
    forms, and Jaccard of those stems' character 3-grams without accents, for slips and compounds. One that
    reaches its threshold, SIMILAR_STEMS or SIMILAR_GRAMS, is enough; the same words in the same order always
    are. ``language`` is an ISO 639-1 code; where it is None or has no stemmer, words count as they are.
    """
    read = _reader(language)
    mine = read(query)
    found = []
    for place, other in enumerate(others):
        theirs = read(other)
        stems, grams = _jaccard(mine.stems, theirs.stems), _jaccard(mine.grams, theirs.grams)
        exact = mine.plain == theirs.plain
        if exact or stems >= SIMILAR_STEMS or grams >= SIMILAR_GRAMS:
            found.append(Similar(place, 1.0 if exact else max(stems, grams), exact))
    return sorted(found, key=lambda similar: (not similar.exact, -similar.similarity, similar.place))


class _Read(NamedTuple):
    plain: tuple[str, ...] | str
    stems: frozenset[str]
    grams: frozenset[str]


def _reader(language: str | None) -> Callable[[str], _Read]:
    stemmed = language in SNOWBALL
    known = language if language and stemmed else "en"
    words = analyzer(known, stemming=False, stop_words=False)
    stems_of = analyzer(known, stemming=stemmed, stop_words=stemmed)

    def read(text: str) -> _Read:
        # Without a single word, such as "???", the text itself is compared.
        plain = tuple(words(text)) or _SPACE.sub("", text)
        stems = frozenset(stems_of(text))
        padded = [f" {_bare(stem)} " for stem in stems]
        grams = {stem[at : at + _GRAM] for stem in padded for at in range(len(stem) - _GRAM + 1)}
        return _Read(plain, stems, frozenset(grams))

    return read


def _bare(stem: str) -> str:
    """A stem without its accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", stem) if not unicodedata.combining(c))


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """0 where both are empty: nothing is no likeness."""
    return len(a & b) / len(a | b) if a or b else 0.0
