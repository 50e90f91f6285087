"""The step ``read``: pages from JSONL, Parquet, text files, WARC or ClueWeb22's text files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field

from quati_pool.errors import ConfigError, InputError, MissingExtraError
from quati_pool.preparation.base import Parameters, Part, Reading, Shard, Source
from quati_pool.preparation.batch import WHOLE, Batch
from quati_pool.preparation.reading.fields import CLUEWEB22, Fields
from quati_pool.preparation.reading.files import Format, file_id, find, fixed_root, format_of, without_suffixes
from quati_pool.preparation.reading.folders import read_text
from quati_pool.preparation.reading.jsonl import read_jsonl
from quati_pool.preparation.reading.page import REASONS, BrokenError, Page, Place, RefusedError
from quati_pool.preparation.reading.parquet import read_parquet
from quati_pool.preparation.reading.sharding import shards_of
from quati_pool.preparation.reading.warc import read_warc

_PAGES, _CHARACTERS = 256, 2_000_000
_PACKAGES = {"fastwarc": "fastwarc", "resiliparse": "resiliparse"}


def _listed(path: object) -> object:
    return [path] if isinstance(path, str) else path


def _pattern(path: str) -> str:
    if not path.strip() or "\0" in path:
        raise ValueError(f"expected a file, a pattern or a folder, not {path!r}")
    return path


class ReadParameters(Parameters):
    path: Annotated[
        list[Annotated[str, AfterValidator(_pattern)]],
        BeforeValidator(_listed),
        Field(
            min_length=1,
            description="files, patterns such as pages/**/*.jsonl.gz, and folders; read in the order of their names",
        ),
    ]
    format: Annotated[
        Format | None,
        Field(
            description="jsonl, parquet, text (one page per file), warc (main text of HTML responses) or clueweb22; "
            "by default known from the suffix: .jsonl .ndjson .json .parquet .txt .warc, with .gz or .zst"
        ),
    ] = None
    fields: Annotated[Fields, Field(description="the names of a page's fields in JSONL and Parquet")] = Fields()
    max_page_bytes: Annotated[
        int,
        Field(
            ge=1,
            description="longer pages are dropped: a line, a file, a row's fields or a record's content, unpacked",
        ),
    ] = 10_000_000


class Read(Source):
    """Reads the pages of files, ordered by file name and by their position in the file.

    Line ends in texts become ``\\n``; a leading byte-order mark is removed; NUL and lone surrogates become U+FFFD;
    nothing else is changed. Files that end in .gz or .zst are decompressed.
    """

    id = "preparation/read"
    summary = "pages from JSONL, Parquet, text files, WARC or ClueWeb22"
    Parameters = ReadParameters
    parameters: ReadParameters

    @property
    def reasons(self) -> tuple[str, ...]:
        return REASONS

    def check(self) -> None:
        kind = self.parameters.format
        if "fields" in self.parameters.model_fields_set and kind in ("text", "warc", "clueweb22"):
            raise ConfigError(f"read: the format {kind} has no fields to choose from; leave out fields")
        kinds = {kind} if kind else {format_of(pattern) for pattern in self.parameters.path}
        if "warc" in kinds:
            _require_warc()

    def key(self) -> dict[str, Any]:
        kind = self.parameters.format or find(self.environment.folder, self.parameters.path, None).format
        return {name: version(name) for name in _PACKAGES} if kind == "warc" else {}

    def shards(self) -> list[Shard]:
        found = find(self.environment.folder, self.parameters.path, self.parameters.format)
        if found.format == "warc":
            _require_warc()
        if found.format in ("jsonl", "parquet") and self.parameters.fields.doc_id is None:
            self._check_names(found.names)
        return shards_of(self.environment.folder, found.names, found.format)

    def _check_names(self, names: Sequence[str]) -> None:
        """Raises InputError if pages of two files would get the same ids."""
        root = fixed_root(self.environment.folder, self.parameters.path)
        seen: dict[str, str] = {}
        for name in names:
            other = seen.setdefault(without_suffixes(file_id(root, self.environment.folder / name)), name)
            if other != name:
                message = f"its pages would get the same ids as those of {other}; rename one, or take it out of path"
                raise InputError(self.environment.folder / name, None, message)

    def pages(self, shard: Shard, reading: Reading) -> Iterator[Batch]:
        """As in ``Source``; raises InputError for a file that does not match the configuration."""
        root = fixed_root(self.environment.folder, self.parameters.path)
        gathered = _Gathered()
        before = 0
        for file, part in enumerate(shard.parts):
            place = self._place(root, file, part, reading)
            found = 0
            try:
                for page in self._reader(part)(place):
                    found += 1
                    gathered.add(file, page)
                    if gathered.full:
                        reading.tick(before + place.done)
                        yield gathered.batch()
            except BrokenError as broken:
                place.note(f"{broken} after {found:,} pages, which are kept; copy or compress it again")
            if not part.size:
                place.note("is empty; copy it again if it should not be")
            before += part.size if part.end is None else place.done
            reading.tick(before)
        if gathered.pages:
            yield gathered.batch()

    def _place(self, root: str, file: int, part: Part, reading: Reading) -> Place:
        path = self.environment.folder / part.path
        name = file_id(root, path)

        def refuse(line: int, refused: RefusedError) -> None:
            reading.refuse(REASONS.index(refused.reason) + 1, file, line, refused.excerpt)

        def note(line: str) -> None:
            reading.notes.append(f"{part.path}: {line}")

        kind = self.parameters.format or format_of(part.path)
        name = name if kind == "text" else without_suffixes(name)
        return Place(path, part, self.parameters.max_page_bytes, name, refuse, note)

    def _reader(self, part: Part) -> Callable[[Place], Iterator[Page]]:
        kind = self.parameters.format or format_of(part.path)
        fields = self.parameters.fields
        match kind:
            case "parquet":
                return lambda place: read_parquet(place, fields)
            case "text":
                return read_text
            case "warc":
                return read_warc
            case _:
                return lambda place: read_jsonl(place, CLUEWEB22 if kind == "clueweb22" else fields)


class _Gathered:
    """Collects pages for a batch."""

    def __init__(self) -> None:
        self.pages: list[Page] = []
        self._files: list[int] = []
        self._characters = 0
        self._given = 0

    def add(self, file: int, page: Page) -> None:
        self.pages.append(page)
        self._files.append(file)
        self._characters += len(page.text)

    @property
    def full(self) -> bool:
        return len(self.pages) >= _PAGES or self._characters >= _CHARACTERS

    def batch(self) -> Batch:
        """Returns the collected pages as a batch, and starts the next one."""
        line, doc_id, url, language, text = map(list, zip(*self.pages, strict=True))
        rows = len(line)
        batch = Batch(
            doc_id,
            url,
            language,
            text,
            np.arange(self._given, self._given + rows),
            np.full(rows, WHOLE, dtype=np.int64),
            np.array(self._files, dtype=np.int64),
            np.array(line, dtype=np.int64),
        )
        self._given += rows
        self.pages, self._files, self._characters = [], [], 0
        return batch


def _require_warc() -> None:
    for module, package in _PACKAGES.items():
        if find_spec(module) is None:
            raise MissingExtraError("the format warc", "prepare", package)
