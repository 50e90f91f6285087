"""``quati-pool assign --withdraw``: takes back what of a design is not done yet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from quati_pool.commands.annotate.errors import AnswerError
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.project.events import Listener
from quati_pool.store.listing import slot_counts_by_design
from quati_pool.text.pluralize import first_of


@dataclass(frozen=True)
class WithdrawReport:
    """How many open slots of a design were withdrawn, or would be in a dry run, and how many stay because they are
    done."""

    design_id: int
    withdrawn: int
    done: int
    dry_run: bool


def withdraw(
    config_path: Path,
    design_id: int,
    *,
    dry_run: bool = False,
    database: str | None = None,
    listener: Listener | None = None,
) -> WithdrawReport:
    """``withdraw_design`` in the workspace of a pool.yaml."""
    with AnnotationSession.open(config_path, database, (listener or Listener()).say) as session:
        return withdraw_design(session, design_id, dry_run=dry_run)


def withdraw_design(session: AnnotationSession, design_id: int, *, dry_run: bool = False) -> WithdrawReport:
    """Withdraws the open slots of a design, also those that somebody holds; its done slots and all labels stay.

    Raises AnswerError if no such design assigns pairs to people.
    """
    known = [str(one.design_id) for one in session.designs.all() if one.method != "repeats"]
    if str(design_id) not in known:
        hint = f"there are: {first_of(known)}" if known else "there is none yet"
        raise AnswerError(f"there is no design {design_id}; {hint}")
    states = slot_counts_by_design(session.store, session.config.name).get(design_id, {})
    withdrawn = states.get("open", 0) if dry_run else session.assignments.withdraw_design(design_id)
    return WithdrawReport(design_id, withdrawn, states.get("done", 0), dry_run)
