"""Readers that answer in words: what they read, and which option they mean."""

from __future__ import annotations

from collections.abc import Sequence

from quati_pool.models.readers.base import ReaderAnswer, ReaderQuestion
from quati_pool.text.token_overlap import token_f1


def one_text(question: ReaderQuestion) -> str:
    """The text that such a reader is given: the distinct contexts one after another, as it answers once for all
    options; empty where there is none."""
    return " ".join(context for context in dict.fromkeys(question.contexts) if context.strip())


def closest_option(text: str, options: Sequence[str], shortened: bool = False) -> ReaderAnswer:
    """The answer ``text`` as the option with which it has the highest token F1 (Khashabi et al., UnifiedQA, 2020,
    arXiv 2005.00700, chose by token overlap; Pirá 2.0, arXiv 2309.10945, by F1).

    Of several with the same F1 it is the first, as in Pirá's released script, also where the text shares no word with
    any option. ``scores`` are the F1 in percent, by which benchmarks decide ties in their own way.
    """
    scores = tuple(token_f1(text, option) for option in options)
    return ReaderAnswer(option=scores.index(max(scores)), text=text, scores=scores, shortened=shortened)
