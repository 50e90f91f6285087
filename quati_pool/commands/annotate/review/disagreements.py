"""The pairs on which people disagree, for a lead to decide.

Queries are ordered by their widest gap, then by the number of disputed pairs; within a query the pair with the widest
gap comes first. All pairs of a query are together, so a lead reads each query once, and the order does not change as
pairs are decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

from quati_pool.annotation.evidence import EVIDENCE, evidence_in
from quati_pool.commands.annotate.annotation_pair import Ids, label_sha
from quati_pool.commands.annotate.review.annotated_pairs import Opinion, PeoplesPairs, peoples_pairs
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.judging.pair import Pair
from quati_pool.labels.base import Graded, Labeler
from quati_pool.labels.labelers import REVEALED
from quati_pool.labels.rereading import thoughts_behind
from quati_pool.records import State
from quati_pool.store.label_queries import last_seq, rationales_of
from quati_pool.store.records import ADJUDICATED, CurrentLabel, Training
from quati_pool.text.sentences import Span


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
    """A person's label of a pair; ``reason`` says why it could not be judged, ``seconds`` is the active time,
    ``evidence`` marks the words of the passage that justify the grade."""

    name: str
    status: State
    relevance: int | None
    reason: str | None
    note: str | None
    seconds: float | None
    second: SecondLabel | None
    evidence: tuple[Span, ...]


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
    somebody could not judge what another graded. ``judges`` is None until it is revealed to the lead, and so are the
    second labels of people, who had seen a judge's grade. ``last_seq`` is the seq of the last decision, retracted or
    not."""

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

    @property
    def ids(self) -> Ids:
        return self.query_id, self.doc_id


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
    """One disputed pair, and its place among those that pass the filter: ``ids`` in order, ``undecided`` of them.

    ``pair`` is None if there is none. It need not be one of ``ids``: a pair that was just decided is still shown by a
    filter for undecided ones. ``before`` and ``next`` are its neighbours among ``ids``. ``problems`` says why a judge
    cannot be read, ``history`` counts the labels of pairs that left the pool or have changed.
    """

    pair: DisputedPair | None
    before: Ids | None
    next: Ids | None
    ids: tuple[Ids, ...]
    undecided: int
    queries: tuple[QueryCount, ...]
    assessors: tuple[str, ...]
    widest: int
    problems: Mapping[str, str]
    history: int

    @property
    def place(self) -> int | None:
        """The pair's position among ``ids``, from 1; None if it is not one of them."""
        return self.ids.index(self.pair.ids) + 1 if self.pair and self.pair.ids in self.ids else None


def disagreements(
    session: AnnotationSession,
    token: str | None,
    wanted: Filter | None = None,
    at: Ids | None = None,
    *,
    advance: bool = False,
) -> Review:
    """The pairs that a lead should look at, and one of them with all its labels; a filter with ``judges`` reveals it.

    That is the pair ``at``, or with ``advance`` the next undecided one after it (the first one after the last one; the
    pair itself if no other is undecided). Without ``at``, or if people no longer differ on it, it is the first
    undecided pair, or the first of all if none is undecided.

    Raises SignedOutError, ForbiddenError for anybody but a lead, InputError if there is no pool.
    """
    lead = session.person(token, "lead").name
    wanted = wanted or Filter()
    with session.store.snapshot():
        pairs = peoples_pairs(session)
        judges, problems = pairs.judges
        judged = _judged(pairs, judges) if wanted.judges else {}
        decided = decisions_of(pairs)
        by_query = _by_query(
            dispute
            for ids, opinions in pairs.opinions.items()
            if (dispute := _dispute(ids, opinions, judged.get(ids, ()), wanted))
        )
        order = [one for query, some in by_query.items() if wanted.query_id in (None, query) for one in some]
        ids = tuple(one.ids for one in order if not (wanted.undecided and one.ids in decided))
        here = None
        if at is not None and at in pairs.opinions:
            here = _dispute(at, pairs.opinions[at], judged.get(at, ()), Filter(gap=0))
        chosen = here
        if here is None or advance:
            chosen = _undecided(order, decided.keys(), here) or here or (order[0] if ids else None)
        before, after = _neighbours(order, ids, chosen)
        known = session.reveals.of(lead, chosen.ids[0]) if chosen else frozenset()
        revealed = known | {chosen.ids} if chosen and (wanted.judges or not judges) else known
        review = Review(
            chosen
            and _disputed_pair(
                pairs, judges, chosen, decided.get(chosen.ids), _training(session, chosen.ids), revealed
            ),
            before,
            after,
            ids,
            sum(one not in decided for one in ids),
            _queries(by_query, decided, pairs),
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


def _undecided(order: Sequence[_Dispute], decided: Set[Ids], last: _Dispute | None) -> _Dispute | None:
    """The next undecided dispute after ``last``, beginning again at the end; None if there is none."""
    start = order.index(last) + 1 if last in order else 0
    return next((one for one in (*order[start:], *order[:start]) if one.ids not in decided), None)


def _neighbours(
    order: Sequence[_Dispute], ids: Sequence[Ids], chosen: _Dispute | None
) -> tuple[Ids | None, Ids | None]:
    """Those of ``ids`` that come directly before and after a dispute, in the order of all."""
    place, among = order.index(chosen) if chosen in order else -1, set(ids)
    before = (one.ids for one in reversed(order[: max(place, 0)]) if one.ids in among)
    after = (one.ids for one in order[place + 1 :] if one.ids in among)
    return next(before, None), next(after, None)


def _by_query(disputes: Iterable[_Dispute]) -> dict[str, list[_Dispute]]:
    """The disputes of each query; queries and disputes in display order."""
    by_query: dict[str, list[_Dispute]] = {}
    for one in sorted(disputes, key=lambda one: one.rank):
        by_query.setdefault(one.ids[0], []).append(one)
    order = sorted(by_query.items(), key=lambda query: (-query[1][0].gap, -len(query[1]), query[0]))
    return dict(order)


def _queries(
    by_query: Mapping[str, Sequence[_Dispute]], decided: Mapping[Ids, Decision], pairs: PeoplesPairs
) -> tuple[QueryCount, ...]:
    counts = []
    for query_id, theirs in by_query.items():
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


def _disputed_pair(
    pairs: PeoplesPairs,
    judges: Sequence[Labeler],
    dispute: _Dispute,
    decision: Decision | None,
    training: Training | None,
    revealed: Set[Ids],
) -> DisputedPair:
    """The disputed pair with everything that a lead is shown; with judges' labels if it is ``revealed``."""
    ids = dispute.ids
    pair = pairs.pair(*ids)
    assert pair is not None  # opinions are of pairs of the same pool
    opinions = pairs.opinions[ids]
    second = _second_labels(pairs, pair) if ids in revealed else {}
    noted = [opinion.label.seq for opinion in opinions] + [label.seq for label in second.values()]
    notes = rationales_of(pairs.store, [*noted, *([decision.seq] if decision else [])])
    return DisputedPair(
        *ids,
        pair.query,
        pair.narrative,
        pair.text,
        label_sha(pair),
        dispute.gap,
        dispute.split,
        tuple(_persons_label(opinion, second.get(opinion.labeler.name), notes, pair.text) for opinion in opinions),
        tuple(_judges_labels(pairs, judges, pair)) if ids in revealed else None,
        None if decision is None else replace(decision, comment=notes.get(decision.seq)),
        last_seq(pairs.store, pairs.config.name, ADJUDICATED, *ids),
        training,
    )


def _second_labels(pairs: PeoplesPairs, pair: Pair) -> dict[str, CurrentLabel]:
    """People's labels of a pair after a reveal, by name."""
    found = {}
    for person in pairs.people():
        rows = pairs.store.current(pairs.config.name, person.name, person.version, [pair.query_id], ("revealed",))
        counting = person.counting(pair, [row for row in rows if row.doc_id == pair.doc_id])
        if counting:
            found[person.name] = counting[-1]
    return found


def _persons_label(opinion: Opinion, second: CurrentLabel | None, notes: Mapping[int, str], text: str) -> PersonsLabel:
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
        evidence_in(text, label.extra.get(EVIDENCE)),
    )


def _judges_labels(pairs: PeoplesPairs, judges: Sequence[Labeler], pair: Pair) -> list[JudgesLabel]:
    """The judges' labels of a pair, with rationales and thoughts."""
    found = []
    for judge in judges:
        (graded,) = judge.graded([pair])
        if graded.status is not None:
            said = (graded.status, graded.relevance, graded.samples, *_reasons(pairs, judge, pair))
            found.append(JudgesLabel(judge.name, judge.kind, *said))
    return found


def _reasons(pairs: PeoplesPairs, judge: Labeler, pair: Pair) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The rationales and the thoughts of the labels from which a judge's grade was computed, by sample; empty for
    consensuses and label files."""
    if not judge.stored:
        return (), ()
    labels = [label for behind in judge.behind([pair]) for label in behind.values()]
    reasons = rationales_of(pairs.store, [label.seq for label in labels])
    thoughts = thoughts_behind(pairs.store, labels, judge.reading)

    def of(found: Mapping[int, str]) -> tuple[str, ...]:
        return tuple(found[label.seq] for label in labels if label.seq in found)

    return of(reasons), of(thoughts)


def _training(session: AnnotationSession, ids: Ids) -> Training | None:
    return next((one for one in session.training.all() if (one.query_id, one.doc_id) == ids), None)


def _text(label: CurrentLabel, key: str) -> str | None:
    value = label.extra.get(key)
    return str(value) if value else None
