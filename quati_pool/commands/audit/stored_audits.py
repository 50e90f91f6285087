"""The audits of a collection's judges as far as they were asked already, for reports and releases."""

from __future__ import annotations

from collections.abc import Callable, Collection

from quati_pool.commands.audit.audit import AuditReport, stored_audit
from quati_pool.commands.audit.grade_inputs import WorkspaceGrades
from quati_pool.errors import QuatiPoolError
from quati_pool.files.artifacts import digest
from quati_pool.labels.labelers import Grading
from quati_pool.project.config import PoolConfig
from quati_pool.project.workspace import Workspace


def was_audited(config: PoolConfig, name: str) -> bool:
    """Whether pairs were drawn for an audit of a judge, perhaps before it, the pool or the probes changed; anchors
    alone are no audit."""
    anchors = Workspace(config.folder).audit(name, "anchors")
    return any(path.name != anchors.name for path in anchors.parent.glob("*.jsonl.gz"))


def stored_audits(
    grading: Grading, say: Callable[[str], None], names: Collection[str] | None = None
) -> list[AuditReport]:
    """The audits of the judges and consensuses of ``pool.yaml``, or of those among ``names``, in its order, without
    those of which nothing was asked since the judge, the pool or the probes changed. What cannot be read is reported to
    ``say``."""
    found, inputs = [], WorkspaceGrades(grading)
    for name in grading.config.judges:
        if (names is not None and name not in names) or not was_audited(grading.config, name):
            continue
        try:
            report = stored_audit(inputs, name, say)
        except QuatiPoolError as error:
            say(f"the audit of {name} is left out: {error}")
            continue
        if report is not None and any(one.findings is not None and one.findings.fooled.n for one in report.probes):
            found.append(report)
    return found


def audit_digest(report: AuditReport) -> str:
    """What an audit's findings depend on, but for the judge's answers."""
    return digest(
        [
            [one.name, one.probe.parameters.bound, one.probe.expected, [case.as_json() for case in one.cases]]
            for one in report.probes
        ]
        + [report.bounds.model_dump()]
        + ([] if report.drift is None else [report.drift.check, report.drift.pairs])
    )
