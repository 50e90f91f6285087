"""Access codes are read as people type them and kept only as hashes."""

from __future__ import annotations

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.annotation import codes
from quati_pool.annotation.codes import ALPHABET, Code, code_matches, decoy, hash_code, new_code, new_token, read_code

CODE = "ABCD-EFGH-JKMN-0123"
HASHED = hash_code(CODE)


def test_a_code_has_a_handle_and_60_secret_bits_and_no_ambiguous_character() -> None:
    code = new_code()
    handle, *secret = code.text.split("-")
    assert handle == code.handle
    # 32 characters are 5 bits each: 12 of them are 60 bits.
    assert [len(group) for group in (handle, *secret)] == [4, 4, 4, 4]
    assert len(set(ALPHABET)) == 32
    assert not set("ILOU") & set(ALPHABET)
    assert len({new_code().text for _ in range(200)}) == 200


def test_a_handle_that_is_taken_is_not_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter("AAAA" + "B" * 12 + "CCCC" + "D" * 12)
    monkeypatch.setattr(codes.secrets, "choice", lambda _: next(drawn))
    assert new_code(taken={"AAAA"}) == Code("CCCC", "CCCC-DDDD-DDDD-DDDD")


@pytest.mark.parametrize(
    "typed",
    ["ABCD-EFGH-JKMN-0123", "abcdefghjkmn0123", "  abcd efgh\tjkmn o1 23 ", "ABCD–EFGH—JKMN−0L23",
     "ABCD-EFGH-JKMN-OI23", "ＡＢＣＤ－ＥＦＧＨ－ＪＫＭＮ－０１２３", "ab\u200bcd_efgh_jkmn_o123\n"],
)  # fmt: skip
def test_a_code_is_read_as_people_type_it(typed: str) -> None:
    handle, text = read_code(typed) or ("", "")
    assert (handle, text) == ("ABCD", CODE)
    assert code_matches(typed, HASHED)


@pytest.mark.parametrize(
    "typed",
    ["", "ABCD", CODE + "4", CODE[:-1], "ABCD-EFGH-JKMN-012U", "ABCD-EFGH-JKMN-012é", "-" * 200 + CODE, "\ud800"],
)
def test_what_cannot_be_a_code_is_none(typed: str) -> None:
    assert read_code(typed) is None
    assert not code_matches(typed, HASHED)
    with pytest.raises(ValueError, match="not an access code"):
        hash_code(typed)


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=())))
def test_any_text_is_read_as_a_normal_form_or_not_at_all(typed: str) -> None:
    code = read_code(typed)
    if code is not None:
        assert read_code(code.text) == code


def test_the_hash_is_scrypts_of_the_normal_form() -> None:
    name, n, r, p, salt, key = HASHED.split("$")
    assert (name, n, r, p) == ("scrypt", "16384", "8", "1")
    expected = hashlib.scrypt(CODE.encode(), salt=base64.b64decode(salt), n=16384, r=8, p=1, maxmem=2**26, dklen=32)
    assert base64.b64decode(key) == expected
    assert len(base64.b64decode(salt)) == 16


def test_two_hashes_of_one_code_differ_and_hold_nothing_of_it() -> None:
    other = hash_code(CODE)
    assert other != HASHED
    assert code_matches(CODE, other)
    assert "EFGH" not in other


@pytest.mark.parametrize("place", [0, 5, 10, 18])
def test_a_code_that_differs_in_one_character_does_not_match(place: int) -> None:
    wrong = CODE[:place] + ("Z" if CODE[place] != "Z" else "Y") + CODE[place + 1 :]
    assert read_code(wrong) is not None
    assert not code_matches(wrong, HASHED)


def _with(place: int, value: str) -> str:
    parts = HASHED.split("$")
    parts[place] = value
    return "$".join(parts)


@pytest.mark.parametrize(
    "hashed",
    ["", "scrypt", HASHED + "$", _with(0, "md5"), _with(1, "3"), _with(1, "x"), _with(1, str(2**40)),
     _with(1, "9" * 30), _with(2, "-1"),
     _with(3, "0"), _with(4, "é"), _with(4, "A"), _with(5, ""), _with(5, "AAAA"), _with(5, "*")],
    ids=range(15),
)  # fmt: skip
def test_a_malformed_hash_matches_nothing_and_raises_nothing(hashed: str) -> None:
    assert not code_matches(CODE, hashed)


def test_a_truncated_key_does_not_match_its_code() -> None:
    """Else one byte of the key would do, and one of 256 codes fit."""
    key = base64.b64decode(HASHED.split("$")[5])
    assert not code_matches(CODE, _with(5, base64.b64encode(key[:1]).decode()))


def test_the_decoy_costs_what_a_hash_costs_and_matches_nothing() -> None:
    assert decoy().split("$")[:4] == HASHED.split("$")[:4]
    assert not code_matches(CODE, decoy())


def test_tokens_are_long_random_and_kept_as_sha_256() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(len(base64.urlsafe_b64decode(token + "=")) == 32 for token in tokens)
    # FIPS 180-2, appendix B.1: the SHA-256 of "abc".
    assert codes.token_sha("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    # A forged cookie may hold anything.
    assert len(codes.token_sha("\ud800")) == 64
