"""Questions that people write: their coverage of a taxonomy, and near-duplicates among them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from sys import intern
from typing import Literal, NamedTuple

from quati_pool.text.analysis import SNOWBALL, analyzer

Axis = Literal["theme", "scope", "type"]

SIMILAR_STEMS = 0.6
"""The least Jaccard coefficient of two questions' stems at which they are reported as similar: four words each with
one replaced give 3 / 5."""

SIMILAR_GRAMS = 0.7
"""The same for the character 3-grams of the stems; higher, because different words share many 3-grams."""

_GRAM = 3
_READ = 1 << 13  # about 5 kB each
_SPACE = re.compile(r"\s+")


class ClassifiedQuestion(NamedTuple):
    """The classification of a question; None where its author left it open."""

    theme: str | None
    scope: str | None
    type: str | None


class TaxonomyCell(NamedTuple):
    """The number of questions in one combination of the taxonomy."""

    theme: str
    scope: str
    type: str
    questions: int


@dataclass(frozen=True)
class Coverage:
    """The counts of all combinations, in the taxonomy's order; ``outside`` counts the questions that fit none."""

    cells: tuple[TaxonomyCell, ...]
    outside: int

    @property
    def empty(self) -> tuple[TaxonomyCell, ...]:
        return tuple(cell for cell in self.cells if not cell.questions)

    def totals(self, axis: Axis) -> dict[str, int]:
        """The number of questions per value of one axis, in the taxonomy's order."""
        found: Counter[str] = Counter()
        for cell in self.cells:
            found[getattr(cell, axis)] += cell.questions
        return dict(found)


def coverage(taxonomy: Mapping[str, Sequence[str]], questions: Iterable[ClassifiedQuestion]) -> Coverage:
    """Counts ``questions`` in the table theme × scope × type of ``taxonomy``, which has these three keys."""
    counts: Counter[tuple[str | None, ...]] = Counter(tuple(question) for question in questions)
    combinations = product(taxonomy["theme"], taxonomy["scope"], taxonomy["type"])
    cells = tuple(TaxonomyCell(*values, counts.pop(values, 0)) for values in combinations)
    return Coverage(cells, counts.total())


class Similar(NamedTuple):
    """A similar question, at position ``place``; ``exact`` if only case, punctuation, white space or the encoding
    of accents differ. ``similarity`` is the larger of the two coefficients."""

    place: int
    similarity: float
    exact: bool


def similar_questions(query: str, others: Sequence[str], language: str | None) -> list[Similar]:
    """The ``others`` that nearly repeat ``query``, exact repetitions first, then the most similar, then by place.

    Two coefficients are computed: the Jaccard coefficient of the sets of stems without stop words, for different
    word order and inflection, and that of these stems' character 3-grams without accents, for typing errors and
    compounds. Questions are similar if either reaches its threshold, SIMILAR_STEMS or SIMILAR_GRAMS, or if they have
    the same words in the same order. ``language`` is an ISO 639-1 code; if None or without a stemmer, words are not
    stemmed.
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


@cache
def _reader(language: str | None) -> Callable[[str], _Read]:
    stemmed = language in SNOWBALL
    known = language if language and stemmed else "en"
    words = analyzer(known, stemming=False, stop_words=False)
    stems_of = analyzer(known, stemming=stemmed, stop_words=stemmed)

    # The same questions are compared with every new one.
    @lru_cache(maxsize=_READ)
    def read(text: str) -> _Read:
        # A text without words, such as "???", is compared verbatim.
        plain = tuple(words(text)) or _SPACE.sub("", text)
        stems = frozenset(stems_of(text))
        padded = [f" {_bare(stem)} " for stem in stems]
        grams = {intern(stem[at : at + _GRAM]) for stem in padded for at in range(len(stem) - _GRAM + 1)}
        return _Read(plain, stems, frozenset(grams))

    return read


def _bare(stem: str) -> str:
    """A stem without its accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", stem) if not unicodedata.combining(c))


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """The Jaccard coefficient; 0 if both sets are empty, which is no evidence of similarity."""
    return len(a & b) / len(a | b) if a or b else 0.0
