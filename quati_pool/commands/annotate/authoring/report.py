"""``quati-pool questions report``: how people evaluate the questions, agree and answer, and what it cost them.

Shares have Wilson's intervals for clustered units (``stats.shares``), means those of t over clusters
(``stats.clustered_means``); the clusters are the texts, as questions of one text are alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from quati_pool.annotation.authoring.pira import EVALUATION, QUESTION, TYPES, Pira
from quati_pool.annotation.authoring.romqa import QUERY, Romqa
from quati_pool.annotation.authoring.text_checks import flags, repeated
from quati_pool.commands.annotate.authoring.blocks import new_blocks, other_questions
from quati_pool.commands.annotate.authoring.estimate import (
    Agreement,
    Estimate,
    Rating,
    agreement,
    mean_of,
    share_of,
)
from quati_pool.commands.annotate.authoring.records import Record, Records, open_records, read_records
from quati_pool.commands.annotate.authoring.romqa_report import RomqaReport, romqa_report
from quati_pool.commands.annotate.authoring.sources import design_of
from quati_pool.commands.annotate.authoring.splits import Splits, make_splits
from quati_pool.commands.annotate.draft_decisions import Drafts, drafts_of_rounds
from quati_pool.errors import QuatiPoolError
from quati_pool.project.config import PoolConfig
from quati_pool.store.authoring_records import Item, ItemState, RoundProgress, counting
from quati_pool.store.database import Store
from quati_pool.text.token_overlap import exact_match, token_f1, tokens

YES_NO = ("generic", "in_text")
SCALES = ("sense", "hard", "equivalent")

_ONE_TEXT = "the questions are of one text"


@dataclass(frozen=True)
class Evaluated:
    """What people said of one aspect: how often each value, over ``n`` evaluations; ``estimate`` is the share of yes,
    the mean of a scale, None for the type."""

    field: str
    values: Mapping[str, int]
    n: int
    estimate: Estimate | None
    agreement: Agreement


@dataclass(frozen=True)
class HumanAnswers:
    """Token F1 and exact match, in percent, of the first assessor's answer against the author's, over ``n`` questions
    (Rajpurkar et al., EMNLP 2016, section 6.1; articles are kept, as in ``bench pira mrc``, whose row ``human`` this
    is)."""

    language: str
    f1: Estimate
    em: Estimate
    n: int


class PersonsWork(NamedTuple):
    """A person's entries in one round: counts, the active seconds of those that count, and their median."""

    person: str
    round: str
    given: int
    refused: int
    undone: int
    seconds: float
    median_seconds: float | None


class ListedUnit(NamedTuple):
    """An item of the data set, with the id of the text that it was written from and the first text that it has."""

    question_id: str
    state: ItemState
    reason: str | None
    source_id: str
    text: str


@dataclass(frozen=True, eq=False)
class RoundsReport:
    """How far the rounds are: ``states`` counts items by kind and state, ``out`` those that are out by kind and
    reason. ``unit`` is the kind that the data set consists of, and ``units`` are all of them. ``to_derive`` is the
    number of finished questions that ``questions derive`` would put next to others for rating, once no question is
    open but those that are left out."""

    design: str
    unit: str
    rounds: Sequence[RoundProgress]
    states: Mapping[str, Mapping[str, int]]
    out: Mapping[str, Mapping[str, int]]
    people: int
    units: Sequence[ListedUnit] = ()
    to_derive: int = 0

    @property
    def waiting(self) -> str:
        """The tasks that are not done, by round, such as ``create 3, edit 2``; empty if there are none."""
        left = ((one.round, one.open + one.held) for one in self.rounds)
        return ", ".join(f"{name} {count:,}" for name, count in left if count)


@dataclass(frozen=True, eq=False)
class AuthoringReport:
    """Everything about a collection's rounds. Evaluations, human answers and labels are of kept questions, and empty
    for designs other than Pirá's. ``labels`` counts questions by whether they can be answered: yes, no, dropped (makes
    sense 3), none. ``oddities`` counts by kind what rules point out in kept questions. ``romqa`` is None for designs
    other than RoMQA's."""

    progress: RoundsReport
    evaluations: Sequence[Evaluated] = ()
    labels: Mapping[str, int] = field(default_factory=dict)
    human: Sequence[HumanAnswers] = ()
    people: Sequence[PersonsWork] = ()
    drafts: Sequence[Drafts] = ()
    oddities: Mapping[str, int] = field(default_factory=dict)
    romqa: RomqaReport | None = None


def rounds_report(config_path: Path, database: str | None = None) -> RoundsReport:
    """How far the rounds of a workspace are. Raises ConfigError where pool.yaml has no ``authoring:``."""
    return _progress(open_records(config_path, database))


def rounds_of(config: PoolConfig, store: Store | None) -> RoundsReport:
    """How far the rounds of a collection are; with None as the store, nobody has begun."""
    if store is not None:
        return _progress(read_records(config, store))
    design = design_of(config)
    return RoundsReport(design.id, design.unit, [RoundProgress(name, 0, 0, 0) for name in design.rounds], {}, {}, 0)


def report(config_path: Path, database: str | None = None) -> AuthoringReport:
    """Reads the rounds of a workspace and computes all statistics."""
    return report_on(open_records(config_path, database))


def report_on(records: Records, splits: Splits | None = None) -> AuthoringReport:
    """All statistics of these records; ``splits`` are by default those of a release into a new folder."""
    progress, people = _progress(records), list(_people(records))
    if isinstance(records.design, Romqa):
        found = romqa_report(records, make_splits(records) if splits is None else splits)
        return AuthoringReport(progress, people=people, drafts=drafts_of_rounds(records), romqa=found)
    if not isinstance(records.design, Pira):
        return AuthoringReport(progress, people=people, drafts=drafts_of_rounds(records))
    kept = records.of(QUESTION, kept=True)
    answerable = {1: "yes", 0: "no"}
    labels = Counter(
        answerable.get(one["at_label"], "dropped" if _first(one).get("sense") == 3 else "none") for one in kept
    )
    return AuthoringReport(
        progress,
        evaluations=[_evaluated(name, kept) for name in EVALUATION],
        labels={name: labels[name] for name in ("yes", "no", "dropped", "none")},
        human=[_human(records, language, kept) for language in sorted(records.design.languages)],
        people=people,
        drafts=drafts_of_rounds(records),
        oddities=_oddities(records, kept),
    )


def _progress(records: Records) -> RoundsReport:
    unit = records.design.unit
    return RoundsReport(
        records.design.id,
        unit,
        records.progress,
        {kind: dict(records.counts(kind)) for kind in records.kinds},
        {kind: dict(reasons) for kind, reasons in records.out.items()},
        len(records.people),
        [
            ListedUnit(
                records.released_id(item.item_id),
                records.state(item),
                records.reason(item),
                records.root(item.item_id).source_id,
                _first_text(records, item),
            )
            for item in records.items.values()
            if item.kind == unit
        ],
        _to_derive(records),
    )


def _to_derive(records: Records) -> int:
    design = records.design
    if not isinstance(design, Romqa) or design.parameters.compare is None:
        return 0
    if any(item.kind == QUERY and records.state(item) == "open" for item in records.items.values()):
        return 0
    try:
        return new_blocks(records, design, other_questions(records.config))[1].added
    except QuatiPoolError:  # a fault of the file, which quati-pool validate reports
        return 0


def _first_text(records: Records, item: Item) -> str:
    """What an item was first written as: the first text of its content or, where it is written from a cluster, of its
    entries that count."""
    written = [item.content]
    if records.design.sources == "clusters":
        written = [one.content for one in counting(records.entries.get(item.item_id, ())) if one.action == "given"]
    return next((value for content in written for value in content.values() if isinstance(value, str)), "")


# Evaluations


def _evaluated(name: str, kept: Sequence[Record]) -> Evaluated:
    given = [
        (one["text_id"], one["item_id"], assessment[name])
        for one in kept
        for assessment in one["assessments"]
        if assessment[name] is not None
    ]
    texts, questions = (np.array([row[place] for row in given], dtype=np.int64) for place in (0, 1))
    values = [value for *_, value in given]
    if name in YES_NO:
        counts = {"yes": values.count(True), "no": values.count(False)}
        estimate: Estimate | None = share_of(values, texts, _ONE_TEXT, questions)
    elif name in SCALES:
        counts = {str(value): values.count(value) for value in range(1, 6)}
        estimate = mean_of(values, texts, _ONE_TEXT)
    else:
        counts, estimate = {value: values.count(value) for value in TYPES}, None
    return Evaluated(name, counts, len(values), estimate, _agreement(name, kept))


def _agreement(name: str, kept: Sequence[Record]) -> Agreement:
    """Agreement on one aspect: people are the raters, questions what they rate, and texts are resampled."""
    scale = [*range(len(TYPES))] if name == "type" else [0, 1] if name in YES_NO else [*range(1, 6)]
    number = TYPES.index if name == "type" else int
    rated: dict[str, list[Rating]] = {}
    for one in kept:
        for assessment in one["assessments"]:
            if assessment[name] is not None:
                rating = Rating(str(one["text_id"]), str(one["item_id"]), number(assessment[name]))
                rated.setdefault(assessment["by"], []).append(rating)
    most = max((sum(a[name] is not None for a in one["assessments"]) for one in kept), default=0)
    if most < 2:
        why = "no question is evaluated yet" if not most else "one person assessed each question"
        nothing = Estimate(None, None, None, why)
        return Agreement(nothing, nothing, 0)
    return agreement(rated, scale, "ordinal" if name in SCALES else "nominal", _ONE_TEXT)


# Human answers


def _first(record: Record) -> Mapping[str, Any]:
    """The first assessment, which is the one in Pirá's columns; empty if there is none."""
    return next(iter(record["assessments"]), {})


def _human(records: Records, language: str, kept: Sequence[Record]) -> HumanAnswers:
    pairs = [
        (one["text_id"], _first(one)["validation"][language], one["answer"][language])
        for one in kept
        if _first(one).get("validation", {}).get(language)
        and tokens(one["answer"].get(language, ""))
        and records.texts(one).get(language, "").strip()
    ]
    texts = np.array([text for text, _, _ in pairs], dtype=np.int64)
    f1 = [token_f1(given, expected) for _, given, expected in pairs]
    matches = share_of([exact_match(given, expected) for _, given, expected in pairs], texts, _ONE_TEXT)
    low, high = (None if end is None else 100 * end for end in (matches.low, matches.high))
    em = Estimate(None if matches.value is None else 100 * matches.value, low, high, matches.why)
    return HumanAnswers(language, mean_of(f1, texts, _ONE_TEXT), em, len(pairs))


# People


def _people(records: Records) -> Iterator[PersonsWork]:
    """By person, then round, both in the order of ``records``; a round in which a person said nothing is left out."""
    order = {one.round: place for place, one in enumerate(records.progress)}
    given: Counter[tuple[str, str]] = Counter()
    refused: Counter[tuple[str, str]] = Counter()
    seconds: dict[tuple[str, str], list[float]] = {}
    for _, entry in records.counting():
        key = (entry.by, entry.round)
        if entry.action == "ended":
            continue
        (given if entry.action == "given" else refused)[key] += 1
        if entry.active_seconds is not None:
            seconds.setdefault(key, []).append(entry.active_seconds)
    undone = Counter(
        (entry.by, entry.round) for entries in records.entries.values() for entry in entries if entry.action == "undone"
    )
    for person, round_name in sorted(
        {*given, *refused, *undone}, key=lambda one: (records.people[one[0]], order[one[1]])
    ):
        key = (person, round_name)
        spent = seconds.get(key, [])
        yield PersonsWork(*key, given[key], refused[key], undone[key], fsum(spent), median(spent) if spent else None)


def _oddities(records: Records, kept: Sequence[Record]) -> dict[str, int]:
    found = Counter(flag.reason for one in kept for flag in flags(one))
    twice = {
        item_id
        for language in records.design.languages
        for item_id, _ in repeated({one["item_id"]: one["question"][language] for one in kept}, language)
    }
    return {**dict(sorted(found.items())), **({"repeated": len(twice)} if twice else {})}
