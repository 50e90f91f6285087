"""Questions that people write for the collection: proposed by one person, accepted or sent back by another.

What a model drafted has no author. Anybody accepts it, withdraws it with a comment, or revises it: the text is then
theirs, and somebody else decides on it. It is never sent back, and nobody learns which model it was.

Every event is kept. Only one process writes at a time, so that checks still hold at the time of writing: no query_id
is assigned twice, and nobody decides on a text other than the one they saw.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary

from quati_pool.annotation.questions import ClassifiedQuestion, similar_questions
from quati_pool.annotation.questions import coverage as table
from quati_pool.commands.annotate.errors import AnswerError, ForbiddenError
from quati_pool.commands.annotate.questions.export import FORMS, accepted, as_bytes, queries_there
from quati_pool.commands.annotate.questions.passages import Passage, passage, text_of
from quati_pool.commands.annotate.questions.rules import Draft, QuestionError, Similar, checked, comment_of, taxonomy
from quati_pool.commands.annotate.session import AnnotationSession, Person, Rereading
from quati_pool.project.config import PoolConfig
from quati_pool.records import Query
from quati_pool.store.records import Question, QuestionAction, QuestionEvent

_SETTING = "question_passage"
_QUERY_ID = re.compile(r"q([0-9]{1,9})")


class CoverageCell(NamedTuple):
    """How many questions of a theme, scope and type are waiting for a decision, and how many are accepted."""

    theme: str
    scope: str
    type: str
    proposed: int
    accepted: int


class TaxonomyCoverage(NamedTuple):
    """The counts of all combinations, in the taxonomy's order; ``outside`` counts the questions that fit none, such
    as those written before the taxonomy was changed."""

    cells: tuple[CoverageCell, ...]
    outside: int


class ListedQuestion(NamedTuple):
    """A question as one person sees it; ``may`` is the set of actions that they may take on it."""

    question: Question
    state: str
    may: frozenset[str]


def listed(session: AnnotationSession, token: str | None) -> list[ListedQuestion]:
    """All questions, those with the newest event first."""
    person = session.person(token)
    found = [
        ListedQuestion(question, state_of(question), _open_to(person, question))
        for question in session.questions.current()
    ]
    return sorted(found, key=lambda one: -(one.question.last.seq or 0))


def events(session: AnnotationSession, token: str | None, question_id: int) -> list[QuestionEvent]:
    """All events of a question, oldest first."""
    session.person(token)
    return session.questions.events(question_id)


def state_of(question: Question) -> str:
    """The state of a question: ``proposed`` (also after a revision), ``accepted``, ``sent_back`` or ``withdrawn``."""
    return "proposed" if question.last.action == "revised" else question.last.action


def propose(session: AnnotationSession, token: str | None, draft: Draft, nonce: str, *, confirmed: bool = False) -> int:
    """Stores a new question and returns its question_id; a question sent twice with one nonce is stored once.

    Raises QuestionError if it breaks a rule, or if the same question exists already and the author has not
    ``confirmed`` it.
    """
    person = session.person(token)
    draft = checked(session.config, draft)
    if draft.doc_id is not None and text_of(session.config, draft.doc_id) is None:
        raise QuestionError("passage", "there is no such passage in the corpus any more; take another one")
    with writing_questions(session):
        equal = [one for one in _similar(session, draft.query, None) if one.exact]
        for question_id in (one.question_id for one in equal if one.question_id is not None):
            if _sent(session, person, question_id, nonce, "proposed"):
                return question_id
        _refuse_repeated(equal, confirmed)
        return session.questions.add_event(_event(person, "proposed", draft, nonce))


def revise(
    session: AnnotationSession,
    token: str | None,
    question_id: int,
    seen: int,
    draft: Draft,
    nonce: str,
    *,
    comment: str | None = None,
    confirmed: bool = False,
) -> None:
    """Proposes a new text for the author's own question or a model's draft, from the same passage; ``seen`` is the seq
    of the question's last event that they saw. A draft may stay without theme, scope and type."""
    person = session.person(token)
    by_model = any(one.question_id == question_id and drafted(one) for one in session.questions.current())
    draft = checked(session.config, draft, unclassified=by_model)
    comment = comment_of(comment)
    with writing_questions(session):
        if not _sent(session, person, question_id, nonce, "revised"):
            question = _allowed(session, person, question_id, seen, "revised")
            _refuse_repeated([one for one in _similar(session, draft.query, question_id) if one.exact], confirmed)
            event = _event(person, "revised", replace(draft, doc_id=question.last.doc_id), nonce)
            session.questions.add_event(replace(event, question_id=question_id, comment=comment), after=seen)


def accept(
    session: AnnotationSession, token: str | None, question_id: int, seen: int, nonce: str, comment: str | None = None
) -> str:
    """Accepts another person's question into the collection and returns its new query_id."""
    person = session.person(token)
    comment = comment_of(comment)
    with writing_questions(session):
        sent = _sent(session, person, question_id, nonce, "accepted")
        if sent is not None:
            return str(sent.query_id)
        _allowed(session, person, question_id, seen, "accepted")
        query_id = _next_query_id(session)
        _add(session, person, question_id, seen, nonce, "accepted", comment, query_id)
        return query_id


def send_back(
    session: AnnotationSession, token: str | None, question_id: int, seen: int, nonce: str, comment: str
) -> None:
    """Returns another person's question to its author, with a comment on what to change."""
    person = session.person(token)
    cleaned = comment_of(comment)
    if cleaned is None:
        raise QuestionError("no_comment", "a question goes back with a comment; say what is to be changed")
    _decide(session, person, question_id, seen, nonce, "sent_back", cleaned)


def withdraw(
    session: AnnotationSession, token: str | None, question_id: int, seen: int, nonce: str, comment: str | None = None
) -> None:
    """Withdraws a question: its author may do so until it is accepted, a lead at any time. A model's draft anybody may
    withdraw until it is accepted, with a comment. Its query_id is not assigned again."""
    person = session.person(token)
    _decide(session, person, question_id, seen, nonce, "withdrawn", comment_of(comment))


def similar(session: AnnotationSession, token: str | None, query: str, besides: int | None = None) -> list[Similar]:
    """The questions similar to ``query``, the most similar first: people's questions except withdrawn ones and the
    question ``besides``, and those in the queries file."""
    session.person(token)
    return _similar(session, query, besides)


def coverage(session: AnnotationSession, token: str | None) -> TaxonomyCoverage:
    """How many questions are proposed and accepted per theme, scope and type."""
    session.person(token)
    return taxonomy_coverage(session.config, session.questions.current())


def sampled_passage(session: AnnotationSession, token: str | None, *, another: bool = False) -> Passage:
    """The current passage of a person's sequence; with ``another``, advances to the next one.

    Raises NoPassagesError if the corpus has not been read yet.
    """
    person = session.person(token)
    count = person.settings.get(_SETTING)
    count = count if isinstance(count, int) and count >= 0 else 0
    if another:
        count += 1
    found = passage(session.config, person.name, count)
    if another:
        session.people.set(person.name, _SETTING, count)
    return found


def questions_file(session: AnnotationSession, token: str | None, form: str) -> tuple[str, bytes]:
    """The accepted questions for a lead to download: the file's name and its bytes.

    Raises AnswerError for a ``form`` that is neither tsv nor jsonl.
    """
    session.person(token, role="lead")
    if form not in FORMS:
        raise AnswerError(f"there is no export {form[:40]!r} of questions; ask for one of {', '.join(FORMS)}")
    # People decide on drafts without knowing whose they are, leads too.
    found = [replace(one, drafted_by=None) for one in accepted(session.questions.current())]
    return f"queries.{form}", as_bytes(found, form)


def drafted(question: Question) -> bool:
    """Whether a model drafted a question."""
    return question.last.drafted_by is not None


def writer_of(question: Question) -> str:
    """Who wrote a question as it is now: its author, or who revised a model's draft last; "" for a draft as it came. A
    draft that is accepted or withdrawn is nobody's."""
    if not drafted(question):
        return question.author
    return question.last.by if question.last.action == "revised" else ""


def _open_to(person: Person, question: Question) -> frozenset[str]:
    """The actions that a person may take on a question now."""
    state, own = state_of(question), writer_of(question) == person.name
    may = set()
    if drafted(question):
        if state == "proposed":
            may = {"revised", "withdrawn"} if own else {"accepted", "revised", "withdrawn"}
        elif state == "withdrawn" and question.last.query_id is None:
            may = {"revised"} if person.role == "lead" or question.last.by == person.name else set()
        elif person.role == "lead" and state != "withdrawn":
            may = {"withdrawn"}
        return frozenset(may)
    if state == "proposed" and not own:
        may |= {"accepted", "sent_back"}
    if own and (state in ("proposed", "sent_back") or (state == "withdrawn" and question.last.query_id is None)):
        may.add("revised")
    if (own and state in ("proposed", "sent_back")) or (person.role == "lead" and state != "withdrawn"):
        may.add("withdrawn")
    return frozenset(may)


def _allowed(session: AnnotationSession, person: Person, question_id: int, seen: int, action: str) -> Question:
    """The question, if it is unchanged since the person saw it and they may take this action; raises QuestionError or
    ForbiddenError otherwise."""
    question = next((one for one in session.questions.current() if one.question_id == question_id), None)
    if question is None:
        raise QuestionError("gone", "there is no such question; reload the page")
    if action in ("accepted", "sent_back") and writer_of(question) == person.name:
        raise ForbiddenError("nobody decides on their own question; ask a second person")
    if action == "sent_back" and drafted(question):
        raise ForbiddenError("a model's draft cannot be sent back; revise it, or withdraw it with a comment")
    if action == "revised" and question.author != person.name and not drafted(question):
        raise ForbiddenError("only its author revises a question; send it back with a comment")
    if question.last.seq != seen:
        raise QuestionError("changed", "the question was changed meanwhile; read it again")
    if action not in _open_to(person, question):
        raise ForbiddenError(f"a question that is {state_of(question)} cannot be {action} by you; reload the page")
    return question


def _decide(
    session: AnnotationSession,
    person: Person,
    question_id: int,
    seen: int,
    nonce: str,
    action: QuestionAction,
    comment: str | None,
) -> None:
    with writing_questions(session):
        if not _sent(session, person, question_id, nonce, action):
            question = _allowed(session, person, question_id, seen, action)
            if action == "withdrawn" and comment is None and drafted(question) and state_of(question) == "proposed":
                raise QuestionError("no_reason", "a model's draft is withdrawn with a comment; say why")
            _add(session, person, question_id, seen, nonce, action, comment)


def _add(
    session: AnnotationSession,
    person: Person,
    question_id: int,
    seen: int,
    nonce: str,
    action: QuestionAction,
    comment: str | None,
    query_id: str | None = None,
) -> None:
    event = QuestionEvent(
        by=person.name, action=action, question_id=question_id, query_id=query_id, comment=comment, nonce=nonce
    )
    session.questions.add_event(event, after=seen)


def _event(person: Person, action: QuestionAction, draft: Draft, nonce: str) -> QuestionEvent:
    return QuestionEvent(
        by=person.name,
        action=action,
        query=draft.query,
        narrative=draft.narrative,
        theme=draft.theme,
        scope=draft.scope,
        type=draft.type,
        doc_id=draft.doc_id,
        nonce=nonce,
    )


def _sent(
    session: AnnotationSession, person: Person, question_id: int, nonce: str, action: QuestionAction
) -> QuestionEvent | None:
    """The person's event already stored with this nonce, if the same form was sent twice."""
    found = (event for event in session.questions.events(question_id) if event.nonce == nonce)
    return next((event for event in found if (event.by, event.action) == (person.name, action)), None)


def _refuse_repeated(equal: Sequence[Similar], confirmed: bool) -> None:
    if equal and not confirmed:
        raise QuestionError(
            "repeated", "the same question is there already; change it, or confirm that you want it twice", equal
        )


@contextmanager
def writing_questions(session: AnnotationSession) -> Iterator[None]:
    """Holds the lock under which questions are checked and written."""
    with session.store.lock(f"questions of {session.config.name}", lambda _: None):
        yield


# What there is


def taxonomy_coverage(config: PoolConfig, questions: Sequence[Question]) -> TaxonomyCoverage:
    """The coverage of the taxonomy by proposed (including revised) and accepted questions."""
    filed: dict[str, list[ClassifiedQuestion]] = {"proposed": [], "accepted": []}
    for question in questions:
        if (state := state_of(question)) in filed:
            filed[state].append(ClassifiedQuestion(question.last.theme, question.last.scope, question.last.type))
    waiting, standing = (table(taxonomy(config), of_state) for of_state in filed.values())
    cells = zip(waiting.cells, standing.cells, strict=True)
    return TaxonomyCoverage(
        tuple(CoverageCell(one.theme, one.scope, one.type, one.questions, other.questions) for one, other in cells),
        waiting.outside + standing.outside,
    )


def texts_there(session: AnnotationSession) -> list[str]:
    """The questions that a new one should be unlike: people's except withdrawn ones, and those in the queries file."""
    return [text for text, *_ in _others(session, None)]


def _similar(session: AnnotationSession, query: str, besides: int | None) -> list[Similar]:
    others = _others(session, besides)
    found = similar_questions(query, [text for text, *_ in others], language(session.config))
    return [Similar(others[one.place][0], one.similarity, one.exact, *others[one.place][1:]) for one in found]


def _others(session: AnnotationSession, besides: int | None) -> list[tuple[str, str | None, int | None, str | None]]:
    """The questions to compare one with: text, author, question_id and query_id."""
    others: list[tuple[str, str | None, int | None, str | None]] = []
    exported = set()
    for question_id, author, last in session.questions.current():
        if last.action != "withdrawn":
            exported.add((last.query_id, last.query))
            if question_id != besides:
                others.append((str(last.query), author, question_id, last.query_id))
    for one in _filed(session):
        # An accepted question may have been exported to the file.
        if (one.query_id, one.query) not in exported:
            others.append((one.query, None, None, one.query_id))
    return others


def language(config: PoolConfig) -> str | None:
    """The language for stemming when questions are compared: that of the first system that has one, else the first
    of ``release.languages``."""
    named = (getattr(getattr(system, "parameters", None), "language", None) for system in config.systems.values())
    return next(filter(None, named), None) or next(iter(config.release.languages), None)


def _next_query_id(session: AnnotationSession) -> str:
    """The next query_id (q0001, q0002, …): above all assigned ones, including those of withdrawn questions, and not
    in the queries file."""
    given = {str(one.last.query_id) for one in session.questions.current() if one.last.query_id}
    taken = {query.query_id for query in _filed(session)}
    numbers = [int(found[1]) for query_id in given if (found := _QUERY_ID.fullmatch(query_id))]
    number = max(numbers, default=0) + 1
    while (query_id := f"q{number:04}") in taken:
        number += 1
    return query_id


def _filed(session: AnnotationSession) -> list[Query]:
    """The queries in the collection's file, read again when it has changed."""
    if session.config.queries.path is None:
        return []
    path = session.config.folder / session.config.queries.path
    return _files.setdefault(session, Rereading(path, partial(_queries, session.config))).get() or []


def _queries(config: PoolConfig, _: Path) -> list[Query]:
    return queries_there(config)


_files: WeakKeyDictionary[AnnotationSession, Rereading[list[Query]]] = WeakKeyDictionary()
