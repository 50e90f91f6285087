"""The pairs on which people disagree, for a lead to decide.

Queries are ordered by their widest gap, then by the number of disputed pairs; within a query the pair with the widest
gap comes first. All pairs of a query are together, so a lead reads each query once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

from quati_pool.commands.annotate.annotation_pair import Ids, label_sha
from quati_pool.commands.annotate.review.annotated_pairs import Opinion, PeoplesPairs, peoples_pairs
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.judging.pair import Pair
from quati_pool.labels.base import Graded, Labeler
from quati_pool.labels.labelers import REVEALED, StoredLabeler
from quati_pool.labels.rereading import thoughts_behind
from quati_pool.records import State
from quati_pool.store.label_queries import last_seq, rationales_of
from quati_pool.store.records import ADJUDICATED, CurrentLabel, Training

SHOWN = 10
"""Pairs on one page of the review."""


@dataclass(frozen=True)
class Filter:
    """Which pairs to show: those of a query, those that an assessor labelled, those whose gap is at least ``gap``
    (0: all with at least two labels), those that no lead has decided yet. With ``judges``, judges' grades count for
    the gap too, and are revealed."""

    query_id: str | None = None
    assessor: str | None = None
    gap: int = 1
    undecided: bool = False
    judges: bool = False


class SecondLabel(NamedTuple):
    """A person's second label, given after a judge's grade was revealed."""

    status: State
    relevance: int | None
    note: str | None


@dataclass(frozen=True)
class PersonsLabel:
    """A person's label of a pair; ``reason`` says why it could not be judged, ``seconds`` is the active time."""

    name: str
    status: State
    relevance: int | None
    reason: str | None
    note: str | None
    seconds: float | None
    second: SecondLabel | None


@dataclass(frozen=True)
class JudgesLabel:
    """The label of a judge, consensus or label file: its grade, the grades of its samples if there are several, and
    its rationales and a model's thoughts, one for each sample that has any."""

    name: str
    kind: str
    status: State | None
    relevance: int | None
    samples: tuple[int, ...]
    rationales: tuple[str, ...]
    thoughts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Decision:
    """A lead's grade of a pair; None if the lead decided that nobody can judge it. ``revealed``: the lead had seen
    names and grades of judges or systems."""

    seq: int
    relevance: int | None
    by: str
    comment: str | None
    revealed: bool


@dataclass(frozen=True)
class DisputedPair:
    """A pair with all its labels. ``gap`` is the difference between the highest and the lowest grade; ``split`` if
    somebody could not judge what another graded. ``judges`` is None until it is revealed to the lead. ``last_seq`` is
    the seq of the last decision, retracted or not."""

    query_id: str
    doc_id: str
    query: str
    narrative: str | None
    text: str
    content_sha: str
    gap: int
    split: bool
    people: tuple[PersonsLabel, ...]
    judges: tuple[JudgesLabel, ...] | None
    decision: Decision | None
    last_seq: int | None
    training: Training | None


class QueryCount(NamedTuple):
    """How many pairs of a query pass the filter's conditions other than query and decision, and how many of these
    are undecided."""

    query_id: str
    query: str
    pairs: int
    undecided: int
    gap: int


@dataclass(frozen=True)
class Review:
    """One page of the disputed pairs: ``pairs`` starting at position ``start`` of ``total``. ``problems`` says why a
    judge cannot be read, ``history`` counts the labels of pairs that left the pool or have changed."""

    pairs: tuple[DisputedPair, ...]
    start: int
    total: int
    undecided: int
    queries: tuple[QueryCount, ...]
    assessors: tuple[str, ...]
    widest: int
    problems: Mapping[str, str]
    history: int


def disagreements(
    session: AnnotationSession, token: str | None, wanted: Filter | None = None, start: int = 0
) -> Review:
    """One page of the pairs that a lead should look at; a filter with ``judges`` reveals those of the page.

    Raises SignedOutError, ForbiddenError for anybody but a lead, InputError if there is no pool.
    """
    lead = session.person(token, "lead").name
    wanted = wanted or Filter()
    with session.store.snapshot():
        pairs = peoples_pairs(session)
        judges, problems = pairs.judges
        judged = _judged(pairs, judges) if wanted.judges else {}
        decided = decisions_of(pairs)
        disputes = [
            dispute
            for ids, opinions in pairs.opinions.items()
            if (dispute := _dispute(ids, opinions, judged.get(ids, ()), wanted))
        ]
        queries = _queries(disputes, decided, pairs)
        if wanted.undecided:
            disputes = [one for one in disputes if one.ids not in decided]
        here = [one for one in _in_order(disputes) if wanted.query_id in (None, one.ids[0])]
        start = max(0, min(start, (len(here) - 1) // SHOWN * SHOWN))
        shown = here[start : start + SHOWN]
        known = session.reveals.of(lead)
        revealed = known | {one.ids for one in shown} if wanted.judges or not judges else known
        review = Review(
            _disputed_pairs(pairs, judges, shown, decided, session.training.all(), revealed),
            start,
            len(here),
            sum(one.ids not in decided for one in here),
            queries,
            tuple(person.name for person in pairs.people()),
            max(session.config.grades) - min(session.config.grades),
            problems,
            sum(pairs.history.values()),
        )
    if judges:
        session.reveals.add(lead, revealed - known)
    return review


class _Dispute(NamedTuple):
    """How much the labelers of a pair disagree; ``labels`` counts grades and "cannot judge"."""

    ids: Ids
    gap: int
    split: bool
    labels: int

    @property
    def rank(self) -> tuple[int, bool, int, str]:
        return (-self.gap, not self.split, -self.labels, self.ids[1])


def _dispute(ids: Ids, opinions: Sequence[Opinion], judged: Sequence[Graded], wanted: Filter) -> _Dispute | None:
    """The dispute on a pair; None if it does not pass the filter, whose query and decision are not checked here."""
    answered = [opinion for opinion in opinions if opinion.label.status in (State.ok, State.unsure)]
    if wanted.assessor is not None and all(opinion.labeler.name != wanted.assessor for opinion in answered):
        return None
    grades = [opinion.label.relevance for opinion in answered if opinion.label.relevance is not None]
    cannot = len(answered) - len(grades)
    grades += [graded.relevance for graded in judged if graded.relevance is not None]
    gap = max(grades) - min(grades) if grades else 0
    split = bool(cannot and grades)
    labels = len(grades) + cannot
    # A pair that only some could judge is disputed too, even without a gap.
    enough = gap >= wanted.gap or (split and wanted.gap <= 1)
    return _Dispute(ids, gap, split, labels) if labels > 1 and enough else None


def _by_query(disputes: Iterable[_Dispute]) -> dict[str, list[_Dispute]]:
    """The disputes of each query; queries and disputes in display order."""
    by_query: dict[str, list[_Dispute]] = {}
    for one in sorted(disputes, key=lambda one: one.rank):
        by_query.setdefault(one.ids[0], []).append(one)
    order = sorted(by_query.items(), key=lambda query: (-query[1][0].gap, -len(query[1]), query[0]))
    return dict(order)


def _in_order(disputes: Iterable[_Dispute]) -> list[_Dispute]:
    return [one for theirs in _by_query(disputes).values() for one in theirs]


def _queries(
    disputes: Sequence[_Dispute], decided: Mapping[Ids, Decision], pairs: PeoplesPairs
) -> tuple[QueryCount, ...]:
    counts = []
    for query_id, theirs in _by_query(disputes).items():
        undecided = sum(one.ids not in decided for one in theirs)
        pair = pairs.pair(*theirs[0].ids)
        counts.append(QueryCount(query_id, pair.query if pair else "", len(theirs), undecided, theirs[0].gap))
    return tuple(counts)


def disputed(pairs: PeoplesPairs) -> set[Ids]:
    """The pairs that people graded differently, or that only some of them could judge; decided or not."""
    usual = Filter()
    return {ids for ids, opinions in pairs.opinions.items() if _dispute(ids, opinions, (), usual)}


def decisions_of(pairs: PeoplesPairs) -> dict[Ids, Decision]:
    """The current decision on each pair that has one, without comments."""
    found = {}
    for ids, last in pairs.labels.counting.get(ADJUDICATED, {}).items():
        if ids in pairs.opinions and last.status in (State.ok, State.unsure):
            found[ids] = Decision(last.seq, last.relevance, _text(last, "by") or "", None, REVEALED in last.extra)
    return found


def _judged(pairs: PeoplesPairs, judges: Sequence[Labeler]) -> dict[Ids, list[Graded]]:
    found: dict[Ids, list[Graded]] = {}
    for some in pairs.pairs():
        for judge in judges:
            for graded in judge.graded(some):
                found.setdefault((graded.query_id, graded.doc_id), []).append(graded)
    return found


def _disputed_pairs(
    pairs: PeoplesPairs,
    judges: Sequence[Labeler],
    disputes: Sequence[_Dispute],
    decided: Mapping[Ids, Decision],
    training: Iterable[Training],
    revealed: Set[Ids],
) -> tuple[DisputedPair, ...]:
    """The disputed pairs with everything that a lead is shown; judges' labels of those ``revealed``."""
    training_of = {(one.query_id, one.doc_id): one for one in training}
    second = _second_labels(pairs, list(dict.fromkeys(one.ids[0] for one in disputes)))
    of_judges = _judges_labels(pairs, judges, [one.ids for one in disputes if one.ids in revealed])
    noted = [label.seq for labels in second.values() for label in labels]
    for one in disputes:
        noted += [opinion.label.seq for opinion in pairs.opinions[one.ids]]
        noted += [decided[one.ids].seq] if one.ids in decided else []
    notes = rationales_of(pairs.store, noted)
    disputed = []
    for one in disputes:
        pair = pairs.pair(*one.ids)
        assert pair is not None  # opinions are of pairs of the same pool
        people = tuple(
            _persons_label(
                opinion, _newest(opinion.labeler, pair, second.get((opinion.labeler.name, one.ids), ())), notes
            )
            for opinion in pairs.opinions[one.ids]
        )
        decision = decided.get(one.ids)
        disputed.append(
            DisputedPair(
                *one.ids,
                pair.query,
                pair.narrative,
                pair.text,
                label_sha(pair),
                one.gap,
                one.split,
                people,
                tuple(of_judges[one.ids]) if one.ids in of_judges else None,
                None if decision is None else replace(decision, comment=notes.get(decision.seq)),
                last_seq(pairs.store, pairs.config.name, ADJUDICATED, *one.ids),
                training_of.get(one.ids),
            )
        )
    return tuple(disputed)


def _second_labels(pairs: PeoplesPairs, query_ids: Sequence[str]) -> dict[tuple[str, Ids], list[CurrentLabel]]:
    """People's labels after a reveal, for the pairs of some queries, by name and pair."""
    labels: dict[tuple[str, Ids], list[CurrentLabel]] = {}
    for person in pairs.people():
        for row in pairs.store.current(pairs.config.name, person.name, person.version, query_ids, ("revealed",)):
            labels.setdefault((person.name, (row.query_id, row.doc_id)), []).append(row)
    return labels


def _persons_label(opinion: Opinion, second: CurrentLabel | None, notes: Mapping[int, str]) -> PersonsLabel:
    label = opinion.label
    seconds = label.extra.get("active_seconds")
    after = second if second is not None and second.seq > label.seq else None
    return PersonsLabel(
        opinion.labeler.name,
        label.status,
        label.relevance,
        _text(label, "reason"),
        notes.get(label.seq),
        float(seconds) if isinstance(seconds, (int, float)) else None,
        None if after is None else SecondLabel(after.status, after.relevance, notes.get(after.seq)),
    )


def _newest(labeler: StoredLabeler, pair: Pair, rows: Sequence[CurrentLabel]) -> CurrentLabel | None:
    counting = labeler.counting(pair, rows)
    return counting[-1] if counting else None


def _judges_labels(
    pairs: PeoplesPairs, judges: Sequence[Labeler], shown: Sequence[Ids]
) -> dict[Ids, list[JudgesLabel]]:
    """The judges' labels of some pairs, with rationales and thoughts."""
    asked = [pair for ids in shown if (pair := pairs.pair(*ids)) is not None]
    found: dict[Ids, list[JudgesLabel]] = {ids: [] for ids in shown}
    for judge in judges:
        reasons = _reasons(pairs, judge, asked)
        for graded in judge.graded(asked):
            ids = (graded.query_id, graded.doc_id)
            said = (graded.status, graded.relevance, graded.samples, *reasons.get(ids, ((), ())))
            if graded.status is not None:
                found[ids].append(JudgesLabel(judge.name, judge.kind, *said))
    return found


def _reasons(
    pairs: PeoplesPairs, judge: Labeler, asked: Sequence[Pair]
) -> dict[Ids, tuple[tuple[str, ...], tuple[str, ...]]]:
    """For each pair, the rationales and the thoughts of the labels from which a judge's grade was computed, by sample;
    empty for consensuses and label files."""
    if not judge.stored:
        return {}
    behind = [[*labels.values()] for labels in judge.behind(asked)]
    labels = [label for some in behind for label in some]
    reasons = rationales_of(pairs.store, [label.seq for label in labels])
    thoughts = thoughts_behind(pairs.store, labels, judge.reading)

    def of(found: Mapping[int, str], some: Sequence[CurrentLabel]) -> tuple[str, ...]:
        return tuple(found[label.seq] for label in some if label.seq in found)

    return {
        (pair.query_id, pair.doc_id): (of(reasons, some), of(thoughts, some))
        for pair, some in zip(asked, behind, strict=True)
    }


def _text(label: CurrentLabel, key: str) -> str | None:
    value = label.extra.get(key)
    return str(value) if value else None
