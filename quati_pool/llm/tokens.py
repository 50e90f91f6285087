"""The number of tokens in a text: counted if the model's encoding is on this machine, else estimated by size.

tiktoken would download an encoding that it does not find; here it is called only when the file is known to exist, so
nothing is ever downloaded.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import tiktoken

BYTES_A_TOKEN = 3.5
"""UTF-8 bytes per token: our own estimate for Portuguese and English prose under today's encodings, which errs towards
too many tokens. Texts in other scripts have more bytes per character and about as many per token."""

ESTIMATED = "estimated by characters"

MESSAGE_TOKENS = 4
"""Tokens that a chat message costs in addition to its text, for its role and delimiters."""

_ENCODINGS = {
    "o200k_base": "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken",
    "cl100k_base": "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken",
}


class Estimate(NamedTuple):
    """A number of tokens and how it was determined: the encoding's name, or ``ESTIMATED``."""

    tokens: int
    how: str


Count = Callable[[str | Iterable[Mapping[str, str]]], int]


def estimate(text: str | Iterable[Mapping[str, str]], model: str | None = None) -> Estimate:
    """The tokens of a text, or of chat messages with their overhead, under a model's encoding."""
    encoding = _encoding(model)
    return Estimate(counting(model)(text), ESTIMATED if encoding is None else encoding.name)


def counting(model: str | None = None) -> Count:
    """A function that counts tokens as ``estimate`` does, for many texts: the encoding is looked up once."""
    encoding = _encoding(model)

    # Most calls of a run share all messages except the last.
    @lru_cache(maxsize=8)
    def of_all(contents: tuple[str, ...]) -> int:
        return sum(_count(content, encoding) + MESSAGE_TOKENS for content in contents)

    def count(text: str | Iterable[Mapping[str, str]]) -> int:
        if isinstance(text, str):
            return _count(text, encoding)
        contents = [message["content"] for message in text]
        last = sum(_count(content, encoding) + MESSAGE_TOKENS for content in contents[-1:])
        return of_all(tuple(contents[:-1])) + last

    return count


def truncate(text: str, max_tokens: int, model: str | None = None) -> str:
    """The longest prefix of ``text`` that has at most ``max_tokens`` tokens according to ``estimate``.

    It is never cut inside what a reader sees as one character: a letter and its combining marks, a joined
    emoji, a flag of two letters, a two-character line ending.
    """
    encoding = _encoding(model)
    if _count(text, encoding) <= max_tokens:
        return text
    # A longer text never has fewer bytes, but under an encoding it may have a token less, so the cut is checked below.
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if _count(text[:middle], encoding) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    cut = _border(text, low)
    while cut and _count(text[:cut], encoding) > max_tokens:
        cut = _border(text, cut - 1)
    return text[:cut]


def _count(text: str, encoding: tiktoken.Encoding | None) -> int:
    if encoding is not None:
        return _encoded(text, encoding)
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return -int(-size // BYTES_A_TOKEN)


# All messages of a prompt except the last are the same in every call.
@lru_cache(maxsize=256)
def _encoded(text: str, encoding: tiktoken.Encoding) -> int:
    return len(encoding.encode_ordinary(text))


def _border(text: str, cut: int) -> int:
    """The last position at or before ``cut`` between two characters as a reader sees them."""
    while 0 < cut < len(text) and _joined(text, cut):
        cut -= 1
    return cut


def _joined(text: str, place: int) -> bool:
    """Whether the code points on both sides of ``place`` belong together."""
    before, after = text[place - 1], text[place]
    if after == "\n" and before == "\r":
        return True
    if unicodedata.category(after) in ("Mn", "Me", "Mc") or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    # Joiners, tag characters, and the character after a joiner.
    if after in "\u200c\u200d" or before == "\u200d" or "\U000e0020" <= after <= "\U000e007f":
        return True
    if "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff":
        return True
    # Korean syllables written as letters: a consonant, a vowel, a closing consonant.
    if "\u1160" <= after <= "\u11ff" and ("\u1100" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"):
        return True
    if _flag(before) and _flag(after):
        run = 0
        while place - 1 - run >= 0 and _flag(text[place - 1 - run]):
            run += 1
        return run % 2 == 1
    return False


def _flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _encoding(model: str | None) -> tiktoken.Encoding | None:
    """A model's encoding, if tiktoken knows it and its file is on this machine."""
    return _loaded(model, _cache_folder()) if model else None


def _cache_folder() -> str:
    """The folder of tiktoken's cache; empty if caching is turned off."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return os.environ[variable]
    return str(Path(tempfile.gettempdir()) / "data-gym-cache")


@cache
def _loaded(model: str, folder: str) -> tiktoken.Encoding | None:
    try:
        import tiktoken
        from tiktoken.model import encoding_name_for_model
    except ImportError:
        return None
    try:
        name = encoding_name_for_model(model)
    except KeyError:
        return None
    url = _ENCODINGS.get(name)
    if url is None or not folder:
        return None
    path = Path(folder) / hashlib.sha1(url.encode()).hexdigest()
    # tiktoken downloads a file again if its hash is wrong, so the hash is checked first.
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != _HASHES[name]:
        return None
    return tiktoken.get_encoding(name)


_HASHES = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
