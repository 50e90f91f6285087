"""Finds the files of pages, their format, and their names in ids."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from typing import Literal, NamedTuple, get_args

from quati_pool.errors import InputError
from quati_pool.files.corpus import expand_paths
from quati_pool.preparation.reading.streams import packing
from quati_pool.records import id_problem

Format = Literal["jsonl", "parquet", "text", "warc", "clueweb22"]

_SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".txt": "text",
    ".warc": "warc",
}


class InputFiles(NamedTuple):
    """The input files in order, named relative to the folder of the configuration, and their common format."""

    names: list[str]
    format: Format


def format_of(name: str | Path) -> Format | None:
    """The format that the suffix indicates, with or without .gz or .zst after it; None if unknown."""
    path = PurePath(name)
    packed = packing(name)
    found = _SUFFIXES.get(PurePath(path.stem if packed else path.name).suffix.lower())
    return None if packed and found == "parquet" else found


def find(folder: Path, patterns: Sequence[str], wanted: Format | None) -> InputFiles:
    """The files that match the patterns, sorted by name, each once even if several links lead to it. A folder stands
    for all files in it, at any depth, whose suffix indicates the format.

    Raises InputError if there are none, if ``wanted`` is None and a name indicates no format, and if files of several
    formats are mixed.
    """
    found: dict[str, str] = {}
    for pattern in patterns:
        for path in _expanded(folder, pattern, wanted):
            name = str(path) if Path(pattern).is_absolute() else os.path.relpath(path, folder)
            _check_name(name)
            found.setdefault(os.path.realpath(path), name)
    names = sorted(found.values(), key=lambda name: PurePath(name).parts)
    return InputFiles(names, wanted or _common_format(folder, names))


def _expanded(folder: Path, pattern: str, wanted: Format | None) -> list[Path]:
    if not (folder / pattern).is_dir():
        return expand_paths(folder, pattern)

    def passed_over(path: Path) -> bool:
        return format_of(path) not in ((_suffixed(wanted),) if wanted else _SUFFIXES.values())

    try:
        return expand_paths(folder, f"{glob.escape(pattern)}/**/*", passed_over)
    except InputError:
        kind = f"files of the format {wanted}" if wanted else "files of pages"
        message = f"holds no {kind} ({_suffix_list(wanted)}); check the path, or name the files by a pattern"
        raise InputError(folder / pattern, None, message) from None


def _suffixed(wanted: Format) -> Format:
    return "jsonl" if wanted == "clueweb22" else wanted


def _suffix_list(wanted: Format | None) -> str:
    return ", ".join(suffix for suffix, kind in _SUFFIXES.items() if wanted is None or kind == _suffixed(wanted))


def _check_name(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        shown = name.encode(errors="backslashreplace").decode()
        raise InputError(shown, None, "has a name that is not UTF-8; rename it") from None


def _common_format(folder: Path, names: Iterable[str]) -> Format:
    first: dict[Format, str] = {}
    for name in names:
        kind = format_of(name)
        if kind is None:
            choice = ", ".join(get_args(Format))
            raise InputError(folder / name, None, f"has no known suffix; set  format:  to one of {choice}")
        first.setdefault(kind, name)
    if len(first) > 1:
        (kind, name), (other, another) = list(first.items())[:2]
        message = f"is {kind}, but {another} is {other}; name one by  format:, or the files by a pattern"
        raise InputError(folder / name, None, message)
    return next(iter(first))


def fixed_root(folder: Path, patterns: Sequence[str]) -> str:
    """The deepest folder that contains all files of the patterns, judged by the patterns alone."""
    return os.path.commonpath([os.path.abspath(folder / _fixed(folder, pattern)) for pattern in patterns])


def _fixed(folder: Path, pattern: str) -> Path:
    path = folder / pattern
    if path.is_dir():
        return Path(pattern)
    parts = Path(pattern).parent.parts
    if path.exists() or not glob.has_magic(pattern):
        return Path(*parts)
    fixed = next((place for place, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    return Path(*parts[:fixed])


def file_id(root: str, path: Path) -> str:
    """A file's path below ``root`` as an id: characters that ids may not contain are percent-encoded, as is ``%``."""
    return "".join(map(_allowed, PurePath(os.path.relpath(path, root)).as_posix()))


def _allowed(character: str) -> str:
    if character != "%" and id_problem(character) is None:
        return character
    return "".join(f"%{byte:02X}" for byte in character.encode())


def without_suffixes(name: str) -> str:
    """The name without the suffixes that indicate its format."""
    packed = packing(name)
    plain = name[: len(name) - len(packed)]
    suffix = PurePath(plain).suffix
    return plain[: len(plain) - len(suffix)] if suffix.lower() in _SUFFIXES else plain
