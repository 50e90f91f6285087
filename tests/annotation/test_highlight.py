"""Highlights stand on the words of the text as it was given."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.annotation.highlight import highlights, words
from quati_pool.text.analysis import analyzer

# Letters whose normal or lower-case form has another length, marks, and what stands between words.
TRICKY = "aAeiIİıßſéãÉÃ\u0301\u0303\u0327ǅΣσς\ufb01Ωక\u0c3fहि\u0941\u200d\u200b-_'’ .,\n\t1２²😀\ufe0f\u202e\U0001f1e7"


def marked(query: str, text: str, language: str | None) -> list[str]:
    return [text[start:end] for start, end in highlights(query, text, language)]


def test_other_forms_of_a_querys_words_are_found_and_stop_words_are_not() -> None:
    text = "O cheiro de mofo nos guarda-roupas: como tirá-lo? Tirando o que MOFOU."
    assert marked("como tirar cheiro de mofo do guarda-roupa", text, "pt") == [
        "cheiro", "mofo", "guarda", "roupas", "tirá", "Tirando", "MOFOU",
    ]  # fmt: skip
    assert marked("the eggs", "An egg is the egg", "en") == ["egg", "egg"]


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKD"])
def test_offsets_are_those_of_the_text_as_it_was_given(form: str) -> None:
    """Decomposed, each accent is a character of its own, and all that follows moves."""
    text = unicodedata.normalize(form, "Ação, ação e AÇÃO: três informações.")
    found = highlights("ação informação", text, "pt")
    assert [unicodedata.normalize("NFC", text[start:end]) for start, end in found] == [
        "Ação", "ação", "AÇÃO", "informações",
    ]  # fmt: skip


def test_a_letter_that_grows_in_lower_case_moves_nothing() -> None:
    text = "İİİ İstanbul’da mofo"
    assert marked("istanbul", text, "pt") == ["İstanbul"]
    assert marked("mofo", text, "pt") == ["mofo"]
    assert marked("ISPARTA", "Isparta ısparta", "tr") == ["Isparta", "ısparta"]


@pytest.mark.parametrize("language", [None, "xx", "", "pt-BR"])
def test_without_a_stemmer_words_must_be_the_same_but_for_case(language: str | None) -> None:
    assert marked("O ovo", "Ovos e OVO, o ovo.", language) == ["OVO", "o", "ovo"]


@pytest.mark.parametrize("query", ["", "???", "de a o", "<"])
def test_a_query_without_a_term_marks_nothing(query: str) -> None:
    assert highlights(query, "de a o ??? <", "pt") == []


def test_a_text_without_a_word_has_no_highlight() -> None:
    assert highlights("ovo", "", "pt") == []
    assert highlights("ovo", "\u0301 - \n", "pt") == []


@given(
    st.one_of(st.text(), st.text(alphabet=TRICKY), st.text(alphabet=st.characters(codec=None, exclude_categories=()))),
    st.sampled_from(["pt", "en", "tr", "hi", None]),
)
def test_spans_are_ordered_apart_within_the_text_and_all_words_of_itself(text: str, language: str | None) -> None:
    found = highlights(text, text, language)
    end = 0
    for span in found:
        assert end <= span.start < span.end <= len(text)
        end = span.end
    if language is None:
        assert found == words(text)


@given(st.text(alphabet=TRICKY.replace("Σ", "")))
def test_words_are_those_of_the_analysis(text: str) -> None:
    """Read one by one they give the terms that the whole text gives (but for Σ, whose lower case depends on
    what follows it)."""
    terms = analyzer("pt", stemming=True, stop_words=False)
    assert [term for start, end in words(text) for term in terms(text[start:end])] == terms(text)
