"""No name of a labeler or run reaches out of its folder, and no two share a file."""

from __future__ import annotations

import hashlib
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.release.names import file_stems


@pytest.mark.parametrize("name", ["gpt-4o", "quati_pt.v2", "a+b", "Ana", "josé", "7", "__x", "CONSENSUS"])
def test_a_safe_name_stays(name: str) -> None:
    assert file_stems([name]) == {name: name}


@pytest.mark.parametrize(
    ("name", "cleaned"),
    [
        ("../../etc/passwd", "etc_passwd"), ("..", "unnamed"), ("", "unnamed"), (".hidden", "hidden"), ("a/b", "a_b"),
        ("a\\b", "a_b"), ("a\x00b\n", "a_b"), ("ends.", "ends"), ("-o", "o"), ("CON", "CON"), ("nul.txt", "nul.txt"),
        ("gpt 4 [*]?", "gpt_4"), ("e\u0301", "é"), ("a:b|c<d>e\"f", "a_b_c_d_e_f"), ("\ud800", "unnamed"),
        ("😀", "unnamed"), ("x" * 300, "x" * 91), ("é" * 300, "é" * 45),
    ],
)  # fmt: skip
def test_an_unsafe_name_is_cleaned_and_told_apart_by_its_hash(name: str, cleaned: str) -> None:
    assert (
        file_stems([name])[name] == f"{cleaned}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    )


def test_names_that_differ_in_case_alone_get_different_files() -> None:
    stems = file_stems(["gpt", "GPT", "Straße", "STRASSE"])
    assert (stems["gpt"], stems["Straße"]) == ("gpt", "Straße")
    assert stems["GPT"].startswith("GPT-")
    assert stems["STRASSE"].startswith("STRASSE-")


def test_a_reserved_name_is_not_given() -> None:
    assert file_stems(["Test"], reserved=["test"])["Test"].startswith("Test-")


@given(st.lists(st.text(st.characters(), max_size=20), unique=True, max_size=20))
def test_every_stem_is_a_file_name_of_its_own(names: list[str]) -> None:
    stems = file_stems(names)
    assert list(stems) == names
    folded = {unicodedata.normalize("NFC", stem.casefold()) for stem in stems.values()}
    assert len(folded) == len(names)
    for stem in stems.values():
        assert 1 <= len(stem.encode()) <= 110
        assert not stem.startswith((".", "-"))
        assert not stem.endswith(".")
        assert all(character.isalnum() or character in "_-.+" for character in stem)
