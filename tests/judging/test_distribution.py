"""The distribution is over the grades among the likely tokens, found where the grade stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp, softmax

from quati_pool.judging.distribution import Distribution, grade_distribution
from quati_pool.judging.verdict import read_verdict
from tests.judging.readings import PT, SCALE


@dataclass(frozen=True)
class Token:
    """As the API tells it; ``top`` holds probabilities here, and their logarithms for the code under test."""

    token: str
    probabilities: tuple[tuple[str, float], ...] = ()

    @property
    def logprob(self) -> float:
        return dict(self.top).get(self.token, 0.0)

    @property
    def top(self) -> list[tuple[str, float]]:
        return [(token, log(probability)) for token, probability in self.probabilities]


class Written:
    """A token whose log-probability is another than the list of the likeliest has; ``top`` is as in the API."""

    def __init__(self, token: str, logprob: float, top: Sequence[tuple[str, float]]) -> None:
        self.token = token
        self.logprob = logprob
        self.top = top


def logs(probabilities: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    return [(token, log(probability)) for token, probability in probabilities]


def distribution(*tokens: Token, text: str | None = None) -> Distribution | None:
    text = "".join(token.token for token in tokens) if text is None else text
    span = read_verdict(text, PT).span
    assert span is not None
    return grade_distribution(tokens, text, span, SCALE)


def expected(*tokens: Token, text: str | None = None) -> float | None:
    found = distribution(*tokens, text=text)
    return None if found is None else found.expected


def before(*texts: str) -> list[Token]:
    return [Token(text, ((text, 1.0),)) for text in texts]


HEAD = before('{"', "Razão", '":', ' "', "3", " de", ' 3"', ', "', "Pontuação", '":', " ")


def test_the_mean_over_the_grades_at_its_place() -> None:
    # (2·0.6 + 1·0.2 + 3·0.1) / (0.6 + 0.2 + 0.1) = 1.7 / 0.9
    grade = Token("2", (("2", 0.6), ("1", 0.2), ("3", 0.1), ("{", 0.05), ("7", 0.04)))
    assert expected(*HEAD, grade, Token("}")) == pytest.approx(1.7 / 0.9)


def test_spellings_of_one_grade_add_up() -> None:
    # Grade 2 has 0.5 + 0.1, grade 0 has 0.2: (2·0.6 + 0·0.2) / 0.8 = 1.5
    grade = Token(" 2", ((" 2", 0.5), ("2", 0.1), (' "0', 0.2), ("2.5", 0.1), ("-1", 0.1)))
    assert expected(*HEAD[:-1], grade, Token("}")) == pytest.approx(1.5)


def test_a_token_that_is_not_among_its_likeliest_counts_too() -> None:
    # exp(0) = 1 for the token itself, whose log-probability is 0: (2·1 + 1·0.25) / 1.25 = 1.8
    grade = Token("2", (("1", 0.25),))
    assert expected(*HEAD, grade, Token("}")) == pytest.approx(1.8)


def test_a_token_with_the_closing_brace_in_it() -> None:
    # (2·0.75 + 1·0.25) / 1 = 1.75
    assert expected(*HEAD, Token("2}", (("2}", 0.75), ("1}", 0.25)))) == pytest.approx(1.75)


def test_a_grade_written_with_a_decimal() -> None:
    # (2·0.5 + 1·0.5) / 1 = 1.5
    assert expected(*HEAD, Token("2", (("2", 0.5), ("1", 0.5))), Token(".0"), Token("}")) == pytest.approx(1.5)


def test_what_stands_before_the_grade_need_not_match() -> None:
    """Tokens of half a letter come in a spelling of the API's own, and thoughts are left out of the text."""
    tokens = [
        *before("<think>", "2}", "</think>", '{"Pontua', "\\xc3", "\\xa7", "ão", '": '),
        Token("1", (("1", 0.5), ("3", 0.5))),
    ]
    # (1·0.5 + 3·0.5) / 1 = 2, not the 2 that was thought of
    assert expected(*tokens, Token("}"), Token("<|im_end|>"), text='{"Pontuação": 1}') == pytest.approx(2)


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ((), '{"Pontuação": 2}'),
        (before("something", " else"), '{"Pontuação": 2}'),
        (before('{"Pontuação": 2}'), '{"Pontuação": 2}'),
        (before('{"Pontuação": ', "2, ", '"ano": 2}'), '{"Pontuação": 2, "fim": 2}'),
    ],
    ids=["no tokens", "other tokens", "a token with much else in it", "tokens of another text"],
)
def test_none_where_the_token_cannot_be_found(tokens: list[Token], text: str) -> None:
    assert expected(*tokens, text=text) is None


def test_digits_spread_over_tokens_give_none() -> None:
    tokens = [*before("Score: "), Token("1", (("1", 1.0),)), Token("0", (("0", 1.0),))]
    assert grade_distribution(tokens, "Score: 10", (7, 9), range(11)) is None
    whole = Token("10", (("10", 0.5), ("8", 0.5)))
    found = grade_distribution([*before("Score: "), whole], "Score: 10", (7, 9), range(11))
    assert found is not None
    # (10·0.5 + 8·0.5) / 1 = 9
    assert found.expected == pytest.approx(9)
    assert found.shares == {grade: pytest.approx(0.5 if grade in (8, 10) else 0) for grade in range(11)}


def test_vanishing_probabilities_give_none_not_an_error() -> None:
    assert grade_distribution([Written("2", -9999.0, [("2", -9999.0)])], "2", (0, 1), SCALE) is None


def test_the_shares_add_up_to_1_and_the_rest_is_off_the_scale() -> None:
    # Grades have 0.6 + 0.2 + 0.1 = 0.9, so that 0.1 is off the scale: 0.05 + 0.04 of it is listed, 0.01 is not.
    grade = Token("2", (("2", 0.6), ("1", 0.2), ("3", 0.1), ("{", 0.05), ("7", 0.04)))
    found = distribution(*HEAD, grade, Token("}"))
    assert found is not None
    assert found.shares == {0: 0, 1: pytest.approx(2 / 9), 2: pytest.approx(6 / 9), 3: pytest.approx(1 / 9)}
    assert found.off_scale == pytest.approx(0.1)


def test_signs_decimals_words_and_longer_numbers_are_off_the_scale() -> None:
    odd = ("-1", "−1", "+1", "1.", ".1", "1.5", "10", "11", "two", "x1", "1a", "１", "²")
    grade = Token("1", (("1", 0.4), *((text, 0.6 / len(odd)) for text in odd)))
    found = distribution(*HEAD, grade, Token("}"))
    assert found is not None
    assert (found.shares, found.off_scale) == ({0: 0, 1: 1, 2: 0, 3: 0}, pytest.approx(0.6))


def test_a_number_under_a_sign_is_no_grade() -> None:
    for tokens in ([Token("-1", (("-1", 1.0),))], [Token("-"), Token("1", (("1", 1.0),))]):
        assert grade_distribution(tokens, "-1", (0, 2), range(-1, 3)) is None
    assert grade_distribution([Token("-1", (("-1", 1.0),))], "-1", (1, 2), SCALE) is None


def test_tokens_that_print_alike_add_up_and_one_that_is_listed_twice_counts_once() -> None:
    # Servers that print each token by itself show "▁2" and "2" alike: 2 has 0.5 + 0.125, 1 has 0.25 + 0.125.
    alike = logs([("2", 0.5), ("1", 0.25), ("2", 0.125), ("1", 0.125)])
    for written in (0.5, 0.125):
        found = grade_distribution([Written("2", log(written), alike)], "2", (0, 1), SCALE)
        assert found == ({0: 0, 1: pytest.approx(0.375), 2: pytest.approx(0.625), 3: 0}, pytest.approx(0))
    twice = logs([("2", 0.5), ("1", 0.25), ("2", 0.5)])
    found = grade_distribution([Written("2", log(0.5), twice)], "2", (0, 1), SCALE)
    assert found == ({0: 0, 1: pytest.approx(1 / 3), 2: pytest.approx(2 / 3), 3: 0}, pytest.approx(0.25))


def test_probabilities_that_add_up_to_more_than_1_leave_nothing_off_the_scale() -> None:
    found = distribution(*HEAD, Token("2", (("2", 0.75), ("1", 0.2500001))), Token("}"))
    assert found is not None
    assert found.off_scale == 0
    assert sum(found.shares.values()) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_softmax_over_the_grades_logits(seed: int) -> None:
    """By scipy: spellings of one grade are brought together, and all else left out, before the softmax."""
    logits = np.random.default_rng(seed).normal(0, 4, 12)
    spellings = ["0", " 0", "1", "1}", "2", '"2', "3", " 3", "4", "{", "-1", "nada"]
    top = list(zip(spellings, log_softmax(logits).tolist(), strict=True))
    found = grade_distribution([Written("1", top[2][1], top)], "1", (0, 1), SCALE)
    by_grade = [logsumexp(logits[[2 * grade, 2 * grade + 1]]) for grade in SCALE]
    assert found is not None
    assert [found.shares[grade] for grade in SCALE] == pytest.approx(softmax(by_grade).tolist())
    assert found.off_scale == pytest.approx(softmax(logits)[8:].sum(), abs=1e-12)
    assert found.expected == pytest.approx(float(np.dot(softmax(by_grade), SCALE)))
