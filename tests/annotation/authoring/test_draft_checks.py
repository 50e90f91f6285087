"""Questions that copy their text are found by their longest run of its words."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quati_pool.annotation.authoring.draft_checks import Copied, copied_words

TEXT = "O mexilhão-dourado chegou ao Brasil na água de lastro dos navios, em 1998, e hoje entope tubulações no Sul."


@pytest.mark.parametrize(
    ("question", "run", "words", "too_much"),
    [
        # By hand: the run is "chegou ao brasil na água de lastro dos navios", 9 of 12 words.
        ("Quando o mexilhão chegou ao Brasil na água de lastro dos navios?", 9, 12, True),
        # "o mexilhão dourado chegou ao brasil", 6 of 7: a hyphen separates words.
        ("Como o mexilhão-dourado chegou ao Brasil?", 6, 7, True),
        # "na água de lastro", 4 of 9.
        ("Que espécie invasora veio na água de lastro estrangeira?", 4, 9, False),
        # A run of 4 words is too short, whatever its share (4 of 5).
        ("Quem entope tubulações no Sul?", 4, 5, False),
        # "hoje entope tubulações no sul", 5 of 10.
        ("Por que se diz que hoje entope tubulações no Sul?", 5, 10, False),
        ("Ele chegou ao brasil na água?", 5, 6, True),
        # The words are there, and not one after another: "ao Brasil" is the longest run.
        ("Navios de lastro, na água, ao Brasil?", 2, 7, False),
        ("E EM 1998?", 2, 3, False),
        ("???", 0, 0, False),
    ],
)
def test_runs_counted_by_hand(question: str, run: int, words: int, too_much: bool) -> None:
    found = copied_words(question, TEXT, "pt")
    assert (found.run, found.words, found.too_much) == (run, words, too_much)
    assert found.share == (run / words if words else 0.0)


def test_case_accents_and_the_language_are_those_of_words() -> None:
    # A decomposed accent is the same letter; without one it is another.
    assert copied_words("a\u0301gua", "Água", "pt").run == 1
    assert copied_words("agua", "Água", "pt").run == 0
    # The capital I is a dotless ı in Turkish alone.
    assert copied_words("ISI", "isi", "en").run == 1
    assert copied_words("ISI", "isi", "tr").run == 0
    for language in (None, "eu", "xx"):
        assert copied_words("Quem chegou?", TEXT, language) == Copied(1, 2)


@pytest.mark.parametrize(
    ("run", "words", "too_much"), [(5, 8, True), (5, 9, False), (6, 10, True), (4, 4, False), (5, 5, True)]
)
def test_both_thresholds_are_reached_by_being_equal(run: int, words: int, too_much: bool) -> None:
    # 5/8 = 0.625, 5/9 = 0.556, 6/10 = 0.6.
    assert Copied(run, words).too_much is too_much


WORDS = st.lists(st.sampled_from(["mar", "sal", "onda", "vento", "foz"]), max_size=12)


@given(WORDS, WORDS)
@example([], ["mar"])
@example(["mar", "mar"], ["mar", "mar", "mar"])
def test_the_longest_run_is_that_of_all_pairs_of_places(question: list[str], text: list[str]) -> None:
    slices = {tuple(text[start:end]) for start in range(len(text)) for end in range(start + 1, len(text) + 1)}
    longest = max(
        (
            end - start
            for start in range(len(question))
            for end in range(start + 1, len(question) + 1)
            if tuple(question[start:end]) in slices
        ),
        default=0,
    )
    assert copied_words(" ".join(question) + "?", ", ".join(text), "pt") == Copied(longest, len(question))
