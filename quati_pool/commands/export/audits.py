"""What the audits of judges found, as a release publishes it."""

from __future__ import annotations

from collections.abc import Callable, Collection

from quati_pool.audit.outcomes import ProbeFindings, VariantResult, Verdict
from quati_pool.commands.audit.audit import AuditedProbe, AuditReport
from quati_pool.commands.audit.figures import (
    fooling_variants,
    interval,
    limit,
    pairs_of,
    share,
    units,
    variant_name,
    worse_variant,
)
from quati_pool.commands.audit.stored_audits import stored_audits
from quati_pool.labels.labelers import Grading
from quati_pool.release.state import ReleasedAudit
from quati_pool.text.pluralize import counted, listed


def released_audits(grading: Grading, names: Collection[str], say: Callable[[str], None]) -> list[ReleasedAudit]:
    """The verdicts on the judges among the labelers ``names`` that were audited; what cannot be read is reported to
    ``say``."""
    audits = stored_audits(grading, say, names)
    return [ReleasedAudit(report.judge, _verdicts(report) + _drift(report)) for report in audits]


def _drift(report: AuditReport) -> str:
    """Whether its grades moved, where its anchors were checked."""
    drift = report.drift
    if drift is None or not drift.pairs:
        return ""
    seen = {"moved": "Its grades have moved", "not moved": "Its grades were not seen to move"}[drift.verdict]
    figures = f"{drift.up:,} higher, {drift.down:,} lower, p = {drift.test.p:.2g}"
    return f" {seen} when it was asked about {counted(len(drift.pairs), 'pair', 'pairs')} again later ({figures})."


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
        f"{one.probe.danger} ({_figures(one, one.findings)})"
        for one in report.probes
        if one.findings is not None and one.findings.verdict == verdict
    ]


def _figures(one: AuditedProbe, found: ProbeFindings) -> str:
    """``34 % of 100 irrelevant pairs, 3 % of the controls; excess 22 to 40 %, bound 10 %``; of the worst variant where
    only variants fooled the judge."""
    variants = fooling_variants(found)
    result: ProbeFindings | VariantResult = variants[0] if variants else found
    named = f"{variant_name(variants[0])}: " if variants else ""
    controls = "" if result.control is None else f", {share(result.control)} of the controls"
    pairs = pairs_of(one, result.fooled.n) if variants else units(one, found)
    excess = "" if result.excess is None else f"; excess {interval(result.excess, found.bound)}"
    worst = worse_variant(one, found)
    most = f"; most of all {variant_name(worst)}: {worst.fooled.hits:,} of {worst.fooled.n:,}" if worst else ""
    return f"{named}{share(result.fooled)} of {pairs}{controls}{excess}, bound {limit(found.bound)}{most}"
