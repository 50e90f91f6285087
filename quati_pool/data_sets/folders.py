"""Data sets in folders with the layout of BEIR (``corpus.jsonl``, ``queries.jsonl``, ``qrels/SPLIT.tsv``) or MTEB (the
same as JSON Lines or Parquet, with a data card)."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from quati_pool.data_sets.base import About, DataSet, Judgement
from quati_pool.errors import ConfigError, InputError
from quati_pool.files.columns import required_grade
from quati_pool.files.lines import read_lines
from quati_pool.files.problems import RowError, check_id, quoted
from quati_pool.files.tables import json_object
from quati_pool.records import Query
from quati_pool.registry import nearest

_IDS = ("_id", "id")
_PAIR = ("query-id", "corpus-id", "score")
_SUFFIXES = (".jsonl", ".jsonl.gz", ".tsv", ".tsv.gz", ".parquet")

Record = Mapping[str, Any]


class DataSetFolder(DataSet):
    """A folder with the layout of BEIR or MTEB; raises InputError where there is none."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._folder = folder / name
        if not self._folder.is_dir():
            raise InputError(self._folder, None, "there is no such folder; check the path")

    def files(self) -> list[Path]:
        return [*self._parts("corpus"), *self._parts("queries"), *self._qrels_files()]

    def passages(self, text: Sequence[str] | None = None) -> Iterator[tuple[str, str]]:
        fields = text or ("title", "text")
        for path, line, record in self._records("corpus"):
            yield _id(path, line, record), "\n".join(_words(path, line, record, fields, required=text is not None))

    def queries(self, query: Sequence[str] | None = None, narrative: str = "narrative") -> Iterator[Query]:
        for path, line, record in self._records("queries"):
            words = _words(path, line, record, query or ("text",), required=True)
            more = record.get("metadata") if isinstance(record.get("metadata"), dict) else {}
            told = record.get(narrative) or (more or {}).get(narrative)
            cluster = (more or {}).get("cluster_id")
            yield Query(
                _id(path, line, record), " ".join(words), str(told) if told else None, str(cluster) if cluster else None
            )

    def judgements(self, split: str | None = None) -> Iterator[Judgement]:
        for path in self._qrels(split or "test"):
            for line, row in _rows(path):
                try:
                    for column in _PAIR:
                        if column not in row:
                            raise RowError(f"no column {quoted(column)}; expected {', '.join(_PAIR)}")
                    query_id, doc_id, score = (str(row[column]) for column in _PAIR)
                    check_id("query-id", query_id)
                    check_id("corpus-id", doc_id)
                    yield Judgement(query_id, doc_id, required_grade(score))
                except RowError as fault:
                    raise InputError(path, line, str(fault)) from None

    def about(self) -> About:
        readme = self._folder / "README.md"
        front: Any = None
        if readme.exists():
            parts = readme.read_text(encoding="utf-8", errors="replace").split("---\n")
            try:
                front = yaml.safe_load(parts[1]) if len(parts) > 2 and not parts[0].strip() else None
            except yaml.YAMLError:
                front = None
        known = front if isinstance(front, dict) else {}
        stated = known.get("license_name") or known.get("license")
        title = known.get("pretty_name")
        return About(self.name, str(title) if title else None, str(stated) if stated else None)

    def _records(self, part: str) -> Iterator[tuple[Path, int, Record]]:
        for path in self._parts(part):
            for line, record in _rows(path):
                yield path, line, record

    def _parts(self, part: str) -> list[Path]:
        """The files of the corpus or the queries: one, or the shards of a folder."""
        one = [self._folder / f"{part}{suffix}" for suffix in _SUFFIXES]
        found = [path for path in one if path.is_file()][:1] or _shards(self._folder / part)
        if not found:
            path = self._folder / f"{part}.jsonl"
            raise InputError(path, None, f"there is no such file, nor {part}/*.parquet; check the folder")
        return found

    def _qrels_files(self) -> list[Path]:
        return [path for folder in ("qrels", "data") for path in _shards(self._folder / folder)]

    def _qrels(self, split: str) -> list[Path]:
        """The files of one split: ``test.tsv``, ``test.jsonl``, ``test.parquet`` or ``test-00000-of-00001.parquet``."""
        by_split: dict[str, list[Path]] = {}
        for path in self._qrels_files():
            by_split.setdefault(path.name.split(".")[0].split("-0")[0], []).append(path)
        if not by_split:
            raise ConfigError(f"{self._folder} has no judgements; expected qrels/{split}.tsv")
        if split not in by_split:
            raise ConfigError(f"{self._folder} has no split {split!r}; {nearest(split, by_split)}")
        return by_split[split]


def _shards(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.is_file() and path.name.endswith(_SUFFIXES))


def _rows(path: Path) -> Iterator[tuple[int, Record]]:
    """The records of a file with their lines; rows of Parquet count from 1."""
    if path.suffix == ".parquet":
        yield from _parquet(path)
    elif ".tsv" in path.suffixes:
        lines = read_lines(path)
        names = next(lines, (1, ""))[1].split("\t")
        reader = csv.reader((text for _, text in lines), delimiter="\t")
        for line, cells in enumerate(reader, 2):
            if len(cells) != len(names):
                raise InputError(path, line, f"{len(cells)} columns; expected {len(names)}: as in the header")
            yield line, dict(zip(names, cells, strict=True))
    else:
        for line, text in read_lines(path):
            if text and not text.isspace():
                try:
                    yield line, json_object(text)
                except RowError as fault:
                    raise InputError(path, line, str(fault)) from None


def _parquet(path: Path) -> Iterator[tuple[int, Record]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            row = 0
            for batch in file.iter_batches(1024):
                for record in batch.to_pylist():
                    row += 1
                    yield row, record
    except (pa.ArrowException, OSError) as error:
        raise InputError(path, None, "is damaged or not Parquet; copy or write it again") from error


def _id(path: Path, line: int, record: Record) -> str:
    name = next((name for name in _IDS if name in record), None)
    if name is None:
        raise InputError(path, line, f"no column '_id'; the columns are {', '.join(record) or 'none'}")
    value = record[name]
    if not isinstance(value, str):
        raise InputError(path, line, f"{name} is {json.dumps(value, default=str)}; expected a string")
    try:
        check_id(name, value)
    except RowError as fault:
        raise InputError(path, line, str(fault)) from None
    return value


def _words(path: Path, line: int, record: Record, fields: Sequence[str], *, required: bool) -> list[str]:
    """The non-empty values of some fields; a missing one is a fault if it is ``required``."""
    found = []
    for field in fields:
        if field not in record and (required or field == "text"):
            raise InputError(path, line, f"no column {quoted(field)}; the columns are {', '.join(record)}")
        value = record.get(field)
        if value is not None and not isinstance(value, str):
            raise InputError(path, line, f"{field} is {json.dumps(value, default=str)}; expected a string")
        if value:
            found.append(value)
    return found
