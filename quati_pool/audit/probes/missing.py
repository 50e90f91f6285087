"""The probe ``missing``: pairs from which the question, the passage or the answer is gone."""

from __future__ import annotations

from random import Random

from quati_pool.audit.base import Change, Material, PairTexts, Probe, SourcePair
from quati_pool.audit.passages import altered

_FEWEST_WORDS = 10
"""Shorter passages can be read in any order of their words."""


class Missing(Probe):
    """Takes from relevant pairs what made them relevant. A judge that still sees an answer does not read the pair."""

    id = "probe/missing"
    summary = "relevant pairs without the question, the passage, the order of its words or the answer"
    paper = "Poliak et al., *SEM 2018 (arXiv 1805.01042)"
    danger = "missing evidence"
    seen = "were graded as answers without the question, the passage or the answer"
    advice = "take its high grades for answers before people have checked some"
    drawn = "relevant"
    expected = "not_answer"
    variants = ("empty query", "another query", "empty passage", "shuffled words", "cut before the answer")

    def change(self, pair: SourcePair, variant: str, material: Material, random: Random) -> Change | None:
        if variant == "empty query":
            changed = PairTexts("", pair.shown.text)
            return Change(changed) if pair.shown.query or pair.shown.narrative else None
        if variant == "another query":
            return self._another_query(pair, material, random)
        if variant == "empty passage":
            return altered(pair, "")
        if variant == "shuffled words":
            words = pair.shown.text.split()
            shuffled = random.sample(words, len(words))
            return altered(pair, " ".join(shuffled)) if len(words) >= _FEWEST_WORDS and shuffled != words else None
        return _cut(pair)

    def _another_query(self, pair: SourcePair, material: Material, random: Random) -> Change | None:
        """The pair with the query that shares the fewest terms with its own query, then with its passage."""
        terms, (query, text, _) = self.setting.terms, pair.shown
        asked, held = set(terms(query)), set(terms(text))
        others = [material.queries[query_id] for query_id in sorted(material.queries) if query_id != pair.query_id]
        others = [other for other in others if other[0].strip() and other[0] != query]
        if not others:
            return None
        random.shuffle(others)

        def shared(other: tuple[str, str | None]) -> tuple[int, int]:
            found = set(terms(other[0]))
            return len(found & asked), len(found & held)

        another, narrative = min(others, key=shared)
        return Change(PairTexts(another, text, narrative))


def _cut(pair: SourcePair) -> Change | None:
    text = pair.shown.text
    if not pair.evidence:
        return None
    kept = text[: min(span.start for span in pair.evidence)].rstrip()
    # The answer may be given before the place that people marked.
    if not kept or any(text[start:end] in kept for start, end in pair.evidence):
        return None
    return altered(pair, kept)
