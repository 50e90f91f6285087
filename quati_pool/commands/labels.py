"""``quati-pool labels``: each labeler's coverage of the pool, by state and grade, and its cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quati_pool.judging.pair import Pair
from quati_pool.labels.base import Labeler
from quati_pool.labels.coverage import LabelCoverage
from quati_pool.labels.failures import without_thoughts
from quati_pool.labels.labelers import Grading, nobody
from quati_pool.llm.thoughts import ANY
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.records import FAILURES
from quati_pool.store.database import Store
from quati_pool.store.failed_answers import FailedAnswer, failed_answers
from quati_pool.store.records import Usage
from quati_pool.store.rereading import Owner, count_unread


@dataclass(frozen=True)
class LabelsReport:
    """Every labeler's coverage and usage, and the older versions that the store still holds."""

    config: PoolConfig
    labelers: list[Labeler]
    coverages: dict[str, LabelCoverage]
    usage: dict[str, Usage]
    earlier: list[tuple[str, str, int]]
    """Labeler, version and number of labels."""
    problems: dict[str, str]
    """Why a judge of ``pool.yaml`` cannot be read."""
    failures: dict[tuple[str, str, str], FailedAnswer]
    """A judge's answers without a grade, by labeler, query_id and doc_id; only if pairs are kept by name."""
    aspects: dict[str, dict[str, Counter[int]]]
    """The number of answers that gave each value, by labeler and aspect; for judges whose prompt asks for aspects."""
    unread: dict[str, int]
    """The number of stored answers that were not read by the current rules, by judge of ``pool.yaml``, if any."""


def labels(
    config_path: Path, names: list[str] | None = None, pool: Path | None = None, *, missing: bool = False
) -> LabelsReport:
    """Reads the pool once for all labelers of ``pool.yaml`` and of the store, or those named; ``missing`` keeps every
    pair without a grade by name.

    A judge that cannot be read, for instance because its prompt is missing, is left out with its problem unless named.
    """
    config = load_config(config_path)
    with Store.open(config.labels.url, config.folder) as store:
        return read(Grading(config, store, pool), names, missing=missing)


def read(grading: Grading, names: list[str] | None = None, *, missing: bool = False) -> LabelsReport:
    """``labels`` for a store that is already open."""
    config, store = grading.config, grading.store
    labelers, problems = grading.readable(names or (), grading.names)
    if not labelers and not problems:
        raise nobody(config)
    coverages, aspects = _counts(grading, labelers, None if missing else 0)
    usage = {
        labeler.name: store.usage(config.name, labeler.name, None) for labeler in labelers if labeler.kind == "judge"
    }
    current = {(labeler.name, labeler.version) for labeler in labelers}
    earlier = [
        (row.labeler_id, row.version, row.rows)
        for row in store.labelers(config.name)
        if (row.labeler_id, row.version) not in current and row.labeler_id in coverages
    ]
    failures = _failures(grading, labelers, coverages) if missing else {}
    unread = {labeler.name: count for labeler in labelers if (count := _unread(grading, labeler))}
    return LabelsReport(config, labelers, coverages, usage, earlier, problems, failures, aspects, unread)


def _counts(
    grading: Grading, labelers: Sequence[Labeler], named: int | None
) -> tuple[dict[str, LabelCoverage], dict[str, dict[str, Counter[int]]]]:
    """The coverages and the aspects of a report, in one pass over the pool."""
    coverages = {labeler.name: LabelCoverage(named) for labeler in labelers}
    aspects = {labeler.name: counts for labeler in labelers if (counts := _no_aspects(labeler))}
    for chunk in grading.pairs():
        for labeler in labelers:
            for graded in labeler.graded(chunk):
                coverages[labeler.name].add(graded)
            if labeler.name in aspects:
                _count_aspects(aspects[labeler.name], labeler, chunk)
    return coverages, aspects


def _unread(grading: Grading, labeler: Labeler) -> int:
    if labeler.version is None or labeler.reading is None or labeler.name not in grading.config.judges:
        return 0
    owner = Owner(grading.config.name, labeler.name)
    return count_unread(grading.store, owner, labeler.version, labeler.reading.version)


def _no_aspects(labeler: Labeler) -> dict[str, Counter[int]]:
    """A count of 0 for each value of each aspect that a labeler's prompt asks for."""
    asked = sorted(labeler.reading.aspects.items()) if labeler.reading else []
    return {aspect: Counter(dict.fromkeys(sorted(scale), 0)) for aspect, scale in asked}


def _count_aspects(counts: dict[str, Counter[int]], labeler: Labeler, pairs: Sequence[Pair]) -> None:
    for labels in labeler.behind(pairs):
        for label in labels.values():
            for aspect, value in label.extra.get("aspects", {}).items():
                counts[aspect][value] += 1


def _failures(
    grading: Grading, labelers: list[Labeler], coverages: dict[str, LabelCoverage]
) -> dict[tuple[str, str, str], FailedAnswer]:
    found = {}
    for labeler in labelers:
        failing = [graded for graded in coverages[labeler.name].lacking if graded.status in FAILURES]
        if labeler.kind != "judge" or labeler.version is None or not failing:
            continue
        marks = labeler.reading.thoughts if labeler.reading else ANY
        query_ids = {graded.query_id for graded in failing}
        answers = failed_answers(grading.store, grading.config.name, labeler.name, labeler.version, query_ids)
        for graded in failing:
            if answer := answers.get((graded.query_id, graded.doc_id)):
                found[labeler.name, graded.query_id, graded.doc_id] = without_thoughts(answer, marks)
    return found
