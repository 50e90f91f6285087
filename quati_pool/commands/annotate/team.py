"""What leads do on the team page: people and their access codes, designs, and pairs with a known grade. Only leads may;
``assessors``, ``assign`` and ``training_file`` do the work, as for the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from quati_pool.annotation.sampling import Stratum, Values, systems_band
from quati_pool.commands.annotate import assessors
from quati_pool.commands.annotate.assessors import ListedAssessor
from quati_pool.commands.annotate.assigning import withdraw
from quati_pool.commands.annotate.assigning.assign import AssignReport, assign_pairs
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.assigning.training_file import TrainingReport, add_pairs
from quati_pool.commands.annotate.errors import AnswerError
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.estimates.settings import DEFAULT_MEASURE
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.estimation.pair_measures import parse_pair_measure
from quati_pool.project.inputs import strata_columns
from quati_pool.store.errors import ConflictError
from quati_pool.store.listing import slot_counts_by_design
from quati_pool.store.records import Method, Role

LONGEST_PASTE = 200_000
"""Characters: some thousand pairs with their explanations."""

_BY_GRADE = "grade="
_FIRST_OVERLAP = 10


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
    states. ``to`` are the people who grade its pairs, empty for anybody. ``judges`` are those whose grades define its
    strata or probabilities, or chose its pairs. ``measure`` is the one that its pairs were drawn for, and ``by`` what
    their weights were multiplied by; ``queue`` is the one that its pairs are of, for finding errors; ``strata`` is the
    column that stratifies its queries; each is None if there is none."""

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
    judges: Sequence[str]
    measure: str | None
    by: str | None
    queue: str | None
    strata: str | None


class DesignChoices(NamedTuple):
    """What a design can be made from: the pool's size, its queries as (query_id, text), the judges, and the names of
    the people who have a code. ``seed`` is the workspace's, ``strata`` the number of strata by query and systems,
    ``columns`` are those of the queries' file that can form strata of queries, ``measures`` those of the collection
    that pairs can be drawn for."""

    pairs: int
    queries: list[tuple[str, str]]
    judges: list[str]
    people: list[str]
    seed: int
    strata: int
    columns: list[str]
    measures: list[str]


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


def add_person(session: AnnotationSession, token: str | None, name: str, role: Role, *, returning: bool = False) -> str:
    """Gives somebody a code who has none; returns it. It is stored nowhere, and cannot be shown again. ``returning``
    says that it is somebody known, who gets the labels of this name.

    Raises SignedOutError, ForbiddenError for anybody but a lead, AnswerError for a name that is invalid or taken, or
    known and not said to be ``returning``.
    """
    session.person(token, "lead")
    if role not in ("assessor", "lead"):
        raise AnswerError(f"there is no role {str(role)[:40]!r}; choose assessor or lead")
    return assessors.add_person(session.config, session.store, name, role, returning=returning)


def new_code(session: AnnotationSession, token: str | None, name: str, seen: str) -> str:
    """Gives somebody another code in place of the one with the handle ``seen``, valid or revoked, and ends their
    sign-ins; returns it.

    Raises SignedOutError, ForbiddenError for anybody but a lead, AnswerError for the lead's own code, ConflictError if
    the person has got another code since.
    """
    with assessors.people_lock(session.config, session.store):
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
    with assessors.people_lock(session.config, session.store):
        lead = session.person(token, "lead")
        leads = [one.name for one in session.people.all() if one.role == "lead" and one.revoked_at is None]
        if leads == [lead.name] == [name]:
            raise AnswerError("you are the only lead; make somebody else a lead first", "last_lead")
        return assessors.revoke_code(session.config, session.store, name, release=release)


def release(session: AnnotationSession, token: str | None, name: str) -> int:
    """Opens to everyone what somebody without a valid code still holds; returns how many pairs.

    Raises SignedOutError, ForbiddenError for anybody but a lead, ConflictError if they have got a code since.
    """
    with assessors.people_lock(session.config, session.store):
        session.person(token, "lead")
        known = session.people.named(name)
        if known is None or known.revoked_at is None:
            raise ConflictError("changed", f"{name} has got a code meanwhile; look at the list again")
        return session.assignments.release(name)


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
                judges=tuple(parameters.get("judges") or filter(None, [parameters.get("judge")])),
                measure=parameters.get("measure"),
                by=parameters.get("by") if one.method == "active" else None,
                queue=parameters.get("queue"),
                strata=parameters.get("strata"),
            )
        )
    return found


def design_choices(session: AnnotationSession, token: str | None) -> DesignChoices:
    """What a new design can be made from.

    Raises SignedOutError, ForbiddenError for anybody but a lead, InputError if there is no pool.
    """
    session.person(token, "lead")
    pool = session.pool_view
    texts, counts = pool.table["query"], pool.counts()
    return DesignChoices(
        len(pool),
        [(query_id, str(texts[pool.query(query_id).start])) for query_id in pool.query_ids],
        list(session.config.judges),
        [one.name for one in session.people.all() if one.revoked_at is None],
        session.config.seed,
        sum(len(set(map(systems_band, set(counts[pool.query(query_id)].tolist())))) for query_id in pool.query_ids),
        strata_columns(session.config),
        [name for name in session.config.measures if _serves_pairs(name)] or [DEFAULT_MEASURE],
    )


def _serves_pairs(measure: str) -> bool:
    try:
        parse_pair_measure(measure)
    except ConfigError:
        return False
    return True


def preview_design(session: AnnotationSession, token: str | None, options: AssignOptions) -> AssignReport:
    """What ``create_design`` would do now; writes nothing. Raises the same errors."""
    lead = session.person(token, "lead")
    _check_overlap(session, lead.name, options)
    return assign_pairs(session, replace(options, dry_run=True))


def create_design(session: AnnotationSession, token: str | None, options: AssignOptions) -> AssignReport:
    """Chooses pairs and assigns them, as ``assign_pairs`` does; the same options again add nothing.

    Raises SignedOutError, ForbiddenError for anybody but a lead, AnswerError if each pair is for more people than there
    are, QuatiPoolError if the pairs cannot be chosen so.
    """
    lead = session.person(token, "lead")
    _check_overlap(session, lead.name, options)
    return assign_pairs(session, replace(options, dry_run=False))


def _check_overlap(session: AnnotationSession, lead: str, options: AssignOptions) -> None:
    if options.to:
        most, reason = len(options.to), "overlap_named"
    else:
        names = [one.name for one in session.people.all() if one.revoked_at is None]
        # A lead may make the first design before anybody else has a code.
        most, reason = (_FIRST_OVERLAP, "overlap_first") if names == [lead] else (len(names), "overlap_people")
    if options.overlap > most:
        raise AnswerError(
            f"{options.overlap:,} people cannot grade each pair; ask for at most {most}", reason, count=most
        )


def withdraw_design(session: AnnotationSession, token: str | None, design_id: int) -> int:
    """Withdraws what of a design is not done yet, also what somebody has on the screen; returns how many assignments.
    Done ones stay and count.

    Raises SignedOutError, ForbiddenError for anybody but a lead, AnswerError if there is no such design.
    """
    session.person(token, "lead")
    return withdraw.withdraw_design(session, design_id).withdrawn


def shown_strata(strata: Sequence[Stratum], probabilities: Values | None = None) -> list[ShownStratum]:
    """The strata as a lead sees them. Those by a judge's grade are summed over queries and systems: a stratum of few
    pairs would show the judge's grade of each, and leads decide without knowing it. ``probabilities`` are those of the
    pairs if each has its own, in one stratum."""
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
    shown = sorted(found.values())
    if probabilities is None:
        return shown
    lowest, highest = float(probabilities.min()), float(probabilities.max())
    return [one._replace(lowest=lowest, highest=highest) for one in shown]


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
    if "\t" not in text:
        raise AnswerError("the rows have no tabs; copy them from a table", "rows_no_tab")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.tsv"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            return add_pairs(session, path, gold=gold, by=lead.name)
        except InputError as error:
            if error.path != str(path):
                raise
            raise PastedRowsError(error.line, error.message) from None
