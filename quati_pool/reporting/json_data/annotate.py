"""The JSON of the commands around annotation: ``assign``, ``assessors``, ``import`` and ``questions``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from quati_pool.annotation.sampling import Stratum
from quati_pool.commands.annotate.assessors import ListedAssessor
from quati_pool.commands.annotate.assigning.assign import AssignReport
from quati_pool.commands.annotate.assigning.import_labels import ImportedLabels
from quati_pool.commands.annotate.assigning.training_file import TrainingReport
from quati_pool.commands.annotate.assigning.withdraw import WithdrawReport
from quati_pool.commands.annotate.draft_decisions import Drafts
from quati_pool.commands.annotate.questions.writing import state_of
from quati_pool.reporting.json_data.draft_decisions import drafts_data
from quati_pool.reporting.json_data.serializer import Views, fields, pick, serialize
from quati_pool.reporting.json_data.shared import UNUSED_ROWS
from quati_pool.reporting.tables.questions import QuestionsReport
from quati_pool.store.records import Question


def as_data(result: AssignReport | QuestionsReport) -> Any:
    """The JSON object of ``assign`` and of ``questions``."""
    return serialize(result, VIEWS)


def people_as_data(people: Sequence[ListedAssessor]) -> Any:
    """The JSON object of ``assessors list``."""
    return serialize({"people": people}, VIEWS)


def imported_as_data(imported: Sequence[ImportedLabels]) -> Any:
    """The JSON object of ``import``."""
    return serialize({"imported": imported}, VIEWS)


def training_as_data(report: TrainingReport, dry_run: bool) -> Any:
    """The JSON object of ``assign --training`` and ``--gold``."""
    counts = {**pick(report, "pairs added total assigned"), "dry_run": dry_run}
    return {"gold" if report.gold else "training": counts}


def withdrawn_as_data(report: WithdrawReport) -> Any:
    """The JSON object of ``assign --withdraw``."""
    return {"withdrawn": pick(report, "design=design_id slots=withdrawn done dry_run")}


def _assigned(report: AssignReport) -> dict[str, Any]:
    pairs = len(report.sample)
    queries = [{"stratum": name, "N": total, "n": drawn} for name, (total, drawn) in report.queries.items()]
    return {
        "design": report.design_id if report.known is None else report.known,
        "new": report.design_id is not None,
        **pick(report, "dry_run method seed"),
        **({"by": report.by} if report.by is not None else {}),
        **({"queue": report.queue} if report.queue is not None else {}),
        "frame": pick(report, "sha256=frame_sha pairs=frame_pairs"),
        "pairs": pairs,
        **pick(report, "added_pairs overlap load"),
        "slots": pairs * report.overlap,
        **pick(report, "added_slots strata" if report.queue is None else "added_slots"),
        **({"queries": queries} if queries else {}),
        "people": [{"name": name, "slots": count} for name, count in report.people.items() if name is not None],
        "open_slots": report.people.get(None, 0),
        "notes": report.notes,
    }


def _person(person: ListedAssessor) -> dict[str, Any]:
    return {
        **pick(person, "name role"),
        "since": _to_the_second(person.since),
        "last_seen": _to_the_second(person.last_seen),
        "labels": person.labels,
        "revoked": _to_the_second(person.revoked),
        "code": person.has_code,
    }


def _to_the_second(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat(timespec="seconds")


def _questions(found: QuestionsReport) -> dict[str, Any]:
    questions = [_question(one, found.drafter(one)) for one in found.questions]
    return {"questions": questions, **pick(found, "coverage=covered.cells outside=covered.outside drafts")}


def _question(question: Question, drafted_by: str | None) -> dict[str, Any]:
    return {
        "question_id": question.question_id,
        "state": state_of(question),
        "query_id": question.last.query_id,
        "author": question.author or None,
        "drafted_by": drafted_by,
        **pick(question.last, "query narrative theme scope type doc_id"),
    }


VIEWS: Views = {
    AssignReport: _assigned,
    Stratum: fields("stratum=name N=pairs n=selected inclusion"),
    ListedAssessor: _person,
    ImportedLabels: fields(
        "name file=path written there taken_back duplicates ungraded outside_pool=outside unmatched "
        "other_text=differing design=design_id new_person=new"
    ),
    QuestionsReport: _questions,
    Drafts: drafts_data,
    **UNUSED_ROWS,
}
