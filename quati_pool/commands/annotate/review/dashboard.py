"""The dashboard: everybody's progress and their agreement so far, computed in the background.

At most one dashboard at a time is computed per session, by a thread over one state of the store (or by another
process, see ``dashboard_process``); a page gets the last one, with its time.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from quati_pool.agreement.overall import Overall, overall
from quati_pool.agreement.pairwise import PairAgreement, pairwise
from quati_pool.agreement.ratings import Ratings
from quati_pool.annotation.quality_control import Finding, poor_gold, suspicious
from quati_pool.annotation.quality_control import Graded as GradedByPerson
from quati_pool.commands.agree import join_ratings
from quati_pool.commands.annotate.pool_view import PoolView
from quati_pool.commands.annotate.review.annotated_pairs import PeoplesPairs, peoples_pairs
from quati_pool.commands.annotate.review.background import Background, Latest, for_pages
from quati_pool.commands.annotate.review.consistency import GoldResult, SelfAgreement, gold_results, self_agreement
from quati_pool.commands.annotate.review.interval_width import IntervalWidth, interval_width
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import QuatiPoolError, message_of
from quati_pool.labels.base import NEVER_ASKED, TIED
from quati_pool.labels.gathered import Gathered, LabelSource
from quati_pool.labels.qrels import qrels_of
from quati_pool.labels.sources import from_store
from quati_pool.records import State
from quati_pool.store.records import ADJUDICATED
from quati_pool.store.records import QueryProgress as StoredProgress

DRAWS = 500
"""Resamples for the dashboard's intervals, a quarter of those of ``quati-pool agree``."""

FRESH = 20.0
"""Seconds for which a dashboard is reused instead of computed again."""


class PersonProgress(NamedTuple):
    """Counts for one person: slots (``open`` includes ``skipped``), labels that count (``graded``, and ``cannot`` for
    "cannot judge"), and in ``history`` labels of pairs that left the pool or have changed. ``seconds`` is the median
    active time of ``timed`` labels."""

    name: str
    role: str | None
    open: int
    done: int
    skipped: int
    graded: int
    cannot: int
    history: int
    seconds: float | None
    timed: int


class QueryProgress(NamedTuple):
    """Counts of a query's slots over all people; ``free`` counts the open ones without a holder."""

    query_id: str
    query: str
    open: int
    done: int
    skipped: int
    free: int
    labels: int


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement as in ``quati-pool agree``, without binarized grades, over the pairs that people labelled: of people
    with each other (``pairs``, and ``overall`` for two people or more), and with each judge (``judged``) except
    panels that they are members of. ``why`` says what is missing if there is none; ``problems`` says why a judge is
    left out."""

    pairs: tuple[PairAgreement, ...]
    judged: tuple[PairAgreement, ...]
    overall: Overall | None
    why: str | None
    problems: Mapping[str, str]
    draws: int
    seed: int


@dataclass(frozen=True, eq=False)
class Dashboard:
    """The state of the annotation at ``computed_at`` (UTC), computed in ``seconds``."""

    computed_at: datetime
    seconds: float
    people: tuple[PersonProgress, ...]
    queries: tuple[QueryProgress, ...]
    agreement: Agreement
    findings: tuple[Finding, ...]
    decisions: int
    exports: tuple[str, ...]
    """The labelers with grades to export, people first."""
    tied: Mapping[str, int]
    """How many pairs a lead is to decide before a labeler has a grade of them, by name, where there are any."""
    repeats: tuple[SelfAgreement, ...]
    gold: tuple[GoldResult, ...]
    width: IntervalWidth | None
    """None if no random design drew queries or pairs."""


def dashboard(
    session: AnnotationSession, token: str | None, wait: float = 0.0, *, refresh: bool = False
) -> Latest[Dashboard]:
    """The last dashboard. Starts a new computation if it is older than FRESH seconds or ``refresh`` is True, unless
    one is already running, and waits at most ``wait`` seconds for it.

    Raises SignedOutError, and ForbiddenError for anybody but a lead.
    """
    session.person(token, "lead")
    with _boards_lock:
        board = _boards.setdefault(session, Background("dashboard"))
    make = _compute_functions.get(session) or compute
    return board.latest(lambda: make(session), wait, older=float("-inf") if refresh else FRESH)


_compute_functions: WeakKeyDictionary[AnnotationSession, Callable[[AnnotationSession], Dashboard]] = WeakKeyDictionary()


def compute_with(session: AnnotationSession, make: Callable[[AnnotationSession], Dashboard] | None) -> None:
    """Sets the function that computes the session's dashboards; None restores ``compute``."""
    if make is None:
        _compute_functions.pop(session, None)
    else:
        _compute_functions[session] = make


_boards: WeakKeyDictionary[AnnotationSession, Background[Dashboard]] = WeakKeyDictionary()
_boards_lock = threading.Lock()


def compute(session: AnnotationSession) -> Dashboard:
    """Computes a dashboard of one state of the store in this thread. Unlike ``dashboard``, it does not check roles."""
    began, computed_at = time.perf_counter(), datetime.now(UTC)
    with session.store.snapshot():
        pairs = peoples_pairs(session)
        persons = _peoples_sources(pairs)
        others, problems = from_store(pairs, without=[person.name for person in pairs.people()])
        sources = [*persons, *others]
        # People first, then leads' decisions, then judges: not in order of the last writer.
        sources.sort(key=lambda source: (source.kind != "assessor", source.name == ADJUDICATED, source.name))
        slots = session.assignments.progress()
        adjudicated = [source for source in sources if source.name == ADJUDICATED]
        agreement = _agreement(pairs, [source for source in sources if source.name != ADJUDICATED], problems)
        people = _people(session, pairs, slots)
        queries = _queries(session, pairs, slots)
        repeats, gold = self_agreement(session), gold_results(session, [one.name for one in people])
        width = interval_width(session, pairs)
    poor = (poor_gold(one.name, one.n, one.equal, one.distance) for one in gold)
    findings = [*suspicious(_by_person(pairs)), *(one for one in poor if one is not None)]
    return Dashboard(
        computed_at,
        time.perf_counter() - began,
        people,
        queries,
        agreement,
        tuple(sorted(findings, key=lambda finding: (finding.labeler_id, finding.pattern))),
        sum(len(source.qrels) for source in adjudicated),
        tuple(source.name for source in sources),
        {source.name: source.lacking[TIED] for source in sources if source.lacking.get(TIED)},
        repeats,
        gold,
        width,
    )


def _peoples_sources(pairs: PeoplesPairs) -> list[LabelSource]:
    """People with grades as label sources, built only from the pairs that each labelled: most people have no label
    of most pairs."""
    grades: defaultdict[str, list[tuple[str, str, int]]] = defaultdict(list)
    lacking: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for ids, opinions in pairs.opinions.items():
        for person, label in opinions:
            if label.relevance is None:
                lacking[person.name][label.status.value] += 1
            else:
                grades[person.name].append((*ids, label.relevance))
    found = []
    for person in pairs.people():
        name, theirs = person.name, grades[person.name]
        if theirs:
            lacking[name][NEVER_ASKED] = len(pairs.opinions) - len(theirs) - lacking[name].total()
            found.append(LabelSource(name, person.kind, qrels_of(theirs), person.version, None, +lacking[name]))
    return found


def _agreement(pairs: PeoplesPairs, sources: list[LabelSource], problems: Mapping[str, str]) -> Agreement:
    """Agreement, computed by the functions of ``quati-pool agree``. The overall agreement is computed from people
    only, because judges' grades are not part of people's agreement."""
    seed = pairs.config.seed
    people = [source for source in sources if source.kind == "assessor"]
    found: list[PairAgreement] = []
    together, why = None, None
    try:
        # Agreement between judges is left to quati-pool agree: here they are read only for pairs that people labelled.
        compared = pairwise(_ratings(pairs, sources), DRAWS, seed, binarized=False)
        found = [pair for pair in compared if pair.n and not pair.shared_members]
        together = overall(_ratings(pairs, people), DRAWS, seed)
    except QuatiPoolError as error:
        why = for_pages(message_of(error))
    names = {source.name for source in people}
    among, judged = (tuple(pair for pair in found if len({pair.a, pair.b} & names) == wanted) for wanted in (2, 1))
    left_out = {name: for_pages(problem) for name, problem in problems.items()}
    return Agreement(among, judged, together, why, left_out, DRAWS, seed)


def _ratings(pairs: PeoplesPairs, sources: list[LabelSource]) -> Ratings:
    return join_ratings(Gathered(pairs.config, pairs.config.grades, True, sources, [], {}, "query_id and doc_id", {}))


def _people(
    session: AnnotationSession, pairs: PeoplesPairs, slots: Sequence[StoredProgress]
) -> tuple[PersonProgress, ...]:
    roles = {one.name: None if one.revoked_at else one.role for one in session.people.all()}
    held: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for slot in slots:
        if slot.holder is not None:
            held[slot.holder].update({"open": slot.open, "done": slot.done, "skipped": slot.skipped})
    answers: defaultdict[str, Counter[State]] = defaultdict(Counter)
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for opinions in pairs.opinions.values():
        for opinion in opinions:
            name, label = opinion.labeler.name, opinion.label
            answers[name][label.status] += 1
            spent = label.extra.get("active_seconds")
            if label.status in (State.ok, State.unsure) and isinstance(spent, (int, float)):
                seconds[name].append(float(spent))
    current = [name for name, role in roles.items() if role is not None]
    progress = []
    for name in sorted({*current, *held, *pairs.history}):
        slots_of, said, spent_by = held[name], answers[name], seconds[name]
        progress.append(
            PersonProgress(
                name,
                roles.get(name),
                slots_of["open"],
                slots_of["done"],
                slots_of["skipped"],
                said[State.ok],
                said[State.unsure],
                pairs.history.get(name, 0),
                median(spent_by) if spent_by else None,
                len(spent_by),
            )
        )
    return tuple(progress)


def _queries(
    session: AnnotationSession, pairs: PeoplesPairs, slots: Sequence[StoredProgress]
) -> tuple[QueryProgress, ...]:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for slot in slots:
        free = slot.open if slot.holder is None else 0
        counts[slot.query_id].update({"open": slot.open, "done": slot.done, "skipped": slot.skipped, "free": free})
    for (query_id, _), opinions in pairs.opinions.items():
        counts[query_id]["labels"] += sum(opinion.label.status in (State.ok, State.unsure) for opinion in opinions)
    return tuple(
        QueryProgress(
            query_id,
            _query(session.pool_view, query_id),
            *(counts[query_id][name] for name in ("open", "done", "skipped", "free", "labels")),
        )
        for query_id in sorted(counts)
    )


def _query(pool: PoolView, query_id: str) -> str:
    """A query's text; empty if it is no longer in the pool."""
    rows = pool.query(query_id)
    return str(pool.table["query"][rows.start].as_py()) if rows.stop > rows.start else ""


def _by_person(pairs: PeoplesPairs) -> GradedByPerson:
    """People's grades in the order in which they were given, for quality control."""
    rows = []
    for ids, opinions in pairs.opinions.items():
        pair = pairs.pair(*ids)
        for opinion in opinions:
            label = opinion.label
            if pair is not None and label.relevance is not None:
                spent = label.extra.get("active_seconds")
                took = float(spent) if isinstance(spent, (int, float)) else math.nan
                rows.append((label.seq, opinion.labeler.name, *ids, label.relevance, took, len(pair.text)))
    rows.sort()
    _, names, query_ids, doc_ids, grades, seconds, characters = zip(*rows, strict=True) if rows else [()] * 7
    return GradedByPerson(
        names,
        query_ids,
        doc_ids,
        np.array(grades, dtype=np.int64),
        np.array(seconds, dtype=np.float64),
        np.array(characters, dtype=np.int64),
    )
