"""Comments that a lead typed on the review page and that are not stored with a decision yet. They are among the lead's
settings, so that they outlive a reload and a restart of the server."""

from __future__ import annotations

from quati_pool.commands.annotate.annotation_pair import Ids
from quati_pool.commands.annotate.review.decisions import clean_comment
from quati_pool.commands.annotate.session import AnnotationSession

MOST = 100
"""How many drafts of a lead are kept, the latest ones."""

_SETTING = "drafts"


def drafts(session: AnnotationSession, token: str | None) -> dict[Ids, str]:
    """This lead's drafts by pair, the oldest first. Raises SignedOutError and ForbiddenError."""
    lead = session.person(token, "lead")
    return {(query_id, doc_id): text for query_id, doc_id, text in lead.settings.get(_SETTING, ())}


def keep_draft(session: AnnotationSession, token: str | None, ids: Ids, comment: str | None) -> None:
    """Keeps a lead's comment on a pair as a draft; an empty one deletes it.

    Raises SignedOutError, ForbiddenError, and AnswerError if it is too long.
    """
    lead, comment = session.person(token, "lead"), clean_comment(comment)
    kept = drafts(session, token)
    if kept.pop(ids, None) == comment:
        return
    if comment:
        kept[ids] = comment
    session.people.set(lead.name, _SETTING, [[*ids, text] for ids, text in kept.items()][-MOST:] or None)
