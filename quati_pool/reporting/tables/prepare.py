"""The tables of ``prepare``: its funnel, and examples of what each rule dropped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quati_pool.commands.prepare.prepare import Funnel
from quati_pool.commands.prepare.step_counts import StepCount
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.preparation.config import load_prepare_config
from quati_pool.project.workspace import Workspace
from quati_pool.registry import nearest
from quati_pool.reporting.formats.tables import Column, Table


def tables(result: Funnel) -> list[Table]:
    """The funnel by step, the rows dropped by reason, and the corpora written."""
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
        "Pages left are those of which something is left; a step that cuts produces more rows than it receives.",
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


def rule_name(step: str, reason: str) -> str:
    """The name of a step's rule, as --explain takes it."""
    return f"{step}:{slug(reason)}"


def slug(reason: str) -> str:
    """A reason in the form used in rule names: ``too few words`` becomes too-few-words."""
    return re.sub(r"[\W_]+", "-", reason.lower()).strip("-")


def explained(path: Path, rule: str) -> tuple[list[Table], dict[str, Any]]:
    """Examples of what one rule, or all rules of a step, dropped in the last run: as tables, and by rule name.

    Raises QuatiPoolError if nothing was prepared yet, ConfigError for a rule that dropped nothing.
    """
    config = load_prepare_config(path)
    report = Workspace(config.folder).report(f"prepare-{config.name}-examples.json")
    try:
        known: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise QuatiPoolError(f"{report} is not there yet; run: quati-pool prepare -c {path}") from None
    except ValueError:
        raise QuatiPoolError(f"{report} is damaged; run again: quati-pool prepare -c {path}") from None
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
