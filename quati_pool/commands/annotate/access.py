"""Signing in with an access code, personal settings, and the rules for people's names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from quati_pool.annotation.codes import code_matches, decoy, new_token, read_code, token_sha
from quati_pool.commands.annotate.errors import AnswerError, WrongCodeError
from quati_pool.commands.annotate.session import AnnotationSession, Person
from quati_pool.files.problems import quoted
from quati_pool.project.config import PoolConfig
from quati_pool.records import id_problem
from quati_pool.store.people import LONGEST_NAME
from quati_pool.store.records import ADJUDICATED
from quati_pool.text.pluralize import listed

SIGN_IN_SECONDS = 14 * 24 * 3600
"""How long a sign-in lasts: two weeks of work without typing the code again."""

_LONGEST_ADDRESS = 100
# Scripts, by the first word of their letters' names, that are written together with others: those of Chinese, Japanese
# and Korean, and signs that belong to no script.
_MIXED = frozenset({
    "CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "HALFWIDTH", "BOPOMOFO", "HANGUL", "MODIFIER", "FEMININE",
    "MASCULINE",
})  # fmt: skip

PREFERENCES: dict[str, frozenset[Any]] = {
    "language": frozenset({"pt", "en", "es"}),
    "highlight": frozenset({True, False}),
}
"""The personal settings and their allowed values."""


def sign_in(session: AnnotationSession, typed_code: str, address: str) -> tuple[str, Person]:
    """Signs a person in with their code; returns the token of the sign-in and the person.

    ``address`` is where the request came from: wrong codes slow down both the address and the code's handle. Raises
    WrongCodeError for an unknown or revoked code, and for any code typed before the wait is over.
    """
    code = read_code(typed_code)
    subjects = [f"address {address[:_LONGEST_ADDRESS]}"]
    if code is not None:
        subjects.append(f"handle {code.handle}")
    # Counted before it is checked, so that simultaneous guesses have no advantage.
    wait = session.people.attempt(subjects)
    if wait > 0:
        raise WrongCodeError(wait)
    assessor = None if code is None else session.people.by_handle(code.handle)
    # An unknown handle takes as long to refuse as a known one.
    right = code_matches("" if code is None else code.text, decoy() if assessor is None else assessor.code_hash)
    if assessor is None or not right:
        raise WrongCodeError(session.people.wait(subjects))
    session.people.forget(subjects)
    token = new_token()
    session.people.sign_in(assessor.name, token_sha(token), SIGN_IN_SECONDS)
    return token, session.person(token)


def sign_out(session: AnnotationSession, token: str | None) -> None:
    """Ends a sign-in; does nothing if there is none."""
    if token:
        session.people.sign_out(token_sha(token))


def set_preference(session: AnnotationSession, token: str | None, key: str, value: Any) -> None:
    """Stores one of the person's settings (``PREFERENCES``); None restores the default.

    Raises SignedOutError, and AnswerError for an unknown setting or value.
    """
    person = session.person(token)
    if key not in PREFERENCES:
        raise AnswerError(f"there is no setting {str(key)[:40]!r}; choose one of {', '.join(PREFERENCES)}")
    if value is not None and not (isinstance(value, (str, bool)) and value in PREFERENCES[key]):
        allowed = ", ".join(sorted(map(str, PREFERENCES[key])))
        raise AnswerError(f"{key} cannot be {str(value)[:40]!r}; choose one of {allowed}")
    session.people.set(person.name, key, value)


def check_new_name(name: str, known: Iterable[str]) -> None:
    """Raises AnswerError for a name, of somebody new, that differs from a known one only in case or in the form of its
    letters, or that mixes letters of several scripts, which can look like a known one."""
    alike = next((one for one in known if one != name and _folded(one) == _folded(name)), None)
    if alike is not None:
        raise AnswerError(
            f"the name {quoted(name)} is too similar to {alike}, which is taken; choose another",
            "name_alike", taken=alike,
        )  # fmt: skip
    scripts = {_script(letter) for letter in name if letter.isalpha()} - _MIXED
    if len(scripts) > 1:
        raise AnswerError(
            f"the name {quoted(name)} mixes letters of {listed(sorted(map(str.capitalize, scripts)))}; "
            "write it in one script",
            "name_scripts",
        )


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def _script(letter: str) -> str:
    return re.split("[ -]", unicodedata.name(letter, ""))[0]


def check_name(config: PoolConfig, name: str) -> str:
    """A person's name as stored, in Unicode's composed form (NFC). Their labels are stored under it, and files with
    their labels are named after it.

    Raises AnswerError for a name that is not one word of 1 to 64 characters, that could be mistaken for a path or,
    in a command, for more than a name (ana,bia; NAME=FILE), or that equals the name of a judge or label file or
    ``adjudicated``, ignoring case.
    """
    name = unicodedata.normalize("NFC", name)
    shown = name[:LONGEST_NAME].encode("unicode_escape").decode() if not name.isprintable() else name[:LONGEST_NAME]
    problem, reason = _name_problem(name)
    if problem is not None:
        joined = "-".join(name.split())
        instead = joined if _name_problem(joined)[0] is None else "ana"
        raise AnswerError(
            f"the name '{shown}' {problem}; choose one word, such as {instead}",
            reason, instead=instead, most=LONGEST_NAME,
        )  # fmt: skip
    reserved = {ADJUDICATED: "is what leads' decisions are kept under"}
    reserved |= dict.fromkeys(config.labels.files, "is a label file of pool.yaml")
    reserved |= dict.fromkeys(config.judges, "is a judge of pool.yaml")
    for taken, why in reserved.items():
        if unicodedata.normalize("NFC", taken).casefold() == name.casefold():
            raise AnswerError(
                f"the name '{shown}' cannot be a person's: {taken} {why}; choose another", "name_reserved", taken=taken
            )
    return name


def _name_problem(name: str) -> tuple[str | None, str]:
    """Why a name cannot be a person's, None if its form is right, and the keyword for it."""
    if not name:
        return "is empty", "name_empty"
    if any(map(str.isspace, name)):
        return id_problem(name), "name_space"
    problem = id_problem(name)
    if problem is None and not name.isprintable():
        problem = "holds characters that cannot be seen"
    if problem is None and len(name) > LONGEST_NAME:
        return f"has {len(name)} characters, more than {LONGEST_NAME}", "name_long"
    if problem is None and (name.startswith((".", "-")) or "/" in name or "\\" in name):
        problem = "reads like a path or an option"
    if problem is None and set(name) & set(",=#"):
        problem = "holds one of , = #, which separate names in commands"
    return problem, "name_form"
