"""Writes tables as TSV with a header."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from quati_pool.files.artifacts import naming, put_file
from quati_pool.files.label_files.cells import escaped


def put_tsv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[str | int | float | None]]) -> None:
    """Writes the rows under a header, all at once or not at all; None is an empty cell. A file that has this content
    already is not touched."""
    lines = [columns, *(["" if cell is None else str(cell) for cell in row] for row in rows)]
    content = "".join("\t".join(map(escaped, line)) + "\n" for line in lines).encode()
    if path.is_file() and path.read_bytes() == content:
        return
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        put_file(path, lambda partial: partial.write_bytes(content))
