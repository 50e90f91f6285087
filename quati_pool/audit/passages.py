"""Parts of passages from which probes make others: words, sentences, and texts that were pooled for other queries."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from string import punctuation

from quati_pool.audit.base import Change, Material, SourcePair
from quati_pool.text.sentences import sentences

Terms = Callable[[str], list[str]]

# Only marks that no analyzer takes for part of a word.
_AROUND_WORDS = punctuation + "¿¡…«»“”„‘’–—،؛؟।॥"


def content_words(text: str, terms: Terms) -> list[str]:
    """The words of ``text`` that hold a term, in order, without the punctuation around them."""
    bare = (word.strip(_AROUND_WORDS) for word in text.split())
    return [word for word in bare if terms(word)]


def sentence_list(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def of_other_queries(pair: SourcePair, material: Material, random: Random) -> list[str]:
    """The passages that were pooled for other queries and not for the pair's, each once, in random order."""
    own = {text for query_id, text in material.off_topic if query_id == pair.query_id}
    texts = sorted({*material.of_other_queries(pair.query_id)} - own - {pair.shown.text})
    random.shuffle(texts)
    return texts


def filler(pair: SourcePair, words: int, material: Material, terms: Terms, random: Random) -> str | None:
    """So many words of sentences from other queries' passages. No sentence holds a term of the pair's query, so that
    none answers it. None if there are too few."""
    asked = set(terms(pair.shown.query))
    found: list[str] = []
    for text in of_other_queries(pair, material, random):
        for sentence in sentence_list(text):
            if asked.isdisjoint(terms(sentence)):
                found += sentence.split()
        if len(found) >= words:
            return " ".join(found[:words])
    return None


def altered(pair: SourcePair, text: str, control: str | None = None) -> Change | None:
    """The pair with other texts for the passage; None if the text is the pair's own."""
    if text == pair.shown.text:
        return None
    return Change(pair.with_text(text), None if control is None else pair.with_text(control))
