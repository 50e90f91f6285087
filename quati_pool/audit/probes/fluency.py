"""The probe ``fluency``: fluent text on the topic of a query that does not answer it."""

from __future__ import annotations

from itertools import chain, zip_longest
from random import Random
from typing import Annotated

from pydantic import Field

from quati_pool.audit import base
from quati_pool.audit.base import Change, Material, Probe, SourcePair
from quati_pool.audit.passages import altered, filler, sentence_list

_MOST_PASSAGES = 3


class FluencyParameters(base.Parameters):
    words: Annotated[int, Field(ge=20, description="how many words the made passages have at most")] = 120


class Fluency(Probe):
    """Makes passages of whole sentences from passages that do not answer the query.

    The control has as many words of passages that were pooled for other queries.
    """

    id = "probe/fluency"
    summary = "sentences of several passages that do not answer the query, against text off its topic"
    paper = "Stureborg et al., 2024 (arXiv 2405.01724)"
    danger = "fluent text on topic"
    seen = "were graded as answers when made of passages that do not answer"
    advice = "use its grades of generated text, which is fluent and on topic even without an answer"
    drawn = "irrelevant"
    expected = "not_answer"
    variants = ("sentences in turn", "passages in turn")
    Parameters = FluencyParameters
    parameters: FluencyParameters

    def change(self, pair: SourcePair, variant: str, material: Material, random: Random) -> Change | None:
        passages = self._passages(pair, material, random)
        if len(passages) < 2:
            return None
        if variant == "sentences in turn":
            ordered = [sentence for turn in zip_longest(*passages) for sentence in turn if sentence is not None]
        else:
            ordered = list(chain.from_iterable(passages))
        made = " ".join(ordered)
        control = filler(pair, len(made.split()), material, self.setting.terms, random)
        return None if control is None else altered(pair, made, control)

    def _passages(self, pair: SourcePair, material: Material, random: Random) -> list[list[str]]:
        """The sentences to take from each of a few passages, so that each has about the same share of the words."""
        non_answers = material.non_answers.get(pair.query_id, ())
        texts = sorted({text for doc_id, text in non_answers if doc_id != pair.doc_id} - {pair.shown.text})
        drawn = random.sample(texts, min(_MOST_PASSAGES, len(texts)))
        share = self.parameters.words // max(len(drawn), 1)
        return list(filter(None, (_fitting(text, share) for text in drawn)))


def _fitting(text: str, words: int) -> list[str]:
    """The first sentences of ``text`` that together have at most so many words; longer ones are passed over."""
    taken = []
    for sentence in sentence_list(text):
        size = len(sentence.split())
        if size <= words:
            taken.append(sentence)
            words -= size
    return taken
