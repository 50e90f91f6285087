"""Names and lines are short enough for their place, and names that differ keep different labels."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from quati_pool.reporting.figures.plots.names import wrapped
from quati_pool.text.characters import one_line
from quati_pool.text.display_width import beginning, columns, labels, padded, short, wrapped_lines


def test_what_is_too_long_loses_its_middle() -> None:
    assert short("multilingual-e5-large-reranked", 11) == "multi…anked"
    assert short("bm25", 4) == "bm25"
    assert beginning("Qual é a maior cidade?", 9) == "Qual é a…"


def test_wide_letters_take_two_columns() -> None:
    assert columns("日本語ab") == 8
    assert short("日本語日本語", 7) == "日本…語"


@given(st.text(), st.integers(1, 40))
def test_a_short_name_fits(name: str, width: int) -> None:
    assert columns(short(name, width)) <= width
    assert columns(beginning(name, width)) <= width


@given(st.lists(st.text("ab-日 ", min_size=30, max_size=60)))
def test_names_that_differ_keep_different_labels(names: list[str]) -> None:
    assert len(set(labels(names))) == len({one_line(name) for name in names})


def test_labels_that_would_be_alike_grow_until_they_differ() -> None:
    same = "x" * 20
    first, second = labels([f"{same}-one-{same}", f"{same}-two-{same}"])
    assert first != second
    assert labels([f"{same}-one-{same}"]) == ["xxxxxxxxxxxxxx…xxxxxxxxxxxxx"]


def test_a_title_has_three_lines_at_most() -> None:
    lines = wrapped("word " * 100, 4).split("\n")
    assert len(lines) == 3
    assert lines[-1].endswith("…")
    assert max(map(len, lines)) <= 43


@given(st.text("ab日 \n", max_size=80), st.integers(2, 30))
def test_wrapped_lines_fit_and_keep_every_word_that_fits(text: str, width: int) -> None:
    lines = wrapped_lines(text, width)
    assert all(columns(line) <= width for line in lines)
    assert [word for line in lines for word in line.split(" ")] == [short(word, width) for word in text.split()]


def test_padding_counts_columns() -> None:
    assert padded("日本", 6) == "日本  "
    assert padded("0.5", 6, right=True) == "   0.5"
