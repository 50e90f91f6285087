"""The expected grade: the mean over the scale, weighted by what the model thought of each grade's token."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import Protocol

# A token that spells a number alone, with what tokenizers glue to it (` 2`, `2}`, `":"2"`).
_NUMBER = re.compile(r"[^\w.+−-]*([0-9]+)[^\w.+−-]*", re.ASCII)


class Token(Protocol):
    """A token of an answer as the API tells it: log-probabilities are natural logarithms."""

    @property
    def token(self) -> str: ...
    @property
    def logprob(self) -> float: ...
    @property
    def top(self) -> Sequence[tuple[str, float]]: ...


def expected_grade(logprobs: Sequence[Token], text: str, span: tuple[int, int], scale: Collection[int]) -> float | None:
    """The expectation over ``scale`` at the token that spells the grade ``text[span]``, from that token and
    the likeliest others at its place, their probabilities brought to a sum of 1 over the grades among them.

    None where the token cannot be found: where the tokens do not spell the text, or where the grade's
    digits share a token with other digits, or are spread over several tokens.
    """
    found = _token_at(logprobs, text, span)
    if found is None or _grade(found.token) is None or str(_grade(found.token)) != text[slice(*span)]:
        return None
    likely = dict(found.top)
    likely[found.token] = found.logprob
    weight = dict.fromkeys(scale, 0.0)
    for token, logprob in likely.items():
        grade = _grade(token)
        if grade in weight:
            weight[grade] += math.exp(logprob)
    total = sum(weight.values())
    return sum(grade * share for grade, share in weight.items()) / total if total > 0 else None


def _grade(token: str) -> int | None:
    found = _NUMBER.fullmatch(token)
    return int(found[1]) if found and len(found[1]) < 10 else None


def _token_at(logprobs: Sequence[Token], text: str, span: tuple[int, int]) -> Token | None:
    """The token in which ``text[span]`` lies whole.

    The text from the span on is sought in the tokens from their end, because what comes before need not
    match: tokens of half a letter are spelled in the API's own way, and reasoning may be left out.
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
