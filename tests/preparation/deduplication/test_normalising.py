import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.preparation.deduplication.normalising import DEFAULT, Difference, encoded, normaliser

SAME: list[tuple[list[Difference], str, str]] = [
    (["NFC"], "acai\u0301", "aca\u00ed"),
    (["NFKC"], "\uff21\ufb01m \u00b2", "Afim 2"),
    (["case"], "STRASSE", "straße"),
    (["white space"], "  um\u00a0dois\r\n\ttrês ", "um dois três"),
    (["punctuation"], "um—dois…", "um dois "),
    (["punctuation"], "um😀dois", "um dois"),
    (["digits"], "página 3 de 12", "página 14 de 7"),
    (["digits"], "१२", "7"),  # Devanagari
    (DEFAULT, "ΝΑΪ́ΦΗ", "ναΐφη"),
    (DEFAULT, "A\u0301GUA  e Sal\n", "água e sal"),
]
DIFFERENT: list[tuple[list[Difference], str, str]] = [
    ([], "a", "A"),
    ([], "a b", "a  b"),
    (["NFC"], "\ufb01m", "fim"),
    (["case"], "avó", "avo"),
    (["white space"], "um dois", "umdois"),
    (["punctuation"], "हिन्दी", "हन्द"),  # its vowel signs are marks, not symbols
    (["punctuation"], "a 1", "a 2"),
    (DEFAULT, "R$ 10,00", "R$ 1000"),
    (DEFAULT, "página 3", "página 4"),
]


@pytest.mark.parametrize(("differences", "one", "other"), SAME)
def test_differences_that_do_not_count_are_taken_out(differences: list[Difference], one: str, other: str) -> None:
    assert normaliser(differences)(one) == normaliser(differences)(other)


@pytest.mark.parametrize(("differences", "one", "other"), DIFFERENT)
def test_other_differences_stay(differences: list[Difference], one: str, other: str) -> None:
    assert normaliser(differences)(one) != normaliser(differences)(other)


@given(st.text())
def test_texts_that_unicode_calls_equivalent_come_out_equal(text: str) -> None:
    normalised = normaliser(DEFAULT)
    assert normalised(unicodedata.normalize("NFD", text)) == normalised(unicodedata.normalize("NFC", text))


def test_punctuation_is_what_unicode_has_under_p_and_s() -> None:
    every = [chr(code) for code in range(0x20000)]  # beyond are ideographs, tags and private use
    expected = {char for char in every if unicodedata.category(char)[0] in "PS"}
    normalised = normaliser(["punctuation"])
    seen = normalised("x".join(every))[::2]
    assert {char for char, after in zip(every, seen, strict=True) if char != after} == expected
    assert normalised("a" + "".join(sorted(expected)) + "b").split() == ["a", "b"]


def test_order_of_the_list_does_not_matter() -> None:
    text = "Ａ\u0301gua — Nº 12,\n 3"
    every: list[Difference] = ["white space", "digits", "punctuation", "case", "NFKC", "NFC"]
    assert normaliser(every)(text) == normaliser(every[::-1])(text) == "água no 0 0"


def test_half_a_surrogate_pair_can_be_hashed() -> None:
    assert encoded("a\ud800") != encoded("a\ud801")
