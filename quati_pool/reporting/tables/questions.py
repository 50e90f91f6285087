"""The tables of the questions that people wrote for the collection, and of their coverage of the taxonomy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from quati_pool.commands.annotate.draft_decisions import Drafts, drafts_of_questions
from quati_pool.commands.annotate.drafter_names import drafter_names
from quati_pool.commands.annotate.questions.rules import taxonomy
from quati_pool.commands.annotate.questions.writing import TaxonomyCoverage, state_of, taxonomy_coverage
from quati_pool.project.config import load_config
from quati_pool.reporting.formats.tables import Column, Table
from quati_pool.reporting.tables import draft_decisions
from quati_pool.store.database import Store
from quati_pool.store.questions import Questions
from quati_pool.store.records import Question


@dataclass(frozen=True)
class QuestionsReport:
    """All questions of a collection, oldest first, the taxonomy's types, and the coverage of its combinations; what
    became of drafts, and the names of the programs that wrote them, by ``QuestionEvent.drafted_by``."""

    questions: list[Question]
    types: list[str]
    covered: TaxonomyCoverage
    drafts: Sequence[Drafts] = ()
    drafters: Mapping[str, str] = field(default_factory=dict)

    def drafter(self, question: Question) -> str | None:
        """The name of the program that drafted a question; None if a person wrote it."""
        version = question.last.drafted_by
        return None if version is None else self.drafters[version]


def report(config_path: Path, database: str | None = None) -> QuestionsReport:
    """Reads the questions from a workspace's store."""
    config = load_config(config_path)
    with Store.open(database or config.labels.url, config.folder) as store:
        stored = Questions(store, config.name)
        questions = stored.current()
        drafts = drafts_of_questions(store, stored)
        drafters = drafter_names(store, {one.last.drafted_by for one in questions if one.last.drafted_by is not None})
    covered = taxonomy_coverage(config, questions)
    return QuestionsReport(questions, taxonomy(config)["type"], covered, drafts, drafters)


def _writer(found: QuestionsReport, question: Question) -> str:
    drafter = found.drafter(question)
    return question.author if drafter is None else f"draft by {drafter}"


def tables(found: QuestionsReport) -> list[Table]:
    """The questions, a row for each theme and scope with a column for each type, and drafts by model, if any."""
    rows = [
        (
            *(one.question_id, state_of(one), one.last.query_id or "", _writer(found, one)),
            *(*_place(one), one.last.query or ""),
        )
        for one in found.questions
    ]
    headings = ("question", "state", "query_id", "author", "theme", "scope", "type", "text")
    listed = Table("Questions", [Column(heading) for heading in headings], rows)
    counts: dict[tuple[str, str], list[str]] = {}
    for cell in found.covered.cells:
        shown = f"{cell.accepted} + {cell.proposed}" if cell.accepted or cell.proposed else "–"
        counts.setdefault((cell.theme, cell.scope), []).append(shown)
    empty = sum(not (cell.accepted or cell.proposed) for cell in found.covered.cells)
    note = f"accepted + proposed; {empty} of {len(found.covered.cells)} combinations are empty (–)"
    if found.covered.outside:
        note += f"; {found.covered.outside} questions are of none of them"
    columns = [Column("theme"), Column("scope"), *map(Column, found.types)]
    coverage = Table("Coverage", columns, [(*key, *cells) for key, cells in counts.items()], note)
    return [listed, coverage, *([draft_decisions.table(found.drafts)] if found.drafts else [])]


def _place(question: Question) -> tuple[str, str, str]:
    return question.last.theme or "", question.last.scope or "", question.last.type or ""
