"""Results as JSON text."""

from __future__ import annotations

import json
from typing import Any


def readable_json(value: Any) -> str:
    """JSON to read by eye, over several lines; in ASCII where it holds half a surrogate pair, which UTF-8 cannot hold.

    Raises ValueError for a NaN or an infinite number.
    """
    text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(value, indent=1, allow_nan=False)
    return text + "\n"
