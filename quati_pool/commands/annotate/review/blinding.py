"""What leads do not see of pairs that await a decision: names and grades of judges and systems.

A decision is to say what is true, so that judges can be measured against it; whoever knows their grades is led by
them. A lead may look nevertheless: that is recorded, and decisions made afterwards are marked.
"""

from __future__ import annotations

from collections.abc import Collection

from quati_pool.commands.annotate.annotation_pair import Ids
from quati_pool.commands.annotate.review.annotated_pairs import peoples_pairs
from quati_pool.commands.annotate.review.decisions import pooled_pair
from quati_pool.commands.annotate.review.disagreements import decisions_of, disputed
from quati_pool.commands.annotate.session import AnnotationSession


def blinded(session: AnnotationSession, token: str | None) -> frozenset[Ids]:
    """The undecided pairs that people disagree on or are still grading, but for those revealed to this lead.

    Raises SignedOutError, ForbiddenError for anybody but a lead, InputError if there is no pool.
    """
    lead = session.person(token, "lead")
    with session.store.snapshot():
        pairs = peoples_pairs(session)
        awaiting = (disputed(pairs) | session.assignments.open_pairs()) - decisions_of(pairs).keys()
        return frozenset(awaiting) - session.reveals.of(lead.name)


def reveal(session: AnnotationSession, token: str | None, query_id: str, doc_id: str) -> None:
    """Lets a lead see names and grades of judges and systems on a pair, and records that.

    Raises SignedOutError, ForbiddenError, and ConflictError for a pair that is not in the pool.
    """
    lead = session.person(token, "lead")
    pair = pooled_pair(session, query_id, doc_id)
    session.reveals.add(lead.name, [(pair.query_id, pair.doc_id)])


def shown(session: AnnotationSession, token: str | None, query_id: str, doc_ids: Collection[str]) -> None:
    """Records that a lead sees names and grades of judges and systems on these pairs of a query, which are not
    blinded: their decision may come, or change, later. Raises SignedOutError and ForbiddenError."""
    lead = session.person(token, "lead")
    known = session.reveals.of(lead.name, query_id)
    session.reveals.add(lead.name, [(query_id, doc_id) for doc_id in doc_ids if (query_id, doc_id) not in known])
