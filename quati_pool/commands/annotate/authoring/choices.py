"""Sets for multiple choice from the questions that people wrote, as ``bench pira mcqa`` builds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quati_pool.commands.annotate.authoring.records import Record, Records
from quati_pool.commands.annotate.authoring.splits import Splits
from quati_pool.files.digests import digest
from quati_pool.qa_benchmarks.base import SPLITS
from quati_pool.qa_benchmarks.pira.candidates import AnsweredQuestion, candidate_sets, plain


@dataclass(frozen=True)
class ChoiceSet:
    """A question with its options in one language; ``correct`` is the position of its answer, from 0."""

    record: Record
    language: str
    split: str
    options: tuple[str, ...]
    correct: int

    @property
    def digest(self) -> str:
        """What was accepted, if this set was: the digest of everything that is shown of it."""
        asked = [self.record["question"][self.language], self.record["answer"][self.language]]
        return digest([self.language, *asked, list(self.options), self.correct])[:16]

    def content(self) -> dict[str, Any]:
        """The item that people accept."""
        return {
            "languages": [self.language],
            "question": {self.language: self.record["question"][self.language]},
            "answer": {self.language: self.record["answer"][self.language]},
            "choices": {self.language: list(self.options)},
            "correct": self.correct,
            "digest": self.digest,
        }


def choice_sets(records: Records, splits: Splits, language: str) -> tuple[list[ChoiceSet], list[str]]:
    """The sets of all kept questions that have a question, an answer and a text in ``language``, split by split, and
    the splits that have such questions but no two distinct answers to choose from."""
    asked: dict[str, list[Record]] = {split: [] for split in SPLITS}
    for record in records.of(records.design.unit, kept=True):
        split = splits.of(records, record["item_id"])
        text = records.texts(record).get(language, "")
        if split is not None and record["question"].get(language) and record["answer"].get(language) and text.strip():
            asked[split].append(record)
    found: list[ChoiceSet] = []
    too_small: list[str] = []
    for split, of_split in asked.items():
        answered = [
            AnsweredQuestion(
                records.released_id(record["item_id"]),
                # As the text is when the released file is read.
                records.texts(record)[language].strip(),
                record["answer"][language],
            )
            for record in of_split
        ]
        if len({plain(one.answer) for one in answered}) < 2:
            too_small += [split] if answered else []
            continue
        sets = candidate_sets(answered, seed=records.config.seed)
        for record, one in zip(of_split, answered, strict=True):
            options = sets[one.question_id].options
            found.append(ChoiceSet(record, language, split, options, options.index(one.answer)))
    return found, too_small
