"""Audits judges: finds out by changed pairs what fools them, and what their grades can be used for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, overload

from quati_pool.api.arguments import several
from quati_pool.api.audits import Audit, AuditComparison, AuditPlan
from quati_pool.api.progress import listener
from quati_pool.api.workspace import Workspace
from quati_pool.errors import ConfigError
from quati_pool.text.pluralize import first_of


class Auditing(Workspace):
    """What fools a workspace's judges."""

    @overload
    def audit(
        self, *judges: str, dry_run: Literal[True], compare: bool = False, probes: str | Iterable[str] = (),
        pairs: int | None = None, redraw: bool = False, budget: float | None = None, reask: int = 2,
        concurrency: int | None = None, rpm: int | None = None, tpm: int | None = None, people: str | None = None,
        runs: str | Path | Iterable[str | Path] = (), families: str | Path | None = None,
        judge_families: Mapping[str, str] | None = None, measure: str | None = None,
    ) -> AuditPlan: ...  # fmt: skip
    @overload
    def audit(
        self, *judges: str, compare: Literal[True], dry_run: Literal[False] = False, probes: str | Iterable[str] = (),
        pairs: int | None = None, redraw: bool = False, budget: float | None = None, reask: int = 2,
        concurrency: int | None = None, rpm: int | None = None, tpm: int | None = None, people: str | None = None,
        runs: str | Path | Iterable[str | Path] = (), families: str | Path | None = None,
        judge_families: Mapping[str, str] | None = None, measure: str | None = None,
    ) -> AuditComparison: ...  # fmt: skip
    @overload
    def audit(
        self, *judges: str, dry_run: Literal[False] = False, compare: Literal[False] = False,
        probes: str | Iterable[str] = (), pairs: int | None = None, redraw: bool = False, budget: float | None = None,
        reask: int = 2, concurrency: int | None = None, rpm: int | None = None, tpm: int | None = None,
        people: str | None = None, runs: str | Path | Iterable[str | Path] = (), families: str | Path | None = None,
        judge_families: Mapping[str, str] | None = None, measure: str | None = None,
    ) -> Audit: ...  # fmt: skip
    def audit(
        self,
        *judges: str,
        dry_run: bool = False,
        compare: bool = False,
        probes: str | Iterable[str] = (),
        pairs: int | None = None,
        redraw: bool = False,
        budget: float | None = None,
        reask: int = 2,
        concurrency: int | None = None,
        rpm: int | None = None,
        tpm: int | None = None,
        people: str | None = None,
        runs: str | Path | Iterable[str | Path] = (),
        families: str | Path | None = None,
        judge_families: Mapping[str, str] | None = None,
        measure: str | None = None,
    ) -> Audit | AuditComparison | AuditPlan:
        """Finds out what fools judges, by pairs that were changed so that their grades must not rise, must fall, or
        must stay; and, unless ``probes`` are named, how their grades differ from people's.

        Every answer is stored as it arrives, apart from grades. After an interruption, or an error, call it again: it
        asks only what is left.

        Args:
            *judges: Judges of pool.yaml, or consensuses of them; may be left out if there is only one judge.
            dry_run: Whether to ask nothing, and return what would be asked, its tokens, cost and time.
            compare: Whether to say which of two judges to take.
            probes: The probes to run; all by default.
            pairs: How many pairs each probe changes; by default that of pool.yaml, or 100.
            redraw: Whether to draw the pairs again, by the grades that people have given by now; at least as many as
                there were.
            budget: The most to spend in this run, in US dollars.
            reask: Times to ask again for an answer that cannot be read.
            concurrency: The most calls in flight.
            rpm: The most requests per minute.
            tpm: The most tokens per minute.
            people: The labeler whose grades the judges' are compared with; by default all people's.
            runs: Run files of the systems to compare; by default those of the workspace.
            families: A file with lines of a run_tag, a tab and its family: which systems are related.
            judge_families: The families of the judges' models, by judge.
            measure: What compares systems; by default the first measure of pool.yaml, or nDCG@10.

        Returns:
            What each probe found, against its controls and its bound, the pairs that fooled the judge most, and how
            far its grades are from people's; with ``compare`` also which of the two to take.

        Raises:
            QuatiPoolError: If there is no such judge or probe, if a judge has graded nothing or does not read texts, or
                if the run could not be finished. Answers so far are kept, and a note names the judges that the run
                did not come to.
            KeyboardInterrupt: As for ``judge``.

        Example:
            >>> c.audit("lexical", probes="stuffing", pairs=20).judges
            ('lexical',)
        """
        from quati_pool.commands.audit.audit import audit, not_started
        from quati_pool.commands.audit.comparison import check_two, compare_in_workspace
        from quati_pool.commands.audit.grade_inputs import GradeSettings
        from quati_pool.commands.audit.plan import plan
        from quati_pool.commands.audit.settings import AuditSettings
        from quati_pool.registry import PROBES

        if pairs is not None and pairs < 1:
            raise ConfigError(f"pairs is {pairs}; give how many pairs each probe changes, such as 100")
        if compare:
            check_two(judges, "compare=True")
        for name in judge_families or ():
            if name not in judges and judges:
                raise ConfigError(f"judge_families has {name!r}, which is not audited; name it among the judges")
        named = tuple(several(probes))
        for name in named:
            PROBES.find(name)
        grades = GradeSettings(measure, people, None if families is None else Path(families), judge_families)
        if (named or dry_run) and (grades != GradeSettings() or runs):
            why = "probes leave" if named else "dry_run leaves"
            raise ConfigError(f"people, runs, families, judge_families and measure compare grades, which {why} out")
        files = [runs] if isinstance(runs, str | Path) else runs
        settings = AuditSettings(
            named, pairs, redraw, budget, reask, concurrency, rpm, tpm, grades, tuple(map(str, files))
        )
        with listener(self.progress) as shown:
            if dry_run:
                return AuditPlan(plan(self.path, judges, shown, settings))
            reports = audit(self.path, judges, shown, settings)
        fault = reports[-1].fault
        if fault is not None:
            left = not_started(reports, judges)
            if left:
                fault.add_note(f"the run ended before it came to {first_of(left)}")
            raise fault
        return AuditComparison(compare_in_workspace(self.path, reports), reports) if compare else Audit(reports)
