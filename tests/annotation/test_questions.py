"""Coverage of the taxonomy, and questions that say the same."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.annotation.questions import ClassifiedQuestion, Similar, TaxonomyCell, coverage, similar_questions

TAXONOMY = {"theme": ["culture", "law"], "scope": ["general", "regional"], "type": ["fact"]}


def places(query: str, others: list[str], language: str | None = "pt") -> list[int]:
    return [similar.place for similar in similar_questions(query, others, language)]


def test_every_cell_is_there_and_the_empty_ones_are_named() -> None:
    combinations: list[tuple[str, str | None, str]] = [("law", "regional", "fact")] * 2
    combinations += [("culture", "general", "fact"), ("sport", "general", "fact"), ("law", None, "fact")]
    table = coverage(TAXONOMY, [ClassifiedQuestion(*values) for values in combinations])
    assert table.cells == (
        TaxonomyCell("culture", "general", "fact", 1),
        TaxonomyCell("culture", "regional", "fact", 0),
        TaxonomyCell("law", "general", "fact", 0),
        TaxonomyCell("law", "regional", "fact", 2),
    )
    assert table.empty == table.cells[1:3]
    assert table.outside == 2
    assert table.totals("theme") == {"culture": 1, "law": 2}
    assert table.totals("scope") == {"general": 1, "regional": 2}
    assert table.totals("type") == {"fact": 3}


def test_without_questions_all_cells_are_empty() -> None:
    table = coverage(TAXONOMY, [])
    assert len(table.empty) == len(table.cells) == 4
    assert table.outside == 0


@pytest.mark.parametrize(
    "other",
    ["qual a capital do acre", "  Qual a\tcapital do  ACRE ?!", "¿Qual a capital do Acre…",
     unicodedata.normalize("NFD", "Qual a capital do Acre?")],
)  # fmt: skip
def test_the_same_words_are_an_exact_duplicate(other: str) -> None:
    assert similar_questions("Qual a capital do Acre?", [other], "pt") == [Similar(0, 1.0, True)]


@pytest.mark.parametrize("query", ["Por que não?", "De quem?", "???", ""])
def test_an_exact_duplicate_is_found_where_no_stem_is_left(query: str) -> None:
    assert similar_questions(query, ["outra coisa", query, "!"], "pt") == [Similar(1, 1.0, True)]


def test_other_word_order_forms_slips_and_compounds_are_pointed_out() -> None:
    query = "Como tirar o cheiro de mofo do guarda-roupa?"
    assert places(query, ["Tirando cheiros de mofo dos guarda-roupas", "guarda roupa com mofo: tirar cheiro",
                          "Como tirar o cheiro de môfo do guardaroupa?", "Como lavar roupa?"]) == [0, 1, 2]  # fmt: skip


def test_a_shared_template_is_not_the_same_question() -> None:
    assert places("Qual é a capital do Acre?", ["Qual é a capital do Pará?", "Qual é a população do Acre?"]) == []
    assert places("Quem ganhou a Copa de 1970?", ["Quem ganhou a Copa de 1994?"]) == []


def test_the_similarity_is_the_larger_coefficient() -> None:
    """The stems (são is a stop word) are museu, paul, abert with doming or sábad: 3 of 5, exactly the
    threshold. Of their 3-grams 5 + 4 + 5 are shared, and 6 and 5 are not: 14 of 25."""
    found = similar_questions("museu são paulo aberto domingo", ["museu são paulo aberto sábado"], "pt")
    assert [(similar.place, similar.exact) for similar in found] == [(0, False)]
    assert found[0].similarity == 3 / 5


def test_the_most_similar_come_first() -> None:
    others = ["museus em São Paulo abertos domingo", "x", "Museus de São Paulo abertos no domingo"]
    found = similar_questions("Museus de São Paulo abertos no domingo?", others, "pt")
    assert [(similar.place, similar.exact) for similar in found] == [(2, True), (0, False)]


@pytest.mark.parametrize("language", [None, "xx"])
def test_a_language_without_stemmer_compares_words(language: str | None) -> None:
    assert places("ovo cozido duro", ["cozido ovo duro", "gelado pote fechado"], language) == [0]


@given(st.text(max_size=30), st.text(max_size=30), st.sampled_from(["pt", "tr", None]))
def test_likeness_is_mutual_and_a_question_is_always_its_own_duplicate(a: str, b: str, language: str | None) -> None:
    assert similar_questions(a, [b], language) == similar_questions(b, [a], language)
    assert similar_questions(a, [a], language) == [Similar(0, 1.0, True)]
