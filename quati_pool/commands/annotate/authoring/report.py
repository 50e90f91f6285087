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
import pyarrow as pa

from quati_pool.agreement.overall import overall
from quati_pool.agreement.ratings import Ratings
from quati_pool.annotation.authoring.pira import DERIVED, EVALUATION, QUESTION, TYPES, Pira
from quati_pool.annotation.authoring.text_checks import flags, repeated
from quati_pool.commands.annotate.authoring.records import Record, Records, open_records, read_records
from quati_pool.commands.annotate.authoring.sources import design_of
from quati_pool.project.config import PoolConfig
from quati_pool.records import Qrels, code_ids
from quati_pool.stats.clustered_means import clustered_mean
from quati_pool.stats.shares import clustered_share
from quati_pool.store.authoring_records import ItemState, RoundProgress
from quati_pool.store.database import Store
from quati_pool.text.token_overlap import exact_match, token_f1, tokens

YES_NO = ("generic", "in_text")
SCALES = ("sense", "hard", "equivalent")

_ONE_TEXT = "the questions are of one text"


class Estimate(NamedTuple):
    """A share from 0 to 1, or a mean, with its 95 % interval; ``why`` says why a part of it is undefined (None)."""

    value: float | None
    low: float | None
    high: float | None
    why: str | None = None


class Agreement(NamedTuple):
    """Krippendorff's alpha, ordinal for scales and else nominal, and Gwet's AC1, over ``n`` questions that two or more
    people evaluated; ``why`` says why one is None."""

    alpha: Estimate
    ac1: Estimate
    n: int


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


class Drafts(NamedTuple):
    """What became of the derived texts of one program: accepted as they were, edited, refused by reason, waiting; and
    the share accepted, edited or not, of those decided."""

    model: str
    accepted: int
    edited: int
    refused: Mapping[str, int]
    waiting: int
    share: Estimate


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
    reason. ``unit`` is the kind that the data set consists of, and ``units`` are all of them."""

    design: str
    unit: str
    rounds: Sequence[RoundProgress]
    states: Mapping[str, Mapping[str, int]]
    out: Mapping[str, Mapping[str, int]]
    people: int
    units: Sequence[ListedUnit] = ()

    @property
    def waiting(self) -> str:
        """The tasks that are not done, by round, such as ``create 3, edit 2``; empty if there are none."""
        left = ((one.round, one.open + one.held) for one in self.rounds)
        return ", ".join(f"{name} {count:,}" for name, count in left if count)


@dataclass(frozen=True, eq=False)
class AuthoringReport:
    """Everything about a collection's rounds. Evaluations, human answers and labels are of kept questions, and empty
    for designs other than Pirá's. ``labels`` counts questions by whether they can be answered: yes, no, dropped (makes
    sense 3), none. ``oddities`` counts by kind what rules point out in kept questions."""

    progress: RoundsReport
    evaluations: Sequence[Evaluated] = ()
    labels: Mapping[str, int] = field(default_factory=dict)
    human: Sequence[HumanAnswers] = ()
    people: Sequence[PersonsWork] = ()
    drafts: Sequence[Drafts] = ()
    oddities: Mapping[str, int] = field(default_factory=dict)


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


def report_on(records: Records) -> AuthoringReport:
    """All statistics of these records."""
    progress, people = _progress(records), list(_people(records))
    if not isinstance(records.design, Pira):
        return AuthoringReport(progress, people=people)
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
        drafts=list(_drafts(records)),
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
                item.state,
                item.reason,
                records.root(item.item_id).source_id,
                next((value for value in item.content.values() if isinstance(value, str)), ""),
            )
            for item in records.items.values()
            if item.kind == unit
        ],
    )


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
        estimate: Estimate | None = _share(values, texts, questions)
    elif name in SCALES:
        counts = {str(value): values.count(value) for value in range(1, 6)}
        estimate = _mean(values, texts)
    else:
        counts, estimate = {value: values.count(value) for value in TYPES}, None
    return Evaluated(name, counts, len(values), estimate, _agreement(name, kept))


def _agreement(name: str, kept: Sequence[Record]) -> Agreement:
    """Agreement on one aspect: people are the raters, questions what they rate, and texts are resampled."""
    scale = [*range(len(TYPES))] if name == "type" else [0, 1] if name in YES_NO else [*range(1, 6)]
    number = TYPES.index if name == "type" else int
    rated: dict[str, list[tuple[str, str, int]]] = {}
    for one in kept:
        for assessment in one["assessments"]:
            if assessment[name] is not None:
                row = (str(one["text_id"]), str(one["item_id"]), number(assessment[name]))
                rated.setdefault(assessment["by"], []).append(row)
    most = max((sum(a[name] is not None for a in one["assessments"]) for one in kept), default=0)
    if most < 2:
        why = "no question is evaluated yet" if not most else "one person assessed each question"
        nothing = Estimate(None, None, None, why)
        return Agreement(nothing, nothing, 0)
    ratings = Ratings.join({person: _qrels(rated[person]) for person in sorted(rated)}, scale, people=set(rated))
    found = overall(ratings)
    alpha = "alpha_ordinal" if name in SCALES else "alpha_nominal"

    def estimate(coefficient: str) -> Estimate:
        ends = found.intervals[coefficient]
        why = found.undefined.get(coefficient, found.undefined.get(f"intervals.{coefficient}"))
        return Estimate(found.values[coefficient], ends.low, ends.high, None if why is None else str(why))

    return Agreement(estimate(alpha), estimate("gwet_ac1"), found.n[alpha])


def _qrels(rows: Sequence[tuple[str, str, int]]) -> Qrels:
    text_ids, (text,) = code_ids([pa.array([one for one, _, _ in rows])])
    question_ids, (question,) = code_ids([pa.array([one for _, one, _ in rows])])
    return Qrels(text_ids, question_ids, text, question, np.array([grade for _, _, grade in rows], dtype=np.int64))


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
    matches = _share([exact_match(given, expected) for _, given, expected in pairs], texts)
    low, high = (None if end is None else 100 * end for end in (matches.low, matches.high))
    em = Estimate(None if matches.value is None else 100 * matches.value, low, high, matches.why)
    return HumanAnswers(language, _mean(f1, texts), em, len(pairs))


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


# What programs derived


def _drafts(records: Records) -> Iterator[Drafts]:
    accepted = {one["item_id"]: bool(one["changed"]) for one in records.of(DERIVED)}
    by_model: dict[str, list[int]] = {}
    for item in records.items.values():
        if item.kind == DERIVED and item.drafted_by is not None:
            by_model.setdefault(records.drafters[item.drafted_by], []).append(item.item_id)
    for model, ids in sorted(by_model.items()):
        items = [records.items[item_id] for item_id in ids]
        decided = [item for item in items if item.state != "open"]
        hits = [item.item_id in accepted for item in decided]
        texts = np.array([records.root(item.item_id).item_id for item in decided], dtype=np.int64)
        refused = Counter(item.reason or "other" for item in decided if item.state == "out")
        edited = sum(accepted.get(item_id, False) for item_id in ids)
        yield Drafts(model, sum(hits) - edited, edited, dict(refused), len(items) - len(decided), _share(hits, texts))


def _oddities(records: Records, kept: Sequence[Record]) -> dict[str, int]:
    found = Counter(flag.reason for one in kept for flag in flags(one))
    twice = {
        item_id
        for language in records.design.languages
        for item_id, _ in repeated({one["item_id"]: one["question"][language] for one in kept}, language)
    }
    return {**dict(sorted(found.items())), **({"repeated": len(twice)} if twice else {})}


# Estimates


def _share(hits: Sequence[bool], clusters: Any, units: Any = None) -> Estimate:
    """A share with its interval; ``units``, by number, where some were asked about repeatedly."""
    if not hits:
        return Estimate(None, None, None, "there are none yet")
    found = clustered_share(np.array(hits, dtype=bool), clusters, units=units)
    if len(set(clusters.tolist())) < 2:
        return Estimate(found.share, None, None, _ONE_TEXT)
    return Estimate(found.share, found.low, found.high)


def _mean(values: Sequence[float], clusters: Any) -> Estimate:
    if not values:
        return Estimate(None, None, None, "there are none yet")
    found = clustered_mean(np.array(values, dtype=np.float64), clusters)
    return Estimate(found.value, found.low, found.high, _ONE_TEXT if found.low is None else None)
