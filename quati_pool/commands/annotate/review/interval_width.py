"""How wide the intervals of estimates under people's grades are so far, and what further grades would bring."""

from __future__ import annotations

from dataclasses import dataclass

from quati_pool.commands.annotate.review.annotated_pairs import PeoplesPairs
from quati_pool.commands.annotate.review.background import for_pages
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.estimates.designs import answered_designs, begun_design, drawn_designs
from quati_pool.errors import QuatiPoolError, message_of
from quati_pool.estimation.results import Drawn, Unit
from quati_pool.store.records import Design

_SHARE = 4
"""Where all that was drawn is graded, the outlook is for this part of it more: a quarter."""


@dataclass(frozen=True)
class IntervalWidth:
    """The mean half-width of the systems' intervals by ``measure``, from ``graded`` queries or pairs of a random
    design, and ``later``, what it will be with ``more`` of them; ``more`` is 0 if all were graded.

    ``half_width`` is None while nothing can be estimated: then ``missing`` counts the queries that the first interval
    needs, or ``problem`` says what else is lacking.
    """

    unit: Unit
    measure: str = ""
    graded: int = 0
    half_width: float | None = None
    more: int = 0
    later: float | None = None
    missing: int = 0
    problem: str | None = None


def interval_width(session: AnnotationSession, pairs: PeoplesPairs) -> IntervalWidth | None:
    """The width for the latest design of random queries or pairs that people have begun, or else the latest one; None
    if there is no such design."""
    design = _design(session, pairs)
    if design is None:
        return None
    # Evaluation takes a second to load, and is needed only where somebody drew a sample.
    from quati_pool.commands.estimates.estimate import estimate
    from quati_pool.commands.estimates.frame_estimator import TooFewQueriesError
    from quati_pool.commands.estimates.settings import EstimateSettings
    from quati_pool.estimation.planning import projected_half_width
    from quati_pool.stats.sample_sizes import FEWEST_QUERIES

    unit: Unit = "queries" if design.method == "random-queries" else "pairs"
    settings = EstimateSettings(design=design.design_id)
    try:
        report = estimate(session.config.path, settings, store=session.store)
    except QuatiPoolError as error:
        if unit == "queries" and isinstance(error, TooFewQueriesError):
            return IntervalWidth(unit, graded=error.queries, missing=FEWEST_QUERIES - error.queries)
        return IntervalWidth(unit, problem=for_pages(message_of(error)))
    [found], drawn = report.estimates, report.drawn
    more = _more(drawn)
    return IntervalWidth(
        drawn.unit,
        found.measure,
        drawn.labelled if drawn.unit == "queries" else drawn.labels,
        projected_half_width(found, drawn, 0),
        more,
        projected_half_width(found, drawn, more) if more else None,
    )


def _design(session: AnnotationSession, pairs: PeoplesPairs) -> Design | None:
    drawn = drawn_designs(session.designs)
    if not drawn:
        return None
    answered = answered_designs(session.store, session.config.name)
    return begun_design(drawn[::-1], session.designs, answered, pairs.opinions)


def _more(drawn: Drawn) -> int:
    """The number of queries that were drawn and are not finished; if there is none, a part of what was graded."""
    if drawn.unit == "pairs":
        return min(-(-drawn.labels // _SHARE), drawn.pairs - drawn.labels)
    waiting = sum(drawn.left_out.values())
    return min(waiting or -(-drawn.labelled // _SHARE), drawn.queries - drawn.labelled)
