"""What the checks point out, and how often they do in the questions of Pirá 2.0, which are good ones."""

from __future__ import annotations

import csv
from typing import Any

import pytest

from quati_pool.annotation.authoring.text_checks import Flag, decontextualised, flags, repeated, same_words, swapped
from tests.shared_data import shared


@pytest.mark.parametrize(
    ("language", "question", "words"),
    [
        ("en", "What is the aim of the paper?", "the paper"),
        ("en", "What do the authors propose?", "the authors"),
        ("en", "What was measured in this study?", "this study"),
        ("en", "Where was the present study conducted?", "the present study"),
        ("en", "What did the study of the reefs show?", None),
        ("en", "Which areas belong to the study area?", None),
        ("en", "Who are the authors of Dom Casmurro?", None),
        ("en", "How does the tide work?", None),
        ("pt", "Qual é o objetivo do artigo?", "do artigo"),
        ("pt", "O que os autores propõem?", "os autores"),
        ("pt", "O que foi medido neste estudo?", "neste estudo"),
        ("pt", "Quem é o autor de Dom Casmurro?", None),
        ("pt", "Para que serve o estudo da maré?", None),
        ("pt", "Onde fica o trabalho social mais antigo?", None),
        ("es", "¿Cuál es el objetivo del artículo?", "del artículo"),
        ("es", "¿Qué proponen los autores?", "los autores"),
        ("es", "¿Qué se midió en este estudio?", "este estudio"),
        ("es", "¿Quién es el autor de Rayuela?", None),
        ("fr", "Quel est l'objectif de cet article ?", None),
    ],
)
def test_a_question_that_only_a_reader_of_the_text_understands(language: str, question: str, words: str | None) -> None:
    assert decontextualised(question, language) == words


def test_languages_are_seen_to_be_exchanged() -> None:
    pt, en = "Como é que a maré da baía muda?", "How does the tide of the bay change?"
    assert swapped({"pt": pt, "en": en}) is None
    assert swapped({"pt": en, "en": pt}) == ("pt", "en")
    # One of them in the wrong language, and names alone, are no exchange.
    assert swapped({"pt": en, "en": en}) is None
    assert swapped({"pt": "Petrobras", "en": "Petrobras"}) is None
    assert swapped({"pt": pt, "eu": en}) is None  # no list of Basque stop words


def record(**changes: Any) -> dict[str, Any]:
    return {
        "source_id": "A77",
        "kept": {"corpus": "1", "eid": "2-s2.0-20220489"},
        "question": {"pt": "Como muda a maré?", "en": "How does the tide change?"},
        "answer": {"pt": "Duas vezes por dia", "en": "Twice a day"},
        "assessments": [],
        **changes,
    }


def test_flags_name_the_field() -> None:
    assert flags(record()) == []
    answer = {"pt": "Duas  vezes\npor dia", "en": "See 2-s2.0-20220489"}
    assert flags(record(answer=answer)) == [
        Flag("line_break", "answer.pt", {}),
        Flag("spaces", "answer.pt", {}),
        Flag("id", "answer.en", {"id": "2-s2.0-20220489"}),
    ]
    # Of several ids the first in their order, so that every process shows the same.
    kept = {str(number): f"id{number}" for number in range(19, 9, -1)}
    named = {"pt": "Duas", "en": " ".join(kept.values())}
    assert flags(record(answer=named, kept=kept)) == [Flag("id", "answer.en", {"id": "id10"})]
    exchanged = {"pt": "How does the tide change?", "en": "Como muda a maré da baía?"}
    assert flags(record(question=exchanged)) == [Flag("swapped", "question.pt", {"one": "pt", "other": "en"})]
    one = {
        "validation": {"pt": "Duas vezes por dia", "en": "Twice a day"},  # as the author: no fault
        "paraphrase": {"pt": "Como, muda a maré", "en": "How do tides change?"},
    }
    assert flags(record(assessments=[one])) == [Flag("same_text", "paraphrase.1.pt", {"as": "question.pt"})]
    both = {"validation": {}, "paraphrase": {"pt": "How do tides go?", "en": "How do tides go?"}}
    assert flags(record(assessments=[both])) == [Flag("same_text", "paraphrase.1.en", {"as": "paraphrase.1.pt"})]


def test_the_same_question_twice() -> None:
    questions = {3: "Como muda a maré?", 5: "como muda  a maré", 8: "Como muda o mar?", 9: "Como muda a maré?!"}
    assert repeated(questions, "pt") == [(5, 3), (9, 3)]
    assert same_words("Is it so?", "is it, so")
    assert not same_words("Is it so?", "It is so")
    assert same_words("???", "???")
    assert not same_words("???", "!!!")


def _rows() -> list[dict[str, str]]:
    with shared("pira/validation.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_few_of_piras_questions_are_pointed_out() -> None:
    rows = _rows()
    assert len(rows) == 225
    found = {
        language: [row["id_qa"] for row in rows if decontextualised(row[f"question_{language}_origin"], language)]
        for language in ("en", "pt")
    }
    # All three are right: "What was studied in this article?", "What have been performed in this study?", and "…
    # regarded as experience by this research?". Both languages have the same.
    assert found["en"] == found["pt"]
    assert len(found["en"]) == 3


def test_exchanged_languages_are_found_and_others_are_not() -> None:
    fields = [("question", "origin"), ("question", "paraphase"), ("answer", "origin"), ("answer", "validate")]
    pairs = [
        {language: row[f"{name}_{language}_{kind}"] for language in ("en", "pt")}
        for row in _rows()
        for name, kind in fields
    ]
    pairs = [pair for pair in pairs if all(pair.values())]
    assert len(pairs) == 225 + 190 + 225 + 215
    assert [pair for pair in pairs if swapped(pair)] == []
    exchanged = [bool(swapped({"en": pair["pt"], "pt": pair["en"]})) for pair in pairs]
    # Short answers have no stop words: of questions it is 98 %.
    assert sum(exchanged) == 773


def test_one_of_piras_sets_repeats_a_text() -> None:
    """A paraphrase in English is the question itself."""
    found = []
    for row in _rows():
        both = {
            name: {language: row[column] for language in ("en", "pt") if row[column := column_of(language)].strip()}
            for name, column_of in {
                "question": lambda language: f"question_{language}_origin",
                "answer": lambda language: f"answer_{language}_origin",
                "validation": lambda language: f"answer_{language}_validate",
                "paraphrase": lambda language: f"question_{language}_paraphase",
            }.items()
        }
        one = {"validation": both["validation"], "paraphrase": both["paraphrase"]}
        kept = {"corpus": row["corpus"], "eid": row["eid_article_scopus"]}
        made = {"source_id": row["id_qa"], "kept": kept, "question": both["question"], "answer": both["answer"]}
        found += [(flag.reason, flag.field) for flag in flags({**made, "assessments": [one]})]
    assert found == [("same_text", "paraphrase.1.en")]
