"""How far an answer in words agrees with the expected one: token F1 and exact match, in percent.

The measures of SQuAD (Rajpurkar et al., EMNLP 2016, section 6.1) as Pirá takes them (arXiv 2309.10945):
articles stay, so that both languages are measured alike.
"""

from __future__ import annotations

import string
from collections import Counter

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def tokens(text: str) -> list[str]:
    """The words of ``text`` in small letters, ASCII punctuation removed; nothing but that is normalised."""
    return text.lower().translate(_NO_PUNCTUATION).split()


def token_f1(answer: str, expected: str) -> float:
    """Harmonic mean of the shares of each one's tokens that the other has too, repetitions counted: 0 to 100.

    Where one has no token it is 0, where neither has 100, as SQuAD's script has it since version 2.
    """
    given, wanted = tokens(answer), tokens(expected)
    if not given and not wanted:
        return 100.0
    shared = (Counter(given) & Counter(wanted)).total()
    return 200 * shared / (len(given) + len(wanted))


def exact_match(answer: str, expected: str) -> bool:
    """Whether both have the same tokens in the same order."""
    return tokens(answer) == tokens(expected)
