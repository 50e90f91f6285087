"""Normalises language codes to those of fastText's lid.176."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from quati_pool.registry import nearest

_LIST = Path(__file__).with_name("lists") / "languages.txt"
_PARTS = re.compile(r"[-_]")


@cache
def _codes() -> dict[str, str]:
    lines = [line.split() for line in _LIST.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {code: codes[0] for codes in lines for code in codes}


def main_code(declared: str) -> str:
    """The language without region or script: ``pt-BR``, ``pt_br`` and ``por`` are ``pt``; unknown codes are kept."""
    code = _PARTS.split(declared.strip().lower(), maxsplit=1)[0]
    return _codes().get(code, code)


def known_code(code: str) -> str:
    """As ``main_code``; raises ValueError for a language that lid.176 does not identify."""
    found = main_code(code)
    if found not in _codes():
        raise ValueError(f"there is no language {code!r}; {nearest(found, set(_codes().values()))}")
    return found
