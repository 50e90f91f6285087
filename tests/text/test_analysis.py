"""Texts to terms, in several scripts."""

from __future__ import annotations

import unicodedata

import pytest
import Stemmer
from pydantic import TypeAdapter, ValidationError

from quati_pool.text.analysis import SNOWBALL, Language, analyzer


def words(language: str, text: str) -> list[str]:
    return analyzer(language, stemming=False, stop_words=False)(text)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("pt", "A ação, em 2024: 3,5 (três e meio).", "a ação em 2024 3 5 três e meio"),
        ("en", "state-of-the-art snake_case don't", "state of the art snake case don t"),
        ("de", "Straße ÜBER", "straße über"),
        ("ru", "Война и мир", "война и мир"),
        # Vowel signs are combining marks: they belong to the word.
        ("hi", "हिन्दी में किताबें।", "हिन्दी में किताबें"),
        ("ta", "தமிழ் மொழி", "தமிழ் மொழி"),
        ("ar", "مُحَمَّد، كتاب", "مُحَمَّد كتاب"),
        # A mark that no letter composes with, and one that stands alone.
        ("en", "q\u0308x \u0308", "q\u0308x"),
        # Turkish has two letters i, of which ı is the small form of I.
        ("tr", "İstanbul IŞIK", "istanbul ışık"),
        ("en", "İstanbul IT", "istanbul it"),
        ("el", "", ""),
        ("en", "… — !? \n\t", ""),
    ],
)
def test_words(language: str, text: str, expected: str) -> None:
    assert words(language, text) == expected.split()


@pytest.mark.parametrize("text", ["ação é", "Ångström", "tiếng Việt", "й ё"])
def test_a_decomposed_accent_matches_a_composed_one(text: str) -> None:
    composed, decomposed = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)
    assert composed != decomposed
    assert words("en", decomposed) == words("en", composed) == composed.lower().split()


def test_stems_are_snowballs() -> None:
    text = "casas casa pesquisadores pesquisando"
    stemmer = Stemmer.Stemmer("portuguese")
    assert analyzer("pt", True, False)(text) == stemmer.stemWords(text.split())
    # The published Portuguese vocabulary has both words under one stem.
    assert analyzer("pt", True, False)("Casas casa") == ["cas", "cas"]


def test_stop_words_go_before_stemming() -> None:
    # "being" is a stop word's form only after stemming; "the" and "of" are in every English list.
    assert analyzer("en", True, True)("The houses of the towns") == ["hous", "town"]
    assert analyzer("en", False, True)("The houses of the towns") == ["houses", "towns"]
    assert analyzer("pt", False, True)("de onde vem a água") == ["onde", "vem", "água"]


def test_a_language_without_a_stop_list_keeps_all_words() -> None:
    assert analyzer("eu", False, True)("eta da ez") == ["eta", "da", "ez"]


@pytest.mark.parametrize("language", sorted(SNOWBALL))
def test_every_language_stems_and_drops(language: str) -> None:
    """Every name is one that Snowball and bm25s know."""
    assert analyzer(language, True, True)("zzyzx") == [Stemmer.Stemmer(SNOWBALL[language]).stemWord("zzyzx")]


def test_an_unknown_language_names_the_known_ones() -> None:
    with pytest.raises(ValidationError, match="there is no language 'jp'; there are: ar, ca, cs"):
        TypeAdapter(Language).validate_python("jp")
