"""What leads do on the team page: people and their access codes, designs, and pairs with a known grade. Only leads may;
``assessors``, ``assign`` and ``training_file`` do the work, as for the command line."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from quati_pool.annotation.sampling import Stratum
from quati_pool.commands.annotate import assessors
from quati_pool.commands.annotate.assessors import ListedAssessor
from quati_pool.commands.annotate.assigning.assign import AssignReport, assign_pairs
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.assigning.training_file import TrainingReport, add_pairs
from quati_pool.commands.annotate.errors import AnswerError
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.store.errors import ConflictError
from quati_pool.store.listing import slot_counts_by_design
from quati_pool.store.records import Method, Role

LONGEST_PASTE = 200_000
"""Characters: some thousand pairs with their explanations."""

_BY_GRADE = "grade="


class PastedRowsError(QuatiPoolError):
    """A fault in rows that a lead pasted; nothing was added. ``line`` counts from 1, and is None for a fault of no
    single line; ``problem`` is the message without it."""

    def __init__(self, line: int | None, problem: str) -> None:
        self.line = line
        self.problem = problem
        super().__init__(problem if line is None else f"line {line}: {problem}")


@dataclass(frozen=True, kw_only=True)
class ListedDesign:
    """A design: ``pairs`` were chosen, by ``method``; of the slots that it created ``open`` and ``done`` are in these
    states. ``to`` are the people who grade its pairs, empty for anybody. ``judge`` is the one whose grades define its
    strata, None if there is none."""

    design_id: int
    method: Method
    created_at: datetime
    seed: int
    pairs: int
    open: int
    done: int
    overlap: int | None
    load: int | None
    to: Sequence[str]
    judge: str | None


class DesignChoices(NamedTuple):
    """What a design can be made from: the pool's size, its queries as (query_id, text), the judges, and the names of
    the people who have a code. ``seed`` is the workspace's."""

    pairs: int
    queries: list[tuple[str, str]]
    judges: list[str]
    people: list[str]
    seed: int


class ShownStratum(NamedTuple):
    """A stratum as a lead sees it, with the lowest and the highest inclusion probability of its pairs."""

    name: str
    pairs: int
    selected: int
    lowest: float
    highest: float


# People


def people(session: AnnotationSession, token: str | None) -> list[ListedAssessor]:
    """Everybody who has or had a code, or whose labels were imported, sorted by name.

    Raises SignedOutError, and ForbiddenError for anybody but a lead.
    """
    session.person(token, "lead")
    return assessors.list_people(session.config, session.store)


def add_person(session: AnnotationSession, token: str | None, name: str, role: Role) -> str:
    """Gives somebody a code who has none; returns it. It is stored nowhere, and cannot be shown again.

    Raises SignedOutError, ForbiddenError for anybody but a lead, QuatiPoolError for a name that is invalid or taken.
    """
    session.person(token, "lead")
    if role not in ("assessor", "lead"):
        raise AnswerError(f"there is no role {str(role)[:40]!r}; choose assessor or lead")
    known = session.people.named(unicodedata.normalize("NFC", name))
    if known is not None and known.revoked_at is None:
        raise AnswerError(
            f"{known.name} has a code already; give them another one, or choose another name", "name_taken"
        )
    return assessors.add_person(session.config, session.store, name, role)


def new_code(session: AnnotationSession, token: str | None, name: str, seen: str) -> str:
    """Gives somebody another code in place of the one with the handle ``seen``, valid or revoked, and ends their
    sign-ins; returns it.

    Raises SignedOutError, ForbiddenError for anybody but a lead, AnswerError for the lead's own code, ConflictError if
    the person has got another code since.
    """
    with session.store.lock(_lock(session), _silent):
        if session.person(token, "lead").name == name:
            raise AnswerError("a new code would end your own sign-in; ask another lead for it", "own_code")
        code = assessors.replace_code(session.config, session.store, name, seen)
    if code is None:
        raise ConflictError("changed", f"{name} has got another code meanwhile; look at the list again")
    return code


def revoke(session: AnnotationSession, token: str | None, name: str, *, release: bool = False) -> int:
    """Revokes somebody's code, as ``assessors.revoke_code`` does; returns how many pairs ``release`` opened to all.

    Raises SignedOutError, ForbiddenError for anybody but a lead, AnswerError if that is the only lead, QuatiPoolError
    if nobody of that name has a code.
    """
    # Two leads who revoke each other at once would leave none: the second one has no sign-in any more.
    with session.store.lock(_lock(session), _silent):
        lead = session.person(token, "lead")
        leads = [one.name for one in session.people.all() if one.role == "lead" and one.revoked_at is None]
        if leads == [lead.name] == [name]:
            raise AnswerError("you are the only lead; make somebody else a lead first", "last_lead")
        return assessors.revoke_code(session.config, session.store, name, release=release)


def _lock(session: AnnotationSession) -> str:
    return f"{session.config.name} people"


def _silent(_: str) -> None:
    """A page has nowhere to say that it waits for a lock."""


# Designs


def designs(session: AnnotationSession, token: str | None) -> list[ListedDesign]:
    """The designs that assign pairs to people for the first time, newest first.

    Raises SignedOutError, and ForbiddenError for anybody but a lead.
    """
    session.person(token, "lead")
    slots = slot_counts_by_design(session.store, session.config.name)
    found = []
    for one in reversed(session.designs.all()):
        if one.method == "repeats":
            continue
        assert one.design_id is not None
        assert one.created_at is not None
        states, parameters = slots.get(one.design_id, {}), one.parameters
        found.append(
            ListedDesign(
                design_id=one.design_id,
                method=one.method,
                created_at=one.created_at,
                seed=one.seed,
                pairs=sum(int(selected) for _, selected, _ in one.strata.values()),
                open=states.get("open", 0),
                done=states.get("done", 0),
                overlap=parameters.get("overlap"),
                load=parameters.get("load"),
                to=tuple(parameters.get("to") or ()),
                judge=parameters.get("judge"),
            )
        )
    return found


def design_choices(session: AnnotationSession, token: str | None) -> DesignChoices:
    """What a new design can be made from.

    Raises SignedOutError, ForbiddenError for anybody but a lead, InputError if there is no pool.
    """
    session.person(token, "lead")
    pool = session.pool_view
    texts = pool.table["query"]
    return DesignChoices(
        len(pool),
        [(query_id, str(texts[pool.query(query_id).start])) for query_id in pool.query_ids],
        list(session.config.judges),
        [one.name for one in session.people.all() if one.revoked_at is None],
        session.config.seed,
    )


def preview_design(session: AnnotationSession, token: str | None, options: AssignOptions) -> AssignReport:
    """What ``create_design`` would do now; writes nothing. Raises the same errors."""
    session.person(token, "lead")
    return assign_pairs(session, replace(options, dry_run=True))


def create_design(session: AnnotationSession, token: str | None, options: AssignOptions) -> AssignReport:
    """Chooses pairs and assigns them, as ``assign_pairs`` does; the same options again add nothing.

    Raises SignedOutError, ForbiddenError for anybody but a lead, QuatiPoolError if the pairs cannot be chosen so.
    """
    session.person(token, "lead")
    return assign_pairs(session, replace(options, dry_run=False))


def shown_strata(strata: Sequence[Stratum]) -> list[ShownStratum]:
    """The strata as a lead sees them. Those by a judge's grade are summed over queries and systems: a stratum of few
    pairs would show the judge's grade of each, and leads decide without knowing it."""
    found: dict[str, ShownStratum] = {}
    for one in strata:
        name = next((part for part in one.name.split("|") if part.startswith(_BY_GRADE)), one.name)
        same = found.get(name, ShownStratum(name, 0, 0, one.inclusion, one.inclusion))
        found[name] = ShownStratum(
            name,
            same.pairs + one.pairs,
            same.selected + one.selected,
            min(same.lowest, one.inclusion),
            max(same.highest, one.inclusion),
        )
    return sorted(found.values())


# Pairs with a known grade


def known_pairs(session: AnnotationSession, token: str | None) -> tuple[int, int]:
    """The number of pairs to practise on, and of gold pairs.

    Raises SignedOutError, and ForbiddenError for anybody but a lead.
    """
    session.person(token, "lead")
    kinds = [one.gold for one in session.training.all()]
    return kinds.count(False), kinds.count(True)


def add_known_pairs(session: AnnotationSession, token: str | None, text: str, *, gold: bool) -> TrainingReport:
    """Adds pairs with a known grade, from rows of query_id, doc_id, relevance and explanation that are separated by
    tabs and need no header; gold pairs have no explanation. See ``add_pairs``.

    Raises SignedOutError, ForbiddenError for anybody but a lead, AnswerError if there are no rows or too many,
    PastedRowsError for a faulty row.
    """
    lead = session.person(token, "lead")
    if not text.strip():
        raise AnswerError("there are no rows; paste some", "rows_empty")
    if len(text) > LONGEST_PASTE:
        raise AnswerError(f"the rows have more than {LONGEST_PASTE:,} characters; paste fewer at once", "rows_long")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.tsv"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            return add_pairs(session, path, gold=gold, by=lead.name)
        except InputError as error:
            if error.path != str(path):
                raise
            raise PastedRowsError(error.line, error.message) from None
