"""Reads a judge's stored answers again by the current rules, without any call."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quati_pool.judging.verdict import Reading, Verdict, judge_choice
from quati_pool.labels.labelers import SHOWN_CHARACTERS
from quati_pool.llm.thoughts import ANY, apart
from quati_pool.project.events import Listener
from quati_pool.records import State
from quati_pool.store.database import Store
from quati_pool.store.label_resolution import resolved
from quati_pool.store.records import COUNTING, CurrentLabel, Entry, Label
from quati_pool.store.rereading import OwnedLabel, Owner, StoredTry, followers, stored_tries, unread
from quati_pool.store.rows import KEY
from quati_pool.text.pluralize import counted

Key = tuple[str, str, str, int]
"""query_id, doc_id, content_sha and sample."""


@dataclass
class Rereading:
    """How grades changed when the answers were read again, counted per sample of a pair.

    ``changed`` has the new state and grade of each label that changed. ``doubtful`` has the cost in US dollars, None if
    unknown, of each answer that no longer gives a grade and may be asked for again.
    """

    as_before: int = 0
    in_doubt: int = 0
    graded: int = 0
    another_grade: int = 0
    doubtful: dict[Key, float | None] = field(default_factory=dict)
    changed: dict[Key, tuple[State, int | None]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return self.as_before + self.in_doubt + self.graded + self.another_grade

    @property
    def to_ask(self) -> int:
        return len(self.doubtful)

    @property
    def cost(self) -> float:
        """US dollars, for the doubtful answers whose cost is known."""
        return sum(cost for cost in self.doubtful.values() if cost is not None)

    @property
    def unknown_cost(self) -> int:
        return sum(cost is None for cost in self.doubtful.values())

    def words(self, judge: str) -> str:
        """A one-line summary; the cost of asking again is estimated by that of the doubtful answers."""
        parts = [
            f"{self.as_before:,} as before",
            f"{self.in_doubt:,} now in doubt",
            f"{self.graded:,} now graded",
            *([f"{self.another_grade:,} with another grade"] if self.another_grade else []),
        ]
        read = counted(self.total, "stored answer was", "stored answers were")
        line = f"{judge}: {read} read by newer rules: {', '.join(parts)}"
        if not self.to_ask:
            return line
        dollars = f"US$ {self.cost:.2f}" if self.cost >= 0.01 or not self.cost else f"US$ {self.cost:.4f}"
        they = "it" if self.to_ask == 1 else "they"
        if self.unknown_cost == self.to_ask:
            known = f"what {they} cost is not known"
        else:
            known = f"{they} cost {dollars}"
            known += f", and of {self.unknown_cost:,} the cost is not known" if self.unknown_cost else ""
        return f"{line}; asking again takes {counted(self.to_ask, 'call', 'calls')} at least ({known})"


def read_again(
    store: Store, owner: Owner, version: str, reading: Reading, listener: Listener, *, write: bool = True
) -> Rereading:
    """Reads the answers that a judge gave under ``version`` and that have not been read by ``reading`` yet.

    Every answer gets a label with its current verdict, as do the labels in other collections that share it. If
    interrupted, the next call continues; a call after a complete one finds nothing. With ``write`` False nothing is
    stored.
    """
    outcome = Rereading()
    sharing: Mapping[int, Sequence[OwnedLabel]] | None = None
    for part in unread(store, owner, version, reading.version):
        if sharing is None:
            sharing = followers(store, owner, version, reading.version)
        tries = stored_tries(store, {one.label.origin for one in part.waiting})
        verdicts = {origin: _verdict(made, reading) for origin, made in tries.items()}
        new = [
            _read(one, verdicts[one.label.origin], version, reading)
            for one in part.waiting
            if one.label.origin in verdicts
        ]
        following = [
            _read(other, verdicts[one.label.origin], version, reading)
            for one in part.waiting
            if one.label.origin in verdicts and one.label.shared_from is None
            for other in sharing.get(one.label.origin, ())
        ]
        _count(outcome, [one.label for one in part.labels], new, tries)
        if write and new:
            store.append([Entry(label=label) for label in (*new, *following)])
        listener.progress(f"{owner.labeler_id}: reading stored answers", part.done, part.queries, unit="queries")
    return outcome


def _verdict(tries: Sequence[StoredTry], reading: Reading) -> Verdict:
    """The verdict of an answer by ``reading``: of its last attempt that gives a grade, or else of its last attempt."""
    return _deciding(tries, reading)[1]


def _deciding(tries: Sequence[StoredTry], reading: Reading) -> tuple[StoredTry, Verdict]:
    read = [(made, _read_try(made, reading)) for made in tries]
    return next((one for one in reversed(read) if one[1].status is State.ok), read[-1])


def shareable(
    store: Store, version: str, contents: Collection[str], reading: Reading | None
) -> dict[tuple[str, int], CurrentLabel]:
    """The grades by this version of a judge, in any collection, of texts with these content_shas, by (content_sha,
    sample). Those that were read by other rules than ``reading`` are as it reads them."""
    found = store.shareable(version, list(contents))
    if reading is None:
        return found
    otherwise = {key: label for key, label in found.items() if label.reading != reading.version}
    tries = stored_tries(store, {label.origin for label in otherwise.values()})
    for key, label in otherwise.items():
        verdict = _verdict(tries[label.origin], reading) if label.origin in tries else None
        if verdict is None or verdict.status is not State.ok:
            del found[key]
        else:
            found[key] = label._replace(relevance=verdict.relevance, extra=_details_after(label, verdict))
    return found


def thoughts_behind(store: Store, labels: Sequence[CurrentLabel], reading: Reading | None) -> dict[int, str]:
    """The model's thoughts behind the answers of these labels, by the labels' seqs; ``reading`` is the judge's, None if
    unknown."""
    stored = stored_tries(store, {label.origin for label in labels})
    marks = ANY if reading is None else reading.thoughts
    found = {}
    for label in labels:
        tries = stored.get(label.origin)
        if not tries:
            continue
        if label.rereads is not None and reading is not None and label.reading == reading.version:
            made = _deciding(tries, reading)[0]
        else:
            made = next((one for one in reversed(tries) if one.status is State.ok), tries[-1])
        _, thoughts = apart(made.answer, made.thoughts, marks)
        if thoughts is not None:
            found[label.seq] = thoughts
    return found


def _details_after(former: CurrentLabel, verdict: Verdict) -> dict[str, Any]:
    """The ``extra`` of a label whose answer now gives ``verdict``. Details of a different grade are dropped, since
    log-probabilities, from which they came, are not stored."""
    same = verdict.relevance == former.relevance
    details = {name: value for name, value in former.extra.items() if same or name == SHOWN_CHARACTERS}
    details.pop("aspects", None)
    return {**details, "aspects": dict(verdict.aspects)} if verdict.aspects else details


def _read_try(made: StoredTry, reading: Reading) -> Verdict:
    # The stored answer of such an attempt is the text of a refusal, or nothing.
    if made.status in (State.refused, State.failed):
        return Verdict(made.status, problem=made.problem)
    return judge_choice(made.answer, None, made.finish_reason, reading)


def _read(one: OwnedLabel, verdict: Verdict, version: str, reading: Reading) -> Label:
    former = one.label
    return Label(
        collection=one.owner.collection,
        labeler_id=one.owner.labeler_id,
        kind="judge",
        version=version,
        query_id=former.query_id,
        doc_id=former.doc_id,
        content_sha=former.content_sha,
        phase=former.phase,
        sample=former.sample,
        status=verdict.status,
        relevance=verdict.relevance,
        rationale=verdict.rationale or verdict.problem,
        shared_from=former.shared_from,
        extra=_details_after(former, verdict),
        reading=reading.version,
        rereads=former.answer,
    )


def _count(
    outcome: Rereading, labels: Sequence[CurrentLabel], new: Sequence[Label], tries: Mapping[int, Sequence[StoredTry]]
) -> None:
    """Compares the previous with the current label of each pair and sample; answers in audits are not counted."""
    after = resolved([*labels, *map(_current, new)], KEY)
    now = {KEY(row): row for row in after}
    touched = {label.rereads for label in new}
    for before in resolved(labels, KEY):
        row = now[KEY(before)]
        if before.phase not in COUNTING or (before.answer not in touched and row.answer not in touched):
            continue
        if (before.status is State.ok, before.relevance) == (row.status is State.ok, row.relevance):
            outcome.as_before += 1
            continue
        key = (row.query_id, row.doc_id, row.content_sha, row.sample)
        outcome.changed[key] = (row.status, row.relevance)
        if row.status is not State.ok:
            outcome.in_doubt += 1
            made = tries.get(row.origin)
            if row.shared_from is None and made:
                outcome.doubtful[key] = made[-1].cost
        elif before.status is not State.ok:
            outcome.graded += 1
        else:
            outcome.another_grade += 1


def _current(label: Label) -> CurrentLabel:
    return CurrentLabel(
        label.query_id, label.doc_id, label.content_sha, label.phase, label.sample, -1, label.status, label.relevance,
        label.shared_from, label.rereads, label.reading, label.extra,
    )  # fmt: skip
