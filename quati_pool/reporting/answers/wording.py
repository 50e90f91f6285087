"""Numbers, names and closing lines as the sentences of answers have them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from quati_pool.commands.llm_runs import dollars
from quati_pool.reporting.formats.document import Link
from quati_pool.reporting.formats.tables import Column
from quati_pool.stats.bootstrap import Interval
from quati_pool.text.display_width import short
from quati_pool.text.pluralize import listed

_NAME = 28
_NAMED = 3
_DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def name(full: str, width: int = _NAME) -> str:
    """A name, with its middle left out if it is too long for a sentence, and without characters that change the
    direction of what follows."""
    return short(_DIRECTION.sub("\ufffd", full), width)


def names(full: Sequence[str], most: int = _NAMED) -> str:
    """``a, b and c``, or ``a, b, c and 4 more``."""
    shown = [name(one) for one in full[:most]]
    return listed([*shown, f"{len(full) - most:,} more"] if len(full) > most else shown)


def linked(full: Sequence[str], to: Callable[[str], str], most: int = _NAMED) -> tuple[str | Link, ...]:
    """As ``names``, each name a link to the address that ``to`` gives it."""
    shown: list[str | Link] = [Link(name(one), to(one)) for one in full[:most]]
    shown += [f"{len(full) - most:,} more"] if len(full) > most else []
    between = [", "] * (len(shown) - 2) + [" and "] * (len(shown) > 1) + [""]
    return tuple(part for pair in zip(shown, between, strict=True) for part in pair if part)


def number(value: float | None, decimals: int) -> str:
    return Column("", decimals).show(value)


def with_interval(value: float | None, found: Interval | None, decimals: int, *, level: bool = False) -> str:
    """``0.452 (0.41 to 0.49)``, or ``0.452 (95 % interval 0.41 to 0.49)`` with ``level``; the value alone if there is
    no interval."""
    if value is None or value != value:
        return "undefined"
    shown = number(value, decimals)
    if found is None or found.low is None or found.high is None:
        return shown
    ends = f"{number(found.low, decimals)} to {number(found.high, decimals)}"
    return f"{shown} (95 % interval {ends})" if level else f"{shown} ({ends})"


def share(value: float) -> str:
    """``58.3 %`` of a share from 0 to 1; one that is not 1 is never shown as 100 %."""
    shown = f"{100 * value:.1f}"
    return "> 99.9 %" if shown == "100.0" and value < 1 else f"{shown} %"


def p_value(p: float | None) -> str:
    """``p = 0.031``, ``p < 0.0001``, or why there is none."""
    if p is None:
        return "p undefined"
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def counts(found: Iterable[tuple[str, int]]) -> str:
    """``3 unparsed, 2 refused``, without those that are 0."""
    return ", ".join(f"{count:,} {what}" for what, count in found if count)


def asked_cost(calls: int, cost: float, unknown: int) -> str:
    """What a model's ``calls`` cost in US dollars, ``unknown`` of which have no known cost."""
    if not calls:
        return "nothing was asked"
    if unknown and not cost:
        return "at an unknown cost"
    return f"{dollars(cost)}{' at least' if unknown else ''}"


def files(folder: Path | None, stem: str) -> str:
    """Where everything else is: ``folder`` has the files that the command wrote, None if it wrote none."""
    if folder is None:
        return "--full prints all tables; -o DIR saves them, with figures."
    return f"--full prints all tables; {stem}.md in {folder} has them too (.tex, .csv, .json and figures next to it)."
