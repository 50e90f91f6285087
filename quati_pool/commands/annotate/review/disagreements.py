"""Where people disagree, for a lead to decide: the decision is a label of its own, and changes nobody's.

Queries come by their largest gap, then by how many pairs are in dispute; within one the widest gap comes
first, so that each need is read once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from quati_pool.commands.annotate.annotated_pairs import Opinion, PeoplesPairs, peoples_pairs
from quati_pool.commands.annotate.annotation_pair import Ids, label_sha
from quati_pool.commands.annotate.errors import AnswerError
from quati_pool.commands.annotate.session import Desk
from quati_pool.files.problems import quoted
from quati_pool.judging.base import Pair
from quati_pool.labels.labelers import Graded, Labeler, StoredLabeler
from quati_pool.labels.rereading import thoughts_behind
from quati_pool.records import State
from quati_pool.store.errors import ConflictError
from quati_pool.store.label_queries import append_once, last_seq, rationales_of
from quati_pool.store.records import ADJUDICATED, CurrentLabel, Label, Submitted, Training

SHOWN = 10
"""Pairs of one page of the review."""

LONGEST_COMMENT = 10_000
_LONGEST_NONCE = 64


@dataclass(frozen=True)
class Filter:
    """Which pairs to show: those of a query, those that an assessor labelled, those whose gap is at least
    ``gap`` (0: all that two labelers labelled), those that no lead decided yet. With ``judges`` their
    grades count for the gap beside people's."""

    query_id: str | None = None
    assessor: str | None = None
    gap: int = 1
    undecided: bool = False
    judges: bool = False


class SecondLabel(NamedTuple):
    """What a person said after a judge's grade was revealed."""

    status: State
    relevance: int | None
    note: str | None


@dataclass(frozen=True)
class PersonsLabel:
    """What a person said of a pair; ``reason`` is why it could not be judged, ``seconds`` the active time."""

    name: str
    status: State
    relevance: int | None
    reason: str | None
    note: str | None
    seconds: float | None
    second: SecondLabel | None


@dataclass(frozen=True)
class JudgesLabel:
    """What a judge, a consensus or a label file said: its grade, the samples' grades where there are
    several; its reasons, and what a model thought before it answered, one a sample that has any."""

    name: str
    kind: str
    status: State | None
    relevance: int | None
    samples: tuple[int, ...]
    rationales: tuple[str, ...]
    thoughts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Decision:
    """A lead's grade of a pair; None where the lead found that nobody can judge it."""

    seq: int
    relevance: int | None
    by: str
    comment: str | None


@dataclass(frozen=True)
class Disputed:
    """A pair with all that was said of it. ``gap`` is between the lowest and the highest grade; ``split``:
    somebody could not judge what another graded. ``last_seq`` is that of the last decision, taken back or not."""

    query_id: str
    doc_id: str
    query: str
    narrative: str | None
    text: str
    content_sha: str
    gap: int
    split: bool
    people: tuple[PersonsLabel, ...]
    judges: tuple[JudgesLabel, ...]
    decision: Decision | None
    last_seq: int | None
    training: Training | None


class QueryCount(NamedTuple):
    """A query's pairs that pass the filter but for the query, and how many are not decided."""

    query_id: str
    query: str
    pairs: int
    undecided: int
    gap: int


@dataclass(frozen=True)
class Review:
    """One page of the pairs in dispute: ``rows`` from the ``start``-th of ``total`` on. ``problems`` say why
    a judge cannot be read, ``history`` how many labels are of pairs gone from the pool or changed since."""

    rows: tuple[Disputed, ...]
    start: int
    total: int
    undecided: int
    queries: tuple[QueryCount, ...]
    assessors: tuple[str, ...]
    widest: int
    problems: Mapping[str, str]
    history: int


def disagreements(desk: Desk, token: str | None, wanted: Filter | None = None, start: int = 0) -> Review:
    """The pairs that a lead should look at, a page of them.

    Raises SignedOutError, ForbiddenError for whoever is no lead, InputError where there is no pool.
    """
    desk.person(token, "lead")
    wanted = wanted or Filter()
    with desk.store.snapshot():
        pairs = peoples_pairs(desk)
        judges, problems = pairs.judges
        judged = _judged(pairs, judges) if wanted.judges else {}
        decided = _decisions(pairs)
        found = [
            found
            for ids, opinions in pairs.opinions.items()
            if (found := _looked_at(ids, opinions, judged.get(ids, ()), wanted))
        ]
        queries = _queries(found, decided, pairs)
        if wanted.undecided:
            found = [one for one in found if one.ids not in decided]
        here = [one for one in _in_order(found) if wanted.query_id in (None, one.ids[0])]
        start = max(0, min(start, (len(here) - 1) // SHOWN * SHOWN))
        shown = here[start : start + SHOWN]
        training = {(one.query_id, one.doc_id): one for one in desk.assignments.training()}
        rows = _rows(pairs, judges, shown, decided, training)
        return Review(
            rows,
            start,
            len(here),
            sum(one.ids not in decided for one in here),
            queries,
            tuple(person.name for person in pairs.people()),
            max(desk.config.grades) - min(desk.config.grades),
            problems,
            sum(pairs.history.values()),
        )


def decide(
    desk: Desk,
    token: str | None,
    query_id: str,
    doc_id: str,
    shown_sha: str,
    relevance: int | None,
    comment: str | None,
    nonce: str,
    seen: int | None = None,
) -> Submitted:
    """Keeps a lead's grade of a pair, None for one that nobody can judge, as a label of ``adjudicated``; a
    later one replaces it. ``shown_sha`` and ``seen`` are the ``content_sha`` and ``last_seq`` of the pair as
    the lead was shown it; the same nonce writes once.

    Raises SignedOutError, ForbiddenError, AnswerError for a grade off the scale, ConflictError where the pair
    is gone from the pool or changed, or was decided meanwhile. Nothing is written then.
    """
    if relevance is not None and (type(relevance) is not int or relevance not in desk.config.grades):
        grades = ", ".join(map(str, sorted(desk.config.grades)))
        raise AnswerError(f"the grade {str(relevance)[:20]} is not of the scale {grades}; choose one of them")
    status = State.unsure if relevance is None else State.ok
    return _write(desk, token, (query_id, doc_id), shown_sha, status, relevance, comment, nonce, seen)


def take_back(
    desk: Desk, token: str | None, query_id: str, doc_id: str, shown_sha: str, nonce: str, seen: int
) -> Submitted:
    """Takes the decision ``seen`` back: the pair is not decided any more. Raises as ``decide`` does."""
    return _write(desk, token, (query_id, doc_id), shown_sha, State.retracted, None, None, nonce, seen)


def _write(
    desk: Desk,
    token: str | None,
    ids: Ids,
    shown_sha: str,
    status: State,
    relevance: int | None,
    comment: str | None,
    nonce: str,
    seen: int | None,
) -> Submitted:
    lead = desk.person(token, "lead")
    if not isinstance(nonce, str) or not 0 < len(nonce) <= _LONGEST_NONCE:
        raise AnswerError("a decision needs a nonce of 1 to 64 characters; load the page again")
    comment = clean_comment(comment)
    if label_sha(shown_now(desk, *ids)) != shown_sha:
        raise ConflictError("changed", f"{ids[0]} {ids[1]} has another text now; look at it again")
    label = Label(
        collection=desk.config.name,
        labeler_id=ADJUDICATED,
        kind="assessor",
        version=desk.version,
        query_id=ids[0],
        doc_id=ids[1],
        content_sha=shown_sha,
        status=status,
        relevance=relevance,
        phase="final",
        rationale=comment,
        extra={"by": lead.name},
        nonce=nonce,
    )
    return append_once(desk.store, label, seen)


def clean_comment(comment: str | None) -> str | None:
    """A comment without the space around it, None for an empty one; AnswerError for one that is too long."""
    comment = (comment or "").strip()
    if len(comment) > LONGEST_COMMENT:
        raise AnswerError(f"the comment has more than {LONGEST_COMMENT:,} characters; shorten it")
    return comment or None


def shown_now(desk: Desk, query_id: str, doc_id: str) -> Pair:
    """A pair as people are shown it now; ConflictError where the pool has none such."""
    found = desk.pair(query_id, doc_id)
    if found is None:
        raise ConflictError("gone", f"the pool has no pair {quoted(query_id)} {quoted(doc_id)} any more; go on")
    return found


class _Found(NamedTuple):
    ids: Ids
    gap: int
    split: bool
    labels: int

    @property
    def rank(self) -> tuple[int, bool, int, str]:
        return (-self.gap, not self.split, -self.labels, self.ids[1])


def _looked_at(ids: Ids, opinions: Sequence[Opinion], judged: Sequence[Graded], wanted: Filter) -> _Found | None:
    """A pair that passes the filter but for its query and its decision."""
    told = [opinion.label for opinion in opinions if opinion.label.status in (State.ok, State.unsure)]
    if wanted.assessor is not None and all(
        opinion.labeler.name != wanted.assessor or opinion.label not in told for opinion in opinions
    ):
        return None
    grades = [label.relevance for label in told if label.relevance is not None]
    cannot = len(told) - len(grades)
    grades += [graded.relevance for graded in judged if graded.relevance is not None]
    gap = max(grades) - min(grades) if grades else 0
    split = bool(cannot and grades)
    labels = len(grades) + cannot
    # What one can grade and another cannot is a dispute too, if one without a width.
    enough = gap >= wanted.gap or (split and wanted.gap <= 1)
    return _Found(ids, gap, split, labels) if labels > 1 and enough else None


def _in_order(found: Iterable[_Found]) -> list[_Found]:
    by_query: dict[str, list[_Found]] = {}
    for one in found:
        by_query.setdefault(one.ids[0], []).append(one)
    order = sorted(
        by_query, key=lambda query_id: (-max(one.gap for one in by_query[query_id]), -len(by_query[query_id]), query_id)
    )
    return [one for query_id in order for one in sorted(by_query[query_id], key=lambda one: one.rank)]


def _queries(found: Sequence[_Found], decided: Mapping[Ids, Decision], pairs: PeoplesPairs) -> tuple[QueryCount, ...]:
    by_query: dict[str, list[_Found]] = {}
    for one in _in_order(found):
        by_query.setdefault(one.ids[0], []).append(one)
    counted = []
    for query_id, theirs in by_query.items():
        open_ = sum(one.ids not in decided for one in theirs)
        pair = pairs.pair(*theirs[0].ids)
        counted.append(QueryCount(query_id, pair.query if pair else "", len(theirs), open_, theirs[0].gap))
    return tuple(counted)


def _decisions(pairs: PeoplesPairs) -> dict[Ids, Decision]:
    """The decision on each pair that has one now."""
    found = {}
    for ids, last in pairs.told.counting.get(ADJUDICATED, {}).items():
        if ids in pairs.opinions and last.status in (State.ok, State.unsure):
            found[ids] = Decision(last.seq, last.relevance, _text(last, "by") or "", None)
    return found


def _judged(pairs: PeoplesPairs, judges: Sequence[Labeler]) -> dict[Ids, list[Graded]]:
    found: dict[Ids, list[Graded]] = {}
    for some in pairs.pairs():
        for judge in judges:
            for graded in judge.graded(some):
                found.setdefault((graded.query_id, graded.doc_id), []).append(graded)
    return found


def _rows(
    pairs: PeoplesPairs,
    judges: Sequence[Labeler],
    shown: Sequence[_Found],
    decided: Mapping[Ids, Decision],
    training: Mapping[Ids, Training],
) -> tuple[Disputed, ...]:
    """The pairs with everything that a lead is shown of them."""
    store, collection = pairs.store, pairs.config.name
    query_ids = list(dict.fromkeys(one.ids[0] for one in shown))
    second: dict[tuple[str, Ids], list[CurrentLabel]] = {}
    for person in pairs.people():
        for row in store.current(collection, person.name, person.version, query_ids, ("revealed",)):
            second.setdefault((person.name, (row.query_id, row.doc_id)), []).append(row)
    of_judges = _judges_labels(pairs, judges, [one.ids for one in shown])
    here = [*(row.seq for rows in second.values() for row in rows)]
    for one in shown:
        here += [opinion.label.seq for opinion in pairs.opinions[one.ids]]
        here += [decided[one.ids].seq] if one.ids in decided else []
    notes = rationales_of(store, here)
    made = []
    for one in shown:
        pair = pairs.pair(*one.ids)
        assert pair is not None  # opinions are of pairs of the same frame
        people = tuple(
            _persons_label(
                opinion, _newest(opinion.labeler, pair, second.get((opinion.labeler.name, one.ids), ())), notes
            )
            for opinion in pairs.opinions[one.ids]
        )
        decision = decided.get(one.ids)
        made.append(
            Disputed(
                *one.ids,
                pair.query,
                pair.narrative,
                pair.text,
                label_sha(pair),
                one.gap,
                one.split,
                people,
                tuple(of_judges[one.ids]),
                None if decision is None else replace(decision, comment=notes.get(decision.seq)),
                last_seq(store, collection, ADJUDICATED, *one.ids),
                training.get(one.ids),
            )
        )
    return tuple(made)


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
    """What the judges say of some pairs, with their reasons."""
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
    """Reasons and thoughts of the labels that a judge's grades are made of, by sample; none of what is computed or
    filed."""
    if not isinstance(judge, StoredLabeler):
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
