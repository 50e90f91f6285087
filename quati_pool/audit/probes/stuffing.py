"""The probe ``stuffing``: the query's words put into a passage that does not answer it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import islice
from random import Random

from quati_pool.audit.base import Change, Material, Probe, SourcePair
from quati_pool.audit.passages import altered, content_words, of_other_queries
from quati_pool.text.sentences import sentences

_RANDOM_WORDS = 100
_MOST_CANDIDATES = 2_000


class Stuffing(Probe):
    """Puts the query's words into irrelevant passages.

    The control has as many other words in the same places: each of about the same length, from passages that were
    pooled for other queries, and none a term of the query.
    """

    id = "probe/stuffing"
    summary = "the query's words put into irrelevant passages, against as many other words"
    paper = "Alaofi et al., SIGIR-AP 2024 (arXiv 2501.17969)"
    danger = "keyword stuffing"
    seen = "were graded higher with the query's words in them"
    advice = "compare systems whose passages may repeat the query's words"
    drawn = "irrelevant"
    expected = "not_rise"
    variants = ("query first", "query last", "terms between sentences", "query among random words")

    def change(self, pair: SourcePair, variant: str, material: Material, random: Random) -> Change | None:
        query, text = pair.shown.query, pair.shown.text
        words = self._terms_of(query) if variant == "terms between sentences" else query.split()
        candidates = self._candidates(pair, material, random)
        if not words or not candidates:
            return None
        others = _alike(words, candidates, random)
        if variant == "query among random words":
            size = _RANDOM_WORDS + len(words)
            made = random.choices(candidates, k=size)
            places = sorted(random.sample(range(size), len(words)))
            return altered(pair, _among(made, places, words), _among(made, places, others))
        if variant == "terms between sentences":
            return altered(pair, _between(text, words), _between(text, others))
        stuffed, control = " ".join(words), " ".join(others)
        if variant == "query first":
            return altered(pair, f"{stuffed}\n{text}", f"{control}\n{text}")
        return altered(pair, f"{text}\n{stuffed}", f"{text}\n{control}")

    def _terms_of(self, query: str) -> list[str]:
        """The words of the query that hold its terms, each term once."""
        terms = self.setting.terms
        found: dict[tuple[str, ...], str] = {}
        for word in content_words(query, terms):
            found.setdefault(tuple(terms(word)), word)
        return list(found.values())

    def _candidates(self, pair: SourcePair, material: Material, random: Random) -> list[str]:
        terms = self.setting.terms
        asked = set(terms(pair.shown.query))
        texts = of_other_queries(pair, material, random)
        words = (word for text in texts for word in content_words(text, terms) if asked.isdisjoint(terms(word)))
        return list(islice(words, _MOST_CANDIDATES))


def _alike(words: Sequence[str], candidates: Sequence[str], random: Random) -> list[str]:
    """For each word, a random candidate of the nearest length."""
    by_length = defaultdict(list)
    for candidate in candidates:
        by_length[len(candidate)].append(candidate)
    return [random.choice(by_length[min(by_length, key=lambda length: abs(length - len(word)))]) for word in words]


def _among(made: Sequence[str], places: Sequence[int], words: Sequence[str]) -> str:
    return " ".join((dict(enumerate(made)) | dict(zip(places, words, strict=True))).values())


def _between(text: str, words: Sequence[str]) -> str:
    """The words spread evenly over the ends of the sentences."""
    ends = [span.end for span in sentences(text)] or [0]
    pieces, start = [], 0
    for place, word in enumerate(words):
        end = ends[place * len(ends) // len(words)]
        pieces += [text[start:end].strip(), word]
        start = end
    return " ".join(filter(None, [*pieces, text[start:].strip()]))
