"""TF-IDF without a library: lower-cased words of two or more characters, each weighing
tf · (ln((1 + N) / (1 + df)) + 1), vectors of length 1."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

Vector = dict[str, float]


def words(text: str) -> list[str]:
    return re.findall(r"\b\w\w+\b", text.lower())


def inverse_frequencies(documents: Sequence[str]) -> Vector:
    found = Counter(word for document in documents for word in set(words(document)))
    return {word: math.log((1 + len(documents)) / (1 + count)) + 1 for word, count in found.items()}


def vector(text: str, weights: Vector) -> Vector:
    raw = {word: count * weights[word] for word, count in Counter(words(text)).items() if word in weights}
    length = math.sqrt(math.fsum(value * value for value in raw.values()))
    return {word: value / length for word, value in raw.items()}


def cosine(one: Vector, other: Vector) -> float:
    return math.fsum(value * other[word] for word, value in one.items() if word in other)
