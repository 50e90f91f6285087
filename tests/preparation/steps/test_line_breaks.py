import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from quati_pool.preparation.steps.line_breaks import LineBreaks, line_breaks
from tests.preparation.filter_steps import reasons, reasons_in_pieces, rows

GOES = "too many line breaks"


def step(**parameters: object) -> LineBreaks:
    return LineBreaks(LineBreaks.Parameters.model_validate(parameters))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("sem quebra", ""),
        ("a b c d e\n", ""),  # 1 / 5 is 20 %, which does not exceed it
        ("a b c d\n", GOES),  # 1 / 4
        ("a b c d e\nf g h i j\nk l m n o\n", ""),  # 3 / 15
        ("a b c d e\nf g h i j\nk l m n\n", GOES),  # 3 / 14
        ("a b c d e f g h i\r\nj", ""),  # \r\n is one break: 1 / 10
        ("a b c d e f g h i\r\rj", ""),  # 2 / 10
        ("a b c d e f g h i\n\n\nj", GOES),  # blank lines count: 3 / 10
        ("a b c\u2028d", GOES),  # Unicode's line separator: 1 / 4
        ("a b c\x85d", GOES),
        ("a b c\x0bd e f\x0cg", ""),  # vertical tabs and form feeds end no line
        ("\n", GOES),  # a break and no word
        (" \n \n ", GOES),
        ("   ", ""),
        ("Início\nSobre\nContato\nAjuda", GOES),  # 3 / 4
    ],
)
def test_breaks_are_counted_against_words(text: str, expected: str) -> None:
    assert reasons(step(), rows([text])) == [expected]


@pytest.mark.parametrize(
    ("text", "share", "expected"),
    [
        ("abcd\n", 0.2, ""),  # 1 / 5 characters
        ("abc\n", 0.2, GOES),  # 1 / 4
        ("um menu\ncom linhas\ncurtas\n", 0.2, ""),  # 3 / 26: hardly any text has a break in five characters
        ("um menu\ncom linhas\ncurtas\n", 0.1, GOES),
        ("", 0.0, ""),
        ("a\nb", 0.0, GOES),
        ("a b", 0.0, ""),
    ],
)
def test_or_against_characters(text: str, share: float, expected: str) -> None:
    assert reasons(step(of="characters", share=share), rows([text])) == [expected]


def test_a_share_that_is_met_exactly_is_not_exceeded() -> None:
    # In binary 0.29 * 100 is 28.999999999999996: 29 breaks would be too many.
    at_share = "\n".join(["a b c"] * 28) + "\nd\n" + "e " * 15
    assert (at_share.count("\n"), len(at_share.split())) == (29, 100)
    assert reasons(step(share=0.29), rows([at_share, at_share + "\n"])) == ["", GOES]


def test_the_detail_tells_what_was_counted() -> None:
    verdicts = step().apply(rows(["a b c\n\nd e f g", "\n\n", "a b c d e f"]))
    assert verdicts.codes.tolist() == [1, 1, 0]
    assert verdicts.detail(0) == "2 line breaks to 7 words, 28.6 %; at most 20 %"
    assert verdicts.detail(1) == "2 line breaks to 0 words; at most 20 %"
    in_characters = step(of="characters", share=0.01).apply(rows(["a b c\nd e f g"]))
    assert in_characters.detail(0) == "1 line breaks to 13 characters, 7.7 %; at most 1 %"


def test_large_texts_are_judged_too() -> None:
    texts = ["\n" * 1_000_000, "a " * 500_000, "a\n" * 500_000, "\0" * 1000, "\ud800\n"]
    assert reasons(step(), rows(texts)) == [GOES, "", GOES, "", GOES]


def test_no_rows_give_no_verdicts() -> None:
    assert reasons(step(), rows([])) == []


@given(st.text("a \n\r\u2028\x85é", max_size=40), st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0]))
def test_the_count_of_words_may_stop_early_without_another_verdict(text: str, share: float) -> None:
    breaks = len([line for line in text.splitlines(keepends=True) if line[-1] in "\n\r\u2028\x85"])
    assert line_breaks(text) == breaks
    words = len(text.split())
    exceeds = breaks > 0 and (words == 0 or breaks / words > share)
    assert reasons(step(share=share), rows([text])) == [GOES if exceeds else ""]


@given(st.lists(st.text("a \n", max_size=12), max_size=9), st.integers(1, 4))
def test_verdicts_do_not_depend_on_batches(texts: list[str], size: int) -> None:
    batch = rows(texts)
    assert reasons_in_pieces(step(), batch, size) == reasons(step(), batch)


@pytest.mark.parametrize("parameters", [{"share": -0.1}, {"share": np.nan}, {"of": "lines"}, {"shares": 0.2}])
def test_parameters_that_mean_nothing_are_refused(parameters: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        step(**parameters)
