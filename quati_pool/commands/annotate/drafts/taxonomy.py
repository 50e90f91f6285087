"""Drafts for the combinations of a taxonomy: which ones are asked for, in order, and which questions each request
shows.

What a draft was asked for is kept in a file before the model is asked. A later run asks for the same in the same words,
so that nothing is paid for twice although there are more questions by then.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from quati_pool.commands.annotate.drafts.homes import PURPOSE
from quati_pool.commands.annotate.drafts.requests import DraftSource
from quati_pool.commands.annotate.questions.rules import AXES, taxonomy
from quati_pool.commands.annotate.questions.writing import drafted, state_of
from quati_pool.errors import InputError
from quati_pool.files.artifacts import put_file
from quati_pool.project.config import PoolConfig
from quati_pool.stats.hashing import hashes
from quati_pool.store.records import Question
from quati_pool.text.fencing import sendable

Cell = tuple[str, str, str]

MOST_PLANNED = 10_000
"""The most drafts for a taxonomy: there is no end to them."""

MOST_SHOWN = 50
"""The most questions of a combination that a request shows, the newest ones."""

_LABELS = {
    "pt": ("Tema", "Abrangência", "Tipo"),
    "en": ("Theme", "Scope", "Type"),
    "es": ("Tema", "Alcance", "Tipo"),
}


class Planned(NamedTuple):
    """A draft to ask for; ``others`` are the questions of its combination at the time, and the drafts for it that were
    held back or withdrawn."""

    cell: Cell
    number: int
    others: tuple[str, ...]

    @property
    def source_id(self) -> str:
        # A value may have a slash of its own.
        return "/".join((*(value.replace("\\", r"\\").replace("/", r"\/") for value in self.cell), str(self.number)))

    def source(self, language: str) -> DraftSource:
        """What the draft is asked from, with labels in the prompt's language."""
        lines = (f"{label}: {_line(value)}" for label, value in zip(_LABELS[language], self.cell, strict=True))
        fields = {"brief": "\n".join(lines), "wording": "\n".join(map(_line, self.others))}
        return DraftSource(self.source_id, fields, {}, self.cell)


class TaxonomyPlan:
    """The drafts that a model was and will be asked for, in order. ``save`` keeps them before they are asked for."""

    def __init__(self, path: Path) -> None:
        """Raises InputError, with the line, for a file that is none of ours."""
        self._path = path
        self.planned = _read(path) if path.exists() else []

    def extend(
        self,
        config: PoolConfig,
        questions: Sequence[Question],
        added: Collection[str],
        held_back: Mapping[str, str],
        room: int,
    ) -> None:
        """Plans a draft for each of those combinations that have the fewest questions, at most ``room``.

        Drafts that were asked for and are not among the questions count too, so that a combination that drafts fail for
        does not get all of them: ``added`` are the source_ids of those that are, ``held_back`` the questions of those
        that people do not see. Equal combinations are in an order drawn by the collection's seed.
        """
        cells = combinations(config)
        texts = _texts(questions)
        # What people refused is not to be written again.
        shown = _texts(questions, withdrawn_drafts=True)
        held: dict[Cell, list[str]] = {}
        for one in self.planned:
            if one.source_id in held_back:
                held.setdefault(one.cell, []).append(held_back[one.source_id])
        asked = Counter(one.cell for one in self.planned)
        pending = Counter(one.cell for one in self.planned if one.source_id not in added)
        level = {cell: len(texts.get(cell, ())) + pending[cell] for cell in cells}
        least = min(level.values())
        drawn = dict(zip(cells, hashes(PURPOSE, config.seed, *zip(*cells, strict=True)).tolist(), strict=True))
        chosen = sorted((cell for cell in cells if level[cell] == least), key=lambda cell: (drawn[cell], cell))[:room]
        for cell in chosen:
            others = [*held.get(cell, ()), *shown.get(cell, ())]
            self.planned.append(Planned(cell, asked[cell] + 1, tuple(others[-MOST_SHOWN:])))

    def save(self) -> None:
        lines = [
            json.dumps({**dict(zip(AXES, one.cell, strict=True)), "number": one.number, "others": one.others},
                       ensure_ascii=False)
            for one in self.planned
        ]  # fmt: skip
        text = "".join(f"{sendable(line)}\n" for line in lines)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        put_file(self._path, lambda partial: partial.write_text(text, encoding="utf-8"))


def combinations(config: PoolConfig) -> list[Cell]:
    """The combinations of a collection's taxonomy."""
    values = taxonomy(config)
    return [(theme, scope, kind) for theme in values["theme"] for scope in values["scope"] for kind in values["type"]]


def _texts(questions: Sequence[Question], *, withdrawn_drafts: bool = False) -> Mapping[Cell, list[str]]:
    """The questions of each combination that are proposed or accepted, or drafts that were withdrawn, oldest first."""
    found: dict[Cell, list[str]] = {}
    for one in questions:
        last, state = one.last, state_of(one)
        shown = state in ("proposed", "accepted") or (withdrawn_drafts and state == "withdrawn" and drafted(one))
        if shown and None not in (last.theme, last.scope, last.type):
            found.setdefault((str(last.theme), str(last.scope), str(last.type)), []).append(str(last.query))
    return found


def _read(path: Path) -> list[Planned]:
    found = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            one = json.loads(line)
            planned = Planned((one["theme"], one["scope"], one["type"]), one["number"], tuple(one["others"]))
            if type(planned.number) is not int or not all(
                isinstance(text, str) for text in (*planned.cell, *planned.others)
            ):
                raise ValueError
        except (ValueError, TypeError, KeyError, RecursionError):
            problem = "is no line of a plan of drafts; delete this line, and what it planned is asked for again"
            raise InputError(path, number, problem) from None
        found.append(planned)
    return found


def _line(text: str) -> str:
    return " ".join(text.split())
