"""``quati-pool labels``: each labeler's coverage of the pool, by state and grade, and its cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from quati_pool.judging.pair import Pair
from quati_pool.labels.base import Graded, Labeler
from quati_pool.labels.coverage import LabelCoverage
from quati_pool.labels.failures import without_thoughts
from quati_pool.labels.hybrid import Hybrid, HybridParts
from quati_pool.labels.labelers import Grading, nobody
from quati_pool.labels.qrels import grades_outside_pool
from quati_pool.llm.thoughts import ANY
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.records import FAILURES
from quati_pool.store.database import Store
from quati_pool.store.failed_answers import FailedAnswer, failed_answers
from quati_pool.store.label_queries import rationales_of
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
    hybrids: dict[str, HybridParts] = field(default_factory=dict)
    """Where the grades of each hybrid come from."""


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
    earlier = earlier_versions(grading, labelers)
    failures = _failures(grading, labelers, coverages) if missing else {}
    unread = {labeler.name: count for labeler in labelers if (count := unread_answers(grading, labeler))}
    hybrids = {labeler.name: labeler.parts for labeler in labelers if isinstance(labeler, Hybrid)}
    return LabelsReport(config, labelers, coverages, usage, earlier, problems, failures, aspects, unread, hybrids)


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


def earlier_versions(grading: Grading, labelers: Sequence[Labeler]) -> list[tuple[str, str, int]]:
    """The labels of these labelers in the store that do not count, as they were given under another version: labeler,
    version and number of labels."""
    current = {labeler.name: labeler.version for labeler in labelers}
    return [
        (row.labeler_id, row.version, row.rows)
        for row in grading.stored()
        if row.labeler_id in current and current[row.labeler_id] != row.version
    ]


def unread_answers(grading: Grading, labeler: Labeler) -> int:
    """The number of a judge's stored answers that were not read by its current rules."""
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


@dataclass(frozen=True, eq=False)
class CurrentLabels:
    """A labeler's current labels: of the pool's pairs, in the pool's order, then a label file's of other pairs.
    ``rationales``, if they were asked for, has the reasoning behind each label, None where there is none."""

    labeler: Labeler
    labels: list[Graded]
    rationales: list[str | None]


def current_labels(
    config_path: Path, names: Sequence[str] = (), pool: Path | None = None, *, rationales: bool = False
) -> tuple[list[CurrentLabels], dict[str, str]]:
    """The current labels of the labelers ``names``, or of all; and why a labeler that was not named cannot be read."""
    config = load_config(config_path)
    with Store.open(config.labels.url, config.folder) as store, store.snapshot():
        grading = Grading(config, store, pool)
        labelers, problems = grading.readable(list(dict.fromkeys(names)), grading.names)
        found = [CurrentLabels(labeler, [], []) for labeler in labelers]
        for chunk in grading.pairs():
            for one in found:
                graded = one.labeler.graded(chunk)
                kept = [place for place, label in enumerate(graded) if label.status is not None]
                one.labels.extend(graded[place] for place in kept)
                if rationales:
                    one.rationales.extend(_reasons(store, one.labeler, [chunk[place] for place in kept]))
    for one in found:
        outside = grades_outside_pool(one.labeler, one.labels)
        one.labels.extend(outside)
        one.rationales.extend([None] * len(outside) if rationales else [])
    return found, problems


def _reasons(store: Store, labeler: Labeler, pairs: Sequence[Pair]) -> list[str | None]:
    """The reasoning behind the grade of each pair."""
    behind = labeler.behind(pairs)
    known = rationales_of(store, [label.seq for labels in behind for label in labels.values()])
    each = ([known[label.seq] for label in labels.values() if label.seq in known] for labels in behind)
    # Several samples may give the same reasoning.
    return ["\n\n".join(dict.fromkeys(reasons)) or None for reasons in each]
