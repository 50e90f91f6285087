"""The graded frame of a design that drew the pairs or queries that people grade."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quati_pool.annotation.presentation_order import query_places
from quati_pool.annotation.sampling import frame_sha, random_query_order
from quati_pool.errors import QuatiPoolError, TranslatableText
from quati_pool.labels.graded_frame import GradedFrame
from quati_pool.labels.peoples_grades import Pair, PeoplesGrades
from quati_pool.labels.sampling_frame import SamplingFrame
from quati_pool.records import Qrels
from quati_pool.text.pluralize import listed

# The store is imported only where it is read: label files do not need it.
if TYPE_CHECKING:
    from quati_pool.store.designs import Designs
    from quati_pool.store.records import Design, Selection

_METHODS = {
    "all": "all pairs",
    "random": "random pairs",
    "stratified": "stratified pairs",
    "random-queries": "random queries",
    "active": "pairs for {measure}",
}


def frame_of_design(people: PeoplesGrades, judge: Qrels, design: Design, designs: Designs) -> GradedFrame:
    """The frame of a stored design, with the current grades of ``people``.

    Raises QuatiPoolError for a design that is no random sample, whose pairs are no longer all in the pool, or of which
    too little is graded.
    """
    name = f"design {design.design_id}"
    queue = design.parameters.get("queue")
    if queue is not None:
        raise QuatiPoolError(
            f"{name} is the queue of {queue}: its pairs were chosen to find errors, and say nothing about others; "
            "run: quati-pool assign --random-queries N"
        )
    if not design.is_random:
        raise QuatiPoolError(
            f"{name} ({design.method}) was chosen, not drawn at random, and says nothing about other queries; "
            "run: quati-pool assign --random-queries N"
        )
    pool = people.pairs
    assert design.design_id is not None
    selected = designs.selections(design.design_id)
    awaited = people.awaited({(one.query_id, one.doc_id): one.replicates for one in selected})
    frame = SamplingFrame(_frame_pairs(design, designs, pool), people, judge, awaited)
    method = _METHODS[design.method].format(measure=design.parameters.get("measure"))
    if design.method == "active" and "by" in design.parameters:
        judges = design.parameters.get("judges") or [design.parameters["judge"]]
        method += f" by {design.parameters['by']} of {listed(list(judges))}"
    words = f"{name} ({method}, seed {design.seed})"
    if len(frame.pairs) < len(pool):
        words += f", from the {len(frame.pairs):,} pairs that the pool had then"
    if design.method == "all":
        return frame.of_census(words)
    if design.method == "random-queries":
        return frame.of_queries(*_queries_in_order(design, designs, selected), words)
    return frame.of_pairs(
        {(one.query_id, one.doc_id): (one.stratum, one.inclusion) for one in selected},
        {stratum: int(counts[0]) for stratum, counts in design.strata.items()},
        words,
        list(query_places(design.seed, frame.query_ids.values.to_pylist())),
        poisson=design.poisson,
    )


def _frame_pairs(design: Design, designs: Designs, pool: Sequence[Pair]) -> list[Pair]:
    assert design.design_id is not None
    stored = designs.frame(design.design_id)
    if stored is None:
        if frame_sha(*zip(*pool, strict=True)) != design.frame_sha:
            text = (
                f"the pool has changed since design {design.design_id} was drawn, and what it was drawn from is not "
                "stored; draw a new design"
            )
            raise QuatiPoolError(TranslatableText(text, "pool_changed", design=str(design.design_id)))
        return list(pool)
    frame = [(one.query_id, one.doc_id) for one in stored]
    gone = set(frame).difference(pool)
    if gone:
        text = (
            f"{len(gone):,} of the {len(frame):,} pairs that design {design.design_id} was drawn from are no longer in "
            "the pool; build the pool that it was drawn from, or draw a new design"
        )
        raise QuatiPoolError(TranslatableText(text, "pool_changed", design=str(design.design_id)))
    return frame


def _queries_in_order(
    design: Design, designs: Designs, selected: Sequence[Selection]
) -> tuple[list[str], dict[str, str]]:
    """The drawn queries of a design in its random order, and the stratum of every query of the frame."""
    assert design.design_id is not None
    drawn = {one.query_id for one in selected}
    strata = {one.query_id: one.stratum for one in designs.frame(design.design_id) or ()}
    return [query_id for query_id in random_query_order(strata, design.seed) if query_id in drawn], strata
