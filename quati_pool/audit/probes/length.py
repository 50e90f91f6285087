"""The probe ``length``: passages made longer, with their answer at the beginning, in the middle or at the end."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Annotated

from pydantic import Field

from quati_pool.audit import base
from quati_pool.audit.base import Change, Material, Probe, SourcePair
from quati_pool.audit.passages import altered, filler
from quati_pool.text.sentences import Span, sentences


class LengthParameters(base.Parameters):
    words: Annotated[int, Field(ge=1, description="how many words of other queries' passages are added")] = 200


class Length(Probe):
    """Adds text that has nothing to do with the query before, after or around the passage, or moves the answer to the
    end.

    The answer is what people marked, or else the sentence with the most terms of the query. The control is the pair as
    it is, asked again.
    """

    id = "probe/length"
    summary = "passages made longer, or with the answer moved to the end, against the pair asked again"
    paper = "Saito et al., 2023 (arXiv 2310.10076); Liu et al., TACL 2024 (arXiv 2307.03172)"
    danger = "length and position"
    seen = "were graded higher when made longer, or no longer as answers with the answer in another place"
    advice = "compare systems whose passages differ in length"
    drawn = "any"
    expected = "hold"
    variants = ("filler before", "filler around", "filler after", "answer last")
    Parameters = LengthParameters
    parameters: LengthParameters

    def change(self, pair: SourcePair, variant: str, material: Material, random: Random) -> Change | None:
        text = pair.shown.text
        if variant == "answer last":
            changed = self._answer_last(pair)
        else:
            added = filler(pair, self.parameters.words, material, self.setting.terms, random)
            changed = added and _surrounded(text, added.split(), variant)
        return altered(pair, changed, text) if changed else None

    def _answer_last(self, pair: SourcePair) -> str | None:
        text = pair.shown.text
        spans = sentences(text)
        if len(spans) < 3:
            return None
        answer = self._answer(pair, spans)
        return _in_order(text, spans, sorted(range(len(spans)), key=answer.__contains__)) if answer else None

    def _answer(self, pair: SourcePair, spans: Sequence[Span]) -> set[int]:
        """The places of the sentences that hold the answer; none if no sentence has a term of the query."""
        text, terms = pair.shown.text, self.setting.terms
        if pair.evidence:
            return {
                place
                for place, (start, end) in enumerate(spans)
                if any(marked.start < end and start < marked.end for marked in pair.evidence)
            }
        asked = set(terms(pair.shown.query))
        shared = [len(asked.intersection(terms(text[start:end]))) for start, end in spans]
        return {shared.index(max(shared))} if max(shared) else set()


def _surrounded(text: str, words: Sequence[str], variant: str) -> str:
    """``text`` with all of the words before it, all after it, or half on each side."""
    before = {"filler before": len(words), "filler around": len(words) // 2, "filler after": 0}[variant]
    sides = " ".join(words[:before]), text, " ".join(words[before:])
    return "\n".join(side for side in sides if side)


def _in_order(text: str, spans: Sequence[Span], order: Sequence[int]) -> str:
    """``text`` with its sentences in another order, and the white space between them where it was."""
    pieces, last = [], 0
    for (start, end), place in zip(spans, order, strict=True):
        pieces += [text[last:start], text[slice(*spans[place])]]
        last = end
    return "".join([*pieces, text[last:]])
