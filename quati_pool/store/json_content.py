"""JSON content that is to be stored: what cannot be stored is refused, and equal values are recognised."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from quati_pool.store.columns import json_text
from quati_pool.store.errors import StoreError

_UNFIT = re.compile("[\x00\ud800-\udfff]")


def refuse_unfit(what: str, value: Any) -> None:
    """Raises StoreError, which begins with ``what``, for a text or number that databases or JSON cannot hold."""
    if isinstance(value, str) and (unfit := _UNFIT.search(value)):
        character = f"U+{ord(unfit.group()):04X}"
        raise StoreError(f"{what}: it holds the character {character}, which databases cannot store; remove it")
    if isinstance(value, float) and not math.isfinite(value):
        raise StoreError(f"{what}: it holds the number {value}, which JSON has not; leave it out")
    if isinstance(value, Mapping):
        for pair in value.items():
            refuse_unfit(what, pair)
    elif isinstance(value, list | tuple):
        for one in value:
            refuse_unfit(what, one)


def canonical(value: Any) -> str:
    """Text that is the same for equal values only, stored or not."""
    return json.dumps(json.loads(json_text(value)), sort_keys=True)
