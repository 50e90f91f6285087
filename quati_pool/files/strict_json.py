"""A JSON decoder that refuses objects with duplicate names, for which Python would keep only the last value."""

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
"""The value of a JSON text. Raises RowError for an object with duplicate names, and the errors of ``json.loads``."""

decode_at = _DECODER.raw_decode
"""The value that begins at an offset of a text, and the offset of its end; raises the same."""
