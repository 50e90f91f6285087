"""What became of the drafts of a run: the report, and the file that lists each of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from quati_pool.commands.annotate.drafts.checking import HeldBack
from quati_pool.commands.llm_runs import Ending
from quati_pool.commands.model_answers.asking import Answers
from quati_pool.errors import QuatiPoolError
from quati_pool.files.artifacts import write_file
from quati_pool.text.fencing import sendable

Status = Literal["added", "there", "held_back", "failed", "not_asked"]


@dataclass(frozen=True)
class Outcome:
    """What became of the draft from one source. ``waits``: whether people are still to decide on it; ``draft`` has its
    texts by field; ``state`` and ``problem`` are those of an answer that is none."""

    source_id: str
    status: Status
    draft_id: str | None = None
    waits: bool = False
    draft: Mapping[str, str] | None = None
    held: HeldBack | None = None
    state: str | None = None
    problem: str | None = None


@dataclass(eq=False)
class Asked:
    """What one run of a command asked of a model. ``model`` is the judge's name in pool.yaml, ``drafter`` that of its
    model.

    ``cost`` is that of this run in US dollars, without ``unknown`` calls of unknown cost; ``spent`` is what it took
    from its budget; ``asked`` counts the requests that were answered in it. ``error`` says why not all were asked, and
    ``ended`` whether that was Ctrl-C or the budget.
    """

    model: str
    drafter: str
    asked: int = field(default=0, kw_only=True)
    calls: int = field(default=0, kw_only=True)
    cost: float = field(default=0.0, kw_only=True)
    spent: float = field(default=0.0, kw_only=True)
    unknown: int = field(default=0, kw_only=True)
    ended: Ending | None = field(default=None, kw_only=True)
    error: QuatiPoolError | None = field(default=None, kw_only=True)

    def count(self, answers: Answers, requests: int, budget: float | None, one: str, everything: str) -> None:
        """Counts the answers to so many requests, each of which is called ``one``, and all of them ``everything``.
        ``budget`` is that of the command."""
        self.asked += answers.asked
        self.calls += answers.calls
        self.cost += answers.cost
        self.spent += answers.spent
        self.unknown += answers.unknown
        self.ended = answers.ended
        why = answers.cut_short(requests, budget, self.spent, one)
        if why is not None:
            again = "run the same command again: what is written is kept"
            self.error = QuatiPoolError(f"{self.model} was not asked for {everything} ({why}); {again}")


@dataclass(eq=False)
class DraftReport(Asked):
    """The drafts of one run. ``wanted`` is how many were asked for, which may be more than there are sources."""

    origin: str
    wanted: int
    outcomes: list[Outcome] = field(default_factory=list)
    path: Path | None = None

    @property
    def statuses(self) -> Counter[str]:
        return Counter(one.status for one in self.outcomes)

    @property
    def sources(self) -> int:
        """How many sources there are, at most ``wanted``. There are always enough in a taxonomy, but a run that was cut
        short has not planned all of them."""
        return self.wanted if self.origin == "taxonomy" else len(self.outcomes)

    @property
    def not_asked(self) -> int:
        return self.statuses["not_asked"] + self.sources - len(self.outcomes)

    @property
    def waiting(self) -> int:
        return sum(one.waits for one in self.outcomes)

    @property
    def decided(self) -> int:
        """How many are in the collection and wait no more."""
        return self.statuses["added"] + self.statuses["there"] - self.waiting

    @property
    def held_back(self) -> Counter[str]:
        """How many are held back, by reason."""
        return Counter(one.held.reason for one in self.outcomes if one.held is not None)

    @property
    def failed(self) -> Counter[str]:
        """How many answers are no draft, by state."""
        return Counter(str(one.state) for one in self.outcomes if one.status == "failed")


def write_outcomes(path: Path, report: DraftReport, provenance: Mapping[str, Any]) -> None:
    """Writes a line for each source of a run, with what became of its draft."""

    def fill(partial: Path) -> dict[str, int]:
        lines = [json.dumps(_row(one), ensure_ascii=False) for one in report.outcomes]
        partial.write_text("".join(f"{sendable(line)}\n" for line in lines), encoding="utf-8")
        return {"sources": len(lines), **report.statuses}

    write_file(path, {"model": report.model, "from": report.origin, "n": report.wanted}, provenance, fill)


def _row(one: Outcome) -> dict[str, Any]:
    held = {} if one.held is None else {name: value for name, value in one.held._asdict().items() if value is not None}
    row = {
        "source": one.source_id,
        "status": one.status,
        "id": one.draft_id,
        "waits": one.waits if one.status in ("added", "there") else None,
        **held,
        "state": one.state,
        "problem": one.problem,
        "draft": None if one.draft is None else dict(one.draft),
    }
    return {name: value for name, value in row.items() if value is not None}
