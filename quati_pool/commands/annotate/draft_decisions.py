"""What people made of the drafts of programs: how many they accepted as they were, edited or refused, by model.

Shares have Wilson's intervals for clustered units (``stats.shares``); the clusters are the sources, as drafts from one
passage, text, cluster of constraints or combination of a taxonomy are alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

import numpy as np

from quati_pool.annotation.authoring.base import DRAFT_ROUND
from quati_pool.annotation.authoring.pira import DERIVED
from quati_pool.commands.annotate.authoring.estimate import Estimate, share_of
from quati_pool.commands.annotate.authoring.records import Records
from quati_pool.commands.annotate.drafter_names import drafter_names
from quati_pool.store.authoring_records import DRAFT, Item, counting
from quati_pool.store.database import Store
from quati_pool.store.questions import Questions
from quati_pool.store.records import QuestionEvent

QUESTION, DERIVED_TEXT = "question", "derived"
"""What is drafted: questions of the collection; paraphrases and translations that derive from them."""

Fate = Literal["waiting", "accepted", "edited", "refused"]

_ONE_SOURCE = "the drafts are of one source"


class Decided(NamedTuple):
    """What became of one draft. Drafts of one ``source`` are alike; ``reason`` is that of a refusal."""

    model: str
    what: str
    source: Hashable
    fate: Fate
    reason: str | None = None


class Drafts(NamedTuple):
    """What became of the drafts of one model: waiting, accepted as they were, edited, refused by reason; and the share
    accepted, edited or not, of those decided."""

    model: str
    what: str
    waiting: int
    accepted: int
    edited: int
    refused: Mapping[str, int]
    share: Estimate

    @property
    def proposed(self) -> int:
        """How many people were or are to decide on."""
        return self.waiting + self.decided

    @property
    def decided(self) -> int:
        return self.accepted + self.edited + sum(self.refused.values())


def drafts_of_rounds(records: Records) -> list[Drafts]:
    """The drafts of a collection's rounds: its questions, and what was derived from them."""
    return by_model(_of_rounds(records))


def drafts_of_questions(store: Store, questions: Questions) -> list[Drafts]:
    """The drafts among a collection's questions that are not written in rounds."""
    histories = questions.histories_of_drafts()
    names = drafter_names(store, {version for first, *_ in histories.values() if (version := first.drafted_by)})
    return by_model(_decided(events, names) for events in histories.values())


def by_model(decided: Iterable[Decided]) -> list[Drafts]:
    """A row for each model and what it drafted, in the order of their names."""
    rows: dict[tuple[str, str], list[Decided]] = {}
    for one in decided:
        rows.setdefault((one.model, one.what), []).append(one)
    found = []
    # Questions come before what derives from them.
    for (model, what), drafts in sorted(rows.items(), key=lambda row: (row[0][0], row[0][1] != QUESTION)):
        fates = Counter(one.fate for one in drafts)
        over = [one for one in drafts if one.fate != "waiting"]
        codes: dict[Hashable, int] = {}
        sources = np.array([codes.setdefault(one.source, len(codes)) for one in over], dtype=np.int64)
        share = share_of([one.fate != "refused" for one in over], sources, _ONE_SOURCE)
        refused = Counter(str(one.reason) for one in drafts if one.fate == "refused")
        found.append(Drafts(model, what, fates["waiting"], fates["accepted"], fates["edited"], dict(refused), share))
    return found


def _of_rounds(records: Records) -> Iterator[Decided]:
    changed = {one["item_id"]: bool(one["changed"]) for one in records.of(DERIVED)}
    for item in records.items.values():
        if item.drafted_by is None or item.kind not in (DERIVED, records.design.unit):
            continue
        model, source = records.drafters[item.drafted_by], records.root(item.item_id).item_id
        if item.kind == records.design.unit:
            yield Decided(model, QUESTION, source, *_fate_of_question(records, item))
        elif item.state == "open":
            yield Decided(model, DERIVED_TEXT, source, "waiting")
        elif item.item_id not in changed:
            yield Decided(model, DERIVED_TEXT, source, "refused", item.reason or "other")
        else:
            yield Decided(model, DERIVED_TEXT, source, "edited" if changed[item.item_id] else "accepted")


def _fate_of_question(records: Records, item: Item) -> tuple[Fate, str | None]:
    """By the decision on the draft; what later rounds make of the question does not matter."""
    entries = [one for one in counting(records.entries.get(item.item_id, ())) if one.round == DRAFT_ROUND]
    if not entries:
        return "waiting", None
    last = entries[-1]
    if last.action == "refused":
        return "refused", last.reason or "other"
    # A query of a cluster holds its draft next to its constraints.
    texts = item.content.get(DRAFT, item.content)
    same = all(last.content.get(name) == text for name, text in texts.items() if isinstance(text, str))
    return "accepted" if same else "edited", None


def _decided(events: list[QuestionEvent], names: Mapping[str, str]) -> Decided:
    """By the last event: an accepted text that is not the draft's was edited."""
    first, last = events[0], events[-1]
    source = first.doc_id or (first.theme, first.scope, first.type)
    model = names[str(first.drafted_by)]
    if last.action == "accepted":
        return Decided(model, QUESTION, source, "accepted" if last.query == first.query else "edited")
    if last.action in ("proposed", "revised", "sent_back"):
        return Decided(model, QUESTION, source, "waiting")
    return Decided(model, QUESTION, source, "refused", last.action)
