"""A JSON decoder that refuses an object with a name twice, of which Python would keep only the last value."""

from __future__ import annotations

import json

from quati_pool.files.problems import RowError, quoted


def _each_name_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record = dict(pairs)
    if len(record) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise RowError(f"an object holds {quoted(twice)} twice; expected each name once: remove one")
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=_each_name_once)

decode = _DECODER.decode
"""The value of a text. Raises RowError for an object with a name twice, and whatever ``json.loads`` raises."""

decode_at = _DECODER.raw_decode
"""The value that begins at a place of a text, and where it ends; raises the same."""
