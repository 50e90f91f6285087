"""A data set of questions in Pirá's own columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from quati_pool.annotation.authoring.pira import DERIVED, EVALUATION, QUESTION
from quati_pool.commands.annotate.authoring.choices import ChoiceSet
from quati_pool.commands.annotate.authoring.data_set import DataSet, facts
from quati_pool.commands.annotate.authoring.records import Record, Records
from quati_pool.qa_benchmarks.base import SPLITS
from quati_pool.qa_benchmarks.multiple_choice import MultipleChoice
from quati_pool.qa_benchmarks.pira import multiple, writing
from quati_pool.qa_benchmarks.pira.files import LANGUAGES
from quati_pool.qa_benchmarks.pira.writing import QuestionSet
from quati_pool.release.output import Output
from quati_pool.release.question_sets import card


def write_pira(data: DataSet, output: Output) -> None:
    """Writes a file for each split, the accepted sets of multiple choice, all assessments, and the card."""
    records = data.records
    derived: dict[int, dict[str, str]] = {}
    for one in records.of(DERIVED):
        # Of several texts that were accepted under one name, the first that was added is released.
        derived.setdefault(one["parent_id"], {}).setdefault(one["field"], one["text"])
    sets: dict[str, list[QuestionSet]] = {split: [] for split in SPLITS}
    for record in records.units:
        split = data.splits.of(records, record["item_id"])
        sets[str(split)].append(_question_set(records, record, derived.get(record["item_id"], {})))
    columns = writing.filled_columns(one for of_split in sets.values() for one in of_split)
    for split, of_split in sets.items():
        if of_split:
            _write_file(output, f"{split}.csv", writing.written(of_split, columns))
    for language, accepted in data.choices.items():
        for split in SPLITS:
            chosen = [_multiple_choice(records, one) for one in accepted if one.split == split]
            if chosen:
                # Only the released files, which are English, have no language in their name.
                name = f"MCQA-{split}.csv" if language == "en" else f"MCQA-{split}-{language}.csv"
                _write_file(output, name, multiple.written(chosen))
    output.records("assessments.jsonl", _assessments(records))
    output.text("README.md", card(records.config.release, records.config.name, facts(data)))


def _question_set(records: Records, record: Record, derived: Mapping[str, str]) -> QuestionSet:
    first: Mapping[str, Any] = next(iter(record["assessments"]), {})

    def numbered(what: str) -> dict[str, dict[int, str]]:
        return {
            language: {n: derived[name] for n in (1, 2) if (name := f"{what}.{n}.{language}") in derived}
            for language in LANGUAGES
        }

    return QuestionSet(
        question_id=records.released_id(record["item_id"]),
        corpus=record["kept"].get("corpus", ""),
        question=record["question"],
        paraphrase=first.get("paraphrase") or {},
        answer=record["answer"],
        validated=first.get("validation") or {},
        text=records.texts(record),
        source=record["kept"].get("eid_article_scopus", ""),
        generic=first.get("generic"),
        in_text=first.get("in_text"),
        hard=first.get("hard"),
        meaningful=first.get("sense"),
        equivalent=first.get("equivalent"),
        type=first.get("type"),
        at_label=record["at_label"],
        translated_question=derived.get("translation.question.pt-en", ""),
        automatic=numbered("paraphrase"),
        automatic_answers=numbered("answer_paraphrase"),
        drafted_by="" if record["drafted_by"] is None else records.drafters[record["drafted_by"]],
    )


def _multiple_choice(records: Records, one: ChoiceSet) -> MultipleChoice:
    labels = multiple.LABELS[: len(one.options)]
    text = records.texts(one.record)[one.language]
    question = one.record["question"][one.language]
    question_id = records.released_id(one.record["item_id"])
    return MultipleChoice(question_id, question, one.options, labels, labels[one.correct], (text,))


def _assessments(records: Records) -> Iterator[dict[str, Any]]:
    """Every assessment; the columns of Pirá's files have room for the first of a question only."""
    for record in records.of(QUESTION):
        for one in record["assessments"]:
            yield {
                "id_qa": records.released_id(record["item_id"]),
                "person": records.people[one["by"]],
                "validation": one["validation"],
                **{name: one[name] for name in EVALUATION},
                "paraphrase": one["paraphrase"],
                "curated": one["curated"],
            }


def _write_file(output: Output, name: str, data: bytes) -> None:
    output.place(name).write_bytes(data)
    output.wrote(name)
