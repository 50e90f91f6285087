"""Writes results as JSON text."""

from __future__ import annotations

import json
from typing import Any


def readable_json(value: Any) -> str:
    """Indented JSON for human readers; in ASCII if it contains a lone surrogate, which UTF-8 cannot represent.

    Raises ValueError for a NaN or an infinite number.
    """
    text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(value, indent=1, allow_nan=False)
    return text + "\n"
