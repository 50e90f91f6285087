"""Agreement of a free-text answer with the expected one: token F1 and exact match, in percent.

The measures of SQuAD (Rajpurkar et al., EMNLP 2016, section 6.1) as used by Pirá (arXiv 2309.10945): articles are
kept, so that both languages are measured alike.
"""

from __future__ import annotations

import string
from collections import Counter

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def tokens(text: str) -> list[str]:
    """The lower-cased words of ``text`` without ASCII punctuation; nothing else is normalised."""
    return text.lower().translate(_NO_PUNCTUATION).split()


def token_f1(answer: str, expected: str) -> float:
    """The harmonic mean of the shares of each text's tokens that the other has too, counting repetitions: 0 to 100.

    It is 0 where only one text has no tokens and 100 where neither has any, as in SQuAD's script since version 2.
    """
    given, wanted = tokens(answer), tokens(expected)
    if not given and not wanted:
        return 100.0
    shared = (Counter(given) & Counter(wanted)).total()
    return 200 * shared / (len(given) + len(wanted))


def exact_match(answer: str, expected: str) -> bool:
    """Whether both texts have the same tokens in the same order."""
    return tokens(answer) == tokens(expected)
