"""Small files in the form of Pirá's."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

COLUMNS = [
    "", "id_qa", "corpus", "question_en_origin", "question_pt_origin", "question_en_paraphase",
    "question_pt_paraphase", "answer_en_origin", "answer_pt_origin", "answer_en_validate", "answer_pt_validate",
    "abstract", "eid_article_scopus", "question_generic", "answer_in_text", "answer_difficulty",
    "question_meaningful", "answer_equivalent", "question_type", "abstract_translated_pt",
    "pt_question_translated_to_en", "at_labels",
]  # fmt: skip


def row(query_id: str, text: str = "Tides rise and fall.", **cells: str) -> dict[str, str]:
    """A full row; ``cells`` by column replace what it has."""
    return {
        "": "0",
        "id_qa": query_id,
        "corpus": "1",
        "question_en_origin": f"What of {query_id}?",
        "question_pt_origin": f"O que de {query_id}?",
        "answer_en_origin": "the tide",
        "answer_pt_origin": "a maré",
        "answer_en_validate": "tide",
        "answer_pt_validate": "maré",
        "abstract": text,
        "abstract_translated_pt": f"pt: {text.strip()}",
        "question_meaningful": "5.0",
        "pt_question_translated_to_en": f"What about {query_id}?",
        "at_labels": "1.0",
        **cells,
    }


def write_split(
    folder: Path, split: str, rows: Sequence[Mapping[str, str]], without: Sequence[str] = (), newline: str = "\n"
) -> Path:
    """``folder``/``split``.csv with all columns but those of ``without``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{split}.csv"
    names = [name for name in [*COLUMNS, *(key for key in rows[0] if key not in COLUMNS)] if name not in without]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, restval="", extrasaction="ignore", lineterminator=newline)
        writer.writeheader()
        writer.writerows(rows)
    return path
