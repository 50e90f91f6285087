"""The funnel as tables, data and a figure, and examples of what each rule dropped."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quati_pool.commands.prepare.prepare import Funnel
from quati_pool.commands.prepare.step_counts import StepCount
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.files.artifacts import locked, stale, write_file
from quati_pool.preparation.config import load_prepare_config
from quati_pool.project.events import Listener
from quati_pool.project.workspace import Workspace
from quati_pool.registry import nearest
from quati_pool.reporting.figures.plots import Drawing, funnel
from quati_pool.reporting.formats.tables import Column, Table, to_json, to_markdown
from quati_pool.reporting.saved_files import save

_INPUTS = 1000
"""Reports name the hashes of as many input files; of more they hold one hash of all."""


def tables(result: Funnel) -> list[Table]:
    """The funnel by step, and what was dropped by reason."""
    steps = Table(
        f"Funnel of {result.config.name}",
        [
            *map(Column, ("Step", "Rows are", "Came", "Dropped", "Left", "Pages left", "Characters left")),
            Column("of those read", decimals=1, percent=True),
        ],
        [
            [
                link.label,
                link.unit,
                count.rows_in,
                sum(count.dropped.values()),
                count.rows_out,
                count.pages_out,
                count.characters_out,
                count.characters_out / first if (first := result.counts[0].characters_out) else None,
            ]
            for link, count in zip(result.links, result.counts, strict=True)
        ],
        "Pages left are those of which something is left; a step that cuts makes more rows than came.",
    )
    reasons = Table(
        "Dropped",
        [Column("Step"), Column("Reason"), Column("Rows"), Column("of those that came", decimals=2, percent=True)],
        [
            [label, reason, dropped, dropped / count.rows_in if count.rows_in else None]
            for label, count, reason, dropped in _dropped(result)
        ],
        "A row is counted under the first reason that holds; quati-pool prepare --explain STEP:REASON shows examples.",
    )
    written = Table(
        "Corpora",
        [Column("Step"), Column("Folder"), Column("Files"), Column("Passages")],
        [[each.label, str(each.folder), each.files, each.rows] for each in result.written],
    )
    return [steps, reasons, written]


def _dropped(result: Funnel) -> Iterator[tuple[str, StepCount, str, int]]:
    for link, count in zip(result.links, result.counts, strict=True):
        for reason in link.step.reasons:
            if count.dropped.get(reason):
                yield link.label, count, reason, count.dropped[reason]


def as_data(result: Funnel) -> dict[str, Any]:
    """The same as JSON; every reason is there, whether it dropped something or not."""
    steps = [
        {
            "step": link.label,
            "unit": link.unit,
            "rows_in": count.rows_in,
            "rows_out": count.rows_out,
            "pages_in": count.pages_in,
            "pages_out": count.pages_out,
            "characters_in": count.characters_in,
            "characters_out": count.characters_out,
            "dropped": {reason: count.dropped.get(reason, 0) for reason in link.step.reasons},
        }
        for link, count in zip(result.links, result.counts, strict=True)
    ]
    corpora = [
        {"step": each.label, "folder": str(each.folder), "files": each.files, "passages": each.rows}
        for each in result.written
    ]
    inputs = result.inputs if len(result.inputs) <= _INPUTS else {}
    return {
        "name": result.config.name,
        "seed": result.config.seed,
        "steps": steps,
        "corpora": corpora,
        "notes": list(result.notes),
        "input_files": len(result.inputs),
        "inputs": inputs,
    }


def picture(result: Funnel) -> Drawing:
    """Characters left after each step, which pages and passages have in common."""
    shown = [f"{count.rows_out:,} {_unit_after(result, place)}" for place, count in enumerate(result.counts)]
    many = result.counts[0].characters_out >= 10_000_000
    scale = 1e6 if many else 1e3
    return funnel(
        [link.label for link in result.links],
        [count.characters_out / scale for count in result.counts],
        [max(count.characters_in - count.characters_out, 0) / scale for count in result.counts],
        shown,
        f"What is left of the pages of {result.config.name}",
        f"{'millions' if many else 'thousands'} of characters",
    )


def _unit_after(result: Funnel, place: int) -> str:
    return result.links[min(place + 1, len(result.links) - 1)].unit


def write(result: Funnel, listener: Listener) -> None:
    """``reports/prepare-<name>.md``, ``.json``, ``.svg``, ``.png``, the examples, and the record of rows that were
    dropped for another one."""
    name = result.config.name
    drawing = picture(result)
    examples = {
        f"{link.label}:{slug(reason)}": {
            "step": link.label,
            "reason": reason,
            "dropped": count.dropped[reason],
            "examples": [
                {"doc_id": each.id, "url": each.url, "place": each.place, "measured": each.detail, "text": each.text}
                for each in count.examples.get(reason, [])
            ],
        }
        for link, count in zip(result.links, result.counts, strict=True)
        for reason in link.step.reasons
        if count.dropped.get(reason)
    }
    head = f"# Preparation of {name}\n\n"
    notes = "".join(f"- {note}\n" for note in result.notes)
    text = head + "\n".join(map(to_markdown, tables(result))) + (f"\n## Notes\n\n{notes}" if notes else "")
    files: dict[str, str | bytes] = {
        f"prepare-{name}.md": text,
        f"prepare-{name}.json": to_json(as_data(result)),
        f"prepare-{name}-examples.json": to_json(examples),
        **{f"prepare-{name}.{suffix}": content for suffix, content in drawing.render_all().items()},
    }
    folder = Workspace(result.config.folder).report("")
    save(None, folder, files, {"preparation": name}, listener, "reports")
    _write_dropped(result, folder / f"prepare-{name}-dropped.jsonl.gz")


def _write_dropped(result: Funnel, path: Path) -> None:
    key = {"preparation": result.key}

    def fill(partial: Path) -> dict[str, int]:
        lines = 0
        with partial.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0, compresslevel=6) as packed:
            for part in result.dropped:
                with part.open("rb") as source:
                    for line in source:
                        packed.write(line)
                        lines += 1
        return {"rows": lines}

    with locked(Workspace(result.config.folder).lock(path.name), lambda line: None):
        if stale(path, key) is not None:
            write_file(path, key, {"preparation": result.config.name}, fill)


def slug(reason: str) -> str:
    """A reason as it is asked for: ``too few words`` is too-few-words."""
    return re.sub(r"[\W_]+", "-", reason.lower()).strip("-")


def explained(path: Path, rule: str) -> tuple[list[Table], dict[str, Any]]:
    """Examples of what one rule dropped, or all rules of a step, from the last run.

    Raises QuatiPoolError where nothing was prepared yet, ConfigError for a rule that dropped nothing.
    """
    config = load_prepare_config(path)
    report = Workspace(config.folder).report(f"prepare-{config.name}-examples.json")
    try:
        known: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise QuatiPoolError(f"{report} is not there yet; run: quati-pool prepare -c {path}") from None
    except ValueError:
        raise QuatiPoolError(f"{report} was spoilt; run again: quati-pool prepare -c {path}") from None
    wanted = rule.strip().lower()
    found = {
        name: each
        for name, each in known.items()
        if wanted in (name, each["step"].lower(), slug(each["reason"])) or slug(wanted) == slug(name)
    }
    if not found:
        raise ConfigError(f"--explain {rule}: no such rule dropped anything; {nearest(rule, known)}")
    shown = [
        Table(
            f"{each['step']}: {each['reason']} ({each['dropped']:,} dropped)",
            [Column("doc_id"), Column("Page"), Column("Measured"), Column("Text")],
            [
                [example["doc_id"] or "–", example["place"], example["measured"] or "–", _start(example["text"])]
                for example in each["examples"]
            ],
        )
        for each in found.values()
    ]
    return shown, found


def _start(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 100 else line[:99] + "…"
