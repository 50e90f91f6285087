"""Token counts and cuts: by size, by a local encoding, and never by a download."""

from __future__ import annotations

import base64
import hashlib
import socket
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.llm import tokens
from quati_pool.llm.tokens import ESTIMATED, Estimate, estimate, truncate


@pytest.fixture(autouse=True)
def _no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))


def test_a_text_is_estimated_by_its_bytes() -> None:
    assert estimate("") == Estimate(0, ESTIMATED)
    assert estimate("abcdefg").tokens == 2
    assert estimate("abcdefgh").tokens == 3
    # Seven bytes in UTF-8: "ã" and "ç" have two each.
    assert estimate("nãoaç").tokens == 2


def test_messages_cost_their_frame_too() -> None:
    messages = [{"role": "system", "content": "a" * 35}, {"role": "user", "content": "b" * 70}]
    assert estimate(messages) == Estimate(10 + 20 + 2 * 4, ESTIMATED)


@given(st.text(), st.text())
def test_more_text_never_has_fewer_tokens(one: str, other: str) -> None:
    assert estimate(one).tokens <= estimate(one + other).tokens


def test_nothing_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert estimate("abc", "gpt-4o").how == ESTIMATED


def test_a_damaged_encoding_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "damaged"
    folder.mkdir()
    url = tokens._ENCODINGS["o200k_base"]
    (folder / hashlib.sha1(url.encode()).hexdigest()).write_bytes(b"not an encoding")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    assert estimate("abc", "gpt-4o").how == ESTIMATED


@pytest.fixture
def _bytes_encoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An encoding of one token a byte, and one for "ab", in the place of o200k_base."""
    import tiktoken
    from tiktoken import registry
    from tiktoken.load import load_tiktoken_bpe

    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256}
    data = b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())
    folder = tmp_path / "encodings"
    folder.mkdir()
    url = tokens._ENCODINGS["o200k_base"]
    (folder / hashlib.sha1(url.encode()).hexdigest()).write_bytes(data)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    monkeypatch.setitem(tokens._HASHES, "o200k_base", hashlib.sha256(data).hexdigest())
    registry._find_constructors()
    assert registry.ENCODING_CONSTRUCTORS is not None

    def made() -> dict[str, Any]:
        return {
            "name": "o200k_base",
            "pat_str": r"\S+|\s+",
            "mergeable_ranks": load_tiktoken_bpe(url),
            "special_tokens": {},
        }

    monkeypatch.setitem(registry.ENCODING_CONSTRUCTORS, "o200k_base", made)
    monkeypatch.setattr(registry, "ENCODINGS", {})
    tokens._loaded.cache_clear()
    yield
    tokens._loaded.cache_clear()
    del tiktoken


@pytest.mark.usefixtures("_bytes_encoding")
def test_a_local_encoding_counts_exactly() -> None:
    assert estimate("abxab", "gpt-4o") == Estimate(3, "o200k_base")
    assert estimate("abxab", "qwen3").how == ESTIMATED
    assert truncate("abxab", 2, "gpt-4o") == "abx"


TEXTS = st.text() | st.text(st.sampled_from("ae\u0301\u0327 \r\n👍🏽👩\u200d👧🇧🇷각\ud83d\ude00ção"))


@given(TEXTS, st.integers(0, 12))
def test_a_cut_text_is_a_beginning_within_the_limit_and_as_long_as_can_be(text: str, most: int) -> None:
    cut = truncate(text, most)
    assert text.startswith(cut)
    assert estimate(cut).tokens <= most
    rest = text[len(cut) :]
    if rest:
        # What a reader would see as the next character does not fit.
        more = 1
        while more < len(rest) and tokens._joined(text, len(cut) + more):
            more += 1
        assert estimate(text[: len(cut) + more]).tokens > most
        # No mark stands alone at the cut.
        assert unicodedata.category(rest[0]) not in ("Mn", "Me") or not cut


@pytest.mark.parametrize(
    "character",
    [
        "e\u0301",
        "👍🏽",
        "👩\u200d👧",
        "🇧🇷",
        "❤\ufe0f",
        "\ud83d\ude00",
        "\u1100\u1161\u11a8",
        "\r\n",
        "🏴\U000e0067\U000e007f",
    ],
)
def test_what_a_reader_sees_as_one_character_is_never_cut(character: str) -> None:
    text = "ab" + character + character
    whole = {"", "a", "ab", "ab" + character, text}
    assert {truncate(text, most) for most in range(20)} <= whole


def test_cutting_is_quick_on_long_texts() -> None:
    assert len(truncate("a" * 5_000_000, 1000)) == 3500
    assert truncate("🇧🇷" * 50_000, 1000)
