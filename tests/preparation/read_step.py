"""Runs the step ``read`` over a folder, and tells all that came of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from quati_pool.preparation.base import ComponentEnvironment, Reading
from quati_pool.preparation.steps.read import Read, ReadParameters


class Row(NamedTuple):
    path: str
    line: int
    doc_id: str
    url: str
    language: str
    text: str


@dataclass
class Outcome:
    """Pages and refusals in order; refusals are (path, line, reason, excerpt)."""

    pages: list[Row] = field(default_factory=list)
    refused: list[tuple[str, int, str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    shards: int = 0
    ticks: list[list[int]] = field(default_factory=list)
    weights: list[int] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        return [page.text for page in self.pages]

    @property
    def ids(self) -> list[str]:
        return [page.doc_id for page in self.pages]

    @property
    def why(self) -> list[tuple[int, str]]:
        return [(line, reason) for _, line, reason, _ in self.refused]


def read(folder: Path, path: str | list[str], **parameters: Any) -> Outcome:
    step = Read(ReadParameters(path=path, **parameters), ComponentEnvironment(folder))
    step.require()
    step.check()
    outcome = Outcome()
    for shard in step.shards():
        outcome.shards += 1
        outcome.weights.append(shard.weight)
        outcome.ticks.append([])
        parts = shard.parts

        def refuse(reason: int, file: int, line: int, excerpt: str, parts: Any = parts) -> None:
            outcome.refused.append((parts[file].path, line, step.reasons[reason - 1], excerpt))

        pages = 0
        for batch in step.pages(shard, Reading(refuse, outcome.ticks[-1].append, outcome.notes)):
            assert 0 < len(batch) <= 256
            assert batch.page.tolist() == list(range(pages, pages + len(batch)))
            assert set(batch.index.tolist()) == {-1}
            pages += len(batch)
            outcome.pages += [
                Row(parts[file].path, *row)
                for file, *row in zip(
                    batch.file.tolist(), batch.line.tolist(), batch.doc_id, batch.url, batch.language, batch.text,
                    strict=True,
                )
            ]  # fmt: skip
    return outcome


def jsonl(*rows: object) -> bytes:
    """Objects a line each; bytes stand as they are."""
    return b"".join((row if isinstance(row, bytes) else json.dumps(row).encode()) + b"\n" for row in rows)


def page(number: int, text: str = "Um texto.", **others: object) -> dict[str, object]:
    return {"doc_id": f"d{number}", "url": f"https://exemplo.br/{number}", "text": text, **others}


def pages(numbers: Iterable[int]) -> list[dict[str, object]]:
    return [page(number) for number in numbers]
