"""The probability a model gave each grade, from the tokens that were possible at the position of its grade."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

# A token that spells only a number, with what tokenizers attach to it (` 2`, `2}`, `":"2"`); no sign, no decimals.
_NUMBER = re.compile(r"[^\w.+−-]*([0-9]+)[^\w.+−-]*", re.ASCII)


class Token(Protocol):
    """A token of an answer as reported by the API; log-probabilities are natural logarithms."""

    @property
    def token(self) -> str: ...
    @property
    def logprob(self) -> float: ...
    @property
    def top(self) -> Sequence[tuple[str, float]]: ...


class Distribution(NamedTuple):
    """The probabilities of the grades of a scale (``shares``), which add up to 1. ``off_scale`` is the probability,
    from 0 to 1, of everything else: tokens that spell no grade, and those that the server did not list."""

    shares: Mapping[int, float]
    off_scale: float

    @property
    def expected(self) -> float:
        """The mean grade."""
        return sum(grade * share for grade, share in self.shares.items())


def grade_distribution(
    logprobs: Sequence[Token], text: str, span: tuple[int, int], scale: Collection[int]
) -> Distribution | None:
    """The distribution over ``scale`` at the token that spells the grade ``text[span]``, from that token and the
    likeliest others at its position. The probabilities of tokens that spell the same grade are summed.

    None if the token cannot be found: if the tokens do not spell the text, or the grade's digits share a token with
    other digits or are spread over several tokens. If a tokenizer spells 10 as ``1`` and ``0``, the share of grade 1
    includes the answers that continue to 10.
    """
    found = _token_at(logprobs, text, span)
    if found is None or _grade(found.token) is None or str(_grade(found.token)) != text[slice(*span)]:
        return None
    weight = dict.fromkeys(scale, 0.0)
    for token, logprob in _likely(found):
        grade = _grade(token)
        if grade in weight:
            weight[grade] += math.exp(logprob)
    total = math.fsum(weight.values())
    if total <= 0:
        return None
    # Servers round: the listed probabilities may add up to a little more than 1.
    return Distribution({grade: mass / total for grade, mass in weight.items()}, max(0.0, 1 - total))


def _likely(written: Token) -> Iterator[tuple[str, float]]:
    """The possible tokens at the position of the written one, which is included, each once.

    Two tokens may print alike (``▁2`` and ``2``): only the one whose log-probability is nearest is the written one.
    """
    listed = dict.fromkeys(written.top)
    alike = [logprob for token, logprob in listed if token == written.token]
    own = min(alike, key=lambda logprob: abs(logprob - written.logprob), default=None)
    yield written.token, written.logprob
    yield from (each for each in listed if each != (written.token, own))


def _grade(token: str) -> int | None:
    found = _NUMBER.fullmatch(token)
    return int(found[1]) if found and len(found[1]) < 10 else None


def _token_at(logprobs: Sequence[Token], text: str, span: tuple[int, int]) -> Token | None:
    """The token that contains all of ``text[span]``, or None.

    The text from the span on is searched in the tokens from their end, because the text before it need not match:
    tokens of partial characters are spelled in the API's own way, and reasoning may be left out.
    """
    spelled = "".join(token.token for token in logprobs)
    start = spelled.rfind(text[span[0] :])
    if start < 0:
        return None
    end = start + span[1] - span[0]
    at = 0
    for token in logprobs:
        if at <= start and end <= at + len(token.token):
            return token
        at += len(token.token)
    return None
