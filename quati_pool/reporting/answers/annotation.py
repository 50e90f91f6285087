"""The answers of ``assign``, ``assessors list``, ``import`` and ``questions list``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from quati_pool.commands.annotate.assessors import ListedAssessor
from quati_pool.commands.annotate.assigning.assign import AssignReport
from quati_pool.commands.annotate.assigning.import_labels import ImportedLabels
from quati_pool.commands.annotate.assigning.training_file import TrainingReport
from quati_pool.commands.annotate.assigning.withdraw import WithdrawReport
from quati_pool.commands.annotate.questions.writing import state_of
from quati_pool.reporting.answers import draft_decisions, wording
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.formats.tables import Column, Table
from quati_pool.reporting.tables import assessors, assign, import_labels, questions
from quati_pool.text.pluralize import counted

_ALL = "--full prints all tables."


def assigned(report: AssignReport) -> Answer:
    chosen, pool = len(report.sample), counted(report.frame_pairs, "pair", "pairs")
    seed = "" if report.method == "all" or report.queue is not None else f", seed {report.seed}"
    by = f"{assign.method(report)}{seed}"
    said = f"{chosen:,} of {pool} are chosen ({by}), for {counted(report.overlap, 'person', 'people')} each."
    if report.queries:
        queries, drawn = (sum(counts) for counts in zip(*report.queries.values(), strict=True))
        said = f"{drawn:,} of {counted(queries, 'query', 'queries')} are drawn: {said}"
    written, *others = assign.tables(report, whole=True)
    table = others[-1] if others and others[-1].rows else None
    return Answer([said, written.note], table, _ALL)


def training(report: TrainingReport, dry_run: bool) -> Answer:
    would = "would be" if dry_run else "are"
    total = f"{counted(report.total, 'pair', 'pairs')} of training in all"
    if report.gold:
        total = f"{counted(report.total, 'gold pair', 'gold pairs')} in all"
    return Answer([f"{report.added:,} of {counted(report.pairs, 'pair', 'pairs')} {would} new or changed; {total}."])


def withdrawn(report: WithdrawReport) -> Answer:
    count = counted(report.withdrawn, "open slot", "open slots")
    would = "would be" if report.dry_run else "is" if report.withdrawn == 1 else "are"
    done = counted(report.done, "done one stays", "done ones stay")
    return Answer([f"{count} of design {report.design_id} {would} withdrawn; {done}."])


def people(listed: Sequence[ListedAssessor]) -> Answer:
    active = sum(not (one.revoked or one.never_had) for one in listed)
    labels = sum(one.labels for one in listed)
    who = f"{counted(len(listed), 'person', 'people')}, {active:,} of them with a valid access code"
    said = f"{who}; together they have given {counted(labels, 'label', 'labels')}."
    if not listed:
        return Answer(
            ["There is nobody yet; the app gives people codes, and you yours: quati-pool annotate --lead NAME"]
        )
    return Answer([said], assessors.table(list(listed)), _ALL)


def imported(made: Sequence[ImportedLabels]) -> Answer:
    written, there = sum(one.written for one in made), sum(one.there for one in made)
    said = f"{counted(written, 'label', 'labels')} of {counted(len(made), 'person', 'people')} written"
    return Answer([f"{said}, {there:,} were there already."], import_labels.table(made), _ALL)


def written_questions(found: questions.QuestionsReport) -> Answer:
    if not found.questions:
        return Answer(["There are no questions yet; people write them in the app: quati-pool annotate"])
    states = Counter(map(state_of, found.questions))
    said = f"{counted(len(found.questions), 'question', 'questions')}: {wording.counts(states.items())}."
    listed, *_ = questions.tables(found)
    columns = [Column(column.heading, prose=column.heading == "text") for column in listed.columns]
    newest = Table("Questions, the newest first", columns, list(reversed(listed.rows)))
    rest = "--full prints all questions, and how they cover themes, scopes and types."
    return Answer([said, *map(draft_decisions.sentence, found.drafts)], newest, rest)
