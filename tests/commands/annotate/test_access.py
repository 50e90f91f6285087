"""Codes, sessions, settings and names: who comes in, and who does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from quati_pool.annotation.codes import Code, hash_code, new_code, token_sha
from quati_pool.commands.annotate.access import check_name, check_new_name, set_preference, sign_in, sign_out
from quati_pool.commands.annotate.assessors import add
from quati_pool.commands.annotate.errors import AnswerError, ForbiddenError, SignedOutError, WrongCodeError
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.project.config import load_config
from tests.commands.annotate.people_at_work import collection, token

HERE = "192.0.2.1"


@pytest.fixture
def session(tmp_path: Path, made_url: str) -> Iterator[AnnotationSession]:
    with AnnotationSession.open(collection(tmp_path), made_url) as opened:
        yield opened


def person(session: AnnotationSession, name: str) -> Code:
    code = new_code()
    session.people.add(name, "assessor", code.handle, hash_code(code.text))
    return code


def test_the_right_code_opens_a_session_however_it_is_typed(session: AnnotationSession) -> None:
    code = person(session, "ana")
    for typed in (code.text, code.text.lower(), f" {code.text.replace('-', ' ')} "):
        mine, ana = sign_in(session, typed, HERE)
        assert (ana.name, ana.role, session.person(mine).name) == ("ana", "assessor", "ana")
    with session.store.reading() as connection:
        stored = connection.execute(text("SELECT token_sha FROM sessions")).scalars().all()
    assert token_sha(mine) in stored
    assert mine not in stored


def test_wrong_codes_are_refused_alike_and_slowed_down_for_the_address_and_the_handle(
    session: AnnotationSession,
) -> None:
    code = person(session, "ana")
    wrong = f"{code.handle}-{new_code().text[5:]}"
    told = []
    for typed in (wrong, new_code().text, "what?", wrong):
        with pytest.raises(WrongCodeError) as caught:
            sign_in(session, typed, HERE)
        told.append((caught.value.wait, str(caught.value).partition(";")[0]))
    assert [wait == 0 for wait, _ in told] == [True, True, True, False]
    assert {words for _, words in told} == {"the access code is not right"}
    # Now the right one too waits from here, but not from elsewhere: the handle had two failures alone.
    with pytest.raises(WrongCodeError, match="wait"):
        sign_in(session, code.text, HERE)
    assert sign_in(session, code.text, "192.0.2.2")[1].name == "ana"


def test_a_handle_is_slowed_down_from_whatever_address(session: AnnotationSession) -> None:
    code = person(session, "ana")
    wrong = f"{code.handle}-{new_code().text[5:]}"
    for number in range(4):
        with pytest.raises(WrongCodeError):
            sign_in(session, wrong, f"192.0.2.{number}")
    with pytest.raises(WrongCodeError) as caught:
        sign_in(session, code.text, "192.0.2.200")
    assert 0 < caught.value.wait <= 2


def test_the_right_code_strikes_out_earlier_failures(session: AnnotationSession) -> None:
    code = person(session, "ana")
    for _ in range(3):
        for _ in range(3):
            with pytest.raises(WrongCodeError):
                sign_in(session, new_code().text, HERE)
        sign_in(session, code.text, HERE)


def test_a_revoked_code_opens_nothing_and_its_sessions_end(session: AnnotationSession) -> None:
    code = person(session, "ana")
    mine, _ = sign_in(session, code.text, HERE)
    session.people.revoke("ana")
    with pytest.raises(SignedOutError):
        session.person(mine)
    with pytest.raises(WrongCodeError):
        sign_in(session, code.text, HERE)


def test_signing_out_ends_this_session_alone(session: AnnotationSession) -> None:
    code = person(session, "ana")
    first, second = (sign_in(session, code.text, HERE)[0] for _ in range(2))
    sign_out(session, first)
    sign_out(session, None)
    sign_out(session, "unknown")
    with pytest.raises(SignedOutError):
        session.person(first)
    assert session.person(second).name == "ana"


def test_a_session_ends_by_itself(session: AnnotationSession) -> None:
    session.people.add("ana", "assessor", "H", "none")
    session.people.sign_in("ana", token_sha("mine"), -1)
    with pytest.raises(SignedOutError):
        session.person("mine")


def test_a_session_is_of_one_collection(tmp_path: Path, session: AnnotationSession, made_url: str) -> None:
    mine = token(session, "ana")
    with (
        AnnotationSession.open(collection(tmp_path / "other", name="other"), made_url) as other,
        pytest.raises(SignedOutError),
    ):
        other.person(mine)


def test_only_leads_pass_as_leads(session: AnnotationSession) -> None:
    ana, lia = token(session, "ana"), token(session, "lia", "lead")
    assert session.person(ana).role == "assessor"
    assert session.person(lia, "lead").name == "lia"
    assert session.person(lia).role == "lead"
    with pytest.raises(ForbiddenError, match="ana is not a lead"):
        session.person(ana, "lead")
    with pytest.raises(SignedOutError):
        session.person(None, "lead")


def test_settings_stay_with_the_person_and_only_known_ones_are_kept(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assert session.person(ana).language is None
    set_preference(session, ana, "language", "es")
    set_preference(session, ana, "highlight", True)
    assert (session.person(ana).language, session.person(ana).settings) == ("es", {"language": "es", "highlight": True})
    set_preference(session, ana, "language", None)
    assert session.person(ana).language is None
    for key, value in (
        ("language", "xx"),
        ("language", 1),
        ("role", "lead"),
        ("highlight", "yes"),
        ("language", ["pt"]),
    ):
        with pytest.raises(AnswerError):
            set_preference(session, ana, key, value)
    with pytest.raises(SignedOutError):
        set_preference(session, "nobody", "language", "pt")
    assert session.person(ana).role == "assessor"


def test_the_collections_language_is_that_of_who_picked_none(tmp_path: Path) -> None:
    with AnnotationSession.open(collection(tmp_path, annotation={"language": "pt"})) as session:
        ana = token(session, "ana")
        assert session.person(ana).language == "pt"
        set_preference(session, ana, "language", "en")
        assert session.person(ana).language == "en"


@pytest.mark.parametrize("name", ["ana", "Bia.2", "caio_x", "joão", "x" * 64, "7"])
def test_a_name_of_one_word_is_a_persons(tmp_path: Path, name: str) -> None:
    assert check_name(load_config(collection(tmp_path)), name) == name


def test_a_name_is_kept_in_one_form_however_its_accents_are_typed(tmp_path: Path) -> None:
    assert check_name(load_config(collection(tmp_path)), "joa\u0303o") == "jo\u00e3o"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("", "is empty"),
        ("ana b", "white space"),
        ("ana\n", "white space"),
        ("ana\x00", "U\\+0000"),
        ("ana\u202e", "cannot be seen"),
        ("x" * 65, "65 characters"),
        ("../labels", "path"),
        ("a/b", "path"),
        ("a\\b", "path"),
        ("--role", "option"),
        ("adjudicated", "leads' decisions"),
        ("Adjudicated", "leads' decisions"),
        ("lexical", "a judge"),
        ("LEXICAL", "a judge"),
        ("theirs", "a label file"),
        ("Ana Silva", "such as Ana-Silva$"),
        ("- b", "such as ana$"),
    ],
)
def test_a_name_that_is_somebody_elses_or_no_word_is_refused_in_one_line(tmp_path: Path, name: str, told: str) -> None:
    config = load_config(
        collection(tmp_path, judges={"lexical": {"judge": "lexical"}}, labels={"files": {"theirs": "theirs.tsv"}})
    )
    with pytest.raises(AnswerError, match=told) as caught:
        check_name(config, name)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "name", ["zoe", "j\u00fcrgen", "\u0430\u0441\u0435", "\u5c71\u7530\u30a8\u30fc\u3005Ken", "a1\u00aa", "Bia.2"]
)
def test_a_new_name_of_one_script_is_taken(name: str) -> None:
    check_new_name(name, ["lia"])


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("LIA", "name_alike"),
        ("\uff4cia", "name_alike"),
        ("l\u0456a", "name_scripts"),
        ("b\u03bf", "name_scripts"),
        ("\u0441\u0430\u0435z", "name_scripts"),
    ],
)
def test_a_new_name_that_looks_like_another_is_refused_in_one_line(name: str, reason: str) -> None:
    with pytest.raises(AnswerError) as refused:
        check_new_name(name, ["lia"])
    assert refused.value.reason == reason
    assert str(refused.value).isprintable()


def test_somebody_known_keeps_a_name_that_nobody_new_could_take(tmp_path: Path) -> None:
    config = collection(tmp_path)
    with AnnotationSession.open(config) as session:
        for name in ("lia", "LIA", "l\u0456a"):
            token(session, name)
            session.people.revoke(name)
            assert add(config, name, "assessor")
