"""What is doubtful about written questions and answers, found by rules: it is pointed out, and people decide.

The rules were tried on the questions and answers of Pirá 2.0's validation file (tests/annotation/authoring).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

from quati_pool.text.analysis import SNOWBALL, analyzer, stop_words_of

# Nouns for the text itself, and nouns for many things, of which the text is one.
_PT_TEXT = r"(?:artigos?|resumos?|papers?|abstracts?)"
_PT_WORK = r"(?:textos?|autor(?:es|as?)?|estudos?|trabalhos?|pesquisas?|relatórios?|documentos?)"
_ES_TEXT = r"(?:artículos?|resúmen(?:es)?|resumen(?:es)?|papers?|abstracts?)"
_ES_WORK = r"(?:textos?|autor(?:es|as?)?|estudios?|trabajos?|informes?|documentos?|investigaci(?:ón|ones))"
_EN_TEXT = r"(?:articles?|papers?|abstracts?)"
_EN_WORK = r"(?:texts?|authors?|passages?|study|studies|works?|reports?|documents?|research|survey|investigation)"

# "The study" is the text itself unless the question goes on to say of what it is a study.
_TO_THE_TEXT = {
    "pt": (
        rf"(?:n|d)?(?:est|ess)[ae]s?\s+(?:presente\s+)?(?:{_PT_TEXT}|{_PT_WORK})",
        rf"(?:(?:n|d|a|pel)?[oa]s?|ao)\s+(?:presente\s+)?{_PT_TEXT}",
        rf"(?:(?:n|d|a|pel)?[oa]s?|ao)\s+(?:presente\s+)?{_PT_WORK}"
        r"(?!\s+(?:d[aeo]s?|em|n[ao]s?|sobre|para|por|com|à|[\w-]+(?:ado|ada|ido|ida|[aei]ndo|al|ico|ica|ar|ais)s?)\b)",
    ),
    "es": (
        rf"est[aeo]s?\s+(?:presente\s+)?(?:{_ES_TEXT}|{_ES_WORK})",
        rf"(?:(?:el|la|los|las)|del|al)\s+(?:presente\s+)?{_ES_TEXT}",
        rf"(?:(?:el|la|los|las)|del|al)\s+(?:presente\s+)?{_ES_WORK}"
        r"(?!\s+(?:de|del|en|sobre|para|por|con|[\w-]+(?:ado|ada|ido|ida|ndo|al|ico|ica|ar|ales)s?)\b)",
    ),
    "en": (
        rf"(?:this|these)\s+(?:present\s+)?(?:{_EN_TEXT}|{_EN_WORK})",
        rf"the\s+(?:present\s+)?{_EN_TEXT}",
        rf"the\s+(?:present\s+)?{_EN_WORK}"
        r"(?!\s+(?:of|on|in|at|for|by|about|with|into|from|to|through|areas?|sites?|regions?|sectors?|periods?|[\w-]+ing)\b)",
    ),
}
_DECONTEXTUALISED = {
    language: re.compile(rf"\b(?:{'|'.join(patterns)})\b", re.IGNORECASE) for language, patterns in _TO_THE_TEXT.items()
}

_ID = re.compile(r"\b2-s2\.0-\d+|\b10\.\d{4,9}/\S+")
# A kept value or an id that is shorter may be an ordinary word or number.
_SHORTEST_ID = 4


class Flag(NamedTuple):
    """Something odd in a record: ``field`` is the text at fault, such as ``answer.pt``, and ``values`` go into the
    page's message for ``reason``: swapped, line_break, spaces, id, same_text."""

    reason: str
    field: str
    values: Mapping[str, str]


def decontextualised(question: str, language: str) -> str | None:
    """The words by which a question refers to the text that it was written from ("the paper"), which a reader without
    it cannot know; None if there are none, or no rule for the language (there are rules for en, es and pt)."""
    pattern = _DECONTEXTUALISED.get(language)
    found = None if pattern is None else pattern.search(question)
    return None if found is None else found[0]


def swapped(texts: Mapping[str, str]) -> tuple[str, str] | None:
    """Two languages whose texts seem to be exchanged: each text has more stop words of the other language than of its
    own, not counting words of both. None if there are none, or no lists for the languages."""
    for one, other in combinations(texts, 2):
        only = _stop_words_of(one, other)
        if only and _leans_away(texts[one], *only) and _leans_away(texts[other], *reversed(only)):
            return one, other
    return None


def flags(record: Mapping[str, Any]) -> list[Flag]:
    """What is odd in the record of a question (``Pira.record``)."""
    texts = dict(_texts(record))
    found = []
    groups: dict[str, dict[str, str]] = {}
    for field, text in texts.items():
        group, _, language = field.rpartition(".")
        groups.setdefault(group, {})[language] = text
    for group, by_language in groups.items():
        if pair := swapped(by_language):
            found.append(Flag("swapped", f"{group}.{pair[0]}", {"one": pair[0], "other": pair[1]}))
    ids = sorted({one for one in (record["source_id"], *record["kept"].values()) if _like_an_id(one)})
    for field, text in texts.items():
        if "\n" in text:
            found.append(Flag("line_break", field, {}))
        if re.search(r"\S {2,}\S", text):
            found.append(Flag("spaces", field, {}))
        if inside := _id_in(text, ids):
            found.append(Flag("id", field, {"id": inside}))
    return found + list(_repeating(groups))


def repeated(questions: Mapping[int, str], language: str) -> list[tuple[int, int]]:
    """The items whose question has the words of an earlier one, in the same order, each with that one."""
    words = _words(language)
    first: dict[tuple[str, ...], int] = {}
    pairs = [(item_id, first.setdefault(tuple(words(text)) or (text,), item_id)) for item_id, text in questions.items()]
    return [(item_id, earlier) for item_id, earlier in pairs if item_id != earlier]


def same_words(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but case, punctuation and white space."""
    read = _words("en")
    return (read(one) or one) == (read(other) or other)


def _texts(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in ("question", "answer"):
        for language, text in record[name].items():
            yield f"{name}.{language}", text
    for number, one in enumerate(record["assessments"], 1):
        for name in ("validation", "paraphrase"):
            for language, text in (one[name] or {}).items():
                yield f"{name}.{number}.{language}", text


def _repeating(groups: Mapping[str, Mapping[str, str]]) -> Iterator[Flag]:
    """Texts that should differ and do not: of a question in two languages, and of a question, its answer and its
    paraphrases in one. An assessor's answer may well be the author's."""
    seen: dict[str, list[tuple[str, str]]] = {}
    for group, by_language in groups.items():
        kind = group.partition(".")[0]
        if kind in ("question", "paraphrase"):
            for one, other in combinations(by_language, 2):
                if same_words(by_language[one], by_language[other]):
                    yield Flag("same_text", f"{group}.{other}", {"as": f"{group}.{one}"})
        if kind != "validation":
            for language, text in by_language.items():
                earlier = seen.setdefault(language, [])
                if same := next((field for field, before in earlier if same_words(before, text)), None):
                    yield Flag("same_text", f"{group}.{language}", {"as": same})
                earlier.append((f"{group}.{language}", text))


def _like_an_id(text: str) -> bool:
    return len(text) >= _SHORTEST_ID and " " not in text and any(character.isdigit() for character in text)


def _id_in(text: str, ids: Iterable[str]) -> str | None:
    found = _ID.search(text)
    if found:
        return found[0]
    return next((one for one in ids if re.search(rf"(?<!\w){re.escape(one)}(?!\w)", text)), None)


@cache
def _stop_words_of(one: str, other: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """The stop words that only one of two languages has; None if there is no list for either."""
    lists = [stop_words_of(language) for language in (one, other)]
    return (lists[0] - lists[1], lists[1] - lists[0]) if all(lists) else None


@cache
def _words(language: str) -> Callable[[str], list[str]]:
    """A function from a text to its words in lower case; for a language without rules of its own, those of English."""
    return analyzer(language if language in SNOWBALL else "en", stemming=False, stop_words=False)


def _leans_away(text: str, own: frozenset[str], other: frozenset[str]) -> bool:
    words = _words("en")(text)
    return sum(word in other for word in words) > sum(word in own for word in words)
