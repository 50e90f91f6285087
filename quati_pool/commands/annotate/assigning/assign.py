"""``quati-pool assign``: which pairs people grade, how many people grade each, and who.

A design records how pairs were chosen and with what probability; slots record who grades them. A pair that was
assigned before keeps its slots, which count towards the overlap of a later design, so a larger sample with the same
seed adds only the pairs that the smaller one lacks.

Each design has its own inclusion probabilities. An estimate uses all pairs that one design selected, with people's
labels of them, no matter which design assigned them; the union of several designs has no recorded probability.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path
from typing import Any

from quati_pool.annotation.errors import DesignError
from quati_pool.annotation.sampling import Sample, Stratum, frame_sha
from quati_pool.commands.annotate.annotation_pair import Ids
from quati_pool.commands.annotate.assigning.options import MOST_OVERLAP, AssignOptions
from quati_pool.commands.annotate.assigning.pair_sampling import PairSampling
from quati_pool.commands.annotate.assigning.slot_allocation import SlotAllocation
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import QuatiPoolError, TranslatableText
from quati_pool.files.problems import quoted
from quati_pool.project.events import Listener
from quati_pool.project.pool_reader import require_texts
from quati_pool.registry import nearest
from quati_pool.store.records import Design, FramePair, NewSlot, Selection
from quati_pool.text.pluralize import counted


@dataclass(frozen=True, eq=False)
class AssignReport:
    """The chosen pairs, and how many of them are new. ``measure`` is that of pairs for a measure, ``by`` what their
    weights are multiplied by; ``queue`` is the one that pairs for finding errors are of. ``frame_sha`` and
    ``frame_pairs`` describe the sampling frame, the pool. ``design_id`` is None if nothing was written; ``known`` is
    the id of an identical existing design. ``people`` counts the new slots by holder, open ones under None. ``queries``
    is only filled if whole queries were drawn: by stratum, their number in the pool and of those drawn."""

    method: str
    seed: int
    frame_sha: str
    frame_pairs: int
    sample: Sample
    overlap: int
    load: int | None
    design_id: int | None = None
    known: int | None = None
    added_pairs: int = 0
    people: Mapping[str | None, int] = field(default_factory=dict)
    dry_run: bool = False
    notes: Sequence[str] = ()
    queries: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    measure: str | None = None
    by: str | None = None
    queue: str | None = None

    @property
    def added_slots(self) -> int:
        return sum(self.people.values())

    @property
    def strata(self) -> Sequence[Stratum]:
        return self.sample.strata


def assign(
    config_path: Path, options: AssignOptions, database: str | None = None, listener: Listener | None = None
) -> AssignReport:
    """``assign_pairs`` in the workspace of a pool.yaml."""
    say = (listener or Listener()).say
    with AnnotationSession.open(config_path, database, say) as session:
        return assign_pairs(session, options, say)


def assign_pairs(
    session: AnnotationSession, options: AssignOptions, say: Callable[[str], None] = lambda _: None
) -> AssignReport:
    """Chooses pairs of the pool and creates slots for them, all or nothing; a design that exists adds no new one.

    Raises QuatiPoolError if the pairs cannot be chosen as requested, or none of them has a text.
    """
    options.check()
    if options.overlap > MOST_OVERLAP:
        raise DesignError(f"an overlap of {options.overlap:,} is too large; ask for at most {MOST_OVERLAP}")
    require_texts(session.config)
    seed = session.config.seed if options.seed is None else options.seed
    sampling = PairSampling(session, options, seed)
    present = {person.name for person in session.people.all() if person.revoked_at is None}
    _check_people(options.to, present)
    # Two processes at once would both find the same pairs without a slot.
    with session.store.lock(f"{session.config.name} assign", say):
        return _create(session, options, seed, sampling, present)


def _check_people(names: Sequence[str], present: set[str]) -> None:
    for name in names:
        if name not in present:
            hint = nearest(name, present) if present else f"run: quati-pool assessors add {name}"
            raise QuatiPoolError(f"nobody called {quoted(name)} has an access code; {hint}")


def _create(
    session: AnnotationSession, options: AssignOptions, seed: int, sampling: PairSampling, present: set[str]
) -> AssignReport:
    method, sample = sampling.sample()
    design = Design(
        method=method,
        seed=seed,
        frame_sha=frame_sha(sampling.query_ids, sampling.doc_ids),
        frame_pairs=len(sampling.query_ids),
        strata={one.name: [one.pairs, one.selected, one.inclusion] for one in sample.strata},
        parameters={"overlap": options.overlap, "load": options.load, "to": sorted(options.to), **sampling.parameters},
    )
    report: dict[str, Any] = {
        "method": method,
        "seed": seed,
        "frame_sha": design.frame_sha,
        "frame_pairs": design.frame_pairs,
        "sample": sample,
        "overlap": options.overlap,
        "load": options.load,
        "dry_run": options.dry_run,
        "queries": sampling.queries,
        "measure": sampling.parameters.get("measure"),
        "by": sampling.parameters.get("by") if method == "active" else None,
        "queue": sampling.parameters.get("queue"),
    }
    pairs = [(sampling.query_ids[row], sampling.doc_ids[row]) for row in sample.rows.tolist()]
    selections = [
        Selection(*pair, stratum, inclusion, options.overlap)
        for pair, stratum, inclusion in zip(pairs, sample.names(), sample.inclusion.tolist(), strict=True)
    ]
    known = _known(session, design, selections)
    allocation = SlotAllocation(session, options, seed)
    slots = allocation.new_slots(pairs, sampling.order)
    if known is not None and not slots:
        return AssignReport(**report, known=known, notes=sampling.notes)
    # A known design lacks slots if some were withdrawn while their pairs were not in the pool.
    notes = [*sampling.notes, *_training_notes(session, pairs), *_waiting_notes(options, slots, len(present))]
    if sampling.order is not None:
        notes += _order_notes(session, allocation, pairs)
    people = Counter(slot.holder for slot in slots)
    report |= {
        "people": dict(sorted(people.items(), key=lambda one: one[0] or "")),
        "added_pairs": len({(slot.query_id, slot.doc_id) for slot in slots}),
        "notes": notes,
    }
    if options.dry_run or not len(sample):
        return AssignReport(**report)
    frame = _frame(sampling, sample) if design.is_random else ()
    return AssignReport(**report, design_id=session.designs.create(design, selections, slots, frame))


def _frame(sampling: PairSampling, sample: Sample) -> Iterator[FramePair]:
    columns = (sampling.query_ids, sampling.doc_ids, sample.frame_names(), sample.frame_inclusion.tolist())
    return map(FramePair._make, zip(*columns, strict=True))


def _training_notes(session: AnnotationSession, pairs: Sequence[Ids]) -> list[str]:
    both = set(pairs) & {(one.query_id, one.doc_id) for one in session.training.all() if not one.gold}
    if not both:
        return []
    text = f"{len(both):,} of the chosen pairs are training: people see the known grade before they grade"
    return [TranslatableText(text, "chosen_training", count=len(both))]


def _order_notes(session: AnnotationSession, allocation: SlotAllocation, pairs: Sequence[Ids]) -> list[str]:
    """A note if pairs of queries that are given out in a stored order wait in designs without one."""
    others = {one.design_id for one in session.designs.outlines() if not one.in_stored_order}
    waiting = allocation.waiting(pairs, others)
    if not waiting:
        return []
    text = f"{counted(waiting, 'chosen pair waits', 'chosen pairs wait')} in earlier designs, and may come late"
    return [TranslatableText(text, "chosen_waiting", count=waiting)]


def _waiting_notes(options: AssignOptions, slots: Sequence[NewSlot], present: int) -> list[str]:
    """Notes if the ``present`` people with a code are too few for the open slots."""
    free = sum(slot.holder is None for slot in slots)
    if not free or not present:
        return []
    if options.overlap > present:
        text = (
            f"each pair waits for {options.overlap:,} people, and {present:,} have a code; "
            "for more run: quati-pool assessors add"
        )
        return [TranslatableText(text, "few_people", overlap=options.overlap, count=present)]
    if options.load is not None and options.load * present < free:
        left = free - options.load * present
        text = (
            f"{present:,} people with at most {options.load:,} pairs each leave {left:,} of {free:,} slots; "
            "for more people run: quati-pool assessors add"
        )
        return [TranslatableText(text, "load_leaves", people=present, load=options.load, count=left)]
    return []


def _known(session: AnnotationSession, design: Design, selections: Sequence[Selection]) -> int | None:
    """The id of a design that was drawn in the same way and selected the same pairs; None if there is none."""
    for one in session.designs.all():
        if _same(one, design):
            assert one.design_id is not None
            # A judge who has graded more since draws other pairs with the same options.
            if _same_pairs(session.designs.selections(one.design_id), selections):
                return one.design_id
    return None


def _same(one: Design, other: Design) -> bool:
    def stored(design: Design) -> tuple[Any, ...]:
        strata = {name: [*values] for name, values in design.strata.items()}
        return (design.method, design.seed, design.frame_sha, design.frame_pairs, strata, dict(design.parameters))

    return stored(one) == stored(other)


def _same_pairs(some: Sequence[Selection], others: Sequence[Selection]) -> bool:
    inclusion = {(one.query_id, one.doc_id, one.stratum): one.inclusion for one in some}
    return len(some) == len(others) and all(
        isclose(inclusion.get((one.query_id, one.doc_id, one.stratum), -1.0), one.inclusion) for one in others
    )
