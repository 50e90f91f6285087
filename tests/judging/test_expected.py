"""The expected grade is the mean over the grades among the likely tokens, found where the grade stands."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import pytest

from quati_pool.judging.expected import expected_grade
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


def expected(*tokens: Token, text: str | None = None) -> float | None:
    text = "".join(token.token for token in tokens) if text is None else text
    span = read_verdict(text, PT).span
    assert span is not None
    return expected_grade(tokens, text, span, SCALE)


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
    assert expected_grade(tokens, "Score: 10", (7, 9), range(11)) is None
    whole = Token("10", (("10", 0.5), ("8", 0.5)))
    # (10·0.5 + 8·0.5) / 1 = 9
    assert expected_grade([*before("Score: "), whole], "Score: 10", (7, 9), range(11)) == pytest.approx(9)


def test_vanishing_probabilities_give_none_not_an_error() -> None:
    @dataclass(frozen=True)
    class Impossible:
        token: str
        logprob: float
        top: list[tuple[str, float]]

    assert expected_grade([Impossible("2", -9999.0, [("2", -9999.0)])], "2", (0, 1), SCALE) is None
