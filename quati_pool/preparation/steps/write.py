"""The step ``write``: writes passages as corpus files, which ``build`` can read directly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from json import JSONEncoder
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator

from quati_pool.errors import ConfigError
from quati_pool.files.lines import output
from quati_pool.preparation.base import ComponentEnvironment, Sink
from quati_pool.preparation.base import Parameters as StepParameters
from quati_pool.preparation.batch import Batch

Extra = Literal["url", "language", "page_id"]

_ALWAYS = ("doc_id", "text")
_LEVEL = 4
"""The gzip level: compresses text in half the time of level 6, into files that are 6 % larger."""

_LINES = 256
_GROUP = 10_000
_CHARACTERS = 32_000_000
"""A group of rows ends as soon as it has this many characters, so that whole pages do not fill the memory either."""


class Write(Sink):
    """Writes files of ``rows`` passages with the fields ``doc_id`` and ``text``, and further fields if known.

    The files' bytes depend on the passages alone, not on how they were batched.
    """

    id = "preparation/write"
    summary = "writes the passages as JSONL or Parquet, in files that build reads"

    class Parameters(StepParameters):
        to: Annotated[str, Field(description="the folder for the files")]
        format: Annotated[Literal["jsonl.gz", "jsonl", "parquet"], Field(description="jsonl.gz, jsonl or parquet")] = (
            "jsonl.gz"
        )
        rows: Annotated[int, Field(ge=1, description="how many passages a file holds")] = 100_000
        fields: Annotated[
            list[Extra],
            Field(
                description="what to write besides doc_id and text, where it is known: "
                "url, language, page_id (the doc_id of the page)"
            ),
        ] = ["url"]  # noqa: RUF012

        @field_validator("fields")
        @classmethod
        def _once(cls, fields: list[Extra]) -> list[Extra]:
            if len(set(fields)) < len(fields):
                raise ValueError(f"expected each field once, not {', '.join(fields)}")
            return fields

    parameters: Parameters

    def __init__(self, parameters: Parameters, environment: ComponentEnvironment | None = None) -> None:
        super().__init__(parameters, environment)
        self.rows = parameters.rows

    @property
    def folder(self) -> Path:
        return Path(self.parameters.to)

    def check(self) -> None:
        """Raises ConfigError if ``to`` cannot be a folder for the passages alone."""
        to = self.parameters.to
        folder = self.environment.folder / to
        if (
            not to.strip()
            or "\0" in to
            or self.environment.folder.absolute().resolve().is_relative_to(folder.resolve())
        ):
            raise ConfigError(
                f"write: to: {to!r} is not a folder of its own; name one beside prepare.yaml, such as  to: corpus"
            )
        for own in ("cache", "reports"):
            if folder.resolve().is_relative_to((self.environment.folder / own).resolve()):
                raise ConfigError(f"write: to: {to!r} is where the tool keeps its own files; name another folder")
        for place in (folder, *folder.parents):
            if place.exists() and not place.is_dir():
                raise ConfigError(f"write: to: {place} is a file; name a folder for the passages, or move that file")

    def name(self, number: int) -> str:
        return f"{number:05d}.{self.parameters.format}"

    def write(self, path: Path, batches: Iterator[Batch]) -> None:
        if self.parameters.format == "parquet":
            _write_parquet(path, batches, self.parameters.fields)
        else:
            _write_lines(path, batches, self.parameters.fields)


_Row = tuple[str, ...]
"""The values of ``doc_id``, ``text`` and the other fields."""


def _rows(batches: Iterator[Batch], fields: Sequence[Extra]) -> Iterator[_Row]:
    for batch in batches:
        known = {"url": batch.url, "language": batch.language, "page_id": batch.doc_id}
        yield from zip(batch.ids, batch.text, *(known[field] for field in fields), strict=True)


def _grouped(rows: Iterator[_Row], size: int) -> Iterator[list[_Row]]:
    """Groups of ``size`` rows, or fewer if they reach ``_CHARACTERS``; independent of where the batches ended."""
    group: list[_Row] = []
    characters = 0
    for row in rows:
        group.append(row)
        characters += len(row[1])
        if len(group) == size or characters >= _CHARACTERS:
            yield group
            group, characters = [], 0
    if group:
        yield group


def _write_lines(path: Path, batches: Iterator[Batch], fields: Sequence[Extra]) -> None:
    encode = JSONEncoder(ensure_ascii=False).encode
    names = (*_ALWAYS, *fields)
    with output(path, _LEVEL) as stream:
        for group in _grouped(_rows(batches, fields), _LINES):
            lines = [
                encode({name: value for name, value in zip(names, row, strict=True) if value or name in _ALWAYS})
                for row in group
            ]
            stream.write(("\n".join(lines) + "\n").encode())


def _write_parquet(path: Path, batches: Iterator[Batch], fields: Sequence[Extra]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = (*_ALWAYS, *fields)
    schema = pa.schema([pa.field(name, pa.string(), nullable=name not in _ALWAYS) for name in names])
    # The values of the other columns hardly repeat, and Parquet's statistics of texts would contain whole texts.
    repeated = [name for name in fields if name != "url"]
    settings = {"compression": "zstd", "use_dictionary": repeated or False, "write_statistics": ["doc_id"]}
    with pq.ParquetWriter(path, schema, **settings) as writer:
        for group in _grouped(_rows(batches, fields), _GROUP):
            columns = [
                pa.array([value if value or name in _ALWAYS else None for value in column], pa.string())
                for name, column in zip(names, zip(*group, strict=True), strict=True)
            ]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=len(group))
