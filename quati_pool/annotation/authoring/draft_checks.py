"""Whether a question that a model drafted copies the words of the text that it was drafted from."""

from __future__ import annotations

from typing import NamedTuple

from quati_pool.text.analysis import SNOWBALL, analyzer

COPIED_SHARE = 0.6
"""The least share of a question's words in its longest copied run at which it counts as copied."""

COPIED_WORDS = 5
"""The least length of that run: shorter ones are names and terms that no question can do without."""


class Copied(NamedTuple):
    """The longest run of words that a question shares with a text, of the question's ``words``."""

    run: int
    words: int

    @property
    def share(self) -> float:
        """The share of the question's words in the run; 0 without words."""
        return self.run / self.words if self.words else 0.0

    @property
    def too_much(self) -> bool:
        return self.run >= COPIED_WORDS and self.share >= COPIED_SHARE


def copied_words(question: str, text: str, language: str | None) -> Copied:
    """The longest run of consecutive words of ``question`` that are consecutive in ``text`` too.

    Words are compared in lower case and without punctuation, by the rules of the language (ISO 639-1; those of English
    where it is None or has none of its own). O(words of the question × words of the text) in time.
    """
    known = language if language is not None and language in SNOWBALL else "en"
    words = analyzer(known, stemming=False, stop_words=False)
    asked = words(question)
    longest = 0
    # The length of the common run that ends at each word of the question and at the word of the text read last.
    before = [0] * (len(asked) + 1)
    for word in words(text):
        now = [0] * (len(asked) + 1)
        for place, own in enumerate(asked, 1):
            if own == word:
                now[place] = before[place - 1] + 1
        longest = max(longest, *now)
        before = now
    return Copied(longest, len(asked))
