"""Five made-up texts with a question each, whose human F1 is computed by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quati_pool.commands.annotate.authoring.step import WritingStep
from tests.commands.annotate.authoring.people_writing import (
    LEAD,
    Answer,
    Finished,
    Refused,
    prefilled,
    signed_in,
    work_off,
)
from tests.commands.annotate.authoring.rounds import opened, workspace

# The author's answer, and the assessor's. By hand, with shared tokens s, and F1 = 200 s / (tokens of both):
#   twice a day | twice a day                     s = 3   600 / 6 = 100           equal
#   in warm shallow water | warm water            s = 2   400 / 6 =  66.6667
#   the moon and the sun | the sun                s = 2   400 / 7 =  57.142857    ("the" counts once)
#   salt | sand                                   s = 0     0
#   old ropes old nets | old old boats            s = 2   400 / 7 =  57.142857    ("old" counts twice)
# Together 280.952381, so F1 is 56.190476; one of five is equal, so EM is 20.
ANSWERS = [
    ("Twice a day.", "twice a day"),
    ("In warm, shallow water", "warm water"),
    ("The moon and the sun", "the sun"),
    ("Salt", "Sand"),
    ("Old ropes, old nets", "old old boats"),
]
F1 = [100.0, 400 / 6, 400 / 7, 0.0, 400 / 7]
QUESTIONS = [
    "When does the water turn?",
    "Where do corals grow?",
    "What pulls the sea?",
    "What is left on the deck?",
    "Which litter do whales swallow?",
]
TEXTS = [
    {"doc_id": f"T{number}", "corpus": "1", "en": f"{question} It says."} for number, question in enumerate(QUESTIONS)
]


class Five:
    """Writes one question on each text; evaluations have the ``grades`` of a person and question."""

    def __init__(self, grades: Mapping[str, Sequence[Mapping[str, Any]]] | None = None) -> None:
        self.written: set[str] = set()
        self._grades = grades or {}

    def __call__(self, name: str, shown: WritingStep) -> Mapping[str, Any] | Refused | Finished | None:
        step = shown.step.name
        if step == "set":
            text = shown.shown["text"]["en"]
            if text in self.written:
                return Finished()
            self.written.add(text)
            number = next(place for place, one in enumerate(TEXTS) if one["en"] == text)
            return {"question.en": QUESTIONS[number], "answer.en": ANSWERS[number][0]}
        if step in ("edit", "curate"):
            return prefilled(shown)
        number = QUESTIONS.index(shown.shown["question"]["en"])
        if step == "validation":
            return {"validation.en": ANSWERS[number][1]}
        if step == "paraphrase":
            return {"paraphrase.en": f"Say: {QUESTIONS[number]}"}
        assert step == "evaluation"
        usual = {"generic": False, "in_text": True, "sense": 5, "hard": 1, "equivalent": 3, "type": "what"}
        return {**usual, **(self._grades[name][number] if name in self._grades else {})}


def five(folder: Path, people: Sequence[str], answers: Answer, **changes: Any) -> Path:
    sources = {"path": "texts.csv", "text": {"en": "en"}, "keep": ["corpus"]}
    path = workspace(folder, TEXTS, languages=["en"], sources=sources, **changes)
    with opened(path) as session:
        tokens = signed_in(session, *people)
        writer, *assessors = people
        for names in ([writer], [LEAD], assessors, [LEAD]):
            work_off(session, {name: tokens[name] for name in names}, answers)
    return path
