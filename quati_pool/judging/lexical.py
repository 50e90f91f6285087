"""The judge ``lexical``: grades by the share of a query's terms in a passage. The baseline that any LLM must beat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from quati_pool.judging import base
from quati_pool.judging.pair import Pair
from quati_pool.judging.verdict import Verdict
from quati_pool.records import State
from quati_pool.text.analysis import Language, analysis_versions, analyzer


class LexicalParameters(base.Parameters):
    language: Annotated[Language, Field(description="language of stemmer and stop words, ISO 639-1")] = "en"
    stemming: Annotated[bool, Field(description="Snowball stems instead of words")] = True
    stop_words: Annotated[bool, Field(description="drop the language's stop words")] = True


class Lexical(base.Judge):
    """Divides the share of the query's distinct terms that occur in the passage into equal steps, one per grade.

    With n grades, a share s gets the grade at index ⌊s·n⌋ of the sorted scale (all terms: the highest); on the
    default scale 0 to 3 a quarter of the terms gives 1, half of them 2, three quarters 3. A query without a term
    (only stop words) gets the lowest grade with every passage.
    """

    id = "judge/lexical"
    summary = "share of the query's terms in the passage, cut into equal steps; free and offline"
    Parameters = LexicalParameters
    parameters: LexicalParameters

    def identity(self) -> dict[str, Any]:
        return {**self.parameters.model_dump(), **analysis_versions(), "grades": sorted(self.setting.grades)}

    def grade(self, pairs: Sequence[Pair]) -> list[Verdict]:
        terms = analyzer(self.parameters.language, self.parameters.stemming, self.parameters.stop_words)
        scale = sorted(self.setting.grades)
        asked: dict[str, frozenset[str]] = {}
        verdicts = []
        for pair in pairs:
            if pair.query not in asked:
                asked[pair.query] = frozenset(terms(pair.query))
            wanted = asked[pair.query]
            found = len(wanted.intersection(terms(pair.text)))
            place = min(found * len(scale) // len(wanted), len(scale) - 1) if wanted else 0
            reason = f"{found} of {len(wanted)} terms of the query"
            verdicts.append(Verdict(State.ok, scale[place], reason))
        return verdicts
