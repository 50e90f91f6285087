"""Audits judges: finds out by changed pairs what fools them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, overload

from quati_pool.api.arguments import several
from quati_pool.api.audits import Audit, AuditPlan
from quati_pool.api.progress import listener
from quati_pool.api.workspace import Workspace
from quati_pool.errors import ConfigError


class Auditing(Workspace):
    """What fools a workspace's judges."""

    @overload
    def audit(
        self, *judges: str, dry_run: Literal[True], probes: str | Iterable[str] = (), pairs: int | None = None,
        redraw: bool = False, budget: float | None = None, reask: int = 2, concurrency: int | None = None,
        rpm: int | None = None, tpm: int | None = None,
    ) -> AuditPlan: ...  # fmt: skip
    @overload
    def audit(
        self, *judges: str, dry_run: Literal[False] = False, probes: str | Iterable[str] = (),
        pairs: int | None = None, redraw: bool = False, budget: float | None = None, reask: int = 2,
        concurrency: int | None = None, rpm: int | None = None, tpm: int | None = None,
    ) -> Audit: ...  # fmt: skip
    def audit(
        self,
        *judges: str,
        dry_run: bool = False,
        probes: str | Iterable[str] = (),
        pairs: int | None = None,
        redraw: bool = False,
        budget: float | None = None,
        reask: int = 2,
        concurrency: int | None = None,
        rpm: int | None = None,
        tpm: int | None = None,
    ) -> Audit | AuditPlan:
        """Finds out what fools judges, by pairs that were changed so that their grades must not rise, must fall, or
        must stay.

        Every answer is stored as it arrives, apart from grades. After an interruption, or an error, call it again: it
        asks only what is left.

        Args:
            *judges: Judges of pool.yaml, or consensuses of them; may be left out if there is only one judge.
            dry_run: Whether to ask nothing, and return what would be asked, its tokens, cost and time.
            probes: The probes to run; all by default.
            pairs: How many pairs each probe changes; by default that of pool.yaml, or 100.
            redraw: Whether to draw the pairs again, by the grades that people have given by now; at least as many as
                there were.
            budget: The most to spend in this run, in US dollars.
            reask: Times to ask again for an answer that cannot be read.
            concurrency: The most calls in flight.
            rpm: The most requests per minute.
            tpm: The most tokens per minute.

        Returns:
            What each probe found, against its controls and its bound, and the pairs that fooled the judge most.

        Raises:
            QuatiPoolError: If there is no such judge or probe, if a judge has graded nothing or does not read texts, or
                if the run could not be finished. Answers so far are kept.
            KeyboardInterrupt: As for ``judge``.

        Example:
            >>> c.audit("lexical", probes="stuffing", pairs=20).judges
            ('lexical',)
        """
        from quati_pool.commands.audit.audit import audit
        from quati_pool.commands.audit.plan import plan
        from quati_pool.commands.audit.settings import AuditSettings
        from quati_pool.registry import PROBES

        if pairs is not None and pairs < 1:
            raise ConfigError(f"pairs is {pairs}; give how many pairs each probe changes, such as 100")
        named = tuple(several(probes))
        for name in named:
            PROBES.find(name)
        settings = AuditSettings(named, pairs, redraw, budget, reask, concurrency, rpm, tpm)
        with listener(self.progress) as shown:
            if dry_run:
                return AuditPlan(plan(self.path, judges, shown, settings))
            reports = audit(self.path, judges, shown, settings)
        fault = reports[-1].fault
        if fault is not None:
            raise fault
        return Audit(reports)
