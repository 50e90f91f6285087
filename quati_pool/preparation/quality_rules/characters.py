"""Character properties from Unicode, as tables over all code points."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

CODE_POINTS = 0x110000

SPACE = 1
"""The characters that ``str.split`` splits at."""
BREAK = 2
"""The characters that end a line for ``str.splitlines``; they are white space too."""
ALPHABETIC = 4
"""The characters for which ``str.isalpha`` is true: the categories L."""
SPELLING = 8
"""Letters, numbers and combining marks: the categories L, N and M."""
LETTER = 16
"""Letters and combining marks, which write vowels in many scripts: the categories L and M."""
BULLET = 32

BREAKS = "\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"
BULLETS = "•‣⁃◦∙·▪▫●○■□◆◇▶►▸➢➤✓✔★*-"
"""Dashes are not included: in Portuguese, Spanish and French a line of dialogue begins with one."""

HASH_SIGN, FULL_STOP, ELLIPSIS = ord("#"), ord("."), ord("…")

_KINDS = {"L": ALPHABETIC | SPELLING | LETTER, "M": SPELLING | LETTER, "N": SPELLING}


@cache
def classes() -> npt.NDArray[np.uint8]:
    """The sum of the above flags for each code point, shape (0x110000,)."""
    kinds = "".join([category[0] for category in map(unicodedata.category, map(chr, range(CODE_POINTS)))])
    codes = np.frombuffer(kinds.encode("ascii"), dtype=np.uint8)
    flags = np.zeros(128, dtype=np.uint8)
    for kind, flag in _KINDS.items():
        flags[ord(kind)] = flag
    table = flags[codes]
    # There is no white space beyond U+3000.
    for code in range(0x3001):
        if chr(code).isspace():
            table[code] |= SPACE
    for characters, flag in ((BREAKS, BREAK), (BULLETS, BULLET)):
        for character in characters:
            table[ord(character)] |= flag
    table.flags.writeable = False
    return table


@cache
def lower_case() -> npt.NDArray[np.uint32]:
    """The first code point of each code point's lower case, with ς mapped to σ; shape (0x110000,)."""
    table = np.arange(CODE_POINTS, dtype=np.uint32)
    # Capitals occur only in the first two planes.
    table[:0x20000] = [ord(chr(code).lower()[0]) for code in range(0x20000)]
    table[ord("ς")] = ord("σ")
    table.flags.writeable = False
    return table


def code_points(text: str) -> npt.NDArray[Any]:
    """The text's code points, including lone surrogates; uint32."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
