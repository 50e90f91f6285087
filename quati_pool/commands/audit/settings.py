"""What a run of ``audit`` may change of the settings in ``pool.yaml``."""

from __future__ import annotations

from dataclasses import dataclass, field

from quati_pool.commands.audit.grade_inputs import GradeSettings
from quati_pool.commands.judge.chosen_judge import JudgeOptions
from quati_pool.registry import PROBES


@dataclass(frozen=True)
class AuditSettings:
    """The probes to run (all if empty), the number of pairs each changes (that of ``pool.yaml`` if None), whether the
    pairs are drawn again (``redraw``), and how judges are asked; ``budget`` in US dollars is that of the whole run.
    ``grades`` says how grades are compared with people's, by the workspace's ``runs`` unless others are given."""

    probes: tuple[str, ...] = ()
    pairs: int | None = None
    redraw: bool = False
    budget: float | None = None
    reask: int = 2
    concurrency: int | None = None
    rpm: int | None = None
    tpm: int | None = None
    grades: GradeSettings = field(default_factory=GradeSettings)
    runs: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of the probes, each once."""
        return list(dict.fromkeys(self.probes)) or PROBES.names()

    def judge_options(self, spent: float = 0.0) -> JudgeOptions:
        """How the next judge is asked, with what is left of the budget."""
        budget = None if self.budget is None else max(self.budget - spent, 0.0)
        return JudgeOptions(budget=budget, reask=self.reask, concurrency=self.concurrency, rpm=self.rpm, tpm=self.tpm)
