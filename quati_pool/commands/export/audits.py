"""What the audits of judges found, as a release publishes it."""

from __future__ import annotations

from collections.abc import Callable, Collection

from quati_pool.audit.outcomes import ProbeFindings, Verdict
from quati_pool.commands.audit.audit import AuditReport
from quati_pool.commands.audit.stored_audits import stored_audits
from quati_pool.labels.labelers import Grading
from quati_pool.release.state import ReleasedAudit
from quati_pool.stats.shares import Share
from quati_pool.text.pluralize import counted, listed


def released_audits(grading: Grading, names: Collection[str], say: Callable[[str], None]) -> list[ReleasedAudit]:
    """The verdicts on the judges among the labelers ``names`` that were audited; what cannot be read is reported to
    ``say``."""
    return [ReleasedAudit(report.judge, _verdicts(report)) for report in stored_audits(grading, say, names)]


def _verdicts(report: AuditReport) -> str:
    """One or two sentences."""
    failed, passed, undecided = (_dangers(report, verdict) for verdict in ("fooled", "cleared", "undecided"))
    said = []
    if failed:
        said.append(f"failed the {_probes(failed)}")
    if passed:
        said.append(f"passed the {_probes(passed)}")
    if not said:
        return f"{report.judge}: the {_probes(undecided)} did not decide."
    open_still = f" The {_probes(undecided)} did not decide." if undecided else ""
    return f"{report.judge} {' and '.join(said)}.{open_still}"


def _probes(dangers: list[str]) -> str:
    return f"{'probe' if len(dangers) == 1 else 'probes'} for {listed(dangers)}"


def _dangers(report: AuditReport, verdict: Verdict) -> list[str]:
    return [
        f"{one.probe.danger} ({_shares(one.findings)})"
        for one in report.probes
        if one.findings is not None and one.findings.verdict == verdict
    ]


def _shares(found: ProbeFindings) -> str:
    controls = "" if found.control is None else f", {_percent(found.control)} of the controls"
    return f"{_percent(found.fooled)} of {counted(found.fooled.n, 'pair', 'pairs')}{controls}"


def _percent(found: Share) -> str:
    return f"{100 * (found.share or 0):.1f} %"
